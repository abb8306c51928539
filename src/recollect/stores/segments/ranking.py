"""Questions over several parts at once: the best rows, all that match, and in how many rows words stand."""

from collections.abc import Container, Iterable, Mapping, Sequence
from functools import reduce
from operator import and_, or_
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.records import AllOf, AndNot, AnyOf, Bigram, Expression, Form, IndexHit, Leaf, Word, WordHits, WordQuery
from recollect.stores.bm25 import CollectionStats, clauses, form_of, idf, leaves
from recollect.stores.segments import bounds, scoring
from recollect.stores.segments.measures import Measure, drift, measure_of
from recollect.stores.segments.part import Mask, Whole
from recollect.stores.segments.postings import Postings, counts_at, find
from recollect.stores.segments.rows import FORMS
from recollect.stores.segments.views import View

__all__ = ["View", "frequencies", "matching", "named", "rank", "vocabulary"]

MANY: Final = 4096
"""From so many candidates on the best of them are scored first, which leaves fewer of the others."""
SINGLE: Final[tuple[Any, ...]] = (Word, Bigram)
"""The leaves that most questions are made of."""
_NO_ROWS: Final[Whole] = np.empty(0, dtype=np.int64)
NAMED: Final = (1, 1, 0, 0, 0, 0, 0, 0, 0, 0)
"""Weights that count a term in title and body alone."""


class Plan(NamedTuple):
    """The leaves of an expression in order and by number: which add to the score, what is asked for, in which form."""

    asked: Sequence[Leaf]
    wanted: Sequence[int]
    clauses: Sequence[tuple[int, ...]]
    counted: Container[int]
    forms: Sequence[int]
    is_any: bool


class Asked(NamedTuple):
    """A question over some views: where its leaves stand, in how many rows each, and where each view begins."""

    plan: Plan
    expression: Expression
    views: Sequence[View]
    offsets: Sequence[int]
    postings: Sequence[Sequence[Postings]]
    sizes: Sequence[int]
    measure: Measure


def _plan(expression: Expression) -> Plan:
    if isinstance(expression, AnyOf):
        asked = list(dict.fromkeys(expression.parts))
        if all(type(leaf) in SINGLE for leaf in asked):
            return _plain_plan(asked)
    number = {leaf: at for at, leaf in enumerate(dict.fromkeys(leaves(expression, unwanted=True)))}
    wanted = [number[leaf] for leaf in dict.fromkeys(leaves(expression, unwanted=False))]
    meant = [tuple(number[leaf] for leaf in clause) for clause in dict.fromkeys(clauses(expression))]
    counted = {at for clause in meant for at in clause}
    forms = [FORMS.index(form_of(leaf)) for leaf in number]
    return Plan(list(number), wanted, meant, counted, forms, is_any=_is_any(expression))


def _plain_plan(asked: list[Any]) -> Plan:
    """Return the plan of words and pairs of which any may match, as those of most questions."""
    places = range(len(asked))
    words = [at for at in places if type(asked[at]) is Word]
    forms = [int(type(leaf) is Word and leaf.form == "exact") for leaf in asked]
    return Plan(asked, places, [(at,) for at in words], set(words), forms, is_any=True)


def _is_any(expression: Expression) -> bool:
    """Tell whether every row that holds a leaf matches."""
    if isinstance(expression, AnyOf):
        return all(_is_any(part) for part in expression.parts)
    return not isinstance(expression, AllOf | AndNot)


def _ask(query: WordQuery, views: Sequence[View]) -> Asked:
    plan, measure = _plan(query.expression), measure_of(query.weights, query.k1, query.b)
    by_view = [find(view.part, plan.asked, measure) for view in views]
    postings = list(zip(*by_view, strict=True)) if views else [()] * len(plan.asked)
    counted = [_sizes(view, found) for view, found in zip(views, by_view, strict=True)]
    sizes = counted[0] if len(counted) == 1 else [sum(each) for each in zip(*counted, strict=True)]
    sizes = sizes or [0] * len(plan.asked)
    offsets = [0]
    for view in views:
        offsets.append(offsets[-1] + len(view))
    return Asked(plan, query.expression, views, offsets, postings, sizes, measure)


def _sizes(view: View, found: Sequence[Postings]) -> list[int]:
    """Return in how many living rows of a view each leaf stands."""
    if view.is_whole:
        return [len(each.rows) for each in found]
    return [view.count(each.rows, each.dense) for each in found]


