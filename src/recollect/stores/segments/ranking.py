"""Questions over several parts at once: the best rows, all that match, and in how many rows words stand."""

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import and_, or_
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.records import AllOf, AndNot, AnyOf, Bigram, Expression, Form, IndexHit, Leaf, Word, WordHits, WordQuery
from recollect.stores.bm25 import CollectionStats, clauses, leaves
from recollect.stores.segments import bounds, scoring
from recollect.stores.segments.measures import measure_of
from recollect.stores.segments.part import Mask, Whole
from recollect.stores.segments.rows import FORMS
from recollect.stores.segments.searched import SCALE, SLACK, Key, Numbers, Place, Searched, Stand
from recollect.stores.segments.views import View

__all__ = ["Searched", "View", "frequencies", "matching", "named", "rank", "vocabulary"]

_NO_ROWS: Final[Whole] = np.empty(0, dtype=np.int64)
NAMED: Final = (1, 1, 0, 0, 0, 0, 0, 0, 0, 0)
"""Weights that count a term in title and body alone."""


class Plan(NamedTuple):
    """The leaves of an expression in order and by number: which add to the score, and what is asked for."""

    asked: Sequence[Leaf]
    keys: Sequence[Key | None]
    wanted: Sequence[int]
    clauses: Sequence[tuple[int, ...]]
    is_any: bool


def _plan(expression: Expression) -> Plan:
    plain = _plain_plan(expression.parts) if isinstance(expression, AnyOf) else None
    if plain is not None:
        return plain
    number = {leaf: at for at, leaf in enumerate(dict.fromkeys(leaves(expression, unwanted=True)))}
    wanted = [number[leaf] for leaf in dict.fromkeys(leaves(expression, unwanted=False))]
    meant = [tuple(number[leaf] for leaf in clause) for clause in dict.fromkeys(clauses(expression))]
    return Plan(list(number), list(map(_key, number)), wanted, meant, is_any=_is_any(expression))


def _plain_plan(parts: Sequence[Expression]) -> Plan | None:
    """Return the plan of words and pairs of which any may match, as those of most questions; None for others.

    Leaves are told apart by tuples, which are made and compared much faster than they are themselves.
    """
    number: dict[tuple[Any, ...], int] = {}
    asked: list[Any] = []
    meant: dict[tuple[int, ...], None] = {}
    for part in parts:
        several: Sequence[Any] = part.parts if type(part) is AnyOf else (part,)
        places = []
        for leaf in several:
            kind = type(leaf)
            if kind is Word:
                key: tuple[Any, ...] = (leaf.text, leaf.form, leaf.weight)
            elif kind is type(part) is Bigram:
                key = (leaf.first, leaf.second, None, leaf.weight)
            else:
                return None
            at = number.setdefault(key, len(asked))
            if at == len(asked):
                asked.append(leaf)
            places.append(at)
        if type(part) is not Bigram:
            meant[tuple(places)] = None
    return Plan(asked, list(number), range(len(asked)), list(meant), is_any=True)


def _key(leaf: object) -> Key | None:
    """Return what a word or a pair is known by."""
    if type(leaf) is Word:
        return leaf.text, leaf.form, leaf.weight
    return (leaf.first, leaf.second, None, leaf.weight) if type(leaf) is Bigram else None


def _is_any(expression: Expression) -> bool:
    """Tell whether every row that holds a leaf matches."""
    if isinstance(expression, AnyOf):
        return all(_is_any(part) for part in expression.parts)
    return not isinstance(expression, AllOf | AndNot)


def rank(
    query: WordQuery,
    searched: Searched,
    *,
    stats: CollectionStats,
    limit: int,
    score_ids: Sequence[int] = (),
    version: int = 0,
) -> WordHits:
    """Return the best *limit* rows for *query*, ties by id, and the scores of *score_ids*."""
    numbers = Numbers(measure_of(query.weights, query.k1, query.b), stats, query.idf)
    scorer: _Scorer | None = searched.last
    if scorer is None or not scorer.is_for(query, numbers):
        scorer = searched.last = _Scorer(query, searched, numbers)
    top, by_id, total = scorer.best(searched, max(0, limit), score_ids)
    return WordHits(
        top=tuple(top),
        by_id=by_id,
        total=total,
        code_share=stats.code / max(1, stats.rows),
        document_frequencies=scorer.document_frequencies,
        version=version,
    )


def matching(query: WordQuery, searched: Searched) -> Whole:
    """Return the ids of all rows that *query* matches."""
    plan, measure = _plan(query.expression), measure_of(query.weights, query.k1, query.b)
    found = _matches(plan, searched.places(plan.asked, measure), searched, query.expression)
    return np.concatenate([_NO_ROWS, *_admitted_ids(searched, found)])


