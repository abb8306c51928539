"""RamStore: the contract over dictionaries, one thread at a time."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

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
from recollect.stores.admit import lies_below
from recollect.stores.contract import Analyse
from recollect.stores.facets import as_vocabulary
from recollect.stores.notes import from_text, to_text
from recollect.stores.ram import read, recalls, vectors
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

    def facts(self, ids: Sequence[int], *, scope: Scope) -> dict[int, tuple[Fact, ...]]:
        """Return the facts of *ids*."""
        with self._lock:
            return read.facts(self._held, ids, scope)

    def find_facts(
        self, *, scope: Scope, subject: str | None = None, types: tuple[str, ...] | None = None, limit: int
    ) -> tuple[Fact, ...]:
        """Return facts, newest first."""
        with self._lock:
            return read.find_facts(self._held, scope, subject=subject, types=types, limit=limit)

    def known(self, project: str, *, digests: Sequence[bytes], external_ids: Sequence[str]) -> Known:
        """Return which contents and external ids *project* holds."""
        with self._lock:
            return read.known(self._held, project, digests, external_ids)

    def alike(self, project: str, minhashes: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
        """Return the live memories of *project* sharing a key with each sketch."""
        with self._lock:
            return read.alike(self._held, project, minhashes)

    def match_words(
        self, keywords: WordQuery, *, scope: Scope, where: Filter, limit: int, also: Sequence[int] = ()
    ) -> WordHits:
        """Return the best memories for *keywords*."""
        with self._lock:
            return found.match_words(self._held, keywords, scope, where, limit=limit, also=also, analyse=self._analyse)

    def match_text(
        self, needles: Sequence[str], *, scope: Scope, where: Filter, limit: int
    ) -> tuple[tuple[int, int], ...]:
        """Return how many needles the text of each memory holds."""
        with self._lock:
            return found.match_text(self._held, needles, scope, where, limit=limit)

    def browse(self, *, scope: Scope, where: Filter, limit: int, offset: int = 0) -> Page:
        """Return memories newest first."""
        with self._lock:
            return read.browse(self._held, scope, where, limit=limit, offset=offset)

    def vocabulary(self, *, scope: Scope, form: Form = "exact", least: int = 1, limit: int = 200_000) -> dict[str, int]:
        """Return the words of *scope*."""
        with self._lock:
            return as_vocabulary(found.vocabulary(self._held, scope, form), least=least, limit=limit)

    def spread(self, words: Sequence[str], *, scope: Scope, form: Form = "exact") -> dict[str, int]:
        """Return how many memories hold each of these words."""
        with self._lock:
            counts = found.vocabulary(self._held, scope, form)
            return {word: counts[word] for word in words}

    def facets(self, *, keywords: WordQuery | None, scope: Scope, where: Filter) -> dict[str, dict[str, int]]:
        """Return how many memories of the match set there are of each kind."""
        with self._lock:
            held = self._held
            if keywords is None:
                return facets(held, held.admitted(scope, where))
            rows = found.matched(held, keywords, scope, where, analyse=self._analyse)
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
        also: Sequence[int] = (),
        unless: str | None = None,
        blend: tuple[float, ...] = (),
    ) -> VectorHits:
        """Return the memories nearest to *vector*."""
        asked = Question(scope=scope, where=where, limit=limit, also=tuple(also), unless=unless, blend=blend)
        with self._lock:
            return vectors.nearest(self._held, fingerprint, vector, asked)

    def kin(self, fingerprint: str, ids: Sequence[int], *, scope: Scope, most: int) -> dict[int, dict[int, float]]:
        """Return the memories nearest to each among *ids*."""
        with self._lock:
            return vectors.kin(self._held, fingerprint, ids, scope, most=most)

    def put_note(self, kind: str, name: str, value: Mapping[str, object]) -> None:
        """Keep a note."""
        with self._lock:
            self._held.notes[kind, name] = to_text(value)

    def notes(self, kind: str) -> dict[str, Mapping[str, Any]]:
        """Return the notes of a kind, by name."""
        with self._lock:
            return {name: from_text(text) for (its, name), text in sorted(self._held.notes.items()) if its == kind}

    def drop_note(self, kind: str, name: str) -> bool:
        """Drop a note."""
        with self._lock:
            return self._held.notes.pop((kind, name), None) is not None

    def log_recall(self, recalled: Sequence[Recall]) -> None:
        """Keep what was recalled."""
        with self._lock:
            recalls.log(self._held, recalled)

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
            return recalls.recalls(
                self._held, scope, session=session, memory_id=memory_id, fact_id=fact_id, limit=limit
            )

    def recall_counts(self, *, scope: Scope) -> dict[int, tuple[int, int]]:
        """Return how often each memory was shown and nearly shown."""
        with self._lock:
            return recalls.recall_counts(self._held, scope)

    def unanswered(self, *, scope: Scope, limit: int) -> tuple[tuple[str, int], ...]:
        """Return the queries that found nothing, and how often."""
        with self._lock:
            return recalls.unanswered(self._held, scope, limit=limit)

    def feedback_counts(self, *, scope: Scope) -> dict[int, dict[str, int]]:
        """Return how often each verdict was given on each memory."""
        with self._lock:
            return recalls.feedback_counts(self._held, scope)

    def sources(self, *, below: str) -> dict[str, str]:
        """Return the sources at or below *below* with their fingerprints."""
        with self._lock:
            return {name: held[0] for name, held in sorted(self._held.sources.items()) if lies_below(name, below)}

    def pieces(self, source: str) -> tuple[Piece, ...]:
        """Return what was imported from *source*."""
        with self._lock:
            return self._held.sources.get(source, ("", ()))[1]

    def record_source(self, source: str, *, fingerprint: str, pieces: Sequence[Piece]) -> None:
        """Remember what *source* consists of."""
        with self._changing() as held:
            if pieces:
                held.sources[source] = (fingerprint, tuple(pieces))
            else:
                held.sources.pop(source, None)

    def tally(self, *, scope: Scope) -> StoreStats:
        """Count what is here."""
        with self._lock:
            return read.tally(self._held, scope)

    def version(self) -> int:
        """Return how many writes there were."""
        with self._lock:
            return self._held.version

    def check(self) -> tuple[str, ...]:
        """Return nothing: dictionaries do not rot."""
        return ()

    def rebuild(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Make the tokens anew."""
        with self._changing() as held:
            live = [memory for memory in held.memories.values() if memory.deleted_at is None]
            for done, memory in enumerate(live, start=1):
                index(held, memory, self._analyse)
                if progress is not None:
                    progress(done, len(live))
        return len(live)

    def close(self) -> None:
        """Let everything go."""
        with self._lock:
            self._held = Held()
