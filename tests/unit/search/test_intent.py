"""What a question is after, and the other ways to ask it."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.search.intent import WEIGHTS, Intent, declarative, expansions, intent, key_terms, strong_signal


@pytest.mark.req("E-12")
@pytest.mark.case(100)
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("how do I implement auth?", "question"),
        ("why does this fail?", "error"),
        ("login not working", "error"),
        ("add new endpoint for users", "implementation"),
        ("data flow in the pipeline", "architecture"),
        ("user authentication", "general"),
        ("", "general"),
    ],
)
def test_the_intents_of_the_worked_case(query: str, expected: Intent) -> None:
    assert intent(query) == expected


@pytest.mark.req("E-12")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("how do I implement the broken architecture?", "error"),
        ("how do I implement the architecture?", "question"),
        ("implement the architecture", "implementation"),
        ("the architecture", "architecture"),
        ("THE SEARCH   DOESN'T   WORK", "error"),
        ("is there a retry limit", "question"),
        ("component workflow", "architecture"),
        ("different work items", "general"),
        ("prefix handling", "general"),
        ("additional notes", "general"),
        ("上周的决定", "general"),
    ],
)
def test_the_first_intent_in_order_wins(query: str, expected: Intent) -> None:
    assert intent(query) == expected


@pytest.mark.req("E-12")
@pytest.mark.case(101)
@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("how to implement the user login", ("implement", "user", "login")),
        ("the a an is are", ()),
        ("a b c auth", ("auth",)),
    ],
)
def test_key_terms_leave_out_what_says_nothing(query: str, terms: tuple[str, ...]) -> None:
    assert key_terms(query) == terms


def test_key_terms_come_once_in_order_and_as_written() -> None:
    assert key_terms("JWT login, jwt foo-bar C++") == ("JWT", "login", "foo-bar", "C++")


@pytest.mark.req("E-12")
@pytest.mark.case(102)
@pytest.mark.parametrize(
    ("query", "statement"),
    [
        ("how do I implement auth?", "implement auth"),
        ("what is the purpose of this?", "the purpose of this"),
        ("How To Fix Auth?", "Fix Auth"),
    ],
)
def test_a_question_becomes_a_statement(query: str, statement: str) -> None:
    assert declarative(query) == statement


@pytest.mark.parametrize(
    ("query", "statement"),
    [
        ("can we cache results", "cache results"),
        ("is there any retry limit?", "retry limit"),
        ("what's the plan", "the plan"),
        ("however it works", "however it works"),
        ("can opener", "can opener"),
        ("how?", "how"),
        ("?", ""),
        ("", ""),
    ],
)
def test_only_the_opening_of_a_question_is_dropped(query: str, statement: str) -> None:
    assert declarative(query) == statement


@pytest.mark.req("E-12")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            "how do we rotate keys?",
            [("rotate keys", 0.85), ("how rotate keys works", 0.75), ("rotate keys design decision", 0.75)],
        ),
        ("login fails", [("login fails fix solution", 0.80)]),
        ("why does login fail?", [("login fail", 0.85), ("login fail fix solution", 0.80)]),
        ("add endpoint", [("add endpoint design pattern", 0.75), ("how to add endpoint", 0.75)]),
        ("event pipeline", [("event pipeline design decision", 0.75), ("how event pipeline works", 0.75)]),
        ("user authentication", []),
    ],
)
def test_each_intent_has_its_ways_to_ask(query: str, expected: list[tuple[str, float]]) -> None:
    assert [(way.text, way.weight) for way in expansions(query)] == expected


@pytest.mark.parametrize("query", ["", "  ", "?", "how to", "为什么登录失败?", "なぜ失敗する?", "왜 실패하나?"])
def test_nothing_to_go_by_gives_no_other_way_to_ask(query: str) -> None:
    assert expansions(query) == ()


def test_the_weightiest_ways_stay_when_only_few_are_wanted() -> None:
    ways = expansions("how do we rotate keys?", most=1)

    assert [way.reason for way in ways] == ["declarative"]


def test_weights_come_from_the_caller() -> None:
    ways = expansions("why does login fail?", weights={**WEIGHTS, "solution": 0.9})

    assert [way.weight for way in ways] == [0.9, 0.85]


PARTS = st.sampled_from(
    ["how", "do", "I", "fix", "add", "design", "auth", "{terms}", "{", "?", "the", "Auth", "fix solution"]
)


@pytest.mark.req("E-12")
@given(query=st.one_of(st.text(), st.lists(PARTS).map(" ".join)), most=st.integers(-1, 6))
def test_other_ways_are_few_lighter_distinct_and_never_the_query(query: str, most: int) -> None:
    ways = expansions(query, most=most)

    texts = [way.text.casefold().split() for way in ways]
    assert len(ways) <= min(max(most, 0), 4)
    assert all(0 < way.weight < 1 for way in ways)
    assert query.casefold().split() not in texts
    assert all(texts.count(text) == 1 for text in texts)


@pytest.mark.parametrize(
    ("top", "second", "strong"),
    [
        (0.85, 0.70, True),
        (0.95, 0.80, True),
        (0.85, None, True),
        (0.84, 0.10, False),
        (0.84, None, False),
        (0.99, 0.85, False),
        (math.nan, 0.1, False),
    ],
)
def test_a_signal_is_strong_when_the_best_is_high_and_far_ahead(
    top: float,
    second: float | None,
    strong: bool,  # noqa: FBT001
) -> None:
    assert strong_signal(top, second, intent_given=False) is strong


@pytest.mark.case(106)
@pytest.mark.parametrize("second", [0.1, None])
def test_no_signal_is_strong_for_someone_who_gave_an_intent(second: float | None) -> None:
    assert strong_signal(0.99, second, intent_given=True) is False
