"""Neighbour smoothing: a candidate rises towards the better ones among those nearest to it in meaning.

What speaks of the same thing tends to answer the same question (van Rijsbergen's cluster hypothesis; Diaz
smoothed scores by it, CIKM 2005). Here nobody is lowered, so what alone holds a rare name stays where it is; the
best stays the best, and nobody from below the first few comes up among them. Nobody rises by much more than it has
of itself: what is unrelated stays unrelated in good company.
"""

import math
from collections.abc import Mapping, Sequence

from recollect.profile import Smooth
from recollect.replies import Share
from recollect.search.candidates import Candidate, Candidates
from recollect.search.state import State
from recollect.values import replace
from recollect.vectors import WIDTH, matrix


def smooth(state: State, *, rules: Smooth) -> State:
    """Give the first candidates what their neighbours give them, where words and vectors were both asked."""
    if rules.weight <= 0 or state.mode != "hybrid":
        return state
    candidates = state.columns
    first = candidates[: rules.top_k]
    vectors = {row: state.vectors[row] for row in first.ids if row in state.vectors}
    near = neighbours(vectors, most=rules.max_neighbours)
    lifted = lift(first, near, weight=rules.weight, most=rules.max_rise)
    return replace(state, candidates=lifted.before(candidates[rules.top_k :]))


def neighbours(vectors: Mapping[int, bytes], *, most: int) -> dict[int, dict[int, float]]:
    """Return for each memory the *most* others nearest to it, nearest first, with their cosines."""
    held = sorted(vectors)
    if not held:
        return {}
    block = matrix([vectors[row] for row in held], dimensions=len(vectors[held[0]]) // WIDTH)
    return {
        row: {held[at]: cosine for at, cosine in others}
        for row, others in zip(held, block.nearest_others(most), strict=True)
    }


def lift(
    candidates: Sequence[Candidate],
    near: Mapping[int, Mapping[int, float]],
    *,
    weight: float,
    most: float = math.inf,
) -> Candidates:
    """Return *candidates*, each with so much of what its neighbours are ahead of it, on the mean by their cosines.

    Nobody gets more than *most* times what it has.
    """
    found = Candidates.of(candidates)
    scores = dict(zip(found.ids, found.fused, strict=True))
    ahead = {row: _ahead(own, near[row], scores) for row, own in scores.items() if row in near}
    rises = {row: min(weight * mean, most * scores[row]) for row, mean in ahead.items()}
    lifted = found.lifted({row: Share("neighbours", None, rise) for row, rise in rises.items() if rise > 0})
    return lifted.by_fused()


def _ahead(own: float, near: Mapping[int, float], scores: Mapping[int, float]) -> float:
    """Return how far the neighbours that are *near* are ahead, on the mean by their cosines."""
    ahead = [cosine * (score - own) for other, cosine in near.items() if (score := scores[other]) > own and cosine > 0]
    return math.fsum(ahead) / math.fsum([cosine for cosine in near.values() if cosine > 0]) if ahead else 0.0
