"""The store as every SQL database has it; an engine, a word table and a vector scan make it one database's."""

from recollect.stores.sql.store import SqlStore

__all__ = ["SqlStore"]
