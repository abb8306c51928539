"""Memories in a PostgreSQL database, shared by any number of machines."""

from pathlib import Path
from typing import cast

from msgspec.structs import replace

from recollect.errors import InputError
from recollect.stores.contract import Analyse, Store
from recollect.stores.postgres.address import Address, read_address
from recollect.stores.postgres.directory import Directory
from recollect.stores.postgres.engine import PostgresEngine
from recollect.stores.postgres.segments import SharedSegments
from recollect.stores.postgres.shards import ShardedStore
from recollect.stores.postgres.vectors import HalfPrecisionScan, follow
from recollect.stores.sql import SqlStore
from recollect.stores.sql.index.folder import SegmentFolder
from recollect.stores.sql.index.token_table import TokenTable
from recollect.stores.sqlite import open_sqlite


def open_sharded(address: str, analyse: Analyse, *, analyser: int = 0, cache: Path | None = None) -> Store:
    """Return the store whose shards the directory at *address* lists; the directory is made if it is not there."""

    def open_shard(shard: Address) -> SqlStore:
        return open_postgres(shard, analyse, analyser=analyser, cache=cache)

    empty = open_sqlite(None, analyse, analyser=analyser)
    return cast("Store", ShardedStore(Directory(read_address(address)), open_shard=open_shard, empty=empty))


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
    return PostgresEngine(_one_schema(address), at_the_end=follow)


def engine_to_move(address: str, *, makes: bool) -> PostgresEngine:
    """Return it for statements that take as long as they must; refuse to make it unless it *makes* it."""
    return PostgresEngine(replace(_one_schema(address), seconds=0.0), at_the_end=follow, makes=makes)


def _one_schema(address: str | Address) -> Address:
    """Return where a store is that lies in one schema; refuse one that is spread over several."""
    told = read_address(address) if isinstance(address, str) else address
    if told.directory:
        raise InputError("this store is spread over shards", hint="name one by its own address: recollect shards")
    return told


__all__ = ["engine_at", "engine_to_move", "open_postgres", "open_sharded"]
