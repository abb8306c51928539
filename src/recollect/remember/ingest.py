"""Ingest: decide what each draft is to what the store holds already, then write it. Nothing is discarded."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Final

from recollect.errors import InputError, ModelError
from recollect.records import (
    ALL_PROJECTS,
    NOTHING,
    AnyOf,
    Decision,
    EmbeddedMemory,
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
from recollect.remember.context import Draft, Embedding, IngestContext, revised
from recollect.remember.dedup import DECIDE, Decide, DedupResult, DuplicateCandidate, is_standalone
from recollect.remember.embed import embed_memories
from recollect.remember.redact import FoundSecret
from recollect.stores.contract import ALIKE, Store
from recollect.text.tokenizer import read_words, significant
from recollect.vectors import matrix

BATCH: Final = 500
"""How many drafts are decided on and written together; those before them are stored by then."""
MERGED: Final = ("identical", "restates")
"""The decisions after which a draft is no memory of its own."""
MAX_NEAREST: Final = 5
"""How many memories near by vector, or by BM25, a draft is compared with."""
MAX_LINK_TERMS: Final = 6
"""By how many of its words a draft is looked up for links."""
MAX_DRAFTS_BY_VECTOR: Final = 16
"""Up to how many drafts at a time are compared by vector too, where the profile does not ask for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestResult:
    """What became of one draft: the memory that holds it, and why it is that one."""

    id: int
    decision: Decision
    of: int | None = None
    secrets: tuple[FoundSecret, ...] = ()
    """What was taken out of it before it was stored."""
    written: bool = True
    """Whether anything was written: not when the store held just this already."""
    evidence: Mapping[str, object] = field(default_factory=lambda: NOTHING)

    @property
    def redacted(self) -> int:
        """How many secrets were taken out."""
        return len(self.secrets)


def secrets_of(draft: Draft, row: int) -> tuple[FoundSecret, ...]:
    """Return what was taken out of *draft*, now that memory *row* holds it."""
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
    embedded = embed_drafts(drafts, context)  # before the transaction: other writers do not wait for a model
    with context.store.transaction():
        return ingest_drafts(embedded, context)


def embed_drafts(drafts: Sequence[Draft], context: IngestContext) -> list[Draft]:
    """Return *drafts* with their vectors, made in one batch, where they are to be compared by vector.

    Profile `oro` cannot decide without; elsewhere a cosine only proposes a link, and bulk does without. Where the
    model fails, words alone decide, and the vectors stay pending.
    """
    wanted = [place for place, draft in enumerate(drafts) if not (draft.embedding or is_standalone(draft.memory))]
    bulk = context.profile.dedup == "words" and len(drafts) > MAX_DRAFTS_BY_VECTOR
    if context.embedder is None or not wanted or bulk:
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


def ingest_drafts(drafts: Sequence[Draft], context: IngestContext) -> tuple[IngestResult, ...]:
    """Store *drafts* within the caller's transaction; profile `oro` compares each with all before it."""
    size = BATCH if context.profile.dedup == "words" else 1
    batches = (drafts[start : start + size] for start in range(0, len(drafts), size))
    return tuple(result for batch in batches for result in _ingest_batch(batch, context))


