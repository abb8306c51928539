"""The connections of a process to one store, all of them to the server that takes writes, and their transactions.

psycopg_pool keeps the connections. When their server is gone or takes no writes, its pool is closed and another one is
made; a transaction that did not begin yet then begins on that.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from psycopg import errors, pq, sql
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from recollect.errors import StoreBusy, StoreClosed
from recollect.stores.postgres.address import Address
from recollect.stores.postgres.connecting import (
    LOCK_TIMEOUT_SECONDS,
    OPTIONS,
    PAUSE,
    PREPARE_AFTER,
    NoServer,
    configure,
    connect_soon,
    dumped,
    server,
    settings,
)

LIFETIME: Final = 300.0
"""After how many seconds a connection is made anew, so that a server that came back is used again."""
CLOSING: Final = 1.0
"""How many seconds are waited for the threads of a pool that is closed; one that still connects ends later."""
READ: Final = "begin isolation level repeatable read read only;"
WRITE: Final = "begin isolation level read committed;"
WHOLE: Final = "select pg_advisory_xact_lock(hashtext({schema}));"
SHARED: Final = "select pg_advisory_xact_lock_shared(hashtext({schema}));"
PROJECT: Final = "select pg_advisory_xact_lock(hashtext({schema}), hashtext({project}));"
BEGUN: Final = (
    "select current_setting('transaction_read_only') = 'on', current_setting('synchronous_standby_names') <> '', "
    "case when current_setting('transaction_read_only') = 'off' then row_number_of_transaction() end, "
    "(select value from meta where key = 'analyser')"
)


class Pool:
    """The connections of this process; no more than the address allows."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._lock = threading.Lock()
        self._pool: ConnectionPool[Any] | None = None
        self._is_closed = False

    def take(self) -> "tuple[ConnectionPool[Any], psycopg.Connection[Any]]":
        """Return a connection and the pool that takes it back."""
        while True:
            pool = self._opened()
            try:
                return pool, pool.getconn()
            except PoolTimeout:
                hint = "try again, or allow more of them: ?connections="
                raise StoreBusy("every connection is in use", hint=hint) from None
            except PoolClosed:  # nobody could connect: wait for a server, or learn why there is none
                with connect_soon(self.address) as db:
                    self._prepare(db)

    def _opened(self) -> "ConnectionPool[Any]":
        with self._lock:
            if self._is_closed:
                raise StoreClosed("the store was closed", hint="open it again")
            if self._pool is None or self._pool.closed:
                self._pool = ConnectionPool(
                    server(self.address),
                    kwargs=OPTIONS,
                    configure=self._prepare,
                    min_size=0,
                    max_size=self.address.connections,
                    timeout=LOCK_TIMEOUT_SECONDS,
                    max_lifetime=LIFETIME,
                    reconnect_timeout=0,
                    reconnect_failed=_close_soon,
                    num_workers=1,
                    open=True,
                )
            return self._pool

    def _prepare(self, db: "psycopg.Connection[Any]") -> None:
        """Make a connection ready; through PgBouncer, which tells another number of the process, it keeps no plans."""
        configure(db)
        followed = sql.SQL("select pg_backend_pid(), {}.follow_timeline()").format(sql.Identifier(self.address.schema))
        ((process, _),) = db.execute(followed).fetchall()
        if process == db.info.backend_pid:
            db.prepare_threshold = PREPARE_AFTER

    def close(self) -> None:
        """Close every connection; those in use are closed when they come back."""
        with self._lock:
            self._is_closed, pool = True, self._pool
        if pool is not None:
            pool.close(timeout=CLOSING)


def _close_soon(pool: "ConnectionPool[Any]") -> None:
    """Close *pool* for all who wait for it; its own thread cannot do that."""
    threading.Thread(target=pool.close, kwargs={"timeout": CLOSING}, daemon=True).start()


