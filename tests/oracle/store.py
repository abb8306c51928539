"""OracleStore: each question answered by looking at everything, one thread at a time."""

import json
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from msgspec.structs import replace

from oracle import erasing
from oracle.admit import admits, covers, in_scope, lies_below
from oracle.contexts import remix
from oracle.state import State
from oracle.writes import do, index
from recollect.errors import InputError
from recollect.records import (
    ALL_PROJECTS,
    NO_FILTER,
    ByteSearch,
    Conversation,
    EmbeddedMemory,
    Erased,
    Event,
    Fact,
    FactQuery,
    Filter,
    Form,
    Generation,
    IndexHit,
    Known,
    LogSize,
    Memory,
    NearWord,
    NearWords,
    Outline,
    Page,
    Passage,
    Piece,
    Position,
    Progress,
    Recall,
    Scope,
    Source,
    SourceHead,
    StoreStats,
    SubstringQuery,
    Traits,
    Usage,
    VectorHits,
    WordHits,
    WordQuery,
    Write,
    digest,
)
from recollect.stores.bm25 import by_field, matching, postings_of, rank, stats_of
from recollect.stores.change import folded, logged
from recollect.stores.contract import ALIKE, ANSWERING, NOTHING_CHANGED, Analyse, too_wide
from recollect.stores.facets import FACETS, as_facets, as_vocabulary
from recollect.trust import capped
from recollect.vectors import WIDTH, matrix

BACKUPS: list[State] = []
"""What was backed up in this process; a backup file holds its number."""


def edits(typed: str, meant: str) -> int:
    """Count the letters put in, left out, replaced, or swapped with a neighbour (optimal string alignment)."""
    rows = [list(range(len(meant) + 1))]
    for at, letter in enumerate(typed):
        row = [at + 1]
        for place, other in enumerate(meant):
            best = min(rows[-1][place + 1] + 1, row[-1] + 1, rows[-1][place] + (letter != other))
            if at and place and letter == meant[place - 1] and typed[at - 1] == other:
                best = min(best, rows[-2][place - 1] + 1)
            row.append(best)
        rows.append(row)
    return rows[-1][-1]


def as_near(found: Iterable[tuple[int, str]], held: Mapping[str, int]) -> tuple[NearWord, ...]:
    ordered = sorted((far, -held[word], word) for far, word in found)
    return tuple(NearWord(text=word, distance=far, frequency=-rarity) for far, rarity, word in ordered)


