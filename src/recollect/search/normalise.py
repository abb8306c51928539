"""Maps from a ranking's own scores to comparable ones; each seed has its own."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

BELOW_ONE: Final = math.nextafter(1.0, 0.0)


def plain(scores: Sequence[float]) -> list[float]:
    """Leave the scores as they are."""
    return list(scores)


def over_top(scores: Sequence[float]) -> list[float]:
    """Divide by the best score, so that the best is 1."""
    top = max(scores, default=0.0)
    return [score / top if top > 0 else 0.0 for score in scores]


def over_25(scores: Sequence[float]) -> list[float]:
    """Oro: a 25th, at most 1 and at least 0."""
    return [min(1.0, max(0.0, score / 25.0)) for score in scores]


def squashed(scores: Sequence[float]) -> list[float]:
    """Engram: |x| / (1 + |x|), always under 1, for infinity too; what is no number counts as 0."""
    return [_squash(score) for score in scores]


def lifted(scores: Sequence[float]) -> list[float]:
    """Boocode: 0.3 + 0.69 x / (1 + x), in [0, 1) for what matched at all."""
    return [0.3 + 0.69 * _squash(score) if score > 0 else 0.0 for score in scores]


def counted(scores: Sequence[float]) -> list[float]:
    """Boocode's LIKE tier: 0.3 and 0.15 for each term that stands in the text, at most 0.85."""
    return [min(0.85, 0.3 + 0.15 * score) for score in scores]


def tanh(scores: Sequence[float]) -> list[float]:
    """Cortex, later: the hyperbolic tangent of a tenth."""
    return [math.tanh(abs(score) / 10.0) for score in scores]


def min_max(scores: Sequence[float]) -> list[float]:
    """Map the worst to 0 and the best to 1; equal scores are all 1."""
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    return [(score - low) / (high - low) if high > low else 1.0 for score in scores]


NORMALISERS: Final[Mapping[str, Callable[[Sequence[float]], list[float]]]] = {
    "plain": plain,
    "over_top": over_top,
    "over_25": over_25,
    "squashed": squashed,
    "lifted": lifted,
    "counted": counted,
    "tanh": tanh,
    "min_max": min_max,
}


def _squash(score: float) -> float:
    size = abs(score)
    if math.isnan(size):
        return 0.0
    return min(BELOW_ONE, size / (1.0 + size)) if math.isfinite(size) else BELOW_ONE
