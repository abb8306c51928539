"""What a caller may rely on when a store keeps vectors."""

from array import array

import pytest
from msgspec.structs import replace

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

    assert [(each.id, round(each.score, 3)) for each in found.top] == [(one, 1.0), (two, 0.9), (three, 0.0)]
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

    assert (found.score, found.span) == (1.0, (1, 2))


def test_many_passages_of_one_memory_do_not_crowd_out_the_others(store: Store) -> None:
    crowd, other = add(store, "crowd", "other")
    give(store, crowd, *([X] * 40))
    give(store, other, NEAR_X)

    assert [each.id for each in near(store, *X, limit=2).top] == [crowd, other]


def test_ids_asked_for_get_their_exact_cosine(store: Store) -> None:
    one, two, bare = add(store, "one", "two", "bare")
    give(store, one, X)
    give(store, two, NEAR_X)

    found = near(store, *X, limit=1, score_ids=[two, bare, 999])
    only = near(store, *X, limit=0, score_ids=[two])

    assert [each.id for each in found.top] == [one]
    assert {row: round(each.score, 3) for row, each in found.by_id.items()} == {two: 0.9}
    assert only.top == ()
    assert only.by_id == found.by_id


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
    left = near(store, *X, exclude_generation="new")

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


# --- the vectors themselves -----------------------------------------------------------------


def test_live_memories_of_the_scope_give_their_vectors_as_they_were_put(store: Store) -> None:
    one, two, gone, bare = add(store, "one", "two", "gone", "bare")
    (foreign,) = add(store, "foreign", project="elsewhere")
    for row in (one, gone, foreign):
        give(store, row, X)
    give(store, two, Y, X)
    store.apply([Forget(id=gone)], at=NOON)

    found = store.vectors("old", [two, one, gone, bare, foreign, 999], scope=Scope(projects=frozenset({"default"})))

    assert found == {
        one: (Passage(start=0, stop=1, vector=packed(*X)),),
        two: (Passage(start=0, stop=1, vector=packed(*Y)), Passage(start=1, stop=2, vector=packed(*X))),
    }
    assert store.vectors("nobody", [one, two], scope=ALL_PROJECTS) == {}
    assert store.vectors("old", [], scope=ALL_PROJECTS) == {}


# --- turns of a conversation ----------------------------------------------------------------

MIXED = replace(OLD, context_weights=(0.5, 0.25))


def turns(store: Store, *numbers: int, thread: str | None = "t", project: str = "default") -> tuple[int, ...]:
    made = [Memory(content=f"turn {number}", thread=thread, turn=number, project=project) for number in numbers]
    return store.apply([Insert(memory=each) for each in made], at=NOON)


def contexts(store: Store, *rows: int) -> list[list[float] | None]:
    """The first passage's context vector of each row, rounded."""
    found = store.vectors("old", rows, scope=ALL_PROJECTS)
    vectors = [found[row][0].context_vector for row in rows]
    return [None if each is None else [round(number, 3) for number in array("f", each)] for each in vectors]


def unit(*numbers: float) -> list[float]:
    size = sum(number * number for number in numbers) ** 0.5
    return [round(number / size, 3) for number in numbers]


def test_a_turn_carries_something_of_the_turns_before_and_after_it(store: Store) -> None:
    third, first, second = turns(store, 3, 1, 2)
    (alone,) = turns(store, 1, thread=None)
    for row, vector in zip((first, second, third, alone), (X, Y, X, X), strict=True):
        give(store, row, vector, generation=MIXED)

    assert contexts(store, first, second, third) == [unit(1, 0.25, 0, 0), unit(0.75, 1, 0, 0), unit(1, 0.5, 0, 0)]
    assert contexts(store, alone) == [None]


def test_only_the_first_passage_of_a_turn_has_a_context(store: Store) -> None:
    one, two = turns(store, 1, 2)
    give(store, one, X, Y, generation=MIXED)
    give(store, two, Y, generation=MIXED)

    first, second = store.vectors("old", [one], scope=ALL_PROJECTS)[one]

    assert (first.context_vector is None, second.context_vector) == (False, None)