def rank(
    query: WordQuery,
    views: Sequence[View],
    *,
    stats: CollectionStats,
    limit: int,
    score_ids: Sequence[int] = (),
    version: int = 0,
) -> WordHits:
    """Return the best *limit* rows for *query*, ties by id, and the scores of *score_ids*."""
    asked = _ask(query, views)
    top, by_id, total = _Scorer(query, asked, stats).best(max(0, limit), score_ids)
    return WordHits(
        top=tuple(top),
        by_id=by_id,
        total=total,
        code_share=stats.code / max(1, stats.rows),
        document_frequencies=_document_frequencies(asked),
        version=version,
    )


def matching(query: WordQuery, views: Sequence[View]) -> Whole:
    """Return the ids of all rows that *query* matches."""
    asked = _ask(query, views)
    found = _matches(asked, asked.expression)
    return np.concatenate([_NO_ROWS, *_admitted_ids(asked, found)])


def _admitted_ids(asked: Asked, found: Mask) -> Iterable[Whole]:
    for view, start, stop in zip(asked.views, asked.offsets, asked.offsets[1:], strict=False):
        may, here = view.may_be_hits(), found[start:stop]
        yield view.part.ids[view.start : view.stop][here if may is None else here & may]


def _matches(asked: Asked, expression: Expression) -> Mask:
    """Tell which rows of the views, one after another, match, be they alive or not."""
    match expression:
        case AnyOf(parts=parts):
            return reduce(or_, (_matches(asked, part) for part in parts), np.zeros(asked.offsets[-1], dtype=np.bool_))
        case AllOf(parts=parts):
            return reduce(and_, (_matches(asked, part) for part in parts))
        case AndNot(wanted=wanted, unwanted=unwanted):
            return _matches(asked, wanted) & ~_matches(asked, unwanted)
    found = np.zeros(asked.offsets[-1], dtype=np.bool_)
    for view, each, offset in zip(
        asked.views, asked.postings[asked.plan.asked.index(expression)], asked.offsets, strict=False
    ):
        if each.dense is not None:
            np.greater(each.dense[view.start : view.stop], 0, out=found[offset : offset + len(view)])
        else:
            found[each.rows[view.inside(each.rows)] + (offset - view.start)] = True
    return found


def _document_frequencies(asked: Asked) -> dict[str, int]:
    """Return in how many rows each word stands; of two forms that look alike, the more frequent one counts."""
    found: dict[str, int] = {}
    for leaf, size in zip(asked.plan.asked, asked.sizes, strict=True):
        if isinstance(leaf, Word):
            found[leaf.text] = max(size, found.get(leaf.text, 0))
    return found


# --- the best rows --------------------------------------------------------------------------


class _Exact(NamedTuple):
    """The ids and scores of rows, and which of the leaves that add to these each holds."""

    ids: Whole
    scores: scoring.Scores
    held: Mask


