"""Questions over several parts at once: the best rows, all that match, and in how many rows words stand."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recollect.records import AllOf, AndNot, AnyOf, Expression, Form, IndexHit, Leaf, Word, WordHits, WordQuery
from recollect.stores.bm25 import CollectionStats, clauses, form_of, idf, leaves, thousandths
from recollect.stores.segments.leaves import Held, read
from recollect.stores.segments.part import Mask, Part, Rows, Whole

Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The rows of a part that a question is about: a run of them, of which some are dead and some not let through.

    *alive* are in scope and count for document frequencies, *admitted* may be hits as well; None stands for all.
    Both have an entry for every row of the part. Of one part there may be several views, of different rows.
    """

    part: Part
    start: int = 0
    stop: int | None = None
    alive: Mask | None = None
    admitted: Mask | None = None

    @property
    def end(self) -> int:
        """Return behind which row it ends."""
        return len(self.part) if self.stop is None else self.stop

    def within(self, rows: Rows) -> Rows:
        """Return which places of *rows* are of this view and alive."""
        first, last = rows.searchsorted((self.start, self.end))
        places = np.arange(first, last)
        return places if self.alive is None else places[self.alive[rows[first:last]]]


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
    asked = list(dict.fromkeys(leaves(query.expression, unwanted=True)))
    held = {leaf: _held(leaf, views, thousandths(query.weights)) for leaf in asked}
    sizes = {leaf: sum(len(each.rows) for each in held[leaf]) for leaf in asked}
    found, scores = _found(query.expression, views, held), _scores(query, views, held, sizes, stats)
    ids = np.concatenate([view.part.ids[view.start : view.end] for view in views] or [np.empty(0, dtype=np.int64)])
    places = np.flatnonzero(found)
    best = places[np.lexsort((ids[places], -scores[places]))[:limit]]
    wanted = places[np.isin(ids[places], np.array(score_ids, dtype=np.int64))]
    hits = _hits(query, views, held, sizes, stats, ids, scores, [*best.tolist(), *wanted.tolist()])
    by_id = {hit.id: hit for hit in hits[len(best) :]}
    return WordHits(
        top=tuple(hits[: len(best)]),
        by_id={row: by_id[row] for row in score_ids if row in by_id},
        total=len(places),
        code_share=stats.code / max(1, stats.rows),
        document_frequencies=_document_frequencies(sizes),
        version=version,
    )


def matching(query: WordQuery, views: Sequence[View]) -> Whole:
    """Return the ids of all rows that *query* matches."""
    asked = list(dict.fromkeys(leaves(query.expression, unwanted=True)))
    found = _found(query.expression, views, {leaf: _held(leaf, views, thousandths(query.weights)) for leaf in asked})
    ids = np.concatenate([view.part.ids[view.start : view.end] for view in views] or [np.empty(0, dtype=np.int64)])
    return ids[found]


def _held(leaf: Leaf, views: Sequence[View], weights: Mapping[str, int]) -> list[Held]:
    """Return where *leaf* stands in each view, among the living."""
    found = []
    for view in views:
        all_of_it = read(view.part, leaf, weights)
        places = view.within(all_of_it.rows)
        found.append(Held(all_of_it.rows[places], all_of_it.counts[places]))
    return found


def _offsets(views: Sequence[View]) -> list[int]:
    return [0, *np.cumsum([view.end - view.start for view in views]).tolist()]


def _found(expression: Expression, views: Sequence[View], held: Mapping[Leaf, Sequence[Held]]) -> Mask:
    """Tell which rows of the views, one after another, match and are admitted."""
    offsets = _offsets(views)
    found = _matches(expression, held, views, offsets)
    for view, start, stop in zip(views, offsets, offsets[1:], strict=False):
        if view.admitted is not None:
            found[start:stop] &= view.admitted[view.start : view.end]
    return found


def _matches(
    expression: Expression, held: Mapping[Leaf, Sequence[Held]], views: Sequence[View], offsets: Sequence[int]
) -> Mask:
    found = np.zeros(offsets[-1], dtype=np.bool_)
    match expression:
        case AnyOf(parts=parts):
            for part in parts:
                found |= _matches(part, held, views, offsets)
        case AllOf(parts=parts):
            found[:] = True
            for part in parts:
                found &= _matches(part, held, views, offsets)
        case AndNot(wanted=wanted, unwanted=unwanted):
            found = _matches(wanted, held, views, offsets) & ~_matches(unwanted, held, views, offsets)
        case leaf:
            for view, each, offset in zip(views, held[leaf], offsets, strict=False):
                found[each.rows + (offset - view.start)] = True
    return found


