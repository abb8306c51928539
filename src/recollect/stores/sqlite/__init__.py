"""Memories in one SQLite file, shared by any number of processes."""

from recollect.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
