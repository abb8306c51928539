"""Maximal marginal relevance (Carbonell & Goldstein, SIGIR 1998): prefer hits unlike those ranked before them."""

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from recollect.search.diversify import Shingles, overlap, shingles
from recollect.search.state import SearchContext, State
from recollect.search.texts import with_outlines

MMR_LAMBDA: Final = 0.5
"""Weight of relevance; the rest is the penalty for likeness."""


def diversify_by_mmr(state: State, context: SearchContext, *, limit: int) -> State:
    """Reorder the first candidates, twice as many as the *limit* shows."""
    first = state.kept[: 2 * limit]
    state = with_outlines(state, context, first.ids)
    shingled = {row: shingles(state.outlines[row].content) for row in first.ids}
    scores = dict(zip(first.ids, first.scores, strict=True))
    order = maximal_marginal_relevance(shingled, scores, mmr_lambda=MMR_LAMBDA)
    return replace(state, candidates=state.candidates.led_by(order))


def maximal_marginal_relevance(
    shingled: Mapping[int, Shingles], scores: Mapping[int, float], *, mmr_lambda: float
) -> list[int]:
    """Return the ids by marginal relevance, with scores relative to the best; ties by score, then by id."""
    left, chosen = list(shingled), list[int]()
    top = scores[left[0]] or 1.0 if left else 1.0

    def value(row: int) -> tuple[float, float, int]:
        likeness = max((overlap(shingled[row], shingled[other]) for other in chosen), default=0.0)
        return marginal_relevance(scores[row] / top, likeness, mmr_lambda), scores[row], -row

    while left:
        best = max(left, key=value)
        chosen.append(best)
        left.remove(best)
    return chosen


def marginal_relevance(relevance: float, likeness: float, mmr_lambda: float) -> float:
    """Return lambda x relevance - (1 - lambda) x likeness."""
    return mmr_lambda * relevance - (1.0 - mmr_lambda) * likeness