def _admitted_ids(searched: Searched, found: Mask) -> Iterable[Whole]:
    for view, start in zip(searched.views, searched.offsets, strict=False):
        may, here = view.may_be_hits(), found[start : start + len(view)]
        yield view.part.ids[view.start : view.stop][here if may is None else here & may]


def _matches(plan: Plan, spread: Sequence[Sequence[Place]], searched: Searched, expression: Expression) -> Mask:
    """Tell which rows of the views, one after another, match, be they alive or not; *spread* is where leaves stand."""

    def matches(expression: Expression) -> Mask:
        found = np.zeros(len(searched), dtype=np.bool_)
        match expression:
            case AnyOf(parts=parts):
                return reduce(or_, map(matches, parts), found)
            case AllOf(parts=parts):
                return reduce(and_, map(matches, parts))
            case AndNot(wanted=wanted, unwanted=unwanted):
                return matches(wanted) & ~matches(unwanted)
        for place in spread[plan.asked.index(expression)]:
            if place.dense is None:
                found[searched.rows_in(place)] = True
            else:
                start = searched.offsets[place.view]
                np.greater(place.dense, 0, out=found[start : start + len(place.dense)])
        return found

    return matches(expression)


# --- the best rows --------------------------------------------------------------------------


class _Exact(NamedTuple):
    """The ids and scores of rows, and how often each leaf that adds to these stands in them."""

    ids: Whole
    scores: scoring.Scores
    counts: scoring.Scores


class _Scorer:
    """One question on its way to its hits; leaves that stand nowhere are left out.

    It does not hold what it searches, which holds it: so files are let go of as soon as nobody asks them.
    """

    def __init__(self, query: WordQuery, searched: Searched, numbers: Numbers) -> None:
        self._query, self._numbers = query, numbers
        self._token = object()
        plan = self._plan = _plan(query.expression)
        stands = self._stands = searched.stands(plan.asked, plan.keys, numbers)
        wanted = [at for at in plan.wanted if stands[at].size]
        lines = self._lines = [stands[at] for at in wanted]
        self._drifts = searched.drifts(numbers)
        self._together = bounds.Together(lines, searched, self._drifts)
        self._gains = np.array([line.gain for line in lines])[:, None]
        self._used = sorted({line.form for line in lines}) or [0]
        self._forms = [self._used.index(line.form) for line in lines] if len(self._used) > 1 else []
        self._slopes = [numbers.measure.slope(numbers.stats.average(FORMS[form])) for form in self._used]
        places = {at: line for line, at in enumerate(wanted)}
        self._coverage = scoring.Coverage([_clause(plan, clause, stands, places) for clause in plan.clauses])
        self.document_frequencies = _document_frequencies(plan, stands)

    def is_for(self, query: WordQuery, numbers: Numbers) -> bool:
        """Tell whether it was made for this very question."""
        return query is self._query and numbers == self._numbers

    def best(
        self, searched: Searched, limit: int, score_ids: Sequence[int]
    ) -> tuple[list[IndexHit], dict[int, IndexHit], int]:
        """Return the best rows, those of *score_ids* that match, and how many match in all."""
        sums = bounds.remembered(self._token) or self._sums(searched)
        top = self._top(searched, sums, limit) if limit else []
        if not score_ids:
            return top, {}, sums.total
        once = dict.fromkeys(score_ids)
        rows = searched.rows_of(np.fromiter(once, dtype=np.int64, count=len(once)))
        asked = self._hits(self._exact(searched, rows[sums.values.take(rows) > 0]))
        return top, {hit.id: hit for hit in asked}, sums.total

    def _sums(self, searched: Searched) -> bounds.Sums:
        sums = bounds.add_up(self._lines, self._together, searched, self._drifts)
        spread = () if self._plan.is_any else [stand.places for stand in self._stands]
        found = _matches(self._plan, spread, searched, self._query.expression) if spread else None
        sums = bounds.hide(sums, searched, found)
        bounds.remember(self._token, sums)
        return sums

    def _top(self, searched: Searched, sums: bounds.Sums, limit: int) -> list[IndexHit]:
        """Return the best rows: those with the largest sums are scored, and then all that may reach their scores."""
        rows, least = bounds.candidates(sums, limit)
        exact = self._exact(searched, rows)
        if least > 1:
            reached = np.partition(exact.scores, len(rows) - limit)[len(rows) - limit]
            lower = max(1, int(reached * SCALE / SLACK))
            if lower < least:
                exact = self._exact(searched, bounds.from_sum(sums, lower))
        down = -exact.scores
        order = down.argsort(kind="stable") if searched.is_ascending else np.lexsort((exact.ids, down))
        best = order[:limit]
        return self._hits(_Exact(exact.ids.take(best), exact.scores.take(best), exact.counts.take(best, axis=1)))

    def _hits(self, exact: _Exact) -> list[IndexHit]:
        return scoring.hits_of(exact.ids.tolist(), exact.scores.tolist(), self._coverage.of(exact.counts))

    def _exact(self, searched: Searched, rows: Whole) -> _Exact:
        """Return the scores of *rows*."""
        counts = np.zeros((len(self._lines), len(rows)))
        self._together.put(rows, counts, len(searched))
        if len(searched.views) == 1:
            ids, lengths = self._read(searched, 0, rows, counts)
        else:
            ids, lengths = np.empty(len(rows), dtype=np.int64), np.empty((len(self._used), len(rows)))
            for at, here in _by_view(searched, rows):
                mine = np.zeros((len(self._lines), len(here)))
                ids[here], lengths[:, here] = self._read(searched, at, rows[here], mine)
                counts[:, here] += mine
        if len(lengths) > 1:
            lengths = lengths[self._forms]
        return _Exact(ids, scoring.score(counts, lengths, self._gains, self._numbers.measure.least), counts)

    def _read(self, searched: Searched, at: int, rows: Whole, counts: scoring.Scores) -> tuple[Whole, scoring.Scores]:
        """Return the ids of rows of one view and what their lengths add; put the counts of frequent leaves in."""
        part, shift = searched.views[at].part, searched.shifts[at]
        if shift:
            rows = rows - shift
        for line, place, _ in self._together.others[at]:
            counts[line] = place.postings.of(rows)
        lengths = [
            part.form(FORMS[form]).lengths.take(rows) * slope
            for form, slope in zip(self._used, self._slopes, strict=True)
        ]
        return part.ids.take(rows), np.array(lengths)


