"""How a warm process answers a search: from the cache, else once for all who ask the same; then it is kept and counted.

The key is every field of the request, the profile and the version of what is searched: what is written is seen at once,
and a field that is added later is part of the key by itself. Errors are shared with those who wait, and not kept.
"""

from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Final

from recollect.errors import RecollectError
from recollect.profile import Profile
from recollect.replies import Reply, Request
from recollect.surfaces.serve.cache import ResultCache
from recollect.surfaces.serve.flight import SingleFlight
from recollect.surfaces.serve.frequency import Frequencies
from recollect.surfaces.serve.warm import MOST
from recollect.values import dataclass, replace

Search = Callable[[Request, Profile], Reply]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What was asked, how to rank, what answers it, and the version of what is searched."""

    request: Request
    profile: Profile
    search: Search
    version: Callable[[], int]


class Answers:
    """The results of one store, kept for a moment; give it to a recollection as its way to answer."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self.cache: Final = ResultCache[Reply](clock)
        self.flight: Final = SingleFlight[Reply]()
        self.frequencies: Final = Frequencies[Question](clock)

    def __call__(self, request: Request, profile: Profile, search: Search, version: Callable[[], int]) -> Reply:
        """Answer *request*; what *search* does is done only where no kept result of this *version* holds."""
        question = Question(request=_unlogged(request), profile=profile, search=search, version=version)
        reply = self._answer(question)
        self.frequencies.count(question.request.key(), question)
        return reply

    def warm(self) -> int:
        """Answer the most frequent questions anew where their results are gone; nothing of it is logged or counted."""
        questions = self.frequencies.top(MOST)
        for question in questions:
            with suppress(RecollectError):  # one that cannot be answered now keeps no other from being warmed
                self._answer(replace(question, request=replace(question.request, timeout=None, cancelled=None)))
        return len(questions)

    def _answer(self, question: Question) -> Reply:
        key = (question.request.key(), id(question.profile), question.version())  # a profile is loaded once
        kept = self.cache.get(key)
        if kept is not None:
            return _as_asked(kept, question.request)
        reply = self.flight.run(key, lambda: self._ask(key, question), timeout=question.request.timeout)
        return _as_asked(reply, question.request)

    def _ask(self, key: tuple[str, int, int], question: Question) -> Reply:
        reply = question.search(question.request, question.profile)
        if reply.degraded is None:  # what is missing now, such as a model, may be there in a moment
            self.cache.put(key, reply)
        return reply


def _unlogged(request: Request) -> Request:
    """Return *request* without its session: it says where to log an answer, and changes none."""
    return replace(request, session=None) if request.session is not None else request


def _as_asked(reply: Reply, request: Request) -> Reply:
    """Return *reply* with the question as this caller wrote it: only its white space may differ."""
    return reply if reply.query == request.text else replace(reply, query=request.text)
