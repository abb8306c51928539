"""RamStore: the contract over dictionaries, one thread at a time."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

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
from recollect.stores.admit import lies_below
from recollect.stores.contract import ANSWERING, Analyse
from recollect.stores.facets import as_vocabulary
from recollect.stores.notes import from_text, to_text
from recollect.stores.ram import read, vectors
from recollect.stores.ram import recalls as log
from recollect.stores.ram import words as found
from recollect.stores.ram.facets import facets
from recollect.stores.ram.held import Held
from recollect.stores.ram.write import do, index
from recollect.stores.shelf import Question


class RamStore:
    """Memories in dictionaries, gone when the process ends."""

    def __init__(self, analyse: Analyse) -> None:
        self._analyse = analyse
        self._lock = threading.RLock()
        self._depth = 0
        self._held = Held()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold the only pen; a failure puts everything back."""
        with self._lock:
            before = self._held.aside() if self._depth == 0 else None
            self._depth += 1
            try:
                yield
            except BaseException:
                if before is not None:
                    self._held = before
                raise
            finally:
                self._depth -= 1

    @contextmanager
    def _changing(self) -> Iterator[Held]:
        """Write in a transaction that counts as a write."""
        with self.transaction():
            yield self._held
            self._held.version += 1

    def apply(self, writes: Sequence[Write], *, at: datetime) -> tuple[int, ...]:
        """Do *writes*, all or none."""
        if not writes:
            return ()
        with self._changing() as held:
            return tuple(do(held, write, at=at, analyse=self._analyse) for write in writes)

    def load(self, ids: Sequence[int], *, scope: Scope) -> dict[int, Memory]:
        """Return the memories of *ids* in *scope*."""
        with self._lock:
            return read.load(self._held, ids, scope)

    def wordings(self, ids: Sequence[int], *, scope: Scope) -> dict[int, tuple[str, ...]]:
        """Return the other wordings of *ids*."""
        with self._lock:
            return read.wordings(self._held, ids, scope)

    def history(self, ids: Sequence[int], *, scope: Scope) -> dict[int, tuple[Event, ...]]:
        """Return the events of *ids*, oldest first."""
        with self._lock:
            return read.history(self._held, ids, scope)

    def facts(self, query: FactQuery, *, scope: Scope) -> tuple[Fact, ...]:
        """Return the facts asked for, newest first."""
        with self._lock:
            return read.facts(self._held, query, scope)

    def known(
        self,
        project: str,
        *,
        digests: Sequence[tuple[str, bytes]] = (),
        external_ids: Sequence[tuple[str, str]] = (),
        minhashes: Sequence[Sequence[int]] = (),
    ) -> Known:
        """Return what *project* holds of these."""
        with self._lock:
            return read.known(self._held, project, digests, external_ids, minhashes)

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
        with self._lock:
            if isinstance(query, SubstringQuery):
                return found.match_text(self._held, query, scope, where, limit=limit, score_ids=score_ids)
            return found.match_words(
                self._held, query, scope, where, limit=limit, score_ids=score_ids, analyse=self._analyse
            )

    def browse(self, *, scope: Scope, where: Filter, limit: int, offset: int = 0) -> Page:
        """Return memories newest first."""
        with self._lock:
            return read.browse(self._held, scope, where, limit=limit, offset=offset)

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
        with self._lock:
            counts = found.vocabulary(self._held, scope, form)
        return as_vocabulary(counts, least=least, limit=limit) if words is None else {w: counts[w] for w in words}

    def facets(self, *, query: WordQuery | None, scope: Scope, where: Filter) -> dict[str, dict[str, int]]:
        """Return how many memories of the match set there are of each kind."""
        with self._lock:
            held = self._held
            if query is None:
                return facets(held, held.admitted(scope, where))
            rows = found.matched(held, query, scope, where, analyse=self._analyse)
            return facets(held, (held.memories[row] for row in rows))

    def generations(self, *, scope: Scope) -> tuple[Generation, ...]:
        """Return the generations of vectors, newest first."""
        with self._lock:
            return vectors.generations(self._held, scope)

    def pending(self, fingerprint: str, *, after: int, limit: int) -> tuple[int, ...]:
        """Return live memories without vectors of this generation."""
        with self._lock:
            return vectors.pending(self._held, fingerprint, after=after, limit=limit)

    def put_vectors(self, generation: Generation, embedded: Sequence[EmbeddedMemory]) -> int:
        """Keep vectors in place of older ones."""
        known = self._held.generations.get(generation.fingerprint)
        weights = generation.context_weights
        if not embedded and (known is None or weights in (None, known.context_weights)):
            return 0
        with self._changing() as held:
            return vectors.put(held, generation, embedded)

    def drop_vectors(self, fingerprint: str) -> int:
        """Drop a generation."""
        with self._changing() as held:
            return vectors.drop(held, fingerprint)

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
        with self._lock:
            return vectors.nearest(self._held, fingerprint, vector, asked)

    def vectors(self, fingerprint: str, ids: Sequence[int], *, scope: Scope) -> dict[int, tuple[Passage, ...]]:
        """Return the passages of *ids*."""
        with self._lock:
            return vectors.passages(self._held, fingerprint, ids, scope)

    def put_note(self, kind: str, name: str, value: Mapping[str, object] | None) -> bool:
        """Keep or drop a note."""
        with self._lock:
            there = self._held.notes.pop((kind, name), None) is not None
            if value is not None:
                self._held.notes[kind, name] = to_text(value)
            self._held.version += kind in ANSWERING
            return there

    def notes(self, kind: str) -> dict[str, Mapping[str, Any]]:
        """Return the notes of a kind, by name."""
        with self._lock:
            return {name: from_text(text) for (its, name), text in sorted(self._held.notes.items()) if its == kind}

    def log_recall(self, recalls: Sequence[Recall]) -> None:
        """Keep what was recalled."""
        with self._lock:
            log.log(self._held, recalls)

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
        with self._lock:
            return log.recalls(self._held, scope, session=session, memory_id=memory_id, fact_id=fact_id, limit=limit)

    def usage(self, *, scope: Scope) -> dict[int, Usage]:
        """Return how often each memory was shown and judged."""
        with self._lock:
            return log.usage(self._held, scope)

    def unanswered(self, *, scope: Scope, limit: int) -> tuple[tuple[str, int], ...]:
        """Return the queries that found nothing, and how often."""
        with self._lock:
            return log.unanswered(self._held, scope, limit=limit)

    def sources(self, *, below: str) -> dict[str, Source]:
        """Return the sources at or below *below*."""
        with self._lock:
            return {name: held for name, held in sorted(self._held.sources.items()) if lies_below(name, below)}

    def record_source(self, source: str, *, fingerprint: str, pieces: Sequence[Piece]) -> None:
        """Remember what *source* consists of."""
        with self._changing() as held:
            if pieces:
                held.sources[source] = Source(fingerprint=fingerprint, pieces=tuple(pieces))
            else:
                held.sources.pop(source, None)

    def stats(self, *, scope: Scope) -> StoreStats:
        """Count what is here."""
        with self._lock:
            return read.stats(self._held, scope)

    def version(self) -> int:
        """Return how many writes there were."""
        with self._lock:
            return self._held.version

    def check(self) -> tuple[str, ...]:
        """Return nothing: dictionaries do not rot."""
        return ()

    def rebuild(self, progress: Progress | None = None) -> int:
        """Make the tokens anew."""
        with self._changing() as held:
            live = [memory for memory in held.memories.values() if memory.deleted_at is None]
            for done, memory in enumerate(live, start=1):
                index(held, memory, self._analyse)
                if progress is not None:
                    progress(done, len(live), "memories")
        return len(live)

    def close(self) -> None:
        """Let everything go."""
        with self._lock:
            self._held = Held()
