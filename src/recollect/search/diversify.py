"""No answer twice on the first page, and where a profile asks for it, likeness costs.

Near-repeats of a better hit are left out of a short answer and stand behind the first page of a longer one.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from recollect.lazy import regex
from recollect.profile import Diversify
from recollect.search.candidates import Candidates, Drop
from recollect.search.state import Outlined, SearchContext, State
from recollect.search.texts import Texts

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
    shown, repeats = choose(candidates.kept, texts, rules, limit)
    state = texts.loaded(shown)
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
    candidates: Candidates, memories: Mapping[int, Outlined], rules: Diversify, limit: int
) -> tuple[list[int], dict[int, int]]:
    """Return the ids of those to show, and what each near-repeat that is left out repeats.

    Who asks for more than a page is shown all the others behind it, near-repeats too.
    """
    if not 0 < rules.page < limit:
        return _choose(candidates, memories, rules, limit)
    first, _ = _choose(candidates, memories, rules, rules.page)
    return [*first, *(row for row in candidates.ids if row not in first)][:limit], {}


def _choose(
    candidates: Candidates, memories: Mapping[int, Outlined], rules: Diversify, limit: int
) -> tuple[list[int], dict[int, int]]:
    if rules.max_overlap >= 1.0 and rules.mmr_lambda >= 1.0:
        return [*candidates.ids[:limit]], {}
    most = limit if rules.mmr_lambda >= 1.0 else 2 * limit
    kept, repeats = _without_repeats(candidates.ids, memories, max_overlap=rules.max_overlap, most=most)
    scores = dict(zip(candidates.ids, candidates.scores, strict=True)) if rules.mmr_lambda < 1.0 else {}
    return maximal_marginal_relevance(kept, scores, mmr_lambda=rules.mmr_lambda)[:limit], repeats


def _without_repeats(
    rows: Sequence[int], memories: Mapping[int, Outlined], *, max_overlap: float, most: int
) -> tuple[dict[int, Shingles], dict[int, int]]:
    """Return the first *most* of *rows* that repeat none before them, with their shingles, and who repeats whom."""
    kept: dict[int, Shingles] = {}
    repeats: dict[int, int] = {}
    seen: set[tuple[str, ...]] = set()
    shortest = math.inf
    for row in rows:
        if len(kept) == most:
            break
        memory = memories[row]
        mine = shingles(memory.content)
        shared = seen.intersection(mine)
        # Hardly any text shares so much with all the others together, which is quickly seen.
        near = kept.items() if len(shared) > max_overlap * min(len(mine), shortest) else ()
        alike = [other for other, known in near if len(shared & known) / min(len(mine), len(known)) > max_overlap]
        same = next((other for other in alike if _say_the_same(memory, memories[other])), None) if alike else None
        if same is not None:
            repeats[row] = same
            continue
        kept[row] = mine
        seen |= mine
        shortest = min(shortest, len(mine))
    return kept, repeats


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
    return frozenset(zip(*[words[at:] for at in range(SHINGLE)], strict=False))


def overlap(one: Shingles, other: Shingles) -> float:
    """Return how much of the smaller set is in the larger."""
    return len(one & other) / min(len(one), len(other))


def maximal_marginal_relevance(
    shingled: Mapping[int, Shingles], scores: Mapping[int, float], *, mmr_lambda: float
) -> list[int]:
    """Maximal marginal relevance (Carbonell & Goldstein, SIGIR 1998) over scores relative to the best."""
    left, chosen = list(shingled), list[int]()
    if mmr_lambda >= 1.0 or len(left) < 2:
        return left
    top = scores[left[0]] or 1.0

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
