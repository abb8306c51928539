"""What a warm process keeps: results for 30 seconds, equal questions asked once, frequent ones warmed."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import recollect
from recollect import Recollection
from recollect.errors import QueryError, SearchCancelled, StoreBusy
from recollect.profile import Profile, load_profile, read_profile
from recollect.replies import Reply, Request
from recollect.surfaces.serve.answers import Answers
from recollect.surfaces.serve.cache import ResultCache
from recollect.surfaces.serve.flight import SingleFlight
from recollect.surfaces.serve.frequency import Frequencies
from recollect.surfaces.serve.warm import Schedule, Warmer


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


def until(condition: Callable[[], bool]) -> None:
    """Wait until *condition* holds; a test that waits in vain fails."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


@pytest.mark.req("E-05")
def test_a_thousand_equal_questions_at_once_are_executed_once() -> None:
    flight, go_on = SingleFlight[str](), threading.Event()

    def work() -> str:
        go_on.wait(60)
        return "answer"

    with ThreadPoolExecutor(max_workers=1000) as threads:
        asked = [threads.submit(flight.run, "q", work) for _ in range(1000)]
        until(lambda: flight.joined == 999)
        go_on.set()
        answers = {each.result(60) for each in asked}

    assert answers == {"answer"}
    assert flight.executions == 1


@pytest.mark.req("E-05")
def test_an_error_is_shared_by_those_who_wait_and_not_kept() -> None:
    answers, profile, go_on, times = Answers(Seconds()), load_profile("default"), threading.Event(), []

    def search(_: Request, __: Profile) -> Reply:
        times.append(1)
        go_on.wait(60)
        raise StoreBusy("the store is busy")

    def ask(_: int) -> BaseException | None:
        with pytest.raises(StoreBusy) as raised:
            answers(Request(text="a"), profile, search, lambda: 1)
        return raised.value

    with ThreadPoolExecutor(max_workers=20) as threads:
        asked = threads.map(ask, range(20))
        until(lambda: answers.flight.joined == 19)
        go_on.set()
        errors = list(asked)

    assert len(times) == 1
    assert len({id(each) for each in errors}) == 1
    assert len(answers.cache) == 0
    ask(0)
    assert len(times) == 2


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
    class Wider(Request, frozen=True, kw_only=True):
        added_later: int = 0

    search, answers, profile = Searching(), Answers(Seconds()), load_profile("default")

    for later in (0, 1, 1):
        answers(Wider(text="a", added_later=later), profile, search, lambda: 1)

    assert search.times == 2


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


@pytest.mark.req("E-03")
@pytest.mark.parametrize(
    ("degraded", "kept"),
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
def test_every_answer_is_kept_but_one_that_met_a_fault_of_the_moment(degraded: Any, kept: int) -> None:
    answers, profile = Answers(Seconds()), load_profile("default")
    reply = Reply(query="a", mode="hybrid", profile="default", outcome="none", degraded=degraded)

    answers(Request(text="a"), profile, lambda *_: reply, lambda: 1)

    assert len(answers.cache) == kept


@pytest.mark.req("E-03")
def test_an_answer_without_vectors_is_not_served_once_they_are_there(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "s.db", model="hashing") as db:
        answers = db.answers = Answers()
        db.add("We deploy on Tuesdays", embed=False)

        waiting = [db.search("when do we deploy").degraded for _ in range(3)]
        executed = answers.flight.executions
        db.embed()
        after = db.search("when do we deploy").degraded

    assert (waiting, executed) == (["vectors_pending"] * 3, 1)
    assert after is None


@pytest.mark.req("E-04")
def test_profiles_are_told_apart_by_their_content_and_not_by_where_they_lie_in_memory() -> None:
    search, answers = Searching(), Answers(Seconds())

    for text in ("limit = 3", "limit = 4", "limit = 3", "limit = 4"):
        answers(Request(text="a"), read_profile(text, name="mine"), search, lambda: 1)

    assert search.times == 2
    assert len(answers.frequencies) == 2


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
def test_the_five_most_frequent_questions_are_searched_for_again_and_that_is_no_recall(db: Recollection) -> None:
    db.add("We deploy on Tuesdays")
    answers = db.answers = Answers(Seconds())
    for number in range(7):
        for _ in range(number + 1):
            db.search(f"deploy {number}", session="s")
    db.flush()
    logged, asked = len(db.recalls(limit=1000)), answers.flight.executions

    warmed = answers.warm()
    db.flush()

    assert warmed == 5
    assert answers.flight.executions == asked + 5  # though each of them is still kept
    assert len(db.recalls(limit=1000)) == logged
    assert [each.request.text for each in answers.frequencies.top(2)] == ["deploy 6", "deploy 5"]


@pytest.mark.req("E-16")
def test_a_question_that_is_warmed_never_waits_for_a_search() -> None:
    clock, search, profile = Seconds(), Searching(), load_profile("default")
    answers = Answers(clock)
    warmer = Warmer(warm=answers.warm, clean=answers.frequencies.clean, clock=clock)
    answers(Request(text="a"), profile, search, lambda: 1)
    rounds = 9  # after 30, 50, … 190 seconds

    for _ in range(200):
        clock.now += 1
        warmer.tick()
        answers(Request(text="a"), profile, search, lambda: 1)

    assert search.times == 1 + rounds
    assert answers.cache.hits == 200


@pytest.mark.req("E-16")
def test_nothing_is_warmed_while_nobody_asks() -> None:
    clock, search, profile = Seconds(), Searching(), load_profile("default")
    answers = Answers(clock)
    warmer = Warmer(warm=answers.warm, clean=answers.frequencies.clean, clock=clock)
    for text in "abcde":
        answers(Request(text=text), profile, search, lambda: 1)

    for _ in range(24 * 360):
        clock.now += 10
        warmer.tick()
    in_a_day = search.times
    answers(Request(text="a"), profile, search, lambda: 1)
    clock.now += 20
    warmer.tick()

    assert in_a_day == 5 + 14 * 5  # 14 rounds in the five minutes after the last question
    assert search.times == in_a_day + 1 + 5


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
