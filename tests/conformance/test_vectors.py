"""What a caller may rely on when a store keeps vectors."""

from array import array
from dataclasses import replace

import pytest

from kit import NOON
from recollect.errors import InputError
from recollect.records import (
    ALL_PROJECTS,
    EmbeddedMemory,
    Filter,
    Forget,
    Generation,
    Insert,
    Memory,
    Passage,
    Restore,
    Revise,
    Scope,
    VectorHits,
)
from recollect.stores.contract import Store

ANY = Filter()
OLD = Generation(fingerprint="old", dimensions=4, model="a")
NEW = Generation(fingerprint="new", dimensions=2, model="b")
X, NEAR_X, Y = (1.0, 0.0, 0.0, 0.0), (0.9, 0.1, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0)


def packed(*numbers: float) -> bytes:
    return array("f", numbers).tobytes()


def add(store: Store, *texts: str, project: str = "default") -> tuple[int, ...]:
    return store.apply([Insert(memory=Memory(content=text, project=project)) for text in texts], at=NOON)


def give(store: Store, row: int, *vectors: tuple[float, ...], generation: Generation = OLD) -> int:
    memory = store.load([row], scope=ALL_PROJECTS)[row]
    passages = tuple(Passage(start=at, stop=at + 1, vector=packed(*vector)) for at, vector in enumerate(vectors))
    return store.put_vectors(generation, [EmbeddedMemory(memory_id=row, meaning=memory.meaning, passages=passages)])


def near(store: Store, *vector: float, **how: object) -> VectorHits:
    options = {"scope": ALL_PROJECTS, "where": ANY, "limit": 9, **how}
    return store.nearest("old", packed(*vector), **options)  # type: ignore[arg-type]


@pytest.mark.case(72)
@pytest.mark.req("C-13", "B-04", "N-13")
def test_the_nearest_come_first_with_their_cosine(store: Store) -> None:
    one, two, three = add(store, "one", "two", "three")
    for row, vector in zip((one, two, three), (X, NEAR_X, Y), strict=True):
        give(store, row, vector)

    found = near(store, *X)

    assert [(each.id, round(each.cosine, 3)) for each in found.top] == [(one, 1.0), (two, 0.9), (three, 0.0)]
    assert (found.total, found.missing) == (3, 0)


def test_equal_cosines_are_ordered_by_id(store: Store) -> None:
    rows = add(store, "a", "b", "c")
    for row in reversed(rows):
        give(store, row, X)

    assert tuple(each.id for each in near(store, *X, limit=2).top) == rows[:2]


@pytest.mark.case(73)
def test_a_vector_of_another_width_is_refused_and_said_to_be_that(store: Store) -> None:
    (row,) = add(store, "one")
    give(store, row, X)

    with pytest.raises(InputError, match="3 dimensions"):
        give(store, row, (1.0, 0.0, 0.0))
    with pytest.raises(InputError, match="5 dimensions"):
        near(store, 1.0, 0.0, 0.0, 0.0, 0.0)

    assert len(near(store, *X).top) == 1


def test_the_best_passage_speaks_for_its_memory(store: Store) -> None:
    (row,) = add(store, "two passages")
    give(store, row, Y, X)

    (found,) = near(store, *X).top

    assert (found.cosine, found.start, found.stop) == (1.0, 1, 2)


def test_many_passages_of_one_memory_do_not_crowd_out_the_others(store: Store) -> None:
    crowd, other = add(store, "crowd", "other")
    give(store, crowd, *([X] * 40))
    give(store, other, NEAR_X)

    assert [each.id for each in near(store, *X, limit=2).top] == [crowd, other]


def test_ids_asked_for_get_their_exact_cosine(store: Store) -> None:
    one, two, bare = add(store, "one", "two", "bare")
    give(store, one, X)
    give(store, two, NEAR_X)

    found = near(store, *X, limit=1, also=[two, bare, 999])
    only = near(store, *X, limit=0, also=[two])

    assert [each.id for each in found.top] == [one]
    assert {row: round(each.cosine, 3) for row, each in found.also.items()} == {two: 0.9}
    assert only.top == ()
    assert only.also == found.also


def test_scope_and_filters_are_a_mask_before_the_search(store: Store) -> None:
    (mine,), (theirs,) = add(store, "mine", project="p"), add(store, "theirs", project="q")
    give(store, mine, NEAR_X)
    give(store, theirs, X)

    assert [each.id for each in near(store, *X, limit=1, scope=Scope(projects=frozenset({"p"}))).top] == [mine]
    assert near(store, *X, where=Filter(types=("decision",))).top == ()
    assert near(store, *X, where=Filter(types=())).total == 0


