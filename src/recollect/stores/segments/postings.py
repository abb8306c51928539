"""Where the leaves of a question stand in a part: rows, weighted counts, and bounds of what these are worth."""

from typing import Any, Final, NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from recollect.records import Bigram, Leaf, Phrase, Prefix, Word
from recollect.stores.segments.measures import USUAL, Measure, impacts
from recollect.stores.segments.part import PAIR, FormIndex, Part, Rows, Whole
from recollect.stores.segments.sorting import runs_of

SCANNED: Final = 8
"""From this share of the rows on, reading all tokens in order is faster than picking rows."""
MOST_KEPT: Final = 1 << 22
"""How many postings of measures that are not usual a part remembers."""


class Postings(NamedTuple):
    """The rows that hold a leaf, ascending; *counts* by number of each row's code, or by row where that is None."""

    rows: Rows
    codes: NDArray[Any]
    counts: Whole | None
    impacts: NDArray[np.uint8]
    most: int
    dense: NDArray[np.uint8] | None = None

    def at(self, places: NDArray[Any]) -> Whole:
        """Return the counts at some places of *rows*; those beyond the end are as the last one."""
        codes: Whole = self.codes.take(places, mode="clip")
        return codes if self.counts is None else self.counts.take(codes)

    def of(self, rows: Rows) -> Whole:
        """Return the count in each of *rows*, 0 where it does not stand."""
        if not len(self.rows):
            return np.zeros(len(rows), dtype=np.int64)
        places = self.rows.searchsorted(rows)
        found: Whole = self.at(places) * (self.rows.take(places, mode="clip") == rows)
        return found


_NO_ROWS: Final[Rows] = np.empty(0, dtype=np.int32)
_NO_COUNTS: Final[Whole] = np.empty(0, dtype=np.int64)
NONE: Final = Postings(_NO_ROWS, _NO_COUNTS, None, np.empty(0, dtype=np.uint8), 0)


def find(part: Part, leaf: Leaf, measure: Measure) -> Postings:
    """Return where *leaf* stands in *part*, dead rows and all."""
    match leaf:
        case Word(text=text, form=form):
            return _of_word(part.form(form), text, measure)
        case Bigram(first=first, second=second):
            return _of_pair(part, first, second, measure)
        case Prefix(text=text):
            return _of_prefix(part.form("exact"), text, measure)
        case Phrase(texts=texts):
            return _of_phrase(part, texts, measure)
    assert_never(leaf)


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


def _of_word(index: FormIndex, text: str, measure: Measure) -> Postings:
    kept = index.kept.get(measure)
    if kept is None:
        kept = index.kept[measure] = _Kept()
    found: Postings | None = kept.get(text)
    if found is None:
        term = index.term(text)
        found = NONE if term < 0 else _of_term(index, term, measure)
        cost = 64 if measure == USUAL else 64 + len(found.rows)
        kept.keep(text, found, cost)
    return found


def _of_term(index: FormIndex, term: int, measure: Measure) -> Postings:
    start, stop = int(index.pointers[term]), int(index.pointers[term + 1])
    rows, codes, counts = index.rows[start:stop], index.codes[start:stop], index.counts(measure.weights)
    if measure == USUAL:
        line = index.dense_of.get(term)
        dense = None if line is None else index.dense[line]
        return Postings(rows, codes, counts, index.impacts[start:stop], int(index.most[term]), dense)
    there = counts.take(codes) > 0
    if not there.all():
        rows, codes = rows[there], codes[there]
    worth = impacts(counts.take(codes), index.lengths[rows], measure, index.average)
    return Postings(rows, codes, counts, worth, int(worth.max(initial=0)))


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


def _of_pair(part: Part, first: str, second: str, measure: Measure) -> Postings:
    stems = part.form("stem")
    ahead, behind = stems.term(first), stems.term(second)
    start, stop = part.pairs.find(ahead, behind) if ahead >= 0 and behind >= 0 else (0, 0)
    if start == stop:
        return NONE
    rows, times, weighted = part.pairs.rows[start:stop], part.pairs.counts[start:stop], part.pairs.weighted
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
