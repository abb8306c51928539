"""The operations: every surface offers these, and derives its parameters and answers from them."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final

from recollect.operations.answer import Operation, operations_of


class _Operations(Mapping[str, Operation]):
    """Operations by name. A module is loaded when the modules before it do not have a name: a search loads one."""

    def __init__(self, *modules: str) -> None:
        self._not_loaded = list(modules)
        self._loaded: dict[str, Operation] = {}

    def __getitem__(self, name: str) -> Operation:
        while name not in self._loaded and self._not_loaded:
            self._load_next()
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        while self._not_loaded:
            self._load_next()
        return iter(self._loaded)

    def __len__(self) -> int:
        return len(list(iter(self)))

    def _load_next(self) -> None:
        """Load one more module; two threads that load the same one do no harm."""
        name = self._not_loaded[0]
        self._loaded |= operations_of(import_module(f"recollect.operations.{name}"))
        if self._not_loaded and self._not_loaded[0] == name:
            del self._not_loaded[0]


OPERATIONS: Final[Mapping[str, Operation]] = _Operations(
    *("search", "memories", "importing", "facts", "log", "lenses", "store", "repair", "models", "backup", "purge"),
    *("tokens", "projects", "quality"),
)