Key = tuple[str, str, str | bytes]
"""Project, kind, and the external id or the digest of the content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """A draft of a batch, analysed, and the key that makes it the same as another, if it has one."""

    draft: Draft
    memory: Memory
    tokens: TokenizedMemory
    key: Key | None
    standalone: bool


def _entry(draft: Draft, context: IngestContext) -> _Entry:
    memory, standalone = draft.memory, is_standalone(draft.memory)
    name = memory.external_id if memory.external_id is not None else None if standalone else memory.digest
    key = None if name is None else (memory.project, memory.kind, name)
    tokens = context.analyse(memory, ())
    return _Entry(draft=draft, memory=memory, tokens=tokens, key=key, standalone=standalone)


def _ingest_batch(drafts: Sequence[Draft], context: IngestContext) -> list[IngestResult]:
    batch = [_entry(draft, context) for draft in drafts]
    existing = _find_existing(batch, context)
    decisions = _decide_all(batch, existing, DECIDE[context.profile.dedup])
    ids = _insert(batch, decisions, context)
    results = [
        _result(decision, own=ids.get(place), of=_resolve(decision.of, decisions, ids), draft=drafts[place])
        for place, decision in enumerate(decisions)
    ]
    named = {result.of for result in results}
    inserted = {row: replace(batch[place].memory, id=row) for place, row in ids.items() if row in named}
    writes = _consequences(batch, results, {**existing.memories, **inserted}, existing.variants, context)
    if writes:
        context.store.apply(writes, at=context.now)
    _put_vectors(batch, results, ids, context.store)
    return results


# --- what the store holds already -----------------------------------------------------------

Scores = dict[int, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Existing:
    """What the store holds that a batch of drafts may be the same as or near to; by the places of the drafts."""

    same: Mapping[Key, int]
    near: Sequence[Sequence[int]]
    cosines: Sequence[Scores]
    bm25: Sequence[Scores]
    memories: Mapping[int, Memory]
    variants: Mapping[int, tuple[str, ...]]

    def candidates(self, place: int, kind: str) -> Iterator[DuplicateCandidate]:
        """Yield what the draft at *place* may be a duplicate of."""
        cosines, bm25 = self.cosines[place], self.bm25[place]
        for row in dict.fromkeys((*self.near[place], *cosines, *bm25)):
            memory, variants = self.memories[row], self.variants.get(row, ())
            if memory.kind == kind and not is_standalone(memory):
                yield DuplicateCandidate(memory=memory, variants=variants, cosine=cosines.get(row), bm25=bm25.get(row))


def _find_existing(batch: Sequence[_Entry], context: IngestContext) -> _Existing:
    """Ask the store what is the same and what is near, and load that once."""
    by_words = context.profile.dedup == "words"
    same, near = _known(batch, context.store, by_words=by_words)
    bm25: list[Scores] = [{} for _ in batch]
    cosines: list[Scores] = [{} for _ in batch]
    for place, entry in enumerate(batch):
        embedding = None if entry.standalone or entry.key in same else entry.draft.embedding
        if embedding is not None or not (by_words or entry.standalone or entry.key in same):
            bm25[place] = _by_bm25(entry.memory, context)
        if embedding is not None and by_words:
            cosines[place] = _cosines(embedding, (*near[place], *bm25[place]), context.store)
        elif embedding is not None:
            cosines[place] = _nearest(embedding, entry.memory, context.store)
    rows = sorted({*same.values(), *(row for each in (*near, *cosines, *bm25) for row in each)})
    memories = context.store.load(rows, scope=ALL_PROJECTS) if rows else {}
    variants = context.store.wordings(rows, scope=ALL_PROJECTS) if rows else {}
    return _Existing(same=same, near=near, cosines=cosines, bm25=bm25, memories=memories, variants=variants)


def _known(batch: Sequence[_Entry], store: Store, *, by_words: bool) -> tuple[dict[Key, int], list[tuple[int, ...]]]:
    """Return the memory behind each key that has one and, *by_words*, for each entry those that share many of them."""
    same: dict[Key, int] = {}
    near: list[tuple[int, ...]] = [()] * len(batch)
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
            near[place] = rows
    return same, near


def _cosines(embedding: Embedding, rows: Sequence[int], store: Store) -> Scores:
    """Return the cosine of *embedding* with each of *rows* that has a vector.

    It takes a time that does not grow with the store, as finding the nearest does after each write. In MiniLM two
    texts with a cosine above that of a link share words, so that BM25 finds them.
    """
    generation, vector = embedding.generation, embedding.passages[0].vector
    stored = store.vectors(generation.fingerprint, rows, scope=ALL_PROJECTS) if rows else {}
    passages = [(row, each.vector) for row, found in stored.items() for each in found]
    compared = matrix([each for _, each in passages], dimensions=generation.dimensions)
    scores: Scores = {}
    for (row, _), cosine in zip(passages, compared.products(vector, range(len(passages))), strict=True):
        scores[row] = max(cosine, scores.get(row, -1.0))
    return scores


def _nearest(embedding: Embedding, memory: Memory, store: Store) -> Scores:
    """Return the cosines of the memories nearest to *embedding* in the project and kind of *memory*."""
    vector, scope = embedding.passages[0].vector, Scope(projects=frozenset({memory.project}))
    where = Filter(kinds=(memory.kind,))
    hits = store.nearest(embedding.generation.fingerprint, vector, scope=scope, where=where, limit=MAX_NEAREST)
    return {hit.id: hit.score for hit in hits.top}


def _by_bm25(memory: Memory, context: IngestContext) -> Scores:
    """Return the normalised BM25 of the memories that the significant words of *memory* find.

    Profile `oro` asks for all of them; for a link the longest do, which are rare and so cheap to look up.
    """
    words, oro = context.profile.words, context.profile.dedup == "bm25"
    stems = list(dict.fromkeys(stem for word in significant(read_words(memory.content)) for stem in word.stems))
    if not stems:
        return {}
    asked = stems[: words.max_terms] if oro else sorted(stems, key=len, reverse=True)[:MAX_LINK_TERMS]
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


def _decide_all(batch: Sequence[_Entry], existing: _Existing, decide: Decide) -> list[DedupResult]:
    """Return what each draft is; an `of` below 0 is -1 - the place of an earlier draft of the batch."""
    same = dict(existing.same)
    earlier: dict[tuple[str, str, int], list[int]] = defaultdict(list)
    decisions = []
    for place, entry in enumerate(batch):
        memory, own = entry.memory, -1 - place
        of = own if entry.key is None else same.setdefault(entry.key, own)
        if of != own:
            by = "external_id" if entry.standalone else "content"
            decisions.append(DedupResult(decision="identical", of=of, evidence={"by": by}))
        elif entry.standalone:
            decisions.append(_STANDALONE)
        else:
            keys = [(memory.project, memory.kind, part) for part in entry.tokens.minhash]
            near = sorted({other for key in keys for other in earlier[key][-ALIKE:]})
            in_batch = [DuplicateCandidate(memory=replace(batch[other].memory, id=-1 - other)) for other in near]
            decisions.append(decide(memory, [*existing.candidates(place, memory.kind), *in_batch]))
            for key in keys:
                earlier[key].append(place)
    return decisions


def _resolve(of: int | None, decisions: Sequence[DedupResult], ids: Mapping[int, int]) -> int | None:
    """Return the stored id behind *of*, which may name an earlier draft, itself perhaps merged into another."""
    while of is not None and of < 0:
        of = ids.get(-1 - of, decisions[-1 - of].of)
    return of


# --- what is written ------------------------------------------------------------------------


def _insert(batch: Sequence[_Entry], decisions: Sequence[DedupResult], context: IngestContext) -> dict[int, int]:
    """Insert the drafts that are memories of their own; return the id of each by its place."""
    new = [place for place, decision in enumerate(decisions) if decision.decision not in MERGED]
    ids: dict[int, int] = {}
    for run in _runs(new, decisions):
        inserts = [
            Insert(
                memory=batch[place].memory,
                facts=context.facts(batch[place].memory),
                detail=_detail(decisions[place], of=_resolve(decisions[place].of, decisions, ids)),
                tokens=batch[place].tokens,
            )
            for place in run
        ]
        ids.update(zip(run, context.store.apply(inserts, at=context.now), strict=True))
    return ids


def _runs(new: Sequence[int], decisions: Sequence[DedupResult]) -> Iterator[list[int]]:
    """Yield stretches of *new* in which no draft names another one of the stretch: that one needs an id first."""
    run: list[int] = []
    for place in new:
        of = decisions[place].of
        if run and of is not None and of < 0 and -1 - of >= run[0]:
            yield run
            run = []
        run.append(place)
    if run:
        yield run


def _detail(result: DedupResult, *, of: int | None) -> Mapping[str, object]:
    """Return what the event of a new memory says of the decision."""
    evidence = {**result.evidence, "of": of}
    # An earlier draft of the same batch may have no id yet, and a mere resemblance does not wait for one.
    known = {key: each for key, each in evidence.items() if each is not None and not _is_place(each)}
    if result.decision == "distinct" and "proposes" not in known:
        return NOTHING
    return {"decision": result.decision, **known}


def _is_place(value: object) -> bool:
    return isinstance(value, int) and value < 0


def _result(decision: DedupResult, *, own: int | None, of: int | None, draft: Draft) -> IngestResult:
    row = own if own is not None else of
    if row is None:
        raise AssertionError("what is merged has something it is merged into")
    secrets = secrets_of(draft, row)
    return IngestResult(id=row, decision=decision.decision, of=of, secrets=secrets, evidence=decision.evidence)


def _consequences(
    batch: Sequence[_Entry],
    results: list[IngestResult],
    memories: dict[int, Memory],
    variants: Mapping[int, tuple[str, ...]],
    context: IngestContext,
) -> list[Write]:
    """Return what the decisions change in other memories; mark in *results* where nothing changed."""
    texts = {
        row: {memories[row].digest, *map(digest, variants.get(row, ()))} for row in {each.of for each in results} if row
    }
    writes: list[Write] = []
    for place, result in enumerate(results):
        if result.of is None:
            continue
        memory, old = batch[place].memory, memories[result.of]
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
    if result.decision == "updates":
        superseded = replace(old, superseded_by=result.id)
        return Revise(memory=superseded, verb="supersede", detail={"by": result.id, **result.evidence})
    if result.decision not in MERGED:
        return None
    if memory.external_id is not None:
        new = revised(old, memory)
        return None if new == old else Revise(memory=new, facts=context.facts(new))
    variant = None if memory.digest in texts else memory.content
    confidence = max(old.confidence, memory.confidence)
    if variant is None and confidence == old.confidence:
        return None
    detail = {"decision": result.decision, "source": memory.source, **result.evidence}
    return Merge(id=old.id, confidence=confidence, wording=variant, detail=detail)


def _put_vectors(
    batch: Sequence[_Entry], results: Sequence[IngestResult], ids: Mapping[int, int], store: Store
) -> None:
    """Store the vectors of the memories inserted, and those that a caller brought for one the store held already."""
    by_generation: dict[Generation, list[EmbeddedMemory]] = defaultdict(list)
    for place, entry in enumerate(batch):
        made = entry.draft.embedding
        if made is not None and (place in ids or made.given):
            row, meaning = results[place].id, entry.memory.meaning
            by_generation[made.generation].append(
                EmbeddedMemory(memory_id=row, meaning=meaning, passages=made.passages)
            )
    for generation, embedded in by_generation.items():
        store.put_vectors(generation, embedded)
