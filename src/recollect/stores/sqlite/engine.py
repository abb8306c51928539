"""One SQLite database: connections, pragmas, migrations, transactions, and SQLite's errors in our words."""

import json
import os
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Literal, TypeVar

import apsw

from recollect.errors import InputError, RecollectError, RowDamaged, StoreBusy, StoreDamaged, StoreError
from recollect.files import lock_file, unlock_file
from recollect.records import Progress
from recollect.stores.sql.engine import ADD_TO_TOTALS, LARGEST_ID, OPEN, READ_STATE, SIZES, Clause, Engine, count_more
from recollect.stores.sql.index.folder import SegmentFolder
from recollect.stores.sqlite import copies, pages
from recollect.stores.sqlite.connections import Connections
from recollect.stores.sqlite.copies import APPLICATION
from recollect.stores.sqlite.place import SEGMENTS, Place, beside, find_place, no_store, opened
from recollect.stores.sqlite.rebuilding import SQLITE

WITHOUT_FTS5 = 9
"""From which format on there are no tables of FTS5."""

PATIENCE = 60_000
"""How many milliseconds a writer waits for another one."""

REBUILD_LOCK = "-rebuild"
"""The file next to the store whose lock a rebuild holds."""
REBUILD_POLL_SECONDS = 0.05
SCRUB_PATIENCE = 5_000
"""How many milliseconds an erasure waits for those who still read what was there before it."""

PAGE_BYTES = 8_192
"""The size of a page in a new file: five vectors of 384 numbers fit, where half of it has room for two."""
PRAGMAS = """
pragma synchronous = full;
pragma temp_store = memory;
pragma cache_size = -8000;
pragma journal_size_limit = 67108864;
"""


Kept = TypeVar("Kept")


