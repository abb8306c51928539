"""Roles of a real server: made for one test, granted one project."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from os import getpid
from urllib.parse import parse_qsl, urlencode, urlsplit

import psycopg
from psycopg import sql

PASSWORD = "for-this-test-alone"  # noqa: S105  (of a server that is gone when the tests are)
_numbers = count(1)


@contextmanager
def role_at(address: str, *projects: str) -> Iterator[str]:
    """Give the address of the store at *address* for a new role that was granted *projects*."""
    name = f"reader_{getpid()}_{next(_numbers)}"
    with psycopg.connect(address, autocommit=True) as db:
        db.execute(sql.SQL("create role {} login password {}").format(sql.Identifier(name), PASSWORD))
        for project in projects:
            db.execute("select recollect.recollect_grant(%s, %s)", (name, project))
        try:
            yield _as_user(address, name)
        finally:
            db.execute(sql.SQL("drop owned by {}").format(sql.Identifier(name)))
            db.execute(sql.SQL("drop role {}").format(sql.Identifier(name)))


def _as_user(address: str, name: str) -> str:
    """Return *address* with another user in it."""
    parts = urlsplit(address)
    query = {**dict(parse_qsl(parts.query)), "user": name, "password": PASSWORD}
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}?{urlencode(query, safe='/')}"


def connect_as(address: str) -> "psycopg.Connection[tuple[object, ...]]":
    """Return a connection on which any statement can be run."""
    return psycopg.connect(address, autocommit=True, options="-c search_path=recollect,public")
