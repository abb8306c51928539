"""One schema of a PostgreSQL database: connections, migrations, transactions, and its errors in our words.

Writers of one project take turns: a lock is theirs to the end of the transaction, so that what a writer read of its
project stays true. Writers of several projects work side by side. One that concerns the whole store waits for all.
"""

import logging
import os
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import psycopg
from msgspec import Struct
from msgspec.structs import replace
from psycopg import errors, pq, sql

from recollect.errors import (
    InputError,
    RecollectError,
    StoreBusy,
    StoreClosed,
    StoreDamaged,
    StoreError,
    StoreInterrupted,
    StoreUnreachable,
    WriteUncertain,
)
from recollect.records import Progress
from recollect.stores.postgres import copying, statistics
from recollect.stores.postgres.address import Address, read_address
from recollect.stores.postgres.connecting import NoServer, connect_soon, settings
from recollect.stores.postgres.pools import READ, Pool, Slot, project_locks
from recollect.stores.postgres.rebuilding import POSTGRES
from recollect.stores.sql.engine import OPEN, READ_STATE, SIZES, Clause, Engine, Session

OLDEST: Final = 160_000
"""The first version of PostgreSQL that has what is needed."""


FORMAT: Final = "recollect format "
"""How the comment on a schema of ours begins."""
MIGRATIONS: Final = Path(__file__).parent / "migrations"


def migrations() -> tuple[str, ...]:
    """Return the steps from an empty schema to the current one, oldest first."""
    return tuple(step.read_text(encoding="utf-8") for step in sorted(MIGRATIONS.glob("*.sql")))


VALID: Final = (
    "select i.indisvalid from pg_index i join pg_class c on c.oid = i.indexrelid "
    "where c.relnamespace = %s::regnamespace and c.relname = %s"
)

ID_KINDS: Final = {"newest": "memory", "newest_fact": "fact"}
"""The counters of ids, and what they count."""
COUNTED: Final = (*SIZES, "changes", "version")
ADD_TO_COUNTS: Final = (
    f"insert into collection_stats (project, {', '.join(COUNTED)}) values (?, ?, ?, ?, ?, ?, ?) "
    "on conflict (project) do update set "
    f"{', '.join(f'{name} = collection_stats.{name} + excluded.{name}' for name in COUNTED)}"
)
READ_SNAPSHOT: Final = (
    f"{READ_STATE} union all select 'meta', c.key, c.value, 0, 0 from ("
    "select sum(version)::bigint as version, sum(changes)::bigint as changes, sum(documents)::bigint as documents "
    "from collection_stats) s, lateral (values ('version', coalesce(s.version, 0)), ('seq', coalesce(s.changes, 0)), "
    "('documents', coalesce(s.documents, 0)), ('newest', last_id('memory')), ('newest_fact', last_id('fact')), "
    "('vectors', 0), ('last_removed', (select coalesce(max(seq), 0) from removed))) as c (key, value) "
    "union all select 'snapshot', pg_current_snapshot()::text, value, 0, 0 from meta where key = 'first_number'"
)

logging.getLogger("psycopg").addHandler(logging.NullHandler())  # what goes wrong is told once, by us
_CURSORS = count()
Kept = TypeVar("Kept")


@lru_cache(maxsize=4096)
def spelt(statement: str) -> str:
    """Return *statement* with parameters as the driver writes them.

    A cross join with a condition is how SQLite is told the order of a join, and `not indexed` is advice to it too; here
    the planner finds both.
    """
    return statement.replace("%", "%%").replace("?", "%s").replace("cross join", "join").replace(" not indexed ", " ")


