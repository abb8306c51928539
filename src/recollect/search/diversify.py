"""No near-duplicates on the first page, and no more hits than the limit.

Near-duplicates of a better hit are dropped from a short answer, and follow the first page of a longer one.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from recollect.lazy import regex
from recollect.profile import Diversify
from recollect.search.candidates import Drop
from recollect.search.state import Outlined, SearchContext, State
from recollect.search.texts import with_outlines

SHINGLE: Final = 5
"""How many words next to each other are compared as one."""
_WORD: Final = regex(r"\w+")
_ASCII: Final = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) == "_")}

Shingles = frozenset[tuple[str, ...]]


def diversify(state: State, context: SearchContext, *, rules: Diversify, limit: int) -> State:
    """Drop near-duplicates of better hits, as far down as *limit* hits are shown.

    A request for more than a page shows everything else after the page, duplicates too.
    """
    ids = state.kept.ids
    most = rules.page if 0 < rules.page < limit else limit
    read, shown, repeats = most, list[int](), dict[int, int]()
    while len(shown) < most and len(shown) + len(repeats) < len(ids):  # more texts are read only if some are repeats
        state = with_outlines(state, context, ids[:read])
        shown, repeats = _without_repeats(ids[:read], state.outlines, max_overlap=rules.max_overlap, most=most)
        read *= 2
    drops = {} if most < limit else {row: _repeat(of, rules) for row, of in repeats.items()}
    return replace(state, candidates=state.candidates.led_by(shown).dropped(drops))


def _repeat(of: int, rules: Diversify) -> Drop:
    shown = f"more than {rules.page} hits are asked for" if rules.page else "near-repeats are shown"
    return Drop(code="near_repeat", surfaces_if=f"{shown}; it says what #{of} says")


def apply_limit(state: State, context: SearchContext, *, limit: int) -> State:
    """Drop the candidates after the first *limit*, and load the texts of the others."""
    drop = Drop(code="limit", surfaces_if=f"the limit is higher than {limit}")
    ids = state.kept.ids
    state = with_outlines(state, context, ids[:limit])
    return replace(state, candidates=state.candidates.dropped(dict.fromkeys(ids[limit:], drop)))


def _without_repeats(
    rows: Sequence[int], memories: Mapping[int, Outlined], *, max_overlap: float, most: int
) -> tuple[list[int], dict[int, int]]:
    """Return the first *most* of *rows* without repeats, and the original of each repeat."""
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
        # A cheap test first: few texts share that much with all the others together.
        near = kept.items() if len(shared) > max_overlap * min(len(mine), shortest) else ()
        alike = [other for other, known in near if len(shared & known) / min(len(mine), len(known)) > max_overlap]
        same = next((other for other in alike if _say_the_same(memory, memories[other])), None) if alike else None
        if same is not None:
            repeats[row] = same
            continue
        kept[row] = mine
        seen |= mine
        shortest = min(shortest, len(mine))
    return list(kept), repeats


def _say_the_same(one: Outlined, other: Outlined) -> bool:
    """Return whether two memories of one project differ in nothing that matters; other projects are never compared."""
    if one.project != other.project:
        return False
    from recollect.text.differences import differences  # noqa: PLC0415  (slow to load, and few answers hold a repeat)

    return not differences(one.content, other.content)


def shingles(text: str) -> Shingles:
    """Return the runs of five words in *text*, ignoring punctuation and case; a short text is one run."""
    # The same words either way; English is read several times as fast without a pattern.
    words = text.lower().translate(_ASCII).split() if text.isascii() else _WORD.findall(text.casefold())
    if len(words) <= SHINGLE:
        return frozenset({tuple(words)})
    return frozenset(zip(*[words[at:] for at in range(SHINGLE)], strict=False))


def overlap(one: Shingles, other: Shingles) -> float:
    """Return the share of the smaller set that is in the larger."""
    return len(one & other) / min(len(one), len(other))
