"""What a warm process keeps: results for 30 seconds, equal questions asked once, frequent ones warmed."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace

import pytest

import recollect
from recollect import Recollection
from recollect.errors import QueryError, SearchCancelled, StoreBusy
from recollect.profile import Profile, load_profile
from recollect.replies import Reply, Request
from recollect.surfaces.serve.answers import Answers
from recollect.surfaces.serve.cache import ResultCache
from recollect.surfaces.serve.flight import SingleFlight
from recollect.surfaces.serve.frequency import Frequencies
from recollect.surfaces.serve.warm import Schedule, Warmer
from recollect.values import dataclass


class Seconds:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Searching:
    """A search that counts how often it runs, and answers or fails as told."""

    def __init__(self, error: Exception | None = None) -> None:
        self.times, self.error = 0, error

    def __call__(self, request: Request, profile: Profile) -> Reply:
        self.times += 1
        if self.error is not None:
            raise self.error
        return Reply(query=request.text, mode="hybrid", profile=profile.name, outcome="none")


@pytest.fixture
def db() -> Iterator[Recollection]:
    with recollect.open(":memory:", model="none") as opened:
        yield opened


# --- the cache ------------------------------------------------------------------------------


@pytest.mark.req("E-03")
def test_a_result_is_kept_for_30_seconds_and_no_longer() -> None:
    clock = Seconds()
    cache = ResultCache[str](clock)
    cache.put("a", "answer")

    clock.now += 29.9
    fresh = cache.get("a")
    clock.now += 0.1
    stale = cache.get("a")

    assert (fresh, stale) == ("answer", None)


@pytest.mark.req("E-03")
def test_above_160_of_200_entries_the_oldest_tenth_goes() -> None:
    cache = ResultCache[int](Seconds())

    for number in range(160):
        cache.put(number, number)
    held = len(cache)
    cache.put(160, 160)

    assert held == 160
    assert len(cache) == 161 - 16
    assert [cache.get(number) is None for number in range(17)] == [True] * 16 + [False]


@pytest.mark.req("E-03")
def test_the_cache_never_holds_more_than_200() -> None:
    cache = ResultCache[int](Seconds())

    for number in range(10_000):
        cache.put(number, number)

    assert len(cache) <= 200
    assert cache.get(9_999) == 9_999


# --- one flight -----------------------------------------------------------------------------


@pytest.mark.req("E-05")
def test_a_thousand_equal_questions_at_once_are_executed_once() -> None:
    flight, begun, go_on = SingleFlight[str](), threading.Event(), threading.Event()
    waiting = threading.Semaphore(0)

    def work() -> str:
        begun.set()
        go_on.wait(30)
        return "answer"

    def ask(_: int) -> str:
        waiting.release()
        return flight.run("q", work)

    with ThreadPoolExecutor(max_workers=1000) as threads:
        asked = [threads.submit(ask, number) for number in range(1000)]
        begun.wait(30)
        for _ in range(1000):
            waiting.acquire(timeout=30)
        go_on.set()
        answers = {each.result(30) for each in asked}

    assert answers == {"answer"}
    assert flight.executions == 1


@pytest.mark.req("E-05")
def test_an_error_is_shared_by_those_who_wait_and_not_kept() -> None:
    search = Searching(StoreBusy("the store is busy"))
    answers = Answers(Seconds())
    profile = load_profile("default")

    for _ in range(2):
        with pytest.raises(StoreBusy):
            answers(Request(text="a"), profile, search, lambda: 1)

    assert search.times == 2
    assert len(answers.cache) == 0


@pytest.mark.req("E-05")
def test_who_waits_for_one_that_was_cancelled_asks_again() -> None:
    flight, begun, go_on = SingleFlight[str](), threading.Event(), threading.Event()

    def cancelled() -> str:
        begun.set()
        go_on.wait(30)
        raise SearchCancelled("its caller left")

    with ThreadPoolExecutor(max_workers=2) as threads:
        first = threads.submit(flight.run, "q", cancelled)
        begun.wait(30)
        second = threads.submit(flight.run, "q", lambda: "answer")
        go_on.set()

    assert isinstance(first.exception(), SearchCancelled)
    assert second.result() == "answer"


# --- answers --------------------------------------------------------------------------------


@pytest.mark.req("E-02", "E-21")
def test_the_same_question_is_answered_from_the_cache_whatever_its_white_space() -> None:
    search, answers, profile = Searching(), Answers(Seconds()), load_profile("default")

    first = answers(Request(text="how  do we\nship"), profile, search, lambda: 1)
    second = answers(Request(text="how do we ship", session="s1"), profile, search, lambda: 1)

    assert search.times == 1
    assert (first.query, second.query) == ("how  do we\nship", "how do we ship")
    assert len(answers.frequencies) == 1


@pytest.mark.req("E-04")
def test_every_field_of_a_request_is_part_of_the_key_also_one_added_later() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Wider(Request):
        added_later: int = 0

    search, answers, profile = Searching(), Answers(Seconds()), load_profile("default")

    for later in (0, 1, 1):
        answers(Wider(text="a", added_later=later), profile, search, lambda: 1)

    assert search.times == 2
    assert {each.name for each in fields(Request) if not each.compare} == {"timeout", "cancelled"}


@pytest.mark.req("E-02")
def test_what_is_written_is_seen_at_once(db: Recollection) -> None:
    db.answers = Answers()
    db.add("We deploy on Tuesdays")

    before = db.search("when do we deploy")
    db.add("We deploy on Fridays since May")
    after = db.search("when do we deploy")

    assert (len(before.hits), len(after.hits)) == (1, 2)
    assert db.answers.cache.hits == 0


@pytest.mark.req("E-02")
def test_two_projects_never_share_an_answer(db: Recollection) -> None:
    db.answers = Answers()
    db.in_project("a").add("The key is under the mat")

    seen = db.in_project("a").search("where is the key")
    hidden = db.in_project("b").search("where is the key")

    assert (len(seen.hits), len(hidden.hits)) == (1, 0)


def test_what_is_degraded_is_not_kept() -> None:
    answers, profile = Answers(Seconds()), load_profile("default")
    degraded = Reply(query="a", mode="hybrid", profile="default", outcome="none", degraded="no_model")

    answers(Request(text="a"), profile, lambda *_: degraded, lambda: 1)

    assert len(answers.cache) == 0


def test_a_kept_answer_is_logged_for_each_session_that_asks(db: Recollection) -> None:
    db.answers = Answers()
    db.add("We deploy on Tuesdays")

    for session in ("one", "two"):
        db.search("when do we deploy", session=session)
    db.flush()

    assert {each.session for each in db.recalls()} == {"one", "two"}


def test_a_bad_request_is_refused_and_nothing_is_counted(db: Recollection) -> None:
    db.answers = Answers()

    with pytest.raises(QueryError):
        db.search("a", alpha=2)

    assert len(db.answers.frequencies) == 0


# --- warming --------------------------------------------------------------------------------


@pytest.mark.req("E-16")
def test_the_first_round_is_after_30_seconds_then_every_20_and_cleaning_every_5_minutes() -> None:
    schedule = Schedule.starting(0.0)
    rounds, cleanings = [], []

    for now in range(700):
        warm, clean = schedule.due(float(now))
        rounds += [now] * warm
        cleanings += [now] * clean

    assert rounds[:3] == [30, 50, 70]
    assert cleanings == [300, 600]


@pytest.mark.req("E-16")
def test_the_five_most_frequent_questions_are_warmed_and_that_is_no_recall(db: Recollection) -> None:
    clock = Seconds()
    db.add("We deploy on Tuesdays")
    answers = db.answers = Answers(clock)
    for number in range(7):
        for _ in range(number + 1):
            db.search(f"deploy {number}", session="s")
    db.flush()
    logged, asked = len(db.recalls(limit=1000)), answers.flight.executions
    clock.now += 31

    warmed = answers.warm()
    db.flush()

    assert warmed == 5
    assert answers.flight.executions == asked + 5
    assert len(db.recalls(limit=1000)) == logged
    assert [each.request.text for each in answers.frequencies.top(2)] == ["deploy 6", "deploy 5"]


@pytest.mark.req("E-16")
def test_a_thousand_questions_are_counted_and_those_of_yesterday_dropped() -> None:
    clock = Seconds()
    table = Frequencies[int](clock)
    for number in range(1001):
        table.count(number, number)
    counted, first = len(table), 0 in table.top(2000)
    clock.now += 24 * 3600
    table.count(1, 1)
    clock.now += 1

    dropped = table.clean()

    assert (counted, first) == (1000, False)
    assert (dropped, table.top(10)) == (999, [1])


def test_what_fails_while_warming_stops_nothing() -> None:
    clock, done = Seconds(), []

    def fail() -> None:
        raise StoreBusy("the store is busy")

    warmer = Warmer(warm=fail, clean=lambda: done.append(1), clock=clock)
    clock.now += 300

    warmer.tick()

    assert (warmer.failures, done) == (1, [1])


def test_a_warmer_ends_when_it_is_stopped() -> None:
    warmer = Warmer(warm=lambda: None, clean=lambda: None)
    warmer.start()

    warmer.stop()

    assert not any(each.name == "recollect-warmer" for each in threading.enumerate())


def test_a_request_keeps_its_own_deadline_out_of_what_is_warmed() -> None:
    answers, profile, seen = Answers(Seconds()), load_profile("default"), []

    def search(request: Request, profile: Profile) -> Reply:
        seen.append(request.timeout)
        return replace(Searching()(request, profile), degraded="no_model")

    answers(Request(text="a", timeout=5.0), profile, search, lambda: 1)
    answers.warm()

    assert seen == [5.0, None]
