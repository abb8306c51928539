"""Questions over several parts at once: the best rows, all that match, and in how many rows words stand."""

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import and_, or_
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.records import AllOf, AndNot, AnyOf, Bigram, Expression, Form, IndexHit, Leaf, Word, WordHits, WordQuery
from recollect.stores.bm25 import CollectionStats, clauses, form_of, idf, leaves
from recollect.stores.segments import bounds, scoring
from recollect.stores.segments.measures import Measure, measure_of
from recollect.stores.segments.part import Mask, Whole
from recollect.stores.segments.rows import FORMS
from recollect.stores.segments.searched import Key, Searched, Stand
from recollect.stores.segments.views import View

__all__ = ["Searched", "View", "frequencies", "matching", "named", "rank", "vocabulary"]

MANY: Final = 4096
"""From so many candidates on the best of them are scored first, which leaves fewer of the others."""
_NO_ROWS: Final[Whole] = np.empty(0, dtype=np.int64)
NAMED: Final = (1, 1, 0, 0, 0, 0, 0, 0, 0, 0)
"""Weights that count a term in title and body alone."""


class Plan(NamedTuple):
    """The leaves of an expression in order and by number: which add to the score, what is asked for, in which form."""

    asked: Sequence[Leaf]
    keys: Sequence[Key | None]
    wanted: Sequence[int]
    clauses: Sequence[tuple[int, ...]]
    forms: Sequence[int]
    is_any: bool


def _plan(expression: Expression) -> Plan:
    plain = _plain_plan(expression.parts) if isinstance(expression, AnyOf) else None
    if plain is not None:
        return plain
    number = {leaf: at for at, leaf in enumerate(dict.fromkeys(leaves(expression, unwanted=True)))}
    wanted = [number[leaf] for leaf in dict.fromkeys(leaves(expression, unwanted=False))]
    meant = [tuple(number[leaf] for leaf in clause) for clause in dict.fromkeys(clauses(expression))]
    forms = [FORMS.index(form_of(leaf)) for leaf in number]
    return Plan(list(number), list(map(_key, number)), wanted, meant, forms, is_any=_is_any(expression))


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
    keys = [key[:-1] for key in number]
    forms = [int(key[1] == "exact" and len(key) == 2) for key in keys]
    return Plan(asked, keys, range(len(asked)), list(meant), forms, is_any=True)


def _key(leaf: object) -> Key | None:
    """Return what a word or a pair is known by, whatever it weighs."""
    if type(leaf) is Word:
        return leaf.text, leaf.form
    return (leaf.first, leaf.second, None) if type(leaf) is Bigram else None


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
    measure = measure_of(query.weights, query.k1, query.b)
    scorer: _Scorer | None = searched.last
    if scorer is None or not scorer.is_for(query, stats, measure):
        scorer = searched.last = _Scorer(query, searched, stats, measure)
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
    stands = searched.stands(plan.asked, plan.keys, measure)
    found = _matches(plan, stands, searched, query.expression)
    return np.concatenate([_NO_ROWS, *_admitted_ids(searched, found)])


def _admitted_ids(searched: Searched, found: Mask) -> Iterable[Whole]:
    for view, start in zip(searched.views, searched.offsets, strict=False):
        may, here = view.may_be_hits(), found[start : start + len(view)]
        yield view.part.ids[view.start : view.stop][here if may is None else here & may]


