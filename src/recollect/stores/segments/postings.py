"""Where the leaves of a query occur in a part: rows, weighted counts, and upper bounds of what these are worth."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.records import Bigram, Leaf, Prefix, Word
from recollect.stores.segments.measures import USUAL, Measure, impacts
from recollect.stores.segments.part import FormIndex, Part, Rows, Whole
from recollect.stores.segments.sorting import runs_of

DENSE: Final = 16
"""The impacts of a term in more than one of so many rows are added row by row of the part."""
SPARSE: Final = 256
"""Those in at most so many rows never are."""
SCANNED: Final = 8
"""From this share of the rows on, reading all tokens in order is faster than picking rows."""


class Postings(NamedTuple):
    """The rows that hold a leaf, ascending; *counts* by number of each row's code, or by row where that is None."""

    rows: Rows
    codes: NDArray[Any]
    counts: NDArray[np.float64] | None
    impacts: NDArray[np.uint8]
    dense: NDArray[np.uint8] | None = None
    """The impacts by row, of a leaf in many rows."""

    def of(self, rows: Whole) -> NDArray[Any]:
        """Return the count in each of *rows*, 0 if absent; there is at least one posting."""
        places = self.rows.searchsorted(rows.astype(self.rows.dtype))
        codes = self.codes.take(places, mode="clip")
        counts = codes if self.counts is None else self.counts.take(codes)
        found: NDArray[Any] = counts * (self.rows.take(places, mode="clip") == rows)
        return found

    def between(self, start: int, stop: int) -> "Postings":
        """Return the postings of the rows from *start* up to *stop*."""
        first, last = self.rows.searchsorted(np.array((start, stop), dtype=self.rows.dtype))
        here = slice(int(first), int(last))
        dense = None if self.dense is None or last - first <= SPARSE else self.dense[start:stop]
        return self._replace(rows=self.rows[here], codes=self.codes[here], impacts=self.impacts[here], dense=dense)

    @property
    def owned_bytes(self) -> int:
        """Return how many bytes are not those of the part."""
        held = (self.rows, self.codes, self.impacts, self.dense)
        return sum([each.nbytes for each in held if each is not None and each.flags.owndata])


_NO_ROWS: Final[Rows] = np.empty(0, dtype=np.int32)
_NO_PLACES: Final[Whole] = np.empty(0, dtype=np.int64)
NONE: Final = Postings(_NO_ROWS, _NO_PLACES, None, np.empty(0, dtype=np.uint8))


def find(part: Part, leaves: Sequence[Leaf], measure: Measure) -> list[Postings]:
    """Return the postings of each of *leaves* in *part*, dead rows included."""
    return [_find(part, leaf, measure) for leaf in leaves]


def _find(part: Part, leaf: Leaf, measure: Measure) -> Postings:
    if isinstance(leaf, Word):
        return _of_word(part.form(leaf.form), leaf.text, measure)
    if isinstance(leaf, Bigram):
        term = part.form("stem").term
        start, stop = part.pairs.find(term(leaf.first), term(leaf.second))
        return _of_pair(part, start, stop, measure) if stop > start else NONE
    if isinstance(leaf, Prefix):
        return _of_prefix(part.form("exact"), leaf.text, measure)
    return _of_phrase(part, leaf.texts, measure)


# --- words ----------------------------------------------------------------------------------


def _of_word(index: FormIndex, text: str, measure: Measure) -> Postings:
    term = index.term(text)
    if term < 0:
        return NONE
    found: Postings | None = index.measured.get((measure, term))
    if found is None:
        found = index.measured[measure, term] = _of_term(index, term, measure)
    return found


def _of_term(index: FormIndex, term: int, measure: Measure) -> Postings:
    start, stop = int(index.pointers[term]), int(index.pointers[term + 1])
    rows, codes, counts = index.rows_of(start, stop), index.codes[start:stop], index.counts(measure.weights)
    if measure == USUAL:
        worth = index.impacts[start:stop]
    else:
        there = counts.take(codes) > 0
        if not there.all():
            rows, codes = rows[there], codes[there]
        worth = impacts(counts.take(codes), index.lengths[rows], measure, index.average)
    return Postings(rows, codes, counts, worth, _by_row(rows, worth, len(index.lengths)))


def _by_row(rows: Rows, worth: NDArray[np.uint8], size: int) -> NDArray[np.uint8] | None:
    """Return impacts by row; None where they are few."""
    if len(rows) <= max(SPARSE, size // DENSE):
        return None
    found = np.zeros(size, dtype=np.uint8)
    found[rows] = worth
    return found


def _of_prefix(index: FormIndex, text: str, measure: Measure) -> Postings:
    low, high = index.beginning(text)
    if high - low <= 1:
        return _of_term(index, low, measure) if high > low else NONE
    start, stop = index.pointers[low], index.pointers[high]
    counts = index.counts(measure.weights).take(index.codes[start:stop])
    return _summed(index, index.rows_of(start, stop), counts, measure)


def _summed(index: FormIndex, rows: Rows, counts: NDArray[np.float64], measure: Measure) -> Postings:
    """Return postings of *counts*, which are added up by row."""
    if not counts.all():
        rows, counts = rows[counts > 0], counts[counts > 0]
    if not len(rows):
        return NONE
    order = np.argsort(rows, kind="stable")
    rows = rows[order]
    starts, _ = runs_of(rows)
    rows, counts = rows[starts], np.add.reduceat(counts[order], starts)
    worth = impacts(counts, index.lengths[rows], measure, index.average)
    return Postings(rows, counts, None, worth)


# --- pairs and phrases ----------------------------------------------------------------------


def _of_pair(part: Part, start: int, stop: int, measure: Measure) -> Postings:
    stems = part.form("stem")
    rows, times = part.pairs.between(start, stop)
    return Postings(rows, times, None, impacts(times, stems.lengths.take(rows), measure, stems.average))


def _of_phrase(part: Part, texts: tuple[str, ...], measure: Measure) -> Postings:
    index, running = part.form("exact"), part.running
    terms = [index.term(text) for text in texts]
    if min(terms, default=-1) < 0:
        return NONE
    fewest = min(int(index.pointers[term + 1] - index.pointers[term]) for term in terms)
    places = _scanned(running.tokens, terms) if SCANNED * fewest > len(part) else _among(part, terms)
    rows = (running.starts.searchsorted(places, "right") - 1).astype(np.int32)
    fields = running.fields[running.gaps.searchsorted(places)]
    return _summed(index, rows, np.array(measure.weights)[fields], measure)


def _scanned(tokens: NDArray[Any], terms: list[int]) -> Whole:
    """Return where in *tokens* the *terms* follow each other."""
    size = len(tokens) - len(terms) + 1
    if size <= 0:
        return _NO_PLACES
    same = tokens[:size] == terms[0]
    for step, term in enumerate(terms[1:], start=1):
        same &= tokens[step : size + step] == term
    return np.flatnonzero(same)


def _among(part: Part, terms: list[int]) -> Whole:
    """Return where the *terms* follow each other, looking only into the rows that hold all of them."""
    index, running = part.form("exact"), part.running
    several = sorted((index.rows_of(*index.pointers[term : term + 2].tolist()) for term in set(terms)), key=len)
    rows = several[0]
    for others in several[1:]:
        rows = rows[others.take(others.searchsorted(rows), mode="clip") == rows]
    starts, sizes = running.starts[rows], running.starts[rows + 1] - running.starts[rows]
    ends = np.cumsum(sizes)
    places = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(starts - (ends - sizes), sizes)
    found: Whole = places[_scanned(running.tokens[places], terms)]
    return found
