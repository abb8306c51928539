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
    FactQuery,
    Filter,
    Form,
    Generation,
    Known,
    Memory,
    Page,
    Passage,
    Piece,
    Progress,
    Recall,
    Scope,
    Source,
    StoreStats,
    SubstringQuery,
    Usage,
    VectorHits,
    WordHits,
    WordQuery,
    Write,
)
from recollect.stores.contract import ANSWERING, Analyse
from recollect.stores.facets import as_vocabulary
from recollect.stores.notes import from_text, to_text
from recollect.stores.shelf import Question
from recollect.stores.sqlite import facets, facts, read, vectors, vocabulary
from recollect.stores.sqlite import recalls as log
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

    def facts(self, query: FactQuery, *, scope: Scope) -> tuple[Fact, ...]:
        """Return the facts asked for, newest first."""
        with self._reading() as db:
            return facts.facts(db, query, scope)

    def known(
        self,
        project: str,
        *,
        digests: Sequence[tuple[str, bytes]] = (),
        external_ids: Sequence[tuple[str, str]] = (),
        minhashes: Sequence[Sequence[int]] = (),
    ) -> Known:
        """Return what *project* holds of these."""
        with self._reading() as db:
            return read.known(db, project, digests, external_ids, minhashes)

    def match_words(
        self,
        query: WordQuery | SubstringQuery,
        *,
        scope: Scope,
        where: Filter,
        limit: int,
        score_ids: Sequence[int] = (),
    ) -> WordHits:
        """Return the best memories for *query*."""
        if isinstance(query, SubstringQuery):
            with self._reading() as db:
                return read.match_text(db, query, scope, where, limit=limit, score_ids=score_ids)
        asked, analyse = query, self._analyse
        return self._of_words(
            lambda db: found.match_words(db, asked, scope, where, limit=limit, score_ids=score_ids, analyse=analyse)
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

    def browse(self, *, scope: Scope, where: Filter, limit: int, offset: int = 0) -> Page:
        """Return memories newest first."""
        with self._reading() as db:
            return read.browse(db, scope, where, limit=limit, offset=offset)

    def document_frequencies(
        self,
        *,
        scope: Scope,
        form: Form = "exact",
        words: Sequence[str] | None = None,
        least: int = 1,
        limit: int = 200_000,
    ) -> dict[str, int]:
        """Return how many memories hold each word."""
        if words is not None:
            return self._of_words(lambda db: vocabulary.spread(db, words, scope, form))
        counts = self._of_words(lambda db: vocabulary.vocabulary(db, scope, form))
        return as_vocabulary(counts, least=least, limit=limit)

    def facets(self, *, query: WordQuery | None, scope: Scope, where: Filter) -> dict[str, dict[str, int]]:
        """Return how many memories of the match set there are of each kind."""

        def count(db: apsw.Connection) -> dict[str, dict[str, int]]:
            if query is None:
                return facets.facets(db, facets.admitted_rows(db, scope, where))
            return facets.facets(db, found.matched(db, query, scope, where, analyse=self._analyse))

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
        if not embedded and not self._reweighs(generation):
            return 0
        with self._changing() as db:
            return vectors.put(db, generation, embedded)

    def _reweighs(self, generation: Generation) -> bool:
        with self._reading() as db:
            return vectors.reweighs(db, generation)

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
        score_ids: Sequence[int] = (),
        exclude_generation: str | None = None,
        in_context: bool = False,
    ) -> VectorHits:
        """Return the memories nearest to *vector*."""
        asked = Question(
            scope=scope,
            where=where,
            limit=limit,
            score_ids=tuple(score_ids),
            exclude_generation=exclude_generation,
            in_context=in_context,
        )
        with self._reading() as db:
            return self._shelves.nearest(db, fingerprint, vector, asked)

    def vectors(self, fingerprint: str, ids: Sequence[int], *, scope: Scope) -> dict[int, tuple[Passage, ...]]:
        """Return the passages of *ids*."""
        with self._reading() as db:
            return vectors.passages(db, fingerprint, ids, scope)

    def put_note(self, kind: str, name: str, value: Mapping[str, object] | None) -> bool:
        """Keep or drop a note."""
        with self._changing() if kind in ANSWERING else self._writing() as db:
            there = db.execute("delete from note where kind = ? and name = ? returning 1", (kind, name)).get is not None
            if value is not None:
                db.execute("insert into note (kind, name, value) values (?, ?, ?)", (kind, name, to_text(value)))
            return there

    def notes(self, kind: str) -> dict[str, Mapping[str, Any]]:
        """Return the notes of a kind, by name."""
        with self._reading() as db:
            rows = db.execute("select name, value from note where kind = ? order by name", (kind,))
            return {name: from_text(text) for name, text in rows}

    def log_recall(self, recalls: Sequence[Recall]) -> None:
        """Keep what was recalled."""
        with translated(self.path), log.lightly(self._db()), self._writing() as db:
            log.log(db, recalls)

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
            return log.recalls(db, scope, session=session, memory_id=memory_id, fact_id=fact_id, limit=limit)

    def usage(self, *, scope: Scope) -> dict[int, Usage]:
        """Return how often each memory was shown and judged."""
        with self._reading() as db:
            return log.usage(db, scope)

    def unanswered(self, *, scope: Scope, limit: int) -> tuple[tuple[str, int], ...]:
        """Return the queries that found nothing, and how often."""
        with self._reading() as db:
            return log.unanswered(db, scope, limit=limit)

    def sources(self, *, below: str) -> dict[str, Source]:
        """Return the sources at or below *below*."""
        with self._reading() as db:
            return read.sources(db, below)

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

    def stats(self, *, scope: Scope) -> StoreStats:
        """Count what is here."""
        with self._reading() as db:
            return read.stats(db, scope)

    def version(self) -> int:
        """Return a number that grows with every write."""
        with translated(self.path):
            return read.version(self._db())

    def check(self) -> tuple[str, ...]:
        """Return what is wrong with the file or its indexes."""
        with translated(self.path):
            return check(self._db())

    def rebuild(self, progress: Progress | None = None) -> int:
        """Make every derived table anew from the memories."""
        with self._changing() as db:
            return index_anew(db, self._analyse, progress)

    def close(self) -> None:
        """Close every connection."""
        while self._open:
            self._open.pop().close()
        self._here = threading.local()
