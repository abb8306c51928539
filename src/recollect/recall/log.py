"""What the recall log tells: what is never used, what is told in vain, what nobody could answer."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from queue import SimpleQueue
from typing import Final

from recollect import records
from recollect.recall.reinforce import by_use
from recollect.records import Filter, Recall, Recalled, Scope
from recollect.replies import Reply, Request
from recollect.stores.contract import Store

STOP: Final = None
FRESH: Final = timedelta(hours=1)
"""A fact confirmed so lately gains nothing by being recalled again."""


def recall_of(reply: Reply, *, session: str | None, lens: str | None, scope: Scope, at: datetime) -> Recall:
    """Return what the log keeps of *reply*: what was shown, and what nearly was."""
    shown = [
        Recalled(
            memory_id=hit.id,
            rank=hit.rank,
            score=hit.score,
            shown=True,
            fact_ids=tuple(fact.id for fact in hit.facts),
        )
        for hit in reply.hits
    ]
    missed = [
        Recalled(memory_id=row, rank=len(shown) + place, score=score, shown=False)
        for place, (row, score) in enumerate(reply.near_misses, start=1)
    ]
    return Recall(
        query=reply.query,
        session=session,
        lens=lens,
        mode=reply.mode,
        outcome=reply.outcome,
        at=at,
        scope=scope,
        hits=(*shown, *missed),
    )


def write_down(reply: Reply, request: Request, *, store: Store, now: datetime) -> None:
    """Write a recall into the log, and let the facts that were shown fade later."""
    kept = recall_of(reply, session=request.session, lens=request.lens, scope=request.scope, at=now)
    store.log_recall([kept])
    facts = [fact for hit in reply.hits for fact in hit.facts if now - fact.last_reinforced > FRESH]
    if facts:
        store.apply(by_use(facts, "search", now=now), at=now)


class Scribe:
    """A thread that does what it is given, one thing after the other; what fails there fails alone."""

    def __init__(self) -> None:
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self.failures = 0

    def give(self, work: Callable[[], None]) -> None:
        """Take *work* and return at once."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="recollect-scribe", daemon=True)
                self._thread.start()
        self._work.put(work)

    def _run(self) -> None:
        while (work := self._work.get()) is not STOP:
            try:
                work()
            except Exception:  # noqa: BLE001  (the log must never harm the search)
                self.failures += 1

    def close(self) -> None:
        """Finish what was given, then stop."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            self._work.put(STOP)
            thread.join(timeout=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """How often a memory was shown, nearly shown, and found useful."""

    id: int
    shown: int
    missed: int
    used: int
    wrong: int


def usage(store: Store, *, scope: Scope) -> tuple[Usage, ...]:
    """Return how often each live memory was recalled, by id."""
    told = store.usage(scope=scope)
    ids = sorted(store.browse(scope=scope, where=Filter(include_superseded=True), limit=2**62).ids)
    return tuple(
        Usage(
            id=row,
            shown=each.shown,
            missed=each.missed,
            used=each.verdicts.get("used", 0) + each.verdicts.get("useful", 0),
            wrong=each.verdicts.get("wrong", 0),
        )
        for row in ids
        for each in (told.get(row, records.Usage()),)
    )


def never_recalled(store: Store, *, scope: Scope) -> tuple[int, ...]:
    """Return the memories no search has ever shown."""
    return tuple(each.id for each in usage(store, scope=scope) if each.shown == 0)


def told_in_vain(store: Store, *, scope: Scope, often: int = 3) -> tuple[Usage, ...]:
    """Return what was shown *often* and never used, most often first."""
    idle = [each for each in usage(store, scope=scope) if each.shown >= often and each.used == 0]
    return tuple(sorted(idle, key=lambda each: (-each.shown, each.id)))


def provenance(fact_id: int, store: Store, *, scope: Scope, limit: int = 100) -> Sequence[Recall]:
    """Return the answers that a fact came with, newest first."""
    return store.recalls(scope=scope, fact_id=fact_id, limit=limit)
