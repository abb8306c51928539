"""Facets count the whole match set, whatever it is."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kit import NOON, asking, keywords
from recollect.records import ALL_PROJECTS, Fact, Filter, Forget, Insert, Memory, Phrase, Revise, Scope
from recollect.stores.contract import Store

DAY = timedelta(days=1)
NAMES = {"type", "tag", "project", "source", "kind", "fact_type", "month"}
TOKYO = timezone(timedelta(hours=9))


def stating(*types: str) -> tuple[Fact, ...]:
    return tuple(
        Fact(subject=str(at), predicate="is", object="x", type=kind, confidence=1.0, decay_rate=0.0)
        for at, kind in enumerate(types)
    )


def fill(store: Store) -> tuple[int, ...]:
    drafts = [
        (Memory(content="cat", type="decision", tags=("a", "b", "a"), source="n/a.md", project="p"), ("kv", "kv")),
        (Memory(content="cat dog", tags=("a",), source="n/a.md", project="q", observed_at=NOON - 40 * DAY), ("state",)),
        (Memory(content="dog", kind="observation", project="p", observed_at=datetime(2026, 6, 1, 1, tzinfo=TOKYO)), ()),
        (Memory(content="cat forgotten", project="p"), ("kv",)),
        (Memory(content="cat superseded", project="p"), ("kv",)),
    ]
    rows = store.apply([Insert(memory=memory, facts=stating(*types)) for memory, types in drafts], at=NOON)
    old = store.load([rows[4]], scope=ALL_PROJECTS)[rows[4]]
    store.apply([Forget(id=rows[3]), Revise(memory=replace(old, superseded_by=rows[0]))], at=NOON + DAY)
    return rows


@pytest.mark.req("C-27")
def test_without_words_everything_admitted_is_counted(store: Store) -> None:
    fill(store)

    assert store.facets(query=None, scope=ALL_PROJECTS, where=Filter()) == {
        "type": {"decision": 1, "note": 2},
        "tag": {"a": 2, "b": 1},
        "project": {"p": 2, "q": 1},
        "source": {"n/a.md": 2},
        "kind": {"memory": 2, "observation": 1},
        "fact_type": {"kv": 1, "state": 1},
        "month": {"2026-05": 2, "2026-03": 1},
    }


@pytest.mark.req("C-27")
def test_with_words_the_whole_match_set_is_counted(store: Store) -> None:
    store.apply([Insert(memory=Memory(content=f"cat {n}", tags=(f"t{n % 3}",))) for n in range(60)], at=NOON)
    store.apply([Insert(memory=Memory(content="dog", tags=("t1",)))], at=NOON)

    counts = store.facets(query=asking("cat"), scope=ALL_PROJECTS, where=Filter(tags=("t1", "t2")))

    assert counts["tag"] == {"t1": 20, "t2": 20}
    assert counts["month"] == {"2026-05": 40}


def test_the_most_frequent_come_first_then_by_name(store: Store) -> None:
    tags = [("c",), ("b", "c"), ("a",)]
    store.apply([Insert(memory=Memory(content="cat", tags=each)) for each in tags], at=NOON)

    counts = store.facets(query=None, scope=ALL_PROJECTS, where=Filter())

    assert list(counts["tag"].items()) == [("c", 2), ("a", 1), ("b", 1)]


@pytest.mark.parametrize("where", [Filter(types=()), Filter(fact_types=()), Filter(tags=("nobody",))])
def test_nothing_admitted_leaves_every_facet_empty(store: Store, where: Filter) -> None:
    fill(store)

    assert store.facets(query=asking("cat"), scope=ALL_PROJECTS, where=where) == {name: {} for name in NAMES}
    assert store.facets(query=None, scope=ALL_PROJECTS, where=where) == {name: {} for name in NAMES}


def test_scope_is_inside_the_count(store: Store) -> None:
    fill(store)

    counts = store.facets(query=asking("cat", "dog"), scope=Scope(projects=frozenset({"q"})), where=Filter())

    assert counts["project"] == {"q": 1}


def test_the_past_is_counted_as_it_was(store: Store) -> None:
    fill(store)

    counts = store.facets(query=asking("cat"), scope=ALL_PROJECTS, where=Filter(as_of=NOON + DAY / 2))

    assert counts["project"] == {"p": 3, "q": 1}
    assert counts["fact_type"] == {"kv": 3, "state": 1}


def aspects(memory: Memory, facts: tuple[Fact, ...]) -> Iterator[tuple[str, str]]:
    yield from (("type", memory.type), ("project", memory.project), ("kind", memory.kind))
    yield "month", memory.when.astimezone(UTC).strftime("%Y-%m")
    yield from (("tag", tag) for tag in set(memory.tags))
    yield from (("fact_type", kind) for kind in {fact.type for fact in facts})
    if memory.source is not None:
        yield "source", memory.source


WHERE = st.builds(
    Filter,
    types=st.sampled_from([None, None, (), ("note",), ("note", "decision")]),
    tags=st.sampled_from([None, None, ("a",), ("b", "c")]),
    kinds=st.sampled_from([None, ("memory",)]),
    sources=st.sampled_from([None, ("n",), ("a.md",)]),
    fact_types=st.sampled_from([None, None, ("kv",), ("kv", "state")]),
    since=st.sampled_from([None, NOON - DAY]),
    until=st.sampled_from([None, NOON + DAY]),
    include_superseded=st.booleans(),
    as_of=st.sampled_from([None, NOON, NOON + DAY / 2, NOON + 2 * DAY]),
)
ASKED = st.sampled_from([None, asking("cat"), asking("cat", "dog"), keywords(Phrase(texts=("cat", "dog")))])
SCOPES = st.sampled_from([ALL_PROJECTS, Scope(projects=frozenset({"p"}))])


@pytest.mark.req("C-27")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=WHERE, asked=ASKED, scope=SCOPES)
def test_counts_equal_those_made_one_memory_at_a_time(store: Store, where: Filter, asked: object, scope: Scope) -> None:
    if store.stats(scope=ALL_PROJECTS).memories == 0:
        fill(store)

    counts = store.facets(query=asked, scope=scope, where=where)  # type: ignore[arg-type]

    if asked is None:
        ids: tuple[int, ...] = store.browse(scope=scope, where=where, limit=99).ids
    else:
        found = store.match_words(asked, scope=scope, where=where, limit=99)  # type: ignore[arg-type]
        ids = tuple(match.id for match in found.top)
    memories = store.load(ids, scope=scope)
    facts = {row: stating(*types) for row, types in {1: ("kv", "kv"), 2: ("state",), 4: ("kv",), 5: ("kv",)}.items()}
    expected = Counter(one for row, memory in memories.items() for one in aspects(memory, facts.get(row, ())))
    assert {(name, value): count for name, each in counts.items() for value, count in each.items()} == expected
