"""Making what is derived anew, beside what is in use: in slices, so that nobody waits long, and swapped in one go.

A trigger notes which documents others write meanwhile; those are analysed again before the swap.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from msgspec import Struct

from recollect.errors import RowDamaged, StoreBusy, StoreDamaged, StoreError
from recollect.records import ALL_PROJECTS, Memory, Progress, TokenizedMemory
from recollect.stores.sql import contexts
from recollect.stores.sql.codec import EVENT, FACT, MEMORY, UNSEALED, checksum
from recollect.stores.sql.engine import Database, Engine, Session, WordRows, bump, next_stamp
from recollect.stores.sql.memories import load, wordings
from recollect.stores.sql.vectors import checksum_of

SLICE = 200
"""How many memories are put into the index in one transaction."""
FEW = 20
"""How many changed memories are analysed while writers wait."""
ROUNDS = 10
"""How often we run after writers before they have to wait."""
LEASE_SECONDS = 10.0
"""A rebuild whose counter stands still for this long was given up: whoever wants to rebuild takes it over."""
HEARTBEAT_SECONDS = 1.0
"""How often a rebuild counts on while it is busy with something long."""
BEAT = (
    "update meta set value = value + 1 where key = 'rebuilding' and value > 0 "
    "and ? = (select value from meta where key = 'rebuilder')"
)


class _Copy:
    """The same database as another engine holds it."""

    def __init__(self, db: Database, engine: Engine) -> None:
        self.engine = engine
        self.words, self.scan = db.words, db.scan
        self.analyse, self.analyser = db.analyse, db.analyser


def rebuild(db: Database, progress: Progress | None = None, *, unless: Callable[[], bool] = lambda: False) -> int:
    """Make all that is derived anew, *unless* another has just done so; return of how many memories."""
    counts = [0]

    def fill(engine: Engine) -> None:
        counts.append(_rebuilt(_Copy(db, engine), progress, lambda: False))

    if not db.engine.replaced(fill):
        try:
            counts.append(_rebuilt(db, progress, unless))
        except StoreDamaged:
            if not db.engine.replaced(fill, force=True):
                raise
    return counts[-1]


def mark_new(db: Database) -> bool:
    """Record the analyser in a store that never held a memory, so that nothing is built; return whether it is one."""
    with db.engine.session(write=True) as session:
        known = dict(session.rows("select key, value from meta where key in ('newest', 'rebuilding')"))
        if any(known.values()) or session.value("select exists (select 1 from memory)"):
            return False
        session.rows("update meta set value = ? where key = 'analyser'", (db.analyser,))
        session.changed({""})
        return True


def _rebuilt(db: Database, progress: Progress | None, unless: Callable[[], bool]) -> int:
    with db.engine.rebuild_lock() as alone:
        build = _begun(db, unless, alone=alone)
        if build is None:
            return 0
        with _heartbeat(build):
            try:
                return _built(build, progress)
            except BaseException:
                with suppress(StoreError), build.slice() as session:
                    for statement in db.engine.rebuilding.clear:
                        session.rows(statement)
                raise


def _built(build: "Build", progress: Progress | None) -> int:
    """Build everything and put it in place; return of how many memories."""
    ids = build.live()
    for done, some in enumerate(slices(ids)):
        build.put(some)
        if progress is not None:
            progress(min(len(ids), (done + 1) * SLICE), len(ids), "memories")
    for _ in range(ROUNDS):
        if not build.caught_up():
            break
    build.seal()
    build.renew_indexes()
    build.mend_vectors()
    build.swap()
    return len(ids)


@contextmanager
def _heartbeat(build: "Build") -> Iterator[None]:
    """Renew the lease of *build* until the block ends; inside of an open transaction nobody else can take it anyway."""
    if build.db.engine.open_transaction() != "none":
        yield
        return
    done = threading.Event()

    def beat() -> None:
        while not done.wait(HEARTBEAT_SECONDS):
            with suppress(StoreError), build.db.engine.session(write=True, durable=False, projects=()) as session:
                session.rows(BEAT, (build.token,))

    thread = threading.Thread(target=beat, name="recollect-rebuild", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _begun(db: Database, unless: Callable[[], bool], *, alone: bool = False) -> "Build | None":
    """Begin to build once no other rebuild is alive.

    Where a lock shows that none is (*alone*), a counter that stands still was left by a process that died. Other
    machines are known by their counter only.
    """
    token, met, since = int.from_bytes(os.urandom(8)) >> 2, -1, time.monotonic()
    while True:
        with db.engine.session() as session:
            at_work = session.value("select value from meta where key = 'rebuilding'")
        if at_work != met:
            met, since = at_work, time.monotonic()
        if alone or not at_work or time.monotonic() - since > LEASE_SECONDS:
            with db.engine.session(write=True) as session:
                if unless():
                    return None
                if session.value("select value from meta where key = 'rebuilding'") == at_work:
                    for statement in db.engine.rebuilding.begin:
                        session.rows(statement)
                    session.rows("update meta set value = ? where key = 'rebuilder'", (token,))
                    bump(session, "rebuilding")
                    return Build(db=db, token=token, words=db.words.beside(session))
        time.sleep(0.05)


class Build(Struct, frozen=True, kw_only=True):
    """An index that is being built."""

    db: Database
    token: int
    words: WordRows

    @contextmanager
    def slice(self) -> Iterator[Session]:
        """Open a write transaction, if the rebuild is still ours."""
        with self.db.engine.session(write=True) as session:
            if session.value("select value from meta where key = 'rebuilder'") != self.token:
                raise StoreBusy("another process makes the index anew", hint="let it finish, then try again")
            bump(session, "rebuilding")
            yield session

    def live(self) -> list[int]:
        """Return the memories to be indexed."""
        with self.db.engine.session() as session:
            return [row for (row,) in session.rows("select id from memory where deleted_at is null order by id")]

    def put(self, ids: Sequence[int]) -> None:
        """Index memories, analysed before anybody has to wait."""
        analysed = self._analysed(ids)
        with self.slice() as session:
            self._put(session, analysed)

    def _analysed(self, ids: Iterable[int]) -> list[tuple[Memory, TokenizedMemory]]:
        """Return those of *ids* that are live and can be read, with their tokens."""
        found = [memory for memory in self._readable(list(ids)) if memory.deleted_at is None]
        said = self._wordings([memory.id for memory in found])
        return [(memory, self.db.analyse(memory, said.get(memory.id, ()))) for memory in found]

    def _readable(self, ids: list[int]) -> list[Memory]:
        try:
            return list(load(self.db, ids, scope=ALL_PROJECTS).values())
        except RowDamaged:
            if len(ids) == 1:
                return []
        return [memory for row in ids for memory in self._readable([row])]

    def _wordings(self, ids: list[int]) -> dict[int, tuple[str, ...]]:
        try:
            return wordings(self.db, ids, scope=ALL_PROJECTS)
        except RowDamaged:
            if len(ids) == 1:
                return {}
        return {key: value for row in ids for key, value in self._wordings([row]).items()}

    def _put(self, session: Session, analysed: Sequence[tuple[Memory, TokenizedMemory]]) -> None:
        self.words.add(session, [(memory.id, tokens) for memory, tokens in analysed])
        session.many("insert into document_beside values (?, ?, ?, ?, ?, ?)", [document_of(*each) for each in analysed])
        keys = [(key, memory.id) for memory, tokens in analysed for key in tokens.minhash]
        session.many("insert into minhash_beside values (?, ?)", keys)

    def caught_up(self) -> int:
        """Index again what others changed meanwhile; return how many that were, or 0 when they are only a few."""
        with self.slice() as session:
            ids = [row for (row,) in session.rows("select id from changed")]
            if len(ids) <= FEW:
                return 0
            session.rows("delete from changed")
        for some in slices(ids):
            analysed = self._analysed(some)
            with self.slice() as session:
                self._take_out(session, some)
                self._put(session, analysed)
        return len(ids)

    def _take_out(self, session: Session, ids: Sequence[int]) -> None:
        listed = self.db.engine.member("id", ids)
        gone = session.rows(f"delete from document_beside where {listed.sql} returning id", listed.values)
        self.words.remove(session, [row for (row,) in gone])
        keyed = self.db.engine.member("memory_id", ids)
        session.rows(f"delete from minhash_beside where {keyed.sql}", keyed.values)

    def seal(self) -> None:
        """Give a checksum to the rows that were written before there were any."""
        self._seal("memory", "id", MEMORY.columns("t"), MEMORY.checksum)
        self._seal("fact", "id", FACT.columns("t"), FACT.checksum)
        self._seal("event", "id", EVENT.columns("t"), EVENT.checksum)
        self._seal("wording", "memory_id, ordinal", "t.content, t.memory_id, t.ordinal", lambda row: checksum(*row))

    def _seal(self, table: str, key: str, columns: str, sum_of: Callable[[Sequence[Any]], int]) -> None:
        with self.db.engine.session() as session:
            keys = session.rows(f"select {key} from {table} where checksum = {UNSEALED}")
        where = " and ".join(f"{name} = ?" for name in key.split(", "))
        for some in slices(keys):
            with self.slice() as session:
                for each in some:
                    with suppress(RowDamaged):
                        for row in self._rows(f"select {columns} from {table} t where {where}", each):
                            session.rows(f"update {table} set checksum = ? where {where}", (sum_of(row), *each))

    def _rows(self, sql: str, key: Sequence[object]) -> list[Any]:
        with self.db.engine.session() as session:
            return session.rows(sql, key)

    def mend_vectors(self) -> None:
        """Drop the vectors that are not what they were, and mix those of neighbours anew."""
        with self.slice() as session:
            for statement in self.db.engine.rebuilding.mend:
                session.rows(statement)
        with self.db.engine.session() as session:
            gone = damaged_vectors(session)
            remixed = list(contexts.outdated(session)) if not gone else []
        for some in slices(gone):
            with self.slice() as session:
                session.many("delete from vector where generation_id = ? and memory_id = ?", some)
                next_stamp(session)
        if gone:
            with self.db.engine.session() as session:
                remixed = list(contexts.outdated(session))
        for each in remixed:
            with self.slice() as session:
                each.write(session)

    def renew_indexes(self) -> None:
        """Make the indexes of the tables anew that are not derived, one after the other."""
        for name in self.db.engine.indexes():
            with self.slice() as session:
                session.rows(f"reindex {name}")

    def swap(self) -> None:
        """Put what was built in the place of what there was, with the last changes."""
        with self.slice() as session:
            ids = [row for (row,) in session.rows("select id from changed")]
            self._take_out(session, ids)
            self._put(session, self._analysed(ids))
            self.db.words.swap(session)
            for statement in self.db.engine.rebuilding.swap:
                session.rows(statement)
            session.rows("update meta set value = ? where key = 'analyser'", (self.db.analyser,))
            session.rows("update meta set value = 0 where key = 'rebuilding'")
            session.changed({""})


def slices(rows: Sequence[Any], size: int = SLICE) -> Iterator[Sequence[Any]]:
    """Yield *rows* in parts of *size*."""
    return (rows[start : start + size] for start in range(0, len(rows), size))


def document_of(memory: Memory, tokens: TokenizedMemory) -> tuple[Any, ...]:
    """Return the row of a memory among the documents."""
    stems, exacts = sum(map(len, tokens.stem.values())), sum(map(len, tokens.exact.values()))
    return memory.id, memory.project, memory.superseded_by is not None, stems, exacts, int(tokens.code)


def damaged_vectors(session: Session) -> list[tuple[int, int]]:
    """Return the generations and memories of vectors that are not what they were when they were sealed."""
    names = "generation_id, memory_id, ordinal, start, stop, embedding"
    rows = session.each(f"select {names}, checksum from vector where checksum <> {UNSEALED}")
    return sorted({(row[0], row[1]) for row in rows if checksum_of(row) != row[6]})
