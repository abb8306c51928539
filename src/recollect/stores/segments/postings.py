"""Where the leaves of a question stand in a part: rows, weighted counts, and bounds of what these are worth."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.records import Bigram, Leaf, Prefix, Word
from recollect.stores.segments.measures import USUAL, Measure, impacts
from recollect.stores.segments.part import PAIR, FormIndex, Part, Rows, Whole
from recollect.stores.segments.rows import FORMS
from recollect.stores.segments.sorting import runs_of

SCANNED: Final = 8
"""From this share of the rows on, reading all tokens in order is faster than picking rows."""
MOST_KEPT: Final = 1 << 26
"""How many bytes of postings a part remembers for one measure."""
ENTRY: Final = 512
"""How many of them one word takes by itself."""


class Postings(NamedTuple):
    """The rows that hold a leaf, ascending; *counts* by number of each row's code, or by row where that is None."""

    rows: Rows
    codes: NDArray[Any]
    counts: Whole | None
    impacts: NDArray[np.uint8]
    most: int
    dense: NDArray[np.uint8] | None = None
    dense_codes: NDArray[Any] | None = None

    def of(self, rows: Whole) -> Whole:
        """Return the count in each of *rows*, 0 where it does not stand; it does somewhere."""
        if self.dense_codes is not None and self.counts is not None:
            return self.counts.take(self.dense_codes.take(rows))
        places = self.rows.searchsorted(rows.astype(self.rows.dtype))
        codes = self.codes.take(places, mode="clip")
        counts = codes if self.counts is None else self.counts.take(codes)
        found: Whole = counts * (self.rows.take(places, mode="clip") == rows)
        return found


_NO_ROWS: Final[Rows] = np.empty(0, dtype=np.int32)
_NO_COUNTS: Final[Whole] = np.empty(0, dtype=np.int64)
NONE: Final = Postings(_NO_ROWS, _NO_COUNTS, None, np.empty(0, dtype=np.uint8), 0)


def find(part: Part, leaves: Sequence[Leaf], measure: Measure) -> list[Postings]:
    """Return where each of *leaves* stands in *part*, dead rows and all."""
    kept = {form: _kept(part.form(form), measure) for form in FORMS}
    pairs = iter(_of_pairs(part, [leaf for leaf in leaves if isinstance(leaf, Bigram)], measure))
    found: list[Postings] = []
    for leaf in leaves:
        if isinstance(leaf, Word):
            held = kept[leaf.form].get(leaf.text)
            found.append(_of_word(part.form(leaf.form), leaf.text, measure) if held is None else held)
        elif isinstance(leaf, Bigram):
            found.append(next(pairs))
        elif isinstance(leaf, Prefix):
            found.append(_of_prefix(part.form("exact"), leaf.text, measure))
        else:
            found.append(_of_phrase(part, leaf.texts, measure))
    return found


# --- words ----------------------------------------------------------------------------------


class _Kept(dict[str, Postings]):
    """Postings by word, so many that they may be remembered."""

    size = 0

    def keep(self, text: str, found: Postings, cost: int) -> Postings:
        if self.size + cost > MOST_KEPT:
            self.clear()
            self.size = 0
        self.size += cost
        self[text] = found
        return found


def _kept(index: FormIndex, measure: Measure) -> _Kept:
    kept: _Kept | None = index.kept.get(measure)
    if kept is None:
        kept = _Kept()
        index.kept[measure] = kept
    return kept


def _of_word(index: FormIndex, text: str, measure: Measure) -> Postings:
    term = index.term(text)
    found = NONE if term < 0 else _of_term(index, term, measure)
    return _kept(index, measure).keep(text, found, ENTRY if measure == USUAL else ENTRY + _owned(found))


def _owned(found: Postings) -> int:
    """Return how many bytes of *found* are its own and not those of the part."""
    return sum(each.nbytes for each in (found.rows, found.codes, found.impacts) if each.flags.owndata)


