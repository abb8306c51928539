"""How a warm process answers a search: from the cache, else once for all who ask the same; then it is kept and counted.

The key is every field of the request, the content of the profile, and the version of the store and the model: a write
is seen at once, a model that is installed later too, and a field that is added later is part of the key by itself.
Errors are shared with those who wait, and not kept.
"""

from collections.abc import Callable, Hashable
from contextlib import suppress
from contextvars import ContextVar
from time import monotonic
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from recollect.errors import RecollectError
from recollect.profile import Profile
from recollect.replies import Reply, Request
from recollect.surfaces.serve.cache import ResultCache
from recollect.surfaces.serve.flight import SingleFlight
from recollect.surfaces.serve.frequency import Frequencies
from recollect.surfaces.serve.warm import IDLE_SECONDS, WARMED_QUESTIONS

Search = Callable[[Request, Profile], Reply]
FAULTS: Final = frozenset({"model_failed", "reranker_failed", "fts_unavailable"})
"""Degradations that may be over in a moment, without a change of the version."""


class Question(Struct, frozen=True, kw_only=True):
    """A request, how to rank, what answers it, and the version of what is searched."""

    request: Request
    profile: Profile
    search: Search
    version: Callable[[], Hashable]
    key: tuple[str, str]
    """The key of the request and the content of the profile."""


QUESTIONS: ContextVar[list[Question] | None] = ContextVar("questions", default=None)
"""Collects the questions that are answered in this context, for a cache in front that answers them next time."""


def may_be_kept(reply: Reply) -> bool:
    """Return whether *reply* stays right while the version does: a fault of the moment does not."""
    return reply.degraded not in FAULTS


class Answers:
    """The results of one store, kept for a moment; give it to a recollection as its way to answer."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self.cache: Final = ResultCache[Reply](clock)
        self.flight: Final = SingleFlight[Reply]()
        self.frequencies: Final = Frequencies[Question](clock)

    def __call__(self, request: Request, profile: Profile, search: Search, version: Callable[[], Hashable]) -> Reply:
        """Answer *request*; what *search* does is done only where no kept result of this *version* holds."""
        asked = _unlogged(request)
        key = (asked.key(), repr(profile))
        question = Question(request=asked, profile=profile, search=search, version=version, key=key)
        reply = self._answer(question)
        self.count(question)
        collected = QUESTIONS.get()
        if collected is not None:
            collected.append(question)
        return reply

    def count(self, question: Question) -> None:
        """Count that *question* was answered, by whatever cache."""
        self.frequencies.count(question.key, question)

    def warm(self) -> int:
        """Search for the most frequent questions again, so that their results never run out; return how many.

        Nothing of it is logged or counted. While nobody asks anything, nothing is warmed.
        """
        if self.frequencies.idle_seconds() > IDLE_SECONDS:
            return 0
        questions = self.frequencies.top(WARMED_QUESTIONS)
        for each in questions:
            question = replace(each, request=replace(each.request, timeout=None, cancelled=None))
            with suppress(RecollectError):  # one that cannot be answered now keeps no other from being warmed
                self._search(_result_key(question), question)
        return len(questions)

    def _answer(self, question: Question) -> Reply:
        key = _result_key(question)
        kept = self.cache.get(key)
        return _as_asked(kept if kept is not None else self._search(key, question), question.request)

    def _search(self, key: Hashable, question: Question) -> Reply:
        """Search, once for all who ask the same at this moment, and keep the result."""
        return self.flight.run(key, lambda: self._kept(key, question), timeout=question.request.timeout)

    def _kept(self, key: Hashable, question: Question) -> Reply:
        reply = question.search(question.request, question.profile)
        if may_be_kept(reply):
            self.cache.put(key, reply)
        return reply


def _result_key(question: Question) -> Hashable:
    return (*question.key, question.version())


def _unlogged(request: Request) -> Request:
    """Return *request* without its session: it says where to log an answer, and changes none."""
    return replace(request, session=None) if request.session is not None else request


def _as_asked(reply: Reply, request: Request) -> Reply:
    """Return *reply* with the question as this caller wrote it: only its white space may differ."""
    return reply if reply.query == request.text else replace(reply, query=request.text)
