"""Writing: the rows of one transaction, gathered so that each table is written in one go."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, assert_never

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
from recollect.stores.change import born, changed, feedback_detail, reinforcement_detail, stated, superseded_since
from recollect.stores.contract import unknown, unknown_fact
from recollect.stores.sql import contexts, vectors
from recollect.stores.sql.codec import EVENT, FACT, MEMORY, checksum
from recollect.stores.sql.engine import Database, Session, bump, made_by
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
LARGEST_ID = 2**63
"""Ids are below this."""
TAKEN = "update meta set value = value where key in ('newest', 'newest_fact') returning key, value"
"""Reads the last ids given, and keeps everybody else from giving any until this transaction ends."""
SLICE = 200
"""How many documents without tokens are indexed after a write."""
SIZES = ("documents", "stem_length", "exact_length", "code")
GROW = (
    f"insert into collection_stats (project, {', '.join(SIZES)}) values (?, ?, ?, ?, ?) on conflict (project) "
    f"do update set {', '.join(f'{name} = collection_stats.{name} + excluded.{name}' for name in SIZES)}"
)


def apply(db: Database, writes: Sequence[Write], *, at: datetime) -> tuple[int, ...]:
    """Do *writes*, all or none."""
    if not writes:
        return ()
    with db.engine.session(write=True) as session:
        writer = Writer(db, session)
        touched = tuple(writer.do(write, at) for write in writes)
        writer.flush()
        bump(session, "version")
    return touched


class Writer:
    """Write inside an open transaction; `flush` puts down what was gathered."""

    def __init__(self, db: Database, session: Session) -> None:
        self._db = db
        self._session = session
        self._rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in TABLES}
        self._tokens: list[tuple[int, TokenizedMemory]] = []
        self._growth: dict[str, list[tuple[int, ...]]] = defaultdict(list)
        newest = dict(session.rows(TAKEN))
        self._newest, self._newest_fact = newest["newest"], newest["newest_fact"]
        self._is_index_ours = made_by(session) == db.analyser

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
        """Put down everything gathered; ids are counted first, as no row has one that was not given."""
        newest = [(self._newest, "newest"), (self._newest_fact, "newest_fact")]
        if max(self._newest, self._newest_fact) >= LARGEST_ID:
            raise StoreError("the store has no ids left", hint="export it and import that into a new store")
        self._session.many("update meta set value = ? where key = ?", newest)
        for name, sql in TABLES.items():
            if self._rows[name]:
                self._session.many(sql, self._rows[name])
                self._rows[name] = []
        if self._tokens:
            self._db.words.add(self._session, self._tokens)
            self._tokens = []
        self._session.many(GROW, [(name, *map(sum, zip(*sizes, strict=True))) for name, sizes in self._growth.items()])
        self._growth.clear()

    def index(self, row: int, memory: Memory, tokens: TokenizedMemory) -> None:
        """Make *memory* findable by the id *row*.

        Tokens of two analysers do not mix: where another made the index, the document goes without. Whoever
        searches analyses it meanwhile, and the one that made the index adds the tokens with its next write.
        """
        if not self._is_index_ours:
            self._rows["document"].append((row, memory.project, memory.superseded_by is not None, 0, 0, 0))
            self._growth[memory.project].append((1, 0, 0, 0))
            bump(self._session, "seq")  # so that others notice
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
        self._newest += 1
        row, memory = self._newest, write.memory
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
        row = write.memory.id or self._newest + 1
        old = self._cleared(row) if row <= self._newest else None
        self._newest = max(self._newest, row)
        memory = replace(write.memory, id=row)
        self._rows["wording"] += [_wording(row, at, text) for at, text in enumerate(write.wordings, start=1)]
        self._rows["event"] += [EVENT.write(event, memory_id=row) for event in write.events]
        for fact in write.facts:
            number = fact.id or self._newest_fact + 1
            self._newest_fact = max(self._newest_fact, number)
            self._rows["fact"].append(FACT.write(fact, id=number, memory_id=row))
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
        found = self._session.rows(f"select {MEMORY.columns('m')} from memory m where m.id = ?", (row,))
        if not found:
            raise unknown(row)
        return MEMORY.read(found[0])

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
            self._newest_fact += not fact.id
            self._rows["fact"].append(FACT.write(fact, id=fact.id or self._newest_fact))

    def _reinforce(self, write: ReinforceFact) -> int:
        found = self._session.rows(f"select {FACT.columns('f')} from fact f where f.id = ?", (write.id,))
        if not found:
            raise unknown_fact(write.id)
        fact = replace(FACT.read(found[0]), confidence=write.confidence, last_reinforced=write.last_reinforced)
        self._session.rows(FACT.update("fact"), (*FACT.write(fact), fact.id))
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
            bump(self._session, "vectors")
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
        writer.flush()
        bump(session, "version")


def _wording(row: int, ordinal: int, text: str) -> tuple[Any, ...]:
    """Return another wording of memory *row* as a row."""
    return row, ordinal, digest(text), text, checksum(text, row, ordinal)
