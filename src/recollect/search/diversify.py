"""No answer twice: near-repeats of a better hit are left out, and where a profile asks for it, likeness costs."""

import math
from collections.abc import Mapping, Sequence

from recollect.profile import Fit
from recollect.search.ranking import Candidate

RUN = 5
"""How many words next to each other are compared as one."""

Runs = frozenset[tuple[str, ...]]


def vary(candidates: Sequence[Candidate], texts: Mapping[int, str], *, rules: Fit, limit: int) -> tuple[Candidate, ...]:
    """Return the first *limit* candidates without near-repeats, in the order that a wish for diversity makes.

    Diversity is sought among twice as many; without it the first of a longer answer are those of a shorter one.
    """
    if rules.repeats >= 1.0 and rules.diversity >= 1.0:
        return tuple(candidates[:limit])
    plain = rules.diversity >= 1.0
    kept, runs = _without_repeats(candidates, texts, repeats=rules.repeats, most=limit if plain else 2 * limit)
    return marginal(kept, runs, share=rules.diversity)[:limit]


def _without_repeats(
    candidates: Sequence[Candidate], texts: Mapping[int, str], *, repeats: float, most: int
) -> tuple[list[Candidate], dict[int, Runs]]:
    kept: list[Candidate] = []
    runs: dict[int, Runs] = {}
    seen: set[tuple[str, ...]] = set()
    shortest = math.inf
    for each in candidates:
        mine = runs_of(texts[each.id])
        shared = seen.intersection(mine)
        # Hardly any text shares so much with all the others together, which is quickly seen.
        alike = runs.items() if len(shared) > repeats * min(len(mine), shortest) else ()
        like = [other for other, known in alike if len(shared & known) / min(len(mine), len(known)) > repeats]
        if any(_say_the_same(texts[each.id], texts[other]) for other in like):
            continue
        kept.append(each)
        runs[each.id] = mine
        if len(kept) == most:
            break
        seen |= mine
        shortest = min(shortest, len(mine))
    return kept, runs


def _say_the_same(one: str, other: str) -> bool:
    from recollect.text.differences import differences  # noqa: PLC0415  (dear to load, and few answers hold a repeat)

    return not differences(one, other)


def runs_of(text: str) -> Runs:
    """Return the runs of words in *text*; a short text is one run."""
    words = text.lower().split()
    if len(words) <= RUN:
        return frozenset({tuple(words)})
    return frozenset(zip(*(words[at:] for at in range(RUN)), strict=False))


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
