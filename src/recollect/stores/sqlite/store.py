"""SqliteStore: the contract over one SQLite file."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import apsw

from recollect.errors import StoreDamaged
from recollect.records import (
    EmbeddedMemory,
    Event,
    Fact,
    Filter,
    Form,
    Generation,
    Known,
    Memory,
    Page,
    Piece,
    Recall,
    Scope,
    StoreStats,
    VectorHits,
    WordHits,
    WordQuery,
    Write,
)
from recollect.stores.contract import Analyse
from recollect.stores.facets import as_vocabulary
from recollect.stores.notes import from_text, to_text
from recollect.stores.shelf import Question
from recollect.stores.sqlite import facets, facts, read, recalls, vectors, vocabulary
from recollect.stores.sqlite import words as found
from recollect.stores.sqlite.anew import index_anew
from recollect.stores.sqlite.check import check
from recollect.stores.sqlite.connect import connect, translated
from recollect.stores.sqlite.pen import Pen

Answer = TypeVar("Answer")


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
        with self._writing():
            yield

    @contextmanager
    def _writing(self) -> Iterator[apsw.Connection]:
        """Write in one transaction, or in a savepoint of the one that is open."""
        with translated(self.path):
            db = self._db()
            nested = db.in_transaction
            db.execute("savepoint inner" if nested else "begin immediate")
            try:
                yield db
            except BaseException:
                db.execute("rollback to inner; release inner" if nested else "rollback")
                raise
            db.execute("release inner" if nested else "commit")

    @contextmanager
    def _changing(self) -> Iterator[apsw.Connection]:
        """Write in a transaction that counts as a write."""
        with self._writing() as db:
            yield db
            db.execute("update meta set value = value + 1 where key = 'version'")

    @contextmanager
    def _reading(self) -> Iterator[apsw.Connection]:
        """Read one state of the file, whatever others write meanwhile."""
        with translated(self.path):
            db = self._db()
            if db.in_transaction:
                yield db
                return
            db.execute("begin")
            try:
                yield db
            finally:
                db.execute("rollback")

    def apply(self, writes: Sequence[Write], *, at: datetime) -> tuple[int, ...]:
        """Do *writes*, all or none."""
        if not writes:
            return ()
        with self._changing() as db:
            pen = Pen(db, self._analyse)
            touched = tuple(pen.do(write, at) for write in writes)
            pen.rest()
        return touched

    def load(self, ids: Sequence[int], *, scope: Scope) -> dict[int, Memory]:
        """Return the memories of *ids* in *scope*."""
        with self._reading() as db:
            return read.load(db, ids, scope)

    def wordings(self, ids: Sequence[int], *, scope: Scope) -> dict[int, tuple[str, ...]]:
        """Return the other wordings of *ids*."""
        with self._reading() as db:
            return read.wordings(db, ids, scope)

    def history(self, ids: Sequence[int], *, scope: Scope) -> dict[int, tuple[Event, ...]]:
        """Return the events of *ids*, oldest first."""
        with self._reading() as db:
            return read.history(db, ids, scope)

    def facts(self, ids: Sequence[int], *, scope: Scope) -> dict[int, tuple[Fact, ...]]:
        """Return the facts of *ids*."""
        with self._reading() as db:
            return facts.facts(db, ids, scope)

    def find_facts(
        self, *, scope: Scope, subject: str | None = None, types: tuple[str, ...] | None = None, limit: int
    ) -> tuple[Fact, ...]:
        """Return facts, newest first."""
        with self._reading() as db:
            return facts.find_facts(db, scope, subject=subject, types=types, limit=limit)

    def known(self, project: str, *, digests: Sequence[bytes], external_ids: Sequence[str]) -> Known:
        """Return which contents and external ids *project* holds."""
        with self._reading() as db:
            return read.known(db, project, digests, external_ids)

    def alike(self, project: str, minhashes: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
        """Return the live memories of *project* sharing a key with each sketch."""
        with self._reading() as db:
            return read.alike(db, project, minhashes)

    def match_words(
        self, keywords: WordQuery, *, scope: Scope, where: Filter, limit: int, also: Sequence[int] = ()
    ) -> WordHits:
        """Return the best memories for *keywords*."""
        return self._of_words(
            lambda db: found.match_words(db, keywords, scope, where, limit=limit, also=also, analyse=self._analyse)
        )

    def _of_words(self, ask: Callable[[apsw.Connection], Answer]) -> Answer:
        """Ask the token index; a damaged one is made anew first."""
        try:
            with self._reading() as db:
                return ask(db)
        except StoreDamaged:
            self.rebuild()
            with self._reading() as db:
                return ask(db)

    def match_text(
        self, needles: Sequence[str], *, scope: Scope, where: Filter, limit: int
    ) -> tuple[tuple[int, int], ...]:
        """Return how many needles the text of each memory holds."""
        with self._reading() as db:
            return read.match_text(db, needles, scope, where, limit=limit)

    def browse(self, *, scope: Scope, where: Filter, limit: int, offset: int = 0) -> Page:
        """Return memories newest first."""
        with self._reading() as db:
            return read.browse(db, scope, where, limit=limit, offset=offset)

    def vocabulary(self, *, scope: Scope, form: Form = "exact", least: int = 1, limit: int = 200_000) -> dict[str, int]:
        """Return the words of *scope*."""
        counts = self._of_words(lambda db: vocabulary.vocabulary(db, scope, form))
        return as_vocabulary(counts, least=least, limit=limit)

    def spread(self, words: Sequence[str], *, scope: Scope, form: Form = "exact") -> dict[str, int]:
        """Return how many memories hold each of these words."""
        return self._of_words(lambda db: vocabulary.spread(db, words, scope, form))

    def facets(self, *, keywords: WordQuery | None, scope: Scope, where: Filter) -> dict[str, dict[str, int]]:
        """Return how many memories of the match set there are of each kind."""

        def count(db: apsw.Connection) -> dict[str, dict[str, int]]:
            if keywords is None:
                return facets.facets(db, facets.admitted_rows(db, scope, where))
            return facets.facets(db, found.matched(db, keywords, scope, where, analyse=self._analyse))

        return self._of_words(count)

    def generations(self, *, scope: Scope) -> tuple[Generation, ...]:
        """Return the generations of vectors, newest first."""
        with self._reading() as db:
            return vectors.generations(db, scope)

    def pending(self, fingerprint: str, *, after: int, limit: int) -> tuple[int, ...]:
        """Return live memories without vectors of this generation."""
        with self._reading() as db:
            return vectors.pending(db, fingerprint, after=after, limit=limit)

    def put_vectors(self, generation: Generation, embedded: Sequence[EmbeddedMemory]) -> int:
        """Keep vectors in place of older ones."""
        with self._changing() as db:
            return vectors.put(db, generation, embedded)

    def drop_vectors(self, fingerprint: str) -> int:
        """Drop a generation."""
        with self._changing() as db:
            return vectors.drop(db, fingerprint)

    def nearest(
        self,
        fingerprint: str,
        vector: bytes,
        *,
        scope: Scope,
        where: Filter,
        limit: int,
        also: Sequence[int] = (),
        unless: str | None = None,
        blend: tuple[float, ...] = (),
    ) -> VectorHits:
        """Return the memories nearest to *vector*."""
        asked = Question(scope=scope, where=where, limit=limit, also=tuple(also), unless=unless, blend=blend)
        with self._reading() as db:
            return self._shelves.nearest(db, fingerprint, vector, asked)

    def kin(self, fingerprint: str, ids: Sequence[int], *, scope: Scope, most: int) -> dict[int, dict[int, float]]:
        """Return the memories nearest to each among *ids*."""
        with self._reading() as db:
            return self._shelves.kin(db, fingerprint, ids, scope, most=most)

    def put_note(self, kind: str, name: str, value: Mapping[str, object]) -> None:
        """Keep a note."""
        with self._writing() as db:
            sql = (
                "insert into note (kind, name, value) values (?, ?, ?) on conflict do update set value = excluded.value"
            )
            db.execute(sql, (kind, name, to_text(value)))

    def notes(self, kind: str) -> dict[str, Mapping[str, Any]]:
        """Return the notes of a kind, by name."""
        with self._reading() as db:
            rows = db.execute("select name, value from note where kind = ? order by name", (kind,))
            return {name: from_text(text) for name, text in rows}

    def drop_note(self, kind: str, name: str) -> bool:
        """Drop a note."""
        with self._writing() as db:
            db.execute("delete from note where kind = ? and name = ?", (kind, name))
            return db.changes() > 0

    def log_recall(self, recalled: Sequence[Recall]) -> None:
        """Keep what was recalled."""
        with translated(self.path), recalls.lightly(self._db()), self._writing() as db:
            recalls.log(db, recalled)

    def recalls(
        self,
        *,
        scope: Scope,
        session: str | None = None,
        memory_id: int | None = None,
        fact_id: int | None = None,
        limit: int = 100,
    ) -> tuple[Recall, ...]:
        """Return the recalls that fit, newest first."""
        with self._reading() as db:
            return recalls.recalls(db, scope, session=session, memory_id=memory_id, fact_id=fact_id, limit=limit)

    def recall_counts(self, *, scope: Scope) -> dict[int, tuple[int, int]]:
        """Return how often each memory was shown and nearly shown."""
        with self._reading() as db:
            return recalls.recall_counts(db, scope)

    def unanswered(self, *, scope: Scope, limit: int) -> tuple[tuple[str, int], ...]:
        """Return the queries that found nothing, and how often."""
        with self._reading() as db:
            return recalls.unanswered(db, scope, limit=limit)

    def feedback_counts(self, *, scope: Scope) -> dict[int, dict[str, int]]:
        """Return how often each verdict was given on each memory."""
        with self._reading() as db:
            return recalls.feedback_counts(db, scope)

    def sources(self, *, below: str) -> dict[str, str]:
        """Return the sources at or below *below* with their fingerprints."""
        with self._reading() as db:
            return read.sources(db, below)

    def pieces(self, source: str) -> tuple[Piece, ...]:
        """Return what was imported from *source*."""
        with self._reading() as db:
            return read.pieces(db, source)

    def record_source(self, source: str, *, fingerprint: str, pieces: Sequence[Piece]) -> None:
        """Remember what *source* consists of."""
        rows = [(source, at, piece.digest, piece.memory_id, piece.section) for at, piece in enumerate(pieces)]
        with self._changing() as db:
            db.execute("delete from piece where source = ?1", (source,))
            db.execute("delete from source where name = ?1", (source,))
            if rows:
                db.execute("insert into source (name, fingerprint) values (?, ?)", (source, fingerprint))
                sql = "insert into piece (source, ordinal, digest, memory_id, section) values (?, ?, ?, ?, ?)"
                db.executemany(sql, rows)

    def tally(self, *, scope: Scope) -> StoreStats:
        """Count what is here."""
        with self._reading() as db:
            return read.tally(db, scope)

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
        with self._changing() as db:
            return index_anew(db, self._analyse, progress)

    def close(self) -> None:
        """Close every connection."""
        while self._open:
            self._open.pop().close()
        self._here = threading.local()
