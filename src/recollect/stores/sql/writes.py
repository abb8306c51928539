"""Writing: the rows of one transaction, gathered so that each table is written in one go."""

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeGuard, assert_never

from msgspec.structs import replace

from recollect.errors import StoreError
from recollect.records import (
    ALL_PROJECTS,
    EmbeddedMemory,
    Event,
    Fact,
    Feedback,
    Forget,
    Insert,
    Memory,
    Merge,
    ReinforceFact,
    Reinstate,
    Restore,
    Revise,
    TokenizedMemory,
    Write,
    digest,
)
from recollect.stores.change import born, changed, feedback_detail, reinforcement_detail, said, stated, superseded_since
from recollect.stores.contract import unknown, unknown_fact
from recollect.stores.sql import contexts, vectors
from recollect.stores.sql.codec import EVENT, FACT, MEMORY, checksum
from recollect.stores.sql.engine import LARGEST_ID, Clause, Database, Session, ask, made_by, next_stamp, state_of
from recollect.stores.sql.memories import load, wordings

TABLES: Mapping[str, str] = {
    "memory": MEMORY.insert("memory"),
    "tagged": "insert into tagged (tag, memory_id) values (?, ?) on conflict do nothing",
    "wording": "insert into wording (memory_id, ordinal, digest, content, checksum) values (?, ?, ?, ?, ?)",
    "fact": FACT.insert("fact"),
    "event": EVENT.insert("event"),
    "document": (
        "insert into document (id, project, superseded, stem_length, exact_length, code) values (?, ?, ?, ?, ?, ?)"
    ),
    "minhash": "insert into minhash (key, memory_id) values (?, ?)",
}
SLICE = 200
"""How many documents without tokens are indexed after a write."""


def apply(db: Database, writes: Sequence[Write], *, at: datetime) -> tuple[int, ...]:
    """Do *writes*, all or none."""
    if not writes:
        return ()
    with db.engine.session(write=True, projects=_projects(db, writes)) as session:
        inserted = [write for write in writes if isinstance(write, Insert)]
        facts = sum(len({said(fact) for fact in each.facts or ()}) for each in inserted)
        writer = Writer(db, session, memories=len(inserted), facts=facts)
        touched = tuple(writer.do(write, at) for write in writes)
        writer.flush()
        session.changed(writer.projects)
    return touched


def _projects(db: Database, writes: Sequence[Write]) -> set[str] | None:
    """Return the projects that *writes* concern; None where rows are put back by their ids."""
    if any(isinstance(write, Reinstate) for write in writes):
        return None
    found = {write.memory.project for write in writes if isinstance(write, Insert | Revise)}
    ids = [write.memory.id if isinstance(write, Revise) else write.id for write in writes if _names_memory(write)]
    facts = [write.id for write in writes if isinstance(write, ReinforceFact)]
    if ids or facts:
        mine = db.engine.member("m.id", ids)
        stating = db.engine.member("f.id", facts)
        where = f"{mine.sql} or m.id in (select f.memory_id from fact f where {stating.sql})"
        rows = ask(db, "select distinct m.project from memory m", Clause(where, (*mine.values, *stating.values)))
        found.update(project for (project,) in rows)
    return found


def _names_memory(write: Write) -> TypeGuard[Revise | Merge | Forget | Restore | Feedback]:
    return isinstance(write, Revise | Merge | Forget | Restore | Feedback)


