"""Which model served before the one in use: its vectors stand in until the new ones are made."""

from collections.abc import Callable

from recollect.embedders.contract import Embedder
from recollect.records import Scope
from recollect.stores.contract import Store


def former(
    store: Store, current: Embedder | None, *, scope: Scope, named: Callable[[str], Embedder | None]
) -> Embedder | None:
    """Return the newest other model that made vectors here and can still be loaded."""
    if current is None:
        return None
    others = (each for each in store.generations(scope=scope) if each.fingerprint != current.fingerprint)
    return next((found for each in others if (found := named(each.model)) is not None), None)
