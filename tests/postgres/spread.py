"""A store that is spread over three shards on two servers."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from os import getpid

import psycopg
from psycopg import sql

from postgres_server import Server, fresh_database, second_server
from recollect.stores.choice import open_store, shards_of
from recollect.text.analyser import analyse

_numbers = count(1)


def schema_on(server: Server) -> str:
    """Return the address of a schema of its own on *server*, which is not there yet."""
    return f"{server.url()}&schema=shard_{getpid()}_{next(_numbers)}"


@contextmanager
def three_shards() -> Iterator[str]:
    """Give the address of an empty store: its directory and the shards a and b on one server, c on another one."""
    first = fresh_database()
    address, other = f"{first}&directory=recollect_directory", schema_on(second_server())
    store = open_store(address, analyse)
    for name, place in {"a": first, "b": f"{first}&schema=second", "c": other}.items():
        shards_of(store).add(name, place)
    store.close()
    try:
        yield address
    finally:
        with psycopg.connect(second_server().url(), autocommit=True) as db:
            name = sql.Identifier(other.rpartition("=")[2])
            db.execute(sql.SQL("drop schema if exists {} cascade").format(name))
