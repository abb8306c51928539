"""Memories in a PostgreSQL database, shared by any number of machines."""

from pathlib import Path

from msgspec.structs import replace

from recollect.stores.contract import Analyse
from recollect.stores.postgres.address import Address, read_address
from recollect.stores.postgres.engine import PostgresEngine
from recollect.stores.postgres.segments import SharedSegments
from recollect.stores.postgres.vectors import HalfPrecisionScan, follow
from recollect.stores.sql import SqlStore
from recollect.stores.sql.index.folder import SegmentFolder
from recollect.stores.sql.index.token_table import TokenTable


def open_postgres(
    address: str | Address, analyse: Analyse, *, analyser: int = 0, cache: Path | None = None
) -> SqlStore:
    """Return the store at *address*, a URL of PostgreSQL; its schema is made if it is not there.

    Copies of the segments of its word index lie below the folder *cache*; without one they are made in memory.
    """
    engine = engine_at(address)
    folder = None if cache is None else SegmentFolder(cache / engine.name, SharedSegments(engine))
    words = TokenTable(engine.rebuilding, folder)
    return SqlStore(engine=engine, words=words, scan=HalfPrecisionScan(), analyse=analyse, analyser=analyser)


def engine_at(address: str | Address) -> PostgresEngine:
    """Return the database of the store at *address*; one that is not there is made."""
    return PostgresEngine(address, at_the_end=follow)


def engine_to_move(address: str, *, makes: bool) -> PostgresEngine:
    """Return it for statements that take as long as they must; refuse to make it unless it *makes* it."""
    return PostgresEngine(replace(read_address(address), seconds=0.0), at_the_end=follow, makes=makes)


__all__ = ["engine_at", "engine_to_move", "open_postgres"]