def _matches(plan: Plan, stands: Sequence[Stand], searched: Searched, expression: Expression) -> Mask:
    """Tell which rows of the views, one after another, match, be they alive or not."""

    def matches(expression: Expression) -> Mask:
        found = np.zeros(searched.offsets[-1], dtype=np.bool_)
        match expression:
            case AnyOf(parts=parts):
                return reduce(or_, map(matches, parts), found)
            case AllOf(parts=parts):
                return reduce(and_, map(matches, parts))
            case AndNot(wanted=wanted, unwanted=unwanted):
                return matches(wanted) & ~matches(unwanted)
        for place in stands[plan.asked.index(expression)].places:
            if place.dense is None:
                found[place.rows + np.int64(searched.shifts[place.view])] = True
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

    def __init__(self, query: WordQuery, searched: Searched, stats: CollectionStats, measure: Measure) -> None:
        self._query, self._stats, self._measure = query, stats, measure
        self._token = object()
        plan = self._plan = _plan(query.expression)
        self._stands = searched.stands(plan.asked, plan.keys, measure)
        worth = [idf(leaf, size, stats, query.idf) for leaf, (size, _) in zip(plan.asked, self._stands, strict=True)]
        wanted = [at for at in plan.wanted if self._stands[at].size]
        factor = query.k1 + 1.0
        self._lines = [bounds.Line(worth[at] * factor, plan.forms[at], self._stands[at].places) for at in wanted]
        self._gains = np.array([line.gain for line in self._lines])[:, None]
        self._used = sorted({line.form for line in self._lines}) or [0]
        self._forms = [self._used.index(line.form) for line in self._lines] if len(self._used) > 1 else []
        averages = (stats.average("stem"), stats.average("exact"))
        self._slopes = [measure.slope(average) for average in averages]
        self._drifts = searched.drifts(measure, averages)
        self._together = bounds.Together(self._lines, searched)
        lines = {at: line for line, at in enumerate(wanted)}
        clauses = [_clause(plan, clause, worth, lines) for clause in plan.clauses]
        self._coverage = scoring.Coverage(clauses)
        self.document_frequencies = _document_frequencies(plan, self._stands)

    def is_for(self, query: WordQuery, stats: CollectionStats, measure: Measure) -> bool:
        """Tell whether it was made for this very question."""
        return query is self._query and measure == self._measure and stats == self._stats

    def best(
        self, searched: Searched, limit: int, score_ids: Sequence[int]
    ) -> tuple[list[IndexHit], dict[int, IndexHit], int]:
        """Return the best rows, those of *score_ids* that match, and how many match in all."""
        sums = bounds.remembered(self._token) or self._sums(searched)
        rows = bounds.candidates(sums, limit) if limit else _NO_ROWS
        if len(rows) > max(MANY, 4 * limit):
            rows = self._narrowed(searched, sums, rows, limit)
        count, chosen = len(rows), _NO_ROWS
        if score_ids:
            once = dict.fromkeys(score_ids)
            wanted = searched.rows_of(np.fromiter(once, dtype=np.int64, count=len(once)))
            rows, chosen = _joined(rows, wanted[sums.values.take(wanted) > 0], searched.offsets[-1])
        exact = self._exact(searched, rows)
        scores = -exact.scores[:count]
        order = scores.argsort(kind="stable") if searched.is_ascending else np.lexsort((exact.ids[:count], scores))
        size = min(limit, count)
        chosen = np.concatenate((order[:size], chosen)) if len(chosen) else order[:size]
        shares = self._coverage.of(exact.counts.take(chosen, axis=1))
        ids = exact.ids.take(chosen).tolist()
        hits = scoring.hits_of(ids, exact.scores.take(chosen).tolist(), shares)
        return hits[:size], dict(zip(ids[size:], hits[size:], strict=True)), sums.total

    def _sums(self, searched: Searched) -> bounds.Sums:
        sums = bounds.add_up(self._lines, self._together, searched, self._drifts)
        expression = self._query.expression
        found = None if self._plan.is_any else _matches(self._plan, self._stands, searched, expression)
        sums = bounds.hide(sums, searched, found)
        bounds.remember(self._token, sums)
        return sums

    def _narrowed(self, searched: Searched, sums: bounds.Sums, rows: Whole, limit: int) -> Whole:
        """Return those of *rows* that may still be among the best once those with the largest sums are scored."""
        values = sums.values[rows]
        few = rows[np.argpartition(values, len(values) - 2 * limit)[len(values) - 2 * limit :]]
        scores = self._exact(searched, few).scores
        reached = float(np.partition(scores, len(scores) - limit)[len(scores) - limit])
        least = max(1, int(reached * sums.scale / bounds.SLACK))
        return rows[values >= least]

    def _exact(self, searched: Searched, rows: Whole) -> _Exact:
        """Return the scores of *rows*."""
        counts = np.zeros((len(self._lines), len(rows)))
        self._together.counts_at(rows, bounds.slots_of(rows, searched.offsets[-1]), counts)
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
        return _Exact(ids, scoring.score(counts, lengths, self._gains, self._measure.least), counts)

    def _read(self, searched: Searched, at: int, rows: Whole, counts: scoring.Scores) -> tuple[Whole, scoring.Scores]:
        """Return the ids of rows of one view and what their lengths add; put the counts of frequent leaves in."""
        part, shift = searched.views[at].part, searched.shifts[at]
        if shift:
            rows = rows - shift
        for _, line, place in self._together.others[at]:
            counts[line] = place.postings.of(rows)
        lengths = [part.form(FORMS[form]).lengths.take(rows) * self._slopes[form] for form in self._used]
        return part.ids.take(rows), np.array(lengths)


def _clause(plan: Plan, clause: tuple[int, ...], worth: Sequence[float], lines: dict[int, int]) -> scoring.Clause:
    """Return what is asked for in terms of the lines that are held."""
    if len(clause) == 1 and clause[0] in lines:
        (at,) = clause
        return worth[at], [lines[at]], [plan.asked[at].weight]
    held = [at for at in clause if at in lines]
    return max([worth[at] for at in clause]), [lines[at] for at in held], [plan.asked[at].weight for at in held]


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


def _joined(rows: Whole, others: Whole, size: int) -> tuple[Whole, Whole]:
    """Return *rows* and those of *others* that are not among them, and where the others stand there."""
    if not len(rows):
        return others, np.arange(len(others))
    places = bounds.slots_of(rows, size).take(others).astype(np.int64)
    fresh = np.flatnonzero(rows.take(places, mode="clip") != others)
    places[fresh] = np.arange(len(rows), len(rows) + len(fresh))
    return np.concatenate((rows, others[fresh])), places


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
