"""What a memory takes: bytes of tables, indexes, graph and segments, and how long a graph takes to build."""

import re
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from benchmarks.postgres.latency import SIZE, addresses
from benchmarks.postgres.stores import CACHE, open_at
from benchmarks.speed.progress import say
from benchmarks.speed.results import Result

from recollect.stores.sql.engine import Session

RELATIONS = """
select c.relname, pg_table_size(c.oid), pg_indexes_size(c.oid) from pg_class c
where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and pg_total_relation_size(c.oid) > 100000
"""
GRAPHS = (
    "select indexname, pg_relation_size(indexname::regclass), indexdef from pg_indexes where indexname like 'near_%'"
)
NAMES = {"segment_data": "segments, in the database", "vector": "vectors, float32 and half precision twice"}


def measure(server: str) -> Iterator[Result]:
    """Yield the bytes of a memory in each table and index, and build the graph anew."""
    places = addresses(server)
    store = open_at(places["postgres"])
    with store.engine.session() as session:
        found = dict(_parts(session))
        ((graph, _, definition),) = session.rows(GRAPHS.replace("like", "like ") + " and schemaname = current_schema()")
    folder = CACHE / store.engine.name  # type: ignore[attr-defined]
    found["a machine's copy of the segments"] = sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())
    for name, size in found.items():
        yield _result(name, size / SIZE, "bytes a memory")
    file = Path(places["sqlite"])
    held = [each for each in file.parent.glob(f"{file.name}-segments/**/*") if each.is_file()]
    yield _result("SQLite file", file.stat().st_size / SIZE, "bytes a memory")
    yield _result("SQLite segments", sum(each.stat().st_size for each in held) / SIZE, "bytes a memory")
    say("sizes: building the graph anew")
    started = time.perf_counter()
    with store.engine.session(write=True) as session:
        session.rows("set local statement_timeout = 0")
        session.rows(f"drop index {graph}")
        session.rows(definition)
    yield _result("graph, seconds to build", time.perf_counter() - started, "maintenance_work_mem 1 GB")
    store.close()


def _parts(session: Session) -> Iterator[tuple[str, int]]:
    graphs = sum(size for _, size, _ in session.rows(f"{GRAPHS} and schemaname = current_schema()"))
    totals: dict[str, int] = defaultdict(int)
    for name, rows, indexes in session.rows(RELATIONS):
        totals[NAMES.get(name, name)] += rows
        totals["indexes, graph apart"] += indexes
    totals["indexes, graph apart"] -= graphs
    totals["graph of vectors (HNSW)"] = graphs
    yield from totals.items()


def _result(row: str, value: float, note: str) -> Result:
    return Result(
        section="sizes", row=re.sub(r"\s+", " ", row), engine="postgres", text="zipf", size=SIZE, value=value, note=note
    )
