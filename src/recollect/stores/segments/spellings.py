"""Words by how they are spelt: those near to a word and those that hold a part, without reading the whole dictionary.

The lengths, letters and pairs of letters of all terms leave a few of them to be read and compared.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recollect.records import Form
from recollect.stores.segments.part import FormIndex, Whole, utf8
from recollect.stores.segments.ranking import PartView, named
from recollect.stores.segments.signatures import FOREIGN, LONGEST, bits_of, digraphs, letters

KEPT_PARTS: Final = 4_096
"""Of how many parts a form remembers the terms that hold them."""
BYTES: Final = 4
"""How many bytes one letter may take."""


def near(views: Sequence[PartView], word: str, reach: int, *, form: Form = "exact") -> list[tuple[str, int, int]]:
    """Return the words of letters at most *reach* edits from *word* that begin alike, each with distance and rows.

    The nearest first, then by spelling.
    """
    from rapidfuzz.distance import OSA  # noqa: PLC0415 (paid only by a mistyped query)

    def fits(term: str) -> bool:
        return term.isalpha() and OSA.distance(word, term, score_cutoff=reach) <= reach

    found = _counted(views, form, lambda index: _maybe_near(index, word, reach), fits)
    return sorted(((term, OSA.distance(word, term), rows) for term, rows in found.items()), key=lambda one: one[1::-1])


def containing(
    views: Sequence[PartView], parts: Iterable[str], *, form: Form = "exact"
) -> dict[str, list[tuple[str, int]]]:
    """Return for each of *parts* the words of letters that hold it and more, by spelling, each with its rows."""
    ordered = sorted(set(parts), key=len)
    counts: dict[str, dict[str, int]] = {part: {} for part in ordered}
    for view in views if ordered else ():
        for part, terms in _holding(view.part.form(form), ordered).items():
            for at, term in terms:
                rows = named(view, form, at)
                if rows:
                    counts[part][term] = counts[part].get(term, 0) + rows
    return {part: sorted(found.items()) for part, found in counts.items()}


def _holding(index: FormIndex, parts: Sequence[str]) -> dict[str, list[tuple[int, str]]]:
    """Return the longer terms of letters that hold each of *parts*, which come by length; people ask by few words."""
    held = {part: index.holding.get(part) for part in parts}
    missing = [part for part, terms in held.items() if terms is None]
    fresh: dict[str, list[tuple[int, str]]] = {}
    for part, chosen in zip(missing, _maybe_holding(index, missing), strict=True) if missing else ():
        pairs = zip(chosen.tolist(), index.names.some(chosen), strict=True)
        fresh[part] = [(at, term) for at, term in pairs if part in term and term != part and term.isalpha()]
    if len(index.holding) + len(fresh) > KEPT_PARTS:
        index.holding = {}  # another one: who reads the old one is not disturbed
    index.holding.update(fresh)
    return {part: fresh[part] if terms is None else terms for part, terms in held.items()}


def _counted(
    views: Sequence[PartView], form: Form, choose: Callable[[FormIndex], Whole], fits: Callable[[str], bool]
) -> dict[str, int]:
    """Return in how many rows those terms stand, in title or body, that may fit and do."""
    counts: dict[str, int] = {}
    for view in views:
        index = view.part.form(form)
        chosen = choose(index)
        for at, term in zip(chosen.tolist(), index.names.some(chosen), strict=True):
            rows = named(view, form, at) if fits(term) else 0
            if rows:
                counts[term] = counts.get(term, 0) + rows
    return counts


def _maybe_near(index: FormIndex, word: str, reach: int) -> Whole:
    """Return the terms that may be at most *reach* edits from *word*; an edit takes and gives one letter at most."""
    low, high = index.beginning(word[:1])
    chars = index.chars[low:high]
    alike = np.flatnonzero((chars >= max(0, len(word) - reach)) & (chars <= min(LONGEST, len(word) + reach)))
    mine, asked = index.letters[low:high][alike], letters(*_spelt([word]))
    changed = np.maximum(bits_of(mine & ~asked), bits_of(asked & ~mine))
    allowed = np.where(((mine | asked) & FOREIGN) != 0, BYTES * reach + 1, reach)
    return alike[changed <= allowed] + low


def _maybe_holding(index: FormIndex, parts: Sequence[str]) -> Iterator[Whole]:
    """Yield the longer terms that have all letters, and pairs of them, of each of *parts*, which come by length."""
    spelt = _spelt(parts)
    known: dict[str, Whole] = {}
    for part, pairs, single in zip(parts, digraphs(*spelt), letters(*spelt), strict=True):
        within = next((known[shorter] for shorter in reversed(known) if shorter in part), None)
        if within is None:
            near = np.flatnonzero((index.digraphs & pairs) == pairs)
        else:  # who may hold it may hold each of its parts
            near = within[(index.digraphs[within] & pairs) == pairs]
        known[part] = near
        near = near[(index.letters[near] & single) == single]
        yield near[index.chars[near] >= min(LONGEST, len(part) + 1)]


def _spelt(texts: Sequence[str]) -> tuple[NDArray[np.uint8], Whole]:
    """Return the bytes of *texts*, and where each begins and the last ends."""
    raw = [*map(utf8, texts)]
    return np.frombuffer(b"".join(raw), dtype=np.uint8), np.cumsum([0, *map(len, raw)])