class Slot:
    """A thread's turn at a connection."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._held: tuple[ConnectionPool[Any], psycopg.Connection[Any]] | None = None
        self._is_confirmed = False
        """Whether its server waits for a standby to confirm each commit."""

    @property
    def db(self) -> "psycopg.Connection[Any]":
        """The connection on which something was begun."""
        if self._held is None:
            raise psycopg.OperationalError("the connection is closed")
        return self._held[1]

    @property
    def schema(self) -> str:
        """The schema of the store."""
        return self._pool.address.schema

    @property
    def is_open(self) -> bool:
        """Whether a transaction is open."""
        return self._held is not None and self.db.info.transaction_status != pq.TransactionStatus.IDLE

    def begin_reading(self) -> None:
        """Open a read transaction."""
        self._begin(lambda db: db.execute(READ + settings(self._pool.address)))

    def begin_writing(self, *, durable: bool = True, projects: Collection[str] | None = None) -> tuple[int, int]:
        """Open a write transaction when no other writes to *projects*, or to the schema.

        Return its number, and the version of the analyser that made the word index, which does not change meanwhile.

        What is not *durable* may be lost with the server.
        """
        address = self._pool.address
        locks = project_locks(address.schema, projects)
        statements = f"{WRITE}{settings(address, durable=durable)}select follow_timeline();{locks}{BEGUN}"
        begun: tuple[int, int] = (0, -1)

        def begin(db: "psycopg.Connection[Any]") -> None:
            nonlocal begun
            cursor = db.execute(statements)
            while cursor.nextset():
                pass
            ((is_read_only, self._is_confirmed, number, analyser),) = cursor.fetchall()
            if is_read_only:
                raise errors.ReadOnlySqlTransaction("it takes no writes")
            begun = int(number), int(analyser)

        self._begin(begin)
        return begun

    def begin_alone(self, name: str) -> bool:
        """Open a transaction that holds the lock *name* if it is free; return whether it does.

        Without parameters no snapshot stays behind, for which the building of an index would wait.
        """
        statements = f"begin; select pg_try_advisory_xact_lock(hashtext({sql.quote(name)}), 1)"
        self._begin(lambda db: db.execute("select 1"))
        cursor = self.db.execute(statements)
        cursor.nextset()
        return cursor.fetchone() == (True,)

    def begin(self) -> None:
        """Have a connection to the primary that answers."""
        self._begin(lambda db: db.execute("select 1"))

    def _begin(self, begin: "Callable[[psycopg.Connection[Any]], object]") -> None:
        """Begin on a server that can; after the first failure look for one as long as the address says."""
        until, has_failed = time.monotonic() + self._pool.address.patience, False
        while True:
            self.give_back()
            self._held = self._pool.take()
            try:
                begin(self.db)
            except (psycopg.OperationalError, errors.ReadOnlySqlTransaction) as error:
                is_read_only = isinstance(error, errors.ReadOnlySqlTransaction)
                if not (self.db.closed or is_read_only):
                    raise
                self.drop()
                if has_failed and time.monotonic() >= until:
                    if is_read_only:
                        raise
                    raise NoServer(str(error)) from error
                time.sleep(PAUSE if has_failed else 0)
                has_failed = True
            else:
                return

    def commit(self) -> str:
        """Keep what was written; return what the server warns of: that no standby has confirmed it."""
        warnings: list[str] = []
        seconds = self._pool.address.seconds if self._is_confirmed else 0.0
        with _warned(self.db, warnings), _bounded(self.db, seconds):
            cursor = self.db.execute("commit", prepare=False)
        if cursor.statusmessage == "ROLLBACK":
            raise errors.InFailedSqlTransaction("a statement had failed, so nothing was kept")
        return "".join(warnings[:1])

    def give_back(self) -> None:
        """Give the connection back."""
        if self._held is not None:
            pool, db = self._held
            self._held = None
            pool.putconn(db)

    def drop(self) -> None:
        """Close the connection, and those like it: its server is gone, or no more what it was."""
        if self._held is not None:
            pool, db = self._held
            self._held = None
            pool.close(timeout=CLOSING)
            db.close()


def project_locks(schema: str, projects: Collection[str] | None) -> str:
    """Return the statements that lock *projects* in an order that all writers share, or the whole schema."""
    name = sql.quote(schema)
    if projects is None:
        return WHOLE.format(schema=name)
    each = (PROJECT.format(schema=name, project=sql.quote(dumped(project))) for project in sorted(projects))
    return SHARED.format(schema=name) + "".join(each)


@contextmanager
def _bounded(db: "psycopg.Connection[Any]", seconds: float) -> Iterator[None]:
    """Let the server wait so many seconds for a standby, which no timeout of its own bounds; 0 means for ever."""
    if not seconds:
        yield
        return
    timer = threading.Timer(seconds, db.cancel_safe)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()  # so that what is asked next is not cancelled in its place


@contextmanager
def _warned(db: "psycopg.Connection[Any]", warnings: list[str]) -> Iterator[None]:
    """Gather what the server warns of."""

    def note(told: "psycopg.errors.Diagnostic") -> None:
        if told.severity_nonlocalized == "WARNING":
            warnings.append(told.message_primary or "")

    db.add_notice_handler(note)
    try:
        yield
    finally:
        db.remove_notice_handler(note)
