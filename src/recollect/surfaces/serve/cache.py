"""Results kept for a moment: 30 seconds, 200 of them; above four fifths of that the oldest tenth goes."""

from collections.abc import Callable, Hashable
from threading import Lock
from time import monotonic
from typing import Final, Generic, TypeVar

T = TypeVar("T")
SECONDS: Final = 30.0
"""How long a result is kept."""
ENTRIES: Final = 200
"""How many are kept at most."""
FULL: Final = 0.8
"""Above this share of the entries the cache makes room."""
OLDEST: Final = 0.1
"""The share of what is held that goes then."""


class ResultCache(Generic[T]):
    """Results by their key, oldest first; safe for threads. The clock counts seconds."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._held: dict[Hashable, tuple[float, T]] = {}
        self._lock = Lock()
        self.hits = 0
        self.misses = 0

    def __len__(self) -> int:
        return len(self._held)

    def get(self, key: Hashable) -> T | None:
        """Return the result of *key* while it is fresh."""
        with self._lock:
            kept = self._held.get(key)
            if kept is not None and self._clock() - kept[0] < SECONDS:
                self.hits += 1
                return kept[1]
            self._held.pop(key, None)
            self.misses += 1
            return None

    def put(self, key: Hashable, result: T) -> None:
        """Keep *result*, and make room where it is getting full."""
        with self._lock:
            self._held.pop(key, None)
            self._held[key] = (self._clock(), result)
            if len(self._held) > FULL * ENTRIES:
                for old in list(self._held)[: max(1, int(OLDEST * len(self._held)))]:
                    del self._held[old]
