"""Ingest: decide what each draft is to what the store holds already, then write it. Nothing is discarded."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from recollect.errors import ModelError
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
from recollect.remember.dedup import DECIDE, DedupResult, DuplicateCandidate, is_standalone
from recollect.remember.embed import embed_memories
from recollect.stores.contract import ALIKE, Store
from recollect.text.tokenizer import read_words, significant

BATCH: Final = 500
"""How many drafts are decided on and written together; those before them are stored by then."""
MERGED: Final = ("identical", "restates")
"""The decisions after which a draft is no memory of its own."""
MAX_NEAREST: Final = 5
"""How many memories near by vector, or by BM25, a draft is compared with."""
BM25_DIVISOR: Final = 25.0
"""What profile `oro` divides BM25 by, so that most scores lie between 0 and 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestResult:
    """What became of one draft: the memory that holds it, and why it is that one."""

    id: int
    decision: Decision
    of: int | None = None
    redacted: int = 0
    written: bool = True
    """Whether anything was written: not when the store held just this already."""
    evidence: Mapping[str, object] = field(default_factory=lambda: NOTHING)


def ingest(
    memories: Sequence[Memory], context: IngestContext, *, vectors: Sequence[Sequence[float] | None] = ()
) -> tuple[IngestResult, ...]:
    """Store *memories* with their facts, all or none, and return what became of each, in order.

    *vectors* are those the caller brings, one for each memory.
    """
    given = vectors or [None] * len(memories)
    drafts = [context.prepare(memory, vector) for memory, vector in zip(memories, given, strict=True)]
    embedded = embed_drafts(drafts, context)  # before the transaction: other writers do not wait for a model
    with context.store.transaction():
        return ingest_drafts(embedded, context)


def embed_drafts(drafts: Sequence[Draft], context: IngestContext) -> list[Draft]:
    """Return *drafts* with their vectors where there is a model: what is compared by vector, in one batch.

    Where the model fails, words alone decide, and the vectors stay pending.
    """
    wanted = [place for place, draft in enumerate(drafts) if not (draft.embedding or is_standalone(draft.memory))]
    if context.embedder is None or not wanted:
        return list(drafts)
    try:
        made = embed_memories([drafts[place].memory for place in wanted], context.embedder)
    except ModelError:
        return list(drafts)
    generation = Generation(
        fingerprint=context.embedder.fingerprint, dimensions=context.embedder.dimensions, model=context.model
    )
    embeddings = {
        at: Embedding(generation=generation, passages=each.passages) for at, each in zip(wanted, made, strict=True)
    }
    return [replace(each, embedding=embeddings.get(at, each.embedding)) for at, each in enumerate(drafts)]


def ingest_drafts(drafts: Sequence[Draft], context: IngestContext) -> tuple[IngestResult, ...]:
    """Store *drafts* within the caller's transaction; profile `oro` compares each with all before it."""
    size = BATCH if context.profile.dedup == "words" else 1
    batches = (drafts[start : start + size] for start in range(0, len(drafts), size))
    return tuple(result for batch in batches for result in _ingest_batch(batch, context))


def _ingest_batch(drafts: Sequence[Draft], context: IngestContext) -> list[IngestResult]:
    tokens = [context.analyse(draft.memory, ()) for draft in drafts]
    existing = _find_existing(drafts, tokens, context)
    decisions = _decide_all(drafts, tokens, existing, context)
    ids = _insert(drafts, tokens, decisions, context)
    results = [
        _result(decision, own=ids.get(place), of=_resolve(decision.of, decisions, ids), redacted=drafts[place].redacted)
        for place, decision in enumerate(decisions)
    ]
    inserted = {row: replace(drafts[place].memory, id=row) for place, row in ids.items()}
    writes = _consequences(drafts, results, {**existing.memories, **inserted}, existing.variants, context)
    if writes:
        context.store.apply(writes, at=context.now)
    _put_vectors(drafts, results, ids, context.store)
    return results


# --- what the store holds already -----------------------------------------------------------

Key = tuple[str, str, str | bytes]
"""Project, kind, and the external id or the digest of the content."""
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


def _key(memory: Memory) -> Key | None:
    """Return what makes *memory* the same as another; a turn of a conversation has nothing that does."""
    if memory.external_id is not None:
        return memory.project, memory.kind, memory.external_id
    return None if is_standalone(memory) else (memory.project, memory.kind, memory.digest)


