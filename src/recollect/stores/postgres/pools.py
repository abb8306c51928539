"""The connections of a process to one store, and on which of them a transaction begins.

Writes go to the one server that takes writes, and reads as well unless the address sends them to standbys. A standby
follows the primary, a moment behind. So a read goes there only where the standby has replayed the last commit of this
process, and where its version is none that this process has read past; else it goes to the primary. A connection that
is found broken when a transaction begins is replaced, whatever server answers then; nothing was asked of it yet.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, Final

import psycopg
from msgspec import Struct
from psycopg import errors, pq

from recollect.errors import StoreBusy, StoreClosed, StoreUnreachable
from recollect.stores.postgres.address import Address
from recollect.stores.postgres.connecting import PATIENCE, PAUSE, NoServer, Role, connect

LIFETIME: Final = 300.0
"""After how many seconds a connection is made anew, so that a server that came back is used again."""
AGAIN: Final = 10.0
"""After how many seconds a standby is looked for again where there was none."""
SOON: Final = 0.005
"""How many seconds lie between the first two tries to find a server; then twice as many, up to `PAUSE`."""
READ: Final = "begin isolation level repeatable read read only"
WRITE: Final = "begin isolation level read committed"
ALONE: Final = (
    "select pg_advisory_xact_lock(hashtext(current_schema())), current_setting('transaction_read_only') = 'on', "
    "current_setting('synchronous_standby_names') <> ''"
)
REPLAYED: Final = (
    "select case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_insert_lsn() end - '0/0'"
)
STATE: Final = (
    f"{READ}; {REPLAYED}, (select value from meta where key = 'store'), (select value from meta where key = 'version')"
)
COMMIT: Final = "commit; select pg_current_wal_insert_lsn() - '0/0'"


class Progress:
    """How far this process has written, in the log of the server, and read, in versions of each store there."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.written = 0
        self._versions: dict[int, int] = {}

    def wrote(self, position: int) -> None:
        """Note a commit."""
        with self._lock:
            self.written = max(self.written, position)

    def read(self, store: int, version: int) -> bool:
        """Note that a version of a *store* is read, unless a later one was; tell whether it may be."""
        with self._lock:
            if version < self._versions.get(store, 0):
                return False
            self._versions[store] = version
            return True


@cache
def progress_at(server: str) -> Progress:
    """Return how far this process is at *server*, whatever it opens there."""
    del server
    return Progress()


def note_position(address: Address, db: "psycopg.Connection[Any]") -> None:
    """Let what this process reads at *address* from now on be no older than what *db* shows."""
    progress_at(address.server).wrote(_number(db.execute(REPLAYED)))


class _Behind(psycopg.OperationalError):
    """A server does not show yet what this process wrote, or has read."""


class Held(Struct, kw_only=True):
    """A connection, until when it is used, and how far its server is known to have replayed at least."""

    db: "psycopg.Connection[Any]"
    role: Role
    until: float
    is_fresh: bool = True
    replayed: int = 0
    is_confirmed: bool = False
    """Whether its server waits for a standby to confirm each commit."""


