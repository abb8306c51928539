"""What a memory takes: bytes of tables, indexes, graph and segments."""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from benchmarks.postgres.latency import SIZE, addresses
from benchmarks.postgres.stores import CACHE, open_at
from benchmarks.speed.results import Result

from recollect.stores.sql.engine import Session

RELATIONS = """
select c.relname, pg_table_size(c.oid), pg_indexes_size(c.oid) from pg_class c
where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and pg_total_relation_size(c.oid) > 100000
"""
GRAPHS = "select indexname, pg_relation_size(indexname::regclass) from pg_indexes where indexname like 'near_%'"
NAMES = {"segment_data": "segments, in the database", "vector": "vectors, float32 and half precision twice"}


def measure(server: str) -> Iterator[Result]:
    """Yield the bytes of a memory in each table and index."""
    places = addresses(server)
    store = open_at(places["postgres"])
    with store.engine.session() as session:
        found = dict(_parts(session))
    folder = CACHE / store.engine.name  # type: ignore[attr-defined]
    found["a machine's copy of the segments"] = sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())
    for name, size in found.items():
        yield _result(name, size / SIZE, "bytes a memory")
    file = Path(places["sqlite"])
    held = [each for each in file.parent.glob(f"{file.name}-segments/**/*") if each.is_file()]
    yield _result("SQLite file", file.stat().st_size / SIZE, "bytes a memory")
    yield _result("SQLite segments", sum(each.stat().st_size for each in held) / SIZE, "bytes a memory")
    store.close()


def _parts(session: Session) -> Iterator[tuple[str, int]]:
    graphs = sum(size for _, size in session.rows(f"{GRAPHS} and schemaname = current_schema()"))
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
