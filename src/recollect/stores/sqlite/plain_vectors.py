"""The vectors of a generation in memory, kept up with the file, compared one by one: where NumPy is missing."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from recollect.records import IndexHit, VectorHits
from recollect.stores.sql.engine import Admitted, Session, VectorQuestion
from recollect.values import dataclass
from recollect.vectors import WIDTH, Matrix, matrix

OF = "from vector where generation_id = ?"
MASKS = 32
"""How many answers to "who is admitted?" are kept at most."""


class PlainScan:
    """A cache for each generation, with and without context, shared by the threads of a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._caches: dict[tuple[int, int, bool], VectorCache] = {}

    def nearest(self, session: Session, asked: VectorQuestion, admitted: Callable[[], Admitted]) -> VectorHits:
        """Return the nearest memories, as the open transaction sees them."""
        with self._lock:
            key = asked.generation, asked.dimensions, asked.in_context
            if key not in self._caches:
                self._caches[key] = VectorCache(asked.generation, asked.dimensions, in_context=asked.in_context)
            cache = self._caches[key]
            cache.refresh(session, asked.stamp)
            return cache.nearest(asked, admitted)


@dataclass(frozen=True, slots=True)
class Row:
    """One passage: its id, its memory, and where it stands in the content."""

    id: int
    memory_id: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class _Mask:
    """The rows and the memories that a question admits."""

    rows: Sequence[int]
    places: Any
    memories: frozenset[int]
    missing: int


class VectorCache:
    """The vectors of one generation as a matrix; the best passage speaks for its memory."""

    def __init__(self, generation: int, dimensions: int, *, in_context: bool) -> None:
        self._generation = generation
        self._bytes = WIDTH * dimensions
        self._column = "coalesce(context_embedding, embedding)" if in_context else "embedding"
        self._matrix: Matrix = matrix([], dimensions=dimensions)
        self._stamp = -1
        self._rows: list[Row] = []
        self._places: dict[int, list[int]] = {}
        self._masks: dict[object, _Mask] = {}

    def refresh(self, session: Session, stamp: int) -> None:
        """Read what was written since the last time, and let go of what was dropped."""
        if stamp == self._stamp:
            return
        # A vector of a wrong width is no damage to the others: it is left out, and `check` tells of it.
        sql = (
            f"select id, memory_id, start, stop, {self._column} {OF} "
            "and stamp > ? and length(embedding) = ? order by id"
        )
        fresh = session.rows(sql, (self._generation, self._stamp, self._bytes))
        renewed = {row[0] for row in fresh}
        kept = [at for at, row in enumerate(self._rows) if row.id not in renewed]
        if len(kept) + len(fresh) != session.value(f"select count(*) {OF}", (self._generation,)):
            there = {row for (row,) in session.rows(f"select id {OF}", (self._generation,))}
            kept = [at for at in kept if self._rows[at].id in there]
        self._replace(kept, fresh)
        self._stamp = stamp

    def _replace(self, kept: Sequence[int], fresh: Sequence[Any]) -> None:
        self._matrix = self._matrix.grown(kept, [row[-1] for row in fresh])
        self._rows = [*(self._rows[at] for at in kept), *(Row(*row[:-1]) for row in fresh)]
        self._places = {}
        for at, row in enumerate(self._rows):
            self._places.setdefault(row.memory_id, []).append(at)
        self._masks = {}

    def nearest(self, asked: VectorQuestion, admitted: Callable[[], Admitted]) -> VectorHits:
        """Return the admitted memories nearest to the vector asked about."""
        mask = self._mask((asked.version, asked.scope, asked.where, asked.exclude_generation), admitted)
        best = self._best(asked.vector, mask, asked.limit) if asked.limit else []
        wanted = [row for row in dict.fromkeys(asked.score_ids) if row in mask.memories]
        return VectorHits(
            top=tuple(sorted(best, key=lambda near: (-near.score, near.id))[: asked.limit]),
            by_id={near.id: near for near in self._speakers(asked.vector, wanted)},
            total=len(mask.memories),
            missing=mask.missing,
            version=asked.version,
        )

    def _mask(self, key: object, admitted: Callable[[], Admitted]) -> _Mask:
        """Return who is admitted; that is asked once for each *key*."""
        mask = self._masks.get(key)
        if mask is None:
            everyone = admitted()
            wanted = self._places.keys() - set(everyone.hidden) if everyone.ids is None else everyone.ids
            memories = frozenset(row for row in wanted if row in self._places)
            rows = sorted(at for row in memories for at in self._places[row])
            missing = everyone.count - len(memories)
            mask = _Mask(rows=rows, places=self._matrix.places(rows), memories=memories, missing=missing)
            if len(self._masks) >= MASKS:
                self._masks.clear()
            self._masks[key] = mask
        return mask

    def _best(self, query: bytes, mask: _Mask, limit: int) -> list[IndexHit]:
        """Return at least *limit* of the nearest memories, if there are so many."""
        take = limit + 16
        while True:
            take = min(take, len(mask.rows))
            best = self._matrix.best(query, mask.places, take) if take else []
            memories = list(dict.fromkeys(self._rows[at].memory_id for at in best))
            if len(memories) >= limit or take == len(mask.rows):
                return self._speakers(query, memories)
            take *= 4

    def _speakers(self, query: bytes, memories: Sequence[int]) -> list[IndexHit]:
        """Return the best passage of each memory, the first of equals."""
        places = [at for memory in memories for at in self._places[memory]]
        products = self._matrix.products(query, places) if places else []
        best: dict[int, IndexHit] = {}
        for at, product in zip(places, products, strict=True):
            row = self._rows[at]
            if row.memory_id not in best or product > best[row.memory_id].score:
                best[row.memory_id] = IndexHit(id=row.memory_id, score=product, span=(row.start, row.stop))
        return list(best.values())