class PostgresSession:
    """A connection with a transaction open on it, or a turn at one."""

    def __init__(self, slot: "Slot | Pinned") -> None:
        self.slot = slot
        self.is_writing = False
        self.number = 0
        """The number of the rows that this transaction adds to the word index."""
        self.locked: set[str] | None = set()
        """The projects that are locked; None for all."""
        self.has_vectors = False
        """Whether vectors may have changed."""
        self._counted: set[str] = set()
        self.depth = 0
        self.unsent: list[str] = []
        """Statements about savepoints, which go with the next one."""
        self.analyser = -1
        self.uncommitted: dict[Any, Any] = {}
        self.seen: dict[Any, Any] = {}
        """What was read in this transaction, which sees one state."""

    @property
    def db(self) -> "psycopg.Connection[Any]":
        """The connection."""
        return self.slot.db

    @property
    def has_written(self) -> bool:
        """Whether it may have changed anything."""
        return self.is_writing

    def kept(self, read: "Callable[[PostgresSession], Kept]") -> "Kept":
        """Return what *read* returns, read once in a transaction that does not write."""
        if self.is_writing:
            return read(self)
        if read not in self.seen:
            self.seen[read] = read(self)
        found: Kept = self.seen[read]
        return found

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """Run *statement* and return all its rows."""
        self.has_vectors = self.has_vectors or statement.startswith("update vector")
        cursor = self._run(statement, values)
        return [] if cursor.description is None else cursor.fetchall()

    def value(self, statement: str, values: Sequence[Any] = ()) -> Any:
        """Run *statement* and return the one column of its first row, or None."""
        row = self._run(statement, values).fetchone()
        return None if row is None else row[0]

    def _run(self, statement: str, values: Sequence[Any]) -> "psycopg.Cursor[Any]":
        """Run *statement*; only that of a writer, who asks little, may go by a plan made for other values."""
        return self.send().execute(spelt(statement), tuple(values), prepare=None if self.is_writing else False)

    def each(self, statement: str, values: Sequence[Any] = ()) -> Iterator[Any]:
        """Run *statement* and return its rows one by one."""
        with self.send().cursor(name=f"each_{next(_CURSORS)}") as cursor:
            cursor.execute(spelt(statement), tuple(values))
            yield from cursor

    def many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run *statement* once for each of *rows*."""
        if rows:
            self.has_vectors = self.has_vectors or "vector" in statement
            with self.send().cursor() as cursor:
                cursor.executemany(spelt(statement), rows)

    def batch(self) -> AbstractContextManager[object]:
        """Send statements together."""
        return self.send().pipeline()

    def send(self) -> "psycopg.Connection[Any]":
        """Send what waited for the next statement, and return the connection for that."""
        if self.unsent:
            self.db.execute(";".join(self.unsent))
            self.unsent = []
        return self.db

    def begin(self, number: int, analyser: int, locked: set[str] | None) -> None:
        """Note that a write transaction begins."""
        self.is_writing, self.number, self.analyser, self.locked = True, number, analyser, locked
        self.unsent = []
        self._counted.clear()
        self.has_vectors = False

    def numbers(self, **counts: int) -> Mapping[str, Sequence[int]]:
        """Return ids from sequences; rows of the word index and vectors have the number of their transaction."""
        found: dict[str, list[int]] = {name: [self.number] * many for name, many in counts.items()}
        wanted = [(name, ID_KINDS[name], many) for name, many in counts.items() if name in ID_KINDS]
        if wanted:
            found |= {name: [] for name, *_ in wanted}
            statement = " union all ".join(
                f"select '{name}', give_ids('{kind}', {many})" for name, kind, many in wanted
            )
            cursor, self.unsent = self.db.execute(";".join([*self.unsent, statement])), []
            while cursor.nextset():
                pass
            for name, number in cursor.fetchall():
                found[name].append(number)
        return found

    def count_on(self, counters: Mapping[str, int]) -> None:
        """Let sequences go on behind these values; the whole store has to be locked."""
        self.lock_projects(None)
        for name, kind in ID_KINDS.items():
            if counters.get(name):
                self.rows(f"select setval('{kind}_ids', ?) where ? > last_id('{kind}')", (counters[name],) * 2)
        if "version" in counters:
            self.rows(
                "update collection_stats set version = version + greatest(0, ? - "
                "(select sum(version) from collection_stats)) where project = ''",
                (counters["version"],),
            )

    def lock_projects(self, projects: Collection[str] | None) -> bool:
        """Lock what is not locked yet; return whether there was any."""
        if self.locked is None or (projects is not None and self.locked.issuperset(projects)):
            return False
        self.send().execute(project_locks(self.slot.schema, None if projects is None else set(projects) - self.locked))
        self.locked = None if projects is None else self.locked | set(projects)
        return True

    def count(self, projects: Mapping[str, Sequence[int]]) -> None:
        """Add to the totals of *projects*, whose version grows with them."""
        self.many(ADD_TO_COUNTS, [(name, *sizes, 1) for name, sizes in sorted(projects.items())])
        self._counted.update(projects)

    def changed(self, projects: Collection[str]) -> None:
        """Let the version grow, unless it did with the totals."""
        left = sorted(set(projects) - self._counted)
        self.many(ADD_TO_COUNTS, [(name, 0, 0, 0, 0, 0, 1) for name in left if name])
        if "" in left:
            self.rows("select grow_version()")

    state_statement = READ_SNAPSHOT

    @property
    def own_number(self) -> int:
        """The number of the rows that this transaction writes."""
        return self.number if self.is_writing else 0


class Pinned(Struct, frozen=True, kw_only=True):
    """A connection whose transaction stays open."""

    db: "psycopg.Connection[Any]"
    schema: str
    is_open: bool = True


class PostgresEngine:
    """One schema at an address, with a pool of connections for each process.

    What is derived in a transaction from all that it wrote is made *at_the_end* of it. What is *pinned* is read as it
    was when this was made.
    """

    rebuilding = POSTGRES

    def __init__(
        self,
        address: str | Address,
        *,
        at_the_end: Callable[[Session], object] = lambda _: None,
        makes: bool = True,
        pinned: bool = False,
    ) -> None:
        self._address = read_address(address) if isinstance(address, str) else address
        self._at_the_end = at_the_end
        self._here = threading.local()
        self._lock = threading.Lock()
        self._closed = False
        self._pool: Pool | None = None
        self._process = 0
        with self._told():
            prepare(self._address, makes=makes)
            self._pinned = Pinned(db=_pinned_connection(self._address), schema=self._address.schema) if pinned else None
        self._alone = threading.RLock()

    # --- connections and transactions -------------------------------------------------------

    @contextmanager
    def _slot(self) -> Iterator[Slot]:
        """Give a thread its turn at a connection of this process; it gets one when it begins something."""
        with self._lock:
            if self._closed:
                raise StoreClosed("the store was closed", hint="open it again")
            if self._pool is None or self._process != os.getpid():
                self._process, self._pool = os.getpid(), Pool(self._address)
            slot = Slot(self._pool)
        try:
            yield slot
        finally:
            slot.give_back()

    @contextmanager
    def _turn(self) -> Iterator[PostgresSession]:
        """Give this thread the session that it is in, or one of its own; what is pinned has one for all."""
        if self._pinned is not None:
            with self._alone:
                yield PostgresSession(self._pinned)
            return
        process, session = getattr(self._here, "held", (0, None))
        if session is not None and process == os.getpid():
            yield session
            return
        with self._slot() as slot:
            session = PostgresSession(slot)
            self._here.held = os.getpid(), session
            try:
                yield session
            finally:
                self._here.held = 0, None

    @contextmanager
    def session(
        self, *, write: bool = False, durable: bool = True, projects: Collection[str] | None = None
    ) -> Iterator[PostgresSession]:
        """Open a transaction, or join the one that is open in this thread."""
        with self._told(), self._turn() as session:
            if not session.slot.is_open and isinstance(session.slot, Slot):
                with self._told(writing=write):
                    if write:
                        yield from self._writing(session, session.slot, projects, durable=durable)
                    else:
                        yield from self._reading(session, session.slot)
            elif write:
                session.lock_projects(projects)
                yield from _nested(session)
            else:
                yield session

    def _reading(self, session: PostgresSession, slot: Slot) -> Iterator[PostgresSession]:
        session.seen.clear()
        slot.begin_reading()
        with _dropped_if_broken(slot):
            yield session
        slot.db.execute("commit")  # after a rollback the driver would drop all plans that the server keeps

    def _writing(
        self, session: PostgresSession, slot: Slot, projects: Collection[str] | None, *, durable: bool
    ) -> Iterator[PostgresSession]:
        session.seen.clear()
        number, analyser = slot.begin_writing(durable=durable, projects=projects)
        session.begin(number, analyser, None if projects is None else set(projects))
        try:
            with _dropped_if_broken(slot):
                yield session
                if session.has_vectors:
                    self._at_the_end(session)
        finally:
            session.is_writing, session.unsent = False, []
            session.uncommitted.clear()
        self._commit(slot)

    def _commit(self, slot: Slot) -> None:
        """Keep what was written, or say that nobody knows whether it is."""
        db = slot.db
        try:
            unsure = slot.commit()
        except psycopg.Error as error:
            if not db.closed:
                raise
            slot.drop()
            raise self._uncertain(str(error)) from error
        if unsure:
            raise self._uncertain(unsure)

    def _uncertain(self, why: str) -> WriteUncertain:
        place, told = shown(self._address.server), first_line(why)
        return WriteUncertain(
            f"{place} did not confirm a write, which may or may not have been kept: {told}",
            hint="look whether it is there before you write it again",
        )

    def open_transaction(self) -> Literal["none", "read", "write"]:
        """Tell what kind of transaction is open in this thread."""
        process, session = getattr(self._here, "held", (0, None))
        if session is None or process != os.getpid() or not session.slot.is_open:
            return "none"
        return "write" if session.is_writing else "read"

    def renew(self) -> None:
        """Let the read transaction of this thread see what others wrote since."""
        if self.open_transaction() == "read":
            slot: Slot = self._here.held[1].slot
            slot.db.execute("commit")
            slot.begin_reading()
            self._here.held[1].seen.clear()

    @property
    def name(self) -> str:
        """Return a name that this store has alone, for a folder."""
        with self.session() as session:
            number = int(session.value("select value from meta where key = 'store'"))
        return f"postgres-{number:x}"

    @contextmanager
    def alone(self, what: str) -> Iterator[bool]:
        """Hold a lock of this name that no other process has, if it is free; tell whether that is so.

        It is that of a transaction which stays open, so that PgBouncer lends its connection to nobody else.
        """
        with self._told(), self._slot() as slot:
            ours = slot.begin_alone(f"{self._address.schema}.{what}")
            try:
                yield ours
            finally:
                _roll_back(slot.db, "rollback")

    def build_index(self, name: str, definition: str) -> bool:
        """Create an index while others read and write; return False where another process is doing so.

        An index that an earlier attempt left half built is dropped first.
        """
        schema = sql.Identifier(self._address.schema)
        index = sql.Identifier(self._address.schema, name)
        with self.alone("index") as ours, self._told(), self._slot() as slot:
            if not ours:
                return False
            slot.begin()
            db = slot.db
            found = db.execute(VALID, (self._address.schema, name)).fetchone()
            if found == (True,):
                return True
            if found is not None:
                db.execute(sql.SQL("drop index concurrently {}").format(index))
            create = sql.SQL("create index concurrently {} on {}.vector {}")
            db.execute(create.format(sql.Identifier(name), schema, sql.SQL(definition)))
            db.execute(sql.SQL("alter index {} alter column 1 set statistics 0").format(index))
        return True

    # --- spelling ---------------------------------------------------------------------------

    def member(self, column: str, values: Collection[object] | None) -> Clause:
        """Return the condition that *column* is one of *values*."""
        return OPEN if values is None else Clause(f"{column} = any(?)", (list(values),))

    def elements(self, column: str) -> str:
        """Return the elements of a JSON list as a table."""
        return f"json_each({column})"

    def holds(self, text: str) -> str:
        """Return the condition that *text* holds the parameter; only ASCII letters are folded."""
        return f"strpos(translate({text}, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz'), ?) > 0"

    # --- the database itself ----------------------------------------------------------------

    def check(self) -> tuple[str, ...]:
        """Return what is wrong with the database itself: what its own checks say of the tables."""
        with self.session() as session:
            broken = session.rows(
                "select c.relname from pg_index i join pg_class c on c.oid = i.indexrelid "
                "join pg_namespace n on n.oid = c.relnamespace where n.nspname = current_schema() and not i.indisvalid "
                "and not exists (select 1 from pg_stat_progress_create_index p where p.index_relid = i.indexrelid)"
            )
        return tuple(f"the index {name} is not valid; run: recollect reindex" for (name,) in broken)

    def indexes(self) -> tuple[str, ...]:
        """Return no indexes: PostgreSQL keeps its own sound."""
        return ()

    def size(self) -> int | None:
        """Return how many bytes the tables and their indexes take."""
        with self.session() as session:
            return int(
                session.value(
                    "select coalesce(sum(pg_total_relation_size(c.oid)), 0) from pg_class c "
                    "where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'm', 'p')"
                )
            )

    def catalog(self) -> str:
        """Return the names of all tables and columns."""
        with self.session() as session:
            rows = session.rows(
                "select table_name || ' ' || column_name from information_schema.columns "
                "where table_schema = current_schema()"
            )
        return "\n".join(name for (name,) in rows)

    def replaced(self, fill: Callable[[Engine], None], *, force: bool = False) -> bool:
        """Return that nothing was replaced: a server mends its own pages or comes back from a copy."""
        del fill, force
        return False

    def rebuild_lock(self) -> AbstractContextManager[bool]:
        """Return that nothing is known of other machines: their lease decides."""
        return nullcontext(False)

    def scrub(self) -> tuple[str, ...]:
        """Rewrite every table, and the planner's samples of it, without what was deleted."""
        mine = "select tablename, tableowner = current_user from pg_tables where schemaname = %s"
        with self._told(), self._slot() as slot:
            slot.begin()
            db = slot.db
            tables = db.execute(mine, (self._address.schema,)).fetchall()
            if not all(owned for _, owned in tables):
                return ("only the owner of the tables can write them anew; what was deleted may still be in them",)
            for name, _ in tables:
                db.execute(sql.SQL("vacuum full {}").format(sql.Identifier(self._address.schema, name)))
            return statistics.renew(db, self._address.schema, [name for name, _ in tables])

    def files(self) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
        """Return no files, for they are the server's; what else it keeps is told of as beside them."""
        return (), (Path("the write-ahead log and the backups of the server"),)

    def samples_with(self, probes: Sequence[bytes]) -> tuple[tuple[str, bytes], ...]:
        """Return which of the planner's samples hold which of *probes*."""
        with self.session() as session:
            return statistics.find(session, probes)

    def counted(self) -> None:
        """Let the numbers that rows get by themselves go on behind those that were brought."""
        with self.session(write=True) as session:
            for table in ("event", "recall", "generation", "vector"):
                last = f"greatest(1, (select max(id) from {table}))"
                session.rows(f"select setval(pg_get_serial_sequence('{table}', 'id'), {last})")

    def snapshot(self) -> "PostgresEngine":
        """Return the database as it is now, for reading, whatever is written later."""
        return PostgresEngine(replace(self._address, seconds=0.0), pinned=True)

    def backup(self, path: Path, *, force: bool = False, progress: Progress | None = None) -> None:
        """Write what is here now to the file *path*, as a SQLite store."""
        with self._told(), closing(self.snapshot()) as pinned:
            copying.write_file(pinned, path, force=force, progress=progress)

    def restore_backup(self, path: Path, *, aside: Path | None = None, dry_run: bool = False) -> int:
        """Put the SQLite store *path* in the place of what is here, in one transaction."""
        with copying.opened_backup(path) as source:
            count = copying.memories_in(source)
            if not dry_run:
                with self.session(write=True) as session:
                    session.rows("set local statement_timeout = 0")
                    if aside is not None:
                        copying.write_file(self, aside)
                    copying.replace_all(source, self, session)
                self.counted()
        return count

    def close(self) -> None:
        """Close every connection; those in use are closed when they come back."""
        if self._pinned is not None:
            self._pinned.db.close()
        with self._lock:
            self._closed, pool = True, self._pool
            self._pool = None
        if pool is not None and self._process == os.getpid():
            pool.close()

    @contextmanager
    def _told(self, *, writing: bool = False) -> Iterator[None]:
        """Turn the driver's errors into ours; where nobody answers, one who is *writing* is told what that means."""
        try:
            try:
                yield
            except (psycopg.Error, UnicodeError) as error:
                raise ours(error, self._address.server) from error
        except StoreUnreachable as error:
            if not writing:
                raise
            raise type(error)(f"{error}; nothing of this write was kept", hint="try again") from error


