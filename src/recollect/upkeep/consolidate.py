"""Find merges and links that intake missed: proposed first, applied on demand, undone on demand.

Candidates are found by words (minhash, BM25) and by stored vectors. Only texts that say the same by the rules of intake
are merged. In profile `oro` a high cosine merges too, unless a number, a date, a name or a negation differs. Everything
else that is near is proposed as a link, and so are memories of another trust and pinned ones. Nothing is deleted.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from recollect.decay import age_days, half_life_decay
from recollect.records import (
    ALL_PROJECTS,
    NO_FILTER,
    Event,
    Fact,
    FactQuery,
    Filter,
    Forget,
    Generation,
    Memory,
    Merge,
    ReinforceFact,
    Revise,
    Scope,
    Write,
    facts_by_memory,
)
from recollect.remember.context import IngestContext
from recollect.remember.dedup import (
    COSINE,
    MERGED,
    DedupResult,
    DuplicateCandidate,
    decide,
    guard,
    is_comparable,
    is_standalone,
    row_of,
)
from recollect.remember.ingest import MAX_NEAREST, by_bm25
from recollect.stores.contract import Store
from recollect.trust import linked, may_merge
from recollect.upkeep.facts import Conflict, is_live, memories_in_slices, repeated_in

VERB: Final = "consolidate"
BATCH: Final = 500
"""How many memories are compared at a time."""
SLICE: Final = 25
"""How many proposals are written in one transaction."""
STEADY: Final = (
    "content",
    "kind",
    "project",
    "external_id",
    "thread",
    "pinned",
    "trust",
    "deleted_at",
    "superseded_by",
)
"""The fields that must not have changed since the plan for a memory to be merged, linked or forgotten."""


class MergeProposal(Struct, frozen=True, kw_only=True):
    """Two memories that say the same: *gone* goes into *kept*."""

    kept: int
    gone: int
    evidence: Mapping[str, object]


class LinkProposal(Struct, frozen=True, kw_only=True):
    """A memory and an earlier one that is near it, for a person to review."""

    id: int
    near: int
    evidence: Mapping[str, object]


class Consolidation(Struct, frozen=True, kw_only=True):
    """What was proposed, and whether it was done."""

    merges: tuple[MergeProposal, ...] = ()
    links: tuple[LinkProposal, ...] = ()
    faded: tuple[int, ...] = ()
    facts: tuple[tuple[int, int], ...] = ()
    """Facts said twice: the one kept, the one superseded."""
    applied: bool = False


class Plan(Struct, frozen=True, kw_only=True):
    """What a consolidation proposes, and the memories and facts that it refers to, as they were then."""

    proposed: Consolidation
    memories: Mapping[int, Memory]
    facts: Mapping[int, Fact]


def plan_consolidation(context: IngestContext, *, floor: float = 0.0, limit: int = 50) -> Plan:
    """Return what a consolidation would do: at most *limit* merges and links; memories decayed below *floor* go."""
    merges: dict[int, MergeProposal] = {}
    links: list[LinkProposal] = []
    faded: list[int] = []
    seen: dict[int, Memory] = {}
    for part in memories_in_slices(context.store, scope=context.scope):
        memories = {row: memory for row, memory in part.items() if is_live(memory) and not is_standalone(memory)}
        known = dict(memories)
        if len(merges) < limit:
            links += _propose(memories, context, merges, known=known, limit=limit)
        fading = list(_faded(memories.values(), context, floor))
        named = {*fading, *(row for each in merges.values() for row in (each.kept, each.gone))}
        named |= {row for each in links for row in (each.id, each.near)}
        seen |= {row: memory for row, memory in known.items() if row in named}
        faded += fading
    said = [pair for pairs in repeated_in(context.store, scope=context.scope) for pair in pairs]
    proposed = Consolidation(
        merges=tuple(merges.values()),
        links=tuple(_not_linked_yet(links, context)[:limit]),
        faded=tuple(row for row in faded if row not in merges),
        facts=tuple((kept.id, lost.id) for kept, lost in said),
    )
    return Plan(proposed=proposed, memories=seen, facts={fact.id: fact for pair in said for fact in pair})


def apply_consolidation(plan: Plan, *, store: Store, now: datetime) -> Consolidation:
    """Do what *plan* proposes and return what was done; a link becomes an event of the later memory.

    It is done in slices, each all or none; others write between them. What changed since the plan stays as it is.
    """
    proposed = plan.proposed
    return Consolidation(
        facts=tuple(_in_slices(proposed.facts, lambda part: _supersede_facts(part, plan, store), store, now)),
        merges=tuple(_in_slices(proposed.merges, lambda part: _merge(part, plan, store), store, now)),
        links=tuple(_in_slices(proposed.links, lambda part: _link_all(part, plan, store), store, now)),
        faded=tuple(_in_slices(proposed.faded, lambda part: _forget(part, plan, store), store, now)),
        applied=True,
    )


P = TypeVar("P")


def _in_slices(
    proposals: Sequence[P],
    decide_again: Callable[[Sequence[P]], tuple[list[P], list[Write]]],
    store: Store,
    now: datetime,
) -> Iterator[P]:
    """Write what *decide_again* makes of each slice of *proposals*; yield those that still held."""
    for start in range(0, len(proposals), SLICE):
        with store.transaction():
            held, writes = decide_again(proposals[start : start + SLICE])
            store.apply(writes, at=now)
        yield from held


def undo_consolidation(context: IngestContext, *, dry_run: bool = False) -> tuple[int, ...]:
    """Bring back every memory that a consolidation merged into another; return them. A *dry_run* writes nothing."""
    store, scope = context.store, context.scope
    back: list[int] = []
    for part in memories_in_slices(store, scope=scope):
        superseded = {row: each for row, each in part.items() if each.superseded_by and each.deleted_at is None}
        events = store.history(list(superseded), scope=scope) if superseded else {}
        merged = sorted(row for row, log in events.items() if _last_verb(log) == VERB)
        writes = [Revise(memory=replace(superseded[row], superseded_by=None), verb="unmerge") for row in merged]
        if not dry_run:
            store.apply(writes, at=context.now)
        back += merged
    return tuple(back)


def _last_verb(events: Sequence[Event]) -> str:
    """Return the last verb that merged a memory into another or undid that."""
    verbs = [event.verb for event in events if event.verb in (VERB, "unmerge", "supersede")]
    return verbs[-1] if verbs else ""


# --- what is proposed -----------------------------------------------------------------------


def _propose(
    memories: Mapping[int, Memory],
    context: IngestContext,
    merges: dict[int, MergeProposal],
    *,
    known: dict[int, Memory],
    limit: int,
) -> list[LinkProposal]:
    """Compare each memory with the earlier ones near it; add what to merge to *merges*, return what to link.

    Near ones that are not *known* are loaded and added to it.
    """
    links = []
    for memory, near in _near(list(memories.values()), context):
        if len(merges) == limit:
            break
        earlier = [row for row in near if row < memory.id and row not in merges]
        known |= context.store.load([row for row in earlier if row not in known], scope=context.scope)
        rows = [row for row in earlier if row in known and _is_candidate(known[row], memory)]
        variants = context.store.wordings(rows, scope=context.scope) if rows else {}
        candidates = [
            DuplicateCandidate(memory=known[row], variants=variants.get(row, ()), cosine=near[row]) for row in rows
        ]
        if not is_comparable(memory):
            candidates = []
        merge = _merge_proposal(memory, candidates, context)
        if merge is not None:
            merges[memory.id] = merge
        elif (link := _link(memory, guard(decide(memory, candidates), memory, candidates))) is not None:
            links.append(link)
    return links


def _is_candidate(other: Memory, memory: Memory) -> bool:
    return is_live(other) and not is_standalone(other) and other.kind == memory.kind and is_comparable(other)


def newest_merges(context: IngestContext, *, newest: int = BATCH) -> list[MergeProposal]:
    """Return what to merge among the *newest* memories, as a consolidation would."""
    ids = sorted(context.store.browse(scope=context.scope, where=NO_FILTER, limit=newest).ids)
    held, merges = context.store.load(ids, scope=context.scope), dict[int, MergeProposal]()
    _propose(held, context, merges, known=dict(held), limit=newest)
    return [each for each in merges.values() if each.kept in held]


def missed_conflicts(context: IngestContext, *, newest: int = BATCH) -> list[Conflict]:
    """Return the memories among the *newest* that contradict an earlier one near them by the rules of intake."""
    ids = sorted(context.store.browse(scope=context.scope, where=NO_FILTER, limit=newest).ids)
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
        row = row_of(result.of)
        if result.decision == "conflicts" and row is not None:
            found.append(Conflict(one=memory, other=others[row], kind="memory"))
    return found


def _merge_proposal(
    memory: Memory, candidates: Sequence[DuplicateCandidate], context: IngestContext
) -> MergeProposal | None:
    """Return the merge of *memory* into one of *candidates*, if it may be merged into any."""
    result = decide(memory, [each for each in candidates if may_merge(memory, each.memory)])
    into = _merged_into(result, context)
    return None if into is None else MergeProposal(kept=into, gone=memory.id, evidence=result.evidence)


def _near(memories: Sequence[Memory], context: IngestContext) -> Iterator[tuple[Memory, dict[int, float | None]]]:
    """Yield each memory with the ones near it by words or by vector, and their cosines if known."""
    generations = [each for each in context.store.generations(scope=context.scope) if each.memories]
    fullest = max(generations, key=lambda each: each.memories, default=None)
    for start in range(0, len(memories), BATCH):
        part = memories[start : start + BATCH]
        found = _by_words(part, context)
        by_vector = {} if fullest is None else dict(_by_vector(part, found, fullest, context))
        for memory in part:
            yield memory, {**dict.fromkeys(found[memory.id]), **by_vector.get(memory.id, {})}


def _by_words(memories: Sequence[Memory], context: IngestContext) -> dict[int, tuple[int, ...]]:
    near: dict[int, tuple[int, ...]] = {}
    for project in {memory.project for memory in memories}:
        mine = [memory for memory in memories if memory.project == project]
        known = context.store.known(project, minhashes=[context.analyse(memory, ()).minhash for memory in mine])
        near |= {memory.id: (*rows, *by_bm25(memory, context)) for memory, rows in zip(mine, known.near, strict=True)}
    return near


def _by_vector(
    memories: Sequence[Memory], found: Mapping[int, Sequence[int]], generation: Generation, context: IngestContext
) -> Iterator[tuple[int, dict[int, float]]]:
    """Yield for each memory with a vector those nearest to its first passage, and those *found* by words, with cosines.

    They are of its project and kind.
    """
    store, scale = context.store, context.scale(generation)
    passages = store.vectors(generation.fingerprint, [memory.id for memory in memories], scope=ALL_PROJECTS)
    for memory in memories:
        if memory.id in passages:
            near = store.nearest(
                generation.fingerprint,
                passages[memory.id][0].vector,
                scope=Scope(projects=frozenset({memory.project})),
                where=Filter(kinds=(memory.kind,)),
                limit=MAX_NEAREST + 1,
                score_ids=found[memory.id],
            )
            nearest = [hit for hit in near.top if hit.id != memory.id][:MAX_NEAREST]
            yield memory.id, {hit.id: scale.of(hit.score) for hit in (*near.by_id.values(), *nearest)}


def _merged_into(result: DedupResult, context: IngestContext) -> int | None:
    """Return the memory that one with this *result* is merged into, if it may be merged."""
    if result.decision in MERGED:
        return row_of(result.of)
    if context.profile.dedup == "bm25" and _cosine(result) > COSINE and not result.evidence["differs"]:
        return row_of(result.proposes)
    return None


def _link(memory: Memory, result: DedupResult) -> LinkProposal | None:
    """Return the link that *result* suggests: another value, a denial, the same thing, or a high cosine."""
    near, certain = row_of(result.of or result.proposes), {"against", "related"} & result.evidence.keys()
    if near is None or (result.decision == "distinct" and _cosine(result) <= COSINE and not certain):
        return None
    return LinkProposal(id=memory.id, near=near, evidence={"decision": result.decision, **result.evidence})


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


def _steady(rows: Iterable[int], plan: Plan, store: Store) -> dict[int, Memory]:
    """Return those of *rows* that have not changed since they were compared, as they are now."""
    now = store.load(sorted(set(rows)), scope=ALL_PROJECTS)
    seen = plan.memories
    return {
        row: memory
        for row, memory in now.items()
        if all(getattr(memory, name) == getattr(seen[row], name) for name in STEADY)
    }


def _merge(merges: Sequence[MergeProposal], plan: Plan, store: Store) -> tuple[list[MergeProposal], list[Write]]:
    memories = _steady((row for each in merges for row in (each.kept, each.gone)), plan, store)
    held = [
        each
        for each in merges
        if each.kept in memories and each.gone in memories and may_merge(memories[each.gone], memories[each.kept])
    ]
    writes: list[Write] = []
    for each in held:
        kept, gone = memories[each.kept], memories[each.gone]
        confidence = max(kept.confidence, gone.confidence)
        memories[kept.id] = replace(kept, confidence=confidence)
        detail = {"by": VERB, "of": gone.id, **each.evidence}
        writes.append(Merge(id=kept.id, confidence=confidence, wording=gone.content, detail=detail))
        writes.append(Revise(memory=replace(gone, superseded_by=kept.id), verb=VERB, detail={"into": kept.id}))
    return held, writes


def _link_all(links: Sequence[LinkProposal], plan: Plan, store: Store) -> tuple[list[LinkProposal], list[Write]]:
    memories = _steady((row for each in links for row in (each.id, each.near)), plan, store)
    held = [each for each in links if each.id in memories and each.near in memories]
    return held, [
        Revise(memory=memories[each.id], verb="link", detail={"proposes": each.near, **each.evidence}) for each in held
    ]


def _forget(faded: Sequence[int], plan: Plan, store: Store) -> tuple[list[int], list[Write]]:
    memories = _steady(faded, plan, store)
    held = [row for row in faded if row in memories and memories[row].confidence <= plan.memories[row].confidence]
    return held, [Forget(id=row, detail={"reason": "faded", "by": VERB}) for row in held]


def _supersede_facts(
    pairs: Sequence[tuple[int, int]], plan: Plan, store: Store
) -> tuple[list[tuple[int, int]], list[Write]]:
    """Return the *pairs* of facts that still hold, and the writes that supersede the lost ones."""
    rows = tuple(sorted({plan.facts[fact].memory_id for pair in pairs for fact in pair}))
    stated = facts_by_memory(store.facts(FactQuery(memory_ids=rows, include_superseded=True), scope=ALL_PROJECTS))
    now = {fact.id: fact for facts in stated.values() for fact in facts}
    held = [pair for pair in pairs if all(_says_still(plan.facts[fact], now.get(fact)) for fact in pair)]
    lost = {fact: now[fact] for _, fact in held}
    touched = sorted({fact.memory_id for fact in lost.values()})
    memories = store.load(touched, scope=ALL_PROJECTS)
    writes: list[Write] = []
    for row in touched:
        facts = tuple(replace(fact, state="superseded") if fact.id in lost else fact for fact in stated[row])
        writes.append(Revise(memory=memories[row], verb=VERB, facts=facts))
    for fact in lost.values():
        told = {"by": VERB}
        writes.append(ReinforceFact(id=fact.id, confidence=0.0, last_reinforced=fact.last_reinforced, detail=told))
    return held, writes


def _says_still(before: Fact, now: Fact | None) -> bool:
    """Return whether a fact is unchanged and active."""
    said = ("memory_id", "subject", "predicate", "object", "state")
    return now is not None and all(getattr(before, name) == getattr(now, name) for name in said)
