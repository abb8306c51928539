"""The connections of a process to one store, all of them to the server that takes writes.

A connection that is found broken when a transaction begins is replaced; nothing was asked of it yet.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import psycopg
from msgspec import Struct
from psycopg import errors, pq, sql

from recollect.errors import StoreBusy, StoreClosed
from recollect.stores.postgres.address import Address
from recollect.stores.postgres.connecting import LOCK_TIMEOUT_SECONDS, PAUSE, NoServer, connect, dumped, settings

LIFETIME: Final = 300.0
"""After how many seconds a connection is made anew, so that a server that came back is used again."""
SOON: Final = 0.005
"""How many seconds lie between the first two tries to find a server; then twice as many, up to `PAUSE`."""
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


class Held(Struct, kw_only=True):
    """A connection, and until when it is used."""

    db: "psycopg.Connection[Any]"
    until: float
    is_fresh: bool = True
    is_confirmed: bool = False
    """Whether its server waits for a standby to confirm each commit."""


class Pools:
    """The connections of this process; no more than the address allows."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._free = threading.BoundedSemaphore(address.connections)
        self._lock = threading.Lock()
        self._idle: list[Held] = []
        self._lent = 0
        self._is_closed = False

    @contextmanager
    def slot(self) -> "Iterator[Slot]":
        """Give a thread its turn at a connection; it gets one when it begins something."""
        if not self._free.acquire(timeout=LOCK_TIMEOUT_SECONDS):
            raise StoreBusy("every connection is in use", hint="try again, or allow more of them: ?connections=")
        slot = Slot(self)
        try:
            yield slot
        finally:
            slot.give_back()
            self._free.release()

    def take(self) -> Held:
        """Return the connection that was used last, or a new one."""
        with self._lock:
            if self._is_closed:
                raise StoreClosed("the store was closed", hint="open it again")
            self._lent += 1
            old = self._outworn()
            found = self._idle.pop() if self._idle else None
        for each in old:
            _close(each)
        if found is not None:
            found.is_fresh = False
            return found
        try:
            return self._connected()
        except BaseException:
            with self._lock:
                self._lent -= 1
            raise

    def _connected(self) -> Held:
        db = connect(self.address)
        try:
            db.execute(sql.SQL("select {}.follow_timeline()").format(sql.Identifier(self.address.schema)))
        except BaseException:
            db.close()
            raise
        return Held(db=db, until=time.monotonic() + LIFETIME)

    def _outworn(self) -> list[Held]:
        """Return the connections whose time is up, and let go of them."""
        now = time.monotonic()
        old = [each for each in self._idle if each.until <= now]
        self._idle = [each for each in self._idle if each.until > now]
        return old

    def put(self, held: Held) -> None:
        """Take a connection back; one that is broken or in the middle of something is closed."""
        sound = not held.db.closed and held.db.info.transaction_status == pq.TransactionStatus.IDLE
        with self._lock:
            self._lent -= 1
            if sound and not self._is_closed:
                self._idle.append(held)
                return
        _close(held)

    def drop(self, held: Held) -> None:
        """Close a connection that is broken, and the idle ones with it: they are to the same server."""
        with self._lock:
            self._lent -= 1
            others, self._idle = self._idle, []
        for each in (held, *others):
            _close(each)

    def close(self) -> None:
        """Close every connection; those in use are closed when they come back."""
        with self._lock:
            self._is_closed, idle = True, self._idle
            self._idle = []
        for each in idle:
            _close(each)


