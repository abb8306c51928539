"""Writing: the rows of one transaction, gathered so that each table is written in one go."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, assert_never

import apsw

from recollect.records import FIELDS, Forget, Insert, Memory, Merge, Restore, Revise, Write, digest
from recollect.stores.contract import Analyse, born, unknown
from recollect.stores.sqlite.rows import COLUMNS, INSERT, REPLACE, dump, moment, to_memory, to_new_row, to_row

_TOKENS = f"(rowid, {', '.join(FIELDS)}) values ({', '.join('?' * (len(FIELDS) + 1))})"
TABLES: Mapping[str, str] = {
    "memory": INSERT,
    "tagged": "insert or ignore into tagged (tag, memory_id) values (?, ?)",
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
            case Revise(memory=memory, verb=verb):
                old = self._existing(memory.id)
                new = replace(memory, created_at=old.created_at, updated_at=at, deleted_at=old.deleted_at)
                detail = {"content": old.content, **write.detail}
            case Merge(id=row, confidence=confidence, wording=wording):
                old, verb, detail = self._existing(row), "reinforce", dict(write.detail)
                if wording is not None:
                    self._add_wording(row, wording)
                new = replace(old, confidence=confidence, updated_at=at)
            case Forget(id=row):
                old, verb, detail = self._existing(row), "forget", dict(write.detail)
                new = replace(old, deleted_at=at)
            case Restore(id=row):
                old, verb, detail = self._existing(row), "restore", dict(write.detail)
                new = replace(old, deleted_at=None)
            case _:
                assert_never(write)
        self._replace(old, new)
        self._rows["event"].append((new.id, verb, moment(at), dump(detail) if detail else "{}"))
        return new.id

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
        self._index(memory.id, memory, wordings)

    def _index(self, row: int, memory: Memory, wordings: Sequence[str]) -> None:
        terms = self._analyse(memory, wordings)
        stems, exacts = sum(map(len, terms.stem.values())), sum(map(len, terms.exact.values()))
        superseded = memory.superseded_by is not None
        self._rows["live"].append((row, memory.project, superseded, stems, exacts, terms.code))
        self._rows["sketch"] += [(key, row) for key in terms.sketch]
        self._rows["stem"].append(_token_row(row, terms.stem))
        self._rows["exact"].append(_token_row(row, terms.exact))
        self._grow(memory.project, docs=1, stems=stems, exacts=exacts, codes=terms.code)

    def _insert(self, write: Insert, at: datetime) -> int:
        self._newest += 1
        row, memory = self._newest, write.memory
        self._rows["memory"].append(to_new_row(memory, row, created=born(memory, at), at=at))
        self._rows["tagged"] += [(tag, row) for tag in memory.tags]
        self._rows["event"].append((row, "add", moment(at), dump(dict(write.detail)) if write.detail else "{}"))
        self._index(row, memory, ())
        return row

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
        keys = self._analyse(memory, ()).sketch
        self._db.executemany("delete from sketch where key = ? and memory_id = ?", [(key, memory.id) for key in keys])
        self._grow(memory.project, docs=-1, stems=-found[0], exacts=-found[1], codes=-found[2])

    def _grow(self, project: str, **by: int) -> None:
        counts = self._growth.setdefault(project, Counter())
        for name, change in by.items():
            counts[name] += change


def _token_row(row: int, tokens: Mapping[str, tuple[str, ...]]) -> tuple[Any, ...]:
    return (row, *[" ".join(tokens.get(name, ())) for name in FIELDS])
