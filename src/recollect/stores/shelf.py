"""The vectors of one generation in memory, ready to be compared: the best passage speaks for its memory."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from recollect.records import Filter, IndexHit, Scope, VectorHits
from recollect.vectors import Matrix, matrix

MASKS = 32
"""How many answers to "who is admitted?" are kept at most."""


@dataclass(frozen=True, slots=True)
class Row:
    """One passage: its id in the store, its memory, where it stands in the content, and its context vector."""

    id: int
    memory_id: int
    start: int
    stop: int
    context: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of a shelf besides the vector."""

    scope: Scope
    where: Filter
    limit: int
    score_ids: tuple[int, ...] = ()
    exclude_generation: str | None = None
    in_context: bool = False


@dataclass(frozen=True, slots=True)
class _Mask:
    """The rows and the memories that a question admits."""

    rows: Sequence[int]
    places: Any
    memories: frozenset[int]
    missing: int


class Shelf:
    """Rows of vectors; `refill` brings it up to date, `nearest` asks it."""

    def __init__(self, dimensions: int) -> None:
        self._matrix: Matrix = matrix([], dimensions=dimensions)
        self._rows: list[Row] = []
        self._places: dict[int, list[int]] = {}
        self._masks: dict[object, _Mask] = {}
        self._contexts: Matrix | None = None

    def held(self) -> set[int]:
        """Return the ids of the rows held."""
        return {row.id for row in self._rows}

    def refill(self, keep: set[int], fresh: Sequence[tuple[Row, bytes]]) -> None:
        """Hold the rows *keep* of those held, and *fresh* ones."""
        kept = [at for at, row in enumerate(self._rows) if row.id in keep]
        self._matrix = self._matrix.grown(kept, [vector for _, vector in fresh])
        self._rows = [*(self._rows[at] for at in kept), *(row for row, _ in fresh)]
        self._places = {}
        for at, row in enumerate(self._rows):
            self._places.setdefault(row.memory_id, []).append(at)
        self._masks, self._contexts = {}, None

    def nearest(
        self, query: bytes, asked: Question, *, key: object, admitted: Callable[[], Iterable[int]], version: int
    ) -> VectorHits:
        """Return the admitted memories nearest to *query*; who is admitted is asked once for each *key*."""
        mask, matrix = self._mask(key, admitted), self._in_context() if asked.in_context else self._matrix
        best = self._best(matrix, query, mask, asked.limit) if asked.limit else []
        wanted = [row for row in dict.fromkeys(asked.score_ids) if row in mask.memories]
        return VectorHits(
            top=tuple(sorted(best, key=lambda near: (-near.score, near.id))[: asked.limit]),
            by_id={near.id: near for near in self._speakers(matrix, query, wanted)},
            total=len(mask.memories),
            missing=mask.missing,
            version=version,
        )

    def _mask(self, key: object, admitted: Callable[[], Iterable[int]]) -> _Mask:
        mask = self._masks.get(key)
        if mask is None:
            everyone = list(admitted())
            memories = frozenset(row for row in everyone if row in self._places)
            rows = sorted(at for row in memories for at in self._places[row])
            places, missing = self._matrix.places(rows), len(everyone) - len(memories)
            mask = _Mask(rows=rows, places=places, memories=memories, missing=missing)
            if len(self._masks) >= MASKS:
                self._masks.clear()
            self._masks[key] = mask
        return mask

    def _in_context(self) -> Matrix:
        """Return the matrix with the context vector of each passage that has one."""
        if self._contexts is None:
            found = {at: row.context for at, row in enumerate(self._rows) if row.context is not None}
            self._contexts = self._matrix.replaced(list(found), list(found.values())) if found else self._matrix
        return self._contexts

    def _best(self, matrix: Matrix, query: bytes, mask: _Mask, limit: int) -> list[IndexHit]:
        """Return at least *limit* of the nearest memories, if there are so many."""
        take = limit + 16
        while True:
            take = min(take, len(mask.rows))
            best = matrix.best(query, mask.places, take) if take else []
            memories = list(dict.fromkeys(self._rows[at].memory_id for at in best))
            if len(memories) >= limit or take == len(mask.rows):
                return self._speakers(matrix, query, memories)
            take *= 4

    def _speakers(self, matrix: Matrix, query: bytes, memories: Sequence[int]) -> list[IndexHit]:
        """Return the best passage of each memory, the first of equals."""
        places = [at for memory in memories for at in self._places[memory]]
        products = matrix.products(query, places) if places else []
        best: dict[int, IndexHit] = {}
        for at, product in zip(places, products, strict=True):
            row = self._rows[at]
            if row.memory_id not in best or product > best[row.memory_id].score:
                best[row.memory_id] = IndexHit(id=row.memory_id, score=product, span=(row.start, row.stop))
        return list(best.values())
