"""The vectors of one generation in memory, ready to be compared: the best passage speaks for its memory."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from recollect.records import Filter, Scope, VectorHit, VectorHits
from recollect.stores.matrix import Matrix, empty_matrix

MASKS = 32
"""How many answers to "who is admitted?" are kept at most."""


@dataclass(frozen=True, slots=True)
class Row:
    """One passage: its id in the store, its memory, where it stands in the content, and its place in a thread."""

    id: int
    memory_id: int
    start: int
    stop: int
    thread: str | None = None
    turn: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of a shelf besides the vector."""

    scope: Scope
    where: Filter
    limit: int
    also: tuple[int, ...] = ()
    unless: str | None = None
    blend: tuple[float, ...] = ()


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
        self._matrix: Matrix = empty_matrix(dimensions)
        self._rows: list[Row] = []
        self._places: dict[int, list[int]] = {}
        self._talks = False
        self._masks: dict[object, _Mask] = {}
        self._blends: dict[tuple[float, ...], Matrix] = {}

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
        self._talks = any(row.thread is not None for row in self._rows)
        self._masks, self._blends = {}, {}

    def nearest(
        self, query: bytes, asked: Question, *, key: object, admitted: Callable[[], Iterable[int]]
    ) -> VectorHits:
        """Return the admitted memories nearest to *query*; who is admitted is asked once for each *key*."""
        mask, matrix = self._mask(key, admitted), self._blended(asked.blend)
        best = self._best(matrix, query, mask, asked.limit) if asked.limit else []
        wanted = [row for row in dict.fromkeys(asked.also) if row in mask.memories]
        return VectorHits(
            top=tuple(sorted(best, key=lambda near: (-near.cosine, near.id))[: asked.limit]),
            also={near.id: near for near in self._speakers(matrix, query, wanted)},
            total=len(mask.memories),
            missing=mask.missing,
        )

    def kin(self, memories: Sequence[int], *, most: int) -> dict[int, dict[int, float]]:
        """Return for each of *memories* the *most* others among them nearest to it by their first passages."""
        held = sorted(memory for memory in set(memories) if memory in self._places)
        alike = self._matrix.alike([self._first(memory) for memory in held], most=most)
        return {memory: {held[at]: cosine for at, cosine in others} for memory, others in zip(held, alike, strict=True)}

    def _first(self, memory: int) -> int:
        return min(self._places[memory], key=lambda at: self._rows[at].start)

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

    def _blended(self, weights: tuple[float, ...]) -> Matrix:
        """Return the matrix in which each turn of a conversation carries something of its neighbours."""
        if not any(weights) or not self._talks:
            return self._matrix
        if weights not in self._blends:
            self._blends[weights] = self._matrix.blended(self._threads(), weights)
        return self._blends[weights]

    def _threads(self) -> list[list[int]]:
        """Return the rows of each conversation in the order of its turns; a long turn is there by its first passage."""
        threads: dict[str, list[tuple[int, int, int]]] = {}
        for memory_id in self._places:
            first = self._first(memory_id)
            row = self._rows[first]
            if row.thread is not None:
                threads.setdefault(row.thread, []).append((row.turn or 0, memory_id, first))
        return [[at for _, _, at in sorted(turns)] for turns in threads.values()]

    def _best(self, matrix: Matrix, query: bytes, mask: _Mask, limit: int) -> list[VectorHit]:
        """Return at least *limit* of the nearest memories, if there are so many."""
        take = limit + 16
        while True:
            take = min(take, len(mask.rows))
            best = matrix.best(query, mask.places, take) if take else []
            memories = list(dict.fromkeys(self._rows[at].memory_id for at in best))
            if len(memories) >= limit or take == len(mask.rows):
                return self._speakers(matrix, query, memories)
            take *= 4

    def _speakers(self, matrix: Matrix, query: bytes, memories: Sequence[int]) -> list[VectorHit]:
        """Return the best passage of each memory, the first of equals."""
        places = [at for memory in memories for at in self._places[memory]]
        products = matrix.products(query, places) if places else []
        best: dict[int, VectorHit] = {}
        for at, product in zip(places, products, strict=True):
            row = self._rows[at]
            if row.memory_id not in best or product > best[row.memory_id].cosine:
                best[row.memory_id] = VectorHit(id=row.memory_id, cosine=product, start=row.start, stop=row.stop)
        return list(best.values())
