"""The stores that are measured: the same memories and vectors in SQLite and in PostgreSQL, built once and kept.

Texts and vectors are those of benchmarks.speed.material. They are written by the stores' own `apply` and `put_vectors`,
in batches: that is what an import does below the reading of files. One memory in a hundred has the type *rare*.
"""

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.postgres.server import HOME
from benchmarks.speed.engines.recollect import EXTERNAL
from benchmarks.speed.material import WIDTH, folder_of, read_texts, read_vectors
from benchmarks.speed.progress import say

from recollect.records import EmbeddedMemory, Generation, Insert, Memory, Passage
from recollect.stores.postgres import open_postgres
from recollect.stores.sql import SqlStore
from recollect.stores.sqlite import open_sqlite
from recollect.text.analyser import ANALYSER, analyse

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MODEL = Generation(fingerprint=EXTERNAL, dimensions=WIDTH, model="")
BATCH = 2_000
RARE = 100
"""One memory in so many has the type *rare*."""
CACHE = HOME / "home" / "recollect" / "segments"
"""Where `recollect.open` keeps copies of segments when the user's data folder is HOME / "home"."""


def open_at(address: str) -> SqlStore:
    """Return the store at *address*, a file or a URL."""
    if "://" in address:
        return open_postgres(address, analyse, analyser=ANALYSER, cache=CACHE)
    return open_sqlite(Path(address), analyse, analyser=ANALYSER)


def memories_of(size: int) -> list[Memory]:
    """Return the first *size* memories that are measured."""
    texts = read_texts(folder_of("zipf", size))
    return [Memory(content=text, type="rare" if at % RARE == 0 else "note") for at, text in enumerate(texts)]


def fill(store: SqlStore, size: int, *, said: Callable[[str], None] = say) -> dict[str, float]:
    """Write *size* memories and their vectors; return how many seconds each took."""
    memories, vectors = memories_of(size), read_vectors(folder_of("zipf", size))
    started, ids = time.perf_counter(), []
    for at in range(0, size, BATCH):
        ids += store.apply([Insert(memory=memory) for memory in memories[at : at + BATCH]], at=NOON)
        said(f"{len(ids):,} memories")
    written = time.perf_counter()
    for at in range(0, size, BATCH):
        rows = range(at, min(size, at + BATCH))
        store.put_vectors(MODEL, [embedded(ids[row], memories[row], vectors[row].tobytes()) for row in rows])
        said(f"{rows.stop:,} vectors")
    placed = time.perf_counter()
    store.settle()
    return {"memories": written - started, "vectors": placed - written, "settle": time.perf_counter() - placed}


def embedded(row: int, memory: Memory, vector: bytes) -> EmbeddedMemory:
    """Return a memory with its one vector."""
    passage = Passage(start=0, stop=len(memory.content), vector=vector)
    return EmbeddedMemory(memory_id=row, meaning=memory.meaning, passages=(passage,))


def built(address: str, size: int, note: Path) -> dict[str, float]:
    """Fill the store at *address* unless that was done, which the file *note* tells; return what it took."""
    if not note.exists():
        store = open_at(address)
        took = fill(store, size)
        store.close()
        note.write_text(json.dumps(took), encoding="utf-8")
    known: dict[str, float] = json.loads(note.read_text(encoding="utf-8"))
    return known
