"""Memories that supersede each other in a circle are found, and the next command brings them back."""

from pathlib import Path

import pytest
from msgspec.structs import replace

import recollect
from recollect.records import Revise


@pytest.mark.parametrize("length", [1, 2, 3])
def test_doctor_finds_a_circle_and_its_advice_brings_a_memory_back(tmp_path: Path, length: int) -> None:
    with recollect.open(tmp_path / "notes.db", model="none") as db:
        rows = [db.add(f"{word} sleeps by the river").id for word in ("Anna", "Bert", "Carl")]
        circle = rows[:length]
        for row, by in zip(circle, circle[1:] + circle[:1], strict=True):
            memory = replace(db.show(row).memory, superseded_by=by)
            db.store.apply([Revise(memory=memory, verb="supersede")], at=db.now())

        (problem,) = db.doctor().problems
        restored = int(problem.rpartition("recollect restore ")[2])
        db.restore(restored)

        assert restored in circle
        assert db.doctor().problems == ()
        assert restored in [memory.id for memory in db.list().memories]


def test_a_chain_of_successors_is_no_circle(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "notes.db", model="none") as db:
        one, two, three = (db.add(f"{word} sleeps by the river").id for word in ("Anna", "Bert", "Carl"))
        db.supersede(one, three)
        db.supersede(two, three)

        assert db.doctor().problems == ()
