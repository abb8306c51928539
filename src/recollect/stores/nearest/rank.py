"""The nearest among the rows of some blocks: whoever may be meant is found in float32, and ranked in float64.

A table without codes, or of a store that is not large, is compared row by row, and the answer is exact: float32
products are off by less than a margin that is kept below the last one wanted. A table with codes brings more than are
wanted by its codes first, so many that they miss one in some thousands; their vectors are read from the rows.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import repeat
from typing import Any, Final, TypeAlias

import numpy as np
from msgspec import Struct

from recollect.records import IndexHit
from recollect.stores.nearest.codes import Selector, portions
from recollect.stores.nearest.table import Block, Read, Table
from recollect.vectors import DIGITS

SPARE: Final = 16
"""How many passages more than wanted are looked at first: some are of the same memory."""
LARGE: Final = 250_000
"""Of more rows the codes bring twice as many."""
MANY: Final = 4_096
"""Of more rows the vectors are not kept while they are compared."""
FEWEST: Final = 100
"""So many are always taken to be wanted."""
MARGIN: Final = 1e-4
"""More than twice what rounding may add up to in a float32 product of some hundred numbers of unit vectors."""


LOWEST: Final = float(np.finfo("f4").min)
Passages: TypeAlias = tuple[Any, Any, Any, Any]
"""Of some passages the memories, cosines, ordinals and spans."""

_hit: Callable[[Any], IndexHit] = partial(tuple.__new__, IndexHit)
"""A hit from all its fields; `IndexHit._make` takes twice as long."""


class Query(Struct, frozen=True, kw_only=True):
    """A vector that is asked about, and how the vectors of passages are read."""

    vector: Any
    read: Read
    is_exact: bool = False
    """Whether codes are left aside."""


class Admission(Struct, frozen=True, kw_only=True):
    """Which rows of a block a question admits: None for all."""

    block: Block
    rows: Any

    def __len__(self) -> int:
        return len(self.block) if self.rows is None else int(np.count_nonzero(self.rows))

    def rows_of(self, memories: Any) -> Any:
        """Return the rows of *memories* that are admitted."""
        rows = self.block.rows_of(memories)
        return rows if self.rows is None else rows[self.rows[rows]]


class Pool(Struct, frozen=True, kw_only=True):
    """Rows of a table with their products, and their vectors where these were read; None for all its rows."""

    column: "Column"
    rows: Any
    scores: Any
    vectors: Any = None

    def memories(self, least: float) -> Any:
        """Return the memories of the rows that reach *least*."""
        return self.column.memories(self._reaching(least)[1])

    def passages(self, query: Query, least: float) -> Passages:
        """Return the passages that reach *least*, with their cosines."""
        kept, rows = self._reaching(least)
        vectors = self.column.vectors(rows, query) if self.vectors is None else self.vectors[kept]
        return self.column.passages(rows, _cosines(vectors, query.vector))

    def _reaching(self, least: float) -> tuple[Any, Any]:
        """Return which of these rows reach *least*, and which rows of the table that are."""
        kept = np.flatnonzero(self.scores >= least)
        return kept, kept if self.rows is None else self.rows[kept]


class Nearest(Struct, frozen=True, kw_only=True):
    """The passages that were found, and whether the best one of each of their memories is among them for certain."""

    passages: list[Passages]
    is_whole: bool


class Column:
    """One table of a block as a question sees it."""

    def __init__(self, admission: Admission, table: Table, rows: Any, admitted: Any) -> None:
        self._block = admission.block
        self._table = table
        self.width = table.width
        self._rows = rows
        self._admitted = admitted
        self.count = len(table) if admitted is None else int(np.count_nonzero(admitted))
        few = admitted is not None and self.count * 4 <= len(table)
        self._chosen = np.flatnonzero(admitted) if few else None
        self._hidden = None if few or admitted is None else np.flatnonzero(~admitted)
        self._selector: Selector | None = None

    def _in_block(self, rows: Any) -> Any:
        return rows if self._rows is None else self._rows[rows]

    def memories(self, rows: Any) -> Any:
        """Return the memories of *rows* of this table."""
        return self._block.memories[self._in_block(rows)]

    def vectors(self, rows: Any, query: Query) -> Any:
        """Return the vectors of *rows* of this table."""
        if self._table.vectors is not None:
            return self._table.vectors[rows]
        return query.read(self._block.ids[self._in_block(rows)], self._rows is not None)

    def passages(self, rows: Any, cosines: Any) -> Passages:
        """Return *rows* of this table as passages."""
        return _passages(self._block, self._in_block(rows), cosines)

    def guess(self, query: Query, depth: int) -> tuple[Any, Any] | None:
        """Return *depth* rows that seem nearest by their codes, and how near; None where all can be compared."""
        codes = self._table.codes() if self.count > depth else None
        return None if codes is None else codes.candidates(query.vector, self._marked(), depth)

    def compare(self, query: Query, rows: Any) -> "Pool":
        """Return the products of *rows*; of many the vectors are let go of."""
        if len(rows) > MANY:
            products = [self.vectors(rows[part], query) @ query.vector for part in portions(len(rows))]
            return Pool(column=self, rows=rows, scores=np.concatenate(products))
        vectors = self.vectors(rows, query)
        return Pool(column=self, rows=rows, scores=vectors @ query.vector, vectors=vectors)

    def compare_all(self, query: Query) -> "Pool":
        """Return the products of all rows that are admitted."""
        if self._chosen is not None:
            return self.compare(query, self._chosen)
        if self._table.vectors is None:
            every = np.arange(len(self._table))
            return self.compare(query, every if self._admitted is None else every[self._admitted])
        scores = self._table.vectors @ query.vector
        if self._hidden is not None:
            scores[self._hidden] = -np.inf
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


def nearest(among: Sequence[Column], query: Query, limit: int, *, alone: bool) -> Nearest:
    """Return the passages of at least *limit* memories, if there are so many, and among them the nearest so many.

    *alone* says that no two rows are of one memory.
    """
    total = sum(each.count for each in among)
    width = 0 if query.is_exact else max((each.width for each in among), default=0)
    depth = width * (1 + (total > LARGE)) * max(FEWEST, limit + SPARE) if width else total
    while True:
        pools, is_guessed = _pools(among, query, depth)
        least, memories = _least(pools, limit, alone=alone)
        if memories >= limit or depth >= total:
            passages = [pool.passages(query, least) for pool in pools]
            return Nearest(passages=passages, is_whole=alone or not is_guessed)
        depth *= 4


def _pools(among: Sequence[Column], query: Query, depth: int) -> tuple[list[Pool], bool]:
    """Compare all rows of small tables, and of the others the *depth* rows that seem nearest by their codes, if any."""
    guesses = [(each, each.guess(query, depth)) for each in among]
    pools = [each.compare_all(query) for each, guess in guesses if guess is None]
    coded = [(each, *guess) for each, guess in guesses if guess is not None]
    least = -np.inf
    if len(coded) > 1:
        near = np.concatenate([products for _, _, products in coded])
        least = np.partition(near, len(near) - depth)[len(near) - depth]
    return [*pools, *(each.compare(query, rows[products >= least]) for each, rows, products in coded)], bool(coded)


def _least(pools: Sequence[Pool], limit: int, *, alone: bool) -> tuple[float, int]:
    """Return a product that the best passages of the nearest *limit* memories reach, and how many memories do so.

    A memory counts by a passage that is a margin above: its best one, by the cosine, may have a smaller product.
    """
    if not pools:
        return LOWEST, 0
    scores = np.concatenate([pool.scores for pool in pools]) if len(pools) > 1 else pools[0].scores
    take = limit if alone else limit + SPARE
    while True:
        floor = _floor(scores, take)
        if alone:
            found = int(np.count_nonzero(scores >= _below(floor, MARGIN)))
        else:
            found = len(distinct(np.concatenate([pool.memories(_below(floor, MARGIN)) for pool in pools])))
        if found >= limit or take >= len(scores):
            return _below(floor, 2 * MARGIN), found
        take *= 4


def distinct(numbers: Any) -> Any:
    """Return *numbers* in order, each once; `np.unique` would load ten milliseconds of NumPy."""
    if (numbers[1:] > numbers[:-1]).all():  # so they are already where each memory has one passage
        return numbers
    ordered = np.sort(numbers, kind="stable")  # most come in order, or in a few runs
    return ordered[np.concatenate([np.ones(min(1, len(ordered)), dtype=bool), ordered[1:] != ordered[:-1]])]


def _floor(scores: Any, take: int) -> float:
    """Return a number that at least *take* scores reach."""
    if take >= len(scores):
        return LOWEST
    groups = max(4 * take, 1)
    many = len(scores) // groups
    best = scores if many < 4 else scores[: many * groups].reshape(many, groups).max(axis=0)
    return max(LOWEST, float(np.partition(best, len(best) - take)[len(best) - take]))


def _below(least: float, margin: float) -> float:
    return max(LOWEST, least - margin * max(1.0, abs(least)))


# --- who speaks for a memory ------------------------------------------------------------------


def speakers(admissions: Sequence[Admission], query: Query, memories: Any, *, in_context: bool) -> list[Passages]:
    """Return the passages of *memories* that are admitted, with their cosines."""
    parts = []
    for each in admissions:
        rows = each.rows_of(memories)
        if len(rows):
            vectors = each.block.vectors(rows, query.read, in_context=in_context)
            parts.append(_passages(each.block, rows, _cosines(vectors, query.vector)))
    return parts


def _cosines(vectors: Any, query: Any) -> Any:
    return (vectors.astype("f8") @ query.astype("f8")).round(DIGITS)


def _passages(block: Block, rows: Any, cosines: Any) -> Passages:
    return block.memories[rows], cosines, block.ordinals[rows], block.spans[rows]


def hits(parts: Sequence[Passages], most: int | None = None, *, alone: bool) -> list[IndexHit]:
    """Return the memories of passages by the best one of each, the first of equals; the first *most*, best first."""
    if not parts:
        return []
    several = len(parts) > 1
    owners, cosines, ordinals, spans = map(np.concatenate, zip(*parts, strict=True)) if several else parts[0]
    if not alone:
        order = np.lexsort((ordinals, -cosines, owners))
        first = order[np.concatenate([[True], owners[order][1:] != owners[order][:-1]])]
        owners, cosines, spans = owners[first], cosines[first], spans[first]
    ranked = np.lexsort((owners, -cosines))[:most]
    starts, stops = spans[ranked].T.tolist()
    columns_ = owners[ranked].tolist(), cosines[ranked].tolist(), repeat(0.0), zip(starts, stops, strict=True)
    return list(map(_hit, zip(*columns_, strict=False)))
