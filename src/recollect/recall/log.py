"""The recall log: what each search showed, written in the background; what use does to facts; what is never used."""

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Final, TypeVar, get_args

from msgspec import Struct
from msgspec.structs import replace

from recollect.errors import InputError
from recollect.lazy import log_warning
from recollect.records import (
    ALL_PROJECTS,
    Fact,
    FactQuery,
    Filter,
    Memory,
    Recall,
    Recalled,
    ReinforceFact,
    Scope,
    Usage,
    Verdict,
)
from recollect.replies import Reply, Request
from recollect.stores.contract import Store, unknown_fact

VERDICTS: Final = get_args(Verdict)
FRESH: Final = timedelta(hours=1)
"""A fact confirmed so lately gains nothing by being recalled again."""
OFTEN: Final = 3
"""How often a memory was shown before it is worth saying that it was never used."""


# --- writing --------------------------------------------------------------------------------


PAUSE: Final = 0.5
"""How many seconds lie between two turns of the writer: each takes a transaction, after which readers read anew."""

CLOSE_SECONDS: Final = 5.0
"""How long closing waits for work in the background."""
MAX_REPORTED_FAILURES: Final = 5

Given = TypeVar("Given")
Work = Callable[[list[Given]], object]


class BackgroundWriter:
    """A thread that does what it is given, in turns: what comes first at once, what comes soon after it together.

    A failure stops nothing else: it is logged as a warning and kept in `failures`, which `doctor` reports.
    """

    def __init__(self, what: str = "work in the background", *, failures: deque[str] | None = None) -> None:
        self._what = what
        self._deadline: float | None = None
        self._rested = 0.0
        self.failures: deque[str] = deque(maxlen=MAX_REPORTED_FAILURES) if failures is None else failures
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._thread: threading.Thread | None = None
        self._waiting: list[tuple[Work[Any], Any]] = []
        self._hurried = False
        self._changed = threading.Condition()

    def submit(self, work: Work[Given], given: Given) -> None:
        """Take *work* and return at once; it gets all that it was *given* in a row. After the end nothing is taken."""
        self._begin_anew_after_a_fork()
        with self._changed:
            if self._deadline is None:
                self._take(work, given)

    def _take(self, work: Work[Any], given: object) -> threading.Thread:
        """Put *work* behind what waits, and return the thread that does it; it ends when nothing waits any more."""
        self._waiting.append((work, given))
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="recollect-writer")
            self._thread.start()
        return self._thread

    def _work(self) -> None:
        while turn := self._next_turn():
            for work, given in groupby(turn, key=itemgetter(0)):
                try:
                    work([each for _, each in given])
                except Exception as error:  # noqa: BLE001  (the log must never harm the search)
                    self._fail(error)
            self._rested = time.monotonic() + PAUSE

    def _next_turn(self) -> list[tuple[Work[Any], Any]]:
        """Return what waits when it is time for it; the thread that gets nothing has ended."""
        with self._changed:
            if self._waiting:
                self._changed.wait_for(lambda: self._hurried, self._rested - time.monotonic())
            else:
                self._thread = None
            turn, self._waiting, self._hurried = self._waiting, [], False
            return turn

    def _fail(self, error: Exception) -> None:
        """Report *error*; after the deadline the store is closed under the work, which is no news."""
        if not self.is_over:
            told = f"{self._what} failed: {error}"
            self.failures.append(told)
            log_warning(told)

    @property
    def is_over(self) -> bool:
        """Whether the time to finish is up: long work looks at this between two steps, and leaves the rest."""
        return self._deadline is not None and time.monotonic() >= self._deadline

    def flush(self) -> None:
        """Wait until all that was given is done; while closing, until the deadline at most."""
        self._begin_anew_after_a_fork()
        done = threading.Event()
        with self._changed:
            thread = self._thread
            if thread is None:
                return
            self._take(lambda _: done.set(), None)
            self._hurried = True
            self._changed.notify()
        if self._deadline is None:
            done.wait()
        elif done.wait(max(0.0, self._deadline - time.monotonic())):
            thread.join()
        else:
            with self._changed:
                self._waiting.clear()

    def close(self) -> None:
        """Take nothing more, and finish what was given within CLOSE_SECONDS; what is left by then is dropped."""
        self._begin_anew_after_a_fork()
        with self._changed:
            self._deadline = time.monotonic() + CLOSE_SECONDS
        self.flush()

    def _begin_anew_after_a_fork(self) -> None:
        """Leave the thread to the process that started it: it is not in a copy of that."""
        if self._process != os.getpid():
            self._begin()


