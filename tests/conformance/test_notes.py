"""What a caller may rely on when keeping small named values."""

from types import MappingProxyType

import pytest

from kit import NOON
from recollect.records import Insert, Memory
from recollect.stores.contract import Store


def test_a_note_comes_back_as_the_json_it_is(store: Store) -> None:
    value = {"text": "naïve \ud800 数据", "list": (1, 2.5, None), "deep": MappingProxyType({"a": True}), "when": NOON}

    store.put_note("lens", "work", value)

    assert store.notes("lens") == {
        "work": {"text": "naïve \ud800 数据", "list": [1, 2.5, None], "deep": {"a": True}, "when": str(NOON)}
    }


def test_notes_are_told_apart_by_kind_and_listed_by_name(store: Store) -> None:
    store.put_note("lens", "b", {"n": 1})
    store.put_note("lens", "a", {"n": 2})
    store.put_note("ledger", "a", {"n": 3})

    assert list(store.notes("lens").items()) == [("a", {"n": 2}), ("b", {"n": 1})]
    assert store.notes("ledger") == {"a": {"n": 3}}
    assert store.notes("setting") == {}


def test_a_note_takes_the_place_of_the_one_that_had_its_name(store: Store) -> None:
    store.put_note("lens", "a", {"old": True})

    store.put_note("lens", "a", {"new": True})

    assert store.notes("lens") == {"a": {"new": True}}


def test_notes_of_one_project_are_nothing_to_another(store: Store) -> None:
    store.put_note("lens", "a", {"n": 0})
    store.put_note("lens", "a", {"n": 1}, project="mine")
    store.put_note("lens", "a", {"n": 2}, project="yours")

    assert store.put_note("lens", "a", None, project="yours") is True

    assert store.notes("lens") == {"a": {"n": 0}}
    assert store.notes("lens", project="mine") == {"a": {"n": 1}}
    assert store.notes("lens", project="yours") == {}


def test_a_dropped_note_is_gone(store: Store) -> None:
    store.put_note("lens", "a", {})

    assert store.put_note("lens", "a", None) is True
    assert store.put_note("lens", "a", None) is False
    assert store.notes("lens") == {}


def test_what_is_done_to_a_value_afterwards_does_not_reach_the_note(store: Store) -> None:
    value = {"seen": [1]}
    store.put_note("ledger", "s", value)

    value["seen"].append(2)
    store.notes("ledger")["s"]["seen"].append(3)

    assert store.notes("ledger") == {"s": {"seen": [1]}}


@pytest.mark.parametrize(("kind", "moves"), [("lens", True), ("tuning", True), ("ledger", False)])
def test_only_notes_that_change_answers_move_the_version(store: Store, kind: str, *, moves: bool) -> None:
    before = store.version()
    store.put_note(kind, "a", {"n": 1})
    kept = store.version()
    store.put_note(kind, "a", None)

    assert (kept > before, store.version() > kept) == (moves, moves)


def test_notes_go_with_their_transaction(store: Store) -> None:
    store.put_note("lens", "kept", {})
    before = store.version()

    def fail() -> None:
        with store.transaction():
            store.apply([Insert(memory=Memory(content="cat"))], at=NOON)
            store.put_note("lens", "lost", {})
            store.put_note("lens", "kept", None)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()

    assert list(store.notes("lens")) == ["kept"]
    assert store.version() == before