def test_forgotten_and_superseded_memories_are_not_near(store: Store) -> None:
    gone, old, new = add(store, "gone", "old", "new")
    for row in (gone, old, new):
        give(store, row, X)

    memory = store.load([old], scope=ALL_PROJECTS)[old]
    store.apply([Forget(id=gone), Revise(memory=replace(memory, superseded_by=new))], at=NOON)
    hidden = [each.id for each in near(store, *X).top]
    store.apply([Restore(id=gone)], at=NOON)

    assert hidden == [new]
    assert [each.id for each in near(store, *X).top] == [gone, new]
    assert [each.id for each in near(store, *X, where=Filter(include_superseded=True)).top] == [gone, old, new]


def test_what_has_no_vector_is_pending_and_counted_as_missing(store: Store) -> None:
    one, two, three = add(store, "one", "two", "three")
    give(store, two, X)

    assert store.pending("old", after=0, limit=9) == (one, three)
    assert store.pending("old", after=one, limit=9) == (three,)
    assert store.pending("never seen", after=0, limit=2) == (one, two)
    assert near(store, *X).missing == 2


def test_new_words_outdate_the_vector_and_other_changes_do_not(store: Store) -> None:
    (row,) = add(store, "old words")
    give(store, row, X)
    memory = store.load([row], scope=ALL_PROJECTS)[row]

    store.apply([Revise(memory=replace(memory, confidence=0.1))], at=NOON)
    kept = store.pending("old", after=0, limit=9)
    store.apply([Revise(memory=replace(memory, content="new words"))], at=NOON)

    assert kept == ()
    assert store.pending("old", after=0, limit=9) == (row,)
    assert near(store, *X).top == ()


def test_a_vector_made_from_older_words_is_not_taken(store: Store) -> None:
    (row,) = add(store, "words as they were")
    stale = store.load([row], scope=ALL_PROJECTS)[row]
    store.apply([Revise(memory=replace(stale, content="words as they are"))], at=NOON)

    passages = (Passage(start=0, stop=1, vector=packed(*X)),)
    taken = store.put_vectors(OLD, [EmbeddedMemory(memory_id=row, meaning=stale.meaning, passages=passages)])

    assert taken == 0
    assert store.pending("old", after=0, limit=9) == (row,)


def test_two_generations_live_side_by_side(store: Store) -> None:
    one, two = add(store, "one", "two")
    give(store, one, X)
    give(store, two, X)
    give(store, two, (1.0, 0.0), generation=NEW)

    generations = {
        each.fingerprint: (each.model, each.memories, each.pending) for each in store.generations(scope=ALL_PROJECTS)
    }
    left = near(store, *X, unless="new")

    assert generations == {"new": ("b", 1, 1), "old": ("a", 2, 0)}
    assert [each.id for each in left.top] == [one]
    assert [each.id for each in near(store, *X).top] == [one, two]


def test_a_dropped_generation_is_gone(store: Store) -> None:
    one, two = add(store, "one", "two")
    give(store, one, X)
    give(store, two, X)

    assert store.drop_vectors("old") == 2
    assert near(store, *X).top == ()
    assert store.generations(scope=ALL_PROJECTS) == ()


def test_vectors_written_after_a_search_are_seen_by_the_next(store: Store) -> None:
    one, two = add(store, "one", "two")
    give(store, one, NEAR_X)
    before = [each.id for each in near(store, *X).top]

    give(store, two, X)

    assert before == [one]
    assert [each.id for each in near(store, *X).top] == [two, one]


# --- who is near whom -----------------------------------------------------------------------


def test_kin_are_the_nearest_among_those_asked_about_nearest_first(store: Store) -> None:
    one, two, three, other = add(store, "one", "two", "three", "other")
    for row, vector in zip((one, two, three, other), (X, NEAR_X, Y, X), strict=True):
        give(store, row, vector)

    kin = store.kin("old", [three, one, two], scope=ALL_PROJECTS, most=1)
    everyone = store.kin("old", [one, two, three], scope=ALL_PROJECTS, most=9)

    assert {row: {each: round(cosine, 3) for each, cosine in near.items()} for row, near in kin.items()} == {
        one: {two: 0.9},
        two: {one: 0.9},
        three: {two: 0.1},
    }
    assert [list(everyone[row]) for row in (one, two, three)] == [[two, three], [one, three], [two, one]]


def test_only_live_memories_of_the_scope_with_a_vector_are_kin_and_the_first_passage_speaks(store: Store) -> None:
    one, two, gone, bare = add(store, "one", "two", "gone", "bare")
    (foreign,) = add(store, "foreign", project="elsewhere")
    for row in (one, gone, foreign):
        give(store, row, X)
    give(store, two, Y, X)
    store.apply([Forget(id=gone)], at=NOON)

    kin = store.kin("old", [one, two, gone, bare, foreign, 999], scope=Scope(projects=frozenset({"default"})), most=9)

    assert kin == {one: {two: 0.0}, two: {one: 0.0}}
    assert store.kin("nobody", [one, two], scope=ALL_PROJECTS, most=9) == {}
    assert store.kin("old", [], scope=ALL_PROJECTS, most=9) == {}
    assert store.kin("old", [one], scope=ALL_PROJECTS, most=9) == {one: {}}
