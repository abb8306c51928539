"""Packages whose modules are loaded when they are first asked for: a process pays only for the verbs it uses."""

import re
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import cast


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


class _Regex:
    """A regular expression that is compiled when it is first used."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern, self._flags = pattern, flags

    def __getattr__(self, name: str) -> object:
        """Return what the compiled expression has under *name*, and keep it: the next time nobody asks here."""
        found: object = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, found)
        return found


def regex(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return *pattern* as an expression that is compiled when it is first used; most commands use few of them."""
    return cast("re.Pattern[str]", _Regex(pattern, flags))
