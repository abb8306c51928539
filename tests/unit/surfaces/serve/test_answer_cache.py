"""The answer cache: replies for 30 seconds, one search for equal concurrent requests, frequent queries kept warm."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import Recollection
from recollect.errors import InputError, SearchCancelled, SearchTimeout, StoreBusy
from recollect.profile import Profile, load_profile, read_profile
from recollect.replies import Reply, Request
from recollect.surfaces.serve.answer_cache import AnswerCache

DEFAULT = load_profile("default")
DAY = 24 * 3600


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Asked:
    """A cache by a clock of its own, in front of a search that counts how often it runs."""

    def __init__(self) -> None:
        self.clock, self.searched, self.version = Clock(), list[str](), 1
        self.cache = AnswerCache(self.clock)

    def ask(self, text: str = "a", *, profile: Profile = DEFAULT, **values: Any) -> Reply:
        return self.cache(Request(text=text, **values), profile, self.search, lambda: self.version)

    def search(self, request: Request, profile: Profile) -> Reply:
        self.searched.append(request.text)
        return Reply(query=request.text, mode="hybrid", profile=profile.name, outcome="none")

    def pass_a_day(self, *, asking: Callable[[float], None] = lambda _: None) -> None:
        """Let the warmer run for a day, and ask once a second of it."""
        end = self.clock.now + DAY

        def wait(seconds: float) -> bool:
            for _ in range(int(seconds)):
                self.clock.now += 1
                asking(self.clock.now)
            return self.clock.now >= end

        self.cache.keep_warm(wait)


@pytest.fixture
def asked() -> Asked:
    return Asked()


@pytest.fixture
def db() -> Iterator[Recollection]:
    with recollect.open(":memory:", model="none") as opened:
        yield opened


# --- what is cached -------------------------------------------------------------------------


@pytest.mark.req("E-03")
def test_a_reply_is_cached_for_30_seconds_and_no_longer(asked: Asked) -> None:
    asked.ask()
    asked.clock.now += 29.9
    asked.ask()
    fresh = len(asked.searched)
    asked.clock.now += 0.1
    asked.ask()

    assert (fresh, len(asked.searched)) == (1, 2)


@pytest.mark.req("E-03")
def test_above_160_of_200_entries_the_tenth_that_was_used_least_recently_goes(asked: Asked) -> None:
    for number in range(160):
        asked.ask(str(number))
    held = len(asked.cache)
    asked.ask("0")
    asked.ask("160")
    left = len(asked.cache)
    asked.searched.clear()

    for number in (0, 17, 1, 16):
        asked.ask(str(number))

    assert (held, left) == (160, 161 - 16)
    assert asked.searched == ["1", "16"]


@pytest.mark.req("E-02", "E-21")
def test_the_same_query_is_answered_from_the_cache_whatever_its_white_space(asked: Asked) -> None:
    replies = asked.ask("how  do we\nship"), asked.ask("how do we ship", session="s1")

    assert len(asked.searched) == 1
    assert [each.query for each in replies] == ["how  do we\nship", "how do we ship"]


@pytest.mark.req("E-04")
def test_every_field_of_a_request_is_part_of_the_key_also_one_added_later(asked: Asked) -> None:
    class Wider(Request, frozen=True, kw_only=True):
        added_later: int = 0

    for later in (0, 1, 1):
        asked.cache(Wider(text="a", added_later=later), DEFAULT, asked.search, lambda: 1)

    assert len(asked.searched) == 2


@pytest.mark.req("E-04")
def test_profiles_are_told_apart_by_their_content(asked: Asked) -> None:
    for text in ("limit = 3", "limit = 4", "limit = 3", "limit = 4"):
        asked.ask(profile=read_profile(text, name="mine"))

    assert len(asked.searched) == 2


@pytest.mark.req("E-02")
def test_what_is_written_is_seen_at_once(db: Recollection) -> None:
    cache = db.answers = AnswerCache()
    db.add("We deploy on Tuesdays")

    before = db.search("when do we deploy")
    db.add("We deploy on Fridays since May")
    after = db.search("when do we deploy")

    assert (len(before.hits), len(after.hits), cache.hits) == (1, 2, 0)


@pytest.mark.req("E-02")
def test_two_projects_never_share_an_answer(db: Recollection) -> None:
    db.answers = AnswerCache()
    db.in_project("a").add("The key is under the mat")

    seen = db.in_project("a").search("where is the key")
    hidden = db.in_project("b").search("where is the key")

    assert (len(seen.hits), len(hidden.hits)) == (1, 0)


@pytest.mark.req("E-03")
@pytest.mark.parametrize(
    ("degraded", "cached"),
    [
        (None, 1),
        ("no_model", 1),
        ("vectors_pending", 1),
        ("words_cut", 1),
        ("model_failed", 0),
        ("reranker_failed", 0),
        ("fts_unavailable", 0),
    ],
)
def test_a_reply_is_cached_unless_something_failed_during_the_search(asked: Asked, degraded: Any, cached: int) -> None:
    reply = Reply(query="a", mode="hybrid", profile="default", outcome="none", degraded=degraded)

    asked.cache(Request(text="a"), DEFAULT, lambda *_: reply, lambda: 1)

    assert len(asked.cache) == cached


@pytest.mark.req("E-03")
def test_an_answer_without_vectors_is_not_served_once_they_are_there(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "s.db", model="hashing") as db:
        cache = db.answers = AnswerCache()
        db.add("We deploy on Tuesdays", embed=False)

        waiting = [db.search("when do we deploy").degraded for _ in range(3)]
        executed = cache.executed
        db.embed()
        after = db.search("when do we deploy").degraded

    assert (waiting, executed) == (["vectors_pending"] * 3, 1)
    assert after is None


def test_a_cached_answer_is_logged_for_each_session_that_asks(db: Recollection) -> None:
    db.answers = AnswerCache()
    db.add("We deploy on Tuesdays")

    for session in ("one", "two"):
        db.search("when do we deploy", session=session)
    db.flush()

    assert {each.session for each in db.log.recent()} == {"one", "two"}


# --- one search for equal concurrent requests -----------------------------------------------


def until(condition: Callable[[], bool]) -> None:
    """Wait until *condition* holds; a test that waits in vain fails."""
    end = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


class Held:
    """A search that begins when it is asked, and ends when it is told how."""

    def __init__(self) -> None:
        self.times, self.begun, self.go_on = 0, threading.Event(), threading.Event()
        self.error: Exception | None = None

    def __call__(self, request: Request, profile: Profile) -> Reply:
        self.times += 1
        self.begun.set()
        assert self.go_on.wait(300)
        if self.error is not None:
            raise self.error
        return Reply(query=request.text, mode="hybrid", profile=profile.name, outcome="none")


@pytest.mark.req("E-05")
@pytest.mark.parametrize("error", [None, StoreBusy("the store is busy")])
def test_hundreds_of_equal_requests_at_once_run_one_search_and_share_its_reply_or_error(error: Any) -> None:
    cache, search = AnswerCache(Clock()), Held()
    search.error = error

    def ask(_: int) -> Any:
        try:
            return cache(Request(text="a"), DEFAULT, search, lambda: 1)
        except StoreBusy as raised:
            return raised

    with ThreadPoolExecutor(max_workers=300) as threads:
        asked = threads.map(ask, range(300))
        until(lambda: cache.joined == 299)
        search.go_on.set()
        answers = list(asked)

    assert search.times == cache.executed == 1
    assert all(each is error if error else each.outcome == "none" for each in answers)
    assert len(cache) == (error is None)
    ask(0)
    assert search.times == (1 if error is None else 2)


@pytest.mark.req("E-05")
def test_a_caller_who_waits_for_a_search_that_is_cancelled_searches_again(asked: Asked) -> None:
    search = Held()
    search.error = SearchCancelled("its caller left")

    with ThreadPoolExecutor(max_workers=2) as threads:
        first = threads.submit(asked.cache, Request(text="a"), DEFAULT, search, lambda: 1)
        search.begun.wait(300)
        second = threads.submit(asked.ask)
        until(lambda: asked.cache.joined == 1)
        search.go_on.set()

    assert isinstance(first.exception(), SearchCancelled)
    assert second.result().outcome == "none"


def test_a_caller_who_waits_for_another_search_has_a_deadline_of_its_own(asked: Asked) -> None:
    search = Held()

    with ThreadPoolExecutor(max_workers=1) as threads:
        first = threads.submit(asked.cache, Request(text="a"), DEFAULT, search, lambda: 1)
        search.begun.wait(300)
        with pytest.raises(SearchTimeout):
            asked.ask(timeout=0.01)
        search.go_on.set()

    assert first.result().outcome == "none"
    assert asked.searched == []


# --- warming --------------------------------------------------------------------------------


@pytest.mark.req("E-16")
def test_queries_that_are_asked_once_cost_no_further_search_in_a_day(asked: Asked) -> None:
    for text in "abcde":
        asked.ask(text)

    asked.pass_a_day()

    assert sorted(asked.searched) == list("abcde")


@pytest.mark.req("E-16")
def test_a_query_that_is_asked_again_and_again_never_waits_for_a_search(asked: Asked) -> None:
    asked.pass_a_day(asking=lambda now: asked.ask() if now % 60 < 2 else None)

    rounds = 1 + (DAY - 30) // 20  # the first after 30 seconds, then every 20
    assert asked.cache.misses == 1
    assert len(asked.searched) <= 1 + rounds


@pytest.mark.req("E-16")
def test_warming_stops_five_minutes_after_the_last_question(asked: Asked) -> None:
    begun = asked.clock.now

    asked.pass_a_day(asking=lambda now: asked.ask() if now - begun <= 600 else None)

    assert asked.searched == ["a"] * (1 + (900 - 30) // 20 + 1)


@pytest.mark.req("E-16")
def test_rounds_are_30_seconds_after_the_start_and_then_every_20(asked: Asked) -> None:
    pauses: list[float] = []

    def wait(seconds: float) -> bool:
        pauses.append(seconds)
        return len(pauses) == 4

    asked.cache.keep_warm(wait)

    assert pauses == [30, 20, 20, 20]


@pytest.mark.req("E-16")
def test_the_five_most_frequent_queries_are_warmed_for_the_current_version_and_not_logged(db: Recollection) -> None:
    db.add("We deploy on Tuesdays")
    cache = db.answers = AnswerCache(Clock())
    for number in range(7):
        for _ in range(number + 1):
            db.search(f"deploy {number}", session="s")
    db.flush()
    logged = len(db.log.recent(limit=1000))

    cache.warm()
    fresh = cache.executed
    db.add("We deploy on Fridays since May")
    cache.warm()
    db.flush()
    warmed = cache.executed
    for number in range(7):
        db.search(f"deploy {number}")

    assert (fresh, warmed) == (7, 7 + 5)  # nothing expires before the next round, until something is written
    assert len(db.log.recent(limit=1000)) == logged
    assert cache.executed == warmed + 2


@pytest.mark.req("E-16")
def test_a_thousand_queries_are_counted_and_those_of_yesterday_are_dropped_within_five_minutes(asked: Asked) -> None:
    for number in range(1001):
        asked.ask(str(number))
    counted = list(asked.cache._queries)  # noqa: SLF001
    noon = asked.clock.now + DAY / 2

    asked.pass_a_day(asking=lambda now: asked.ask("7") if now == noon else None)
    asked.clock.now += 300
    asked.cache.warm()

    assert (len(counted), '"text": "0"' in str(counted)) == (1000, False)
    assert [each.times for each in asked.cache._queries.values()] == [2]  # noqa: SLF001


def test_a_query_that_fails_while_it_is_warmed_keeps_no_other_cold(asked: Asked) -> None:
    def search(request: Request, profile: Profile) -> Reply:
        if request.text == "bad" and asked.version == 2:
            raise StoreBusy("the store is busy")
        return asked.search(request, profile)

    for text in ("good", "good", "bad", "bad", "bad"):
        asked.cache(Request(text=text), DEFAULT, search, lambda: asked.version)
    asked.version = 2

    asked.cache.warm()

    assert asked.searched == ["good", "bad", "good"]


def test_a_bad_request_is_not_counted(db: Recollection) -> None:
    cache = db.answers = AnswerCache()

    with pytest.raises(InputError):
        db.search("a", alpha=2)

    assert not cache._queries  # noqa: SLF001


def test_the_deadline_of_a_request_is_not_used_to_warm_it(asked: Asked) -> None:
    seen: list[float | None] = []

    def search(request: Request, profile: Profile) -> Reply:
        seen.append(request.timeout)
        return asked.search(request, profile)

    for _ in range(2):
        asked.cache(Request(text="a", timeout=5.0), DEFAULT, search, lambda: 1)
    asked.clock.now += 20
    asked.cache.warm()

    assert seen == [5.0, None]
