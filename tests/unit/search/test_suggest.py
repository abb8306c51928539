"""Did you mean: typos of every kind against a small vocabulary."""

from collections.abc import Sequence
from typing import Protocol

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.search.spelling import Neighbours, Suggestion, one_edit, suggest

VOCABULARY = {
    "authentication": 12,
    "database": 30,
    "deployment": 9,
    "letter": 4,
    "latter": 2,
    "search": 40,
    "memory": 50,
    "cat": 8,
    "cart": 5,
    "note1": 7,
    "café": 2,
}


class Suggest(Protocol):
    def __call__(
        self, words: Sequence[str], vocabulary: dict[str, int], *, most: int = 3
    ) -> tuple[Suggestion, ...]: ...


def by_index(words: Sequence[str], vocabulary: dict[str, int], *, most: int = 3) -> tuple[Suggestion, ...]:
    return Neighbours(vocabulary).suggest(words, most=most)


@pytest.fixture(params=[suggest, by_index], ids=["scan", "index"])
def did_you_mean(request: pytest.FixtureRequest) -> Suggest:
    """Both ways to ask give the same answers."""
    ask: Suggest = request.param
    return ask


@pytest.mark.req("C-28")
@pytest.mark.parametrize(
    ("typed", "meant", "distance"),
    [
        ("serch", "search", 1),
        ("saerch", "search", 1),
        ("seatch", "search", 1),
        ("searrch", "search", 1),
        ("memory1x", None, 0),
        ("databse", "database", 1),
        ("dtaabase", "database", 1),
        ("dqtabqse", "database", 2),
        ("authentcatoin", "authentication", 2),
        ("Serch", "search", 1),
        ("sarchh", None, 0),
    ],
)
def test_a_typo_is_led_back_to_its_word(did_you_mean: Suggest, typed: str, meant: str | None, distance: int) -> None:
    found = did_you_mean([typed], VOCABULARY)

    assert [(one.text, one.replaces, one.distance) for one in found] == ([(meant, typed, distance)] if meant else [])


@pytest.mark.req("C-28")
@pytest.mark.parametrize(
    "word", ["search", "SEARCH", "Café", "cas", "note2", "note", "1234", "", "データベース", "검색어를", "foo-bar"]
)
def test_known_short_numbered_and_foreign_words_are_left_alone(did_you_mean: Suggest, word: str) -> None:
    assert did_you_mean([word], {**VOCABULARY, "cafe": 2, "データベーズ": 1, "검색어는": 1}) == ()


@pytest.mark.parametrize(
    ("typed", "likelier", "than"),
    [
        ("lqtter", "latter", "letter"),
        ("lrtter", "letter", "latter"),
        ("lstter", "letter", "lqtter"),
        ("lettyer", "letter", "lettzer"),
        ("fomr", "form", "foxr"),
        ("heello", "hello", "heelyo"),
        ("mesage", "message", "menage"),
    ],
)
def test_the_likelier_slip_comes_before_the_more_frequent_word(
    did_you_mean: Suggest, typed: str, likelier: str, than: str
) -> None:
    found = did_you_mean([typed], {likelier: 1, than: 50})

    assert [one.text for one in found] == [likelier, than]


def test_the_more_frequent_word_comes_first_when_the_slips_are_alike(did_you_mean: Suggest) -> None:
    found = did_you_mean(["lettr"], {"letter": 4, "lettre": 2, "lettor": 9})

    assert [(one.text, one.frequency) for one in found] == [("lettor", 9), ("letter", 4), ("lettre", 2)]


def test_words_alike_in_everything_come_in_alphabetical_order(did_you_mean: Suggest) -> None:
    found = did_you_mean(["lettr"], {"lettor": 3, "letter": 3})

    assert [one.text for one in found] == ["letter", "lettor"]


def test_two_edits_are_thought_of_only_when_one_is_not_enough(did_you_mean: Suggest) -> None:
    vocabulary = {"deployment": 1, "deployments": 1, "employment": 1}

    found = did_you_mean(["deploymant"], vocabulary)

    assert [one.text for one in found] == ["deployment"]


def test_each_unknown_word_gets_its_best_before_any_gets_a_second(did_you_mean: Suggest) -> None:
    found = did_you_mean(["lettr", "in", "databse", "lettr"], {"letter": 9, "lettor": 3, "database": 1})

    assert [(one.replaces, one.text) for one in found] == [
        ("lettr", "letter"),
        ("databse", "database"),
        ("lettr", "lettor"),
    ]


@pytest.mark.parametrize("most", [-1, 0, 1, 2])
def test_no_more_come_than_are_wanted(did_you_mean: Suggest, most: int) -> None:
    found = did_you_mean(["lettr"], {"letter": 9, "lettor": 3, "lettar": 1}, most=most)

    assert len(found) == max(most, 0)


def test_a_run_of_letters_too_long_for_a_word_is_left_alone(did_you_mean: Suggest) -> None:
    assert did_you_mean(["a" * 100_000], {"a" * 99_999: 1}) == ()


def test_near_answers_for_one_word() -> None:
    found = Neighbours(VOCABULARY).near("serch", most=1)

    assert found == (Suggestion(text="search", replaces="serch", distance=1, frequency=40),)


def test_one_edit_lists_every_neighbour_in_order_and_not_the_word_itself() -> None:
    assert one_edit("cat", ["cart", "cat", "act", "bat", "cast", "at", "dog", "cut"]) == [
        "act",
        "at",
        "bat",
        "cart",
        "cast",
        "cut",
    ]


WORDS = st.text(alphabet="abcdeé", min_size=1, max_size=11)


@pytest.mark.req("C-28")
@given(vocabulary=st.dictionaries(WORDS, st.integers(1, 9), max_size=30), words=st.lists(WORDS, max_size=4))
def test_the_index_answers_as_the_scan_does(vocabulary: dict[str, int], words: list[str]) -> None:
    assert Neighbours(vocabulary).suggest(words) == suggest(words, vocabulary)


@given(vocabulary=st.dictionaries(WORDS, st.integers(1, 9), max_size=30), word=WORDS)
def test_a_suggestion_is_another_word_of_the_vocabulary_within_reach(vocabulary: dict[str, int], word: str) -> None:
    found = suggest([word], vocabulary)

    assert all(one.text in vocabulary and one.frequency == vocabulary[one.text] for one in found)
    assert all(1 <= one.distance <= (2 if len(word) >= 8 else 1) for one in found)
    assert list(found) == sorted(found, key=lambda one: one.distance)


@given(words=st.lists(st.text()))
def test_no_word_raises(words: list[str]) -> None:
    assert Neighbours(VOCABULARY).suggest(words) == suggest(words, VOCABULARY)
