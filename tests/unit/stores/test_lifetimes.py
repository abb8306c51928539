"""Connections are given back, the end waits for those who work, and after the end every use is refused."""

import asyncio
import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import recollect
from kit import NOON, plain
from recollect import Memory, RecollectError, StoreError, aio
from recollect.records import ALL_PROJECTS, Insert
from recollect.stores.sqlite import connections, open_sqlite

ENDLESS = "with recursive n(x) as (select 1 union all select x + 1 from n) select count(*) from n"


def descriptors(path: Path) -> int:
    """Count what this process has open of the store at *path*."""
    links = list(Path("/proc/self/fd").iterdir())
    return sum(str(link.readlink()) == str(path) for link in links if link.is_symlink())


def together(count: int, work: Callable[[], object]) -> None:
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_threads_that_end_leave_no_connections(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    with recollect.open(path, model="none") as db:
        db.add("the cat sat")
        for _ in range(60):
            together(5, lambda: db.search("cat"))

        assert descriptors(path) <= 5
    assert descriptors(path) == 0


def test_sixteen_threads_add_and_search_by_no_more_connections_than_threads(tmp_path: Path) -> None:
    path, seen = tmp_path / "notes.db", list[int]()

    def work() -> None:
        for _ in range(3):
            row = db.add(f"note of {threading.get_ident()} at {time.perf_counter_ns()}").id
            seen.append(row)
            db.search("note")

    with recollect.open(path, model="none") as db:
        together(16, work)

        assert len(set(seen)) == db.stats().memories
        assert descriptors(path) <= 16


def test_two_hundred_tasks_share_a_store(tmp_path: Path) -> None:
    async def story() -> tuple[int, int]:
        async with await aio.open(tmp_path / "notes.db", model="none") as db:
            await asyncio.gather(*(db.add(f"note number {number} about topic{number}") for number in range(50)))
            found = await asyncio.gather(*(db.search(f"topic{number % 50}") for number in range(150)))
            return sum(bool(reply.hits) for reply in found), descriptors(tmp_path / "notes.db")

    found, kept = asyncio.run(story())

    assert found == 150
    assert kept <= min(32, (os.cpu_count() or 1) + 4)


# --- the end ----------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["file", ":memory:"])
def test_after_the_end_every_use_is_refused_and_nothing_is_opened_again(tmp_path: Path, place: str) -> None:
    address = str(tmp_path / "notes.db") if place == "file" else place
    db = recollect.open(address, model="none")
    db.add("cat")

    db.close()
    db.close()

    for use in (lambda: db.search("cat", session="s"), lambda: db.add("dog"), db.stats, db.doctor):
        with pytest.raises(StoreError, match="the store is closed") as caught:
            use()
        assert caught.value.hint == "open it again"
    assert descriptors(tmp_path / "notes.db") == 0


@pytest.mark.parametrize("place", ["file", ":memory:"])
def test_a_search_that_runs_for_long_is_interrupted_by_the_end_with_an_error_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setattr(connections, "GRACE", 0.2)
    store = open_sqlite(tmp_path / "notes.db" if place == "file" else None, plain)
    inside, raised = threading.Event(), list[BaseException]()

    def work() -> None:
        try:
            with store.engine.session() as session:
                inside.set()
                session.rows(ENDLESS)
        except RecollectError as error:
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait()
    time.sleep(0.05)
    store.close()
    thread.join()  # the query itself never ends

    assert [type(error) for error in raised] == [StoreError]
    assert "was closed" in str(raised[0])
    assert descriptors(tmp_path / "notes.db") == 0


def test_the_end_waits_for_a_write_that_has_begun(tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "notes.db", plain)
    inside = threading.Event()

    def work() -> None:
        with store.transaction():
            inside.set()
            time.sleep(0.3)
            store.apply([Insert(memory=Memory(content="cat"))], at=NOON)

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait()
    store.close()
    thread.join()

    assert open_sqlite(tmp_path / "notes.db", plain).stats(scope=ALL_PROJECTS).memories == 1


def test_searches_in_many_threads_end_with_answers_or_errors_of_ours_when_the_store_is_closed(tmp_path: Path) -> None:
    db = recollect.open(tmp_path / "notes.db", model="hashing")
    db.add_all([Memory(content=f"the cat number {number} sat on mat {number % 7}") for number in range(200)])

    def search(number: int) -> bool:
        try:
            return bool(db.search(f"cat mat {number}", session="s").hits)
        except RecollectError:
            return False

    with ThreadPoolExecutor(max_workers=16) as threads:
        asked = [threads.submit(search, number) for number in range(200)]
        asked[20].result()
        db.close()
        answered = [each.result() for each in asked]

    assert any(answered)
    assert not all(answered)
    assert descriptors(tmp_path / "notes.db") == 0


# --- copies of the process ----------------------------------------------------------------------


def in_a_copy(work: Callable[[], object]) -> object:
    """Return what *work* returns in a forked copy of this process."""
    ours, theirs = multiprocessing.get_context("fork").Pipe()
    child = multiprocessing.get_context("fork").Process(target=lambda: theirs.send(work()))
    child.start()
    child.join()
    return ours.recv()


def test_a_copy_of_the_process_uses_connections_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    with recollect.open(path, model="none") as db:
        db.add("cat")

        def work() -> int:
            db.add("dog, from the copy")
            db.search("cat", session="copy")
            db.close()
            return db.store.engine._connections._process  # noqa: SLF001

        other = in_a_copy(work)
        after = db.add("cow, from the original").id

        assert other != os.getpid()
        assert after == 3
        assert [recall.session for recall in db.log.recent()] == ["copy"]
        assert db.doctor().problems == ()


def test_a_copy_of_the_process_has_a_copy_of_a_store_in_memory() -> None:
    with recollect.open(":memory:", model="none") as db:
        db.add("cat")

        def work() -> int:
            db.add("dog")
            return db.stats().memories

        assert (in_a_copy(work), db.stats().memories) == (2, 1)
