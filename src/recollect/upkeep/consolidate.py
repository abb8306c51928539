"""Merging what intake missed: proposed first, applied on demand, undone on demand. Nothing is deleted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from recollect.profile import Weigh
from recollect.records import (
    ALL_PROJECTS,
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
from recollect.remember.dedup import Candidate, judge
from recollect.remember.ingest import stands_alone
from recollect.search.weigh import Subject, half_life
from recollect.stores.contract import Analyse, Store
from recollect.upkeep.facts import repeated

VERB: Final = "consolidate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """Two memories that say the same: *gone* goes into *kept*."""

    kept: int
    gone: int
    evidence: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidation:
    """What was proposed, and whether it was done."""

    merges: tuple[Proposal, ...] = ()
    faded: tuple[int, ...] = ()
    facts: tuple[tuple[int, int], ...] = ()
    """Facts said twice: the one kept, the one superseded."""
    applied: bool = False
    problems: tuple[str, ...] = field(default=())


def draw_up(
    store: Store, *, analyse: Analyse, scope: Scope, rules: Weigh, now: datetime, floor: float, most: int
) -> Consolidation:
    """Return what a consolidation would do."""
    return Consolidation(
        merges=propose(store, analyse=analyse, scope=scope, most=most),
        faded=faded(store, scope=scope, rules=rules, now=now, floor=floor),
        facts=same_facts(store, scope=scope),
    )


def propose(store: Store, *, analyse: Analyse, scope: Scope, most: int = 50) -> tuple[Proposal, ...]:
    """Return the merges worth making, at most *most*: later memories go into earlier ones that say the same."""
    memories = _live(store, scope)
    found: list[Proposal] = []
    gone: set[int] = set()
    for memory in memories.values():
        if len(found) == most:
            break
        rivals = [each for each in _rivals(memory, store, analyse, memories) if each.id not in gone]
        verdict = judge(memory, rivals)
        if verdict.decision in ("identical", "restates") and verdict.of is not None:
            found.append(Proposal(kept=verdict.of, gone=memory.id, evidence=verdict.evidence))
            gone.add(memory.id)
    return tuple(found)


def _live(store: Store, scope: Scope) -> dict[int, Memory]:
    ids = sorted(store.browse(scope=scope, where=Filter(), limit=2**62).ids)
    return {row: memory for row, memory in store.load(ids, scope=scope).items() if not stands_alone(memory)}


def _rivals(memory: Memory, store: Store, analyse: Analyse, memories: Mapping[int, Memory]) -> list[Candidate]:
    (near,) = store.known(memory.project, minhashes=[analyse(memory, ()).minhash]).near
    earlier = [row for row in near if row < memory.id and row in memories]
    wordings = store.wordings(earlier, scope=ALL_PROJECTS)
    return [
        Candidate(
            id=row,
            content=memories[row].content,
            wordings=wordings.get(row, ()),
            confidence=memories[row].confidence,
            type=memories[row].type,
            section=memories[row].section,
            when=memories[row].when,
        )
        for row in earlier
    ]


def same_facts(store: Store, *, scope: Scope) -> tuple[tuple[int, int], ...]:
    """Return the facts that are said twice: the one to keep and the one to give up."""
    facts = store.facts(FactQuery(), scope=scope)
    return tuple((kept.id, lost.id) for kept, lost in repeated(facts))


def _give_up(lost: Sequence[int], store: Store) -> list[Write]:
    """Return the writes that supersede facts; nothing is left of their confidence."""
    facts = {fact.id: fact for fact in store.facts(FactQuery(), scope=ALL_PROJECTS) if fact.id in lost}
    rows = sorted({fact.memory_id for fact in facts.values()})
    memories = store.load(rows, scope=ALL_PROJECTS)
    stated = facts_by_memory(
        store.facts(FactQuery(memory_ids=tuple(rows), include_superseded=True), scope=ALL_PROJECTS)
    )
    writes: list[Write] = [
        Revise(
            memory=memories[row],
            verb=VERB,
            facts=tuple(replace(fact, state="superseded") if fact.id in facts else fact for fact in stated[row]),
        )
        for row in rows
    ]
    gone = (
        ReinforceFact(id=row, confidence=0.0, last_reinforced=fact.last_reinforced, detail={"by": VERB})
        for row, fact in facts.items()
    )
    return [*writes, *gone]


def faded(store: Store, *, scope: Scope, rules: Weigh, now: datetime, floor: float) -> tuple[int, ...]:
    """Return the memories whose confidence has faded below *floor*; pinned ones never do."""
    subjects = (Subject(memory=memory) for memory in _live(store, scope).values() if floor > 0)
    return tuple(
        each.memory.id
        for each in subjects
        if not each.memory.pinned and each.memory.confidence * half_life(each, rules, now) < floor
    )


def consolidate(plan: Consolidation, *, store: Store, now: datetime) -> None:
    """Make the merges, supersede facts said twice and forget what has faded, all or none."""
    merges, gone = plan.merges, plan.faded
    rows = [row for each in merges for row in (each.kept, each.gone)]
    held = store.load(rows, scope=ALL_PROJECTS)
    writes: list[Write] = []
    for each in merges:
        kept, other = held[each.kept], held[each.gone]
        sure = max(kept.confidence, other.confidence)
        held[kept.id] = replace(kept, confidence=sure)
        told = {"by": VERB, "of": other.id, **each.evidence}
        writes.append(Merge(id=kept.id, confidence=sure, wording=other.content, detail=told))
        writes.append(Revise(memory=replace(other, superseded_by=kept.id), verb=VERB, detail={"into": kept.id}))
    writes += [Forget(id=row, detail={"reason": "faded", "by": VERB}) for row in gone]
    with store.transaction():
        store.apply(_give_up([lost for _, lost in plan.facts], store), at=now)
        store.apply(writes, at=now)


def undo(store: Store, *, scope: Scope, now: datetime) -> tuple[int, ...]:
    """Bring back every memory that a consolidation merged away; return them."""
    ids = store.browse(scope=scope, where=Filter(include_superseded=True), limit=2**62).ids
    memories = store.load(ids, scope=scope)
    events = store.history([row for row, memory in memories.items() if memory.superseded_by], scope=scope)
    merged = sorted(row for row, told in events.items() if _last(told) == VERB)
    back = [Revise(memory=replace(memories[row], superseded_by=None), verb="unmerge") for row in merged]
    store.apply(back, at=now)
    return tuple(merged)


def _last(events: Sequence[object]) -> str:
    verbs = [event.verb for event in events if event.verb in (VERB, "unmerge", "supersede")]  # type: ignore[attr-defined]
    return verbs[-1] if verbs else ""
