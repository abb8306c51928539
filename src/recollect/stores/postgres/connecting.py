"""One connection to a server of a store: which servers are asked, for how long, and what it reads and writes.

The address may name several servers. libpq finds the primary among them.
Nobody waits for a server that does not answer for longer than some seconds.
"""

import re
import time
from typing import Any, Final

import psycopg
from psycopg.adapt import Loader
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.string import StrDumper, TextLoader

from recollect.stores.postgres.address import Address

LOCK_TIMEOUT_SECONDS: Final = 50
"""How long a writer waits for another one, and anybody for a connection."""
BOUNDS: Final = {
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
"""How long a server may be silent, in the driver's words, where the address does not say."""

PAUSE: Final = 0.25
"""How many seconds lie between two tries to find a server."""


class NoServer(psycopg.OperationalError):
    """No server of an address can be had."""


OPTIONS: Final[dict[str, Any]] = {"autocommit": True, "prepare_threshold": None}
"""How every connection is made."""
PREPARE_AFTER: Final = 3
"""How often a statement of writers is sent before the server keeps its plan."""


def connect_soon(address: Address) -> "psycopg.Connection[Any]":
    """Return a connection to the server that takes writes; wait for one as long as the address says."""
    until = time.monotonic() + address.patience
    while True:
        try:
            db: psycopg.Connection[Any] = psycopg.connect(server(address), **OPTIONS)
        except psycopg.OperationalError as error:
            if time.monotonic() >= until:
                raise NoServer(str(error)) from error
        else:
            configure(db)
            return db
        time.sleep(PAUSE)


def server(address: Address) -> str:
    """Return what the driver is told: one server, or among several the one that takes writes, and when to give up."""
    told = conninfo_to_dict(address.server)
    usual: dict[str, Any] = dict(BOUNDS)
    if address.is_several:
        usual["target_session_attrs"] = "primary"
    return make_conninfo("", **{**usual, **told})


def settings(address: Address, *, durable: bool = True) -> str:
    """Return the statements by which a transaction sets its schema and its limits.

    No connection keeps them, so that PgBouncer may lend it to others between two transactions.
    """
    given = {
        "search_path": f"{address.schema}, public",
        "statement_timeout": round(1000 * address.seconds),
        "lock_timeout": 1000 * LOCK_TIMEOUT_SECONDS,
        "hnsw.iterative_scan": "relaxed_order",
        "jit": "off",
        **({} if durable else {"synchronous_commit": "off"}),
    }
    return "".join(f"set local {name} = {value};" for name, value in given.items())


MARKED: Final = "\U0010ffff"
"""Stands before what PostgreSQL's texts cannot hold, spelt out: NUL, half characters, and this character itself."""
_ODD: Final = re.compile("[\x00\ud800-\udfff\U0010ffff]")
_SPELT: Final = re.compile("\U0010ffff(000000|00d[89a-f][0-9a-f]{2}|10ffff)")


def dumped(text: str) -> str:
    """Return *text* with what PostgreSQL cannot hold spelt out."""
    return _ODD.sub(lambda odd: f"{MARKED}{ord(odd[0]):06x}", text) if _ODD.search(text) else text


class _Text(StrDumper):
    """Texts with what PostgreSQL cannot hold spelt out."""

    def dump(self, obj: str) -> Any:
        """Return the bytes of a text."""
        return super().dump(dumped(obj))


class _ReadText(TextLoader):
    """Texts as they were written."""

    def load(self, data: Any) -> Any:
        """Return the text."""
        text = super().load(data)
        if isinstance(text, str) and MARKED in text:
            return _SPELT.sub(lambda spelt: chr(int(spelt[1], 16)), text)
        return text


class _Number(Loader):
    """Sums of whole numbers as whole numbers."""

    def load(self, data: Any) -> int | float:
        """Return the number."""
        text = bytes(data).decode()
        return int(text) if text.lstrip("-").isdigit() else float(text)


def configure(db: "psycopg.Connection[Any]") -> None:
    """Let a connection read and write what SQLite does."""
    db.adapters.register_dumper(str, _Text)
    db.adapters.register_loader("text", _ReadText)
    db.adapters.register_loader("numeric", _Number)
