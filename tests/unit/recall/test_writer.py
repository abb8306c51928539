"""What is written in the background: in order, in few turns, and nothing is lost at the end."""

import os
import threading
import time

import pytest

from recollect.recall.log import BackgroundWriter


@pytest.fixture
def endless_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the pause between two turns longer than any test."""
    monkeypatch.setattr("recollect.recall.log.PAUSE", 1e6)


@pytest.mark.usefixtures("endless_pause")
def test_the_first_is_done_at_once_and_what_follows_together() -> None:
    writer, turns = BackgroundWriter(), list[list[int]]()
    writer.submit(turns.append, 1)
    while not turns:
        time.sleep(0.001)

    for number in (2, 3, 4):
        writer.submit(turns.append, number)
    writer.flush()

    assert turns == [[1], [2, 3, 4]]


def test_what_follows_soon_is_done_without_being_asked_for() -> None:
    writer, turns = BackgroundWriter(), list[list[int]]()
    for number in (1, 2):
        writer.submit(turns.append, number)

    until = time.monotonic() + 300
    while sum(map(len, turns)) < 2 and time.monotonic() < until:
        time.sleep(0.01)

    assert turns in ([[1], [2]], [[1, 2]])


def test_works_of_two_kinds_keep_their_order() -> None:
    writer, done = BackgroundWriter(), list[tuple[str, list[int]]]()

    def one(given: list[int]) -> None:
        done.append(("one", given))

    def other(given: list[int]) -> None:
        done.append(("other", given))

    writer.submit(one, 0)
    writer.flush()
    for work, number in ((one, 1), (one, 2), (other, 3), (one, 4)):
        writer.submit(work, number)
    writer.close()

    assert done == [("one", [0]), ("one", [1, 2]), ("other", [3]), ("one", [4])]


def test_a_failure_stays_alone() -> None:
    writer, turns = BackgroundWriter(), list[list[int]]()
    writer.submit(os.rmdir, "no such folder")  # type: ignore[arg-type]
    writer.submit(turns.append, 1)
    writer.close()

    assert turns == [[1]]
    assert len(writer.failures) == 1
    assert "rmdir" in writer.failures[0]


def test_the_end_waits_for_work_that_never_ends_no_longer_than_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.recall.log.CLOSE_SECONDS", 0.01)
    writer, turns, gate, begun = BackgroundWriter(), list[list[int]](), threading.Event(), threading.Event()

    def work(_: list[int]) -> None:
        begun.set()
        gate.wait()

    writer.submit(work, 0)
    begun.wait()
    writer.submit(turns.append, 1)
    writer.close()
    gate.set()

    assert turns == []


def test_failures_are_logged_and_only_the_last_ones_are_kept(caplog: pytest.LogCaptureFixture) -> None:
    writer = BackgroundWriter("writing the recall log")
    for number in range(7):
        writer.submit(os.rmdir, f"no such folder {number}")  # type: ignore[arg-type]
        writer.flush()

    assert len(caplog.messages) == 7
    assert len(writer.failures) == 5
    assert all(each.startswith("writing the recall log failed: ") for each in writer.failures)


@pytest.mark.usefixtures("endless_pause")
def test_the_end_waits_for_no_pause_and_takes_nothing_more() -> None:
    writer, turns = BackgroundWriter(), list[list[int]]()
    writer.submit(turns.append, 1)
    writer.flush()
    writer.submit(turns.append, 2)

    writer.close()
    writer.submit(turns.append, 3)
    writer.flush()

    assert turns == [[1], [2]]
