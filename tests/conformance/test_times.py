"""What a caller may rely on when asking what was believed at a moment."""

from array import array
from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from kit import NOON, asking, in_text
from recollect.records import (
    ALL_PROJECTS,
    EmbeddedMemory,
    Filter,
    Forget,
    Generation,
    Insert,
    Memory,
    Merge,
    Passage,
    Restore,
    Revise,
    Scope,
)
from recollect.stores.contract import Store

DAY = timedelta(days=1)
MODEL = Generation(fingerprint="f", dimensions=2, model="m")
UP = array("f", [1.0, 0.0]).tobytes()


def add(store: Store, content: str, *, at: datetime = NOON, **about: object) -> int:
    (row,) = store.apply([Insert(memory=Memory(content=content, **about))], at=at)  # type: ignore[arg-type]
    return row


def supersede(store: Store, old: int, new: int | None, *, at: datetime) -> Memory:
    memory = store.load([old], scope=ALL_PROJECTS)[old]
    store.apply([Revise(memory=replace(memory, superseded_by=new), verb="supersede")], at=at)
    return store.load([old], scope=ALL_PROJECTS)[old]


def embed(store: Store, *rows: int) -> None:
    memories = store.load(rows, scope=ALL_PROJECTS).values()
    passages = (Passage(start=0, stop=1, vector=UP),)
    store.put_vectors(MODEL, [EmbeddedMemory(memory_id=m.id, meaning=m.meaning, passages=passages) for m in memories])


def believed(store: Store, at: datetime | None, scope: Scope = ALL_PROJECTS, **more: bool) -> list[set[int]]:
    """Return what every way of asking finds of the word cat at a moment."""
    where = Filter(as_of=at, **more)
    words = store.match_words(asking("cat"), scope=scope, where=where, limit=9)
    return [
        {match.id for match in words.top},
        set(in_text(store, ["cat"], scope=scope, where=where)),
        set(store.browse(scope=scope, where=where, limit=9).ids),
    ]


def test_valid_and_superseded_times_are_loaded_as_they_were(store: Store) -> None:
    row = add(store, "cat", valid_from=NOON - DAY, valid_until=NOON + DAY)

    memory = store.load([row], scope=ALL_PROJECTS)[row]

    assert (memory.valid_from, memory.valid_until, memory.superseded_at) == (NOON - DAY, NOON + DAY, None)


def test_the_store_notes_since_when_a_memory_is_superseded(store: Store) -> None:
    old, new, newer = (add(store, "cat") for _ in range(3))

    first = supersede(store, old, new, at=NOON + DAY).superseded_at
    again = supersede(store, old, newer, at=NOON + 2 * DAY).superseded_at
    freed = supersede(store, old, None, at=NOON + 3 * DAY).superseded_at
    later = supersede(store, old, new, at=NOON + 4 * DAY).superseded_at

    assert (first, again, freed, later) == (NOON + DAY, NOON + DAY, None, NOON + 4 * DAY)


def test_a_superseded_memory_from_elsewhere_brings_its_time_or_gets_it_now(store: Store) -> None:
    brings = add(store, "cat", superseded_by=1, superseded_at=NOON - DAY)
    lacks = add(store, "cat", superseded_by=1)
    not_at_all = add(store, "cat", superseded_at=NOON - DAY)

    loaded = store.load([brings, lacks, not_at_all], scope=ALL_PROJECTS)

    assert [memory.superseded_at for memory in loaded.values()] == [NOON - DAY, NOON, None]


def test_a_chain_of_three_values_answers_each_at_its_time(store: Store) -> None:
    one, two, three = (add(store, f"cat number {n}", at=NOON + n * DAY) for n in range(3))
    embed(store, one, two, three)
    supersede(store, one, two, at=NOON + DAY)
    supersede(store, two, three, at=NOON + 2 * DAY)

    for moment, expected in [
        (NOON - DAY, set()),
        (NOON, {one}),
        (NOON + 0.5 * DAY, {one}),
        (NOON + DAY, {two}),
        (NOON + 1.5 * DAY, {two}),
        (NOON + 2 * DAY, {three}),
        (NOON + 9 * DAY, {three}),
        (None, {three}),
    ]:
        where = Filter(as_of=moment)
        near = store.nearest("f", UP, scope=ALL_PROJECTS, where=where, limit=9)
        assert believed(store, moment) == [expected] * 3
        assert {each.id for each in near.top} == expected


def test_what_its_writer_dated_was_believed_from_that_date_on(store: Store) -> None:
    dated = add(store, "cat", at=NOON + 9 * DAY, observed_at=NOON)
    ahead = add(store, "cat tomorrow", at=NOON + DAY, observed_at=NOON + 5 * DAY)
    embed(store, dated, ahead)

    near = store.nearest("f", UP, scope=ALL_PROJECTS, where=Filter(as_of=NOON + 0.5 * DAY), limit=9)

    assert believed(store, NOON - DAY) == [set()] * 3
    assert believed(store, NOON + 0.5 * DAY) == [{dated}] * 3
    assert believed(store, NOON + 2 * DAY) == [{dated, ahead}] * 3
    assert {each.id for each in near.top} == {dated}


