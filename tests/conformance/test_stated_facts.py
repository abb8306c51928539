"""What a caller may rely on when memories state facts."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from kit import NOON, asking, in_text
from recollect.errors import UnknownMemory
from recollect.records import (
    ALL_PROJECTS,
    Fact,
    FactQuery,
    Filter,
    Forget,
    Insert,
    Memory,
    ReinforceFact,
    Restore,
    Revise,
    Scope,
    facts_by_memory,
)
from recollect.stores.contract import Store

DAY = timedelta(days=1)
SHIPS = Fact(subject="Billing", predicate="ships on", object="Friday", type="kv", confidence=0.9, decay_rate=0.01)
OWNS = Fact(
    subject="Ann", predicate="owns", object="billing", type="relationship", confidence=0.7, decay_rate=0.003, quote="q"
)
LIVES = Fact(subject="STRASSE", predicate="is in", object="Bonn", type="location", confidence=0.7, decay_rate=0.005)


def add(store: Store, *facts: Fact, content: str = "cat", project: str = "default") -> int:
    (row,) = store.apply([Insert(memory=Memory(content=content, project=project), facts=facts)], at=NOON)
    return row


def stated(store: Store, row: int) -> tuple[Fact, ...]:
    return tuple(reversed(store.facts(FactQuery(memory_ids=(row,), include_superseded=True), scope=ALL_PROJECTS)))


def test_a_fact_that_is_stated_twice_takes_one_id(store: Store) -> None:
    first, second = add(store, SHIPS, SHIPS, SHIPS), add(store, OWNS)

    ids = [fact.id for row in (first, second) for fact in stated(store, row)]

    assert ids == [1, 2]


def revise(store: Store, row: int, *, facts: tuple[Fact, ...] | None, **changes: object) -> None:
    memory = store.load([row], scope=ALL_PROJECTS)[row]
    store.apply([Revise(memory=replace(memory, **changes), facts=facts)], at=NOON + DAY)  # type: ignore[arg-type]


def test_a_memory_states_the_facts_it_came_with_confirmed_now(store: Store) -> None:
    row = add(store, SHIPS, OWNS)

    facts = stated(store, row)

    ids = [fact.id for fact in facts]
    assert ids == sorted(set(ids))
    assert min(ids) > 0
    assert facts == (
        replace(SHIPS, id=ids[0], memory_id=row, last_reinforced=NOON),
        replace(OWNS, id=ids[1], memory_id=row, last_reinforced=NOON),
    )


def test_a_fact_that_brings_its_day_from_elsewhere_keeps_it(store: Store) -> None:
    row = add(store, replace(SHIPS, last_reinforced=NOON - 9 * DAY, state="superseded"))

    (fact,) = stated(store, row)

    assert (fact.last_reinforced, fact.state) == (NOON - 9 * DAY, "superseded")


def test_a_memory_states_a_thing_once(store: Store) -> None:
    row = add(store, SHIPS, replace(SHIPS, confidence=0.1))

    assert [fact.confidence for fact in stated(store, row)] == [0.9]


def test_facts_are_told_apart_by_memory_and_those_without_any_are_absent(store: Store) -> None:
    one, two, bare = add(store, SHIPS), add(store, SHIPS, OWNS), add(store)

    found = facts_by_memory(store.facts(FactQuery(memory_ids=(two, bare, one, 999)), scope=ALL_PROJECTS))

    assert {row: len(facts) for row, facts in found.items()} == {one: 1, two: 2}


def test_a_revision_keeps_the_facts_unless_it_brings_others(store: Store) -> None:
    row = add(store, SHIPS)
    before = stated(store, row)

    revise(store, row, facts=None, content="dog")
    kept = stated(store, row)
    revise(store, row, facts=())

    assert kept == before
    assert stated(store, row) == ()


def test_what_is_said_again_stays_the_same_fact_as_sure_and_as_fresh_as_it_was(store: Store) -> None:
    row = add(store, SHIPS, OWNS)
    ships, owns = stated(store, row)
    store.apply([ReinforceFact(id=ships.id, confidence=1.0, last_reinforced=NOON - DAY)], at=NOON)

    revise(store, row, facts=(LIVES, replace(SHIPS, confidence=0.2, quote="new words", type="state")))

    kept, fresh = stated(store, row)
    assert (kept.id, kept.confidence, kept.last_reinforced) == (ships.id, 1.0, NOON - DAY)
    assert (kept.quote, kept.type) == ("new words", "state")
    assert (fresh.object, fresh.last_reinforced) == ("Bonn", NOON + DAY)
    assert fresh.id > owns.id


def test_the_id_of_a_fact_that_is_gone_is_not_given_again(store: Store) -> None:
    row = add(store, SHIPS)
    (old,) = stated(store, row)
    revise(store, row, facts=())

    revise(store, row, facts=(OWNS,))

    (new,) = stated(store, row)
    assert new.id > old.id


def test_facts_hide_with_a_forgotten_memory_and_come_back_with_it(store: Store) -> None:
    row = add(store, SHIPS)
    before = stated(store, row)

    store.apply([Forget(id=row)], at=NOON)
    hidden = stated(store, row), store.facts(FactQuery(limit=9), scope=ALL_PROJECTS)
    store.apply([Restore(id=row)], at=NOON)

    assert hidden == ((), ())
    assert stated(store, row) == before
    assert store.facts(FactQuery(limit=9), scope=ALL_PROJECTS) == before


@pytest.mark.req("C-25")
def test_a_reinforced_fact_is_as_sure_and_as_fresh_as_told_and_its_memory_remembers_it(store: Store) -> None:
    row = add(store, SHIPS, OWNS)
    ships, owns = stated(store, row)

    write = ReinforceFact(id=ships.id, confidence=0.95, last_reinforced=NOON + DAY, detail={"use": "search"})
    touched = store.apply([write], at=NOON + DAY)

    event = store.history([row], scope=ALL_PROJECTS)[row][-1]
    assert touched == (row,)
    assert stated(store, row) == (replace(ships, confidence=0.95, last_reinforced=NOON + DAY), owns)
    assert (event.verb, event.at) == ("reinforce_fact", NOON + DAY)
    assert event.detail == {"fact": ships.id, "confidence": 0.95, "use": "search"}
    assert store.load([row], scope=ALL_PROJECTS)[row].updated_at == NOON


def test_reinforcing_a_fact_nobody_has_writes_nothing(store: Store) -> None:
    row = add(store, SHIPS)

    with pytest.raises(UnknownMemory, match="no fact"):
        store.apply([Forget(id=row), ReinforceFact(id=999, confidence=1.0, last_reinforced=NOON)], at=NOON)

    assert len(stated(store, row)) == 1


def test_facts_are_found_by_subject_in_any_case_and_by_type_newest_first(store: Store) -> None:
    add(store, SHIPS, OWNS, LIVES)
    add(store, replace(SHIPS, subject="billing", object="Monday"))

    def find(**how: object) -> list[str]:
        return [fact.object for fact in store.facts(FactQuery(**how), scope=ALL_PROJECTS)]  # type: ignore[arg-type]

    assert find() == ["Monday", "Bonn", "billing", "Friday"]
    assert find(subject="BILLING") == ["Monday", "Friday"]
    assert find(subject="straße") == ["Bonn"]
    assert find(types=("relationship", "location")) == ["Bonn", "billing"]
    assert find(subject="billing", types=("location",)) == []
    assert find(types=()) == []
    assert find(limit=2) == ["Monday", "Bonn"]


def test_superseded_memories_are_not_asked_for_facts_but_still_state_theirs(store: Store) -> None:
    old, new = add(store, SHIPS), add(store, replace(SHIPS, object="Monday"))

    revise(store, old, facts=None, superseded_by=new)

    assert [fact.object for fact in store.facts(FactQuery(limit=9), scope=ALL_PROJECTS)] == ["Monday"]
    assert [fact.object for fact in stated(store, old)] == ["Friday"]


def test_scope_is_inside_every_question_about_facts(store: Store) -> None:
    mine, theirs = add(store, SHIPS, project="mine"), add(store, OWNS, project="theirs")
    only = Scope(projects=frozenset({"mine"}))

    assert [fact.memory_id for fact in store.facts(FactQuery(memory_ids=(mine, theirs)), scope=only)] == [mine]
    assert [fact.memory_id for fact in store.facts(FactQuery(limit=9), scope=only)] == [mine]


@pytest.mark.req("C-27")
@pytest.mark.parametrize(
    ("types", "expected"),
    [(("kv",), {1, 2}), (("relationship",), {2}), (("kv", "location"), {1, 2}), (("state",), set()), ((), set())],
)
def test_memories_are_filtered_by_the_type_of_their_facts(
    store: Store, types: tuple[str, ...], expected: set[int]
) -> None:
    add(store, SHIPS)
    add(store, SHIPS, OWNS)
    add(store)
    where = Filter(fact_types=types)

    found = store.match_words(asking("cat"), scope=ALL_PROJECTS, where=where, limit=9)

    assert {match.id for match in found.top} == expected
    assert set(store.browse(scope=ALL_PROJECTS, where=where, limit=9).ids) == expected
    assert set(in_text(store, ["cat"], scope=ALL_PROJECTS, where=where)) == expected


def test_a_failed_transaction_leaves_the_facts_as_they_were(store: Store) -> None:
    row = add(store, SHIPS)
    before = stated(store, row)

    with pytest.raises(UnknownMemory):
        store.apply(
            [
                Revise(memory=store.load([row], scope=ALL_PROJECTS)[row], facts=(OWNS,)),
                ReinforceFact(id=before[0].id + 1, confidence=0.1, last_reinforced=NOON),
                Forget(id=999),
            ],
            at=NOON,
        )

    assert stated(store, row) == before


def test_facts_about_several_subjects_are_asked_for_at_once_in_any_case(store: Store) -> None:
    row = add(store, SHIPS, OWNS, LIVES)

    found = store.facts(FactQuery(subjects=("billing", "straße")), scope=ALL_PROJECTS)
    none = store.facts(FactQuery(subjects=()), scope=ALL_PROJECTS)

    assert ([fact.subject for fact in found], none) == (["STRASSE", "Billing"], ())
    assert {fact.memory_id for fact in found} == {row}