def _find_existing(drafts: Sequence[Draft], tokens: Sequence[TokenizedMemory], context: IngestContext) -> _Existing:
    """Ask the store what is the same and what is near, and load that once."""
    same, near = _known(drafts, tokens, context)
    new = [draft if _key(draft.memory) not in same and not is_standalone(draft.memory) else None for draft in drafts]
    cosines = [_by_vector(draft, near[place], context) if draft else {} for place, draft in enumerate(new)]
    bm25 = [_by_bm25(draft, context) if draft and context.profile.dedup == "bm25" else {} for draft in new]
    rows = sorted({*same.values(), *(row for each in (*near, *cosines, *bm25) for row in each)})
    memories = context.store.load(rows, scope=ALL_PROJECTS) if rows else {}
    variants = context.store.wordings(rows, scope=ALL_PROJECTS) if rows else {}
    return _Existing(same=same, near=near, cosines=cosines, bm25=bm25, memories=memories, variants=variants)


def _known(
    drafts: Sequence[Draft], tokens: Sequence[TokenizedMemory], context: IngestContext
) -> tuple[dict[Key, int], list[tuple[int, ...]]]:
    """Return the memory behind each key that has one, and for each draft those that share much of its words."""
    same: dict[Key, int] = {}
    near: list[tuple[int, ...]] = [()] * len(drafts)
    for project in {draft.memory.project for draft in drafts}:
        places = [place for place, draft in enumerate(drafts) if draft.memory.project == project]
        keys = [key for place in places if (key := _key(drafts[place].memory)) is not None]
        alike = [
            place for place in places if context.profile.dedup == "words" and not is_standalone(drafts[place].memory)
        ]
        known = context.store.known(
            project,
            digests=[(kind, name) for _, kind, name in keys if isinstance(name, bytes)],
            external_ids=[(kind, name) for _, kind, name in keys if isinstance(name, str)],
            minhashes=[tokens[place].minhash for place in alike],
        )
        same |= {
            (project, *key): row for found in (known.by_digest, known.by_external_id) for key, row in found.items()
        }
        for place, rows in zip(alike, known.near, strict=True):
            near[place] = rows
    return same, near


def _by_vector(draft: Draft, also: Sequence[int], context: IngestContext) -> Scores:
    """Return the cosines of the memories nearest to *draft* by vector, and of those in *also*."""
    if draft.embedding is None:
        return {}
    hits = context.store.nearest(
        draft.embedding.generation.fingerprint,
        draft.embedding.passages[0].vector,
        scope=Scope(projects=frozenset({draft.memory.project})),
        where=Filter(kinds=(draft.memory.kind,)),
        limit=MAX_NEAREST,
        score_ids=also,
    )
    return {hit.id: hit.score for hit in (*hits.top, *hits.by_id.values())}


def _by_bm25(draft: Draft, context: IngestContext) -> Scores:
    """Return the normalised BM25 of the memories that the significant words of *draft* find."""
    words, memory = context.profile.words, draft.memory
    stems = dict.fromkeys(stem for word in significant(read_words(memory.content)) for stem in word.stems)
    if not stems:
        return {}
    expression = AnyOf(parts=tuple(Word(text=stem) for stem in list(stems)[: words.max_terms]))
    hits = context.store.match_words(
        WordQuery(expression=expression, weights=words.fields),
        scope=Scope(projects=frozenset({memory.project})),
        where=Filter(kinds=(memory.kind,)),
        limit=MAX_NEAREST,
    )
    return {hit.id: min(1.0, hit.score / BM25_DIVISOR) for hit in hits.top}


# --- what each draft is ---------------------------------------------------------------------

_STANDALONE: Final = DedupResult(decision="distinct", evidence={"by": "external_id"})


def _decide_all(
    drafts: Sequence[Draft], tokens: Sequence[TokenizedMemory], existing: _Existing, context: IngestContext
) -> list[DedupResult]:
    """Return what each draft is; an `of` below 0 is -1 - the place of an earlier draft of the batch."""
    same, deciding = dict(existing.same), DECIDE[context.profile.dedup]
    earlier: dict[tuple[str, str, int], list[int]] = defaultdict(list)
    decisions = []
    for place, (draft, analysed) in enumerate(zip(drafts, tokens, strict=True)):
        memory, key = draft.memory, _key(draft.memory)
        of = same.setdefault(key, -1 - place) if key is not None else -1 - place
        if of != -1 - place:
            by = "external_id" if memory.external_id is not None else "content"
            decisions.append(DedupResult(decision="identical", of=of, evidence={"by": by}))
        elif is_standalone(memory):
            decisions.append(_STANDALONE)
        else:
            keys = [(memory.project, memory.kind, part) for part in analysed.minhash]
            fresh = {other for each in keys for other in earlier[each][-ALIKE:]}
            in_batch = (DuplicateCandidate(memory=replace(drafts[at].memory, id=-1 - at)) for at in sorted(fresh))
            decisions.append(deciding(memory, [*existing.candidates(place, memory.kind), *in_batch]))
            for each in keys:
                earlier[each].append(place)
    return decisions


