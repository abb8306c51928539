"""A store of plain dictionaries: real, small, and the oracle the other stores are measured by."""

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import assert_never

from recollect.records import (
    Embedded,
    Event,
    Forget,
    Form,
    Generation,
    Insert,
    Keywords,
    Known,
    Leaf,
    Matches,
    Memory,
    Merge,
    Nears,
    Page,
    Passage,
    Phrase,
    Piece,
    Prefix,
    Restore,
    Revise,
    Scope,
    Tally,
    Terms,
    Where,
    Word,
    Write,
    digest,
)
from recollect.stores.admit import admits, in_scope, lies_below
from recollect.stores.bm25 import Postings, Volume, form_of, rank, thousandths
from recollect.stores.contract import ALIKE, Analyse, born, taken, too_wide, unknown
from recollect.stores.shelf import Row, Shelf


@dataclass(slots=True)
class _Shelves:
    """Everything held; copied before a transaction so that a failure leaves nothing behind."""

    memories: dict[int, Memory] = field(default_factory=dict)
    wordings: dict[int, tuple[str, ...]] = field(default_factory=dict)
    terms: dict[int, Terms] = field(default_factory=dict)
    named: dict[tuple[str, str], int] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    sources: dict[str, tuple[str, tuple[Piece, ...]]] = field(default_factory=dict)
    generations: dict[str, Generation] = field(default_factory=dict)
    vectors: dict[tuple[str, int], tuple[Passage, ...]] = field(default_factory=dict)
    newest: int = 0
    version: int = 0

    def aside(self) -> "_Shelves":
        twin = copy(self)
        for name in ("memories", "wordings", "terms", "named", "events", "sources", "generations", "vectors"):
            setattr(twin, name, copy(getattr(self, name)))
        return twin


