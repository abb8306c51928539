"""What facts say about each other and about time: which fade, which contradict."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from recollect.decay import age_days, effective_confidence
from recollect.records import Fact, FactQuery, Scope
from recollect.stores.contract import Store

FADED: Final = 0.5
LEFT_ALONE_DAYS: Final = 30.0
ONE_VALUE: Final = frozenset({"kv", "config", "state", "location", "identity"})
"""Types of fact of which a subject has one value at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Two facts that say different things of the same."""

    one: Fact
    other: Fact
    kind: str


def stale(facts: Sequence[Fact], *, now: datetime, below: float = FADED, days: float = LEFT_ALONE_DAYS) -> list[Fact]:
    """Return the facts that have faded below *below* or were left alone for *days*, most faded first."""
    found = [
        fact for fact in facts if effective_confidence(fact, now) < below or age_days(fact.last_reinforced, now) > days
    ]
    return sorted(found, key=lambda fact: (effective_confidence(fact, now), fact.id))


def by_project(store: Store, *, scope: Scope) -> Iterator[tuple[Fact, ...]]:
    """Yield what the memories of each project of *scope* state: facts of two projects are never compared."""
    for project in sorted(store.stats(scope=scope).projects):
        yield store.facts(FactQuery(), scope=Scope(projects=frozenset({project})))


def conflicts(facts: Sequence[Fact]) -> list[Conflict]:
    """Return the pairs of facts of one subject and predicate with different values, where only one can be true."""
    said: dict[tuple[str, str], list[Fact]] = defaultdict(list)
    for fact in facts:
        if fact.type in ONE_VALUE and fact.state == "active":
            said[fact.subject.casefold(), fact.predicate.casefold()].append(fact)
    return [
        Conflict(one=one, other=other, kind="attribute")
        for group in said.values()
        for place, one in enumerate(group)
        for other in group[place + 1 :]
        if _value(one) != _value(other)
    ]


def repeated(facts: Sequence[Fact]) -> list[tuple[Fact, Fact]]:
    """Return the facts that say what a surer, or else an earlier one says already: (kept, lost)."""
    said: dict[tuple[str, str, str], list[Fact]] = defaultdict(list)
    for fact in facts:
        if fact.state == "active":
            said[fact.subject.casefold(), fact.predicate.casefold(), _value(fact)].append(fact)
    groups = (sorted(group, key=lambda fact: (-fact.confidence, fact.id)) for group in said.values())
    return [(best, other) for best, *others in groups for other in others]


def _value(fact: Fact) -> str:
    return "".join(char for char in fact.object.casefold() if char.isalnum())
