"""The recall log: what each search showed, written in the background; what use does to facts; what is never used."""

import os
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final, Literal, get_args

from recollect.errors import InputError
from recollect.records import ALL_PROJECTS, Fact, Filter, Memory, Recall, Recalled, ReinforceFact, Scope, Usage
from recollect.replies import Reply, Request
from recollect.stores.contract import Store, unknown_fact
from recollect.values import dataclass

Verdict = Literal["used", "useful", "wrong"]
"""What became of a recalled memory."""
VERDICTS: Final = get_args(Verdict)
FRESH: Final = timedelta(hours=1)
"""A fact confirmed so lately gains nothing by being recalled again."""
OFTEN: Final = 3
"""How often a memory was shown before it is worth saying that it was never used."""


# --- writing --------------------------------------------------------------------------------


class BackgroundWriter:
    """A thread that does what it is given, one thing after the other; what fails there fails alone."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._waiting: deque[Callable[[], object]] = deque()
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._closed = False
        self.failures = 0

    def submit(self, work: Callable[[], object]) -> None:
        """Take *work* and return at once; after the end nothing is taken."""
        self._begin_anew_after_a_fork()
        with self._lock:
            if not self._closed:
                self._take(work)

    def _take(self, work: Callable[[], object]) -> threading.Thread:
        """Put *work* behind what waits, and return the thread that does it; it ends when nothing waits any more."""
        self._waiting.append(work)
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="recollect-writer")
            self._thread.start()
        return self._thread

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return
                work = self._waiting.popleft()
            try:
                work()
            except Exception:  # noqa: BLE001  (the log must never harm the search)
                self.failures += 1

    def flush(self) -> None:
        """Wait until all that was given is done."""
        self._begin_anew_after_a_fork()
        done = threading.Event()
        with self._lock:
            thread = self._thread
            if thread is None:
                return
            self._take(done.set)
        done.wait()
        if self._closed:
            thread.join()

    def close(self) -> None:
        """Finish, and take nothing more."""
        self._begin_anew_after_a_fork()
        with self._lock:
            self._closed = True
        self.flush()

    def _begin_anew_after_a_fork(self) -> None:
        """Leave the thread to the process that started it: it is not in a copy of that."""
        if self._process != os.getpid():
            self._process, self._thread, self._lock = os.getpid(), None, threading.Lock()
            self._waiting = deque()


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long the recall log keeps a search, and how large it grows; None means no bound."""

    days: float | None = 180.0
    megabytes: float | None = 100.0

    def prune(self, store: Store, *, scope: Scope, now: datetime, most: int | None = None) -> int:
        """Drop what is kept no longer, the oldest first; look at *most* of the log only."""
        before = None if self.days is None else now - timedelta(days=self.days)
        size = None if self.megabytes is None else int(self.megabytes * 1_000_000)
        return store.prune_recalls(scope=scope, before=before, max_bytes=size, most=most)


SLICE: Final = 50
"""How many of the oldest searches are looked at after each new one, so that a log too large shrinks bit by bit."""


def log_reply(
    reply: Reply, request: Request, *, store: Store, now: datetime, retention: Retention | None = None
) -> None:
    """Write *reply* into the recall log, drop what is kept no longer, and let the facts that were shown fade later."""
    store.log_recall([recall_of(reply, request, at=now)])
    if retention is not None:
        retention.prune(store, scope=ALL_PROJECTS, now=now, most=SLICE)
    facts = [fact for hit in reply.hits for fact in hit.facts if now - fact.last_reinforced > FRESH]
    if facts:
        store.apply(reinforced(facts, "search", now=now), at=now)


def recall_of(reply: Reply, request: Request, *, at: datetime) -> Recall:
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
        Recalled(memory_id=row, rank=rank, score=score, shown=False)
        for rank, (row, score) in enumerate(reply.near_misses, start=len(shown) + 1)
    ]
    return Recall(
        query=reply.query,
        session=request.session,
        lens=request.lens,
        mode=reply.mode,
        outcome=reply.outcome,
        at=at,
        scope=request.scope,
        hits=(*shown, *missed),
    )


# --- what use does to facts -----------------------------------------------------------------

WEIGHTS: Final[Mapping[str, float]] = MappingProxyType(
    {"reinforce": 1.0, "useful": 1.0, "used": 0.5, "search": 0.3, "wrong": 0.0}
)
"""How far each kind of use moves the day that a fact fades from: all the way to now, a part of it, or not."""
NO_CAPS: Final[Mapping[int, float]] = MappingProxyType({})
MORE: Final = 0.3
LESS: Final = 0.5


def refuse_other_verdicts(verdict: str) -> None:
    """Refuse what is no verdict."""
    if verdict not in VERDICTS:
        raise InputError(f"no verdict is called {verdict!r}", hint=f"one of {', '.join(VERDICTS)}")


def reinforced(
    facts: Sequence[Fact], use: str, *, now: datetime, caps: Mapping[int, float] = NO_CAPS
) -> tuple[ReinforceFact, ...]:
    """Return the writes that *use* comes to: facts fade from a later day, are surer by 0.3, or half as sure.

    *caps* say, by memory, how sure a fact can get at all.
    """
    return tuple(
        ReinforceFact(
            id=fact.id,
            confidence=_confidence(fact, use, most=caps.get(fact.memory_id, 1.0)),
            last_reinforced=fact.last_reinforced + WEIGHTS[use] * max(now - fact.last_reinforced, timedelta()),
            detail={"use": use},
        )
        for fact in facts
    )


def _confidence(fact: Fact, use: str, *, most: float) -> float:
    if use == "reinforce":
        return max(fact.confidence, min(most, fact.confidence + MORE))
    return fact.confidence * LESS if use == "wrong" else fact.confidence


def chosen(ids: Sequence[int], facts: Sequence[Fact]) -> tuple[Fact, ...]:
    """Return the facts that *ids* name; one that is not there is an error."""
    known = {fact.id: fact for fact in facts}
    for row in ids:
        if row not in known:
            raise unknown_fact(row)
    return tuple(known[row] for row in ids)


# --- reports --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUse:
    """How often a memory was shown, and what was said of it."""

    id: int
    shown: int
    used: int
    wrong: int


def memory_uses(store: Store, *, scope: Scope) -> tuple[MemoryUse, ...]:
    """Return how each live memory was used, by id."""
    usage = store.usage(scope=scope)
    ids = sorted(store.browse(scope=scope, where=Filter(include_superseded=True), limit=2**62).ids)
    return tuple(
        MemoryUse(
            id=row,
            shown=each.shown,
            used=each.verdicts.get("used", 0) + each.verdicts.get("useful", 0),
            wrong=each.verdicts.get("wrong", 0),
        )
        for row, each in ((row, usage.get(row, Usage())) for row in ids)
    )


def never_recalled(store: Store, *, scope: Scope, limit: int | None = None) -> tuple[Memory, ...]:
    """Return the memories no search has ever shown, the oldest first."""
    rows = [each.id for each in memory_uses(store, scope=scope) if each.shown == 0][:limit]
    return tuple(store.load(rows, scope=scope).values())


def never_used(store: Store, *, scope: Scope, often: int = OFTEN) -> tuple[MemoryUse, ...]:
    """Return what was shown *often* and never used, most often first."""
    idle = [each for each in memory_uses(store, scope=scope) if each.shown >= often and each.used == 0]
    return tuple(sorted(idle, key=lambda each: (-each.shown, each.id)))
