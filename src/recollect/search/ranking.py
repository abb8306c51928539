"""What travels between the stages of a search."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from recollect.records import IndexHit
from recollect.replies import Share
from recollect.search.build_query import Tier


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """What one probe found, best first; `by_id` holds the exact scores of candidates it did not rank."""

    name: str
    found: tuple[IndexHit, ...]
    by_id: Mapping[int, IndexHit] = field(default_factory=dict)
    total: int = 0
    code_share: float = 0.0
    """How much of what was searched is program text."""
    missing: int = 0
    """How many memories it could not compare."""
    kind: str = ""
    """Which weight and normaliser it takes; its name unless told."""
    weight: float = 1.0
    """What it counts beside others of its kind."""
    document_frequencies: Mapping[str, int] = field(default_factory=dict)
    """How many memories hold each word that was asked for."""
    asked: tuple[Tier, ...] = ()
    """What was asked for it, mistyped words with what may be meant by them."""

    @property
    def weighs_as(self) -> str:
        """The name its weight and normaliser go by."""
        return self.kind or self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A memory with the shares each ranking gave it and the named factors that weigh it."""

    id: int
    shares: tuple[Share, ...]
    factors: Mapping[str, float] = field(default_factory=dict)

    @property
    def fused(self) -> float:
        """What the rankings gave together."""
        return math.fsum(share.points for share in self.shares)

    @property
    def score(self) -> float:
        """The sum of the shares times the product of the factors."""
        return self.fused * math.prod(self.factors.values())
