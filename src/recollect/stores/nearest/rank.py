"""The nearest among the rows of some blocks: whoever may be meant is found in float32, and ranked in float64.

A table without codes, or of a store that is not large, is compared row by row, and the answer is exact: float32
products are off by less than a margin that is kept below the last one wanted. A table with codes brings more than are
wanted by its codes first, which miss one in some thousands.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from recollect.records import IndexHit
from recollect.stores.nearest.codes import Selector
from recollect.stores.nearest.table import Block, Table
from recollect.values import dataclass
from recollect.vectors import DIGITS

SPARE: Final = 16
"""How many passages more than wanted are looked at first: some are of the same memory."""
DEPTH: Final = 2
"""How many rows for each one wanted the codes bring, of up to `LARGE` rows; of more, twice as many."""
LARGE: Final = 250_000
FEWEST: Final = 100
"""So many are always taken to be wanted."""
MARGIN: Final = 1e-4
"""More than twice what rounding may add up to in a float32 product of some hundred numbers of unit vectors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Which rows of a block a question admits: None for all."""

    block: Block
    rows: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Rows of a table with their products; None for all its rows."""

    column: "Column"
    rows: Any
    scores: Any

    def memories(self, least: float) -> Any:
        """Return the memories of the rows that reach *least*."""
        kept = np.flatnonzero(self.scores >= least)
        return self.column.memories(kept if self.rows is None else self.rows[kept])


class Column:
    """One table of a block as a question sees it."""

    def __init__(self, admission: Admission, table: Table, rows: Any, admitted: Any) -> None:
        self._block = admission.block
        self._table = table
        self._rows = rows
        self._admitted = admitted
        self.count = len(table) if admitted is None else int(np.count_nonzero(admitted))
        self._chosen = np.flatnonzero(admitted) if admitted is not None and self.count * 4 <= len(table) else None
        self._selector: Selector | None = None

    def memories(self, rows: Any) -> Any:
        """Return the memories of *rows* of this table."""
        return self._block.memories[rows if self._rows is None else self._rows[rows]]

    def guess(self, query: Any, depth: int) -> tuple[Any, Any] | None:
        """Return *depth* rows that seem nearest by their codes, and how near; None where all can be compared."""
        codes = self._table.codes() if self.count > depth else None
        return None if codes is None else codes.candidates(query, self._marked(), depth)

    def compare(self, query: Any, rows: Any) -> "Pool":
        """Return the products of *rows*."""
        ordered = np.sort(rows)
        return Pool(column=self, rows=ordered, scores=self._table.rows(ordered) @ query)

    def compare_all(self, query: Any) -> "Pool":
        """Return the products of all rows that are admitted."""
        if self._chosen is not None:
            return self.compare(query, self._chosen)
        scores = self._table.vectors @ query
        if self._admitted is not None:
            scores[~self._admitted] = -np.inf
        return Pool(column=self, rows=None, scores=scores)

    def _marked(self) -> Selector | None:
        if self._admitted is not None and self._selector is None:
            self._selector = Selector(self._admitted)
        return self._selector


def columns(admissions: Sequence[Admission], *, in_context: bool) -> list[Column]:
    """Return the tables that a question compares: a passage is in one of them."""
    found = []
    for each in admissions:
        block, rows = each.block, each.rows
        if not in_context or not len(block.in_context):
            found.append(Column(each, block.plain, None, rows))
            continue
        bare = np.ones(len(block), dtype=bool) if rows is None else rows.copy()
        bare[block.in_context] = False
        there = None if rows is None else rows[block.in_context]
        found += [Column(each, block.plain, None, bare), Column(each, block.context, block.in_context, there)]
    return [each for each in found if each.count]


def nearest(among: Sequence[Column], query: Any, limit: int, *, quantised: bool) -> Any:
    """Return at least *limit* memories, if there are so many, and among them the nearest so many."""
    total = sum(each.count for each in among)
    depth = DEPTH * (1 + (total > LARGE)) * max(FEWEST, limit + SPARE) if quantised else total
    while True:
        pools = _pools(among, query, depth)
        found = _memories(pools, limit)
        if len(found) >= limit or depth >= total:
            return found
        depth *= 4


def _pools(among: Sequence[Column], query: Any, depth: int) -> list[Pool]:
    """Compare all rows of small tables, and of the others the *depth* rows that seem nearest by their codes."""
    guesses = [(each, each.guess(query, depth)) for each in among]
    pools = [each.compare_all(query) for each, guess in guesses if guess is None]
    coded = [(each, *guess) for each, guess in guesses if guess is not None]
    least = -np.inf
    if len(coded) > 1:
        near = np.concatenate([products for _, _, products in coded])
        least = np.partition(near, len(near) - depth)[len(near) - depth]
    return [*pools, *(each.compare(query, rows[products >= least]) for each, rows, products in coded)]


def _memories(pools: Sequence[Pool], limit: int) -> Any:
    """Return the memories of the best rows, of so many rows that there are *limit* memories."""
    if not pools:
        return np.empty(0, dtype="i8")
    scores = np.concatenate([pool.scores for pool in pools]) if len(pools) > 1 else pools[0].scores
    take = limit + SPARE
    while True:
        least = _floor(scores, take)
        found = np.unique(np.concatenate([pool.memories(least) for pool in pools]))
        if len(found) >= limit or take >= len(scores):
            return found
        take *= 4


def _floor(scores: Any, take: int) -> float:
    """Return a number that at least *take* scores reach, and none of those that might belong to them misses."""
    lowest = float(np.finfo("f4").min)
    if take >= len(scores):
        return lowest
    groups = max(4 * take, 1)
    many = len(scores) // groups
    best = scores if many < 4 else scores[: many * groups].reshape(many, groups).max(axis=0)
    least = float(np.partition(best, len(best) - take)[len(best) - take])
    return max(lowest, least - MARGIN * max(1.0, abs(least)))


def speakers(admissions: Sequence[Admission], query: Any, memories: Any, *, in_context: bool) -> list[Any]:
    """Return the best passage of each of *memories* that is admitted, the first of equals: four arrays, best first."""
    exact = query.astype("f8")
    parts = []
    for each in admissions:
        rows = each.block.rows_of(memories)
        rows = rows if each.rows is None else rows[each.rows[rows]]
        if len(rows):
            cosines = (each.block.vectors(rows, in_context=in_context).astype("f8") @ exact).round(DIGITS)
            block = each.block
            parts.append((block.memories[rows], cosines, block.ordinals[rows], block.spans[rows]))
    if not parts:
        return []
    owners, cosines, ordinals, spans = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((ordinals, -cosines, owners))
    first = order[np.concatenate([[True], owners[order][1:] != owners[order][:-1]])]
    ranked = first[np.lexsort((owners[first], -cosines[first]))]
    return [owners[ranked], cosines[ranked], spans[ranked]]


def hits(found: Sequence[Any], most: int | None = None) -> list[IndexHit]:
    """Return what `speakers` found as values, the first *most*."""
    columns_ = [each[:most].tolist() for each in found]
    return [IndexHit(id=row, score=score, span=tuple(span)) for row, score, span in zip(*columns_, strict=True)]