def _scores(
    query: WordQuery,
    views: Sequence[View],
    held: Mapping[Leaf, Sequence[Held]],
    sizes: Mapping[Leaf, int],
    stats: CollectionStats,
) -> Scores:
    offsets = _offsets(views)
    scores = np.zeros(offsets[-1])
    for leaf in dict.fromkeys(leaves(query.expression, unwanted=False)):
        form = form_of(leaf)
        gain = idf(leaf, sizes[leaf], stats, query.idf) * (query.k1 + 1.0)
        base = query.k1 * (1.0 - query.b) * 1000.0
        slope = query.k1 * query.b * 1000.0 / stats.average(form)
        for view, each, offset in zip(views, held[leaf], offsets, strict=False):
            length = view.part.form(form).lengths[each.rows]
            scores[each.rows + (offset - view.start)] += gain * each.counts / (each.counts + base + slope * length)
    return scores


def _hits(
    query: WordQuery,
    views: Sequence[View],
    held: Mapping[Leaf, Sequence[Held]],
    sizes: Mapping[Leaf, int],
    stats: CollectionStats,
    ids: Whole,
    scores: Scores,
    places: Sequence[int],
) -> list[IndexHit]:
    offsets = _offsets(views)
    worth = [
        (max(idf(leaf, sizes[leaf], stats, query.idf) for leaf in clause), clause)
        for clause in dict.fromkeys(clauses(query.expression))
    ]
    whole = math.fsum(value for value, _ in worth) or 1.0
    there = {leaf: _matches(leaf, held, views, offsets) for _, clause in worth for leaf in clause}

    def coverage(at: int) -> float:
        covered = (
            value * max((leaf.weight for leaf in clause if there[leaf][at]), default=0.0) for value, clause in worth
        )
        return min(1.0, math.fsum(covered) / whole)

    return [IndexHit(id=int(ids[at]), score=float(scores[at]), coverage=coverage(at)) for at in places]


def _document_frequencies(sizes: Mapping[Leaf, int]) -> dict[str, int]:
    """Return in how many rows each word stands; of two forms that look alike, the more frequent one counts."""
    found: dict[str, int] = {}
    for leaf, size in sizes.items():
        if isinstance(leaf, Word):
            found[leaf.text] = max(size, found.get(leaf.text, 0))
    return found


# --- words ----------------------------------------------------------------------------------


def frequencies(views: Sequence[View], form: Form, words: Iterable[str]) -> dict[str, int]:
    """Return in how many rows each of *words* stands in title or body."""
    return {word: sum(named(view, form, view.part.form(form).term(word)) for view in views) for word in words}


def _is_whole(view: View) -> bool:
    return view.alive is None and view.start == 0 and view.end == len(view.part)


def named(view: View, form: Form, term: int) -> int:
    """Return in how many rows of a view a term stands in title or body."""
    index = view.part.form(form)
    if term < 0:
        return 0
    if _is_whole(view):
        return int(index.named[term])
    start, stop = int(index.pointers[term]), int(index.pointers[term + 1])
    places = view.within(index.rows[start:stop])
    return int(np.count_nonzero(index.weighted({"title": 1, "body": 1}).take(index.codes[start:stop][places])))


def vocabulary(views: Sequence[View], form: Form) -> dict[str, int]:
    """Return every term that stands in a title or a body, and in how many rows."""
    found: dict[str, int] = {}
    for view in views:
        index = view.part.form(form)
        counts = index.named if _is_whole(view) else _all_named(view, form)
        for term, count in zip(index.names.texts(), counts.tolist(), strict=True):
            if count:
                found[term] = found.get(term, 0) + count
    return found


def _all_named(view: View, form: Form) -> Whole:
    index = view.part.form(form)
    kept = np.zeros(len(view.part), dtype=np.bool_)
    kept[view.start : view.end] = True if view.alive is None else view.alive[view.start : view.end]
    there = kept[index.rows] & (index.weighted({"title": 1, "body": 1}).take(index.codes) > 0)
    sums = np.concatenate(([0], np.cumsum(there)))
    return np.diff(sums[index.pointers])
