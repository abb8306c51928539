"""A verb that takes several memories changes all of them or none."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import recollect
from recollect import Recollection
from recollect.errors import StoreError, UnknownMemory

REFUSE_THE_SECOND = (
    "create trigger refuse_second before insert on event when new.memory_id = 2 begin select raise(abort, 'no'); end"
)
Change = Callable[[Recollection, tuple[int, ...]], object]
CHANGES: dict[str, Change] = {
    "forget": lambda db, ids: db.forget(*ids),
    "restore": lambda db, ids: db.restore(*ids),
    "pin": lambda db, ids: db.pin(*ids),
    "tag": lambda db, ids: db.tag(*ids, add=["new"]),
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a store of two memories, and of two that were forgotten."""
    path = tmp_path / "notes.db"
    with recollect.open(path, model="none") as notes:
        for text in ("We deploy on Fridays", "The database is PostgreSQL 16"):
            notes.add(text)
    return path


def state(db: Recollection) -> list[tuple[bool, bool, tuple[str, ...]]]:
    memories = [db.show(row).memory for row in (1, 2)]
    return [(each.deleted_at is None, each.pinned, each.tags) for each in memories]


@pytest.mark.parametrize("verb", CHANGES)
def test_where_the_second_cannot_be_changed_the_first_stays_as_it_was(place: Path, verb: str) -> None:
    if verb == "restore":
        with recollect.open(place, model="none") as notes:
            notes.forget(1, 2)
    with closing(sqlite3.connect(place)) as direct:
        direct.execute(REFUSE_THE_SECOND)

    with recollect.open(place, model="none") as notes:
        before = state(notes)
        with pytest.raises(StoreError):
            CHANGES[verb](notes, (1, 2))

        assert state(notes) == before


@pytest.mark.parametrize("verb", CHANGES)
def test_an_unknown_id_among_several_changes_nothing(place: Path, verb: str) -> None:
    with recollect.open(place, model="none") as notes:
        before = state(notes)

        with pytest.raises(UnknownMemory):
            CHANGES[verb](notes, (1, 2, 99))

        assert state(notes) == before


def test_several_memories_are_forgotten_pinned_and_restored_by_one_call(place: Path) -> None:
    with recollect.open(place, model="none") as notes:
        notes.pin(1, 2)
        notes.forget(1, 2, 1, reason="both are out of date")
        gone = state(notes)
        notes.restore(1, 2)

        assert gone == [(False, True, ()), (False, True, ())]
        assert state(notes) == [(True, True, ()), (True, True, ())]