class RamStore:
    """Memories in dictionaries, gone when the process ends."""

    def __init__(self, analyse: Analyse) -> None:
        self._analyse = analyse
        self._lock = threading.RLock()
        self._depth = 0
        self._held = _Shelves()

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

    def apply(self, writes: Sequence[Write], *, at: datetime) -> tuple[int, ...]:
        """Do *writes*, all or none."""
        with self.transaction():
            touched = tuple(self._do(write, at) for write in writes)
            self._held.version += bool(writes)
        return touched

    def _do(self, write: Write, at: datetime) -> int:
        match write:
            case Insert(memory=memory):
                self._held.newest += 1
                stored = replace(
                    memory, id=self._held.newest, created_at=born(memory, at), updated_at=at, deleted_at=None
                )
                return self._put(stored, "add", at, write.detail)
            case Revise(memory=memory, verb=verb):
                old = self._existing(memory.id)
                stored = replace(memory, created_at=old.created_at, updated_at=at, deleted_at=old.deleted_at)
                return self._put(stored, verb, at, {"content": old.content, **write.detail})
            case Merge(id=row, confidence=confidence, wording=wording):
                old = self._existing(row)
                if wording is not None:
                    self._held.wordings[row] = (*self._held.wordings.get(row, ()), wording)
                stored = replace(old, confidence=confidence, updated_at=at)
                return self._put(stored, "reinforce", at, write.detail)
            case Forget(id=row):
                return self._put(replace(self._existing(row), deleted_at=at), "forget", at, write.detail)
            case Restore(id=row):
                return self._put(replace(self._existing(row), deleted_at=None), "restore", at, write.detail)
        assert_never(write)

    def _existing(self, row: int) -> Memory:
        if row not in self._held.memories:
            raise unknown(row)
        return self._held.memories[row]

    def _put(self, memory: Memory, verb: str, at: datetime, detail: Mapping[str, object]) -> int:
        self._name(memory)
        self._outdate(memory)
        self._held.memories[memory.id] = memory
        self._held.terms.pop(memory.id, None)
        if memory.deleted_at is None:
            self._held.terms[memory.id] = self._analyse(memory, self._held.wordings.get(memory.id, ()))
        self._held.events.append(Event(memory_id=memory.id, verb=verb, at=at, detail=dict(detail)))
        return memory.id

    def _outdate(self, memory: Memory) -> None:
        old = self._held.memories.get(memory.id)
        if old is not None and old.meaning != memory.meaning:
            for fingerprint in self._held.generations:
                self._held.vectors.pop((fingerprint, memory.id), None)

    def _name(self, memory: Memory) -> None:
        old = self._held.memories.get(memory.id)
        if old is not None and old.external_id is not None:
            del self._held.named[old.project, old.external_id]
        if memory.external_id is not None:
            if (memory.project, memory.external_id) in self._held.named:
                raise taken(memory)
            self._held.named[memory.project, memory.external_id] = memory.id

    def load(self, ids: Sequence[int], *, scope: Scope) -> dict[int, Memory]:
        """Return the memories of *ids* in *scope*."""
        held = self._held.memories
        return {row: held[row] for row in ids if row in held and in_scope(held[row], scope)}

    def wordings(self, ids: Sequence[int], *, scope: Scope) -> dict[int, tuple[str, ...]]:
        """Return the other wordings of *ids*."""
        return {row: self._held.wordings[row] for row in self.load(ids, scope=scope) if row in self._held.wordings}

    def history(self, ids: Sequence[int], *, scope: Scope) -> dict[int, tuple[Event, ...]]:
        """Return the events of *ids*, oldest first."""
        return {
            row: tuple(event for event in self._held.events if event.memory_id == row)
            for row in self.load(ids, scope=scope)
        }

    def known(self, project: str, *, digests: Sequence[bytes], external_ids: Sequence[str]) -> Known:
        """Return which contents and external ids *project* holds."""
        mine = [memory for memory in self._held.memories.values() if memory.project == project]
        held: dict[bytes, int] = {}
        for memory in mine:
            if memory.deleted_at is None:
                for text in (memory.content, *self._held.wordings.get(memory.id, ())):
                    held.setdefault(digest(text), memory.id)
        named = self._held.named
        return Known(
            by_digest={key: held[key] for key in digests if key in held},
            by_external_id={key: named[project, key] for key in external_ids if (project, key) in named},
        )

    def alike(self, project: str, sketches: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
        """Return the live memories of *project* sharing a key with each sketch."""
        rows: dict[int, list[int]] = defaultdict(list)
        for row in sorted(self._held.terms):
            if self._held.memories[row].project == project:
                for key in self._held.terms[row].sketch:
                    rows[key].append(row)
        found = (sorted({row for key in sketch for row in rows.get(key, ())}) for sketch in sketches)
        return tuple(tuple(each[:ALIKE]) for each in found)

    def match_words(
        self, keywords: Keywords, *, scope: Scope, where: Where, limit: int, also: Sequence[int] = ()
    ) -> Matches:
        """Return the best memories for *keywords*."""
        searched = [row for row in self._held.terms if in_scope(self._held.memories[row], scope)]
        volume = Volume(
            rows=len(searched),
            stem=sum(self._length(row, "stem") for row in searched),
            exact=sum(self._length(row, "exact") for row in searched),
            code=sum(self._held.terms[row].code for row in searched),
        )

        def keep(rows: AbstractSet[int]) -> AbstractSet[int]:
            return {row for row in rows if admits(where, self._held.memories[row])}

        weights = thousandths(keywords.weights)

        def read(leaf: Leaf) -> Postings:
            counts = ((row, self._count(leaf, row, weights)) for row in searched)
            return {row: (count, self._length(row, form_of(leaf))) for row, count in counts if count > 0}

        return rank(keywords, read=read, volume=volume, admits=keep, limit=limit, also=also)

    def _length(self, row: int, form: Form) -> int:
        return sum(map(len, getattr(self._held.terms[row], form).values()))

    def _count(self, leaf: Leaf, row: int, weights: Mapping[str, int]) -> int:
        tokens = getattr(self._held.terms[row], form_of(leaf))
        return sum(weight * _occurrences(leaf, tokens[name]) for name, weight in weights.items() if name in tokens)

    def match_text(
        self, needles: Sequence[str], *, scope: Scope, where: Where, limit: int
    ) -> tuple[tuple[int, int], ...]:
        """Return how many needles the text of each memory holds."""
        found = []
        for row in self._held.terms:
            memory = self._held.memories[row]
            if in_scope(memory, scope) and admits(where, memory):
                text = _lower(f"{memory.title}\n{memory.content}")
                found.append((row, sum(needle in text for needle in needles)))
        ranked = sorted(((row, held) for row, held in found if held), key=lambda each: (-each[1], each[0]))
        return tuple(ranked[:limit])

    def browse(self, *, scope: Scope, where: Where, limit: int, offset: int = 0) -> Page:
        """Return memories newest first."""
        live = (self._held.memories[row] for row in self._held.terms)
        found = [memory for memory in live if in_scope(memory, scope) and admits(where, memory)]
        found.sort(key=lambda memory: (memory.when, memory.id), reverse=True)
        return Page(ids=tuple(memory.id for memory in found[offset : offset + limit]), total=len(found))

    def generations(self, *, scope: Scope) -> tuple[Generation, ...]:
        """Return the generations of vectors, newest first."""
        live = [row for row in self._held.terms if in_scope(self._held.memories[row], scope)]
        return tuple(
            replace(each, memories=had, pending=len(live) - had)
            for each in reversed(self._held.generations.values())
            if (had := sum((each.fingerprint, row) in self._held.vectors for row in live)) >= 0
        )

    def pending(self, fingerprint: str, *, after: int, limit: int) -> tuple[int, ...]:
        """Return live memories without vectors of this generation."""
        rows = (row for row in sorted(self._held.terms) if row > after)
        return tuple(row for row in rows if (fingerprint, row) not in self._held.vectors)[:limit]

    def put_vectors(self, generation: Generation, embedded: Sequence[Embedded]) -> int:
        """Keep vectors in place of older ones."""
        with self.transaction():
            known = self._held.generations.setdefault(generation.fingerprint, generation)
            current = [each for each in embedded if self._is_current(each)]
            for each in current:
                for passage in each.passages:
                    if len(passage.vector) != 4 * known.dimensions:
                        raise too_wide(passage.vector, known)
                self._held.vectors[known.fingerprint, each.memory_id] = each.passages
            self._held.version += 1
        return len(current)

    def _is_current(self, embedded: Embedded) -> bool:
        memory = self._held.memories.get(embedded.memory_id)
        return memory is not None and memory.deleted_at is None and memory.meaning == embedded.meaning

    def drop_vectors(self, fingerprint: str) -> int:
        """Drop a generation."""
        with self.transaction():
            self._held.generations.pop(fingerprint, None)
            gone = [key for key in self._held.vectors if key[0] == fingerprint]
            for key in gone:
                del self._held.vectors[key]
            self._held.version += 1
        return len(gone)

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

        def admitted() -> Iterator[int]:
            for row in self._held.terms:
                memory = self._held.memories[row]
                if in_scope(memory, scope) and admits(where, memory) and (unless, row) not in self._held.vectors:
                    yield row

        generation = self._held.generations.get(fingerprint)
        if generation is None:
            return Nears(missing=len(list(admitted())))
        if len(vector) != 4 * generation.dimensions:
            raise too_wide(vector, generation)
        shelf = Shelf(generation.dimensions)
        mine = sorted(row for name, row in self._held.vectors if name == fingerprint)
        passages = [(row, passage) for row in mine for passage in self._held.vectors[fingerprint, row]]
        fresh = [(self._row(at, row, each), each.vector) for at, (row, each) in enumerate(passages)]
        shelf.refill(set(), fresh)
        return shelf.nearest(vector, limit=limit, also=also, key=None, admitted=admitted, blend=blend)

    def _row(self, at: int, memory_id: int, passage: Passage) -> Row:
        memory = self._held.memories[memory_id]
        thread = None if memory.thread is None else f"{memory.project}\x1f{memory.thread}"
        return Row(at, memory_id, passage.start, passage.stop, thread, memory.turn)

    def sources(self, *, below: str) -> dict[str, str]:
        """Return the sources at or below *below* with their fingerprints."""
        return {name: held[0] for name, held in sorted(self._held.sources.items()) if lies_below(name, below)}

    def pieces(self, source: str) -> tuple[Piece, ...]:
        """Return what was imported from *source*."""
        return self._held.sources.get(source, ("", ()))[1]

    def record_source(self, source: str, *, fingerprint: str, pieces: Sequence[Piece]) -> None:
        """Remember what *source* consists of."""
        with self.transaction():
            if pieces:
                self._held.sources[source] = (fingerprint, tuple(pieces))
            else:
                self._held.sources.pop(source, None)
            self._held.version += 1

    def tally(self, *, scope: Scope) -> Tally:
        """Count what is here."""
        mine = [memory for memory in self._held.memories.values() if in_scope(memory, scope)]
        live = [memory for memory in mine if memory.deleted_at is None]
        ids = {memory.id for memory in mine}
        return Tally(
            memories=len(live),
            forgotten=len(mine) - len(live),
            superseded=sum(memory.superseded_by is not None for memory in live),
            projects=dict(sorted(Counter(memory.project for memory in live).items())),
            types=dict(sorted(Counter(memory.type for memory in live).items())),
            sources=len({memory.source for memory in live if memory.source is not None}),
            variants=sum(len(texts) for row, texts in self._held.wordings.items() if row in ids),
            events=sum(event.memory_id in ids for event in self._held.events),
        )

    def version(self) -> int:
        """Return how many writes there were."""
        return self._held.version

    def check(self) -> tuple[str, ...]:
        """Return nothing: dictionaries do not rot."""
        return ()

    def rebuild(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Make the tokens anew."""
        with self.transaction():
            live = [memory for memory in self._held.memories.values() if memory.deleted_at is None]
            for done, memory in enumerate(live, start=1):
                self._held.terms[memory.id] = self._analyse(memory, self._held.wordings.get(memory.id, ()))
                if progress is not None:
                    progress(done, len(live))
        return len(live)

    def close(self) -> None:
        """Let everything go."""
        self._held = _Shelves()


def _occurrences(leaf: Leaf, tokens: Sequence[str]) -> int:
    match leaf:
        case Word(text=text):
            return tokens.count(text)
        case Prefix(text=text):
            return sum(token.startswith(text) for token in tokens)
        case Phrase(texts=texts):
            starts = range(len(tokens) - len(texts) + 1)
            return sum(tuple(tokens[at : at + len(texts)]) == texts for at in starts)
    assert_never(leaf)


def _lower(text: str) -> str:
    return "".join(chr(ord(char) + 32) if "A" <= char <= "Z" else char for char in text)