def test_what_its_writer_dated_supersedes_from_that_date_on(store: Store) -> None:
    one, two = (add(store, "cat", at=NOON + 9 * DAY, observed_at=NOON + n * DAY) for n in (1, 3))
    supersede(store, one, two, at=NOON + 9 * DAY)

    assert believed(store, NOON + 2 * DAY) == [{one}] * 3
    assert believed(store, NOON + 3 * DAY) == [{two}] * 3
    assert believed(store, None) == [{two}] * 3


def test_what_was_dated_and_is_forgotten_since_was_believed_from_its_date_on(store: Store) -> None:
    row = add(store, "cat", at=NOON + 5 * DAY, observed_at=NOON)

    store.apply([Forget(id=row)], at=NOON + 8 * DAY)

    assert believed(store, NOON + DAY) == [{row}] * 3


def test_superseded_values_of_that_time_are_shown_on_request(store: Store) -> None:
    one, two, three = (add(store, "cat", at=NOON + n * DAY) for n in range(3))
    supersede(store, one, two, at=NOON + DAY)
    supersede(store, two, three, at=NOON + 2 * DAY)

    assert believed(store, NOON + DAY, include_superseded=True) == [{one, two}] * 3


def test_what_was_forgotten_later_was_still_believed_then(store: Store) -> None:
    row, stays = add(store, "cat"), add(store, "cat food")
    embed(store, row, stays)
    store.apply([Merge(id=row, confidence=0.9, wording="kitten cat")], at=NOON)

    store.apply([Forget(id=row)], at=NOON + 2 * DAY)

    then = Filter(as_of=NOON + DAY)
    near = store.nearest("f", UP, scope=ALL_PROJECTS, where=then, limit=9)
    merged = store.match_words(asking("kitten"), scope=ALL_PROJECTS, where=then, limit=9)
    assert believed(store, NOON + DAY) == [{row, stays}] * 3
    assert believed(store, NOON + 2 * DAY) == [{stays}] * 3
    assert believed(store, None) == [{stays}] * 3
    assert {each.id for each in near.top} == {row, stays}
    assert [match.id for match in merged.top] == [row]


def test_what_was_forgotten_since_counts_in_the_ranking_of_then(store: Store) -> None:
    rows = [add(store, text) for text in ("cat", "cat dog", "bird", "cow", "fish food")]
    store.apply([Forget(id=add(store, "cat dog dog"))], at=NOON)
    before = store.match_words(asking("cat", "dog"), scope=ALL_PROJECTS, where=Filter(), limit=9)

    store.apply([Forget(id=row) for row in rows[1:4]], at=NOON + 2 * DAY)

    asked = asking("cat", "dog")
    assert store.match_words(asked, scope=ALL_PROJECTS, where=Filter(as_of=NOON + DAY), limit=9) == before
    assert store.match_words(asked, scope=ALL_PROJECTS, where=Filter(), limit=9) != before


def test_a_restored_memory_was_there_all_along(store: Store) -> None:
    row = add(store, "cat")

    store.apply([Forget(id=row)], at=NOON + DAY)
    store.apply([Restore(id=row)], at=NOON + 2 * DAY)

    assert believed(store, NOON + 1.5 * DAY) == [{row}] * 3


@pytest.mark.parametrize(
    ("moment", "valid"), [(NOON, False), (NOON + DAY, True), (NOON + 1.5 * DAY, True), (NOON + 2 * DAY, False)]
)
def test_a_memory_answers_for_the_time_it_is_valid(store: Store, moment: datetime, *, valid: bool) -> None:
    row = add(store, "cat", valid_from=NOON + DAY, valid_until=NOON + 2 * DAY)

    assert believed(store, moment) == [{row} if valid else set()] * 3
    assert believed(store, None) == [{row}] * 3


def test_scope_is_inside_questions_about_the_past(store: Store) -> None:
    mine, theirs = add(store, "cat", project="mine"), add(store, "cat", project="theirs")
    store.apply([Forget(id=mine), Forget(id=theirs)], at=NOON + 2 * DAY)

    assert believed(store, NOON + DAY, Scope(projects=frozenset({"mine"}))) == [{mine}] * 3


def test_an_edit_is_a_correction_and_the_past_speaks_its_words(store: Store) -> None:
    row = add(store, "cta")
    memory = store.load([row], scope=ALL_PROJECTS)[row]

    store.apply([Revise(memory=replace(memory, content="cat"))], at=NOON + 2 * DAY)

    assert believed(store, NOON + DAY) == [{row}] * 3
