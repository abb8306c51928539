"""Counting memories the long way."""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC

from recollect.records import Memory
from recollect.stores.facets import FACETS, as_facets
from recollect.stores.ram.held import Held


def facets(held: Held, memories: Iterable[Memory]) -> dict[str, dict[str, int]]:
    """Return how many of *memories* there are of each type, tag, project, source, kind, fact type and month."""
    counters: dict[str, Counter[str]] = {name: Counter() for name in FACETS}
    for memory in memories:
        values: dict[str, set[str]] = {
            "type": {memory.type},
            "tag": set(memory.tags),
            "project": {memory.project},
            "source": set() if memory.source is None else {memory.source},
            "kind": {memory.kind},
            "fact_type": {fact.type for fact in held.facts.get(memory.id, ())},
            "month": {memory.when.astimezone(UTC).isoformat()[:7]},
        }
        for name, found in values.items():
            counters[name].update(found)
    return as_facets(counters)
