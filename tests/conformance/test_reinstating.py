"""A memory put back as it was elsewhere, and the questions an archive asks; the same in every store."""

from datetime import timedelta

from msgspec.structs import replace

from kit import NOON, asking
from recollect.records import (
    ALL_PROJECTS,
    NO_FILTER,
    Event,
    Fact,
    FactQuery,
    Feedback,
    Forget,
    Generation,
    Insert,
    Memory,
    Passage,
    Recall,
    Reinstate,
    Scope,
)
from recollect.stores.contract import Store
from recollect.vectors import pack

FACT = Fact(
    id=70, subject="cat", predicate="is", object="red", type="kv", confidence=0.3, decay_rate=0.1, state="superseded"
)
PASSAGE = Passage(start=0, stop=7, vector=pack([1.0, 0.0]))
OWN = Generation(fingerprint="external-2", dimensions=2, model="external", context_weights=())
DAY = timedelta(days=1)
WAS = Memory(
    id=40,
    content="red cat",
    tags=("x",),
    created_at=NOON - 9 * DAY,
    updated_at=NOON - 8 * DAY,
    superseded_by=7,
    superseded_at=NOON - 7 * DAY,
)
EVENTS = (
    Event(memory_id=40, verb="add", at=NOON - 9 * DAY),
    Event(memory_id=40, verb="update", at=NOON - 8 * DAY, detail={"content": "a cat"}),
)
WHOLE = Reinstate(
    memory=WAS,
    wordings=("tomcat", "pussycat"),
    facts=(replace(FACT, memory_id=40, last_reinforced=NOON - DAY),),
    events=EVENTS,
    vectors=((OWN, (PASSAGE,)),),
)


def test_a_memory_comes_back_with_its_id_dates_wordings_facts_events_and_vectors(store: Store) -> None:
    rows = store.apply([WHOLE], at=NOON)

    facts = store.facts(FactQuery(include_superseded=True), scope=ALL_PROJECTS)
    found = store.match_words(asking("tomcat"), scope=ALL_PROJECTS, where=NO_FILTER, limit=3)
    assert rows == (40,)
    assert store.load([40], scope=ALL_PROJECTS) == {40: WAS}
    assert store.wordings([40], scope=ALL_PROJECTS) == {40: ("tomcat", "pussycat")}
    assert store.history([40], scope=ALL_PROJECTS) == {40: EVENTS}
    assert facts == WHOLE.facts
    assert store.vectors("external-2", [40], scope=ALL_PROJECTS)[40] == (PASSAGE,)
    assert found.total == 0, "it is superseded"
    assert store.check() == ()


def test_ids_go_on_above_those_that_were_kept(store: Store) -> None:
    store.apply([WHOLE], at=NOON)

    rows = store.apply([Insert(memory=Memory(content="a dog"), facts=(FACT,))], at=NOON)

    assert rows == (41,)
    assert [fact.id for fact in store.facts(FactQuery(), scope=ALL_PROJECTS)] == [71]


def test_without_an_id_it_gets_a_new_one(store: Store) -> None:
    store.apply([Insert(memory=Memory(content="a dog"), facts=(FACT,))], at=NOON)
    anew = replace(WHOLE, memory=replace(WAS, id=0), facts=(replace(FACT, id=0),))

    rows = store.apply([anew], at=NOON)

    assert rows == (2,)
    facts = store.facts(FactQuery(include_superseded=True), scope=ALL_PROJECTS)
    assert [(fact.id, fact.memory_id) for fact in facts] == [(2, 2), (1, 1)]
    assert {event.memory_id for event in store.history([2], scope=ALL_PROJECTS)[2]} == {2}


