"""Engram's importance of a memory: its type fading by the week, feedback, concepts, and how often it was recalled."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

TYPES: Final[Mapping[str, float]] = MappingProxyType(
    {"bugfix": 1.3, "feature": 1.2, "discovery": 1.1, "decision": 1.1, "refactor": 1.0, "change": 0.9}
)
CONCEPTS: Final[Mapping[str, float]] = MappingProxyType({"security": 0.30, "gotcha": 0.25, "best-practice": 0.20})
HALF_LIFE_DAYS: Final = 7.0
LEAST: Final = 0.01


def importance(
    kind: str, *, age_days: float, feedback: int = 0, concepts: Sequence[str] = (), retrievals: int = 0
) -> float:
    """Return how important a memory is: a type nobody weighs counts 1, a date to come counts as today."""
    fading = math.pow(0.5, max(0.0, age_days) / HALF_LIFE_DAYS)
    learned = 0.30 * max(-1, min(1, feedback)) + 0.20 * sum(CONCEPTS.get(concept, 0.0) for concept in concepts)
    return max(LEAST, TYPES.get(kind, 1.0) * fading + learned + 0.15 * 0.1 * math.log2(retrievals + 1))
