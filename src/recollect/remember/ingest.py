"""Decide what each draft is to the stored memories, then write it. Nothing is discarded."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, repeat
from typing import ClassVar, Final

from msgspec import Struct, field
from msgspec.structs import replace

from recollect.errors import InputError, ModelError
from recollect.records import (
    ALL_PROJECTS,
    NOTHING,
    AnyOf,
    Decision,
    EmbeddedMemory,
    Fact,
    Feedback,
    Filter,
    Generation,
    Insert,
    Memory,
    Merge,
    Revise,
    Scope,
    TokenizedMemory,
    Word,
    WordQuery,
    Write,
    digest,
)
from recollect.remember.contested import note_contested
from recollect.remember.context import Draft, Embedding, IngestContext, revised
from recollect.remember.dedup import (
    DECIDE,
    IN_BULK,
    MERGED,
    Decide,
    DedupResult,
    DuplicateCandidate,
    Existing,
    InBatch,
    Target,
    decide_by_trust,
    is_comparable,
    is_standalone,
    row_of,
)
from recollect.remember.embed import embed_memories
from recollect.remember.forgotten import forgotten_rows
from recollect.remember.redact import FoundSecret
from recollect.replies import Degraded
from recollect.stores.contract import ALIKE, Store
from recollect.text.tokenizer import read_words, significant
from recollect.trust import (
    DECIDING,
    EVIDENCE,
    against,
    contradicted,
    may_change,
    may_replace,
    outranks,
    with_successors,
)
from recollect.vectors import matrix

DRAFTS_PER_BATCH: Final = 500
"""How many drafts are decided on and written together; earlier ones are stored by then."""
MAX_NEAREST: Final = 5
"""How many of the nearest memories by vector, and by BM25, a draft is compared with."""
LONG_TEXT_CHARACTERS: Final = 1000
"""Longer texts take a while to compare, so that happens before the transaction that stores them."""
MAX_LINK_TERMS: Final = 8
"""How many words of a draft are looked up to find related memories."""
MAX_DUPLICATE_TERMS: Final = 256
"""How many words of a draft profile `oro` looks up."""
MAX_DRAFTS_BY_VECTOR: Final = 16
"""With more drafts at a time, none is looked up by words or compared by vector, unless the profile asks for it."""
MAX_SCANNED_ID: Final = 1_000
"""Beyond this id, only the vectors of memories found by words are compared.

