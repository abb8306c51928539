"""Memories in one SQLite file, shared by any number of processes, or in memory."""

from pathlib import Path

from recollect.stores.contract import Analyse
from recollect.stores.sql import SqlStore
from recollect.stores.sql.index.folder import SegmentFolder
from recollect.stores.sql.index.token_table import TokenTable
from recollect.stores.sqlite.engine import SqliteEngine
from recollect.stores.sqlite.vectors import SegmentScan


def open_sqlite(path: Path | None, analyse: Analyse, *, analyser: int = 0) -> SqlStore:
    """Return the store in the file *path*, or one in memory that is gone when it is closed."""
    engine = SqliteEngine(path)
    folder = None if engine.segments is None else SegmentFolder(engine.segments)
    words = TokenTable(engine.rebuilding, folder, is_writable=engine.is_writable)
    scan = SegmentScan(engine.segments, is_writable=engine.is_writable)
    return SqlStore(engine=engine, words=words, scan=scan, analyse=analyse, analyser=analyser)


__all__ = ["open_sqlite"]
