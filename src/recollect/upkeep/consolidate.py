"""Find what intake missed: merges and links are proposed first, applied on demand, undone on demand.

Candidates are found by words (minhash, BM25) and by the vectors stored. Only what the text comparison of intake calls
the same is merged; where the profile takes a high cosine for a duplicate (`oro`), that merges too, unless a number, a
date, a name or a negation differs. Everything else that is near is proposed as a link: so is what another writer of
lower or higher trust says, and what is pinned. Nothing is deleted.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from recollect.decay import age_days, half_life_decay
from recollect.records import (
    ALL_PROJECTS,
    NO_FILTER,
    Event,
    FactQuery,
    Filter,
    Forget,
    Memory,
    Merge,
    ReinforceFact,
    Revise,
    Scope,
    Write,
    facts_by_memory,
)
from recollect.remember.context import IngestContext
from recollect.remember.dedup import COSINE, MERGED, DedupResult, DuplicateCandidate, decide, guard, is_standalone
from recollect.remember.ingest import MAX_NEAREST, by_bm25
from recollect.stores.contract import Store
from recollect.trust import capped, linked, may_merge
from recollect.upkeep.facts import Conflict, by_project, repeated

VERB: Final = "consolidate"
BATCH: Final = 500
"""How many memories are compared at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeProposal:
    """Two memories that say the same: *gone* goes into *kept*."""

    kept: int
    gone: int
    evidence: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkProposal:
    """A memory and an earlier one that is near it, for a person to look at."""

    id: int
    near: int
    evidence: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidation:
    """What was proposed, and whether it was done."""

    merges: tuple[MergeProposal, ...] = ()
    links: tuple[LinkProposal, ...] = ()
    faded: tuple[int, ...] = ()
    facts: tuple[tuple[int, int], ...] = ()
    """Facts said twice: the one kept, the one superseded."""
    applied: bool = False


def plan_consolidation(context: IngestContext, *, floor: float = 0.0, limit: int = 50) -> Consolidation:
    """Return what a consolidation would do: at most *limit* merges and links; what has decayed below *floor* goes."""
    live = _live(context)
    memories = {row: memory for row, memory in live.items() if not is_standalone(memory)}
    merges, links = _propose(memories, context, limit=limit)
    said = by_project(context.store, scope=context.scope)
    return Consolidation(
        merges=tuple(merges),
        links=tuple(_not_linked_yet(links, context)[:limit]),
        faded=tuple(_faded(memories.values(), context, floor)),
        facts=tuple((kept.id, lost.id) for facts in said for kept, lost in repeated(facts, live)),
    )


def apply_consolidation(plan: Consolidation, *, store: Store, now: datetime) -> None:
    """Do what *plan* proposes, all or none; a link becomes an event of the later memory."""
    rows = {row for each in plan.merges for row in (each.kept, each.gone)} | {each.id for each in plan.links}
    rows |= set(plan.faded)
    with store.transaction():
        memories = store.load(sorted(rows), scope=ALL_PROJECTS)
        writes = [*_supersede_facts({lost for _, lost in plan.facts}, store), *_merge(plan.merges, memories)]
        writes += [
            Revise(memory=memories[each.id], verb="link", detail={"proposes": each.near, **each.evidence})
            for each in plan.links
        ]
        faded = [row for row in plan.faded if not memories[row].pinned]  # it may have been pinned meanwhile
        writes += [Forget(id=row, detail={"reason": "faded", "by": VERB}) for row in faded]
        store.apply(writes, at=now)


def undo_consolidation(context: IngestContext) -> tuple[int, ...]:
    """Bring back every memory that a consolidation merged into another; return them."""
    store, scope = context.store, context.scope
    ids = store.browse(scope=scope, where=Filter(include_superseded=True), limit=2**62).ids
    memories = store.load(ids, scope=scope)
    events = store.history([row for row, memory in memories.items() if memory.superseded_by], scope=scope)
    merged = sorted(row for row, log in events.items() if _last_verb(log) == VERB)
    back = [Revise(memory=replace(memories[row], superseded_by=None), verb="unmerge") for row in merged]
    store.apply(back, at=context.now)
    return tuple(merged)


