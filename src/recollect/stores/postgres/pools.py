"""The connections of a process to one store, all of them to the server that takes writes.

A connection that is found broken when a transaction begins is replaced; nothing was asked of it yet.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import psycopg
from msgspec import Struct
from psycopg import errors, pq

from recollect.errors import StoreBusy, StoreClosed
from recollect.stores.postgres.address import Address
from recollect.stores.postgres.connecting import PATIENCE, PAUSE, NoServer, connect

LIFETIME: Final = 300.0
"""After how many seconds a connection is made anew, so that a server that came back is used again."""
SOON: Final = 0.005
"""How many seconds lie between the first two tries to find a server; then twice as many, up to `PAUSE`."""
READ: Final = "begin isolation level repeatable read read only"
WRITE: Final = "begin isolation level read committed"
ALONE: Final = (
    "select pg_advisory_xact_lock(hashtext(current_schema())), current_setting('transaction_read_only') = 'on', "
    "current_setting('synchronous_standby_names') <> ''"
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
        if not self._free.acquire(timeout=PATIENCE):
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
            db.execute("select follow_timeline()")
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
    def is_open(self) -> bool:
        """Whether a transaction is open."""
        return self._held is not None and self._held.db.info.transaction_status != pq.TransactionStatus.IDLE

    def begin_reading(self) -> None:
        """Open a read transaction."""
        self._begin(lambda held: held.db.execute(READ))

    def begin_writing(self, *, durable: bool = True) -> None:
        """Open a write transaction, and wait until this schema has no other.

        What is not *durable* may be lost with the server.
        """
        self._begin(_write)
        if not durable:
            self.db.execute("set local synchronous_commit = off")

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


def _write(held: Held) -> None:
    held.db.execute(WRITE)
    (row,) = held.db.execute(ALONE).fetchall()
    _, is_read_only, held.is_confirmed = row
    if is_read_only:
        raise errors.ReadOnlySqlTransaction("it takes no writes")


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