class Writer:
    """Write inside an open transaction; `flush` puts down what was gathered."""

    def __init__(self, db: Database, session: Session, *, memories: int = 0, facts: int = 0) -> None:
        self._db = db
        self._session = session
        self._rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in TABLES}
        self._tokens: list[tuple[int, TokenizedMemory]] = []
        self._growth: dict[str, list[tuple[int, ...]]] = defaultdict(list)
        self._ids = {"newest": deque[int](), "newest_fact": deque[int]()}
        self._expected = {"newest": memories, "newest_fact": facts}
        self._newest = 0
        self._is_index_ours = made_by(session) == db.analyser
        self.projects: set[str] = set()
        """The projects of all that was written."""

    def _id(self, counter: str) -> int:
        """Return the next id; those that are expected to be needed are taken in one go."""
        if not self._ids[counter]:
            wanted = {name: many for name, many in self._expected.items() if many} | {
                counter: max(1, self._expected[counter])
            }
            self._expected = dict.fromkeys(self._expected, 0)
            for name, numbers in self._session.numbers(**wanted).items():
                self._ids[name].extend(numbers)
        return self._ids[counter].popleft()

    def do(self, write: Write, at: datetime) -> int:
        """Do one *write* and return the id it touched."""
        if isinstance(write, Insert):
            return self._insert(write, at)
        if isinstance(write, Reinstate):
            return self._reinstate(write)
        self.flush()
        match write:
            case Revise() | Merge() | Forget() | Restore():
                return self._change(write, at)
            case ReinforceFact():
                row = self._reinforce(write)
                return self._log(row, "reinforce_fact", at, reinforcement_detail(write)) if write.logged else row
            case Feedback(id=row):
                return self._log(self._existing(row).id, "feedback", at, feedback_detail(write))
        assert_never(write)

    def flush(self) -> None:
        """Put down everything gathered."""
        with self._session.batch():
            for name, sql in TABLES.items():
                if self._rows[name]:
                    self._session.many(sql, self._rows[name])
                    self._rows[name] = []
            if self._tokens:
                self._db.words.add(self._session, self._tokens)
                self._tokens = []
            if self._growth:
                growth = {
                    name: [*map(sum, zip(*sizes, strict=True)), len(sizes)] for name, sizes in self._growth.items()
                }
                self._session.count(growth)
                self._growth.clear()

    def index(self, row: int, memory: Memory, tokens: TokenizedMemory) -> None:
        """Make *memory* findable by the id *row*.

        Tokens of two analysers do not mix: where another made the index, the document goes without. Whoever
        searches analyses it meanwhile, and the one that made the index adds the tokens with its next write.
        """
        if not self._is_index_ours:
            self._rows["document"].append((row, memory.project, memory.superseded_by is not None, 0, 0, 0))
            self._growth[memory.project].append((1, 0, 0, 0))
            self._session.numbers(seq=1)  # so that others notice
            return
        stems, exacts = sum(map(len, tokens.stem.values())), sum(map(len, tokens.exact.values()))
        superseded = memory.superseded_by is not None
        self._rows["document"].append((row, memory.project, superseded, stems, exacts, int(tokens.code)))
        self._rows["minhash"] += [(key, row) for key in tokens.minhash]
        self._tokens.append((row, tokens))
        self._growth[memory.project].append((1, stems, exacts, int(tokens.code)))

    def renew(self, memory: Memory) -> None:
        """Make what is derived from *memory* anew, which may be forgotten; its wordings are read."""
        self.unindex(memory)
        if memory.deleted_at is None:
            variants = wordings(self._db, [memory.id], scope=ALL_PROJECTS).get(memory.id, ())
            self.index(memory.id, memory, self._db.analyse(memory, variants))

    def _insert(self, write: Insert, at: datetime) -> int:
        row, memory = self._id("newest"), write.memory
        self.projects.add(memory.project)
        dates = {
            "created_at": born(memory, at),
            "updated_at": at,
            "deleted_at": None,
            "superseded_at": superseded_since(memory, None, at),
        }
        self._rows["memory"].append(MEMORY.write(memory, id=row, **dates))
        self._rows["tagged"] += [(tag, row) for tag in memory.tags]
        self._state(write, (), row, at)
        self.index(row, memory, write.tokens or self._db.analyse(memory, ()))
        return self._log(row, "add", at, write.detail)

    def _reinstate(self, write: Reinstate) -> int:
        row = write.memory.id or self._id("newest")
        self._newest = self._newest or state_of(self._session).counters["newest"]
        old = self._cleared(row) if write.memory.id and row <= self._newest else None
        if row > self._newest:
            self._require_id(row)
            self._session.count_on({"newest": row})
            self._newest = row
        memory = replace(write.memory, id=row)
        self.projects.update((memory.project, *([old.project] if old is not None else ())))
        self._rows["wording"] += [_wording(row, at, text) for at, text in enumerate(write.wordings, start=1)]
        self._rows["event"] += [EVENT.write(event, memory_id=row) for event in write.events]
        for fact in write.facts:
            number = fact.id or self._id("newest_fact")
            self._rows["fact"].append(FACT.write(fact, id=number, memory_id=row))
        highest = max((fact.id for fact in write.facts), default=0)
        if highest:
            self._require_id(highest)
            self._session.count_on({"newest_fact": highest})
        if old is not None:
            self.flush()
            self._replace(old, memory)
        else:
            self._rows["memory"].append(MEMORY.write(memory))
            self._rows["tagged"] += [(tag, row) for tag in memory.tags]
            if memory.deleted_at is None:
                self.index(row, memory, self._db.analyse(memory, write.wordings))
        for generation, passages in write.vectors:
            self.flush()
            made = EmbeddedMemory(memory_id=row, meaning=memory.meaning, passages=passages)
            vectors.place(self._session, generation, [(memory, made)])
        return row

    def _require_id(self, row: int) -> None:
        if row >= LARGEST_ID:
            raise StoreError("the store has no ids left", hint="export it and import that into a new store")

    def _cleared(self, row: int) -> Memory | None:
        """Return the memory that has the id *row*, if one has, with nothing left of what belongs to it."""
        self.flush()
        found = self._session.rows(f"select {MEMORY.columns('m')} from memory m where m.id = ?", (row,))
        for table in ("wording", "event", "fact"):
            self._session.rows(f"delete from {table} where memory_id = ?", (row,))
        return MEMORY.read(found[0]) if found else None

    def _change(self, write: Revise | Merge | Forget | Restore, at: datetime) -> int:
        row = write.memory.id if isinstance(write, Revise) else write.id
        old = self._existing(row)
        if isinstance(write, Revise):
            self.projects.add(write.memory.project)
        if isinstance(write, Merge) and write.wording is not None:
            self._add_wording(row, write.wording)
        if isinstance(write, Revise) and write.facts is not None:
            self._restate(write, at)
        new, verb, detail = changed(write, old, at=at)
        self._replace(old, new)
        return self._log(row, verb, at, detail)

    def _log(self, row: int, verb: str, at: datetime, detail: Mapping[str, object]) -> int:
        self._rows["event"].append(EVENT.write(Event(memory_id=row, verb=verb, at=at, detail=detail)))
        return row

    def _existing(self, row: int) -> Memory:
        """Return the memory *row*, which nobody else changes until the end."""
        while True:
            found = self._session.rows(f"select {MEMORY.columns('m')} from memory m where m.id = ?", (row,))
            if not found:
                raise unknown(row)
            memory = MEMORY.read(found[0])
            if not self._session.lock_projects([memory.project]):
                self.projects.add(memory.project)
                return memory

    def _add_wording(self, row: int, wording: str) -> None:
        last = self._session.value("select coalesce(max(ordinal), 0) from wording where memory_id = ?", (row,))
        self._session.rows(TABLES["wording"], _wording(row, last + 1, wording))

    def _restate(self, write: Revise, at: datetime) -> None:
        """Put the facts of *write* in the place of those the memory had."""
        row = write.memory.id
        sql = f"select {FACT.columns('f')} from fact f where f.memory_id = ? order by f.id"
        before = list(map(FACT.read, self._session.rows(sql, (row,))))
        self._session.rows("delete from fact where memory_id = ?", (row,))
        self._state(write, before, row, at)

    def _state(self, write: Insert | Revise, before: Sequence[Fact], row: int, at: datetime) -> None:
        for fact in stated(write, before, row=row, at=at) if write.facts else ():
            self._rows["fact"].append(FACT.write(fact, id=fact.id or self._id("newest_fact")))

    def _reinforce(self, write: ReinforceFact) -> int:
        found = self._session.rows(f"select {FACT.columns('f')} from fact f where f.id = ?", (write.id,))
        if not found:
            raise unknown_fact(write.id)
        fact = replace(FACT.read(found[0]), confidence=write.confidence, last_reinforced=write.last_reinforced)
        self._session.rows(FACT.update("fact"), (*FACT.write(fact), fact.id))
        self._existing(fact.memory_id)
        return fact.memory_id

    def _replace(self, old: Memory, new: Memory) -> None:
        self._session.rows(MEMORY.update("memory"), (*MEMORY.write(new), new.id))
        if old.tags != new.tags:
            gone = [(tag, new.id) for tag in old.tags]
            self._session.many("delete from tagged where tag = ? and memory_id = ?", gone)
            self._rows["tagged"] += [(tag, new.id) for tag in new.tags]
        if old.meaning != new.meaning:
            sql = "delete from vector where generation_id in (select id from generation) and memory_id = ?"
            self._session.rows(sql, (new.id,))
            next_stamp(self._session)
        self.unindex(old)
        if new.deleted_at is None:
            variants = wordings(self._db, [new.id], scope=ALL_PROJECTS).get(new.id, ())
            self.index(new.id, new, self._db.analyse(new, variants))
        if old.thread is not None and new.thread is None:
            contexts.leave(self._session, new.id)
        if contexts.place(old) != contexts.place(new) or old.meaning != new.meaning:
            contexts.follow(self._session, [old, new])

    def unindex(self, memory: Memory) -> None:
        """Make *memory* unfindable."""
        sql = "delete from document where id = ? returning stem_length, exact_length, code"
        for stems, exacts, code in self._session.rows(sql, (memory.id,)):
            self._db.words.remove(self._session, [memory.id])
            self._drop_keys(memory)
            self._growth[memory.project].append((-1, -stems, -exacts, -code))

    def _drop_keys(self, memory: Memory) -> None:
        if self._is_index_ours:
            keys = [(key, memory.id) for key in self._db.analyse(memory, ()).minhash]
            self._session.many("delete from minhash where key = ? and memory_id = ?", keys)
        else:  # those of another analyser are not known here
            self._session.rows("delete from minhash where memory_id = ?", (memory.id,))


def index_missing(db: Database) -> None:
    """Index documents that another version of the analyser left without tokens: some at a time."""
    with db.engine.session(write=True) as session:
        if made_by(session) != db.analyser:
            return
        sql = "select d.id from document d left join tokens t on t.id = d.id where t.id is null order by d.id limit ?"
        missing = [row for (row,) in session.rows(sql, (SLICE,))]
        writer = Writer(db, session)
        for memory in load(db, missing, scope=ALL_PROJECTS).values():
            writer.renew(memory)
            writer.projects.add(memory.project)
        writer.flush()
        session.changed(writer.projects)


def _wording(row: int, ordinal: int, text: str) -> tuple[Any, ...]:
    """Return another wording of memory *row* as a row."""
    return row, ordinal, digest(text), text, checksum(text, row, ordinal)
