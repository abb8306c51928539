"""One rebuild at a time: a live one keeps its lease however long it takes, one that ended without a word loses it."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kit import NOON, STORES, asking, counted_calls, plain
from recollect.errors import StoreBusy
from recollect.records import ALL_PROJECTS, NO_FILTER, Insert, Memory
from recollect.stores.sql import SqlStore, rebuild

PATIENCE = 300.0
"""How many seconds a condition may take that is sure to come."""


@pytest.fixture(params=["postgres", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqlStore]:
    """A store with more memories than one slice of a rebuild has."""
    opened = STORES[request.param](tmp_path, plain)
    assert isinstance(opened, SqlStore)
    opened.apply([Insert(memory=Memory(content=f"number {each}")) for each in range(rebuild.SLICE + 1)], at=NOON)
    yield opened
    opened.close()


def counter(store: SqlStore, key: str) -> int:
    with store.engine.session() as session:
        return int(session.value("select value from meta where key = ?", (key,)))


def until(is_so: Callable[[], bool]) -> None:
    """Wait for a condition."""
    pause = threading.Event()
    for _ in range(int(PATIENCE / 0.01)):
        if is_so():
            return
        pause.wait(0.01)
    raise AssertionError("what had to come did not")


@pytest.mark.parametrize("name", ["postgres", "sqlite"])
def test_a_new_store_is_opened_without_building_an_index(tmp_path: Path, name: str) -> None:
    with counted_calls() as calls:
        opened = STORES[name](tmp_path, plain)
    assert isinstance(opened, SqlStore)
    assert calls["_rebuilt"] == 0
    assert opened.check() == ()
    opened.close()


def test_a_live_rebuild_renews_its_lease_and_a_second_one_waits_for_it(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuild, "HEARTBEAT_SECONDS", 0.01)
    monkeypatch.setattr(rebuild, "LEASE_SECONDS", PATIENCE)
    stopped, go_on = threading.Event(), threading.Event()
    counts: list[int] = []

    def stop(*_: object) -> None:
        stopped.set()
        go_on.wait(PATIENCE)

    first = threading.Thread(target=lambda: counts.append(rebuild.rebuild(store, stop)))
    second = threading.Thread(target=lambda: counts.append(rebuild.rebuild(store)))
    first.start()
    stopped.wait(PATIENCE)
    holder, begun = counter(store, "rebuilder"), counter(store, "rebuilding")
    second.start()
    until(lambda: counter(store, "rebuilding") > begun + 3)
    kept = counter(store, "rebuilder") == holder
    go_on.set()
    first.join(PATIENCE)
    second.join(PATIENCE)

    assert kept
    assert counts == [rebuild.SLICE + 1] * 2
    assert counter(store, "rebuilding") == 0
    assert store.check(deep=True) == ()


def test_a_rebuild_that_stands_still_is_taken_over_and_does_no_harm_when_it_goes_on(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuild, "LEASE_SECONDS", 0.1)
    stale = rebuild._begun(store, lambda: False)  # noqa: SLF001  (what a process that was stopped leaves)
    assert stale is not None

    rebuild.rebuild(store)

    with pytest.raises(StoreBusy):
        stale.put([1])
    found = store.match_words(asking("number"), scope=ALL_PROJECTS, where=NO_FILTER, limit=1000)
    assert len(found.top) == rebuild.SLICE + 1
    assert store.check(deep=True) == ()