def _pinned_connection(address: Address) -> "psycopg.Connection[Any]":
    """Return a connection that sees the database as it is now, whatever is written later."""
    db = connect_soon(address)
    db.execute(READ + settings(address))
    db.execute("select 1 from meta limit 1")
    return db


@contextmanager
def _dropped_if_broken(slot: Slot) -> Iterator[None]:
    """Roll back what fails, and let go of a server that is gone or takes no writes any more."""
    try:
        yield
    except BaseException as error:
        _roll_back(slot.db, "rollback")
        if slot.db.closed or isinstance(error, errors.ReadOnlySqlTransaction):
            slot.drop()
        raise


def _nested(session: PostgresSession) -> Iterator[PostgresSession]:
    """Write inside an open transaction; a failure puts back what was written since."""
    before, session.is_writing = session.is_writing, True
    session.depth += 1
    name = f"nested_{session.depth}"
    begin = f"savepoint {name}"
    session.unsent.append(begin)
    try:
        yield session
    except BaseException:
        session.uncommitted.clear()
        if begin in session.unsent:
            del session.unsent[session.unsent.index(begin) :]
        else:
            session.unsent = []
            _roll_back(session.db, f"rollback to savepoint {name}; release savepoint {name}")
        raise
    finally:
        session.is_writing = before
        session.depth -= 1
    if begin in session.unsent:
        del session.unsent[session.unsent.index(begin) :]
    else:
        session.unsent.append(f"release savepoint {name}")


