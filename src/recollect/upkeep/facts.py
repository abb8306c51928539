"""What facts say about each other and about time: which fade, which contradict."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import ClassVar, Final, Literal

from msgspec import Struct

from recollect.decay import age_days, effective_confidence
from recollect.records import NO_FILTER, Fact, FactQuery, Memory, Scope
from recollect.stores.contract import Store
from recollect.trust import DECIDING, conflicts_of, contradicted, level

BATCH: Final = 500
"""How many memories are asked about at a time."""
FADED: Final = 0.5
LEFT_ALONE_DAYS: Final = 30.0
ONE_VALUE: Final = frozenset({"kv", "config", "state", "location", "identity"})
"""Types of fact of which a subject has one value at a time."""


class Conflict(Struct, frozen=True, kw_only=True):
    """Two facts, or two memories, that say different things of the same."""

    json_members: ClassVar[str] = "kind one other"

    one: Fact | Memory
    other: Fact | Memory
    kind: Literal["attribute", "memory"]


def stale(facts: Iterable[Fact], *, now: datetime, below: float = FADED, days: float = LEFT_ALONE_DAYS) -> list[Fact]:
    """Return the facts that have faded below *below* or were left alone for *days*, most faded first."""
    found = [
        fact for fact in facts if effective_confidence(fact, now) < below or age_days(fact.last_reinforced, now) > days
    ]
    return sorted(found, key=lambda fact: (effective_confidence(fact, now), fact.id))


def memories_in_slices(store: Store, *, scope: Scope) -> Iterator[dict[int, Memory]]:
    """Yield all memories of *scope*, forgotten and superseded ones too, a few hundred at a time, by id."""
    for ids in _ids_in_slices(store, scope):
        yield store.load(ids, scope=scope)


def _ids_in_slices(store: Store, scope: Scope) -> Iterator[tuple[int, ...]]:
    last = 0
    while ids := store.ids(scope=scope, after=last, limit=BATCH):
        last = ids[-1]
        yield ids


def is_live(memory: Memory) -> bool:
    """Tell whether *memory* is neither forgotten nor superseded."""
    return memory.deleted_at is None and memory.superseded_by is None


def facts_in_slices(store: Store, *, scope: Scope) -> Iterator[Fact]:
    """Yield what the memories of *scope* state, read a few hundred memories at a time."""
    for ids in _ids_in_slices(store, scope):
        yield from store.facts(FactQuery(memory_ids=ids), scope=scope)


def _shared(store: Store, scope: Scope, key: Callable[[Fact], Hashable]) -> Iterator[list[Fact]]:
    """Yield the facts of each project that share their *key* with another: only those are held at once."""
    for project in sorted(store.stats(scope=scope).projects):
        mine = Scope(projects=frozenset({project}))
        met, twice = set[int](), set[int]()
        for fact in facts_in_slices(store, scope=mine):
            number = hash(key(fact))
            (twice if number in met else met).add(number)
        shared = [fact for fact in facts_in_slices(store, scope=mine) if hash(key(fact)) in twice] if twice else []
        yield sorted(shared, key=lambda fact: -fact.id)


def repeated_in(store: Store, *, scope: Scope) -> Iterator[list[tuple[Fact, Fact]]]:
    """Yield for each project the facts that say what another says already: (kept, lost)."""
    for facts in _shared(store, scope, _said):
        stating = sorted({fact.memory_id for fact in facts})
        held = {row: memory for row, memory in store.load(stating, scope=scope).items() if is_live(memory)}
        yield repeated(facts, held)


def conflicts(facts: Sequence[Fact]) -> list[Conflict]:
    """Return the pairs of facts of one subject and predicate with different values, where only one can be true."""
    said: dict[tuple[str, str], list[Fact]] = defaultdict(list)
    for fact in facts:
        if fact.type in ONE_VALUE and fact.state == "active":
            said[_about(fact)].append(fact)
    return [
        Conflict(one=one, other=other, kind="attribute")
        for group in said.values()
        for place, one in enumerate(group)
        for other in group[place + 1 :]
        if _value(one) != _value(other)
    ]


def memory_conflicts(store: Store, *, scope: Scope) -> list[Conflict]:
    """Return the pairs of memories of which one conflicts with the other since it was remembered, or linked."""
    ids = store.browse(scope=scope, where=NO_FILTER, limit=2**62).ids
    slices = (ids[start : start + BATCH] for start in range(0, len(ids), BATCH))
    logs = (store.history(part, scope=scope, verbs=DECIDING) for part in slices)
    events = {row: log for part in logs for row, log in part.items() if contradicted(log)}
    rows = set(ids)
    found, _ = conflicts_of(rows, events, lambda missing: store.load(missing, scope=scope))
    memories = store.load(sorted(found), scope=scope) if found else {}
    pairs = ((row, other) for row in memories for other in found[row] if other < row)
    return [Conflict(one=memories[row], other=memories[other], kind="memory") for row, other in pairs]


def all_conflicts(store: Store, *, scope: Scope) -> list[Conflict]:
    """Return what contradicts each other in a project: facts, and the memories whose facts do not tell already."""
    stated = [found for facts in _shared(store, scope, _about) for found in conflicts(facts)]
    return without_repeats([*stated, *memory_conflicts(store, scope=scope)])


def without_repeats(found: Sequence[Conflict]) -> list[Conflict]:
    """Return *found* without the memories of which an earlier conflict tells already."""
    told: set[frozenset[int]] = set()
    kept = []
    for each in found:
        sides = frozenset(side.memory_id if isinstance(side, Fact) else side.id for side in (each.one, each.other))
        if each.kind == "attribute" or sides not in told:
            kept.append(each)
        told.add(sides)
    return kept


def repeated(facts: Sequence[Fact], memories: Mapping[int, Memory]) -> list[tuple[Fact, Fact]]:
    """Return the facts that say what a further trusted, a surer or an earlier one says already: (kept, lost).

    *memories* are those that state them; what a pinned one states is never lost.
    """
    said: dict[tuple[str, str, str], list[Fact]] = defaultdict(list)
    for fact in facts:
        if fact.state == "active" and fact.memory_id in memories:
            said[_said(fact)].append(fact)
    groups = (sorted(group, key=lambda fact: _order(fact, memories[fact.memory_id])) for group in said.values())
    pairs = ((best, other) for best, *others in groups for other in others)
    return [(best, other) for best, other in pairs if not memories[other.memory_id].pinned]


def _order(fact: Fact, memory: Memory) -> tuple[int, bool, float, int]:
    return -level(memory.trust), not memory.pinned, -fact.confidence, fact.id


def _about(fact: Fact) -> tuple[str, str]:
    return fact.subject.casefold(), fact.predicate.casefold()


def _said(fact: Fact) -> tuple[str, str, str]:
    return (*_about(fact), _value(fact))


def _value(fact: Fact) -> str:
    return "".join(char for char in fact.object.casefold() if char.isalnum())