class SqliteSession:
    """A connection with a transaction open on it, and what it has read and need not read again."""

    def __init__(self, db: apsw.Connection) -> None:
        self.db = db
        self.uncommitted: dict[Any, Any] = {}
        self._kept: dict[Any, tuple[int, Any]] = {}
        self.close, self.interrupt = db.close, db.interrupt
        self.begin()

    def begin(self) -> None:
        """Note that a transaction begins here."""
        self._changes = self.db.total_changes()
        self._state: int | None = None

    @property
    def has_written(self) -> bool:
        """Tell whether the transaction has changed anything: what it sees may never be."""
        return self.db.total_changes() != self._changes

    def kept(self, read: "Callable[[SqliteSession], Kept]") -> "Kept":
        """Return what *read* returns, read again only where the file has changed since this connection read it."""
        if self.is_writing:
            return read(self)
        if self._state is None:
            self.db.execute("pragma data_version")  # from here on the transaction sees one state of the file
            self._state = self.db.data_version()
        state, found = self._kept.get(read, (None, None))
        if state != self._state:
            found = read(self)
            self._kept[read] = self._state, found
        return found  # type: ignore[return-value]

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """Run *sql* and return all its rows."""
        return self.db.execute(sql, tuple(values)).fetchall()

    def value(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """Run *sql* and return the one column of its first row, or None."""
        return self.db.execute(sql, tuple(values)).get

    def each(self, sql: str, values: Sequence[Any] = ()) -> Iterator[Any]:
        """Run *sql* and return its rows one by one."""
        return iter(self.db.execute(sql, tuple(values)))

    def many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run *sql* once for each of *rows*."""
        if rows:
            self.db.executemany(sql, rows)

    def batch(self) -> AbstractContextManager[object]:
        """Run statements as they come: a file is not far away."""
        return nullcontext()

    def numbers(self, **counts: int) -> Mapping[str, Sequence[int]]:
        """Return the next numbers of some counters of `meta`."""
        found: dict[str, Sequence[int]] = {}
        for key, many in counts.items():
            given = self.value("select value from meta where key = ?", (key,))
            if isinstance(given, int) and given + many >= LARGEST_ID:
                raise StoreError("the store has no ids left", hint="export it and import that into a new store")
            last = count_more(self, key, many) if many else 0
            found[key] = range(last - many + 1, last + 1)
        return found

    def count_on(self, counters: Mapping[str, int]) -> None:
        """Let counters of `meta` go on behind these values."""
        rows = [(value, key) for key, value in counters.items()]
        self.many("update meta set value = max(value, ?) where key = ?", rows)

    def lock_projects(self, projects: Collection[str]) -> bool:  # noqa: ARG002
        """Do nothing: a file has one writer."""
        return False

    def count(self, projects: Mapping[str, Sequence[int]]) -> None:
        """Add to the totals of *projects*."""
        self.many(ADD_TO_TOTALS, [(name, *sizes[: len(SIZES)]) for name, sizes in projects.items()])

    def changed(self, projects: Collection[str]) -> None:  # noqa: ARG002
        """Let the version grow."""
        count_more(self, "version", 1)

    state_statement, own_number, analyser = READ_STATE, 0, -1

    @property
    def is_writing(self) -> bool:
        """Whether what is seen may not be committed yet."""
        return bool(self.db.txn_state("main") == apsw.SQLITE_TXN_WRITE)


class _Here(threading.local):
    """The session that a thread is in, with its process: a copy of the process is in none."""

    held: tuple[int, SqliteSession | None] = (0, None)


class _Reading:
    """A read transaction of this thread, or the transaction that is open in it; a class, for speed."""

    __slots__ = ("_began", "_engine", "_session", "_took")

    def __init__(self, engine: "SqliteEngine") -> None:
        self._engine = engine
        self._took = self._began = False

    def __enter__(self) -> SqliteSession:
        engine = self._engine
        try:
            session = engine.held()
            if session is None:
                session, self._took = engine.take(), True
            self._session = session
            if not session.db.in_transaction:
                session.db.execute("begin")
                self._began = True
                session.begin()
                engine.require_same()
        except BaseException as error:
            self.__exit__(type(error), error, error.__traceback__)
            raise
        return session

    def __exit__(self, _: object, error: BaseException | None, trace: object) -> None:
        engine = self._engine
        try:
            if self._began:
                self._session.uncommitted.clear()
                _roll_back(self._session.db, nested=False)
        except apsw.Error as failed:
            error = error or failed
        finally:
            if self._took:
                engine.give_back(self._session)
        ours = None if error is None else _told(error, engine.path)
        if ours is not None:
            raise ours from error


class SqliteEngine:
    """A file, with a connection for each thread that works; or a database in memory, with one that threads share."""

    rebuilding = SQLITE

    def __init__(self, path: Path | None, *, pinned: apsw.Connection | None = None) -> None:
        self.path = path
        self._here = _Here()
        self._place = None if path is None or pinned is not None else _found(path)
        alone = path is None or pinned is not None
        self._connections = Connections(
            lambda: SqliteSession(pinned or _connected(self._place)), most=1 if alone else None
        )
        with self._turn():
            pass  # what is wrong with the file is told now

    @property
    def segments(self) -> Path | None:
        """Return the folder in which segments of the word index may lie; there is none for a database in memory."""
        return None if self.path is None else beside(self.path, SEGMENTS)

    @property
    def is_writable(self) -> bool:
        """Tell whether anything can be written here."""
        return self._place is None or self._place.access == "write"

    def held(self) -> SqliteSession | None:
        """Return the session that this thread is in."""
        process, session = self._here.held
        return session if session is not None and process == os.getpid() else None

    def take(self) -> SqliteSession:
        """Give this thread a session of its own."""
        session = self._connections.take()
        self._here.held = os.getpid(), session
        return session

    def give_back(self, session: SqliteSession) -> None:
        """Take the session back that this thread was given."""
        self._here.held = 0, None
        self._connections.give_back(session)

    def require_same(self) -> None:
        """Refuse to use another file than the one that was opened."""
        if self._place is not None:
            self._place.require_same()

    @contextmanager
    def _turn(self) -> Iterator[SqliteSession]:
        """Give this thread the session that it is in, or one of its own."""
        session = self.held()
        if session is not None:
            yield session
            return
        session = self.take()
        try:
            yield session
        finally:
            self.give_back(session)

    def session(
        self,
        *,
        write: bool = False,
        durable: bool = True,
        projects: Collection[str] | None = None,  # noqa: ARG002
    ) -> AbstractContextManager[SqliteSession]:
        """Open a transaction, or join the one that is open in this thread."""
        return self._writing(durable=durable) if write else _Reading(self)

    @contextmanager
    def _writing(self, *, durable: bool) -> Iterator[SqliteSession]:
        with translated(self.path), self._turn() as session:
            nested = session.db.in_transaction
            with nullcontext() if durable or nested else _lightly(session.db):
                yield from self._transaction(session, nested=nested)

    def open_transaction(self) -> Literal["none", "read", "write"]:
        """Tell what kind of transaction is open in this thread."""
        session = self.held()
        if session is None or not session.db.in_transaction:
            return "none"
        return "write" if session.is_writing else "read"

    def renew(self) -> None:
        """Let the read transaction of this thread see what others wrote since."""
        with translated(self.path), self._turn() as session:
            session.db.execute("rollback; begin")
            session.begin()

    def _transaction(self, session: SqliteSession, *, nested: bool) -> Iterator[SqliteSession]:
        db, place = session.db, None if nested else self._place
        if place is not None:
            place.require_writable()
        db.execute("savepoint nested" if nested else "begin immediate")
        if not nested:
            session.begin()
        try:
            if place is not None:
                place.require_same()
            yield session
        except BaseException:
            session.uncommitted.clear()
            _roll_back(db, nested=nested)
            raise
        if not nested:
            session.uncommitted.clear()
        db.execute("release nested" if nested else "commit")
        if place is not None:
            place.require_same()

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
            return pages.damage(session.db)

    def indexes(self) -> tuple[str, ...]:
        """Return the names of the indexes on the tables that are not derived."""
        with self.session() as session:
            return pages.indexes(session.db)

    def replaced(self, fill: Callable[[Engine], None], *, force: bool = False) -> bool:
        """Put a new file in the place of one with damaged pages."""
        with self.session() as session:
            damaged = self.path is not None and (force or pages.are_damaged(session.db))
        if damaged and self.path is not None:
            from recollect.stores.sqlite.recover import replace  # noqa: PLC0415  (seldom needed)

            with translated(self.path):
                replace(self.path, lambda path: _filled(path, fill))
        return damaged

    @contextmanager
    def rebuild_lock(self) -> Iterator[bool]:
        """Hold the lock of a file next to the store; the system releases it when a process dies."""
        if self._place is None:
            yield True
            return
        path = beside(self._place.path, REBUILD_LOCK)
        try:
            while (handle := lock_file(path)) is None:
                time.sleep(REBUILD_POLL_SECONDS)
        except OSError:  # no file can be made here; the lease decides
            yield False
            return
        try:
            yield True
        finally:
            unlock_file(path, handle)

    def scrub(self) -> tuple[str, ...]:
        """Write the file anew, page by page, and empty its log; both wait a while for others."""
        with translated(self.path), self._turn() as session:
            db = session.db
            if self._place is not None:
                self._place.require_writable()
                self._place.require_same()
                copies.remove_stale_parts(self._place.path.parent)
            db.set_busy_timeout(SCRUB_PATIENCE)
            try:
                db.execute("vacuum")
                db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            except apsw.BusyError:
                return ("another process still uses what was there before; later run: recollect purge --verify",)
            except apsw.FullError:
                return ("the disk is too full to write the file anew; make room, then run: recollect purge --verify",)
            finally:
                db.set_busy_timeout(PATIENCE)
        return ()

    def files(self) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
        """Return the files of the store, and those next to it that are copies by their names or by what they hold."""
        if self.path is None:
            return (), ()
        path = self.path
        own = [path, *(path.with_name(path.name + end) for end in ("-wal", "-shm", "-journal"))]
        own += SegmentFolder(beside(path, SEGMENTS)).files()
        near = [each for each in path.parent.iterdir() if each.is_file() and each not in own]
        named = sorted(each for each in near if each.name.startswith(path.stem) or copies.is_copy(each))
        return tuple(each for each in own if each.exists()), tuple(named)

    def samples_with(self, probes: Sequence[bytes]) -> tuple[tuple[str, bytes], ...]:  # noqa: ARG002
        """Return nothing: all is in the files."""
        return ()

    def size(self) -> None:
        """Return nothing: the file tells."""

    def catalog(self) -> str:
        """Return the statements that made the tables."""
        with self.session() as session:
            return "\n".join(sql for (sql,) in session.rows("select sql from sqlite_schema where sql is not null"))

    def counted(self) -> None:
        """Do nothing: rows get numbers behind those that are there."""

    def snapshot(self) -> "SqliteEngine":
        """Return the database as it is now, for reading, whatever is written later."""
        with translated(self.path):
            return SqliteEngine(self.path, pinned=self._pinned())

    def backup(self, path: Path, *, force: bool = False, progress: Progress | None = None) -> None:
        """Write a checked copy to the file *path*; writers go on meanwhile."""
        self._refuse_itself(path)
        with translated(self.path), closing(self._pinned()) as source:
            copies.write_copy(source, path, force=force, progress=progress)

    def restore_backup(self, path: Path, *, aside: Path | None = None, dry_run: bool = False) -> int:
        """Put the backup *path* in the place of what is here; return how many memories it holds."""
        self._refuse_itself(path)
        with (
            translated(self.path),
            brought_up_to_date(path, None if self.path is None else self.path.parent) as part,
            closing(connect(part)) as source,
        ):
            count: int = source.execute("select count(*) from memory where deleted_at is null").get
            if not dry_run:
                with self._writer() as target, closing(self._reader()) as present:
                    copies.replace_all(source, target, present, aside)
        return count

    def _refuse_itself(self, path: Path) -> None:
        if self.path is not None and path.exists() and path.samefile(self.path):
            raise InputError(f"{path} is the store itself", hint="name another file")

    @contextmanager
    def _writer(self) -> Iterator[apsw.Connection]:
        """Give a connection that nobody else uses, in no transaction, to the file that was opened."""
        if self._place is None:
            with self._turn() as session:
                yield session.db
            return
        self._place.require_writable()
        with closing(_connected(self._place)) as db:
            yield db
        self._place.require_same()

    def _reader(self) -> apsw.Connection:
        """Return a connection of its own that reads what is here; for a database in memory, a copy of it."""
        with self._turn() as session:
            if self._place is not None:
                return _connected(self._place)
            copy = apsw.Connection(":memory:")
            with copy.backup("main", session.db, "main") as job:
                job.step()
            return copy

    def _pinned(self) -> apsw.Connection:
        """Return such a connection with a transaction open: what it reads stays as it is now."""
        db = self._reader()
        db.execute("begin; select 1 from meta")
        return db

    def close(self) -> None:
        """Wait for those who read and write, bounded; then close every connection."""
        self._connections.close()


def _filled(path: Path, fill: Callable[[Engine], None]) -> None:
    engine = SqliteEngine(path)
    try:
        fill(engine)
    finally:
        engine.close()


def _roll_back(db: apsw.Connection, *, nested: bool) -> None:
    """Undo a transaction; some errors make SQLite do that by itself."""
    if db.in_transaction:
        db.execute("rollback to nested; release nested" if nested else "rollback")


@contextmanager
def _lightly(db: apsw.Connection) -> Iterator[None]:
    """Write without waiting for the disk: what is written last may be lost with the power, never what was before."""
    db.pragma("synchronous", "normal")
    try:
        yield
    finally:
        db.pragma("synchronous", "full")


@contextmanager
def brought_up_to_date(path: Path, folder: Path | None = None) -> Iterator[Path]:
    """Give a whole copy of the backup *path* in today's format, in *folder*; the backup itself stays as it is."""
    from tempfile import TemporaryDirectory  # noqa: PLC0415  (few commands bring back)

    with TemporaryDirectory(prefix=".restoring-", dir=folder) as beside, translated(path):
        part = Path(beside, "store.db")
        with copies.opened(path) as backup:
            _require_store(backup, path)
            copies.write_copy(backup, part, check=False)
        with closing(connect(part)) as source:
            wrong = copies.damage_of(source)
        if wrong is not None:
            raise StoreDamaged(f"{path} is damaged: {wrong}", hint="restore another backup")
        yield part


# --- opening --------------------------------------------------------------------------------


def connect(path: Path | None) -> apsw.Connection:
    """Return a connection to the store at *path*, or in memory, made and brought up to date as needed."""
    return _connected(None if path is None else _found(path))


def _found(path: Path) -> Place:
    with translated(path):
        return find_place(path)


def _connected(place: Place | None) -> apsw.Connection:
    path = None if place is None else place.path
    with translated(path):
        db = apsw.Connection(":memory:") if place is None else opened(place)
        db.set_busy_timeout(PATIENCE)
        try:
            if place is None or place.access == "write":
                _migrate(db, path)
            else:
                _require_current(db, place)
        except apsw.NotADBError as error:
            raise no_store(path or Path(":memory:")) from error
        db.execute(PRAGMAS)
        return db


def migrations() -> tuple[str, ...]:
    """Return the steps from an empty file to today's schema, oldest first."""
    return tuple(step.read_text(encoding="utf-8") for step in _steps())


def _steps() -> list[Path]:
    folder = Path(__file__).parent / "migrations"
    return sorted(step for step in folder.iterdir() if step.name.endswith(".sql"))


def _require_current(db: apsw.Connection, place: Place) -> None:
    """Refuse a store that would have to be written to before it can be read."""
    try:
        current = _is_current(db, place.path)
    except apsw.CantOpenError as error:
        raise StoreError(
            f"{place.path} has changes in its -wal that cannot be read where nothing can be written",
            hint="open it once where it can be written",
        ) from error
    if not current:
        raise StoreError(
            f"{place.path} was made by an older recollect and cannot be brought up to date where it can only be read",
            hint="open it once where it can be written",
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
            _require_sound(db, path, done)
            for step in steps[done:]:
                db.execute(step)
            db.pragma("application_id", APPLICATION)
            db.pragma("user_version", len(steps))
            db.execute("insert or ignore into meta (key, value) values ('store', abs(random() >> 1))")
    except BaseException:
        db.execute("rollback")
        raise
    db.execute("commit")


def _require_sound(db: apsw.Connection, path: Path | None, done: int) -> None:
    """Refuse to drop FTS5's tables where they are damaged: their pages may lead to those of others."""
    if 0 < done < WITHOUT_FTS5:
        held = [name for name in pages.tables(db) if pages.is_of_words(name)]
        wrong = next((line for name in held for line in pages.damage_of(db, name)), None)
        if wrong is not None:
            raise StoreDamaged(
                f"{path} cannot be brought up to date, for its word index is damaged: {wrong}",
                hint=f"run: recollect recover {path} NEW",
            )


def _is_current(db: apsw.Connection, path: Path | None) -> bool:
    mark, version, tables = _state(db)
    known = len(_steps())
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


def _require_store(db: apsw.Connection, path: Path) -> None:
    """Refuse a backup that is no store of ours, be it an empty file."""
    try:
        ours = _is_current(db, path) or _state(db)[0] == APPLICATION
    except apsw.NotADBError as error:
        raise copies.no_backup(path) from error
    if not ours:
        raise copies.no_backup(path)


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
    db.pragma("page_size", PAGE_BYTES)
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
    except Exception as error:
        ours = _told(error, path)
        if ours is None:
            raise
        raise ours from error


def _told(error: BaseException, path: Path | None) -> RecollectError | None:
    """Return *error* in our words; None where it is none of SQLite's or of the file."""
    if isinstance(error, RecollectError):
        return None
    if isinstance(error, apsw.Error):
        return _ours(error, path)
    if isinstance(error, UnicodeDecodeError):
        return RowDamaged(f"{path} holds text that is no text", hint=f"run: recollect --db {path} doctor")
    if isinstance(error, OSError):
        return StoreError(f"cannot open {path}: {error.strerror}", hint="check the rights of its folder")
    return None


_DAMAGED = (
    StoreDamaged,
    "{place} is damaged: {error}",
    "run: recollect --db {place} doctor, or recollect recover {place} NEW",
)
_RIGHTS = apsw.ReadOnlyError | apsw.CantOpenError | apsw.PermissionsError | apsw.AuthError
_ERRORS: tuple[tuple[Any, str, type[RecollectError], str, str], ...] = (
    (
        apsw.BusyError | apsw.LockedError,
        "",
        StoreBusy,
        "{place} is busy",
        "another process writes very long; try again",
    ),
    (apsw.InterruptError | apsw.ConnectionClosedError, "", StoreError, "{place} was closed", "open it again"),
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