def _roll_back(db: "psycopg.Connection[Any]", statement: str) -> None:
    if not db.closed and db.info.transaction_status != pq.TransactionStatus.IDLE:
        with suppress(psycopg.OperationalError):  # a server that is gone keeps nothing
            db.execute(statement)


# --- the schema -----------------------------------------------------------------------------


def prepare(address: Address, *, makes: bool = True) -> None:
    """Make the schema at *address*, or bring it up to date; one that is not there is refused unless it *makes* it."""
    with connect_soon(address) as db:
        _prepare(db, address, makes=makes)


def _prepare(db: "psycopg.Connection[Any]", address: Address, *, makes: bool) -> None:
    if db.info.server_version < OLDEST:
        raise StoreError(
            f"PostgreSQL {db.info.server_version // 10_000} is too old",
            hint="16 or newer is needed, with pgvector 0.8",
        )
    done, steps = _format(db, address.schema), migrations()
    if not done and not makes:
        raise InputError(f"there is no store at {shown(address.server)}", hint="make one: recollect --db … init")
    if done == len(steps):
        _require_way_in(db, address)
        return
    if db.execute("select pg_is_in_recovery()").fetchone() == (True,):
        raise StoreError("the store on this replica is not up to date", hint="open it once on the primary")
    _migrate(db, address)