def _of_term(index: FormIndex, term: int, measure: Measure) -> Postings:
    start, stop = int(index.pointers[term]), int(index.pointers[term + 1])
    rows, codes, counts = index.rows[start:stop], index.codes[start:stop], index.counts(measure.weights)
    line = index.dense_of.get(term)
    marks = None if line is None else index.dense_codes[line]
    if measure == USUAL:
        dense = None if line is None else index.dense[line]
        return Postings(rows, codes, counts, index.impacts[start:stop], int(index.most[term]), dense, marks)
    there = counts.take(codes) > 0
    if not there.all():
        rows, codes = rows[there], codes[there]
    worth = impacts(counts.take(codes), index.lengths[rows], measure, index.average)
    return Postings(rows, codes, counts, worth, int(worth.max(initial=0)), None, marks)


def _of_prefix(index: FormIndex, text: str, measure: Measure) -> Postings:
    low, high = index.beginning(text)
    if high - low <= 1:
        return _of_term(index, low, measure) if high > low else NONE
    start, stop = index.pointers[low], index.pointers[high]
    return _summed(index, index.rows[start:stop], index.counts(measure.weights).take(index.codes[start:stop]), measure)


def _summed(index: FormIndex, rows: Rows, counts: Whole, measure: Measure) -> Postings:
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
    return Postings(rows, counts, None, worth, int(worth.max()))


# --- pairs and phrases ----------------------------------------------------------------------


def _of_pairs(part: Part, leaves: Sequence[Bigram], measure: Measure) -> list[Postings]:
    if not leaves:
        return []
    term = part.form("stem").term
    wanted = [(term(leaf.first), term(leaf.second)) for leaf in leaves]
    return [_of_pair(part, start, stop, measure) if stop > start else NONE for start, stop in part.pairs.find(wanted)]


def _of_pair(part: Part, start: int, stop: int, measure: Measure) -> Postings:
    stems = part.form("stem")
    (rows, times), weighted = part.pairs.between(start, stop), part.pairs.weighted
    codes = times * np.int64(PAIR) if weighted is None else times
    if (measure.k1, measure.b) != (USUAL.k1, USUAL.b):
        worth = impacts(times * np.int64(PAIR), stems.lengths[rows], measure, stems.average)
        return Postings(rows, codes, weighted, worth, int(worth.max()))
    worth, most = part.pairs.single.take(rows), part.pairs.most
    if times.max() > 1:
        again = np.flatnonzero(times > 1)
        worth[again] = impacts(times[again] * np.int64(PAIR), stems.lengths[rows[again]], measure, stems.average)
        most = int(worth.max())
    return Postings(rows, codes, weighted, worth, most)


def _of_phrase(part: Part, texts: tuple[str, ...], measure: Measure) -> Postings:
    index, running = part.form("exact"), part.running
    terms = [index.term(text) for text in texts]
    if min(terms, default=-1) < 0:
        return NONE
    fewest = min(int(index.pointers[term + 1] - index.pointers[term]) for term in terms)
    places = _scanned(running.tokens, terms) if SCANNED * fewest > len(part) else _among(part, terms)
    rows = (running.starts.searchsorted(places, "right") - 1).astype(np.int32)
    fields = running.fields[running.gaps.searchsorted(places)]
    return _summed(index, rows, np.array(measure.weights, dtype=np.int64)[fields], measure)


def _scanned(tokens: Rows, terms: list[int]) -> Whole:
    """Return where in *tokens* the *terms* follow each other."""
    size = len(tokens) - len(terms) + 1
    if size <= 0:
        return _NO_COUNTS
    same = tokens[:size] == terms[0]
    for step, term in enumerate(terms[1:], start=1):
        same &= tokens[step : size + step] == term
    return np.flatnonzero(same)


def _among(part: Part, terms: list[int]) -> Whole:
    """Return where the *terms* follow each other, looking only into the rows that hold all of them."""
    index, running = part.form("exact"), part.running
    several = sorted((index.rows[index.pointers[term] : index.pointers[term + 1]] for term in set(terms)), key=len)
    rows = several[0]
    for others in several[1:]:
        rows = rows[others.take(others.searchsorted(rows), mode="clip") == rows]
    starts, sizes = running.starts[rows], running.starts[rows + 1] - running.starts[rows]
    ends = np.cumsum(sizes)
    places = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(starts - (ends - sizes), sizes)
    found: Whole = places[_scanned(running.tokens[places], terms)]
    return found