def test_it_takes_the_place_of_the_one_that_has_its_id(store: Store) -> None:
    store.apply([Insert(memory=Memory(content="a dog", tags=("y",)), facts=(FACT,))], at=NOON)
    store.apply([Feedback(id=1, verdict="used")], at=NOON)
    now = replace(WHOLE, memory=replace(WAS, id=1, superseded_by=None, superseded_at=None), facts=())

    store.apply([now], at=NOON)

    found = [
        store.match_words(asking(word), scope=ALL_PROJECTS, where=NO_FILTER, limit=3).total
        for word in ("dog", "tomcat", "x", "y")
    ]
    assert found == [0, 1, 1, 0]
    assert [event.verb for event in store.history([1], scope=ALL_PROJECTS)[1]] == ["add", "update"]
    assert store.facts(FactQuery(include_superseded=True), scope=ALL_PROJECTS) == ()
    assert store.stats(scope=ALL_PROJECTS).memories == 1
    assert store.check() == ()


def test_a_forgotten_one_comes_back_forgotten_with_what_belongs_to_it(store: Store) -> None:
    gone = replace(WHOLE, memory=replace(WAS, deleted_at=NOON, superseded_by=None, superseded_at=None))

    store.apply([gone], at=NOON)

    asked = FactQuery(include_superseded=True, include_forgotten=True)
    assert store.match_words(asking("tomcat"), scope=ALL_PROJECTS, where=NO_FILTER, limit=3).total == 0
    assert store.facts(FactQuery(include_superseded=True), scope=ALL_PROJECTS) == ()
    assert [fact.id for fact in store.facts(asked, scope=ALL_PROJECTS)] == [70]
    assert store.vectors("external-2", [40], scope=ALL_PROJECTS) == {}
    assert store.vectors("external-2", [40], scope=ALL_PROJECTS, include_forgotten=True) == {40: (PASSAGE,)}
    assert store.check() == ()


def test_facts_of_forgotten_memories_are_given_within_the_scope_and_not_superseded_unless_asked_for(
    store: Store,
) -> None:
    both = [Insert(memory=Memory(content="a", project=name), facts=(FACT,)) for name in ("p", "q")]
    store.apply([*both, Insert(memory=Memory(content="b", superseded_by=1), facts=(FACT,))], at=NOON)
    store.apply([Forget(id=1)], at=NOON)

    mine = store.facts(FactQuery(include_forgotten=True), scope=Scope(projects=frozenset({"p"})))
    every = store.facts(FactQuery(include_forgotten=True), scope=ALL_PROJECTS)

    assert ([fact.memory_id for fact in mine], [fact.memory_id for fact in every]) == ([1], [2, 1])


def test_ids_are_listed_lowest_first_forgotten_ones_too(store: Store) -> None:
    store.apply([Insert(memory=Memory(content=f"n {n}", project="pq"[n % 2])) for n in range(6)], at=NOON)
    store.apply([Forget(id=3)], at=NOON)

    scope = Scope(projects=frozenset({"p"}))
    assert store.ids(scope=ALL_PROJECTS, limit=4) == (1, 2, 3, 4)
    assert store.ids(scope=ALL_PROJECTS, after=4, limit=9) == (5, 6)
    assert store.ids(scope=scope, after=1, limit=9) == (3, 5)


def test_memories_are_known_by_their_birth_forgotten_or_not(store: Store) -> None:
    kept = [Memory(content="a"), Memory(content="b"), Memory(content="c", project="q"), Memory(content="d", kind="k")]
    store.apply([Insert(memory=memory) for memory in kept], at=NOON)
    store.apply([Insert(memory=Memory(content="e"))], at=NOON + DAY)
    store.apply([Forget(id=2)], at=NOON)

    known = store.known("default", births=[("memory", NOON), ("k", NOON), ("k", NOON + DAY)])

    assert known.by_birth == {("memory", NOON): (1, 2), ("k", NOON): (4,)}


def test_the_log_is_read_page_by_page_from_its_beginning(store: Store) -> None:
    store.log_recall([Recall(query=str(n), mode="m", outcome="none", at=NOON) for n in range(5)])

    pages = [store.recalls(scope=ALL_PROJECTS, oldest_first=True, limit=2, offset=at) for at in (0, 2, 4)]

    assert [[each.query for each in page] for page in pages] == [["0", "1"], ["2", "3"], ["4"]]
