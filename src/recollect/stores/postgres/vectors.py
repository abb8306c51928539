"""Nearest vectors in PostgreSQL: half-precision columns that pgvector scans or walks, exact cosines for what they name.

`embedding` is the truth, in float32. `alone` and `context` are what pgvector compares: the same numbers in half
precision, made in the transaction that changes them. A question that admits few memories compares them all; one that
admits many walks an HNSW graph, which a generation has from `GRAPH` vectors on. What comes first by half precision is
compared again in float32, so that the order among those is exact; a walk goes on until it has as many as wanted.
How many vectors there are is kept by project: counting them would take longer than the walk.
"""

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, cast

from psycopg import DataError, adapters, pq
from psycopg.adapt import Dumper

from recollect.records import IndexHit, VectorHits
from recollect.stores.sql.engine import OPEN, Admitted, Clause, Engine, Session, VectorQuestion
from recollect.stores.sql.failures import Failures
from recollect.vectors import matrix, unpack

if TYPE_CHECKING:
    from recollect.stores.postgres.engine import PostgresEngine

FEW: Final = 20_000
"""Of so many admitted memories the vectors are all compared: that takes some milliseconds, and is exact."""
GRAPH: Final = 20_000
"""From so many vectors on a generation has a graph."""
MORE: Final = 20
"""How many more than asked for are compared in float32 at first, besides half as many."""
BREADTH: Final = 800
"""How many candidates a walk keeps at least (`hnsw.ef_search`): with fewer more than one in a hundred is missed."""
WIDEST: Final = 1000
"""How many candidates pgvector lets a walk keep."""
LINKS: Final = 32
"""How many links a vector has in a graph (`m`): with 16 of them no breadth finds the nearest among near copies."""
BUILD: Final = 64
"""How many candidates a graph is built with (`ef_construction`); more take longer and find no more."""
HALF: Final = 1e-3
"""What half precision may add to a cosine or take from it, at most."""


LARGE: Final = (
    "select g.id, g.dimensions, exists (select 1 from vector v where v.generation_id = g.id "
    "and v.context_embedding is not null) from generation g, lateral (select sum(c.passages) as passages, "
    "sum(c.memories) as memories from vector_count c where c.generation_id = g.id) n where n.passages >= ? "
    "and 32 * n.memories >= 31 * (select coalesce(sum(documents), 0) from collection_stats) "
    "and (select pg_has_role(c.relowner, 'member') from pg_class c where c.oid = 'vector'::regclass)"
)
"""Generations that get a graph from the owner of the table.

Not while many memories wait for their vectors: to insert into a graph is slower than to build it.
"""
COUNTED: Final = (
    "select coalesce(sum(c.memories), 0)::bigint - (select count(distinct v.memory_id) from vector v "
    "where v.generation_id = ? and v.memory_id = any(?)), coalesce(sum(c.passages), 0)::bigint, "
    "row_security_active('vector') from vector_count c where c.generation_id = ?"
)

MISCOUNTED: Final = (
    "select count(*) from generation g where not row_security_active('vector') and (select (coalesce(sum(c.memories), "
    "0), coalesce(sum(c.passages), 0)) from vector_count c where c.generation_id = g.id) <> "
    "(select (count(distinct v.memory_id)::numeric, count(*)::numeric) from vector v where v.generation_id = g.id)"
)


