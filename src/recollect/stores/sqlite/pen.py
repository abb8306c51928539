"""Writing: the rows of one transaction, gathered so that each table is written in one go."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, assert_never

import apsw

from recollect.records import (
    FIELDS,
    Feedback,
    Forget,
    Insert,
    Memory,
    Merge,
    ReinforceFact,
    Restore,
    Revise,
    TokenizedMemory,
    Write,
    digest,
)
from recollect.stores.change import born, changed, opinion, reinforcement, stated
from recollect.stores.contract import Analyse, unknown, unknown_fact
from recollect.stores.sqlite import facts, vectors
from recollect.stores.sqlite.rows import COLUMNS, INSERT, REPLACE, dump, moment, to_memory, to_new_row, to_row

_TOKENS = f"(rowid, {', '.join(FIELDS)}) values ({', '.join('?' * (len(FIELDS) + 1))})"
TABLES: Mapping[str, str] = {
    "memory": INSERT,
    "tagged": "insert or ignore into tagged (tag, memory_id) values (?, ?)",
    "fact": facts.INSERT,
    "event": "insert into event (memory_id, verb, at, detail) values (?, ?, ?, ?)",
    "live": "insert into live (id, project, superseded, stems, exacts, code) values (?, ?, ?, ?, ?, ?)",
    "sketch": "insert into sketch (key, memory_id) values (?, ?)",
    "stem": f"insert into stem {_TOKENS}",
    "exact": f"insert into exact {_TOKENS}",
}
_GROW = (
    "insert into volume (project, docs, stems, exacts, codes) values (?, ?, ?, ?, ?) "
    "on conflict (project) do update set docs = docs + excluded.docs, stems = stems + excluded.stems, "
    "exacts = exacts + excluded.exacts, codes = codes + excluded.codes"
)


class Pen:
    """Write to *db* inside an open transaction; `rest` puts down what is still in hand."""

    def __init__(self, db: apsw.Connection, analyse: Analyse) -> None:
        self._db = db
        self._analyse = analyse
        self._rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in TABLES}
        self._growth: dict[str, Counter[str]] = {}
        self._newest: int = db.execute("select value from meta where key = 'newest'").get

    def do(self, write: Write, at: datetime) -> int:
        """Do one *write* and return the id it touched."""
        if isinstance(write, Insert):
            return self._insert(write, at)
        self.rest()
        match write:
            case Revise() | Merge() | Forget() | Restore():
                return self._change(write, at)
            case ReinforceFact():
                return self._tell(self._reinforce(write), "reinforce_fact", at, reinforcement(write))
            case Feedback(id=row):
                return self._tell(self._existing(row).id, "feedback", at, opinion(write))
        assert_never(write)

    def _change(self, write: Revise | Merge | Forget | Restore, at: datetime) -> int:
        row = write.memory.id if isinstance(write, Revise) else write.id
        old = self._existing(row)
        if isinstance(write, Merge) and write.wording is not None:
            self._add_wording(row, write.wording)
        if isinstance(write, Revise) and write.facts is not None:
            self._restate(write, at)
        new, verb, detail = changed(write, old, at=at)
        self._replace(old, new)
        return self._tell(row, verb, at, detail)

    def _tell(self, row: int, verb: str, at: datetime, detail: Mapping[str, object]) -> int:
        self._rows["event"].append((row, verb, moment(at), dump(dict(detail)) if detail else "{}"))
        return row

    def rest(self) -> None:
        """Put down everything in hand."""
        for name, sql in TABLES.items():
            if self._rows[name]:
                self._db.executemany(sql, self._rows[name])
                self._rows[name] = []
        for project, grown in self._growth.items():
            self._db.execute(_GROW, (project, *(grown[name] for name in ("docs", "stems", "exacts", "codes"))))
        self._growth = {}
        self._db.execute("update meta set value = ? where key = 'newest'", (self._newest,))

    def index(self, memory: Memory, wordings: Sequence[str]) -> None:
        """Make *memory* findable."""
        self._index(memory.id, memory, self._analyse(memory, wordings))

    def _index(self, row: int, memory: Memory, terms: TokenizedMemory) -> None:
        stems, exacts = sum(map(len, terms.stem.values())), sum(map(len, terms.exact.values()))
        superseded = memory.superseded_by is not None
        self._rows["live"].append((row, memory.project, superseded, stems, exacts, terms.code))
        self._rows["sketch"] += [(key, row) for key in terms.minhash]
        self._rows["stem"].append(_token_row(row, terms.stem))
        self._rows["exact"].append(_token_row(row, terms.exact))
        self._grow(memory.project, docs=1, stems=stems, exacts=exacts, codes=terms.code)

    def _insert(self, write: Insert, at: datetime) -> int:
        self._newest += 1
        row, memory = self._newest, write.memory
        self._rows["memory"].append(to_new_row(memory, row, created=born(memory, at), at=at))
        self._rows["tagged"] += [(tag, row) for tag in memory.tags]
        if write.facts:
            self._rows["fact"] += map(facts.to_row, stated(write, (), row=row, at=at))
        self._index(row, memory, write.tokens or self._analyse(memory, ()))
        return self._tell(row, "add", at, write.detail)

    def _existing(self, row: int) -> Memory:
        found = self._db.execute(f"select {COLUMNS} from memory where id = ?", (row,)).fetchone()
        if found is None:
            raise unknown(row)
        return to_memory(found)

    def _add_wording(self, row: int, wording: str) -> None:
        sql = (
            "insert into wording (memory_id, ordinal, digest, content) "
            "select ?, coalesce(max(ordinal), 0) + 1, ?, ? from wording where memory_id = ?"
        )
        self._db.execute(sql, (row, digest(wording), wording, row))

    def _restate(self, write: Revise, at: datetime) -> None:
        """Put the facts of *write* in the place of those the memory had."""
        row = write.memory.id
        before = facts.facts_of(self._db, row)
        facts.drop_facts(self._db, [fact.id for fact in before])
        self._rows["fact"] += map(facts.to_row, stated(write, before, row=row, at=at))

    def _reinforce(self, write: ReinforceFact) -> int:
        sql = "update fact set confidence = ?, last_reinforced = ? where id = ? returning memory_id"
        row: int | None = self._db.execute(sql, (write.confidence, moment(write.last_reinforced), write.id)).get
        if row is None:
            raise unknown_fact(write.id)
        return row

    def _replace(self, old: Memory, new: Memory) -> None:
        values = to_row(new)
        self._db.execute(REPLACE, (*values[1:], new.id))
        if old.tags != new.tags:
            self._db.execute("delete from tagged where memory_id = ?", (new.id,))
            self._rows["tagged"].extend((tag, new.id) for tag in new.tags)
        if old.meaning != new.meaning:
            self._outdate(new.id)
        self._unindex(old)
        if new.deleted_at is None:
            sql = "select content from wording where memory_id = ? order by ordinal"
            self.index(new, [text for (text,) in self._db.execute(sql, (new.id,))])
        if _place(old) != _place(new) or old.meaning != new.meaning:
            self._remix(old, new)

    def _remix(self, old: Memory, new: Memory) -> None:
        """Make the context vectors of the conversations anew that a memory was or is a turn of."""
        if old.thread is not None and new.thread is None:
            self._db.execute(
                "update vector set context_embedding = null, stamp = ? where memory_id = ?",
                (vectors.touch(self._db), new.id),
            )
        for project, thread in sorted({(each.project, each.thread) for each in (old, new) if each.thread is not None}):
            vectors.remix(self._db, project, thread)

    def _outdate(self, row: int) -> None:
        """Drop the vectors of a memory whose words have changed."""
        self._db.execute(
            "delete from vector where memory_id = ? and generation_id in (select id from generation)", (row,)
        )
        self._db.execute("update meta set value = value + 1 where key = 'vectors'")

    def _unindex(self, memory: Memory) -> None:
        found = self._db.execute("select stems, exacts, code from live where id = ?", (memory.id,)).fetchone()
        if found is None:
            return
        for sql in ("from live where id", "from stem where rowid", "from exact where rowid"):
            self._db.execute(f"delete {sql} = ?", (memory.id,))
        keys = self._analyse(memory, ()).minhash
        self._db.executemany("delete from sketch where key = ? and memory_id = ?", [(key, memory.id) for key in keys])
        self._grow(memory.project, docs=-1, stems=-found[0], exacts=-found[1], codes=-found[2])

    def _grow(self, project: str, **by: int) -> None:
        counts = self._growth.setdefault(project, Counter())
        for name, change in by.items():
            counts[name] += change


def _token_row(row: int, tokens: Mapping[str, tuple[str, ...]]) -> tuple[Any, ...]:
    return (row, *[" ".join(tokens.get(name, ())) for name in FIELDS])


def _place(memory: Memory) -> tuple[object, ...]:
    """Return where a turn stands: who its neighbours are depends on this."""
    return memory.project, memory.thread, memory.turn, memory.deleted_at is None
