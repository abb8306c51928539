"""Vectors in the file, and the shelves that hold them in memory."""

import json
import threading
from collections.abc import Sequence
from typing import Any

import apsw

from recollect.records import EmbeddedMemory, Filter, Generation, Memory, Scope, VectorHits
from recollect.stores.contract import too_wide
from recollect.stores.shelf import Question, Row, Shelf
from recollect.stores.sqlite.find import scope_clause, where_clause

TOUCH = "update meta set value = value + 1 where key = 'vectors'"


def generations(db: apsw.Connection, scope: Scope) -> tuple[Generation, ...]:
    """Return the generations of vectors, newest first."""
    inside, values = scope_clause(scope, "l.project")
    live = db.execute(f"select count(*) from live l where {inside}", values).get
    sql = (
        "select fingerprint, dimensions, model, (select count(*) from live l where exists "
        "(select 1 from vector v where v.generation_id = g.id and v.memory_id = l.id) "
        f"and {inside}) from generation g order by id desc"
    )
    rows: list[Any] = db.execute(sql, values).fetchall()
    return tuple(
        Generation(fingerprint=name, dimensions=width, model=model, memories=had, pending=live - had)
        for name, width, model, had in rows
    )


def pending(db: apsw.Connection, fingerprint: str, *, after: int, limit: int) -> tuple[int, ...]:
    """Return live memories without vectors of this generation."""
    sql = (
        "select l.id from live l where l.id > ?1 and not exists (select 1 from vector v where v.memory_id = l.id "
        "and v.generation_id = (select id from generation where fingerprint = ?2)) order by l.id limit ?3"
    )
    rows: list[Any] = db.execute(sql, (after, fingerprint, limit)).fetchall()
    return tuple(row for (row,) in rows)


def put(db: apsw.Connection, generation: Generation, embedded: Sequence[EmbeddedMemory]) -> int:
    """Keep vectors in place of older ones, inside an open transaction."""
    number, width = _number(db, generation)
    current = _current(db, embedded)
    for each in current:
        for passage in each.passages:
            if len(passage.vector) != 4 * width:
                raise too_wide(passage.vector, generation)
        db.execute("delete from vector where generation_id = ? and memory_id = ?", (number, each.memory_id))
    rows = [
        (number, each.memory_id, ordinal, passage.start, passage.stop, passage.vector)
        for each in current
        for ordinal, passage in enumerate(each.passages)
    ]
    sql = "insert into vector (generation_id, memory_id, ordinal, start, stop, embedding) values (?, ?, ?, ?, ?, ?)"
    db.executemany(sql, rows)
    db.execute(TOUCH)
    return len(current)


def _number(db: apsw.Connection, generation: Generation) -> tuple[int, int]:
    db.execute(
        "insert or ignore into generation (fingerprint, dimensions, model) values (?, ?, ?)",
        (generation.fingerprint, generation.dimensions, generation.model),
    )
    sql = "select id, dimensions from generation where fingerprint = ?"
    number, width = db.execute(sql, (generation.fingerprint,)).get
    return number, width


def _current(db: apsw.Connection, embedded: Sequence[EmbeddedMemory]) -> list[EmbeddedMemory]:
    """Return those whose memory is live and still says what they were made from."""
    sql = "select id, title, content from memory where id in (select value from json_each(?)) and deleted_at is null"
    rows: list[Any] = db.execute(sql, (json.dumps([each.memory_id for each in embedded]),)).fetchall()
    meanings = {row: Memory(title=title, content=content).meaning for row, title, content in rows}
    return [each for each in embedded if meanings.get(each.memory_id) == each.meaning]


def drop(db: apsw.Connection, fingerprint: str) -> int:
    """Drop a generation, inside an open transaction."""
    number = db.execute("select id from generation where fingerprint = ?", (fingerprint,)).get
    count: int = db.execute("select count(distinct memory_id) from vector where generation_id = ?", (number,)).get
    db.execute("delete from vector where generation_id = ?", (number,))
    db.execute("delete from generation where id = ?", (number,))
    db.execute(TOUCH)
    return count


