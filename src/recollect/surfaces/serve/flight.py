"""Equal work that is wanted at the same time is done once: the first does it, the others share what it gave."""

from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock
from typing import Generic, TypeVar

from recollect.errors import SearchStopped

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """Work under way, by its key. A result is shared, and so is an error; nothing is kept after it."""

    def __init__(self) -> None:
        self._under_way: dict[Hashable, Future[T]] = {}
        self._lock = Lock()
        self.executions = 0
        self.joined = 0
        """How many calls waited for work that was under way already."""

    def run(self, key: Hashable, work: Callable[[], T], *, timeout: float | None = None) -> T:
        """Return what *work* gives, or what the same work gave that was under way already.

        Where the first gave up because its own caller did, the others go on without it. Who waits longer than
        *timeout* seconds does the work alone, and meets the deadline there.
        """
        while True:
            with self._lock:
                ours = key not in self._under_way
                self.joined += not ours
                future = self._under_way.setdefault(key, Future())
            if ours:
                return self._lead(key, future, work)
            try:
                return future.result(timeout)
            except SearchStopped:
                continue
            except TimeoutError:
                return work()

    def _lead(self, key: Hashable, future: "Future[T]", work: Callable[[], T]) -> T:
        self.executions += 1
        try:
            result = work()
        except BaseException as error:
            self._land(key)
            future.set_exception(error)
            raise
        self._land(key)
        future.set_result(result)
        return result

    def _land(self, key: Hashable) -> None:
        with self._lock:
            del self._under_way[key]
