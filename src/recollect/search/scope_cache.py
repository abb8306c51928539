"""A cache of values read from a store, by scope; valid for one version of the store."""

from collections.abc import Callable
from typing import Final, Generic, TypeVar
from weakref import WeakKeyDictionary

from recollect.records import Scope
from recollect.stores.contract import Store

V = TypeVar("V")
MAX_SCOPES: Final = 32
"""Scopes cached per store."""


class ScopeCache(Generic[V]):
    """Values by store and scope, dropped when the store has a new version."""

    def __init__(self) -> None:
        self._kept: WeakKeyDictionary[Store, tuple[int, dict[Scope, V]]] = WeakKeyDictionary()

    def get(self, store: Store, scope: Scope, version: int, read: Callable[[], V]) -> V:
        """Return the cached value of *scope*, or *read* it."""
        kept, values = self._kept.get(store, (version, {}))
        if kept != version or len(values) > MAX_SCOPES:
            values = {}
        if scope not in values:
            values[scope] = read()
        self._kept[store] = (version, values)
        return values[scope]
