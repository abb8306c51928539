"""Neighbour smoothing: a candidate rises towards the better ones among those nearest to it in meaning.

What speaks of the same thing tends to answer the same question (van Rijsbergen's cluster hypothesis; Diaz
smoothed scores by it, CIKM 2005). Here nobody is lowered, so what alone holds a rare name stays where it is; the
best stays the best, and nobody from below the first few comes up among them. Nobody rises by much more than it has
of itself: what is unrelated stays unrelated in good company.
"""

import math
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from recollect.profile import Smooth
from recollect.search.candidates import Candidate, Candidates
from recollect.search.state import State
from recollect.vectors import WIDTH, matrix


def smooth(state: State, *, rules: Smooth) -> State:
    """Give the first candidates what their neighbours give them, where words and vectors were both asked."""
    if rules.weight <= 0 or state.mode != "hybrid":
        return state
    candidates = state.columns
    first = candidates[: rules.top_k]
    ahead = leads(first, state.vectors, most=rules.max_neighbours)
    lifted = lift(first, ahead, weight=rules.weight, most=rules.max_rise)
    return replace(state, candidates=lifted.before(candidates[rules.top_k :]))


def leads(candidates: Candidates, vectors: Mapping[int, bytes], *, most: int) -> dict[int, float]:
    """Return how far the *most* others nearest to each candidate are ahead of it, on the mean by their cosines."""
    scores = {row: own for row, own in zip(candidates.ids, candidates.fused, strict=True) if row in vectors}
    held = sorted(scores)  # of equally near ones the first
    if not held:
        return {}
    block = matrix([vectors[row] for row in held], dimensions=len(vectors[held[0]]) // WIDTH)
    return dict(zip(held, block.leads([scores[row] for row in held], most), strict=True))


def lift(
    candidates: Sequence[Candidate], ahead: Mapping[int, float], *, weight: float, most: float = math.inf
) -> Candidates:
    """Return *candidates*, each with so much of what its neighbours are *ahead* of it.

    Nobody gets more than *most* times what it has.
    """
    found = Candidates.of(candidates)
    rises = {
        row: min(weight * ahead[row], most * own)
        for row, own in zip(found.ids, found.fused, strict=True)
        if ahead.get(row, 0.0) > 0
    }
    return found.lifted("neighbours", {row: rise for row, rise in rises.items() if rise > 0}).by_fused()