class Pools:
    """The connections of this process; each role has its own, and all together no more than the address allows."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.is_apart = address.reads == "standby"
        self.progress = progress_at(address.server)
        self._free = threading.BoundedSemaphore(address.connections)
        self._lock = threading.Lock()
        self._idle: list[Held] = []
        self._lent = 0
        self._is_closed = False
        self._no_standby_until = 0.0

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

    def take(self, role: Role) -> Held:
        """Return the connection of this *role* that was used last, or a new one."""
        with self._lock:
            if self._is_closed:
                raise StoreClosed("the store was closed", hint="open it again")
            self._lent += 1
            old = self._outworn()
            found = next((each for each in reversed(self._idle) if each.role == role), None)
            if found is not None:
                self._idle.remove(found)
            elif self._idle and len(self._idle) + self._lent > self.address.connections:
                old.append(self._idle.pop(0))
        for each in old:
            _close(each)
        if found is not None:
            found.is_fresh = False
            return found
        try:
            return self._connected(role)
        except BaseException:
            with self._lock:
                self._lent -= 1
            raise

    def _connected(self, role: Role) -> Held:
        db = connect(self.address, role)
        if role == "primary":
            try:
                with suppress(errors.UndefinedFunction):  # a schema that holds no memories has none
                    db.execute("select follow_timeline()")
            except BaseException:
                db.close()
                raise
        return Held(db=db, role=role, until=time.monotonic() + LIFETIME)

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
        """Close a connection that is broken, and those of its role with it: they are to the same server."""
        with self._lock:
            self._lent -= 1
            others = [each for each in self._idle if each.role == held.role]
            self._idle = [each for each in self._idle if each.role != held.role]
        for each in (held, *others):
            _close(each)

    def reading_roles(self) -> tuple[Role, ...]:
        """Return whom to ask for a read, in this order; where there was no standby one thread looks again at times."""
        if not self.is_apart:
            return ("primary",)
        with self._lock:
            now = time.monotonic()
            if now < self._no_standby_until:
                return ("primary", "standby")
            if self._no_standby_until:
                self._no_standby_until = now + AGAIN
        return ("standby", "primary")

    def note_standby(self, *, found: bool) -> None:
        """Note whether there is a standby."""
        self._no_standby_until = 0.0 if found else time.monotonic() + AGAIN

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

    def begin_reading(self, *, latest: bool = False) -> None:
        """Open a read transaction; the *latest* state is that of the primary."""
        roles: tuple[Role, ...] = ("primary",) if latest else self._pools.reading_roles()
        self._begin(self._read, roles)

    def begin_writing(self, *, durable: bool = True) -> None:
        """Open a write transaction, and wait until this schema has no other.

        What is not *durable* may be lost with the server. Where standbys are read it goes to the disk all the same, for
        a standby gets what is there, and who wrote it waits for that no longer than for the next one that reads it.
        """
        self._begin(_write, ("primary",))
        if not durable:
            self.db.execute(f"set local synchronous_commit = {'local' if self._pools.is_apart else 'off'}")

    def begin(self) -> None:
        """Have a connection to the primary that answers."""
        self._begin(lambda held: held.db.execute("select 1"), ("primary",))

    def _begin(self, begin: Callable[[Held], object], roles: tuple[Role, ...]) -> None:
        """Begin on the first server that can, in these *roles*; look for one as long as the address says."""
        until, pause = time.monotonic() + self._pools.address.patience, SOON
        while True:
            failure: psycopg.Error | None = None
            for role in roles:
                error = self._attempt(begin, role)
                if error is None:
                    return
                failure = error if failure is None or isinstance(failure, _Behind) else failure
            if time.monotonic() >= until and failure is not None:
                raise _told(failure)
            time.sleep(pause)
            pause = min(PAUSE, 2 * pause)

    def _attempt(self, begin: Callable[[Held], object], role: Role) -> psycopg.Error | None:
        """Begin on a server in this *role*; return why that cannot be done there."""
        while True:
            self.give_back()
            try:
                held = self._held = self._pools.take(role)
            except psycopg.OperationalError as error:  # no such server is there
                if role == "standby":
                    self._pools.note_standby(found=False)
                return error
            if role == "standby":
                self._pools.note_standby(found=True)
            try:
                begin(held)
            except _Behind as error:
                return error
            except (psycopg.OperationalError, errors.ReadOnlySqlTransaction) as error:
                if not (held.db.closed or isinstance(error, errors.ReadOnlySqlTransaction)):
                    raise
                self.drop()
                if held.is_fresh:
                    return error
            else:
                return None

    def _read(self, held: Held) -> None:
        if not self._pools.is_apart:
            held.db.execute(READ)
            return
        progress = self._pools.progress
        if held.role == "standby" and held.replayed < progress.written:
            held.replayed = _number(held.db.execute(REPLAYED))
            if held.replayed < progress.written:
                raise _Behind("a standby has not replayed yet what was written here")
        cursor = held.db.execute(STATE, prepare=False)
        cursor.nextset()
        held.replayed, store, version = next(cursor)
        if not progress.read(store, version):
            held.db.execute("rollback")
            raise _Behind("the server does not show yet what was read here")

    def commit(self) -> str:
        """Keep what was written; return what the server warns of: that no standby has confirmed it."""
        warnings: list[str] = []
        seconds = self._pools.address.seconds if self._held is not None and self._held.is_confirmed else 0.0
        with _warned(self.db, warnings), _bounded(self.db, seconds):
            cursor = self.db.execute(COMMIT if self._pools.is_apart else "commit", prepare=False)
        if cursor.statusmessage == "ROLLBACK":
            raise errors.InFailedSqlTransaction("a statement had failed, so nothing was kept")
        if cursor.nextset():
            self._pools.progress.wrote(_number(cursor))
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


def _number(cursor: "psycopg.Cursor[Any]") -> int:
    row = cursor.fetchone()
    return 0 if row is None or row[0] is None else int(row[0])


def _told(failure: psycopg.Error) -> Exception:
    if isinstance(failure, _Behind):
        return StoreUnreachable(
            "no server shows yet what was written or read here", hint="the standbys are behind: is the primary running?"
        )
    return NoServer(str(failure)) if isinstance(failure, psycopg.OperationalError) else failure


def _close(held: Held) -> None:
    with suppress(psycopg.Error):
        held.db.close()
