"""What a caller may rely on when a store keeps what was recalled, and what became of it."""

from datetime import timedelta
from typing import Literal

import pytest
from msgspec.structs import replace

from kit import NOON, asking
from recollect.errors import UnknownMemory
from recollect.records import ALL_PROJECTS, Feedback, Filter, Forget, Insert, Memory, Recall, Recalled, Scope
from recollect.stores.contract import Store

MINE = Scope(projects=frozenset({"mine"}))
BOTH = Scope(projects=frozenset({"mine", "ours"}))
NOBODY = Scope(projects=frozenset())


def add(store: Store, content: str = "cat", project: str = "mine") -> int:
    (row,) = store.apply([Insert(memory=Memory(content=content, project=project))], at=NOON)
    return row


def recall(query: str, *hits: Recalled, minute: int = 0, **about: object) -> Recall:
    at = NOON + timedelta(minutes=minute)
    outcome = "answered" if hits else "none"
    return Recall(query=query, mode="hybrid", outcome=outcome, at=at, hits=hits, **about)  # type: ignore[arg-type]


def hit(row: int, *facts: int, shown: bool = True, rank: int = 1) -> Recalled:
    return Recalled(memory_id=row, rank=rank, score=0.5, shown=shown, fact_ids=facts)


def queries(store: Store, scope: Scope = ALL_PROJECTS, **how: object) -> list[str]:
    return [each.query for each in store.recalls(scope=scope, **how)]  # type: ignore[arg-type]


def shown(store: Store, scope: Scope) -> dict[int, tuple[int, int]]:
    return {row: (each.shown, each.missed) for row, each in store.usage(scope=scope).items()}


def verdicts(store: Store, scope: Scope) -> dict[int, dict[str, int]]:
    return {row: dict(each.verdicts) for row, each in store.usage(scope=scope).items()}


@pytest.mark.req("C-24")
def test_a_recall_comes_back_as_it_was(store: Store) -> None:
    shown, missed = hit(1, 7, 3), Recalled(memory_id=2, rank=2, score=0.125, shown=False)
    logged = recall("how do we ship?", shown, missed, session="s", lens="work", scope=BOTH)

    store.log_recall([logged])

    assert store.recalls(scope=ALL_PROJECTS) == (logged,)


def test_the_last_recall_comes_first(store: Store) -> None:
    store.log_recall([recall("one"), recall("two")])
    store.log_recall([])
    store.log_recall([recall("three")])

    assert queries(store) == ["three", "two", "one"]
    assert queries(store, limit=2) == ["three", "two"]


@pytest.mark.req("C-25")
def test_the_log_tells_which_answers_used_a_memory_or_a_fact(store: Store) -> None:
    store.log_recall(
        [
            recall("both", hit(1, 5), hit(2, 6, shown=False)),
            recall("one", hit(1), session="s"),
            recall("neither", session="s"),
        ]
    )

    assert queries(store, memory_id=1) == ["one", "both"]
    assert queries(store, memory_id=2) == ["both"]
    assert queries(store, fact_id=6) == ["both"]
    assert queries(store, fact_id=1) == []
    assert queries(store, session="s") == ["neither", "one"]
    assert queries(store, session="s", memory_id=1) == ["one"]


def test_a_reader_sees_the_searches_within_its_scope_only(store: Store) -> None:
    store.log_recall(
        [recall("everywhere"), recall("mine", scope=MINE), recall("both", scope=BOTH), recall("mine too", scope=MINE)]
    )

    assert queries(store, MINE) == ["mine too", "mine"]
    assert queries(store, BOTH) == ["mine too", "both", "mine"]
    assert queries(store, NOBODY) == []
    assert store.unanswered(scope=MINE, limit=9) == (("mine", 1), ("mine too", 1))


def test_the_times_shown_and_nearly_shown_are_counted_for_live_memories_in_scope(store: Store) -> None:
    one, two, gone, theirs = add(store), add(store), add(store), add(store, project="theirs")
    never = add(store)
    store.log_recall([recall("a", hit(one), hit(two, shown=False), hit(gone), hit(theirs))])
    store.log_recall([recall("b", hit(one, shown=False), hit(one)), recall("c", hit(999))])

    store.apply([Forget(id=gone)], at=NOON)

    assert shown(store, MINE) == {one: (2, 1), two: (0, 1)}
    assert shown(store, ALL_PROJECTS) == {one: (2, 1), two: (0, 1), theirs: (1, 0)}
    assert never not in store.usage(scope=ALL_PROJECTS)