class _Scorer:
    """One question on its way to its hits; leaves that stand nowhere are left out."""

    def __init__(self, query: WordQuery, asked: Asked, stats: CollectionStats) -> None:
        self._asked, plan, measure = asked, asked.plan, asked.measure
        worth = [idf(leaf, size, stats, query.idf) for leaf, size in zip(plan.asked, asked.sizes, strict=True)]
        wanted = [at for at in plan.wanted if asked.sizes[at]]
        self._postings = [asked.postings[at] for at in wanted]
        averages = [stats.average(form) for form in FORMS]
        self._slopes = [measure.slope(average) for average in averages]
        forms = [plan.forms[at] for at in wanted]
        factor = query.k1 + 1.0
        self._lines = [scoring.Line(worth[at] * factor, form) for at, form in zip(wanted, forms, strict=True)]
        drifts = [
            [drift(measure, view.part.form(form).average, average) for view in asked.views]
            for form, average in zip(FORMS, averages, strict=True)
        ]
        self._drifts = [drifts[form] for form in forms]
        self._counted = [line for line, at in enumerate(wanted) if at in plan.counted]
        self._clauses = self._asked_for(worth, {wanted[line]: at for at, line in enumerate(self._counted)})

    def _asked_for(self, worth: Sequence[float], lines: Mapping[int, int]) -> list[scoring.Clause]:
        asked = self._asked.plan.asked
        found = []
        for clause in self._asked.plan.clauses:
            if len(clause) == 1 and clause[0] in lines:
                at = clause[0]
                found.append(scoring.Clause(worth[at], (lines[at],), (asked[at].weight,)))
                continue
            held = [at for at in clause if at in lines]
            weights = tuple(asked[at].weight for at in held)
            found.append(scoring.Clause(max(worth[at] for at in clause), tuple(lines[at] for at in held), weights))
        return found

    def best(self, limit: int, score_ids: Sequence[int]) -> tuple[list[IndexHit], dict[int, IndexHit], int]:
        """Return the best rows, those of *score_ids* that match, and how many match in all."""
        asked = self._asked
        leaves = bounds.Leaves([line.gain for line in self._lines], self._drifts, self._postings)
        sums = bounds.add_up(leaves, asked.views, asked.offsets)
        found = None if asked.plan.is_any else _matches(asked, asked.expression)
        bounds.hide(sums, asked.views, asked.offsets, found)
        total = int(np.count_nonzero(sums.values))
        wanted = self._rows_of(score_ids)
        wanted = wanted[sums.values[wanted] > 0]
        rows = bounds.candidates(sums, limit, total) if limit else _NO_ROWS
        if len(rows) > max(MANY, 4 * limit):
            rows = self._narrowed(sums, rows, limit)
        exact = self._exact(np.concatenate((rows, wanted)) if len(wanted) else rows)
        order = np.lexsort((exact.ids[: len(rows)], -exact.scores[: len(rows)]))[:limit]
        chosen = np.concatenate((order, np.arange(len(rows), len(exact.ids))))
        shares = scoring.coverages(exact.held[:, chosen][self._counted], self._clauses)
        ids = exact.ids[chosen].tolist()
        hits = scoring.hits_of(ids, exact.scores[chosen].tolist(), shares)
        size = len(order)
        return hits[:size], dict(zip(ids[size:], hits[size:], strict=True)), total

    def _narrowed(self, sums: bounds.Sums, rows: Whole, limit: int) -> Whole:
        """Return those of *rows* that may still be among the best once those with the largest sums are scored."""
        values = sums.values[rows]
        few = rows[np.argpartition(values, len(values) - 2 * limit)[len(values) - 2 * limit :]]
        scores = self._exact(few).scores
        reached = float(np.partition(scores, len(scores) - limit)[len(scores) - limit])
        least = max(1, int(reached * sums.scale / bounds.SLACK))
        return rows[values >= least]

    def _rows_of(self, ids: Sequence[int]) -> Whole:
        """Return the rows of *ids* in the views, in their order, each id once."""
        if not ids:
            return _NO_ROWS
        wanted = np.array(list(dict.fromkeys(ids)), dtype=np.int64)
        views = self._asked.views
        if len(views) == 1 and len(views[0]) == len(views[0].part):
            alone = views[0].part.rows_of(wanted)
            return alone[alone >= 0].astype(np.int64)
        found = np.full(len(wanted), -1, dtype=np.int64)
        for view, offset in zip(self._asked.views, self._asked.offsets, strict=False):
            rows = view.part.rows_of(wanted)
            here = (rows >= view.start) & (rows < view.stop)
            np.copyto(found, rows + (offset - view.start), where=here)
        return found[found >= 0]

    def _exact(self, rows: Whole) -> _Exact:
        """Return the scores of *rows*."""
        views, offsets = self._asked.views, self._asked.offsets
        if len(views) == 1:
            return self._scored(*self._read(0, rows))
        ids, lengths = np.empty(len(rows), dtype=np.int64), np.empty((len(FORMS), len(rows)), dtype=np.int32)
        counts = np.zeros((len(self._lines), len(rows)))
        for at in range(len(views)):
            here = np.flatnonzero((rows >= offsets[at]) & (rows < offsets[at + 1]))
            if len(here):
                ids[here], lengths[:, here], counts[:, here] = self._read(at, rows[here])
        return self._scored(ids, lengths, counts)

    def _read(self, at: int, rows: Whole) -> tuple[Whole, NDArray[Any], scoring.Scores]:
        """Return the ids of some rows of one view, their lengths by form, and the counts by leaf."""
        view = self._asked.views[at]
        part, mine = view.part, (rows + (view.start - self._asked.offsets[at])).astype(np.int32)
        lengths = np.array([part.form(form).lengths.take(mine) for form in FORMS])
        return part.ids.take(mine), lengths, counts_at([each[at] for each in self._postings], mine, len(part))

    def _scored(self, ids: Whole, lengths: NDArray[Any], counts: scoring.Scores) -> _Exact:
        scores = scoring.score(counts, lengths, self._lines, self._asked.measure.least, self._slopes)
        return _Exact(ids, scores, counts > 0)


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
