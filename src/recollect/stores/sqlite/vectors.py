"""Vectors in the file, and the shelves that hold them in memory."""

import json
import threading
from collections.abc import Sequence
from typing import Any

import apsw

from recollect.records import EmbeddedMemory, Filter, Generation, Memory, Passage, Scope, VectorHits
from recollect.stores.contract import too_wide
from recollect.stores.shelf import Question, Row, Shelf
from recollect.stores.sqlite.find import scope_clause, where_clause
from recollect.vectors import matrix

TOUCH = "update meta set value = value + 1 where key = 'vectors'"


def generations(db: apsw.Connection, scope: Scope) -> tuple[Generation, ...]:
    """Return the generations of vectors, newest first."""
    inside, values = scope_clause(scope, "l.project")
    live = db.execute(f"select count(*) from live l where {inside}", values).get
    sql = (
        "select fingerprint, dimensions, model, context_weights, (select count(*) from live l where exists "
        "(select 1 from vector v where v.generation_id = g.id and v.memory_id = l.id) "
        f"and {inside}) from generation g order by id desc"
    )
    rows: list[Any] = db.execute(sql, values).fetchall()
    return tuple(
        Generation(
            fingerprint=name,
            dimensions=width,
            model=model,
            context_weights=tuple(json.loads(weights)),
            memories=had,
            pending=live - had,
        )
        for name, width, model, weights, had in rows
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
    number, width, weights = _number(db, generation)
    stamp = touch(db)
    current = _current(db, embedded)
    for each in current:
        for passage in each.passages:
            if len(passage.vector) != 4 * width:
                raise too_wide(passage.vector, generation)
        db.execute("delete from vector where generation_id = ? and memory_id = ?", (number, each.memory_id))
    rows = [
        (number, each.memory_id, ordinal, passage.start, passage.stop, passage.vector, stamp)
        for each in current
        for ordinal, passage in enumerate(each.passages)
    ]
    sql = (
        "insert into vector (generation_id, memory_id, ordinal, start, stop, embedding, stamp) "
        "values (?, ?, ?, ?, ?, ?, ?)"
    )
    db.executemany(sql, rows)
    changed = generation.context_weights is not None and generation.context_weights != weights
    if changed:
        db.execute(
            "update generation set context_weights = ? where id = ?", (json.dumps(generation.context_weights), number)
        )
    threads = _threads(
        db,
        "true" if changed else "id in (select value from json_each(?))",
        [] if changed else [json.dumps([each.memory_id for each in current])],
    )
    for thread in threads:
        remix(db, *thread, only=number)
    return len(current)


def reweighs(db: apsw.Connection, generation: Generation) -> bool:
    """Return whether *generation* is here and brings other weights for its context vectors."""
    sql = "select context_weights from generation where fingerprint = ?"
    weights: str | None = db.execute(sql, (generation.fingerprint,)).get
    if weights is None or generation.context_weights is None:
        return False
    return tuple(json.loads(weights)) != generation.context_weights


def touch(db: apsw.Connection) -> int:
    """Count a change of vectors; return the number that the rows it writes are stamped with."""
    db.execute(TOUCH)
    stamp: int = db.execute("select value from meta where key = 'vectors'").get
    return stamp


def _threads(db: apsw.Connection, clause: str, values: Sequence[Any]) -> list[Any]:
    sql = f"select distinct project, thread from memory where thread is not null and {clause} order by 1, 2"
    return db.execute(sql, values).fetchall()


def remix(db: apsw.Connection, project: str, thread: str, *, only: int | None = None) -> None:
    """Make the context vectors of a conversation anew, of one generation or of all."""
    rows: list[Any] = db.execute("select id, dimensions, context_weights from generation").fetchall()
    for number, width, weights in rows:
        if only is None or only == number:
            _remix(db, number, width, tuple(json.loads(weights)), (project, thread))


def _remix(db: apsw.Connection, number: int, width: int, weights: tuple[float, ...], thread: tuple[str, str]) -> None:
    sql = (
        "select v.id, v.embedding, v.context_embedding from memory m join vector v on v.memory_id = m.id "
        "where m.project = ? and m.thread = ? and m.deleted_at is null and v.generation_id = ? and v.ordinal = 0 "
        "and length(v.embedding) = ? order by coalesce(m.turn, 0), m.id"
    )
    turns: list[Any] = db.execute(sql, (*thread, number, 4 * width)).fetchall()
    made = matrix([vector for _, vector, _ in turns], dimensions=width).in_context(weights) if weights else []
    fresh: list[bytes | None] = [*made] if weights else [None] * len(turns)
    stale = [(new, row) for (row, _, old), new in zip(turns, fresh, strict=True) if old != new]
    if stale:
        stamp = touch(db)
        sql = "update vector set context_embedding = ?, stamp = ? where id = ?"
        db.executemany(sql, [(new, stamp, row) for new, row in stale])


def _number(db: apsw.Connection, generation: Generation) -> tuple[int, int, tuple[float, ...]]:
    db.execute(
        "insert or ignore into generation (fingerprint, dimensions, model) values (?, ?, ?)",
        (generation.fingerprint, generation.dimensions, generation.model),
    )
    sql = "select id, dimensions, context_weights from generation where fingerprint = ?"
    number, width, weights = db.execute(sql, (generation.fingerprint,)).get
    return number, width, tuple(json.loads(weights))


def passages(db: apsw.Connection, fingerprint: str, ids: Sequence[int], scope: Scope) -> dict[int, tuple[Passage, ...]]:
    """Return the passages of *ids*."""
    inside, projects = scope_clause(scope, "l.project")
    sql = (
        "select v.memory_id, v.start, v.stop, v.embedding, v.context_embedding from json_each(?) j "
        "cross join live l on l.id = j.value cross join vector v on v.memory_id = l.id "
        f"where v.generation_id = (select id from generation where fingerprint = ?) and {inside} order by 1, v.ordinal"
    )
    found: dict[int, tuple[Passage, ...]] = {}
    for row, start, stop, vector, context in db.execute(sql, (json.dumps(sorted(set(ids))), fingerprint, *projects)):
        passage = Passage(start=start, stop=stop, vector=vector, context_vector=context)
        found[row] = (*found.get(row, ()), passage)
    return found


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
        version: int = db.execute("select value from meta where key = 'version'").get
        found: Any = db.execute(
            "select id, fingerprint, dimensions, model from generation where fingerprint = ?", (fingerprint,)
        ).fetchone()
        if found is None:
            return VectorHits(missing=len(_admitted(db, asked)), version=version)
        number, name, width, model = found
        if len(vector) != 4 * width:
            raise too_wide(vector, Generation(fingerprint=name, dimensions=width, model=model))
        with self._lock:
            return self._shelf(db, fingerprint, number, width).nearest(
                vector,
                asked,
                key=(version, asked.scope, asked.where, asked.exclude_generation),
                admitted=lambda: _admitted(db, asked),
                version=version,
            )

    def _shelf(self, db: apsw.Connection, fingerprint: str, number: int, width: int) -> Shelf:
        """Return the shelf of a generation, with only the rows read that it does not hold yet."""
        stamp: int = db.execute("select value from meta where key = 'vectors'").get
        held, shelf = self._shelves.get(fingerprint, (-1, Shelf(width)))
        if held != stamp:
            # A vector of a wrong width is no damage to the others: it is left out, and `check` tells of it.
            sql = "select id from vector where generation_id = ? and length(embedding) = ?"
            ids = {row for (row,) in db.execute(sql, (number, 4 * width))}
            fresh = _rows(db, number, width, held)
            shelf.refill(ids - {row.id for row, _ in fresh}, fresh)
            self._shelves[fingerprint] = (stamp, shelf)
        return shelf


def _rows(db: apsw.Connection, number: int, width: int, after: int) -> list[tuple[Row, bytes]]:
    sql = (
        "select id, memory_id, start, stop, context_embedding, embedding from vector "
        "where generation_id = ? and stamp > ? and length(embedding) = ? order by id"
    )
    rows: Any = db.execute(sql, (number, after, 4 * width))
    return [(Row(*row), vector) for *row, vector in rows]


def _admitted(db: apsw.Connection, asked: Question) -> list[int]:
    left, names = "true", []
    if asked.exclude_generation is not None:
        left = (
            "not exists (select 1 from vector v where v.memory_id = m.id and v.generation_id = "
            "(select id from generation where fingerprint = ?))"
        )
        names = [asked.exclude_generation]
    inside, projects = scope_clause(asked.scope, "m.project")
    wanted, values = where_clause(asked.where)
    table = "memory"
    if asked.where == Filter():  # narrow rows give the same answer sooner
        wanted, values, table = "not m.superseded", [], "live"
    sql = f"select m.id from {table} m where {wanted} and {inside} and {left}"
    rows: list[Any] = db.execute(sql, (*values, *projects, *names)).fetchall()
    return [row for (row,) in rows]
