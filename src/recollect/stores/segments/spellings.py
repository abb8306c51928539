"""Words by how they are spelt: those near to a word and those that hold a part, without reading the whole dictionary.

The lengths, letters and pairs of letters of all terms leave a few of them to be read and compared.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from recollect.records import Form
from recollect.stores.segments.part import FormIndex, Whole, utf8
from recollect.stores.segments.ranking import View, named
from recollect.stores.segments.signatures import FOREIGN, LONGEST, bits_of, digraphs, letters

BYTES: Final = 4
"""How many bytes one letter may take."""


def near(views: Sequence[View], word: str, reach: int, *, form: Form = "exact") -> list[tuple[str, int, int]]:
    """Return the words of letters at most *reach* edits from *word* that begin alike, each with distance and rows.

    The nearest first, then by spelling.
    """
    from rapidfuzz.distance import OSA  # noqa: PLC0415 (paid only by a mistyped query)

    def fits(term: str) -> bool:
        return term.isalpha() and OSA.distance(word, term, score_cutoff=reach) <= reach

    found = _counted(views, form, lambda index: _maybe_near(index, word, reach), fits)
    return sorted(((term, OSA.distance(word, term), rows) for term, rows in found.items()), key=lambda one: one[1::-1])


def containing(views: Sequence[View], part: str, *, form: Form = "exact") -> list[tuple[str, int]]:
    """Return the words of letters that hold *part* and more, by spelling, each with its rows."""

    def fits(term: str) -> bool:
        return part in term and term != part and term.isalpha()

    return sorted(_counted(views, form, lambda index: _maybe_holding(index, part), fits).items())


def _counted(
    views: Sequence[View], form: Form, choose: Callable[[FormIndex], Whole], fits: Callable[[str], bool]
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
    mine, asked = index.letters[low:high][alike], _signature(letters, word)
    changed = np.maximum(bits_of(mine & ~asked), bits_of(asked & ~mine))
    allowed = np.where(((mine | asked) & FOREIGN) != 0, BYTES * reach + 1, reach)
    return alike[changed <= allowed] + low


def _maybe_holding(index: FormIndex, part: str) -> Whole:
    """Return the terms that may hold *part*: all its pairs of letters, or its one letter."""
    if len(utf8(part)) > 1:
        pairs = _signature(digraphs, part)
        return np.flatnonzero((index.digraphs & pairs) == pairs)
    asked = _signature(letters, part)
    return np.flatnonzero((index.letters & asked) == asked)


def _signature(of: Callable[[NDArray[np.uint8], Whole], NDArray[Any]], text: str) -> NDArray[Any]:
    raw = np.frombuffer(utf8(text), dtype=np.uint8)
    return of(raw, np.array([0, len(raw)], dtype=np.int64))
