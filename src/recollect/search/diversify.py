"""No answer twice on the first page, and where a profile asks for it, likeness costs.

Near-repeats of a better hit are left out of a short answer and stand behind the first page of a longer one.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from recollect.lazy import regex
from recollect.profile import Diversify
from recollect.search.candidates import Candidate, Drop
from recollect.search.state import Outlined, SearchContext, State
from recollect.search.texts import Texts
from recollect.values import replace

SHINGLE: Final = 5
"""How many words next to each other are compared as one."""
_WORD: Final = regex(r"\w+")
_ASCII: Final = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) == "_")}

Shingles = frozenset[tuple[str, ...]]


def diversify(state: State, context: SearchContext, *, rules: Diversify, limit: int) -> State:
    """Keep the first *limit* candidates without near-repeats, in the order that a wish for diversity makes.

    Diversity is sought among twice as many; without it the first of a longer answer are those of a shorter one.
    Texts are loaded as far down as they are looked at, and those of whoever is shown.
    """
    candidates = state.columns
    texts = Texts(state, context, candidates.kept.ids)
    chosen, repeats = choose(candidates.kept, texts, rules, limit)
    state = texts.loaded([each.id for each in chosen])
    shown = [each.id for each in chosen]
    ordered = candidates.led_by(shown)
    drops: dict[int, Drop] = dict.fromkeys(
        ordered.ids[len(shown) :], Drop(code="limit", surfaces_if=f"the limit is higher than {limit}")
    )
    drops |= {row: _repeat(of, rules) for row, of in repeats.items()}
    drops |= candidates.drops
    return replace(state, candidates=ordered.dropped(drops))


def _repeat(of: int, rules: Diversify) -> Drop:
    shown = f"more than {rules.page} hits are asked for" if rules.page else "near-repeats are shown"
    return Drop(code="near_repeat", surfaces_if=f"{shown}; it says what #{of} says")


def choose(
    candidates: Sequence[Candidate], memories: Mapping[int, Outlined], rules: Diversify, limit: int
) -> tuple[tuple[Candidate, ...], dict[int, int]]:
    """Return those to show, and what each near-repeat that is left out repeats.

    Who asks for more than a page is shown all the others behind it, near-repeats too.
    """
    if not 0 < rules.page < limit:
        return _choose(candidates, memories, rules, limit)
    first, _ = _choose(candidates, memories, rules, rules.page)
    shown = {each.id for each in first}
    return (*first, *(each for each in candidates if each.id not in shown))[:limit], {}


def _choose(
    candidates: Sequence[Candidate], memories: Mapping[int, Outlined], rules: Diversify, limit: int
) -> tuple[tuple[Candidate, ...], dict[int, int]]:
    if rules.max_overlap >= 1.0 and rules.mmr_lambda >= 1.0:
        return tuple(candidates[:limit]), {}
    most = limit if rules.mmr_lambda >= 1.0 else 2 * limit
    kept, shingled, repeats = _without_repeats(candidates, memories, max_overlap=rules.max_overlap, most=most)
    return maximal_marginal_relevance(kept, shingled, mmr_lambda=rules.mmr_lambda)[:limit], repeats


def _without_repeats(
    candidates: Sequence[Candidate], memories: Mapping[int, Outlined], *, max_overlap: float, most: int
) -> tuple[list[Candidate], dict[int, Shingles], dict[int, int]]:
    kept: list[Candidate] = []
    shingled: dict[int, Shingles] = {}
    repeats: dict[int, int] = {}
    seen: set[tuple[str, ...]] = set()
    shortest = math.inf
    for each in candidates:
        if len(kept) == most:
            break
        memory = memories[each.id]
        mine = shingles(memory.content)
        shared = seen.intersection(mine)
        # Hardly any text shares so much with all the others together, which is quickly seen.
        near = shingled.items() if len(shared) > max_overlap * min(len(mine), shortest) else ()
        alike = (other for other, known in near if len(shared & known) / min(len(mine), len(known)) > max_overlap)
        same = next((other for other in alike if _say_the_same(memory, memories[other])), None)
        if same is not None:
            repeats[each.id] = same
            continue
        kept.append(each)
        shingled[each.id] = mine
        seen |= mine
        shortest = min(shortest, len(mine))
    return kept, shingled, repeats


def _say_the_same(one: Outlined, other: Outlined) -> bool:
    """Tell whether nothing tells two memories of one project apart; what another project says is its own."""
    if one.project != other.project:
        return False
    from recollect.text.differences import differences  # noqa: PLC0415  (slow to load, and few answers hold a repeat)

    return not differences(one.content, other.content)


def shingles(text: str) -> Shingles:
    """Return the runs of five words in *text*, whatever their punctuation and case; a short text is one run."""
    # The same words either way; English is read several times as fast without a pattern.
    words = text.lower().translate(_ASCII).split() if text.isascii() else _WORD.findall(text.casefold())
    if len(words) <= SHINGLE:
        return frozenset({tuple(words)})
    return frozenset(zip(*(words[at:] for at in range(SHINGLE)), strict=False))


def overlap(one: Shingles, other: Shingles) -> float:
    """Return how much of the smaller set is in the larger."""
    return len(one & other) / min(len(one), len(other))


def maximal_marginal_relevance(
    candidates: Sequence[Candidate], shingled: Mapping[int, Shingles], *, mmr_lambda: float
) -> tuple[Candidate, ...]:
    """Maximal marginal relevance (Carbonell & Goldstein, SIGIR 1998) over scores relative to the best."""
    if mmr_lambda >= 1.0 or len(candidates) < 2:
        return tuple(candidates)
    top = candidates[0].score or 1.0
    left, chosen = list(candidates), list[Candidate]()

    def value(each: Candidate) -> tuple[float, float, int]:
        likeness = max((overlap(shingled[each.id], shingled[other.id]) for other in chosen), default=0.0)
        return marginal_relevance(each.score / top, likeness, mmr_lambda), each.score, -each.id

    while left:
        best = max(left, key=value)
        chosen.append(best)
        left.remove(best)
    return tuple(chosen)


def marginal_relevance(relevance: float, likeness: float, mmr_lambda: float) -> float:
    """Return lambda x relevance - (1 - lambda) x likeness."""
    return mmr_lambda * relevance - (1.0 - mmr_lambda) * likeness