def test_questions_that_found_nothing_are_counted_most_often_first(store: Store) -> None:
    store.log_recall([recall(query) for query in ("b", "a", "b", "Ä", "z")])
    store.log_recall([recall("b", hit(1))])

    assert store.unanswered(scope=ALL_PROJECTS, limit=9) == (("b", 2), ("a", 1), ("z", 1), ("Ä", 1))
    assert store.unanswered(scope=ALL_PROJECTS, limit=1) == (("b", 2),)


def test_half_characters_in_a_question_do_not_stop_the_log(store: Store) -> None:
    store.log_recall([recall("broken \ud83d emoji\x00", session="s\ud83d", lens="l\ud83d")])

    (logged,) = store.recalls(scope=ALL_PROJECTS)
    assert (logged.query, logged.session, logged.lens) == ("broken \ufffd emoji\ufffd", "s\ufffd", "l\ufffd")


@pytest.mark.req("C-24")
def test_logging_touches_neither_the_version_nor_any_memory(store: Store) -> None:
    row = add(store)
    memory, version = store.load([row], scope=ALL_PROJECTS), store.version()
    history, tally = store.history([row], scope=ALL_PROJECTS), store.stats(scope=ALL_PROJECTS)

    store.log_recall([recall("cat", hit(row, 1))])

    assert store.version() == version
    assert store.load([row], scope=ALL_PROJECTS) == memory
    assert store.history([row], scope=ALL_PROJECTS) == history
    assert replace(store.stats(scope=ALL_PROJECTS), log=tally.log) == tally


def test_a_log_in_a_failed_transaction_goes_with_it(store: Store) -> None:
    def fail() -> None:
        with store.transaction():
            store.log_recall([recall("lost")])
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()

    assert queries(store) == []


@pytest.mark.req("C-25")
def test_feedback_leaves_an_event_and_is_counted(store: Store) -> None:
    one, two, theirs = add(store), add(store), add(store, project="theirs")

    def say(row: int, verdict: Literal["used", "useful", "wrong"]) -> tuple[int, ...]:
        write = Feedback(id=row, verdict=verdict, session="s", query="cat \ud800?")
        return store.apply([write], at=NOON + timedelta(days=1))

    touched = say(one, "used")
    for row, verdict in ((one, "used"), (one, "wrong"), (theirs, "useful"), (two, "useful")):
        say(row, verdict)  # type: ignore[arg-type]
    store.apply([Forget(id=two)], at=NOON)

    event = store.history([one], scope=ALL_PROJECTS)[one][1]
    assert touched == (one,)
    assert (event.verb, event.detail) == ("feedback", {"verdict": "used", "session": "s", "query": "cat \ufffd?"})
    assert verdicts(store, MINE) == {one: {"used": 2, "wrong": 1}}
    assert verdicts(store, ALL_PROJECTS) == {one: {"used": 2, "wrong": 1}, theirs: {"useful": 1}}
    assert store.load([one], scope=ALL_PROJECTS)[one].updated_at == NOON


def test_feedback_on_a_memory_nobody_has_is_refused(store: Store) -> None:
    with pytest.raises(UnknownMemory):
        store.apply([Feedback(id=999, verdict="used")], at=NOON)


def test_feedback_needs_no_session_and_no_query(store: Store) -> None:
    row = add(store)

    store.apply([Feedback(id=row, verdict="wrong")], at=NOON)

    assert store.history([row], scope=ALL_PROJECTS)[row][-1].detail == {"verdict": "wrong"}


def test_a_search_says_in_how_many_memories_each_word_stands(store: Store) -> None:
    for text in ("cat dog", "cats", "dog", "bird"):
        add(store, text)
    add(store, "cat", project="theirs")

    found = store.match_words(asking("cat", "dog", "cow"), scope=MINE, where=Filter(types=()), limit=9)

    assert found.document_frequencies == {"cat": 2, "dog": 2, "cow": 0}
