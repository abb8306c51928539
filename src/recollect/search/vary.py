"""No answer twice: near-repeats of a better hit are left out, and where a profile asks for it, likeness costs."""

from collections.abc import Mapping, Sequence

from recollect.profile import Fit
from recollect.search.ranking import Candidate

RUN = 5
"""How many words next to each other are compared as one."""
LOOKED_AT = 60
"""So many of the best are compared; the rest follow as they are."""

Runs = frozenset[tuple[str, ...]]


def vary(candidates: Sequence[Candidate], texts: Mapping[int, str], *, rules: Fit) -> tuple[Candidate, ...]:
    """Return *candidates* without near-repeats, in the order that the profile's wish for diversity makes."""
    if rules.repeats >= 1.0 and rules.diversity >= 1.0:
        return tuple(candidates)
    head, tail = candidates[:LOOKED_AT], candidates[LOOKED_AT:]
    runs = {each.id: runs_of(texts[each.id]) for each in head}
    kept: list[Candidate] = []
    for each in head:
        if not any(overlap(runs[each.id], runs[other.id]) > rules.repeats for other in kept):
            kept.append(each)
    return (*marginal(kept, runs, share=rules.diversity), *tail)


def runs_of(text: str) -> Runs:
    """Return the runs of words in *text*; a short text is one run."""
    words = text.lower().split()
    return frozenset(tuple(words[at : at + RUN]) for at in range(max(1, len(words) - RUN + 1)))


def overlap(one: Runs, other: Runs) -> float:
    """Return how much of the smaller set is in the larger."""
    return len(one & other) / min(len(one), len(other))


def marginal(candidates: Sequence[Candidate], runs: Mapping[int, Runs], *, share: float) -> tuple[Candidate, ...]:
    """Maximal marginal relevance (Carbonell & Goldstein, SIGIR 1998) over scores relative to the best."""
    if share >= 1.0 or len(candidates) < 2:
        return tuple(candidates)
    top = candidates[0].score or 1.0
    left, chosen = list(candidates), list[Candidate]()
    while left:
        best = max(left, key=lambda each: _worth(each, chosen, runs, share=share, top=top))
        chosen.append(best)
        left.remove(best)
    return tuple(chosen)


def _worth(
    candidate: Candidate, chosen: Sequence[Candidate], runs: Mapping[int, Runs], *, share: float, top: float
) -> tuple[float, float, int]:
    likeness = max((overlap(runs[candidate.id], runs[other.id]) for other in chosen), default=0.0)
    return marginal_value(candidate.score / top, likeness, share), candidate.score, -candidate.id


def marginal_value(relevance: float, likeness: float, share: float) -> float:
    """Return share x relevance - (1 - share) x likeness."""
    return share * relevance - (1.0 - share) * likeness
