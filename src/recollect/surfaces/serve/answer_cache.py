"""Answer searches from memory: cached replies, one search for equal concurrent requests, frequent queries kept warm.

The key holds every field of the request, the content of the profile, and the version of the store and of the model. So
a write by any process and a model installed later are seen at once. The constants are those of engram.
"""

from collections.abc import Callable, Hashable
from concurrent.futures import Future
from contextlib import suppress
from threading import Lock
from time import monotonic
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from recollect.errors import SearchStopped, SearchTimeout
from recollect.profile import Profile
from recollect.replies import Reply, Request

TTL_SECONDS: Final = 30.0
MAX_ENTRIES: Final = 200
EVICT_ABOVE: Final = 0.8
"""The share of `MAX_ENTRIES` above which the cache evicts entries."""
EVICTED_SHARE: Final = 0.1
MAX_COUNTED_QUERIES: Final = 1000
COUNTED_SECONDS: Final = 24 * 3600.0
"""How long a query stays in the table of frequencies after it was last asked."""
WARMED_QUERIES: Final = 5
FIRST_ROUND_SECONDS: Final = 30.0
ROUND_SECONDS: Final = 20.0
WARM_IDLE_SECONDS: Final = 300.0
"""How long a query is kept warm after it was last asked."""
TRANSIENT_FAULTS: Final = frozenset({"model_failed", "reranker_failed", "fts_unavailable"})
"""Degradations that may end at any moment without a new version of the store or the model; they are not cached."""


class _Query(Struct):
    """A query that was asked: how to search for it again, how often it was asked, and when last."""

    search: Callable[[], Reply]
    version: Callable[[], Hashable]
    times: int = 0
    asked_at: float = 0.0


class AnswerCache:
    """Answers the searches of one store: assign it to `Recollection.answers`. Safe for threads."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock, self._lock = clock, Lock()
        self._replies: dict[Hashable, tuple[float, Reply]] = {}
        """Each reply with the time it expires, least recently used first."""
        self._running: dict[Hashable, Future[Reply]] = {}
        self._queries: dict[tuple[str, str], _Query] = {}
        """Without the version in their key, least recently asked first."""
        self.hits = self.misses = self.executed = self.joined = 0

    def __len__(self) -> int:
        return len(self._replies)

    def __call__(
        self,
        request: Request,
        profile: Profile,
        search: Callable[[Request, Profile], Reply],
        version: Callable[[], Hashable],
    ) -> Reply:
        """Answer *request* with the cached reply for this *version*, or by *search*."""
        asked = replace(request, session=None)  # the session says where to log an answer, and changes none
        name = (asked.key(), repr(profile))
        key = (*name, version())
        reply = self._cached(key)
        if reply is None:
            reply = self._search_once(key, lambda: search(asked, profile), asked.timeout)
        again = replace(asked, timeout=None, cancelled=None)
        self._count(name, _Query(search=lambda: search(again, profile), version=version))
        return replace(reply, query=request.text)  # as this caller wrote it: white space may differ

    def keep_warm(self, wait: Callable[[float], bool]) -> None:
        """Refresh frequent queries every 20 seconds until *wait* returns True; pass the `wait` of a threading.Event."""
        pause = FIRST_ROUND_SECONDS
        while not wait(pause):
            self.warm()
            pause = ROUND_SECONDS

    def warm(self) -> None:
        """Search again for the most frequent queries whose cached reply expires before the next round.

        Frequent are those asked more than once, the last time within five minutes. Nothing is logged or counted.
        """
        now = self._clock()
        forgotten, idle = now - COUNTED_SECONDS, now - WARM_IDLE_SECONDS
        with self._lock:
            self._queries = {name: each for name, each in self._queries.items() if each.asked_at >= forgotten}
            frequent = [pair for pair in self._queries.items() if pair[1].times > 1 and pair[1].asked_at > idle]
        frequent.sort(key=lambda pair: (pair[1].times, pair[1].asked_at), reverse=True)
        for name, query in frequent[:WARMED_QUERIES]:
            with suppress(Exception):  # a query that fails now must not keep others cold
                key = (*name, query.version())
                if self._replies.get(key, (0.0,))[0] < now + ROUND_SECONDS:
                    self._search_once(key, query.search)

    def _cached(self, key: Hashable) -> Reply | None:
        with self._lock:
            expires, reply = self._replies.pop(key, (0.0, None))
            if reply is None or expires <= self._clock():
                self.misses += 1
                return None
            self._replies[key] = expires, reply  # at the end: it was used last
            self.hits += 1
            return reply

    def _search_once(self, key: Hashable, search: Callable[[], Reply], timeout: float | None = None) -> Reply:
        """Search and cache the reply; equal requests that come meanwhile wait, and share the reply or the error.

        If the caller of the running search gives it up, those who wait for it search themselves.
        """
        own = Future[Reply]()
        with self._lock:
            running = self._running.setdefault(key, own)
            self.executed += running is own
            self.joined += running is not own
        if running is own:
            return self._run(key, search, own)
        try:
            return running.result(timeout)
        except SearchStopped:
            return self._search_once(key, search, timeout)
        except TimeoutError:
            hint = "give it more time, or narrow it"
            raise SearchTimeout("the search took longer than it was given", hint=hint) from None

    def _run(self, key: Hashable, search: Callable[[], Reply], waiting: "Future[Reply]") -> Reply:
        try:
            reply = search()
        except BaseException as error:
            del self._running[key]
            waiting.set_exception(error)
            raise
        if reply.degraded not in TRANSIENT_FAULTS:
            self._put(key, reply)
        del self._running[key]
        waiting.set_result(reply)
        return reply

    def _put(self, key: Hashable, reply: Reply) -> None:
        with self._lock:
            self._replies.pop(key, None)
            self._replies[key] = self._clock() + TTL_SECONDS, reply
            if len(self._replies) > EVICT_ABOVE * MAX_ENTRIES:
                for old in list(self._replies)[: int(EVICTED_SHARE * len(self._replies))]:
                    del self._replies[old]

    def _count(self, name: tuple[str, str], query: _Query) -> None:
        with self._lock:
            counted = self._queries.pop(name, query)
            counted.times += 1
            counted.asked_at = self._clock()
            self._queries[name] = counted
            if len(self._queries) > MAX_COUNTED_QUERIES:
                del self._queries[next(iter(self._queries))]
