"""A consolidation lets others write between its slices, and looks again at what it decided before it writes."""

from pathlib import Path

import pytest

import recollect
from kit import counted_calls
from recollect.records import ALL_PROJECTS, Insert, Memory
from recollect.remember.context import IngestContext
from recollect.text.analyser import analyse
from recollect.upkeep import consolidate
from recollect.upkeep.consolidate import BATCH, apply_consolidation, plan_consolidation


@pytest.fixture
def db(tmp_path: Path) -> recollect.Recollection:
    return recollect.open(tmp_path / "notes.db", model="hashing")


def context_of(db: recollect.Recollection) -> IngestContext:
    return IngestContext(store=db.store, analyse=analyse, profile=db.profile, now=db.now())


def insert(db: recollect.Recollection, *texts: str, **about: object) -> tuple[int, ...]:
    """Store *texts* as they are, without deduplication, and their vectors."""
    memories = [Memory(content=text, **about) for text in texts]  # type: ignore[arg-type]
    rows = db.store.apply([Insert(memory=memory) for memory in memories], at=db.now())
    db.embed()
    return rows


def twins(db: recollect.Recollection, count: int) -> None:
    for number in range(count):
        insert(db, f"The cat number{number} sleeps on sofa{number}.", f"the cat number{number} sleeps on sofa{number}")


def test_what_is_merged_is_written_in_slices(db: recollect.Recollection) -> None:
    twins(db, consolidate.SLICE + 3)

    with counted_calls() as calls:
        done = db.consolidate(apply=True)

    assert len(done.merges) == consolidate.SLICE + 3
    assert calls["_merge"] == 2


def test_what_has_faded_is_forgotten_in_slices(db: recollect.Recollection) -> None:
    rows = insert(db, *(f"Fact{number} about thing{number}." for number in range(3 * consolidate.SLICE)))

    with counted_calls() as calls:
        done = db.consolidate(apply=True, floor=2.0)

    assert done.faded == rows
    assert calls["_forget"] == 3


def test_a_memory_that_was_edited_pinned_or_forgotten_since_the_plan_is_not_merged(db: recollect.Recollection) -> None:
    twins(db, 3)
    plan = plan_consolidation(context_of(db))
    kept, gone, pinned = plan.proposed.merges[0].kept, plan.proposed.merges[1].gone, plan.proposed.merges[2].gone
    db.forget(kept)
    db.supersede(gone, kept)
    db.pin(pinned)

    done = apply_consolidation(plan, store=db.store, now=db.now())

    assert (len(plan.proposed.merges), done.merges) == (3, ())
    assert db.store.load([pinned], scope=ALL_PROJECTS)[pinned].superseded_by is None


def test_a_memory_that_became_surer_since_the_plan_is_not_forgotten(db: recollect.Recollection) -> None:
    (row,) = insert(db, "The cat sleeps.", confidence=0.4)
    plan = plan_consolidation(context_of(db), floor=0.5)
    db.add("The cat sleeps.", confidence=0.9)

    done = apply_consolidation(plan, store=db.store, now=db.now())

    assert (plan.proposed.faded, done.faded) == ((row,), ())


def test_a_fact_that_changed_since_the_plan_is_not_superseded(db: recollect.Recollection) -> None:
    db.add("Port: 8080")
    db.add("Note to all of the new people here.\nPort: 8080")
    plan = plan_consolidation(context_of(db))
    lost = {fact.id: fact.memory_id for fact in db.facts()}[plan.proposed.facts[0][1]]
    db.forget(lost)

    done = apply_consolidation(plan, store=db.store, now=db.now())

    assert (len(plan.proposed.facts), done.facts) == (1, ())


def test_a_repeat_in_another_slice_is_merged(db: recollect.Recollection) -> None:
    said = "The blue heron nests in the old oak beyond the mill"
    insert(db, said, *(f"unrelated{number} filler{number}" for number in range(BATCH)), f"{said}!")

    (merge,) = db.consolidate(apply=False).merges

    assert (merge.kept, merge.gone) == (1, BATCH + 2)


def test_related_asks_once_for_the_facts_of_all_subjects(db: recollect.Recollection) -> None:
    one, other = ("\n".join(f"Port{number}: {start + number}" for number in range(10)) for start in (8000, 9000))
    first = db.add(one, external_id="one")
    second = db.add(other, external_id="other")

    with counted_calls() as calls:
        (found,) = db.related(first.id)

    assert (found.memory.id, len([each for each in found.reasons if each.startswith("fact")])) == (second.id, 10)
    assert calls["facts"] <= 2
