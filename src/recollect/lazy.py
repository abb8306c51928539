"""Work that is done late or once: modules loaded at first use, expressions compiled at first use, bounded caches."""

import re
import threading
from collections.abc import Callable, Iterator, MutableMapping
from functools import lru_cache, wraps
from importlib import import_module
from types import ModuleType
from typing import Generic, ParamSpec, TypeVar, cast

P = ParamSpec("P")
K = TypeVar("K")
V = TypeVar("V")
SHORT = 2_000
"""The longest text, in characters, that `cache_short` keeps: a memory may have ten million."""


_CONVERTING = threading.RLock()


def convert(values: object, kind: type[V]) -> V:
    """Return *values* as a *kind*, as msgspec does, which crashes where two threads first use a type at once."""
    from msgspec import convert as converted  # noqa: PLC0415  (whoever converts nothing needs none of it)

    with _CONVERTING:
        return converted(values, kind)


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


def cache_short(size: int) -> Callable[[Callable[P, V]], Callable[P, V]]:
    """Keep the results of a function for its last *size* calls, except for calls with a long text."""

    def decorate(function: Callable[P, V]) -> Callable[P, V]:
        cached = lru_cache(maxsize=size)(function)

        @wraps(function)
        def answered(*args: P.args, **kwargs: P.kwargs) -> V:
            for each in args:
                if isinstance(each, str) and len(each) > SHORT:
                    return function(*args, **kwargs)
            return cached(*args, **kwargs)  # type: ignore[arg-type]

        return answered

    return decorate


class Bounded(MutableMapping[K, V], Generic[K, V]):
    """A mapping whose entries weigh at most *limit* together; a new entry drops the oldest ones to make room.

    An entry weighs one more than *weigh* says; without it the limit is a number of entries. Safe for threads.
    """

    def __init__(self, limit: int, *, weigh: Callable[[V], int] = lambda _: 0) -> None:
        self._limit, self._weigh = limit, weigh
        self._entries: dict[K, tuple[V, int]] = {}
        self._lock = threading.Lock()
        self.weight = 0
        """What all entries weigh."""

    def __getitem__(self, key: K) -> V:
        return self._entries[key][0]

    def __setitem__(self, key: K, value: V) -> None:
        weight = self._weigh(value) + 1
        with self._lock:
            self._drop(key)
            if weight > self._limit:
                return
            while self.weight + weight > self._limit:
                self._drop(next(iter(self._entries)))
            self._entries[key] = (value, weight)
            self.weight += weight

    def __delitem__(self, key: K) -> None:
        with self._lock:
            if not self._drop(key):
                raise KeyError(key)

    def _drop(self, key: K) -> bool:
        _, weight = self._entries.pop(key, (None, 0))
        self.weight -= weight
        return weight > 0

    def get(self, key: K, default: V | None = None) -> V | None:  # type: ignore[override]
        """Return what is kept for *key*: another thread may drop it between a look and a read."""
        return self._entries.get(key, (default, 0))[0]

    def __iter__(self) -> Iterator[K]:
        return iter(tuple(self._entries))

    def __len__(self) -> int:
        return len(self._entries)


def log_warning(message: str) -> None:
    """Log *message* as `recollect`; a program that set up no logging prints nothing."""
    import logging  # noqa: PLC0415  (a start has nothing to report)

    log = logging.getLogger("recollect")
    if not log.handlers:
        log.addHandler(logging.NullHandler())
    log.warning(message)