def _migrate(db: "psycopg.Connection[Any]", address: Address) -> None:
    schema = address.schema
    with db.transaction():
        db.execute(settings(replace(address, seconds=0.0)))
        db.execute("select pg_advisory_xact_lock(hashtext(%s))", (schema,))
        db.execute(sql.SQL("create schema if not exists {}").format(sql.Identifier(schema)))
        for step in (steps := migrations())[_format(db, schema) :]:
            db.execute(step)
        db.execute(sql.SQL("comment on schema {} is {}").format(sql.Identifier(schema), f"{FORMAT}{len(steps)}"))


def _require_way_in(db: "psycopg.Connection[Any]", address: Address) -> None:
    """Refuse a user to whom nothing was granted."""
    if db.execute("select has_schema_privilege(%s, 'usage')", (address.schema,)).fetchone() != (True,):
        raise StoreError(
            f"{shown(address.server)} does not let this user in",
            hint=f"its owner grants a project: select {address.schema}.recollect_grant('user', 'project')",
        )


def _format(db: "psycopg.Connection[Any]", schema: str) -> int:
    """Return how many steps the schema has behind it."""
    row = db.execute("select obj_description(to_regnamespace(%s)::oid, 'pg_namespace')", (schema,)).fetchone()
    told = None if row is None else row[0]
    if told is None:
        return 0
    if not told.startswith(FORMAT):
        raise StoreDamaged(f"the schema {schema} is another program's", hint="name another one: ?schema=NAME")
    done, known = int(told.removeprefix(FORMAT)), len(migrations())
    if done > known:
        raise StoreError(
            f"the schema {schema} was written by a newer recollect (format {done}, this one knows {known})",
            hint="upgrade recollect",
        )
    return done


