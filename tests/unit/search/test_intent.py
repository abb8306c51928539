"""What a question is after, and the other made to ask it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import QueryError
from recollect.search.intent import BOOSTERS, Booster, Intent, boost, declarative, intent, key_terms, paraphrases


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
        ("login fails", [("login fails debug", 0.80), ("login fails fix", 0.80), ("login fails solution", 0.80)]),
        (
            "why does login fail?",
            [("login fail", 0.85), ("login fail debug", 0.8), ("login fail fix", 0.8), ("login fail solution", 0.8)],
        ),
        ("add endpoint", [("add endpoint design pattern", 0.75), ("how to add endpoint", 0.75)]),
        ("event pipeline", [("event pipeline design decision", 0.75), ("how event pipeline works", 0.75)]),
        ("user authentication", []),
    ],
)
def test_each_intent_has_its_paraphrases(query: str, expected: list[tuple[str, float]]) -> None:
    assert [(each.text, each.weight) for each in paraphrases(query)] == expected


@pytest.mark.parametrize("query", ["", "  ", "?", "how to", "为什么登录失败?", "なぜ失敗する?", "왜 실패하나?"])
def test_nothing_to_go_by_gives_no_paraphrase(query: str) -> None:
    assert paraphrases(query) == ()


def test_the_weightiest_stay_when_only_few_are_wanted() -> None:
    made = paraphrases("how do we rotate keys?", most=1)

    assert [each.reason for each in made] == ["declarative"]


PARTS = st.sampled_from(
    ["how", "do", "I", "fix", "add", "design", "auth", "{terms}", "{", "?", "the", "Auth", "fix solution"]
)


@pytest.mark.req("E-12")
@given(query=st.one_of(st.text(), st.lists(PARTS).map(" ".join)), most=st.integers(-1, 6))
def test_paraphrases_are_few_lighter_distinct_and_never_the_query(query: str, most: int) -> None:
    made = paraphrases(query, most=most)

    texts = [each.text.casefold().split() for each in made]
    assert len(made) <= min(max(most, 0), 4)
    assert all(0 < each.weight < 1 for each in made)
    assert query.casefold().split() not in texts
    assert all(texts.count(text) == 1 for text in texts)


@pytest.mark.req("E-14")
@pytest.mark.case(103)
@pytest.mark.parametrize(
    ("query", "booster", "boosted"),
    [
        ("authentication", "decisions", "authentication decision chose architecture"),
        ("handler", "changes", "handler changed modified refactored"),
        ("database", "how_it_works", "database architecture design pattern implements"),
    ],
)
def test_a_booster_adds_its_words_behind_the_query(query: str, booster: Booster, boosted: str) -> None:
    assert boost(query, booster) == boosted


@pytest.mark.req("E-14")
@pytest.mark.case(103)
@pytest.mark.parametrize("booster", BOOSTERS)
@pytest.mark.parametrize("blank", ["", " ", "\n\t"])
def test_a_blank_query_stays_blank(blank: str, booster: Booster) -> None:
    assert boost(blank, booster) == ""


def test_an_unknown_booster_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(QueryError) as refused:
        boost("auth", "dreams")  # type: ignore[arg-type]

    assert "decisions, changes, how_it_works" in refused.value.hint
