"""What was believed, in the order of time."""

from recollect.records import FactQuery, Filter, Memory, Scope
from recollect.replies import Listing, Reply, Shown
from recollect.stores.contract import Store


def shown(memory: Memory, store: Store, *, scope: Scope) -> Shown:
    """Return *memory* with its other wordings, its history and what it states."""
    row = memory.id
    return Shown(
        memory=memory,
        wordings=store.wordings([row], scope=scope).get(row, ()),
        events=store.history([row], scope=scope).get(row, ()),
        facts=tuple(reversed(store.facts(FactQuery(memory_ids=(row,), include_superseded=True), scope=scope))),
    )


def listed(store: Store, *, scope: Scope, where: Filter, limit: int, offset: int) -> Listing:
    """Return a page of the memories that *where* admits, newest first."""
    most, passed = (max(0, min(number, 2**62)) for number in (limit, offset))
    page = store.browse(scope=scope, where=where, limit=most, offset=passed)
    return Listing(memories=tuple(store.load(page.ids, scope=scope).values()), total=page.total)


def in_time(reply: Reply) -> tuple[Memory, ...]:
    """Return the memories of *reply*, oldest first."""
    return tuple(sorted((hit.memory for hit in reply.hits), key=lambda memory: (memory.when, memory.id)))
