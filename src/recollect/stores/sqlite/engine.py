"""One SQLite database: connections, pragmas, migrations, transactions, and SQLite's errors in our words."""

import json
import tempfile
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import apsw

from recollect.errors import InputError, RecollectError, StoreBusy, StoreDamaged, StoreError
from recollect.records import Progress
from recollect.stores.sql.engine import OPEN, Clause
from recollect.stores.sqlite import copies

APPLICATION = 0x5EC0_11EC
"""Marks the file as ours, so that another program's database is never taken for a store."""

PATIENCE = 60_000
"""How many milliseconds a writer waits for another one."""

PRAGMAS = """
pragma synchronous = full;
pragma temp_store = memory;
pragma cache_size = -32000;
pragma journal_size_limit = 67108864;
"""


class SqliteSession:
    """A connection with a transaction open on it."""

    def __init__(self, db: apsw.Connection) -> None:
        self.db = db

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """Run *sql* and return all its rows."""
        return self.db.execute(sql, tuple(values)).fetchall()

    def value(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """Run *sql* and return the one column of its first row, or None."""
        return self.db.execute(sql, tuple(values)).get

    def many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run *sql* once for each of *rows*."""
        if rows:
            self.db.executemany(sql, rows)


class SqliteEngine:
    """A file, with a connection for each thread; or a database in memory, with one that threads take in turns."""

    def __init__(self, path: Path | None, *, pinned: apsw.Connection | None = None) -> None:
        self._path = path
        self._here = threading.local()
        self._open: list[apsw.Connection] = [] if pinned is None else [pinned]
        alone = path is None or pinned is not None
        self._lock: AbstractContextManager[object] = threading.RLock() if alone else nullcontext()
        self._shared = SqliteSession(pinned) if pinned is not None else self._connected() if path is None else None
        self._session()

    def _session(self) -> SqliteSession:
        session: SqliteSession | None = self._shared or getattr(self._here, "session", None)
        if session is None:
            session = self._here.session = self._connected()
        return session

    def _connected(self) -> SqliteSession:
        db = connect(self._path)
        self._open.append(db)
        return SqliteSession(db)

    @contextmanager
    def session(self, *, write: bool = False, durable: bool = True) -> Iterator[SqliteSession]:
        """Open a transaction, or join the one that is open in this thread."""
        with self._lock, translated(self._path):
            session = self._session()
            nested = session.db.in_transaction
            if nested and not write:
                yield session
                return
            with _lightly(session.db) if write and not durable and not nested else nullcontext():
                yield from _transaction(session, nested=nested, write=write)

    def member(self, column: str, values: Collection[object] | None) -> Clause:
        """Return the condition that *column* is one of *values*."""
        if values is None:
            return OPEN
        value = "unhex(value)" if isinstance(next(iter(values), None), bytes) else "value"
        listed = json.dumps([each.hex() if isinstance(each, bytes) else each for each in values])
        return Clause(f"{column} in (select {value} from json_each(?))", (listed,))

    def elements(self, column: str) -> str:
        """Return the elements of a JSON list as a table."""
        return f"json_each({column})"

    def holds(self, text: str) -> str:
        """Return the condition that *text* holds the parameter."""
        return f"instr(lower({text}), ?) > 0"

    def check(self) -> tuple[str, ...]:
        """Return what is wrong with the file."""
        with self.session() as session:
            lines = [line for (line,) in session.rows("pragma integrity_check(20)") if line != "ok"]
        return tuple(f"{line}; run: recollect reindex" if line.startswith("fts5:") else line for line in lines)

    def snapshot(self) -> "SqliteEngine":
        """Return the database as it is now, for reading, whatever is written later."""
        with self._lock, translated(self._path):
            return SqliteEngine(self._path, pinned=self._pinned())

    def backup(self, path: Path, *, force: bool = False, progress: Progress | None = None) -> None:
        """Write a checked copy to the file *path*; writers go on meanwhile."""
        if self._path is not None and path.exists() and path.samefile(self._path):
            raise InputError(f"{path} is the store itself", hint="name another file")
        with self._lock, translated(self._path), closing(self._pinned()) as source:
            copies.write_copy(source, path, force=force, progress=progress)

    def restore_backup(self, path: Path, *, aside: Path | None = None, dry_run: bool = False) -> int:
        """Put the backup *path* in the place of what is here; return how many memories it holds."""
        with self._lock, self._brought_up_to_date(path) as source, translated(self._path):
            count: int = source.execute("select count(*) from memory where deleted_at is null").get
            if not dry_run:
                target = connect(self._path) if self._shared is None else self._shared.db
                with closing(self._reader()) as present:
                    copies.replace_all(source, target, present, aside)
                if self._shared is None:
                    target.close()
        return count

    @contextmanager
    def _brought_up_to_date(self, path: Path) -> Iterator[apsw.Connection]:
        """Give a whole copy of the backup *path* in today's format; the backup itself stays as it is."""
        folder = None if self._path is None else self._path.parent
        _refuse_strangers(path)
        with tempfile.TemporaryDirectory(prefix=".restoring-", dir=folder) as beside, translated(path):
            part = Path(beside, "store.db")
            with copies.opened(path) as backup:
                copies.write_copy(backup, part, check=False)
            with closing(connect(part)) as source:
                wrong = copies.damage_of(source)
                if wrong is not None:
                    raise StoreDamaged(f"{path} is damaged: {wrong}", hint="restore another backup")
                yield source

    def _reader(self) -> apsw.Connection:
        """Return a connection of its own that reads what is here; for a database in memory, a copy of it."""
        if self._shared is None:
            return connect(self._path)
        copy = apsw.Connection(":memory:")
        with copy.backup("main", self._shared.db, "main") as job:
            job.step()
        return copy

    def _pinned(self) -> apsw.Connection:
        """Return such a connection with a transaction open: what it reads stays as it is now."""
        db = self._reader()
        db.execute("begin; select 1 from meta")
        return db

    def close(self) -> None:
        """Close every connection."""
        while self._open:
            self._open.pop().close()
        self._here, self._shared = threading.local(), None


def _transaction(session: SqliteSession, *, nested: bool, write: bool) -> Iterator[SqliteSession]:
    db = session.db
    db.execute("savepoint nested" if nested else "begin immediate" if write else "begin")
    try:
        yield session
    except BaseException:
        db.execute("rollback to nested; release nested" if nested else "rollback")
        raise
    db.execute("release nested" if nested else "commit" if write else "rollback")


@contextmanager
def _lightly(db: apsw.Connection) -> Iterator[None]:
    """Write without waiting for the disk: what is written last may be lost with the power, never what was before."""
    db.pragma("synchronous", "normal")
    try:
        yield
    finally:
        db.pragma("synchronous", "full")


# --- opening --------------------------------------------------------------------------------


def connect(path: Path | None) -> apsw.Connection:
    """Return a connection to the store at *path*, or in memory, made and brought up to date as needed."""
    if path is not None:
        _refuse_strangers(path)
    with translated(path):
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        db = apsw.Connection(":memory:" if path is None else str(path))
        db.set_busy_timeout(PATIENCE)
        _migrate(db, path)
        db.execute(PRAGMAS)
        return db


def migrations() -> tuple[str, ...]:
    """Return the steps from an empty file to today's schema, oldest first."""
    folder = Path(__file__).parent / "migrations"
    steps = sorted((step for step in folder.iterdir() if step.name.endswith(".sql")), key=lambda step: step.name)
    return tuple(step.read_text(encoding="utf-8") for step in steps)


def is_ours(path: Path) -> bool:
    """Tell whether the file at *path* bears our mark, where SQLite keeps it in the head of a file."""
    try:
        with path.open("rb") as file:
            head = file.read(72)
    except OSError:
        return False
    return head.startswith(b"SQLite format 3\x00") and int.from_bytes(head[68:72]) == APPLICATION


def _refuse_strangers(path: Path) -> None:
    try:
        with path.open("rb") as file:
            head = file.read(16)
    except FileNotFoundError:
        return
    except IsADirectoryError as error:
        raise StoreError(f"{path} is a folder, not a store", hint="name a file, such as notes.db") from error
    except OSError as error:
        raise StoreError(f"cannot open {path}: {error.strerror}", hint="check the rights of the file") from error
    if head and head != b"SQLite format 3\x00":
        raise StoreDamaged(
            f"{path} is not a recollect store", hint="name another file with --db; this one is untouched"
        )


def _migrate(db: apsw.Connection, path: Path | None) -> None:
    if _is_current(db, path):
        return
    _use_wal(db)
    db.execute("begin immediate")
    try:
        if not _is_current(db, path):
            steps = migrations()
            done = db.pragma("user_version")
            for step in steps[done:]:
                db.execute(step)
            db.pragma("application_id", APPLICATION)
            db.pragma("user_version", len(steps))
    except BaseException:
        db.execute("rollback")
        raise
    db.execute("commit")


def _is_current(db: apsw.Connection, path: Path | None) -> bool:
    mark, version, tables = _state(db)
    known = len(migrations())
    if mark != APPLICATION:
        if version or tables:
            raise StoreDamaged(f"{path} is another program's database", hint="name another file with --db")
        return False
    if version > known:
        raise StoreError(
            f"{path} was written by a newer recollect (format {version}, this one knows {known})",
            hint="upgrade recollect",
        )
    return bool(version == known)


def _state(db: apsw.Connection) -> tuple[int, int, int]:
    """Return the file's mark, version and number of tables at one moment; another process may be making them."""
    alone = not db.in_transaction
    if alone:
        db.execute("begin")
    try:
        tables = db.execute("select count(*) from sqlite_schema").get
        return db.pragma("application_id") & 0xFFFF_FFFF, db.pragma("user_version"), tables
    finally:
        if alone:
            db.execute("rollback")


def _use_wal(db: apsw.Connection) -> None:
    """Switch to WAL; SQLite does not wait for the lock this needs, so we do."""
    until = time.monotonic() + PATIENCE / 1000
    while True:
        try:
            db.pragma("journal_mode", "wal")
        except apsw.BusyError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


@contextmanager
def translated(path: Path | None) -> Iterator[None]:
    """Turn SQLite's errors into ours, with what to do about them."""
    try:
        yield
    except RecollectError:
        raise
    except apsw.Error as error:
        raise _ours(error, path) from error
    except OSError as error:
        raise StoreError(f"cannot open {path}: {error.strerror}", hint="check the rights of its folder") from error


_DAMAGED = (StoreDamaged, "{place} is damaged: {error}", "run: recollect --db {place} doctor")
_RIGHTS = apsw.ReadOnlyError | apsw.CantOpenError | apsw.PermissionsError | apsw.AuthError
_ERRORS: tuple[tuple[Any, str, type[RecollectError], str, str], ...] = (
    (
        apsw.BusyError | apsw.LockedError,
        "",
        StoreBusy,
        "{place} is busy",
        "another process writes very long; try again",
    ),
    (apsw.NotADBError | apsw.CorruptError, "", *_DAMAGED),
    (apsw.SQLError, "no such", *_DAMAGED),
    (apsw.FullError, "", StoreError, "the disk of {place} is full", "make room; nothing that was stored is lost"),
    (_RIGHTS, "", StoreError, "cannot open or write {place}: {error}", "check the rights of its folder"),
    (apsw.ConstraintError, "memory.external_id", InputError, "another memory has this external id", "update that one"),
    (apsw.Error, "", StoreError, "{place}: {error}", "run: recollect --db {place} doctor"),
)
"""SQLite's errors and what they say, the first that fits; our error, what it says, and what to do about it."""


def _ours(error: apsw.Error, path: Path | None) -> RecollectError:
    told = {"place": path or ":memory:", "error": error}
    make, message, hint = next(row[2:] for row in _ERRORS if isinstance(error, row[0]) and row[1] in str(error))
    return make(message.format(**told), hint=hint.format(**told))