def _last_verb(events: Sequence[Event]) -> str:
    """Return the last verb that says whether a memory is merged into another."""
    verbs = [event.verb for event in events if event.verb in (VERB, "unmerge", "supersede")]
    return verbs[-1] if verbs else ""


# --- what is proposed -----------------------------------------------------------------------


def _live(context: IngestContext) -> dict[int, Memory]:
    """Return the memories that are neither forgotten nor superseded, by id."""
    ids = sorted(context.store.browse(scope=context.scope, where=NO_FILTER, limit=2**62).ids)
    return context.store.load(ids, scope=context.scope)


def _propose(
    memories: Mapping[int, Memory], context: IngestContext, *, limit: int
) -> tuple[list[MergeProposal], list[LinkProposal]]:
    """Compare each memory with the earlier ones near it; return what to merge and what to link."""
    variants = context.store.wordings(list(memories), scope=context.scope)
    merges: dict[int, MergeProposal] = {}
    links = []
    for memory, near in _near(list(memories.values()), context):
        if len(merges) == limit:
            break
        earlier = [row for row in near if row < memory.id and row in memories and row not in merges]
        candidates = [
            DuplicateCandidate(memory=memories[row], variants=variants.get(row, ()), cosine=near[row])
            for row in earlier
            if memories[row].kind == memory.kind
        ]
        merge = _merge_proposal(memory, candidates, context)
        if merge is not None:
            merges[memory.id] = merge
        elif (link := _link(memory, guard(decide(memory, candidates), memory, memories))) is not None:
            links.append(link)
    return list(merges.values()), links


def missed_conflicts(context: IngestContext) -> list[Conflict]:
    """Return the memories among the newest that contradict an earlier one near them, as intake would decide it."""
    ids = sorted(context.store.browse(scope=context.scope, where=NO_FILTER, limit=BATCH).ids)
    held = context.store.load(ids, scope=context.scope)
    found = []
    for memory, near in _near([each for each in held.values() if not is_standalone(each)], context):
        rows = [row for row in near if row < memory.id]
        others = {**context.store.load([row for row in rows if row not in held], scope=context.scope), **held}
        candidates = [
            DuplicateCandidate(memory=others[row], cosine=near[row])
            for row in rows
            if row in others and others[row].kind == memory.kind and others[row].superseded_by is None
        ]
        result = decide(memory, candidates)
        if result.decision == "conflicts" and result.of is not None:
            found.append(Conflict(one=memory, other=others[result.of], kind="memory"))
    return found


def _merge_proposal(
    memory: Memory, candidates: Sequence[DuplicateCandidate], context: IngestContext
) -> MergeProposal | None:
    """Return the merge of *memory* into one of *candidates*, if it may be merged into any."""
    result = decide(memory, [each for each in candidates if may_merge(memory, each.memory)])
    into = _merged_into(result, context)
    return None if into is None else MergeProposal(kept=into, gone=memory.id, evidence=result.evidence)


def _near(memories: Sequence[Memory], context: IngestContext) -> Iterator[tuple[Memory, dict[int, float | None]]]:
    """Yield each memory with those near it by words or by vector, and their cosines where they are known."""
    generations = [each for each in context.store.generations(scope=context.scope) if each.memories]
    fingerprint = max(generations, key=lambda each: each.memories).fingerprint if generations else None
    for start in range(0, len(memories), BATCH):
        batch = memories[start : start + BATCH]
        by_words = _by_words(batch, context)
        by_vector = _by_vector(batch, by_words, fingerprint, context.store) if fingerprint else {}
        for memory in batch:
            yield memory, {**dict.fromkeys(by_words[memory.id]), **by_vector.get(memory.id, {})}


def _by_words(memories: Sequence[Memory], context: IngestContext) -> dict[int, tuple[int, ...]]:
    near: dict[int, tuple[int, ...]] = {}
    for project in {memory.project for memory in memories}:
        mine = [memory for memory in memories if memory.project == project]
        known = context.store.known(project, minhashes=[context.analyse(memory, ()).minhash for memory in mine])
        near |= {memory.id: (*rows, *by_bm25(memory, context)) for memory, rows in zip(mine, known.near, strict=True)}
    return near


