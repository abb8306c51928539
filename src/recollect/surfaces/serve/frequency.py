"""How often what was asked: the last 1,000 questions of a day, in memory only."""

import math
from collections.abc import Callable, Hashable
from threading import Lock
from time import monotonic
from typing import Final, Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")
ENTRIES: Final = 1000
"""How many questions are counted; a new one takes the place of the one asked longest ago."""
DAY: Final = 24 * 3600.0
"""For how many seconds a question counts that is not asked again."""


class _Counted(Struct, Generic[T], kw_only=True):
    question: T
    times: int
    last: float


class Frequencies(Generic[T]):
    """Questions by their key with how often they were asked; safe for threads. The clock counts seconds."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._counted: dict[Hashable, _Counted[T]] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._counted)

    def count(self, key: Hashable, question: T) -> None:
        """Count that *question* was asked."""
        with self._lock:
            counted = self._counted.pop(key, None) or _Counted(question=question, times=0, last=0.0)
            counted.times += 1
            counted.last = self._clock()
            self._counted[key] = counted  # at the end: the first is the one asked longest ago
            if len(self._counted) > ENTRIES:
                del self._counted[next(iter(self._counted))]

    def idle_seconds(self) -> float:
        """Return how long ago the last question was asked."""
        with self._lock:
            last = next(reversed(self._counted.values()), None)
        return math.inf if last is None else self._clock() - last.last

    def top(self, most: int) -> list[T]:
        """Return the *most* frequent questions, of equals the one asked last."""
        with self._lock:
            ranked = sorted(self._counted.values(), key=lambda each: (-each.times, -each.last))
        return [each.question for each in ranked[:most]]

    def clean(self) -> int:
        """Drop what nobody has asked for a day; return how many that were."""
        since = self._clock() - DAY
        with self._lock:
            old = [key for key, each in self._counted.items() if each.last < since]
            for key in old:
                del self._counted[key]
        return len(old)
