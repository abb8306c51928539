"""Neighbor smoothing: a candidate rises towards the better ones among its nearest neighbors in meaning.

Texts about the same thing tend to answer the same question (van Rijsbergen's cluster hypothesis; Diaz smoothed scores
by it, CIKM 2005). No score is lowered, so the only text with a rare name stays where it is; the best stays the best,
and no candidate from below the first few enters them. The rise is bounded by the candidate's own score, so an
unrelated text stays low in good company.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from recollect.profile import Smooth
from recollect.search.candidates import Candidates
from recollect.search.state import State
from recollect.vectors import RAW, WIDTH, Scale, matrix


def smooth(state: State, *, rules: Smooth) -> State:
    """Raise the first candidates by their neighbors, in a search by words and vectors."""
    if state.mode != "hybrid":
        return state
    candidates = state.candidates
    first = candidates[: rules.top_k]
    ahead = leads(first, state.vectors, most=rules.max_neighbors, scale=state.scale)
    lifted = lift(first, ahead, rules)
    return replace(state, candidates=lifted.before(candidates[rules.top_k :]))


def leads(candidates: Candidates, vectors: Mapping[int, bytes], *, most: int, scale: Scale = RAW) -> dict[int, float]:
    """Return the mean lead of the *most* nearest others over each candidate, weighted by their cosines."""
    scores = {row: own for row, own in zip(candidates.ids, candidates.fused, strict=True) if row in vectors}
    held = sorted(scores)  # ties by id
    if not held:
        return {}
    block = matrix([vectors[row] for row in held], dimensions=len(vectors[held[0]]) // WIDTH)
    return dict(zip(held, block.leads([scores[row] for row in held], most, scale), strict=True))


def lift(candidates: Candidates, ahead: Mapping[int, float], rules: Smooth) -> Candidates:
    """Return *candidates*, each raised by its share of the neighbors' lead, up to a multiple of its own score."""
    rises = {
        row: min(rules.weight * ahead[row], rules.max_rise * own)
        for row, own in zip(candidates.ids, candidates.fused, strict=True)
        if ahead.get(row, 0.0) > 0
    }
    return candidates.lifted("neighbours", {row: rise for row, rise in rises.items() if rise > 0}).by_fused()