def _by_vector(
    memories: Sequence[Memory], found: Mapping[int, Sequence[int]], fingerprint: str, store: Store
) -> dict[int, dict[int, float]]:
    """Return the memories nearest to each by its first passage, and those *found* by words, with their cosines."""
    passages = store.vectors(fingerprint, [memory.id for memory in memories], scope=ALL_PROJECTS)
    near = {}
    for memory in memories:
        if memory.id in passages:
            scope, where = Scope(projects=frozenset({memory.project})), Filter(kinds=(memory.kind,))
            vector = passages[memory.id][0].vector
            hits = store.nearest(
                fingerprint, vector, scope=scope, where=where, limit=MAX_NEAREST + 1, score_ids=found[memory.id]
            )
            scored = {hit.id: hit.score for hit in (*hits.top, *hits.by_id.values())}
            near[memory.id] = {row: score for row, score in scored.items() if row != memory.id}
    return near


def _merged_into(result: DedupResult, context: IngestContext) -> int | None:
    """Return the memory that one with this *result* is merged into, if it may be merged."""
    if result.decision in MERGED:
        return result.of
    if context.profile.dedup == "bm25" and _cosine(result) > COSINE and not result.evidence["differs"]:
        return int(str(result.evidence["proposes"]))
    return None


def _link(memory: Memory, result: DedupResult) -> LinkProposal | None:
    """Return the link that *result* is worth: another value, the contrary, the same thing, or a high cosine."""
    near, certain = result.of or result.evidence.get("proposes"), {"against", "related"} & result.evidence.keys()
    if near is None or (result.decision == "distinct" and _cosine(result) <= COSINE and not certain):
        return None
    evidence = {key: each for key, each in result.evidence.items() if key != "proposes"}
    return LinkProposal(id=memory.id, near=int(str(near)), evidence={"decision": result.decision, **evidence})


def _cosine(result: DedupResult) -> float:
    return float(str(result.evidence.get("cosine") or 0.0))


def _not_linked_yet(links: Sequence[LinkProposal], context: IngestContext) -> list[LinkProposal]:
    """Return the *links* that no event names yet, the nearest by cosine first."""
    events = context.store.history([each.id for each in links], scope=context.scope) if links else {}
    known = {row: linked(log) for row, log in events.items()}
    fresh = [each for each in links if each.near not in known.get(each.id, {})]
    return sorted(fresh, key=lambda each: (-float(str(each.evidence.get("cosine", 0.0))), each.id))


def _faded(memories: Iterable[Memory], context: IngestContext, floor: float) -> Iterator[int]:
    """Yield the memories whose confidence has decayed below *floor*; pinned ones never do."""
    for memory in memories:
        left = half_life_decay(age_days(memory.created_at, context.now), context.profile.weigh.half_life_days)
        if not memory.pinned and memory.confidence * left < floor:
            yield memory.id


# --- what is written ------------------------------------------------------------------------


def _merge(merges: Sequence[MergeProposal], memories: dict[int, Memory]) -> Iterator[Write]:
    for each in merges:
        kept, gone = memories[each.kept], memories[each.gone]
        if not may_merge(gone, kept):
            continue
        confidence = capped(max(kept.confidence, gone.confidence), kept.trust)
        memories[kept.id] = replace(kept, confidence=confidence)
        detail = {"by": VERB, "of": gone.id, **each.evidence}
        yield Merge(id=kept.id, confidence=confidence, wording=gone.content, detail=detail)
        yield Revise(memory=replace(gone, superseded_by=kept.id), verb=VERB, detail={"into": kept.id})


def _supersede_facts(lost: set[int], store: Store) -> Iterator[Write]:
    """Yield the writes that supersede the facts *lost*; nothing is left of their confidence."""
    facts = [fact for fact in store.facts(FactQuery(), scope=ALL_PROJECTS) if fact.id in lost] if lost else []
    rows = tuple(sorted({fact.memory_id for fact in facts}))
    if not rows:
        return
    memories = store.load(rows, scope=ALL_PROJECTS)
    stated = facts_by_memory(store.facts(FactQuery(memory_ids=rows, include_superseded=True), scope=ALL_PROJECTS))
    for row in rows:
        now = tuple(replace(fact, state="superseded") if fact.id in lost else fact for fact in stated[row])
        yield Revise(memory=memories[row], verb=VERB, facts=now)
    for fact in facts:
        yield ReinforceFact(id=fact.id, confidence=0.0, last_reinforced=fact.last_reinforced, detail={"by": VERB})
