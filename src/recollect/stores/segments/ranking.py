"""Rank the rows of several parts by BM25, list all matching rows, and count words.

Each leaf adds an upper bound of what it adds to a score to a sum by row. The rows with the largest sums are scored
exactly; then so are all others whose sum reaches the score of the last row wanted, most often none.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial, reduce
from itertools import accumulate, repeat
from operator import and_, or_
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.lazy import Bounded
from recollect.records import AllOf, AndNot, AnyOf, Expression, Form, IndexHit, Leaf, Word, WordHits, WordQuery
from recollect.stores.bm25 import FORMS, SCORE_UNITS, CollectionStats, clauses, form_of, idf, leaves
from recollect.stores.segments.measures import STEPS, Measure, drift, measure_of
from recollect.stores.segments.part import Mask, Whole
from recollect.stores.segments.postings import Postings, find
from recollect.stores.segments.views import PartView

__all__ = ["PartView", "Searcher", "frequencies", "matching", "named", "rank", "vocabulary"]

Floats = NDArray[np.float64]
Sums = NDArray[np.float32]
NAMED: Final = (1.0, 1.0, *(0.0,) * 8)
"""Weights that count a term in title and body alone."""
MAX_CACHED_BYTES: Final = 10 << 20
"""How many bytes of postings a searcher caches."""
CACHED_TERM_BYTES: Final = 1024
"""How many of them a term takes by itself."""
EXTRA_CANDIDATES: Final = 8
"""How many rows are scored beyond nine eighths of those wanted: most often no others are left then."""
FOLD: Final = 16
"""The largest sums are looked for among the maxima of columns; there are this many columns for each one wanted."""
SMALLEST_STEP: Final = 1e-30
"""What a leaf without weight adds to a sum, so that its rows match."""
SUM_ERROR: Final = 1e-6
"""By which share a float32 sum may be too small, for each leaf."""
_hit = partial(tuple.__new__, IndexHit)
"""A hit from all its fields; `IndexHit._make` takes twice as long."""


class TermPostings(NamedTuple):
    """Postings of one leaf by the number of the view, and in how many living rows it occurs."""

    size: int
    by_view: Sequence[tuple[int, Postings]]

    @property
    def cached_bytes(self) -> int:
        return CACHED_TERM_BYTES + sum([postings.owned_bytes for _, postings in self.by_view])


class Searcher:
    """Views that are searched together, with what is cached for them."""

    def __init__(self, views: Sequence[PartView]) -> None:
        self.views = tuple(views)
        self.offsets = [0, *accumulate(map(len, views))]
        self.last: _Ranking | None = None
        """What was computed for the last query: a search asks twice, for the best rows and for chosen ones."""
        self._kept: Bounded[Any, TermPostings] = Bounded(MAX_CACHED_BYTES, weigh=lambda term: term.cached_bytes)

    def __len__(self) -> int:
        return self.offsets[-1]

    def postings(self, asked: Sequence[Leaf], measure: Measure) -> dict[Leaf, TermPostings]:
        """Return the postings of each leaf."""
        known = {leaf: self._kept.get((leaf, measure)) for leaf in asked}
        missing = [leaf for leaf, found in known.items() if found is None]
        by_view = [find(view.part, missing, measure) for view in self.views] if missing else []
        for at, leaf in enumerate(missing):
            known[leaf] = self._kept[leaf, measure] = self._term([each[at] for each in by_view])
        return known  # type: ignore[return-value]

    def _term(self, found: Sequence[Postings]) -> TermPostings:
        size, by_view = 0, []
        for number, (view, postings) in enumerate(zip(self.views, found, strict=True)):
            mine = postings if len(view) == len(view.part) else postings.between(view.start, view.stop)
            if len(mine.rows):
                size += view.count(mine.rows)
                by_view.append((number, mine))
        return TermPostings(size, by_view)

    def split(self, rows: Whole) -> Iterator[tuple[int, slice, Whole]]:
        """Yield for each view that has any of ascending *rows* which these are, and their numbers in the part."""
        ends = rows.searchsorted(self.offsets).tolist()
        for number, view in enumerate(self.views):
            here = slice(ends[number], ends[number + 1])
            if here.stop > here.start:
                yield number, here, rows[here] - (self.offsets[number] - view.start)

    def rows_of(self, ids: Whole) -> Whole:
        """Return the rows of *ids*, ascending, without those that no view has."""
        found = [np.empty(0, dtype=np.int64)]
        for view, offset in zip(self.views, self.offsets, strict=False):
            rows = view.part.rows_of(ids)
            found.append(rows[(rows >= view.start) & (rows < view.stop)] + (offset - view.start))
        rows = np.concatenate(found)
        rows.sort()
        return rows

    def matches(self, expression: Expression, terms: dict[Leaf, TermPostings]) -> Mask:
        """Tell which rows match, dead ones included."""
        match expression:
            case AnyOf(parts=parts):
                return reduce(or_, [self.matches(part, terms) for part in parts], np.zeros(len(self), dtype=np.bool_))
            case AllOf(parts=parts):
                return reduce(and_, [self.matches(part, terms) for part in parts])
            case AndNot(wanted=wanted, unwanted=unwanted):
                return self.matches(wanted, terms) & ~self.matches(unwanted, terms)
        found = np.zeros(len(self), dtype=np.bool_)
        for number, postings in terms[expression].by_view:
            found[postings.rows + (self.offsets[number] - self.views[number].start)] = True
        return found

    def exclude(self, values: NDArray[Any]) -> None:
        """Set the values of rows that cannot be hits to 0."""
        for view, offset in zip(self.views, self.offsets, strict=False):
            if view.excluded is not None:
                values[offset : offset + len(view)][view.excluded] = 0


def rank(
    query: WordQuery,
    searcher: Searcher,
    *,
    stats: CollectionStats,
    limit: int,
    score_ids: Sequence[int] = (),
    version: int = 0,
) -> WordHits:
    """Return the best *limit* rows for *query*, ties by id, and the scores of *score_ids*."""
    ranking = searcher.last
    if ranking is None or ranking.query is not query or ranking.stats != stats:
        ranking = searcher.last = _Ranking(query, searcher, stats)
    rows = searcher.rows_of(np.array(sorted(set(score_ids)), dtype=np.int64)) if score_ids else None
    return WordHits(
        top=tuple(ranking.top(searcher, limit)) if limit > 0 else (),
        by_id={} if rows is None else {hit.id: hit for hit in ranking.hits_among(searcher, rows)},
        total=ranking.total,
        code_share=stats.code / max(1, stats.rows),
        document_frequencies=ranking.document_frequencies,
        version=version,
    )


def matching(query: WordQuery, searcher: Searcher) -> Whole:
    """Return the ids of all rows that *query* matches."""
    asked = list(dict.fromkeys(leaves(query.expression, unwanted=True)))
    terms = searcher.postings(asked, measure_of(query.weights, query.k1, query.b))
    found = searcher.matches(query.expression, terms)
    searcher.exclude(found)
    ids = [searcher.views[number].part.ids[rows] for number, _, rows in searcher.split(np.flatnonzero(found))]
    return np.concatenate([np.empty(0, dtype=np.int64), *ids])


class _Scored(NamedTuple):
    """The ids and scores of rows, and the count of each scored leaf in them."""

    ids: Whole
    scores: Floats
    counts: Floats

    def take(self, places: Whole) -> "_Scored":
        return _Scored(self.ids.take(places), self.scores.take(places), self.counts.take(places, axis=1))


class _Ranking:
    """One query on its way to its hits.

    It does not refer to the searcher, which refers to it: so files are closed as soon as nobody searches them.
    """

    def __init__(self, query: WordQuery, searcher: Searcher, stats: CollectionStats) -> None:
        self.query, self.stats = query, stats
        self._measure = measure_of(query.weights, query.k1, query.b)
        asked = list(dict.fromkeys(leaves(query.expression, unwanted=True)))
        terms = searcher.postings(asked, self._measure)
        worth = {leaf: idf(leaf, terms[leaf].size, stats, query.idf) for leaf in asked}
        scored = dict.fromkeys(leaves(query.expression, unwanted=False))
        self._leaves = [leaf for leaf in scored if terms[leaf].size]
        self._terms = [terms[leaf] for leaf in self._leaves]
        self._gains = [worth[leaf] * (query.k1 + 1.0) for leaf in self._leaves]
        self._forms = [FORMS.index(form_of(leaf)) for leaf in self._leaves]
        self._clauses = _Clauses(query.expression, self._leaves, worth)
        self.document_frequencies = _document_frequencies(terms)
        self._sums = self._add_bounds(searcher)
        if not _is_any(query.expression):
            self._sums *= searcher.matches(query.expression, terms)
        searcher.exclude(self._sums)
        self.total = int(np.count_nonzero(self._sums))

    def _add_bounds(self, searcher: Searcher) -> Sums:
        """Return the sums of bounds by row."""
        sums = np.zeros(len(searcher), dtype=np.float32)
        averages = [self.stats.average(form) for form in FORMS]
        for term, gain, form in zip(self._terms, self._gains, self._forms, strict=True):
            for number, postings in term.by_view:
                view, offset = searcher.views[number], searcher.offsets[number]
                mine = view.part.form(FORMS[form]).average
                step = np.float32(max(gain * drift(self._measure, mine, averages[form]) / STEPS, SMALLEST_STEP))
                here = sums[offset : offset + len(view)]
                if postings.dense is not None:
                    here += np.multiply(postings.dense, step, dtype=np.float32)
                else:
                    rows = postings.rows - np.int32(view.start) if view.start else postings.rows
                    np.add.at(here, rows, np.multiply(postings.impacts, step, dtype=np.float32))
        return sums

    def top(self, searcher: Searcher, limit: int) -> list[IndexHit]:
        """Return the best rows."""
        least = _nearly_largest(self._sums, limit + limit // 8 + EXTRA_CANDIDATES)
        found = self._score(searcher, np.flatnonzero(self._sums >= least if least else self._sums))
        if least:
            reached = np.partition(found.scores, len(found.scores) - limit)[len(found.scores) - limit]
            reached *= 1.0 - SUM_ERROR * (len(self._leaves) + 8)
            if reached < least:
                found = self._score(searcher, np.flatnonzero(self._sums >= max(reached, SMALLEST_STEP / 2)))
        order = np.lexsort((found.ids, -found.scores))
        return self._hits(found.take(order[:limit]))

    def hits_among(self, searcher: Searcher, rows: Whole) -> list[IndexHit]:
        """Return those of *rows* that match."""
        return self._hits(self._score(searcher, rows[self._sums.take(rows) > 0]))

    def _hits(self, found: _Scored) -> list[IndexHit]:
        shares = self._clauses.coverage(found.counts)
        return list(
            map(_hit, zip(found.ids.tolist(), found.scores.tolist(), shares.tolist(), repeat(None), strict=False))
        )

    def _score(self, searcher: Searcher, rows: Whole) -> _Scored:
        """Return the scores of ascending *rows*."""
        ids, counts = np.empty(len(rows), dtype=np.int64), np.zeros((len(self._terms), len(rows)))
        lengths = np.empty((len(FORMS), len(rows)))
        places: dict[int, tuple[slice, Whole]] = {}
        for number, here, mine in searcher.split(rows):
            part, places[number] = searcher.views[number].part, (here, mine)
            ids[here] = part.ids.take(mine)
            for at, form in enumerate(FORMS):
                lengths[at, here] = part.form(form).lengths.take(mine)
        for line, term in zip(counts, self._terms, strict=True):
            for number, postings in term.by_view:
                if number in places:
                    here, mine = places[number]
                    line[here] = postings.of(mine)
        slopes = np.array([self._measure.slope(self.stats.average(form)) for form in FORMS])
        below = counts + self._measure.k1 * (1.0 - self._measure.b) + (lengths * slopes[:, None])[self._forms]
        worth = counts * np.array(self._gains)[:, None]
        np.divide(worth, below, out=worth, where=counts > 0)
        return _Scored(ids, _rounded(worth.sum(axis=0)), counts)


def _nearly_largest(sums: Sums, wanted: int) -> float:
    """Return a number above 0 that at least *wanted* of *sums* reach, nearly the largest there is; 0 if fewer do."""
    fold = len(sums) // (FOLD * wanted)
    if fold > 1:
        sums = sums[: len(sums) // fold * fold].reshape(fold, -1).max(axis=0)
    return float(np.partition(sums, len(sums) - wanted)[len(sums) - wanted]) if len(sums) > wanted else 0.0


class _Clauses:
    """What is asked for, each clause with its worth and the scored leaves that fulfil it."""

    def __init__(self, expression: Expression, scored: Sequence[Leaf], worth: dict[Leaf, float]) -> None:
        line = {leaf: at for at, leaf in enumerate(scored)}
        self._lines: list[int] = []
        self._starts: list[int] = []
        values: list[float] = []
        self._whole = 0.0
        for clause in dict.fromkeys(clauses(expression)):
            value, held = max([worth[leaf] for leaf in clause]), [line[leaf] for leaf in clause if leaf in line]
            self._whole += value
            if held:
                values.append(value)
                self._starts.append(len(self._lines))
                self._lines += held
        self._values = np.array(values)
        self._weights = np.array([scored[at].weight for at in self._lines])[:, None]

    def coverage(self, counts: Floats) -> Floats:
        """Return the share of what is asked for in each column of *counts*; the leaf with the most weight counts."""
        if not self._starts:
            return np.zeros(counts.shape[1])
        held = (counts.take(self._lines, axis=0) > 0) * self._weights
        shares = self._values @ np.maximum.reduceat(held, self._starts, axis=0) / (self._whole or 1.0)
        return _rounded(np.minimum(shares, 1.0))


def _rounded(scores: Floats) -> Floats:
    """Return *scores* as `bm25.rounded` does."""
    found: Floats = np.rint(scores * SCORE_UNITS) / SCORE_UNITS
    return found


def _is_any(expression: Expression) -> bool:
    """Tell whether every row that holds a leaf matches."""
    if isinstance(expression, AnyOf):
        return all(_is_any(part) for part in expression.parts)
    return not isinstance(expression, AllOf | AndNot)


def _document_frequencies(terms: dict[Leaf, TermPostings]) -> dict[str, int]:
    """Return in how many rows each word occurs; of two forms that look alike, the more frequent one counts."""
    found: dict[str, int] = {}
    for leaf, term in terms.items():
        if isinstance(leaf, Word):
            found[leaf.text] = max(term.size, found.get(leaf.text, 0))
    return found


# --- words ----------------------------------------------------------------------------------


def frequencies(views: Sequence[PartView], form: Form, words: Iterable[str]) -> dict[str, int]:
    """Return in how many rows each of *words* occurs in title or body."""
    return {word: sum(named(view, form, view.part.form(form).term(word)) for view in views) for word in words}


def named(view: PartView, form: Form, term: int) -> int:
    """Return in how many rows of a view a term occurs in title or body."""
    index = view.part.form(form)
    if term < 0:
        return 0
    if view.is_whole:
        return int(index.named[term])
    start, stop = int(index.pointers[term]), int(index.pointers[term + 1])
    rows = index.rows_of(start, stop)
    rows = rows[index.counts(NAMED).take(index.codes[start:stop]) > 0]
    first, last = rows.searchsorted(np.array((view.start, view.stop), dtype=rows.dtype))
    return view.count(rows[first:last])


def vocabulary(views: Sequence[PartView], form: Form) -> dict[str, int]:
    """Return every term that occurs in a title or a body, and in how many rows."""
    found: dict[str, int] = {}
    for view in views:
        index = view.part.form(form)
        counts = index.named if view.is_whole else _all_named(view, form)
        for term, count in zip(index.names.texts(), counts.tolist(), strict=True):
            if count:
                found[term] = found.get(term, 0) + count
    return found


def _all_named(view: PartView, form: Form) -> NDArray[Any]:
    index = view.part.form(form)
    kept = np.zeros(len(view.part), dtype=np.bool_)
    kept[view.start : view.stop] = True if view.alive is None else view.alive[view.start : view.stop]
    there = kept[index.rows] & (index.counts(NAMED).take(index.codes) > 0)
    return np.diff(np.concatenate(([0], np.cumsum(there)))[index.pointers])
