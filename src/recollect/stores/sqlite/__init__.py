"""Memories in one SQLite file, shared by any number of processes, or in memory."""

from pathlib import Path

from recollect.stores.contract import Analyse
from recollect.stores.sql import SqlStore
from recollect.stores.sqlite.engine import SqliteEngine
from recollect.stores.sqlite.vectors import SegmentScan
from recollect.stores.sqlite.words import FtsTable


def open_sqlite(path: Path | None, analyse: Analyse, *, analyser: str = "") -> SqlStore:
    """Return the store in the file *path*, or one in memory that is gone when it is closed."""
    engine = SqliteEngine(path)
    scan = SegmentScan(engine.segments, is_writable=engine.is_writable)
    return SqlStore(engine=engine, words=FtsTable(), scan=scan, analyse=analyse, analyser=analyser)


__all__ = ["open_sqlite"]
