"""Warming: the five most frequent questions are searched for again every 20 seconds, while anybody asks."""

from collections.abc import Callable
from threading import Event, Thread
from time import monotonic
from typing import Final

from msgspec import Struct

FIRST: Final = 30.0
"""After how many seconds questions are warmed for the first time."""
EVERY: Final = 20.0
"""How many seconds lie between two rounds."""
WARMED_QUESTIONS: Final = 5
"""How many questions a round warms."""
IDLE_SECONDS: Final = 300.0
"""After how many seconds without a question nothing is warmed, until somebody asks again."""
CLEANING: Final = 300.0
"""How many seconds lie between two cleanings of the table."""


class Schedule(Struct, kw_only=True):
    """When the next round and the next cleaning are due, by a clock that counts seconds."""

    warming: float
    cleaning: float

    @classmethod
    def starting(cls, now: float) -> "Schedule":
        """Return the schedule of a process that begins *now*."""
        return cls(warming=now + FIRST, cleaning=now + CLEANING)

    def due(self, now: float) -> tuple[bool, bool]:
        """Tell whether to warm and whether to clean *now*, and set the next time for what is due."""
        warm, clean = now >= self.warming, now >= self.cleaning
        if warm:
            self.warming = now + EVERY
        if clean:
            self.cleaning = now + CLEANING
        return warm, clean

    def wait(self, now: float) -> float:
        """Return how many seconds it is until something is due."""
        return max(0.0, min(self.warming, self.cleaning) - now)


class Warmer:
    """A thread that calls *warm* and *clean* when they are due, until it is stopped; what fails there fails alone."""

    def __init__(
        self, *, warm: Callable[[], object], clean: Callable[[], object], clock: Callable[[], float] = monotonic
    ) -> None:
        self._warm, self._clean, self._clock = warm, clean, clock
        self._schedule = Schedule.starting(clock())
        self._stopped = Event()
        self._thread = Thread(target=self._run, name="recollect-warmer", daemon=True)
        self.failures = 0

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, and wait for a round that runs."""
        self._stopped.set()
        self._thread.join(timeout=5)

    def tick(self) -> None:
        """Do what is due now."""
        warm, clean = self._schedule.due(self._clock())
        for work, due in ((self._clean, clean), (self._warm, warm)):
            if due:
                try:
                    work()
                except Exception:  # noqa: BLE001  (warming must never harm the server)
                    self.failures += 1

    def _run(self) -> None:
        while not self._stopped.wait(self._schedule.wait(self._clock())):
            self.tick()
