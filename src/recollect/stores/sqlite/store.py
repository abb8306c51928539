"""SqliteStore: the contract over one SQLite file."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw

from recollect.errors import StoreDamaged
from recollect.records import (
    Embedded,
    Event,
    Generation,
    Keywords,
    Known,
    Leaf,
    Matches,
    Memory,
    Nears,
    Page,
    Piece,
    Scope,
    Tally,
    Where,
    Write,
)
from recollect.stores.bm25 import Postings, rank, thousandths
from recollect.stores.contract import ALIKE, Analyse
from recollect.stores.sqlite import vectors
from recollect.stores.sqlite.check import check
from recollect.stores.sqlite.connect import connect, translated
from recollect.stores.sqlite.find import admitted, postings, scope_clause, volume, where_clause
from recollect.stores.sqlite.pen import Pen
from recollect.stores.sqlite.rows import COLUMNS, to_event, to_memory


class SqliteStore:
    """Memories in one file; each thread has its own connection."""

    def __init__(self, path: Path, analyse: Analyse) -> None:
        self.path = path
        self._analyse = analyse
        self._here = threading.local()
        self._open: list[apsw.Connection] = []
        self._shelves = vectors.Shelves()
        self._db()

    def _db(self) -> apsw.Connection:
        db: apsw.Connection | None = getattr(self._here, "db", None)
        if db is None:
            db = self._here.db = connect(self.path)
            self._open.append(db)
        return db

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold the only pen of all processes; a failure puts everything back."""
        with self._within("begin immediate"):
            yield

    @contextmanager
    def _within(self, begin: str) -> Iterator[apsw.Connection]:
        """Work in one transaction, or in a savepoint of the one that is open."""
        with translated(self.path):
            db = self._db()
            nested = db.in_transaction
            db.execute("savepoint inner" if nested else begin)
            try:
                yield db
            except BaseException:
                db.execute("rollback to inner; release inner" if nested else "rollback")
                raise
            db.execute("release inner" if nested else "commit")

    def apply(self, writes: Sequence[Write], *, at: datetime) -> tuple[int, ...]:
        """Do *writes*, all or none."""
        with self._within("begin immediate") as db:
            pen = Pen(db, self._analyse)
            touched = tuple(pen.do(write, at) for write in writes)
            pen.rest()
            _count_write(db)
        return touched

    def load(self, ids: Sequence[int], *, scope: Scope) -> dict[int, Memory]:
        """Return the memories of *ids* in *scope*."""
        rows = self._about(f"select {COLUMNS} from memory m where", "m.id", ids, scope)
        found = {row[0]: to_memory(row) for row in rows}
        return {row: found[row] for row in ids if row in found}

    def wordings(self, ids: Sequence[int], *, scope: Scope) -> dict[int, tuple[str, ...]]:
        """Return the other wordings of *ids*."""
        sql = "select memory_id, w.content from wording w join memory m on m.id = memory_id where"
        return _grouped(self._about(sql, "memory_id", ids, scope, "order by memory_id, ordinal"))

    def history(self, ids: Sequence[int], *, scope: Scope) -> dict[int, tuple[Event, ...]]:
        """Return the events of *ids*, oldest first."""
        sql = "select memory_id, memory_id, verb, at, detail from event e join memory m on m.id = memory_id where"
        rows = self._about(sql, "memory_id", ids, scope, "order by e.id")
        return _grouped([(row, to_event(tuple(event))) for row, *event in rows])

    def _about(self, sql: str, column: str, ids: Sequence[int], scope: Scope, order: str = "") -> list[Any]:
        inside, values = scope_clause(scope, "m.project")
        chosen = f"{sql} {column} in (select value from json_each(?)) and {inside} {order}"
        return self._rows(chosen, (json.dumps(list(ids)), *values))

    def _rows(self, sql: str, values: Sequence[Any]) -> list[Any]:
        with translated(self.path):
            return self._db().execute(sql, values).fetchall()

    def known(self, project: str, *, digests: Sequence[bytes], external_ids: Sequence[str]) -> Known:
        """Return which contents and external ids *project* holds."""
        by_digest = (
            "select min(m.id) from (select id from memory where digest = ?1 and deleted_at is null "
            "union all select memory_id from wording where digest = ?1) f "
            "join memory m on m.id = f.id where m.project = ?2 and m.deleted_at is null"
        )
        by_name = "select id from memory where project = ? and external_id = ?"
        with translated(self.path):
            db = self._db()
            held = ((key, db.execute(by_digest, (key, project)).get) for key in digests)
            named = ((key, db.execute(by_name, (project, key)).get) for key in external_ids)
            return Known(
                by_digest={key: row for key, row in held if row is not None},
                by_external_id={key: row for key, row in named if row is not None},
            )

    def alike(self, project: str, sketches: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
        """Return the live memories of *project* sharing a key with each sketch."""
        sql = (
            "select distinct l.id from json_each(?) j join sketch s on s.key = j.value "
            f"join live l on l.id = s.memory_id where l.project = ? order by l.id limit {ALIKE}"
        )
        with translated(self.path):
            db = self._db()
            return tuple(
                tuple(row for (row,) in db.execute(sql, (json.dumps(list(sketch)), project))) if sketch else ()
                for sketch in sketches
            )

    def match_words(
        self, keywords: Keywords, *, scope: Scope, where: Where, limit: int, also: Sequence[int] = ()
    ) -> Matches:
        """Return the best memories for *keywords*; a damaged token index is made anew first."""
        try:
            return self._match_words(keywords, scope=scope, where=where, limit=limit, also=also)
        except StoreDamaged:
            self.rebuild()
            return self._match_words(keywords, scope=scope, where=where, limit=limit, also=also)

    def _match_words(
        self, keywords: Keywords, *, scope: Scope, where: Where, limit: int, also: Sequence[int]
    ) -> Matches:
        db, weights = self._db(), thousandths(keywords.weights)

        def read(leaf: Leaf) -> Postings:
            return postings(db, leaf, weights=weights, scope=scope)

        with translated(self.path), _snapshot(db):
            return rank(
                keywords,
                read=read,
                volume=volume(db, scope),
                admits=lambda rows: admitted(db, rows, where),
                limit=limit,
                also=also,
            )

    def match_text(
        self, needles: Sequence[str], *, scope: Scope, where: Where, limit: int
    ) -> tuple[tuple[int, int], ...]:
        """Return how many needles the text of each memory holds."""
        wanted, values = where_clause(where)
        inside, projects = scope_clause(scope, "m.project")
        sql = (
            "select id, held from (select m.id, (select count(*) from json_each(?) j "
            "where instr(lower(m.title || char(10) || m.content), j.value)) held "
            f"from memory m where m.deleted_at is null and {wanted} and {inside}) "
            "where held order by held desc, id limit ?"
        )
        return tuple(self._rows(sql, (json.dumps(list(needles)), *values, *projects, limit)))

    def browse(self, *, scope: Scope, where: Where, limit: int, offset: int = 0) -> Page:
        """Return memories newest first."""
        wanted, values = where_clause(where)
        inside, projects = scope_clause(scope, "m.project")
        chosen = f"from memory m where m.deleted_at is null and {wanted} and {inside}"
        with translated(self.path):
            db = self._db()
            with _snapshot(db):
                total = db.execute(f"select count(*) {chosen}", (*values, *projects)).get
                sql = f"select m.id {chosen} order by m.happened_at desc, m.id desc limit ? offset ?"
                rows = self._rows(sql, (*values, *projects, limit, offset))
        return Page(ids=tuple(row for (row,) in rows), total=total)

    def generations(self, *, scope: Scope) -> tuple[Generation, ...]:
        """Return the generations of vectors, newest first."""
        with translated(self.path), _snapshot(self._db()):
            return vectors.generations(self._db(), scope)

    def pending(self, fingerprint: str, *, after: int, limit: int) -> tuple[int, ...]:
        """Return live memories without vectors of this generation."""
        with translated(self.path):
            return vectors.pending(self._db(), fingerprint, after=after, limit=limit)

    def put_vectors(self, generation: Generation, embedded: Sequence[Embedded]) -> int:
        """Keep vectors in place of older ones."""
        with self._within("begin immediate") as db:
            _count_write(db)
            return vectors.put(db, generation, embedded)

    def drop_vectors(self, fingerprint: str) -> int:
        """Drop a generation."""
        with self._within("begin immediate") as db:
            _count_write(db)
            return vectors.drop(db, fingerprint)

    def nearest(
        self,
        fingerprint: str,
        vector: bytes,
        *,
        scope: Scope,
        where: Where,
        limit: int,
        also: Sequence[int] = (),
        unless: str | None = None,
        blend: tuple[float, ...] = (),
    ) -> Nears:
        """Return the memories nearest to *vector*."""
        asked = vectors.Question(scope=scope, where=where, limit=limit, also=tuple(also), unless=unless, blend=blend)
        with translated(self.path), _snapshot(self._db()):
            return self._shelves.nearest(self._db(), fingerprint, vector, asked)

    def sources(self, *, below: str) -> dict[str, str]:
        """Return the sources at or below *below* with their fingerprints."""
        folder = below.rstrip("/") + "/"
        sql = "select name, fingerprint from source where name = ? or substr(name, 1, ?) = ? order by name"
        return dict(self._rows(sql, (below, len(folder), folder)))

    def pieces(self, source: str) -> tuple[Piece, ...]:
        """Return what was imported from *source*."""
        sql = "select digest, memory_id, section from piece where source = ? order by ordinal"
        rows = self._rows(sql, (source,))
        return tuple(Piece(digest=key, memory_id=row, section=section) for key, row, section in rows)

    def record_source(self, source: str, *, fingerprint: str, pieces: Sequence[Piece]) -> None:
        """Remember what *source* consists of."""
        rows = [(source, at, piece.digest, piece.memory_id, piece.section) for at, piece in enumerate(pieces)]
        with self._within("begin immediate") as db:
            db.execute("delete from piece where source = ?1", (source,))
            db.execute("delete from source where name = ?1", (source,))
            if rows:
                db.execute("insert into source (name, fingerprint) values (?, ?)", (source, fingerprint))
                sql = "insert into piece (source, ordinal, digest, memory_id, section) values (?, ?, ?, ?, ?)"
                db.executemany(sql, rows)
            _count_write(db)

    def tally(self, *, scope: Scope) -> Tally:
        """Count what is here."""
        inside, values = scope_clause(scope, "m.project")
        alive = f"from memory m where deleted_at is null and {inside}"
        with translated(self.path):
            db = self._db()

            def number(sql: str) -> int:
                return int(db.execute(sql, values).get)

            def groups(column: str) -> dict[str, int]:
                return dict(self._rows(f"select {column}, count(*) {alive} group by 1 order by 1", values))

            with _snapshot(db):
                return Tally(
                    memories=number(f"select count(*) {alive}"),
                    forgotten=number(f"select count(*) from memory m where deleted_at is not null and {inside}"),
                    superseded=number(f"select count(*) {alive} and superseded_by is not null"),
                    projects=groups("project"),
                    types=groups("type"),
                    sources=number(f"select count(distinct source) {alive}"),
                    variants=number(f"select count(*) from wording join memory m on m.id = memory_id where {inside}"),
                    events=number(f"select count(*) from event join memory m on m.id = memory_id where {inside}"),
                )

    def version(self) -> int:
        """Return a number that grows with every write."""
        with translated(self.path):
            return int(self._db().execute("select value from meta where key = 'version'").get)

    def check(self) -> tuple[str, ...]:
        """Return what is wrong with the file or its indexes."""
        with translated(self.path):
            return check(self._db())

    def rebuild(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Make every derived table anew from the memories."""
        with self._within("begin immediate") as db:
            db.execute(
                "delete from live; delete from volume; delete from sketch; "
                "insert into stem (stem) values ('delete-all'); insert into exact (exact) values ('delete-all')"
            )
            total = db.execute("select count(*) from memory where deleted_at is null").get
            pen, done = Pen(db, self._analyse), 0
            wordings = _grouped(self._rows("select memory_id, content from wording order by 1, ordinal", ()))
            for row in self._rows(f"select {COLUMNS} from memory where deleted_at is null order by id", ()):
                pen.index(to_memory(row), wordings.get(row[0], ()))
                done += 1
                if done % 1000 == 0 or done == total:
                    pen.rest()
                    if progress is not None:
                        progress(done, total)
            _count_write(db)
        return done

    def close(self) -> None:
        """Close every connection."""
        while self._open:
            self._open.pop().close()
        self._here = threading.local()


@contextmanager
def _snapshot(db: apsw.Connection) -> Iterator[None]:
    """Read one state of the file, whatever others write meanwhile."""
    if db.in_transaction:
        yield
        return
    db.execute("begin")
    try:
        yield
    finally:
        db.execute("rollback")


def _count_write(db: apsw.Connection) -> None:
    db.execute("update meta set value = value + 1 where key = 'version'")


def _grouped(pairs: Sequence[tuple[int, Any]]) -> dict[int, tuple[Any, ...]]:
    groups: dict[int, list[Any]] = {}
    for row, value in pairs:
        groups.setdefault(row, []).append(value)
    return {row: tuple(values) for row, values in groups.items()}
