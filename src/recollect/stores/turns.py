"""Turns at connections: no project that a process works for takes more than half of them while others wait."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from recollect.errors import StoreBusy

_PROJECT: ContextVar[str | None] = ContextVar("project", default=None)


@contextmanager
def working_for(project: str | None) -> Iterator[None]:
    """Count what this thread asks of a store as asked by *project*, until the end of the block."""
    before = _PROJECT.set(project)
    try:
        yield
    finally:
        _PROJECT.reset(before)


class Turns:
    """How many turns each project has at the moment; whoever works for no single one is not counted."""

    def __init__(self, connections: int, *, patience: float) -> None:
        self._most, self._patience = max(1, connections // 2), patience
        self._held: Counter[str] = Counter()
        self._changed = threading.Condition()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait until the project that is worked for has less than its share, and hold a turn of it."""
        project = _PROJECT.get()
        if project is None:
            yield
            return
        with self._changed:
            if not self._changed.wait_for(lambda: self._held[project] < self._most, self._patience):
                raise StoreBusy("too much is asked of this project at once", hint="try again")
            self._held[project] += 1
        try:
            yield
        finally:
            with self._changed:
                self._held[project] -= 1
                self._changed.notify_all()
