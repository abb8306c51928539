"""Every memory, whole, in an order that does not change: what an archive is made from."""

from collections.abc import Iterator

from recollect.records import Memory, Scope
from recollect.stores.contract import Store

BATCH = 500


def exported(store: Store, *, scope: Scope) -> Iterator[tuple[Memory, tuple[str, ...]]]:
    """Yield every memory with its other wordings, oldest id first, superseded and forgotten ones too.

    Ids count up from 1 and are never taken away, so asking for them in turn meets every memory there is.
    """
    tally = store.tally(scope=scope)
    left, start = tally.memories + tally.forgotten, 1
    while left > 0:
        batch = range(start, start + BATCH)
        memories, wordings = store.load(batch, scope=scope), store.wordings(batch, scope=scope)
        yield from ((memory, wordings.get(row, ())) for row, memory in memories.items())
        left, start = left - len(memories), start + BATCH