class HalfPrecisionScan:
    """Compares in the database what few memories have, walks a graph among many."""

    def __init__(self, *, few: int = FEW, graph: int = GRAPH) -> None:
        self._few, self._graph = few, graph
        self._walked: set[tuple[int, str]] = set()
        self._failures = Failures("building the graph of vectors")

    def nearest(self, session: Session, asked: VectorQuestion, admitted: Callable[[], Admitted]) -> VectorHits:
        """Return the nearest among the memories that are *admitted*."""
        who = admitted()
        column = "context" if asked.in_context and self._has_context(session, asked.generation) else "alone"
        held, rows = self._counted(session, asked.generation, who)
        also = _those(asked.score_ids, who)
        walk = not asked.exact and rows > self._few and (who.ids is None or len(who.ids) > self._few)
        if asked.limit and rows:
            found = self._best(session, asked, column, _among(who), also, walk=walk)
        else:
            found = self._exact(session, asked, column, also)
        return VectorHits(
            top=tuple(sorted(found.values(), key=lambda hit: (-hit.score, hit.id))[: asked.limit]),
            by_id={row: found[row] for row in also if row in found},
            total=held,
            missing=who.count - held,
            version=asked.version,
        )

    def settle(self, engine: Engine, *, whole: bool = False, at_rest: bool = False) -> None:  # noqa: ARG002
        """Give a graph to each generation that has grown large enough; until then all its vectors are compared."""
        if not whole or engine.open_transaction() != "none":
            return
        with engine.session() as session:
            large = session.rows(LARGE, (self._graph,))
        wanted = [(row, width, each) for row, width, has in large for each in ("alone", *(["context"] if has else []))]
        for generation, width, column in wanted:
            if (generation, column) not in self._walked:
                with self._failures.kept():
                    self._build(cast("PostgresEngine", engine), generation, width, column)

    def _build(self, engine: "PostgresEngine", generation: int, width: int, column: str) -> None:
        definition = (
            f"using hnsw (({column}::public.halfvec({width})) public.halfvec_cosine_ops) "
            f"with (m = {LINKS}, ef_construction = {BUILD}) where generation_id = {generation}"
        )
        if engine.build_index(f"near_{generation}_{column}", definition):
            self._walked.add((generation, column))

    def resume(self, engine: Engine) -> None:
        """Do nothing: no graph waits for a transaction."""

    def finish(self, engine: Engine) -> None:
        """Do nothing: nothing is left for later."""

    def compact(self, engine: Engine) -> tuple[str, ...]:  # noqa: ARG002
        """Do nothing: nothing is kept beside the rows."""
        return ()

    def check(self, session: Session, *, deep: bool) -> Iterator[str]:
        """Yield how many generations are counted wrong, and why there is no graph."""
        wrong = session.value(MISCOUNTED) if deep else 0
        if wrong:
            yield f"the vectors of {wrong} models are counted wrong; run: recollect reindex"
        if self._failures.last:
            yield f"{self._failures.last}; searching by meaning is slower until that is mended"

    def _has_context(self, session: Session, generation: int) -> bool:
        sql = "select 1 from vector where generation_id = ? and context_embedding is not null limit 1"
        return session.value(sql, (generation,)) is not None

    def _counted(self, session: Session, generation: int, who: Admitted) -> tuple[int, int]:
        """Return how many of those admitted have vectors, and at most how many vectors these are.

        What is kept with a generation is of all; a role that does not see all counts what it sees.
        """
        if who.ids is None:
            ((held, rows, restricted),) = session.rows(COUNTED, (generation, list(who.hidden), generation))
            if not restricted:
                return held, rows if held else 0
        wanted = _among(who)
        sql = f"select count(distinct n.memory_id), count(*) from vector n where n.generation_id = ? and {wanted.sql}"
        held, rows = session.rows(sql, (generation, *wanted.values))[0]
        return held, rows

    def _best(
        self, session: Session, asked: VectorQuestion, column: str, wanted: Clause, also: Sequence[int], *, walk: bool
    ) -> dict[int, IndexHit]:
        """Return at least as many of the nearest as are asked for, if there are so many, and those of *also*."""
        take = asked.limit + asked.limit // 2 + MORE
        while True:
            near = self._first(session, asked, column, wanted, take, walk=walk)
            hits = self._exact(session, asked, column, [*(row for row, _ in near), *also])
            if len(near) < take or self._settled(hits, near, asked.limit):
                return hits
            take *= 4

    def _settled(self, hits: Mapping[int, IndexHit], near: Sequence[tuple[int, float]], limit: int) -> bool:
        """Tell whether nothing further away by half precision can belong among the first *limit*."""
        scores = sorted((hits[row].score for row in {row for row, _ in near} & hits.keys()), reverse=True)
        return len(scores) >= limit and scores[limit - 1] >= 1.0 - near[-1][1] + HALF

    def _first(
        self, session: Session, asked: VectorQuestion, column: str, wanted: Clause, take: int, *, walk: bool
    ) -> list[tuple[int, float]]:
        """Return the *take* vectors nearest by half precision, by memory and distance, nearest first."""
        width = asked.dimensions
        distance = f"(n.{column}::halfvec({width})) <=> ?::halfvec({width})"
        query = Half(asked.vector)
        if walk:
            session.rows(f"set local hnsw.ef_search = {min(WIDEST, max(BREADTH, take))}")
            sql = (
                f"select n.memory_id, {distance} as away from vector n "
                f"where n.generation_id = {asked.generation} and {wanted.sql} order by away limit {take}"
            )
            return sorted(session.rows(sql, (query, *wanted.values)), key=lambda row: row[1])
        sql = (
            f"with few as materialized (select n.memory_id, n.ordinal, n.{column} from vector n "
            f"where n.generation_id = ? and {wanted.sql}) "
            f"select n.memory_id, {distance} as away from few n order by 2 limit {take}"
        )
        return session.rows(sql, (asked.generation, *wanted.values, query))

    def _exact(self, session: Session, asked: VectorQuestion, column: str, ids: Sequence[int]) -> dict[int, IndexHit]:
        """Return the best passage of each of *ids*, the first of equals."""
        if not ids:
            return {}
        embedding = "coalesce(v.context_embedding, v.embedding)" if column == "context" else "v.embedding"
        sql = (
            f"select v.memory_id, v.start, v.stop, {embedding} from vector v "
            "where v.generation_id = ? and v.memory_id = any(?) and length(v.embedding) = ? order by v.id"
        )
        rows = session.rows(sql, (asked.generation, list(dict.fromkeys(ids)), len(asked.vector)))
        block = matrix([row[3] for row in rows], dimensions=asked.dimensions)
        best: dict[int, IndexHit] = {}
        for (row, start, stop, _), score in zip(rows, block.products(asked.vector, range(len(rows))), strict=True):
            if row not in best or score > best[row].score:
                best[row] = IndexHit(id=row, score=score, span=(start, stop))
        return best