# --- errors ---------------------------------------------------------------------------------

GRANTED: Final = "name a project that was granted to it, or ask the owner of the store"
_ERRORS: tuple[tuple[Any, str, type[RecollectError], str, str], ...] = (
    (errors.UniqueViolation, "external_id", InputError, "another memory has this external id", "update that one"),
    (errors.LockNotAvailable, "", StoreBusy, "{place} is busy", "others write very long; try again"),
    (errors.DeadlockDetected, "", StoreBusy, "{place} is busy", "others write to the same projects; try again"),
    (errors.QueryCanceled, "", StoreBusy, "a question to {place} took too long", "ask for less, or try again"),
    (errors.DiskFull, "", StoreError, "the disk of {place} is full", "make room; nothing that was stored is lost"),
    (errors.InsufficientPrivilege, "", StoreError, "{place} does not let this user do that: {error}", GRANTED),
    (errors.ReadOnlySqlTransaction, "", StoreError, "{place} is a replica and cannot be written", "name the primary"),
    (
        errors.UndefinedTable | errors.UndefinedColumn,
        "",
        StoreDamaged,
        "{place} lacks what a store has: {error}",
        "run: recollect doctor",
    ),
    (NoServer, "", StoreUnreachable, "cannot reach {place}: {error}", "is the server running?"),
    (
        psycopg.OperationalError | psycopg.InterfaceError,
        "",
        StoreInterrupted,
        "{place} stopped answering: {error}",
        "ask again",
    ),
    (UnicodeError, "", InputError, "the text holds what PostgreSQL cannot keep", "leave out half characters and NUL"),
    (
        errors.DataError,
        "",
        InputError,
        "the text holds what PostgreSQL cannot keep: {error}",
        "leave out NUL characters",
    ),
    (Exception, "", StoreError, "{place}: {error}", "run: recollect doctor"),
)
"""The driver's errors and what they say, the first that fits; our error, what it says, and what to do about it."""


def ours(error: Exception, address: str) -> RecollectError:
    """Return *error* in our words."""
    told = {"place": shown(address), "error": first_line(str(error)) or type(error).__name__}
    make, message, hint = next(row[2:] for row in _ERRORS if isinstance(error, row[0]) and row[1] in str(error))
    return make(message.format(**told), hint=hint.format(**told))


def first_line(text: str) -> str:
    """Return how *text* begins."""
    return text.partition("\n")[0]


def shown(address: str) -> str:
    """Return *address* without its password."""
    try:
        parts = psycopg.conninfo.conninfo_to_dict(address)
    except psycopg.Error:
        return "the PostgreSQL store"
    where = parts.get("host") or parts.get("hostaddr") or "localhost"
    return f"postgresql://{where}/{parts.get('dbname') or ''}"