def _resolve(of: int | None, decisions: Sequence[DedupResult], ids: Mapping[int, int]) -> int | None:
    """Return the stored id behind *of*, which may name an earlier draft, itself perhaps merged into another."""
    while of is not None and of < 0:
        of = ids.get(-1 - of, decisions[-1 - of].of)
    return of


# --- what is written ------------------------------------------------------------------------


def _insert(
    drafts: Sequence[Draft],
    tokens: Sequence[TokenizedMemory],
    decisions: Sequence[DedupResult],
    context: IngestContext,
) -> dict[int, int]:
    """Insert the drafts that are memories of their own; return the id of each by its place."""
    new = [place for place, decision in enumerate(decisions) if decision.decision not in MERGED]
    ids: dict[int, int] = {}
    for run in _runs(new, decisions):
        inserts = [
            Insert(
                memory=drafts[place].memory,
                facts=context.facts(drafts[place].memory),
                detail=_detail(decisions[place], of=_resolve(decisions[place].of, decisions, ids)),
                tokens=tokens[place],
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


def _result(decision: DedupResult, *, own: int | None, of: int | None, redacted: int) -> IngestResult:
    row = own if own is not None else of
    if row is None:
        raise AssertionError("what is merged has something it is merged into")
    return IngestResult(id=row, decision=decision.decision, of=of, redacted=redacted, evidence=decision.evidence)


def _consequences(
    drafts: Sequence[Draft],
    results: list[IngestResult],
    memories: dict[int, Memory],
    variants: Mapping[int, tuple[str, ...]],
    context: IngestContext,
) -> list[Write]:
    """Return what the decisions change in other memories; mark in *results* where nothing changed."""
    said = {
        row: {memories[row].digest, *map(digest, variants.get(row, ()))} for row in {each.of for each in results} if row
    }
    writes: list[Write] = []
    for place, result in enumerate(results):
        if result.of is None:
            continue
        memory, old = drafts[place].memory, memories[result.of]
        write = _consequence(memory, result, old, said[old.id], context)
        if write is None:
            results[place] = replace(result, written=result.decision not in MERGED)
            continue
        if isinstance(write, Merge):
            said[old.id].add(memory.digest)
            memories[old.id] = replace(old, confidence=write.confidence)
        elif isinstance(write, Revise):
            memories[old.id] = write.memory
        writes.append(write)
    return writes


def _consequence(
    memory: Memory, result: IngestResult, old: Memory, said: set[bytes], context: IngestContext
) -> Write | None:
    if result.decision == "updates":
        superseded = replace(old, superseded_by=result.id)
        return Revise(memory=superseded, verb="supersede", detail={"by": result.id, **result.evidence})
    if result.decision not in MERGED:
        return None
    if memory.external_id is not None:
        new = revised(old, memory)
        return None if new == old else Revise(memory=new, facts=context.facts(new))
    variant = None if memory.digest in said else memory.content
    confidence = max(old.confidence, memory.confidence)
    if variant is None and confidence == old.confidence:
        return None
    detail = {"decision": result.decision, "source": memory.source, **result.evidence}
    return Merge(id=old.id, confidence=confidence, wording=variant, detail=detail)


def _put_vectors(
    drafts: Sequence[Draft], results: Sequence[IngestResult], ids: Mapping[int, int], store: Store
) -> None:
    """Store the vectors of the memories inserted, and those that a caller brought for one the store held already."""
    by_generation: dict[Generation, list[EmbeddedMemory]] = defaultdict(list)
    for place, draft in enumerate(drafts):
        embedding = draft.embedding
        if embedding is not None and (place in ids or embedding.given):
            row, meaning = results[place].id, draft.memory.meaning
            by_generation[embedding.generation].append(
                EmbeddedMemory(memory_id=row, meaning=meaning, passages=embedding.passages)
            )
    for generation, embedded in by_generation.items():
        store.put_vectors(generation, embedded)