class OracleStore:
    """Memories in dictionaries, gone when the process ends."""

    def __init__(self, analyse: Analyse) -> None:
        self._analyse = analyse
        self._lock = threading.RLock()
        self._depth = 0
        self._state = State()

    # --- writes -----------------------------------------------------------------------------

    def in_project(self, name: str | None) -> Self:  # noqa: ARG002
        return self

    @contextmanager
    def transaction(self, projects: object = None) -> Iterator[None]:  # noqa: ARG002
        with self._lock:
            before = self._state.aside() if self._depth == 0 else None
            self._depth += 1
            try:
                yield
            except BaseException:
                if before is not None:
                    self._state = before
                raise
            finally:
                self._depth -= 1

    @contextmanager
    def reading(self) -> Iterator[None]:
        with self._lock:
            yield

    @contextmanager
    def _changing(self) -> Iterator[State]:
        with self.transaction():
            yield self._state
            self._state.version += 1

    def apply(self, writes: Sequence[Write], *, at: datetime) -> tuple[int, ...]:
        if not writes:
            return ()
        with self._changing() as state:
            return tuple(do(state, write, at=at, analyse=self._analyse) for write in writes)

    def erase(self, *, scope: Scope, ids: Sequence[int] | None = None, where: Filter = NO_FILTER) -> Erased:
        with self._changing() as state:
            return erasing.erase(state, scope=scope, ids=ids, where=where, analyse=self._analyse)

    def settle(self) -> None:
        pass

    def scrub(self) -> tuple[str, ...]:
        return ()

    def traces(self, probes: Sequence[bytes]) -> ByteSearch:
        with self._lock:
            return ByteSearch(found=tuple(erasing.traces(self._state, probes)))

    # --- memories ---------------------------------------------------------------------------

    def load(self, ids: Sequence[int], *, scope: Scope) -> dict[int, Memory]:
        with self._lock:
            held = self._state.memories
            return {row: held[row] for row in ids if row in held and in_scope(held[row], scope)}

    def traits(self, ids: Sequence[int], *, scope: Scope) -> dict[int, Traits]:
        held = self.load(ids, scope=scope)
        found = {row: Traits._make(getattr(memory, name) for name in Traits._fields) for row, memory in held.items()}
        return {
            row: each._replace(thread=each.thread or None, confidence=capped(each.confidence, held[row].trust))
            for row, each in found.items()
        }

    def outlines(self, ids: Sequence[int], *, scope: Scope) -> dict[int, Outline]:
        held = self.load(ids, scope=scope)
        return {row: Outline._make(getattr(memory, name) for name in Outline._fields) for row, memory in held.items()}

    def wordings(self, ids: Sequence[int], *, scope: Scope) -> dict[int, tuple[str, ...]]:
        with self._lock:
            held = self._state.wordings
            return {row: held[row] for row in self.load(ids, scope=scope) if row in held}

    def history(
        self, ids: Sequence[int], *, scope: Scope, verbs: Sequence[str] | None = None
    ) -> dict[int, tuple[Event, ...]]:
        with self._lock:
            events = [event for event in self._state.events if verbs is None or event.verb in verbs]
            found = (
                (row, tuple(event for event in events if event.memory_id == row)) for row in self.load(ids, scope=scope)
            )
            return {row: log for row, log in found if log}

    def load_with_events(
        self, ids: Sequence[int], *, scope: Scope, verbs: Sequence[str]
    ) -> tuple[dict[int, Memory], dict[int, tuple[Event, ...]]]:
        with self._lock:
            logs = self.history(ids, scope=scope, verbs=verbs)
            told = {row: tuple(event for event in log if event.detail) for row, log in logs.items()}
            return self.load(ids, scope=scope), {row: log for row, log in told.items() if log}

    def facts(self, query: FactQuery, *, scope: Scope) -> tuple[Fact, ...]:
        with self._lock:
            held = self._state.memories.values() if query.include_forgotten else self._state.live(scope)
            found = [
                fact
                for memory in held
                if in_scope(memory, scope)
                and (query.include_superseded or memory.superseded_by is None)
                and (query.memory_ids is None or memory.id in query.memory_ids)
                for fact in self._state.facts.get(memory.id, ())
                if (query.subject is None or folded(fact.subject) == folded(query.subject))
                and (query.subjects is None or folded(fact.subject) in set(map(folded, query.subjects)))
                and (query.types is None or fact.type in query.types)
            ]
            return tuple(sorted(found, key=lambda fact: -fact.id)[: query.limit])

    def known(
        self,
        project: str,
        *,
        digests: Sequence[tuple[str, bytes]] = (),
        external_ids: Sequence[tuple[str, str]] = (),
        births: Sequence[tuple[str, datetime]] = (),
        minhashes: Sequence[Sequence[int]] = (),
    ) -> Known:
        with self._lock:
            state, named = self._state, self._state.named
            mine: dict[tuple[str, bytes], int] = {}
            holders: dict[int, list[int]] = defaultdict(list)
            for row in sorted(state.terms):
                memory = state.memories[row]
                if memory.project == project:
                    for text in (memory.content, *state.wordings.get(row, ())):
                        mine.setdefault((memory.kind, digest(text)), row)
                    for key in state.terms[row].minhash:
                        holders[key].append(row)
            born: dict[tuple[str, datetime], tuple[int, ...]] = {}
            for row in sorted(state.memories):
                memory = state.memories[row]
                key = (memory.kind, memory.created_at)
                if memory.project == project and key in births:
                    born[key] = (*born.get(key, ()), row)
            near = (sorted({row for key in minhash for row in holders.get(key, ())}) for minhash in minhashes)
            return Known(
                by_digest={key: mine[key] for key in digests if key in mine},
                by_external_id={key: named[project, *key] for key in external_ids if (project, *key) in named},
                by_birth=born,
                near=tuple(tuple(rows[:ALIKE]) for rows in near),
            )

    def browse(
        self,
        *,
        scope: Scope,
        where: Filter,
        limit: int,
        offset: int = 0,
        after: Position | None = None,
        among: Sequence[int] | None = None,
        count: bool = True,
    ) -> Page:
        with self._lock:
            wanted = [each for each in self._admitted(scope, where) if among is None or each.id in among]
            found = sorted(wanted, key=lambda memory: (memory.when, memory.id), reverse=True)
            rest = [each for each in found if after is None or (each.when, each.id) < (after.when, after.id)]
            ids = tuple(memory.id for memory in rest[offset : offset + limit])
            return Page(ids=ids, total=len(found) if count else len(ids))

    def conversations(
        self, *, scope: Scope, where: Filter, limit: int, offset: int = 0, latest: bool = False
    ) -> tuple[Conversation, ...]:
        with self._lock:
            turns: dict[tuple[str, str], list[Memory]] = defaultdict(list)
            for memory in self._admitted(scope, where):
                if memory.thread is not None:
                    turns[memory.project, memory.thread].append(memory)
            begun = {
                key: (min(each.when for each in said), min(each.id for each in said)) for key, said in turns.items()
            }
            order = sorted(begun, key=begun.__getitem__, reverse=latest)[offset : offset + limit]
            return tuple(
                Conversation(
                    project=key[0], thread=key[1], start=begun[key][0], end=max(each.when for each in turns[key])
                )
                for key in order
            )

    def stats(self, *, scope: Scope) -> StoreStats:
        with self._lock:
            mine = [memory for memory in self._state.memories.values() if in_scope(memory, scope)]
            live = [memory for memory in mine if memory.deleted_at is None]
            ids = {memory.id for memory in mine}
            return StoreStats(
                memories=len(live),
                forgotten=len(mine) - len(live),
                superseded=sum(memory.superseded_by is not None for memory in live),
                projects=dict(sorted(Counter(memory.project for memory in live).items())),
                types=dict(sorted(Counter(memory.type for memory in live).items())),
                sources=len({memory.source for memory in live if memory.source is not None}),
                variants=sum(len(texts) for row, texts in self._state.wordings.items() if row in ids),
                events=sum(event.memory_id in ids for event in self._state.events),
                log=self._log_size(scope),
                newest=self._state.newest if scope == ALL_PROJECTS else 0,
            )

    def _log_size(self, scope: Scope) -> LogSize:
        seen = list(self._visible(scope))
        oldest = min((recall.at for recall in seen), default=None)
        return LogSize(recalls=len(seen), bytes=sum(recall.size for recall in seen), oldest=oldest)

    def _admitted(self, scope: Scope, where: Filter) -> Iterator[Memory]:
        for memory in self._state.memories.values():
            if in_scope(memory, scope) and self._admits(memory, where):
                yield memory

    def _admits(self, memory: Memory, where: Filter) -> bool:
        successor = self._state.memories.get(memory.superseded_by or 0)
        return admits(where, memory, self._state.facts.get(memory.id, ()), successor)

    # --- words ------------------------------------------------------------------------------

    def match_words(
        self,
        query: WordQuery | SubstringQuery,
        *,
        scope: Scope,
        where: Filter,
        limit: int,
        score_ids: Sequence[int] = (),
    ) -> WordHits:
        with self._lock:
            if isinstance(query, SubstringQuery):
                return self._match_text(query, scope, where, limit, score_ids)
            terms = self._state.searched(scope, where.as_of, self._analyse)
            return rank(
                query,
                read=lambda leaf: postings_of(leaf, terms, query.weights),
                stats=stats_of(terms),
                admits=lambda rows: self._among(rows, where),
                limit=limit,
                score_ids=score_ids,
                version=self._state.version,
            )

    def _among(self, rows: Iterable[int], where: Filter) -> set[int]:
        return {row for row in rows if self._admits(self._state.memories[row], where)}

    def _match_text(
        self, query: SubstringQuery, scope: Scope, where: Filter, limit: int, score_ids: Sequence[int]
    ) -> WordHits:
        found = []
        for memory in self._admitted(scope, where):
            text = f"{memory.title}\n{memory.content}"
            lower = "".join(char.lower() if char.isascii() else char for char in text)
            count = sum(needle in lower for needle in query.needles)
            if count:
                found.append(IndexHit(id=memory.id, score=count, coverage=count / len(query.needles)))
        ranked = sorted(found, key=lambda hit: (-hit.score, hit.id))
        asked = {hit.id: hit for hit in ranked if hit.id in score_ids}
        return WordHits(top=tuple(ranked[:limit]), by_id=asked, total=len(ranked), version=self._state.version)

    def document_frequencies(
        self,
        *,
        scope: Scope,
        form: Form = "exact",
        words: Sequence[str] | None = None,
        least: int = 1,
        limit: int = 200_000,
    ) -> dict[str, int]:
        with self._lock:
            live = [by_field(self._state.terms[memory.id], form) for memory in self._state.live(scope)]
        held = ({*tokens.get("title", ()), *tokens.get("body", ())} for tokens in live)
        counts = Counter(token for tokens in held for token in tokens)
        return as_vocabulary(counts, least=least, limit=limit) if words is None else {w: counts[w] for w in words}

    def near_words(self, words: Mapping[str, int], *, scope: Scope, holding: Sequence[str] = ()) -> NearWords:
        with self._lock:
            stats = stats_of(self._state.searched(scope, None, self._analyse))
            words_of_letters = self.document_frequencies(scope=scope).items()
        held = {word: count for word, count in words_of_letters if word.isalpha()}
        near = {
            word: [(edits(word, each), each) for each in held if each[:1] == word[:1] and edits(word, each) <= reach]
            for word, reach in words.items()
        }
        parts = {part: [(len(each) - len(part), each) for each in held if part and part in each] for part in holding}
        return NearWords(
            near={word: as_near(found, held) for word, found in near.items()},
            holding={part: as_near([one for one in found if one[0]], held) for part, found in parts.items()},
            documents=stats.rows,
            tokens=stats.exact,
        )

    def facets(self, *, query: WordQuery | None, scope: Scope, where: Filter) -> dict[str, dict[str, int]]:
        with self._lock:
            if query is None:
                return self._counted(self._admitted(scope, where))
            terms = self._state.searched(scope, where.as_of, self._analyse)
            rows = matching(query, read=lambda leaf: postings_of(leaf, terms, query.weights))
            return self._counted(self._state.memories[row] for row in self._among(rows, where))

    def _counted(self, memories: Iterable[Memory]) -> dict[str, dict[str, int]]:
        counters: dict[str, Counter[str]] = {name: Counter() for name in FACETS}
        for memory in memories:
            values: dict[str, set[str]] = {
                "type": {memory.type},
                "tag": set(memory.tags),
                "project": {memory.project},
                "source": set() if memory.source is None else {memory.source},
                "kind": {memory.kind},
                "fact_type": {fact.type for fact in self._state.facts.get(memory.id, ())},
                "month": {memory.when.astimezone(UTC).isoformat()[:7]},
            }
            for name, found in values.items():
                counters[name].update(found)
        return as_facets(counters)

    # --- vectors ----------------------------------------------------------------------------

    def generations(self, *, scope: Scope) -> tuple[Generation, ...]:
        with self._lock:
            live = [memory.id for memory in self._state.live(scope)]
            held = self._state.vectors
            counts = {name: sum((name, row) in held for row in live) for name in self._state.generations}
            return tuple(
                replace(each, memories=counts[each.fingerprint], pending=len(live) - counts[each.fingerprint])
                for each in reversed(self._state.generations.values())
            )

    def pending(self, fingerprint: str, *, after: int, limit: int) -> tuple[int, ...]:
        with self._lock:
            bare = (row for row in sorted(self._state.terms) if (fingerprint, row) not in self._state.vectors)
            return tuple(row for row in bare if row > after)[:limit]

    def put_vectors(self, generation: Generation, embedded: Sequence[EmbeddedMemory]) -> int:
        known = self._state.generations.get(generation.fingerprint)
        weights = generation.context_weights
        if not embedded and (known is None or weights in (None, known.context_weights)):
            return 0
        with self._changing() as state:
            known = known or replace(generation, context_weights=())
            state.generations[known.fingerprint] = replace(
                known, context_weights=known.context_weights if weights is None else weights
            )
            current = [each for each in embedded if self._is_current(each)]
            for each in current:
                for passage in each.passages:
                    if len(passage.vector) != WIDTH * known.dimensions:
                        raise too_wide(passage.vector, known.dimensions)
                bare = (replace(passage, context_vector=None) for passage in each.passages)
                state.vectors[known.fingerprint, each.memory_id] = tuple(bare)
            remix(state, state.memories.values())
            return len(current)

    def _is_current(self, embedded: EmbeddedMemory) -> bool:
        memory = self._state.memories.get(embedded.memory_id)
        return memory is not None and memory.deleted_at is None and memory.meaning == embedded.meaning

    def drop_vectors(self, fingerprint: str) -> int:
        with self._changing() as state:
            state.generations.pop(fingerprint, None)
            gone = [key for key in state.vectors if key[0] == fingerprint]
            for key in gone:
                del state.vectors[key]
            return len(gone)

    def nearest(  # noqa: PLR0913  (as the contract asks it)
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
        exact: bool = False,  # noqa: ARG002  (it always is)
    ) -> VectorHits:
        with self._lock:
            state, generation = self._state, self._state.generations.get(fingerprint)
            admitted = [memory.id for memory in self._admitted(scope, where)]
            left = [row for row in admitted if (exclude_generation, row) not in state.vectors]
            if generation is None:
                return VectorHits(missing=len(left), version=state.version)
            if len(vector) != WIDTH * generation.dimensions:
                raise too_wide(vector, generation.dimensions)
            found = {
                row: _best_passage(row, state.vectors[fingerprint, row], vector, in_context=in_context)
                for row in left
                if (fingerprint, row) in state.vectors
            }
            return VectorHits(
                top=tuple(sorted(found.values(), key=lambda hit: (-hit.score, hit.id))[:limit]),
                by_id={row: found[row] for row in score_ids if row in found},
                total=len(found),
                missing=len(left) - len(found),
                version=state.version,
            )

    def vectors(
        self, fingerprint: str, ids: Sequence[int], *, scope: Scope, include_forgotten: bool = False
    ) -> dict[int, tuple[Passage, ...]]:
        with self._lock:
            every = (memory for memory in self._state.memories.values() if in_scope(memory, scope))
            among = every if include_forgotten else self._state.live(scope)
            rows = sorted({memory.id for memory in among} & set(ids))
            held = self._state.vectors
            return {row: held[fingerprint, row] for row in rows if (fingerprint, row) in held}

    # --- the log, the ledger, the notes -----------------------------------------------------

    def log_recall(self, recalls: Sequence[Recall]) -> None:
        with self._lock:
            self._state.recalls += map(logged, recalls)

    def recalls(
        self,
        *,
        scope: Scope,
        session: str | None = None,
        memory_id: int | None = None,
        fact_id: int | None = None,
        limit: int = 100,
        offset: int = 0,
        oldest_first: bool = False,
    ) -> tuple[Recall, ...]:
        with self._lock:
            found = [
                recall
                for recall in self._visible(scope)
                if (session is None or recall.session == session)
                and (memory_id is None or any(hit.memory_id == memory_id for hit in recall.hits))
                and (fact_id is None or any(fact_id in hit.fact_ids for hit in recall.hits))
            ]
            return tuple((found[::-1] if oldest_first else found)[offset : offset + limit])

    def _visible(self, scope: Scope) -> Iterator[Recall]:
        return (recall for recall in reversed(self._state.recalls) if covers(scope, recall.scope))

    def prune_recalls(
        self, *, scope: Scope, before: datetime | None = None, max_bytes: int | None = None, most: int | None = None
    ) -> int:
        with self._lock:
            seen = list(self._visible(scope))[::-1]
            size = sum(recall.size for recall in (seen if most is None else self._state.recalls))
            lost = []
            for recall in seen[:most]:
                if (before is not None and recall.at < before) or (max_bytes is not None and size > max_bytes):
                    lost.append(id(recall))
                    size -= recall.size
            self._state.recalls = [recall for recall in self._state.recalls if id(recall) not in lost]
            return len(lost)

    def usage(self, *, scope: Scope, ids: Sequence[int] | None = None) -> dict[int, Usage]:
        with self._lock:
            seen = Counter((hit.memory_id, hit.shown) for recall in self._state.recalls for hit in recall.hits)
            feedback = (event for event in self._state.events if event.verb == "feedback")
            given = Counter((event.memory_id, str(event.detail["verdict"])) for event in feedback)
            live = {memory.id for memory in self._state.live(scope)}
            rows = sorted({row for row, _ in (*seen, *given)} & live & (live if ids is None else set(ids)))
            verdicts = {row: {name: count for (of, name), count in given.items() if of == row} for row in rows}
            return {row: Usage(shown=seen[row, True], missed=seen[row, False], verdicts=verdicts[row]) for row in rows}

    def unanswered(self, *, scope: Scope, limit: int) -> tuple[tuple[str, int], ...]:
        with self._lock:
            counts = Counter(recall.query for recall in self._visible(scope) if recall.outcome == "none")
            return tuple(sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:limit])

    def sources(self, *, below: str, project: str) -> dict[str, Source]:
        with self._lock:
            held = sorted(self._state.sources.items())
            return {name: source for (its, name), source in held if its == project and lies_below(name, below)}

    def record_source(self, name: str, source: Source, *, project: str) -> None:
        with self._changing() as state:
            _record(state, (project, name), source, dict(enumerate(source.pieces)))

    def source_heads(self, *, below: str, project: str) -> dict[str, SourceHead]:
        found = self.sources(below=below, project=project)
        return {
            name: SourceHead(
                fingerprint=each.fingerprint,
                device=each.device,
                root=each.root,
                stamp=each.stamp,
                held=len(each.held),
            )
            for name, each in found.items()
        }

    def pieces(
        self, name: str, *, project: str, digests: Sequence[bytes] | None = None, after: int = -1, limit: int = 2**62
    ) -> dict[int, Piece]:
        with self._lock:
            held = _pieces(self._state, (project, name))
            wanted = {
                at: piece for at, piece in held.items() if (at > after if digests is None else piece.digest in digests)
            }
            return dict(list(wanted.items())[:limit])

    def change_source(
        self, name: str, source: Source, *, project: str, changed: Mapping[int, Piece | None] = NOTHING_CHANGED
    ) -> int:
        with self._changing() as state:
            held = _pieces(state, (project, name))
            first = max(held, default=-1) + 1
            held |= dict(enumerate(source.pieces, start=first))
            kept = {at: piece for at, piece in (held | dict(changed)).items() if piece is not None}
            _record(state, (project, name), source, kept)
            return first

    def holders(self, ids: Sequence[int]) -> dict[int, tuple[tuple[str, str], ...]]:
        with self._lock:
            held = {(piece.memory_id, key) for key, each in self._state.sources.items() for piece in each.held}
            return {
                row: tuple(sorted(key for it, key in held if it == row))
                for row in sorted({row for row, _ in held} & set(ids))
            }

    def put_note(self, kind: str, name: str, value: Mapping[str, object] | None, *, project: str = "") -> bool:
        with self._lock:
            there = self._state.notes.pop((project, kind, name), None) is not None
            if value is not None:
                self._state.notes[project, kind, name] = json.dumps(dict(value), default=_plain)
            self._state.version += kind in ANSWERING
            return there

    def note(self, kind: str, name: str, *, project: str = "") -> Mapping[str, Any] | None:
        return self.notes(kind, project=project).get(name)

    def notes(self, kind: str, *, project: str = "") -> dict[str, Mapping[str, Any]]:
        with self._lock:
            held = sorted(self._state.notes.items())
            return {name: json.loads(text) for (*its, name), text in held if its == [project, kind]}

    # --- the whole --------------------------------------------------------------------------

    def version(self) -> int:
        with self._lock:
            return self._state.version

    def ids(self, *, scope: Scope, after: int = 0, limit: int) -> tuple[int, ...]:
        with self._lock:
            mine = (row for row, memory in sorted(self._state.memories.items()) if in_scope(memory, scope))
            return tuple(row for row in mine if row > after)[:limit]

    def events(self, *, scope: Scope, limit: int) -> tuple[Event, ...]:
        with self._lock:
            held = self._state.memories
            mine = [each for each in self._state.events if in_scope(held[each.memory_id], scope)]
            return tuple(reversed(mine[-limit:] if limit else []))

    def projects(self) -> tuple[str, ...]:
        with self._lock:
            state = self._state
            named = (project for project, *_ in (*state.sources, *state.notes))
            return tuple(sorted({*named, *(memory.project for memory in state.memories.values())}))

    def snapshot(self) -> "OracleStore":
        with self._lock:
            store = OracleStore(self._analyse)
            store._state = self._state.aside()
            return store

    def backup(self, path: Path, *, force: bool = False, progress: Progress | None = None) -> None:
        with self._lock:
            BACKUPS.append(self._state.aside())
        try:
            if path.exists() and not force:
                raise InputError(f"{path} is there already", hint="name another file")
            path.write_text(str(len(BACKUPS) - 1))
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror}", hint="name another file") from error
        if progress is not None:
            progress(1, 1, "pages")

    def restore_backup(self, path: Path, *, aside: Path | None = None, dry_run: bool = False) -> int:
        try:
            backup = BACKUPS[int(path.read_text())].aside()
        except (OSError, ValueError) as error:
            raise InputError(f"{path} is no backup", hint="name another file") from error
        with self._lock:
            if not dry_run:
                if aside is not None:
                    self.backup(aside)
                for name in ("newest", "newest_fact", "version"):
                    setattr(backup, name, max(getattr(backup, name), getattr(self._state, name)))
                backup.version += 1
                self._state = backup
            return sum(memory.deleted_at is None for memory in backup.memories.values())

    def check(self, *, deep: bool = False) -> tuple[str, ...]:  # noqa: ARG002  (nothing is damaged in memory)
        return ()

    def rebuild(self, progress: Progress | None = None) -> int:
        with self._changing() as state:
            live = [memory for memory in state.memories.values() if memory.deleted_at is None]
            for done, memory in enumerate(live, start=1):
                index(state, memory, self._analyse)
                if progress is not None:
                    progress(done, len(live), "memories")
        return len(live)

    def close(self) -> None:
        with self._lock:
            self._state = State()


def _best_passage(row: int, passages: Sequence[Passage], vector: bytes, *, in_context: bool) -> IndexHit:
    """Return the passage nearest to *vector*, the first of equals."""
    compared = [(each.context_vector if in_context else None) or each.vector for each in passages]
    cosines = matrix(compared, dimensions=len(vector) // WIDTH).products(vector, range(len(compared)))
    best = cosines.index(max(cosines))
    return IndexHit(id=row, score=cosines[best], span=(passages[best].start, passages[best].stop))


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else str(value)


def _pieces(state: State, key: tuple[str, str]) -> dict[int, Piece]:
    """Return the pieces of a source by their place."""
    source = state.sources.get(key)
    return {} if source is None else dict(zip(state.places[key], source.pieces, strict=True))


def _record(state: State, key: tuple[str, str], source: Source, pieces: Mapping[int, Piece]) -> None:
    """Keep a source with its *pieces*; without any it is forgotten."""
    state.sources.pop(key, None)
    if pieces:
        state.places[key] = tuple(sorted(pieces))
        state.sources[key] = replace(source, pieces=tuple(pieces[at] for at in sorted(pieces)))