def _among(who: Admitted) -> Clause:
    """Return the condition that a vector `n` is of somebody who is admitted."""
    if who.ids is not None:
        return Clause("n.memory_id = any(?)", (list(who.ids),))
    return Clause("not n.memory_id = any(?)", (list(who.hidden),)) if who.hidden else OPEN


def _those(ids: Sequence[int], who: Admitted) -> list[int]:
    """Return those of *ids* that are admitted, each once."""
    known = frozenset(who.hidden if who.ids is None else who.ids)
    return [row for row in dict.fromkeys(ids) if (row in known) == (who.ids is not None)]


def follow(session: Session) -> int:
    """Write in half precision what changed in this transaction; return how many vectors that were."""
    rows = session.rows("select id, embedding, context_embedding from vector where alone is null")
    made = [(Half(vector), Half(context or vector), row) for row, vector, context in rows]
    session.many("update vector set alone = ?::halfvec, context = ?::halfvec where id = ?", made)
    return len(made)


class Half(bytes):
    """The float32 numbers of a vector, which go to the server in half precision."""

    __slots__ = ()


class _HalfDumper(Dumper):
    """Writes a vector as pgvector receives it: how many numbers, a zero, and the numbers."""

    format = pq.Format.BINARY

    def dump(self, obj: Half) -> bytes:
        """Return the bytes."""
        numbers = unpack(obj)
        try:
            return struct.pack(f">Hh{len(numbers)}e", len(numbers), 0, *numbers)
        except OverflowError as error:
            raise DataError("the vector has a number beyond half precision") from error


adapters.register_dumper(Half, _HalfDumper)