def test_in_context_compares_the_context_vector_where_there_is_one(store: Store) -> None:
    one, two = turns(store, 1, 2)
    (alone,) = turns(store, 1, thread=None)
    for row, vector in zip((one, two, alone), (X, Y, Y), strict=True):
        give(store, row, vector, generation=MIXED)

    bare = {each.id: round(each.score, 3) for each in near(store, *X).top}
    within = {each.id: round(each.score, 3) for each in near(store, *X, in_context=True).top}

    assert bare == {one: 1.0, two: 0.0, alone: 0.0}
    assert within == {one: unit(1, 0.25)[0], two: unit(0.5, 1)[0], alone: 0.0}


def test_a_context_follows_turns_that_come_change_go_and_return(store: Store) -> None:
    one, three = turns(store, 1, 3)
    give(store, one, X, generation=MIXED)
    give(store, three, X, generation=MIXED)
    before = contexts(store, one)
    near(store, *X, in_context=True)

    (two,) = turns(store, 2)
    give(store, two, Y)
    between = contexts(store, one)
    store.apply([Forget(id=two)], at=NOON)
    without = contexts(store, one)
    store.apply([Restore(id=two)], at=NOON)
    again = contexts(store, one)
    memory = store.load([two], scope=ALL_PROJECTS)[two]
    store.apply([Revise(memory=replace(memory, content="other words"))], at=NOON)
    changed = contexts(store, one)

    assert before == without == changed == [unit(1, 0, 0, 0)]
    assert between == again == [unit(1, 0.25, 0, 0)]
    assert round(near(store, *X, in_context=True, score_ids=[one]).by_id[one].score, 3) == 1.0


def test_a_turn_that_moves_to_another_thread_leaves_one_context_and_joins_another(store: Store) -> None:
    one, two = turns(store, 1, 2)
    (other,) = turns(store, 1, thread="u")
    for row, vector in zip((one, two, other), (X, Y, X), strict=True):
        give(store, row, vector, generation=MIXED)

    memory = store.load([two], scope=ALL_PROJECTS)[two]
    store.apply([Revise(memory=replace(memory, thread="u"))], at=NOON)
    moved = contexts(store, one, two, other)
    store.apply([Revise(memory=replace(memory, thread=None))], at=NOON)

    assert moved == [unit(1, 0, 0, 0), unit(0.5, 1, 0, 0), unit(1, 0.25, 0, 0)]
    assert contexts(store, one, two, other) == [unit(1, 0, 0, 0), None, unit(1, 0, 0, 0)]


def test_threads_of_the_same_name_in_two_projects_are_two(store: Store) -> None:
    (mine,), (theirs,) = turns(store, 1), turns(store, 2, project="other")
    give(store, mine, X, generation=MIXED)
    give(store, theirs, Y, generation=MIXED)

    assert contexts(store, mine, theirs) == [unit(*X), unit(*Y)]


def test_other_weights_make_every_context_anew(store: Store) -> None:
    one, two = turns(store, 1, 2)
    give(store, one, X)
    give(store, two, Y)
    bare = contexts(store, one, two)
    version = store.version()

    taken = store.put_vectors(MIXED, ())
    (generation,) = store.generations(scope=ALL_PROJECTS)
    mixed, after = contexts(store, one, two), store.version()
    store.put_vectors(MIXED, ())
    store.put_vectors(OLD, ())

    assert (bare, taken) == ([None, None], 0)
    assert mixed == [unit(1, 0.25, 0, 0), unit(0.5, 1, 0, 0)]
    assert generation.context_weights == (0.5, 0.25)
    assert version < after == store.version()


def test_no_vectors_make_no_generation(store: Store) -> None:
    assert store.put_vectors(MIXED, ()) == 0
    assert store.generations(scope=ALL_PROJECTS) == ()