Scanning all vectors after a write takes time that grows with the store, and ids tell its size. Consolidation scans all.
"""


class IngestResult(Struct, frozen=True, kw_only=True):
    """What became of one draft: the memory that holds it, and why."""

    json_members: ClassVar[str] = (
        "id decision of redacted updated=revised? secrets? supersedes? evidence=trust_evidence? degraded?"
    )

    id: int
    decision: Decision
    of: int | None = None
    secrets: tuple[FoundSecret, ...] = ()
    """What was redacted before it was stored."""
    written: bool = True
    """Whether anything was written; false when the store held exactly this already."""
    degraded: Degraded | None = None
    """Why it has no vector yet. It is stored, and found by its words."""
    evidence: Mapping[str, object] = field(default_factory=lambda: NOTHING)
    supersedes: tuple[int, ...] = ()
    """What else it superseded."""

    @property
    def trust_evidence(self) -> Mapping[str, object]:
        """The evidence about trust and pins."""
        return {key: value for key, value in self.evidence.items() if key in EVIDENCE}

    @property
    def revised(self) -> bool | None:
        """True if a memory with this external id was changed; else None."""
        return (
            True if self.decision == "identical" and self.written and self.evidence.get("by") == "external_id" else None
        )

    @property
    def superseded(self) -> tuple[int, ...]:
        """All memories that it superseded."""
        first = (self.of,) if self.decision == "updates" and self.of is not None else ()
        return first + self.supersedes

    @property
    def redacted(self) -> int:
        """How many secrets were redacted."""
        return len(self.secrets)


def secrets_of(draft: Draft, row: int) -> tuple[FoundSecret, ...]:
    """Return what was redacted in *draft*, which memory *row* holds now."""
    return tuple(replace(each, memory_id=row, source=draft.memory.source) for each in draft.secrets)


def ingest(
    memories: Sequence[Memory], context: IngestContext, *, vectors: Sequence[Sequence[float] | None] = ()
) -> tuple[IngestResult, ...]:
    """Store *memories* with their facts, all or none, and return what became of each, in order.

    *vectors* are those the caller brings, one for each memory.
    """
    if vectors and len(vectors) != len(memories):
        raise InputError(f"{len(vectors)} vectors for {len(memories)} memories", hint="give one for each, or None")
    pairs = zip(memories, vectors or repeat(None), strict=False)
    drafts = [context.prepare(memory, vector) for memory, vector in pairs]
    # Before the transaction, so that other writers wait neither for a model nor for the analysis.
    ready = embed_drafts([context.analysed(draft) for draft in drafts], context)
    decided = decide_early(ready, context)
    with context.store.transaction({draft.memory.project for draft in ready}):
        return ingest_drafts(ready, context, decided=decided)


def embed_drafts(drafts: Sequence[Draft], context: IngestContext) -> list[Draft]:
    """Return *drafts* with vectors, made in one batch, if they are to be compared by vector.

    Profile `oro` needs them to decide. Elsewhere a cosine only proposes a link, and bulk does without. If the model
    fails, words alone decide, and the vectors stay pending.
    """
    wanted = [place for place, draft in enumerate(drafts) if not (draft.embedding or is_standalone(draft.memory))]
    bulk = context.profile.dedup == "words" and len(drafts) > MAX_DRAFTS_BY_VECTOR
    if context.embedder is None or not (context.by_vector and wanted) or bulk:
        return list(drafts)
    try:
        made = embed_memories([drafts[place].memory for place in wanted], context.embedder)
    except ModelError:
        return list(drafts)
    fingerprint, dimensions = context.embedder.fingerprint, context.embedder.dimensions
    generation = Generation(fingerprint=fingerprint, dimensions=dimensions, model=context.model)
    passages = {place: each.passages for place, each in zip(wanted, made, strict=True)}
    return [
        replace(each, embedding=Embedding(generation=generation, passages=passages[at])) if at in passages else each
        for at, each in enumerate(drafts)
    ]


def ingest_drafts(
    drafts: Sequence[Draft], context: IngestContext, *, decided: "DecisionCache | None" = None, in_bulk: bool = False
) -> tuple[IngestResult, ...]:
    """Store *drafts* within the caller's transaction; profile `oro` compares each with all before it.

    All drafts of a batch have the same trust, so that none decides on what another may not change. *in_bulk* says that
    they are part of many.
    """
    known = DecisionCache() if decided is None else decided
    batches = _batches(drafts, context)
    return tuple(
        result
        for batch in batches
        for result in _ingest_batch(batch, context, known, few=not in_bulk and len(batch) <= MAX_DRAFTS_BY_VECTOR)
    )


def _batches(drafts: Sequence[Draft], context: IngestContext) -> Iterator[Sequence[Draft]]:
    size = DRAFTS_PER_BATCH if context.profile.dedup == "words" else 1
    for _, run in groupby(drafts, key=lambda draft: "" if draft.memory.thread else draft.memory.trust):
        alike = list(run)
        yield from (alike[start : start + size] for start in range(0, len(alike), size))


def decide_early(drafts: Sequence[Draft], context: IngestContext) -> "DecisionCache":
    """Decide on the longer *drafts* before the transaction; if a candidate changes until then, it is decided again."""
    decided = DecisionCache()
    longer = (
        [draft for draft in drafts if len(draft.memory.content) > LONG_TEXT_CHARACTERS]
        if context.profile.dedup == "words"
        else []
    )
    for part in _batches(longer, context):
        batch = [_entry(draft, owner, context) for draft, owner in _own_ids(part, context.store)]
        few = len(batch) <= MAX_DRAFTS_BY_VECTOR
        _decide_all(batch, _find_existing(batch, context, few=few), decided.by(DECIDE[context.profile.dedup]))
    return decided


class DecisionCache:
    """Decisions on long drafts so far. One is valid while the draft has the same candidates."""

    def __init__(self) -> None:
        self._results: dict[
            tuple[bytes, tuple[Target, ...]], tuple[Memory, Sequence[DuplicateCandidate], DedupResult]
        ] = {}

    def by(self, decide: Decide) -> Decide:
        """Return *decide* with this cache in front."""

        def known(memory: Memory, candidates: Sequence[DuplicateCandidate]) -> DedupResult:
            if len(memory.content) <= LONG_TEXT_CHARACTERS:
                return decide(memory, candidates)
            key = memory.digest, tuple(each.target for each in candidates)
            held = self._results.get(key)
            if held is not None and held[:2] == (memory, candidates):
                return held[2]
            result = decide(memory, candidates)
            self._results[key] = (memory, candidates, result)
            return result

        return known


Key = tuple[str, str, str | bytes]
"""Project, kind, and the external id or the digest of the content."""


class _Entry(Struct, frozen=True, kw_only=True):
    """A draft of a batch, analyzed, and the key by which another one is the same."""

    draft: Draft
    memory: Memory
    tokens: TokenizedMemory
    key: Key | None
    standalone: bool
    owner: Memory | None = None
    """The memory with its external id, if the writer may not change that one."""

    def stated(self, context: IngestContext) -> tuple[Fact, ...]:
        """Return its facts."""
        return context.facts(self.memory) if self.draft.facts is None else self.draft.facts


def _entry(draft: Draft, owner: Memory | None, context: IngestContext) -> _Entry:
    memory, standalone = draft.memory, is_standalone(draft.memory)
    name = memory.external_id if memory.external_id is not None else None if standalone else memory.digest
    key = None if name is None else (memory.project, memory.kind, name)
    tokens = context.analyse(memory, ()) if draft.tokens is None else draft.tokens
    return _Entry(draft=draft, memory=memory, tokens=tokens, key=key, standalone=standalone, owner=owner)


def _own_ids(drafts: Sequence[Draft], store: Store) -> list[tuple[Draft, Memory | None]]:
    """Return each draft with the memory that owns its external id, if the writer may not change that one.

    Such a draft gets an id of its own: an agent's record "t-1" becomes "agent:t-1" next to the owner's, and stays that.
    """
    renamed, owners = list(drafts), dict[int, Memory]()
    open_ids = [place for place, each in enumerate(drafts) if each.memory.external_id and each.memory.trust != "owner"]
    while open_ids:
        held = _owners([renamed[place].memory for place in open_ids], store)
        taken = {place: memory for place, memory in zip(open_ids, held, strict=True) if memory is not None}
        for place, owner in taken.items():
            memory = renamed[place].memory
            own = replace(memory, external_id=f"{memory.trust}:{memory.external_id}")
            renamed[place] = replace(renamed[place], memory=own)
            owners.setdefault(place, owner)
        open_ids = list(taken)
    return [(each, owners.get(place)) for place, each in enumerate(renamed)]


def _owners(memories: Sequence[Memory], store: Store) -> list[Memory | None]:
    """Return the memory with the external id of each of *memories*, if the writer may not change that one."""
    rows: dict[tuple[str, str, str], int] = {}
    for project in {memory.project for memory in memories}:
        names = [(each.kind, each.external_id or "") for each in memories if each.project == project]
        rows |= {(project, *key): row for key, row in store.known(project, external_ids=names).by_external_id.items()}
    held = store.load(sorted(set(rows.values())), scope=ALL_PROJECTS) if rows else {}
    found = [held.get(rows.get((each.project, each.kind, each.external_id or ""), 0)) for each in memories]
    return [
        None if old is None or may_change(memory.trust, old) else old
        for memory, old in zip(memories, found, strict=True)
    ]


def _ingest_batch(
    drafts: Sequence[Draft], context: IngestContext, decided: DecisionCache, *, few: bool
) -> list[IngestResult]:
    batch = [_entry(draft, owner, context) for draft, owner in _own_ids(drafts, context.store)]
    existing = _find_existing(batch, context, few=few)
    ways = DECIDE if few else IN_BULK
    decisions = _decide_all(batch, existing, decided.by(ways[context.profile.dedup]))
    ids = _insert(batch, decisions, context)
    results = [
        _result(decision, decisions, ids, own=ids.get(place), draft=drafts[place])
        for place, decision in enumerate(decisions)
    ]
    named = {row for result in results for row in (result.of, *result.supersedes)}
    inserted = {row: replace(batch[place].memory, id=row) for place, row in ids.items() if row in named}
    writes = _consequences(batch, results, {**existing.memories, **inserted}, existing.variants, context)
    verdicts = ((row, batch[place].draft.verdict) for place, row in ids.items())
    writes += [Feedback(id=row, verdict=verdict) for row, verdict in verdicts if verdict]
    if writes:
        context.store.apply(writes, at=context.now)
    for result in results:
        held = existing.memories.get(result.of or 0)
        if held is not None and result.decision == "conflicts" and "against" in result.evidence:
            note_contested(held, [result.id], context.store)
    _put_vectors(batch, results, ids, existing.memories, context.store)
    return results


# --- what the store holds already -----------------------------------------------------------

Scores = dict[int, float]


class _Neighbors(Struct, kw_only=True):
    """Stored memories near one draft."""

    near: tuple[int, ...] = ()
    """Those that share many words, and what they contradict."""
    bm25: Scores = field(default_factory=dict)
    cosines: Scores = field(default_factory=dict)

    @property
    def by_words(self) -> tuple[int, ...]:
        """Return those found by words."""
        return (*self.near, *self.bm25)


class StoredCandidates(Struct, frozen=True, kw_only=True):
    """Stored memories that the drafts of a batch may repeat or be near to, by the positions of the drafts."""

    same: Mapping[Key, int]
    neighbors: Sequence[_Neighbors]
    memories: Mapping[int, Memory]
    variants: Mapping[int, tuple[str, ...]]
    forgotten: Mapping[int, int]
    """Memories that the owner forgot, with the words of a draft from somebody else."""

    def current(self, row: int, name: bytes) -> int:
        """Return the successor of memory *row* that has the same words, by their digest, else *row* itself."""
        seen: set[int] = set()
        while row not in seen:
            seen.add(row)
            by = self.memories.get(self.memories[row].superseded_by or 0)
            if by is not None and by.deleted_at is None and by.digest == name:
                row = by.id
        return row

    def candidates(self, place: int, kind: str) -> Iterator[DuplicateCandidate]:
        """Yield what the draft at *place* may be a duplicate of."""
        found = self.neighbors[place]
        for row in dict.fromkeys((*found.near, *found.cosines, *found.bm25)):
            memory, variants = self.memories[row], self.variants.get(row, ())
            if memory.kind == kind and not is_standalone(memory) and is_comparable(memory):
                cosine, bm25 = found.cosines.get(row), found.bm25.get(row)
                yield DuplicateCandidate(memory=memory, variants=variants, cosine=cosine, bm25=bm25)


def _find_existing(batch: Sequence[_Entry], context: IngestContext, *, few: bool) -> StoredCandidates:
    """Look up what is the same and what is near, and load each memory once."""
    store = context.store
    same, neighbors = _known(batch, store, by_words=context.profile.dedup == "words")
    for entry, found in zip(batch, neighbors, strict=True):
        if not entry.standalone and entry.key not in same:
            _look_up(entry, found, context, few=few)
    _add_contradicted(batch, neighbors, store)
    owners = (entry.owner.id for entry in batch if entry.owner is not None)
    forgotten = forgotten_rows([entry.memory for entry in batch], store)
    near = (row for found in neighbors for row in (*found.by_words, *found.cosines))
    rows = sorted({*same.values(), *owners, *forgotten.values(), *near})
    memories = _with_successors(rows, same.values(), store) if rows else {}
    variants = store.wordings(list(memories), scope=ALL_PROJECTS) if rows else {}
    return StoredCandidates(same=same, neighbors=neighbors, memories=memories, variants=variants, forgotten=forgotten)


def _look_up(entry: _Entry, found: _Neighbors, context: IngestContext, *, few: bool) -> None:
    """Add what BM25 and vectors find for a draft that is new."""
    by_words, embedding = context.profile.dedup == "words", entry.draft.embedding
    if embedding is not None and embedding.given and by_words and not few:
        embedding = None
    if few or embedding is not None or not by_words:
        found.bm25 = by_bm25(entry.memory, context)
    if embedding is None:
        return
    if not by_words or (few and max(found.by_words, default=0) <= MAX_SCANNED_ID):
        found.cosines = _nearest(embedding, entry.memory, context)
    if by_words:
        rows = [row for row in found.by_words if row not in found.cosines]
        found.cosines |= _cosines(embedding, rows, context)


def _add_contradicted(batch: Sequence[_Entry], neighbors: Sequence[_Neighbors], store: Store) -> None:
    """Add the memories that near ones contradict, for drafts that are not the owner's.

    A writer who says many similar things must not crowd out what the owner says.
    """
    others = [found for entry, found in zip(batch, neighbors, strict=True) if entry.memory.trust != "owner"]
    rows = sorted({row for found in others for row in found.by_words})
    events = store.history(rows, scope=ALL_PROJECTS, verbs=DECIDING) if rows else {}
    opposed = {row: contradicted(log) for row, log in events.items()}
    for found in others:
        added = (other for row in found.by_words for other in opposed.get(row, ()))
        found.near = (*found.near, *dict.fromkeys(added))


def _with_successors(rows: Sequence[int], same: Iterable[int], store: Store) -> dict[int, Memory]:
    """Load *rows*, and all successors of the *same* words."""
    memories = store.load(rows, scope=ALL_PROJECTS)
    newer = {memories[row].superseded_by or 0 for row in same if row in memories} - {0, *memories}
    return memories | with_successors(newer, memories.keys(), lambda ids: store.load(ids, scope=ALL_PROJECTS))


def _known(batch: Sequence[_Entry], store: Store, *, by_words: bool) -> tuple[dict[Key, int], list[_Neighbors]]:
    """Return the memory of each key and, *by_words*, the memories that share many words with each entry."""
    same: dict[Key, int] = {}
    neighbors = [_Neighbors() for _ in batch]
    for project in {each.memory.project for each in batch}:
        places = [place for place, each in enumerate(batch) if each.memory.project == project]
        keys = [key for place in places if (key := batch[place].key) is not None]
        compared = [place for place in places if by_words and not batch[place].standalone]
        known = store.known(
            project,
            digests=[(kind, name) for _, kind, name in keys if isinstance(name, bytes)],
            external_ids=[(kind, name) for _, kind, name in keys if isinstance(name, str)],
            minhashes=[batch[place].tokens.minhash for place in compared],
        )
        same |= {(project, *key): row for key, row in known.by_digest.items()}
        same |= {(project, *key): row for key, row in known.by_external_id.items()}
        for place, rows in zip(compared, known.near, strict=True):
            neighbors[place].near = rows
    return same, neighbors


def _cosines(embedding: Embedding, rows: Sequence[int], context: IngestContext) -> Scores:
    """Return the cosine of *embedding* with each of *rows* that has a vector."""
    generation, vector = embedding.generation, embedding.passages[0].vector
    stored = context.store.vectors(generation.fingerprint, rows, scope=ALL_PROJECTS) if rows else {}
    passages = [(row, each.vector) for row, found in stored.items() for each in found]
    compared = matrix([each for _, each in passages], dimensions=generation.dimensions)
    scores: Scores = {}
    cosines = context.scale(generation).of_all(compared.products(vector, range(len(passages))))
    for (row, _), cosine in zip(passages, cosines, strict=True):
        scores[row] = max(cosine, scores.get(row, -1.0))
    return scores


def _nearest(embedding: Embedding, memory: Memory, context: IngestContext) -> Scores:
    """Return the cosines of the memories nearest to *embedding* in the project and kind of *memory*."""
    vector, scope = embedding.passages[0].vector, Scope(projects=frozenset({memory.project}))
    where = Filter(kinds=(memory.kind,))
    generation = embedding.generation
    hits = context.store.nearest(generation.fingerprint, vector, scope=scope, where=where, limit=MAX_NEAREST)
    scale = context.scale(generation)
    return {hit.id: scale.of(hit.score) for hit in hits.top}


def by_bm25(memory: Memory, context: IngestContext) -> Scores:
    """Return the normalized BM25 of the memories that the significant words of *memory* find.

    Profile `oro` looks up all of them, others only names and the longest words, which are rare and so cheap.
    """
    words, oro = context.profile.words, context.profile.dedup == "bm25"
    words_of = significant(read_words(memory.content))
    if not oro:
        words_of = tuple(sorted(words_of, key=lambda word: (not word.text[:1].isupper(), -len(word.text))))
    stems = list(dict.fromkeys(stem for word in words_of for stem in word.stems))
    if not stems:
        return {}
    asked = stems[: MAX_DUPLICATE_TERMS if oro else MAX_LINK_TERMS]
    expression = AnyOf(parts=tuple(Word(text=stem) for stem in asked))
    hits = context.store.match_words(
        WordQuery(expression=expression, weights=words.fields),
        scope=Scope(projects=frozenset({memory.project})),
        where=Filter(kinds=(memory.kind,)),
        limit=MAX_NEAREST,
    )
    return {hit.id: min(1.0, hit.score / context.profile.fuse.divisor) for hit in hits.top}


# --- what each draft is ---------------------------------------------------------------------

_STANDALONE: Final = DedupResult(decision="distinct", evidence={"by": "external_id"})
_FORGOTTEN: Final = {"by": "content", "forgotten_by": "owner"}
_TOO_LONG: Final = DedupResult(decision="distinct", evidence={"by": "length"})


def _decide_all(batch: Sequence[_Entry], existing: StoredCandidates, decide: Decide) -> list[DedupResult]:
    """Return what each draft is to the stored memories and to the earlier drafts of the batch."""
    same: dict[Key, Target] = {key: Existing(row) for key, row in existing.same.items()}
    earlier: dict[tuple[str, str], dict[int, list[int]]] = defaultdict(dict)
    decisions = []
    for place, entry in enumerate(batch):
        memory, own = entry.memory, InBatch(place)
        if not entry.standalone and existing.forgotten.get(place) in existing.memories:
            forgotten = Existing(existing.forgotten[place])
            decisions.append(DedupResult(decision="identical", of=forgotten, evidence=_FORGOTTEN))
            continue
        of: Target = own if entry.key is None else same.setdefault(entry.key, own)
        replaces = None
        if isinstance(of, Existing) and not entry.standalone:
            of, replaces = _holder(memory, of, own, existing)
        if entry.owner is not None and (of == own or entry.owner.digest == memory.digest):
            decisions.append(_beside(memory, entry.owner))
            if entry.key is not None and decisions[-1].decision == "identical":
                del same[entry.key]  # no memory has this id yet
        elif of != own:
            decisions.append(_identical(entry, of, existing.memories.get(row_of(of) or 0)))
        elif entry.standalone or not is_comparable(memory):
            decisions.append(_STANDALONE if entry.standalone else _TOO_LONG)
        else:
            keys, met = entry.tokens.minhash, earlier[memory.project, memory.kind]
            near = sorted({other for key in keys for other in met.get(key, ())[-ALIKE:]})
            in_batch = [DuplicateCandidate(memory=batch[other].memory, place=other) for other in near]
            candidates = [*existing.candidates(place, memory.kind), *in_batch]
            decisions.append(decide_by_trust(memory, candidates, decide, replaces=replaces))
            if entry.key is not None:
                same[entry.key] = own
            for key in keys if not _is_guarded(decisions[-1]) else ():
                met.setdefault(key, []).append(place)
    return decisions


def _holder(memory: Memory, of: Existing, own: InBatch, existing: StoredCandidates) -> tuple[Target, Existing | None]:
    """Return the memory that holds the words of *memory* now, or the draft itself and the memory that it replaces.

    The words of a trusted writer are kept as they were given.
    """
    held = existing.memories[existing.current(of.id, memory.digest)]
    if not outranks(memory.trust, held):
        return Existing(held.id), None
    return own, None if is_standalone(held) else Existing(held.id)


def _is_guarded(decision: DedupResult) -> bool:
    """Return whether a draft repeats a memory that its writer may not change: nothing of it is kept."""
    return decision.decision in MERGED and "against" in decision.evidence


def _identical(entry: _Entry, of: Target, held: Memory | None) -> DedupResult:
    """Return the decision on a draft with the key of another one, which is *held* if it is stored already."""
    evidence: dict[str, object] = {"by": "external_id" if entry.standalone else "content"}
    if held is not None and not may_change(entry.memory.trust, held):
        evidence |= against(entry.memory.trust, held)
    return DedupResult(decision="identical", of=of, evidence=evidence)


def _beside(memory: Memory, owner: Memory) -> DedupResult:
    """Return the decision on a record whose external id belongs to *owner*, which its writer may not change."""
    same = owner.digest == memory.digest
    evidence = {"by": "external_id", **against(memory.trust, owner)}
    return DedupResult(decision="identical" if same else "conflicts", of=Existing(owner.id), evidence=evidence)


def _resolve(target: Target | None, decisions: Sequence[DedupResult], ids: Mapping[int, int]) -> int | None:
    """Return the id of *target*; a draft may itself have been merged into another one."""
    while isinstance(target, InBatch):
        if target.place in ids:
            return ids[target.place]
        target = decisions[target.place].of
    return row_of(target)


# --- what is written ------------------------------------------------------------------------


def _insert(batch: Sequence[_Entry], decisions: Sequence[DedupResult], context: IngestContext) -> dict[int, int]:
    """Insert the drafts that become memories of their own; return their ids by position."""
    new = [place for place, decision in enumerate(decisions) if decision.decision not in MERGED]
    ids: dict[int, int] = {}
    for run in _runs(new, decisions):
        inserts = [
            Insert(
                memory=batch[place].memory,
                facts=batch[place].stated(context),
                detail=_detail(decisions[place], of=_resolve(decisions[place].of, decisions, ids)),
                tokens=batch[place].tokens,
            )
            for place in run
        ]
        ids.update(zip(run, context.store.apply(inserts, at=context.now), strict=True))
    return ids


def _runs(new: Sequence[int], decisions: Sequence[DedupResult]) -> Iterator[list[int]]:
    """Yield runs of *new* in which no draft refers to another one of the run: that one needs an id first."""
    run: list[int] = []
    for place in new:
        of = decisions[place].of
        if run and isinstance(of, InBatch) and of.place >= run[0]:
            yield run
            run = []
        run.append(place)
    if run:
        yield run


def _detail(result: DedupResult, *, of: int | None) -> Mapping[str, object]:
    """Return what the event of a new memory says of the decision.

    A draft that is merely near has no id yet, and the event does not wait for one.
    """
    near = row_of(result.proposes)
    if result.decision == "distinct" and near is None:
        return NOTHING
    about = {**result.evidence, "proposes": near, "of": of}
    return {"decision": result.decision, **{key: value for key, value in about.items() if value is not None}}


def _result(
    decision: DedupResult,
    decisions: Sequence[DedupResult],
    ids: Mapping[int, int],
    *,
    own: int | None,
    draft: Draft,
) -> IngestResult:
    of = _resolve(decision.of, decisions, ids)
    row = own if own is not None else of
    if row is None:
        raise AssertionError("a merged draft has a target")
    further = (_resolve(each, decisions, ids) for each in decision.supersedes)
    near = _resolve(decision.proposes, decisions, ids)
    return IngestResult(
        id=row,
        decision=decision.decision,
        of=of,
        secrets=secrets_of(draft, row),
        evidence=decision.evidence if near is None else {**decision.evidence, "proposes": near},
        supersedes=tuple(each for each in further if each is not None),
    )


def _consequences(
    batch: Sequence[_Entry],
    results: list[IngestResult],
    memories: dict[int, Memory],
    variants: Mapping[int, tuple[str, ...]],
    context: IngestContext,
) -> list[Write]:
    """Return what the decisions change in other memories; note in *results* where nothing changed."""
    texts = {
        row: {memories[row].digest, *map(digest, variants.get(row, ()))} for row in {each.of for each in results} if row
    }
    writes: list[Write] = []
    for place, result in enumerate(results):
        if result.of is None:
            continue
        memory, old = batch[place].memory, memories[result.of]
        for row in result.superseded:
            if may_replace(memory.trust, memories[row]):
                memories[row] = replace(memories[row], superseded_by=result.id)
                detail = {"by": result.id, **result.evidence}
                writes.append(Revise(memory=memories[row], verb="supersede", detail=detail))
        write = _consequence(memory, result, old, texts[old.id], context)
        if write is None:
            results[place] = replace(result, written=result.decision not in MERGED)
            continue
        if isinstance(write, Merge):
            texts[old.id].add(memory.digest)
            memories[old.id] = replace(old, confidence=write.confidence)
        elif isinstance(write, Revise):
            memories[old.id] = write.memory
        writes.append(write)
    return writes


def _consequence(
    memory: Memory, result: IngestResult, old: Memory, texts: set[bytes], context: IngestContext
) -> Write | None:
    if result.decision not in MERGED or not may_change(memory.trust, old) or "forgotten_by" in result.evidence:
        return None
    if memory.external_id is not None:
        new = replace(revised(old, memory), pinned=old.pinned or memory.pinned)
        return None if new == old else Revise(memory=new, facts=context.facts(new))
    variant = None if memory.digest in texts else memory.content
    confidence = max(old.confidence, memory.confidence)
    if variant is None and confidence == old.confidence:
        return None
    detail = {"decision": result.decision, "source": memory.source, **result.evidence}
    return Merge(id=old.id, confidence=confidence, wording=variant, detail=detail)


def _put_vectors(
    batch: Sequence[_Entry],
    results: Sequence[IngestResult],
    ids: Mapping[int, int],
    held: Mapping[int, Memory],
    store: Store,
) -> None:
    """Store the vectors of new memories, and those that a caller brought for a memory it may change."""
    by_generation: dict[Generation, list[EmbeddedMemory]] = defaultdict(list)
    for place, entry in enumerate(batch):
        made, old = entry.draft.embedding, held.get(results[place].id)
        if made is not None and (place in ids or (made.given and (old is None or may_change(entry.memory.trust, old)))):
            row, meaning = results[place].id, entry.memory.meaning
            by_generation[made.generation].append(
                EmbeddedMemory(memory_id=row, meaning=meaning, passages=made.passages)
            )
    for generation, embedded in by_generation.items():
        store.put_vectors(generation, embedded)
