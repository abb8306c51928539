"""Connections that threads take in turns: as many as are in use at a time, and few kept for those who come next."""

import os
import threading
from collections.abc import Callable
from typing import Final, Generic, Protocol, TypeVar

from recollect.errors import StoreClosed

KEPT: Final = 8
"""How many connections stay open while nobody uses them."""
GRACE: Final = 5.0
"""How many seconds the end waits for those who still work, before and after they are interrupted."""

_PARENTS: Final[list[object]] = []
"""What a process had open when it was copied: closing it here would be closing it there."""


class Connection(Protocol):
    """What can be ended, or told to end what it does."""

    def close(self) -> None:
        """Give up what is held."""
        ...

    def interrupt(self) -> None:
        """End what is being done."""
        ...


Held = TypeVar("Held", bound=Connection)


class Connections(Generic[Held]):
    """Connections that *connect* makes, at most *most* of them; where there is one only, it is never given up."""

    def __init__(self, connect: Callable[[], Held], *, most: int | None = None) -> None:
        self._connect = connect
        self._most = most
        self._closed = False
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._free: list[Held] = []
        self._busy: list[Held | None] = []

    def take(self) -> Held:
        """Return a connection that nobody else uses."""
        if self._process != os.getpid():
            self._leave_to_the_parent()
        with self._changed:
            if self._closed or len(self._busy) == self._most:
                self._changed.wait_for(lambda: self._closed or len(self._busy) != self._most)
                self._require_open()
            db = self._free.pop() if self._free else None
            self._busy.append(db)
        return self._made() if db is None else db

    def _made(self) -> Held:
        """Return a new connection; until it is there, a blank stands in its place."""
        made: list[Held] = []
        try:
            made.append(self._connect())
        finally:
            with self._changed:
                self._busy.remove(None)
                self._busy.extend(made)
                self._changed.notify_all()
        return made[0]

    def give_back(self, db: Held) -> None:
        """Take *db* back; it is closed when enough others wait."""
        if self._process != os.getpid():
            return
        with self._changed:
            self._busy.remove(db)
            kept = not self._closed and len(self._free) < KEPT
            if kept:
                self._free.append(db)
            self._changed.notify_all()
        if not kept:
            db.close()

    def _require_open(self) -> None:
        if self._closed:
            raise StoreClosed("the store is closed", hint="open it again")

    def close(self) -> None:
        """Let nobody begin, wait for those who work, interrupt those who work for long; their connections go last."""
        if self._process != os.getpid():
            self._leave_to_the_parent()
        with self._changed:
            self._closed = True
            free, self._free = self._free, []
            self._changed.notify_all()
            if not self._changed.wait_for(lambda: not self._busy, timeout=GRACE):
                for db in filter(None, self._busy):
                    db.interrupt()
                self._changed.wait_for(lambda: not self._busy, timeout=GRACE)
        for each in free:
            each.close()

    def _leave_to_the_parent(self) -> None:
        """Begin anew in a copy of the process; what is in memory was copied with it and is used on."""
        had = [*self._free, *filter(None, self._busy)]
        self._begin()
        if self._most is None:
            _PARENTS.extend(had)
        else:
            self._free = had
