"""What a database brings: sessions, transactions, and its spelling of three things. All other SQL is shared.

Parameters are written `?`; an engine that spells them otherwise puts its own in their place.
"""

import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeVar

from msgspec import Struct

from recollect.errors import StoreDamaged
from recollect.records import (
    Filter,
    Form,
    NearWords,
    Progress,
    Scope,
    TokenizedMemory,
    Traits,
    VectorHits,
    WordHits,
    WordQuery,
)
from recollect.stores.bm25 import CollectionStats
from recollect.stores.contract import Analyse


class Clause(Struct, frozen=True):
    """A condition and the values of its parameters."""

    sql: str = "true"
    values: tuple[object, ...] = ()

    def __and__(self, other: "Clause") -> "Clause":
        return Clause(f"{self.sql} and {other.sql}", (*self.values, *other.values))


OPEN = Clause()


Kept = TypeVar("Kept")


class Session(Protocol):
    """An open transaction."""

    def kept(self, read: "Callable[[Session], Kept]") -> Kept:
        """Return what *read* returns, or what it returned before where nothing that it may see has changed."""
        ...

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        """Run *sql* and return all its rows."""
        ...

    def value(self, sql: str, values: Sequence[object] = ()) -> Any:
        """Run *sql* and return the one column of its first row, or None."""
        ...

    def each(self, sql: str, values: Sequence[object] = ()) -> Iterator[Any]:
        """Run *sql* and return its rows one by one."""
        ...

    def many(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        """Run *sql* once for each of *rows*."""
        ...

    def batch(self) -> AbstractContextManager[object]:
        """Let statements that return nothing be sent together; one that fails may be reported at the end."""
        ...

    def numbers(self, **counts: int) -> Mapping[str, Sequence[int]]:
        """Return the next numbers of some counters, as many as asked for of each.

        Ids of memories (`newest`) and facts (`newest_fact`) are given once. Those of the word index (`seq`) and of
        vectors (`vectors`) tell which rows are new to a reader.
        """
        ...

    def count_on(self, counters: Mapping[str, int]) -> None:
        """Let counters go on behind these values, where they are not there yet."""
        ...

    def lock_projects(self, projects: Collection[str]) -> bool:
        """Keep other transactions from writing to *projects* until this one ends.

        Return whether it was not so before: what was read of them may be outdated.
        """
        ...

    def count(self, projects: Mapping[str, Sequence[int]]) -> None:
        """Add to the totals of *projects*: documents, stems, exact forms, code, and index changes."""
        ...

    def changed(self, projects: Collection[str]) -> None:
        """Let the version grow, for something of *projects* changed."""
        ...

    @property
    def state_statement(self) -> str:
        """The statement that reads the `State`."""
        ...

    @property
    def analyser(self) -> int:
        """The version of the analyser that made the word index, where that stays so until the end."""
        ...

    @property
    def own_number(self) -> int:
        """The number of all rows of the word index that this transaction writes; 0 where each has another."""
        ...

    @property
    def has_written(self) -> bool:
        """Whether it has changed anything."""
        ...

    @property
    def uncommitted(self) -> dict[Any, Any]:
        """What was made of rows that this transaction wrote, by its maker; gone when those are committed or not."""
        ...

    @property
    def is_writing(self) -> bool:
        """Whether what is seen may not be committed yet."""
        ...


class EngineFiles(Protocol):
    """The files of a database: overwritten, copied, replaced."""

    def scrub(self) -> tuple[str, ...]:
        """Write the database anew without what was deleted; return what stood against it, one line each."""
        ...

    def files(self) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
        """Return the files of the database, and those beside it that by their names are copies of it."""
        ...

    def samples_with(self, probes: Sequence[bytes]) -> tuple[tuple[str, bytes], ...]:
        """Return what a server keeps outside of tables and files that holds one of *probes*: its name, the probe."""
        ...

    def size(self) -> int | None:
        """Return how many bytes the tables take on a server; None where files tell."""
        ...

    def catalog(self) -> str:
        """Return the text in which the database describes its tables."""
        ...

    def replaced(self, fill: Callable[["Engine"], None], *, force: bool = False) -> bool:
        """Where pages are damaged, or by *force*, put a new database in the place of this; return whether that was so.

        It holds what the tables hold that are not derived, and what *fill* makes of it.
        """
        ...

    def rebuild_lock(self) -> AbstractContextManager[bool]:
        """Wait for and hold the lock of rebuilds; yield whether it rules out that another process rebuilds."""
        ...

    def counted(self) -> None:
        """Let the numbers that rows get by themselves go on behind those that were brought."""
        ...

    def snapshot(self) -> "Engine":
        """Return the database as it is now, for reading, whatever is written later."""
        ...

    def backup(self, path: Path, *, force: bool = False, progress: Progress | None = None) -> None:
        """Write a checked copy to the file *path*; writers go on meanwhile."""
        ...

    def restore_backup(self, path: Path, *, aside: Path | None = None, dry_run: bool = False) -> int:
        """Put the backup *path* in the place of what is here; return how many memories it holds."""
        ...


class Rebuilding(Struct, frozen=True, kw_only=True):
    """The statements by which a database builds what is derived beside what is in use, and puts it in its place."""

    begin: tuple[str, ...]
    """Make room, and note from now on which documents others change."""
    swap: tuple[str, ...]
    """Put the documents that were built in the place of those there were."""
    clear: tuple[str, ...]
    """Take away what a rebuild that was given up left."""
    mend: tuple[str, ...]
    """Take away what nobody can read of the vectors."""
    beside: tuple[str, ...]
    """Make room for tokens."""
    swap_words: tuple[str, ...]
    """Put the tokens that were built in the place of those there were; no segment of those is used any more."""
    packs_tokens: bool = False
    """Whether the tokens of a document are written compressed."""


class Engine(EngineFiles, Protocol):
    """One database."""

    rebuilding: Rebuilding

    def session(
        self, *, write: bool = False, durable: bool = True, projects: Collection[str] | None = None
    ) -> AbstractContextManager[Session]:
        """Open a transaction, or join the one that is open in this thread; a failure puts back what it wrote.

        Reading sees one state whatever others write. A writer is the only one in its *projects*, or in the whole store
        where it names none; what it wrote is on disk at the end unless not *durable*.
        """
        ...

    def open_transaction(self) -> Literal["none", "read", "write"]:
        """Tell what kind of transaction is open in this thread."""
        ...

    def renew(self) -> None:
        """Let the read transaction that is open in this thread see what others wrote since it was opened."""
        ...

    def member(self, column: str, values: Collection[object] | None) -> Clause:
        """Return the condition that *column* is one of *values*, all of one type; None leaves it open."""
        ...

    def elements(self, column: str) -> str:
        """Return the elements of a column that is a JSON list, as a table with the column `value`."""
        ...

    def holds(self, text: str) -> str:
        """Return the condition that *text* holds the parameter, which is lower case; only ASCII letters are folded."""
        ...

    def check(self) -> tuple[str, ...]:
        """Return what is wrong with the database itself, one line each."""
        ...

    def indexes(self) -> tuple[str, ...]:
        """Return the names of the indexes on the tables that are not derived."""
        ...

    def close(self) -> None:
        """Close every connection."""
        ...


class WordQuestion(Struct, frozen=True, kw_only=True):
    """Among which documents words are looked for, and how a database finds out about them."""

    scope: Scope
    where: Filter
    extra: Mapping[int, TokenizedMemory]
    """Documents that the table of words does not hold: those forgotten since the moment asked about."""
    unindexed: Callable[[], Mapping[int, TokenizedMemory]]
    """Returns the documents of the scope that another version of the analyser left without tokens."""
    stats: Callable[[], CollectionStats]
    """Returns what the scope holds, without the *extra* ones."""
    admitted: Callable[[], Collection[int]]
    """Returns all memories of the scope that are wanted."""
    admitted_among: Callable[[Collection[int]], Collection[int]]
    """Returns those of some documents that are wanted."""


class WordRows(Protocol):
    """The tokens of documents as one database keeps them."""

    def add(self, session: Session, documents: Sequence[tuple[int, TokenizedMemory]]) -> None:
        """Keep the tokens of new documents."""
        ...

    def remove(self, session: Session, ids: Sequence[int]) -> None:
        """Drop the tokens of documents."""
        ...

    def beside(self, session: Session) -> "WordRows":
        """Return an empty table beside this one, in which another index can be built."""
        ...

    def swap(self, session: Session) -> None:
        """Put the table beside this one in its place."""
        ...

    def sums(self, session: Session) -> dict[int, int]:
        """Return for each document the sum of `token_sum` over the tokens that are here."""
        ...


class WordTable(WordRows, Protocol):
    """What answers from the tokens of documents, and keeps what it needs to do so soon."""

    def match(
        self, session: Session, query: WordQuery, asked: WordQuestion, *, limit: int, score_ids: Sequence[int]
    ) -> WordHits:
        """Return the best documents for *query*, as `bm25.rank` does."""
        ...

    def matching(self, session: Session, query: WordQuery, asked: WordQuestion) -> Collection[int]:
        """Return all documents that *query* matches and that are wanted."""
        ...

    def frequencies(
        self, session: Session, form: Form, words: Sequence[str] | None, *, scope: Scope
    ) -> Mapping[str, int]:
        """Return how many documents of *scope* hold each of *words*, or each token there is, in title or body."""
        ...

    def near(self, session: Session, words: Mapping[str, int], holding: Sequence[str], *, scope: Scope) -> NearWords:
        """Return the exact forms near *words* and those that hold a part."""
        ...

    def traits(self, session: Session, ids: Sequence[int]) -> Mapping[int, Traits]:
        """Return what weighing looks at of those of *ids* whose rows need not be read."""
        ...

    @property
    def lacks_tokens(self) -> bool:
        """Tell whether the last answer met documents without tokens."""
        ...

    def settle(self, engine: Engine, *, whole: bool = False) -> None:
        """Prepare answers from what was written last: a bounded part of it, or the *whole*. It is never needed."""
        ...

    def finish(self, engine: Engine) -> None:
        """Do what was left for later while a lot was written, and let go of what is held."""
        ...

    def compact(self, engine: Engine) -> tuple[str, ...]:
        """Write what is kept beside the rows anew without removed documents; return what stood against it."""
        ...

    def check(self, session: Session, *, deep: bool) -> Iterator[str]:
        """Yield what is wrong with what is kept beside the rows."""
        ...


class VectorQuestion(Struct, frozen=True, kw_only=True):
    """A question for the nearest vectors of one generation."""

    generation: int
    dimensions: int
    vector: bytes
    scope: Scope
    where: Filter
    limit: int
    score_ids: tuple[int, ...] = ()
    exclude_generation: str | None = None
    in_context: bool = False
    exact: bool = False
    version: int = 0
    stamp: int = 0
    """How often vectors were changed so far."""


class Admitted(Struct, frozen=True, kw_only=True):
    """Which memories may be found: *ids*, or everyone but the *hidden*; and how many these are in the whole store."""

    count: int
    ids: Sequence[int] | None = None
    hidden: Sequence[int] = ()


class VectorScan(Protocol):
    """How one database finds the nearest vectors."""

    def nearest(self, session: Session, asked: VectorQuestion, admitted: Callable[[], Admitted]) -> VectorHits:
        """Return the nearest among the memories that are *admitted*, exact cosines for those asked for by id."""
        ...

    def settle(self, engine: Engine, *, whole: bool = False, at_rest: bool = False) -> None:
        """Prepare answers from what was written last: a bounded part of it, or the *whole*. It is never needed.

        *at_rest* says that nothing more is on its way.
        """
        ...

    def resume(self, engine: Engine) -> None:
        """Settle what had to wait for the end of a transaction."""
        ...

    def finish(self, engine: Engine) -> None:
        """Do what was left for later while a lot was written."""
        ...

    def compact(self, engine: Engine) -> tuple[str, ...]:
        """Write what is kept beside the rows anew without vectors that are gone; return what stood against it."""
        ...

    def check(self, session: Session, *, deep: bool) -> Iterator[str]:
        """Yield what is wrong with what is kept beside the rows."""
        ...


class Database(Protocol):
    """What the questions are asked of: a store, or whatever holds the same parts."""

    engine: Engine
    words: WordTable
    scan: VectorScan
    analyse: Analyse
    analyser: int


def token_sum(form: Form, field: str, place: int, token: str) -> int:
    """Return a number for a token at its place; the sum of all is that of a document, in whatever order they come."""
    return zlib.crc32(f"{form}\x1f{field}\x1f{place}\x1f{token}".encode("utf-8", "surrogatepass"))


def ask(db: Database, sql: str, where: Clause, tail: str = "", values: Sequence[object] = ()) -> list[Any]:
    """Return the rows of *sql* that *where* admits; *values* are those of *tail*."""
    with db.engine.session() as session:
        return session.rows(f"{sql} where {where.sql} {tail}", (*where.values, *values))


READ_STATE: Final = (
    "select 'meta', key, value, 0, 0 from meta "
    "union all select 'segment', name, upto, after, documents from segment "
    "union all select 'generation', fingerprint, id, dimensions, 0 from generation"
)


LARGEST_ID: Final = 2**63
"""Ids are below this."""
SIZES: Final = ("documents", "stem_length", "exact_length", "code")
ADD_TO_TOTALS: Final = (
    f"insert into collection_stats (project, {', '.join(SIZES)}) values (?, ?, ?, ?, ?) on conflict (project) "
    f"do update set {', '.join(f'{name} = collection_stats.{name} + excluded.{name}' for name in SIZES)}"
)


class RowSnapshot(NamedTuple):
    """Which numbered rows a transaction sees: those up to *highest*, but for the *running* ones.

    No row appears later that is numbered up to *settled*. A transaction always sees its *own* rows.
    """

    settled: int
    highest: int
    running: tuple[int, ...] = ()
    own: int = 0
    is_sparse: bool = True
    """Whether most numbers are those of no row."""

    def unseen(self, column: str) -> str:
        """Return the condition that a row is not in this snapshot, or may have changed since."""
        changing = sorted({*self.running, *([self.own] if self.own else ())})
        among = f" or {column} in ({', '.join(map(str, changing))})" if changing else ""
        return f"({column} > {self.highest}{among})"


class State(NamedTuple):
    """What a transaction sees of the store as a whole; what is damaged in it stands here as it was read."""

    counters: Mapping[str, Any]
    """The values of `meta`, by key."""
    segments: tuple[tuple[Any, ...], ...]
    """Where each segment of the word index ends and begins, its name, and how many documents it holds."""
    generations: Mapping[str, tuple[Any, Any]]
    """The number and the width of each generation of vectors, by its fingerprint."""
    snapshot: RowSnapshot | None = None
    """Which rows of the word index are seen, where that is more than the counter `seq` says."""


def state_of(session: Session) -> State:
    """Return what the open transaction sees."""
    return session.kept(_read_state)


def _read_state(session: Session) -> State:
    rows = session.rows(session.state_statement)
    counters = {key: value for kind, key, value, *_ in rows if kind == "meta"}
    return State(
        counters=counters,
        segments=tuple((upto, after, name, n) for kind, name, upto, after, n in rows if kind == "segment"),
        generations={key: (number, width) for kind, key, number, width, _ in rows if kind == "generation"},
        snapshot=next(
            (_snapshot(text, first, session.own_number) for kind, text, first, *_ in rows if kind == "snapshot"), None
        ),
    )


def _snapshot(text: str, first: int, own: int) -> RowSnapshot:
    """Read a snapshot of PostgreSQL: the oldest running transaction, the next one, and those that run in between."""
    oldest, following, running = text.split(":")
    return RowSnapshot(
        settled=first + int(oldest) - 1,
        highest=first + int(following) - 1,
        running=tuple(first + int(each) for each in running.split(",") if each),
        own=own,
    )


RULES_BELOW: Final = 1 << 16
"""Versions of the analyser are smaller; what is not, as -1 and the checksums of an earlier form, is no version."""


def made_by(session: Session) -> int:
    """Return the version of the analyser that made the word index; -1 where nobody knows."""
    known = session.own_number
    found = session.analyser if known else session.value("select value from meta where key = 'analyser'")
    return found if isinstance(found, int) and found < RULES_BELOW else -1


def is_of_newer(db: Database) -> bool:
    """Tell whether a newer version of the analyser made the word index, so that this one must leave it as it is."""
    try:
        with db.engine.session() as session:
            return made_by(session) > db.analyser
    except StoreDamaged:
        return False


def version_of(session: Session) -> int:
    """Return how many writes there were that can change an answer."""
    return int(state_of(session).counters["version"])


def bump(session: Session, key: str) -> int:
    """Count one more under *key* of `meta` and return the count."""
    return count_more(session, key, 1)


def count_more(session: Session, key: str, many: int) -> int:
    """Count *many* more under *key* of `meta` and return the count."""
    count = session.value("update meta set value = value + ? where key = ? returning value", (many, key))
    if not isinstance(count, int):
        raise StoreDamaged(
            f"the counter {key} of the store is damaged", hint="save what can be read: recollect recover"
        )
    return count


def next_stamp(session: Session) -> int:
    """Return the number of the next change of vectors."""
    return session.numbers(vectors=1)["vectors"][0]