class Slot:
    """A thread's turn at a connection."""

    def __init__(self, pools: Pools) -> None:
        self._pools = pools
        self._held: Held | None = None

    @property
    def db(self) -> "psycopg.Connection[Any]":
        """The connection on which something was begun."""
        if self._held is None:
            raise psycopg.OperationalError("the connection is closed")
        return self._held.db

    @property
    def schema(self) -> str:
        """The schema of the store."""
        return self._pools.address.schema

    @property
    def is_open(self) -> bool:
        """Whether a transaction is open."""
        return self._held is not None and self._held.db.info.transaction_status != pq.TransactionStatus.IDLE

    def begin_reading(self) -> None:
        """Open a read transaction."""
        self._begin(lambda held: held.db.execute(READ + settings(self._pools.address)))

    def begin_writing(self, *, durable: bool = True, projects: Collection[str] | None = None) -> tuple[int, int]:
        """Open a write transaction when no other writes to *projects*, or to the schema.

        Return its number, and the version of the analyser that made the word index, which does not change meanwhile.

        What is not *durable* may be lost with the server.
        """
        address = self._pools.address
        locks = project_locks(address.schema, projects)
        statements = f"{WRITE}{settings(address, durable=durable)}select follow_timeline();{locks}{BEGUN}"
        begun = (0, -1)

        def begin(held: Held) -> None:
            nonlocal begun
            begun = _write(held, statements)

        self._begin(begin)
        return begun

    def begin_alone(self, name: str) -> bool:
        """Open a transaction that holds the lock *name* if it is free; return whether it does.

        Without parameters no snapshot stays behind, for which the building of an index would wait.
        """
        statements = f"begin; select pg_try_advisory_xact_lock(hashtext({sql.quote(name)}), 1)"
        self._begin(lambda held: held.db.execute("select 1"))
        cursor = self.db.execute(statements)
        cursor.nextset()
        return cursor.fetchone() == (True,)

    def begin(self) -> None:
        """Have a connection to the primary that answers."""
        self._begin(lambda held: held.db.execute("select 1"))

    def _begin(self, begin: Callable[[Held], object]) -> None:
        """Begin on the first server that can; look for one as long as the address says."""
        until, pause = time.monotonic() + self._pools.address.patience, SOON
        while (failure := self._attempt(begin)) is not None:
            if time.monotonic() >= until:
                raise NoServer(str(failure)) if isinstance(failure, psycopg.OperationalError) else failure
            time.sleep(pause)
            pause = min(PAUSE, 2 * pause)

    def _attempt(self, begin: Callable[[Held], object]) -> psycopg.Error | None:
        """Begin on a server; return why that cannot be done."""
        while True:
            self.give_back()
            try:
                held = self._held = self._pools.take()
            except psycopg.OperationalError as error:  # no such server is there
                return error
            try:
                begin(held)
            except (psycopg.OperationalError, errors.ReadOnlySqlTransaction) as error:
                if not (held.db.closed or isinstance(error, errors.ReadOnlySqlTransaction)):
                    raise
                self.drop()
                if held.is_fresh:
                    return error
            else:
                return None

    def commit(self) -> str:
        """Keep what was written; return what the server warns of: that no standby has confirmed it."""
        warnings: list[str] = []
        seconds = self._pools.address.seconds if self._held is not None and self._held.is_confirmed else 0.0
        with _warned(self.db, warnings), _bounded(self.db, seconds):
            cursor = self.db.execute("commit", prepare=False)
        if cursor.statusmessage == "ROLLBACK":
            raise errors.InFailedSqlTransaction("a statement had failed, so nothing was kept")
        return "".join(warnings[:1])

    def give_back(self) -> None:
        """Give the connection back."""
        if self._held is not None:
            self._pools.put(self._held)
            self._held = None

    def drop(self) -> None:
        """Close the connection, and those like it: its server is gone, or no more what it was."""
        if self._held is not None:
            self._pools.drop(self._held)
            self._held = None


def project_locks(schema: str, projects: Collection[str] | None) -> str:
    """Return the statements that lock *projects* in an order that all writers share, or the whole schema."""
    name = sql.quote(schema)
    if projects is None:
        return WHOLE.format(schema=name)
    each = (PROJECT.format(schema=name, project=sql.quote(dumped(project))) for project in sorted(projects))
    return SHARED.format(schema=name) + "".join(each)


def _write(held: Held, statements: str) -> tuple[int, int]:
    """Begin, and return the number of the transaction and the version of the analyser."""
    cursor = held.db.execute(statements)
    while cursor.nextset():
        pass
    ((is_read_only, held.is_confirmed, number, analyser),) = cursor.fetchall()
    if is_read_only:
        raise errors.ReadOnlySqlTransaction("it takes no writes")
    return int(number), int(analyser)


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


def _close(held: Held) -> None:
    with suppress(psycopg.Error):
        held.db.close()