def _clause(plan: Plan, clause: tuple[int, ...], stands: Sequence[Stand], lines: dict[int, int]) -> scoring.Clause:
    """Return what is asked for in terms of the lines that are held."""
    if len(clause) == 1 and clause[0] in lines:
        (at,) = clause
        return stands[at].value, [lines[at]], [plan.asked[at].weight]
    held = [at for at in clause if at in lines]
    return max([stands[at].value for at in clause]), [lines[at] for at in held], [plan.asked[at].weight for at in held]


def _document_frequencies(plan: Plan, stands: Sequence[Stand]) -> dict[str, int]:
    """Return in how many rows each word stands; of two forms that look alike, the more frequent one counts."""
    found: dict[str, int] = {}
    for leaf, stand in zip(plan.asked, stands, strict=True):
        if type(leaf) is Word:
            found[leaf.text] = max(stand.size, found.get(leaf.text, 0))
    return found


def _by_view(searched: Searched, rows: Whole) -> Iterable[tuple[int, Whole]]:
    """Yield the views that have any of *rows*, and which these are."""
    views = np.array(searched.offsets[1:]).searchsorted(rows, "right")
    for at in np.flatnonzero(np.bincount(views)).tolist():
        yield at, np.flatnonzero(views == at)


# --- words ----------------------------------------------------------------------------------


def frequencies(views: Sequence[View], form: Form, words: Iterable[str]) -> dict[str, int]:
    """Return in how many rows each of *words* stands in title or body."""
    return {word: sum(named(view, form, view.part.form(form).term(word)) for view in views) for word in words}


def named(view: View, form: Form, term: int) -> int:
    """Return in how many rows of a view a term stands in title or body."""
    index = view.part.form(form)
    if term < 0:
        return 0
    if view.is_whole:
        return int(index.named[term])
    start, stop = int(index.pointers[term]), int(index.pointers[term + 1])
    rows = index.rows[start:stop]
    return view.count(rows[index.counts(NAMED).take(index.codes[start:stop]) > 0])


def vocabulary(views: Sequence[View], form: Form) -> dict[str, int]:
    """Return every term that stands in a title or a body, and in how many rows."""
    found: dict[str, int] = {}
    for view in views:
        index = view.part.form(form)
        counts = index.named if view.is_whole else _all_named(view, form)
        for term, count in zip(index.names.texts(), counts.tolist(), strict=True):
            if count:
                found[term] = found.get(term, 0) + count
    return found


def _all_named(view: View, form: Form) -> NDArray[Any]:
    index = view.part.form(form)
    kept = np.zeros(len(view.part), dtype=np.bool_)
    kept[view.start : view.stop] = True if view.alive is None else view.alive[view.start : view.stop]
    there = kept[index.rows] & (index.counts(NAMED).take(index.codes) > 0)
    return np.diff(np.concatenate(([0], np.cumsum(there)))[index.pointers])
