"""What a caller may rely on when asking for what ranking looks at of memories."""

from contextlib import suppress
from datetime import timedelta

from msgspec.structs import replace

from kit import NOON, asking
from recollect.records import ALL_PROJECTS, NO_FILTER, Forget, Insert, Memory, Outline, Revise, Scope, Traits
from recollect.stores.contract import Store

HOUR = timedelta(hours=1)


def test_an_outline_says_what_the_memory_says(store: Store) -> None:
    turn = Memory(
        content="Ann: 7 o'clock", title="Talk", project="p", type="chat", tags=("a", "ß"), source="talk.md",
        confidence=0.25, pinned=True, trust="agent", thread="t", turn=3, observed_at=NOON - HOUR,
    )  # fmt: skip
    plain = Memory(content="x", project="q")
    rows = store.apply([Insert(memory=turn), Insert(memory=plain)], at=NOON)
    store.apply([Forget(id=rows[1])], at=NOON)

    found = store.outlines(rows, scope=ALL_PROJECTS)

    held = store.load(rows, scope=ALL_PROJECTS)
    assert found == {row: Outline._make(getattr(held[row], name) for name in Outline._fields) for row in rows}
    assert found[rows[0]].when == NOON - HOUR


def test_outlines_of_other_projects_and_of_nobody_are_absent(store: Store) -> None:
    rows = store.apply([Insert(memory=Memory(content="x", project=name)) for name in ("p", "q", "p")], at=NOON)

    found = store.outlines([99, *reversed(rows)], scope=Scope(projects=frozenset({"p"})))

    assert list(found) == [rows[2], rows[0]]


def test_outlines_asked_for_again_are_those_of_now_and_of_the_scope(store: Store) -> None:
    rows = store.apply([Insert(memory=Memory(content="x", project=name)) for name in ("p", "q")], at=NOON)
    store.outlines(rows, scope=ALL_PROJECTS)

    within = store.outlines(rows, scope=Scope(projects=frozenset({"q"})))
    held = store.load(rows, scope=ALL_PROJECTS)
    store.apply([Revise(memory=replace(held[rows[0]], content="y", pinned=True))], at=NOON)
    now = store.outlines(rows, scope=ALL_PROJECTS)

    assert list(within) == [rows[1]]
    assert [(each.content, each.pinned) for each in now.values()] == [("y", True), ("x", False)]


def test_outlines_in_a_transaction_that_writes_are_those_it_leaves(store: Store) -> None:
    (row,) = store.apply([Insert(memory=Memory(content="x"))], at=NOON)
    before = store.load([row], scope=ALL_PROJECTS)[row]
    store.outlines([row], scope=ALL_PROJECTS)

    with suppress(RuntimeError), store.transaction():
        store.apply([Revise(memory=replace(before, content="y"))], at=NOON)
        inside = store.outlines([row], scope=ALL_PROJECTS)
        raise RuntimeError

    assert inside[row].content == "y"
    assert store.outlines([row], scope=ALL_PROJECTS)[row].content == "x"


def test_traits_say_what_the_memory_says(store: Store) -> None:
    turn = Memory(
        content="Ann: 7 o'clock", project="p", type="chat", confidence=0.25, pinned=True, thread="t", turn=3,
        observed_at=NOON - HOUR,
    )  # fmt: skip
    many = [Insert(memory=Memory(content=f"note {number}", project="pq"[number % 2])) for number in range(80)]
    blank = Memory(content="x", thread="", project="q")
    rows = store.apply([Insert(memory=turn), Insert(memory=blank), *many], at=NOON)
    store.apply([Forget(id=rows[5])], at=NOON)
    store.match_words(asking("note"), scope=ALL_PROJECTS, where=NO_FILTER, limit=1)  # so that an index is at hand

    found = store.traits([99_999, *reversed(rows)], scope=ALL_PROJECTS)
    within = store.traits(rows, scope=Scope(projects=frozenset({"q"})))

    held = store.load(rows, scope=ALL_PROJECTS)
    told = {row: Traits._make(getattr(held[row], name) for name in Traits._fields) for row in reversed(rows)}
    assert list(found.items()) == [(row, each._replace(thread=each.thread or None)) for row, each in told.items()]
    assert list(within.items()) == [(row, found[row]) for row in rows if held[row].project == "q"]


def test_traits_asked_for_again_are_those_of_now(store: Store) -> None:
    (row,) = store.apply([Insert(memory=Memory(content="x"))], at=NOON)
    before = store.load([row], scope=ALL_PROJECTS)[row]
    assert not store.traits([row], scope=ALL_PROJECTS)[row].pinned

    with suppress(RuntimeError), store.transaction():
        store.apply([Revise(memory=replace(before, pinned=True))], at=NOON)
        inside = store.traits([row], scope=ALL_PROJECTS)
        raise RuntimeError
    after = store.traits([row], scope=ALL_PROJECTS)
    store.apply([Revise(memory=replace(before, confidence=0.5))], at=NOON)

    assert (inside[row].pinned, after[row].pinned) == (True, False)
    assert store.traits([row], scope=ALL_PROJECTS)[row].confidence == 0.5