class Retention(Struct, frozen=True, kw_only=True):
    """How long the recall log keeps a search, and how large it grows; None means no bound."""

    days: float | None = 180.0
    megabytes: float | None = 100.0

    def prune(self, store: Store, *, scope: Scope, now: datetime, most: int | None = None) -> int:
        """Drop what is kept no longer, the oldest first; look at *most* of the log only."""
        before = None if self.days is None else now - timedelta(days=self.days)
        size = None if self.megabytes is None else int(self.megabytes * 1_000_000)
        return store.prune_recalls(scope=scope, before=before, max_bytes=size, most=most)


SLICE: Final = 50
"""How many of the oldest searches more than there are new ones are looked at, so that a log too large shrinks."""


class Shown(Struct, frozen=True, kw_only=True):
    """What a search showed, what was asked, and when."""

    reply: Reply
    request: Request
    at: datetime

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts of its hits."""
        return tuple(fact for hit in self.reply.hits for fact in hit.facts)


class RecallLog(Struct, frozen=True, kw_only=True):
    """The recall log of a store, as work for the background."""

    store: Store
    retention: Retention

    def __call__(self, shown: Sequence[Shown]) -> None:
        """Write what was *shown*, drop what is kept no longer, and let the facts that were shown fade later."""
        self.store.log_recall([recall_of(each.reply, each.request, at=each.at) for each in shown])
        self.retention.prune(self.store, scope=ALL_PROJECTS, now=shown[-1].at, most=SLICE + len(shown))
        faded = [fact for each in shown for fact in each.facts if each.at - fact.last_reinforced > FRESH]
        if faded:
            self._reinforce(shown, sorted({fact.memory_id for fact in faded}))

    def _reinforce(self, shown: Sequence[Shown], rows: Sequence[int]) -> None:
        """Move the facts of the memories *rows*, for each search from where the one before it left them."""
        wanted = FactQuery(memory_ids=tuple(rows), include_superseded=True)
        held = {fact.id: fact for fact in self.store.facts(wanted, scope=ALL_PROJECTS)}
        for each in shown:
            there = [held[fact.id] for fact in each.facts if fact.id in held]
            if facts := [fact for fact in there if each.at - fact.last_reinforced > FRESH]:
                writes = reinforced(facts, "search", now=each.at)
                self.store.apply(writes, at=each.at)
                held |= {
                    fact.id: replace(fact, last_reinforced=write.last_reinforced)
                    for fact, write in zip(facts, writes, strict=True)
                }


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
            logged=use != "search",
        )
        for fact in facts
    )


def _confidence(fact: Fact, use: str, *, most: float) -> float:
    if use == "reinforce":
        return max(fact.confidence, min(most, fact.confidence + MORE))
    return fact.confidence * LESS if use == "wrong" else fact.confidence


def chosen(ids: Sequence[int], facts: Iterable[Fact]) -> tuple[Fact, ...]:
    """Return the facts that *ids* name; one that is not there is an error."""
    wanted = set(ids)
    known = {fact.id: fact for fact in facts if fact.id in wanted}
    for row in ids:
        if row not in known:
            raise unknown_fact(row)
    return tuple(known[row] for row in ids)


# --- reports --------------------------------------------------------------------------------


class MemoryUse(Struct, frozen=True, kw_only=True):
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


BATCH: Final = 500
"""How many memories are loaded at a time."""


def never_recalled(store: Store, *, scope: Scope, limit: int | None = None) -> tuple[Memory, ...]:
    """Return the memories no search has ever shown, the oldest first."""
    used, last, found = store.usage(scope=scope), 0, list[Memory]()
    while (ids := store.ids(scope=scope, after=last, limit=BATCH)) and (limit is None or len(found) < limit):
        last = ids[-1]
        idle = [row for row in ids if row not in used or not used[row].shown]
        found += [memory for memory in store.load(idle, scope=scope).values() if memory.deleted_at is None]
    return tuple(found[:limit])


def never_used(store: Store, *, scope: Scope, often: int = OFTEN) -> tuple[MemoryUse, ...]:
    """Return what was shown *often* and never used, most often first."""
    idle = [each for each in memory_uses(store, scope=scope) if each.shown >= often and each.used == 0]
    return tuple(sorted(idle, key=lambda each: (-each.shown, each.id)))
