"""Packages whose modules are loaded when they are first asked for: a process pays only for the verbs it uses."""

from collections.abc import Callable
from importlib import import_module
from types import ModuleType


def lazily(package: str) -> Callable[[str], ModuleType]:
    """Return a `__getattr__` for *package* that imports the module of that name."""

    def load(name: str) -> ModuleType:
        module = f"{package}.{name}"
        try:
            return import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module:  # the module is there, and what it needs is not
                raise
            raise AttributeError(f"{package} has no {name}") from None

    return load
