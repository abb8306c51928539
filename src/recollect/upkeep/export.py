"""Every memory, whole, in an order that does not change: what an archive is made from."""

from collections.abc import Iterator

from recollect.records import Filter, Memory, Scope
from recollect.stores.contract import Store

BATCH = 500


def exported(store: Store, *, scope: Scope) -> Iterator[tuple[Memory, tuple[str, ...]]]:
    """Yield every memory that is not forgotten with its other wordings, oldest id first, superseded ones too."""
    ids = sorted(store.browse(scope=scope, where=Filter(include_superseded=True), limit=2**62).ids)
    for start in range(0, len(ids), BATCH):
        batch = ids[start : start + BATCH]
        memories, wordings = store.load(batch, scope=scope), store.wordings(batch, scope=scope)
        yield from ((memory, wordings.get(row, ())) for row, memory in memories.items())