class Shelves:
    """One shelf for each generation, shared by the threads of a process and kept up with the file."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shelves: dict[str, tuple[int, Shelf]] = {}

    def nearest(self, db: apsw.Connection, fingerprint: str, vector: bytes, asked: Question) -> VectorHits:
        """Return the memories nearest to *vector*, as the open transaction of *db* sees them."""
        found: Any = db.execute(
            "select id, fingerprint, dimensions, model from generation where fingerprint = ?", (fingerprint,)
        ).fetchone()
        if found is None:
            return VectorHits(missing=len(_admitted(db, asked)))
        number, name, width, model = found
        if len(vector) != 4 * width:
            raise too_wide(vector, Generation(fingerprint=name, dimensions=width, model=model))
        version = db.execute("select value from meta where key = 'version'").get
        with self._lock:
            return self._shelf(db, fingerprint, number, width).nearest(
                vector,
                asked,
                key=(version, asked.scope, asked.where, asked.unless),
                admitted=lambda: _admitted(db, asked),
            )

    def kin(
        self, db: apsw.Connection, fingerprint: str, ids: Sequence[int], scope: Scope, *, most: int
    ) -> dict[int, dict[int, float]]:
        """Return the memories nearest to each among *ids*."""
        found: Any = db.execute(
            "select id, dimensions from generation where fingerprint = ?", (fingerprint,)
        ).fetchone()
        if found is None:
            return {}
        inside, projects = scope_clause(scope, "l.project")
        sql = f"select l.id from live l where l.id in (select value from json_each(?)) and {inside}"
        live = [row for (row,) in db.execute(sql, (json.dumps(list(ids)), *projects))]
        with self._lock:
            return self._shelf(db, fingerprint, *found).kin(live, most=most)

    def _shelf(self, db: apsw.Connection, fingerprint: str, number: int, width: int) -> Shelf:
        """Return the shelf of a generation, with only the rows read that it does not hold yet."""
        stamp: int = db.execute("select value from meta where key = 'vectors'").get
        held, shelf = self._shelves.get(fingerprint, (-1, Shelf(width)))
        if held != stamp:
            # A vector of a wrong width is no damage to the others: it is left out, and `check` tells of it.
            sql = "select id from vector where generation_id = ? and length(embedding) = ?"
            ids = {row for (row,) in db.execute(sql, (number, 4 * width))}
            fresh = sorted(ids - shelf.held())
            shelf.refill(ids, _rows(db, number, fresh))
            self._shelves[fingerprint] = (stamp, shelf)
        return shelf


def _rows(db: apsw.Connection, number: int, fresh: Sequence[int]) -> list[tuple[Row, bytes]]:
    if not fresh:
        return []
    sql = (
        "select v.id, v.memory_id, v.start, v.stop, m.project || char(31) || m.thread, m.turn, v.embedding "
        "from vector v join memory m on m.id = v.memory_id "
        "where v.generation_id = ? and v.id between ? and ? order by v.id"
    )
    wanted = set(fresh)
    rows: Any = db.execute(sql, (number, fresh[0], fresh[-1]))
    return [(Row(*row), vector) for *row, vector in rows if row[0] in wanted]


def _admitted(db: apsw.Connection, asked: Question) -> list[int]:
    left, names = "true", []
    if asked.unless is not None:
        left = (
            "not exists (select 1 from vector v where v.memory_id = m.id and v.generation_id = "
            "(select id from generation where fingerprint = ?))"
        )
        names = [asked.unless]
    inside, projects = scope_clause(asked.scope, "m.project")
    wanted, values = where_clause(asked.where)
    table = "memory"
    if asked.where == Filter():  # narrow rows give the same answer sooner
        wanted, values, table = "not m.superseded", [], "live"
    sql = f"select m.id from {table} m where {wanted} and {inside} and {left}"
    rows: list[Any] = db.execute(sql, (*values, *projects, *names)).fetchall()
    return [row for (row,) in rows]
