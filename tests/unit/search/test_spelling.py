"""Did you mean: typos of every kind against a small vocabulary."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import NOON
from recollect.embedders.hashing import HashingEmbedder
from recollect.records import NearWord
from recollect.search.parse import parse
from recollect.search.spelling import did_you_mean, likeliest, near_among, unknown_words

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


def near(word: str, vocabulary: Mapping[str, int] = VOCABULARY) -> tuple[NearWord, ...]:
    return near_among(word, vocabulary)


def texts(word: str, vocabulary: Mapping[str, int]) -> list[str]:
    return [one.text for one in near(word, vocabulary)]


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
def test_a_typo_is_led_back_to_its_word(typed: str, meant: str | None, distance: int) -> None:
    assert [(one.text, one.distance) for one in near(typed)] == ([(meant, distance)] if meant else [])


@pytest.mark.parametrize(("typed", "meant"), [("reach", "each"), ("hook", "cook"), ("ther", "there")])
def test_no_word_is_corrected_to_a_stop_word_or_to_one_that_begins_otherwise(typed: str, meant: str) -> None:
    assert near(typed, {meant: 30}) == ()


def test_the_more_words_a_store_has_the_more_memories_must_hold_an_unlikely_correction() -> None:
    many = {f"{chr(97 + number % 26)}{number}": 1 for number in range(20_000)}

    assert texts("notes", {"nodes": 1}) == ["nodes"]
    assert texts("notes", {**many, "nodes": 1}) == []
    assert texts("notes", {**many, "nodes": 3}) == ["nodes"]
    assert texts("serch", {**many, "search": 1}) == ["search"]


@pytest.mark.parametrize(("memories", "enough"), [(1, 1), (200, 1), (201, 2), (2000, 2), (2001, 3), (20_001, 4)])
def test_how_many_memories_must_hold_an_unlikely_correction_follows_from_how_many_there_are(
    memories: int, enough: int
) -> None:
    offered = [NearWord(text="nodes", distance=1, frequency=each) for each in (enough - 1, enough) if each]

    found = [bool(likeliest("notes", [each], memories=memories)) for each in offered]

    assert found == [False, True][-len(offered) :]


class Knowing(HashingEmbedder):
    """A model whose vocabulary is one word."""

    def knows_word(self, word: str) -> bool:
        return word == "notes"


def test_a_word_that_the_model_knows_is_no_typo() -> None:
    query, frequencies = parse("notes databse", now=NOON), {"note": 0, "databs": 0}

    by_words = unknown_words(query, frequencies)
    by_model = unknown_words(query, frequencies, Knowing())

    assert [word.text for word in by_words] == ["notes", "databse"]
    assert [word.text for word in by_model] == ["databse"]


@pytest.mark.req("C-28")
@pytest.mark.parametrize(
    "word", ["search", "SEARCH", "Café", "cas", "note2", "note", "1234", "", "データベース", "검색어를", "foo-bar"]
)
def test_known_short_numbered_and_foreign_words_are_left_alone(word: str) -> None:
    assert near(word, {**VOCABULARY, "cafe": 2, "データベーズ": 1, "검색어는": 1}) == ()


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
def test_the_likelier_slip_comes_before_the_more_frequent_word(typed: str, likelier: str, than: str) -> None:
    assert texts(typed, {likelier: 1, than: 50}) == [likelier, than]


def test_the_more_frequent_word_comes_first_when_the_slips_are_alike() -> None:
    found = near("lettr", {"letter": 4, "lettre": 2, "lettor": 9})

    assert [(one.text, one.frequency) for one in found] == [("lettor", 9), ("letter", 4), ("lettre", 2)]


def test_words_alike_in_everything_come_in_alphabetical_order() -> None:
    assert texts("lettr", {"lettor": 3, "letter": 3}) == ["letter", "lettor"]


def test_two_edits_are_thought_of_only_when_one_is_not_enough() -> None:
    assert texts("deploymant", {"deployment": 1, "deployments": 1, "employment": 1}) == ["deployment"]


def test_a_run_of_letters_too_long_for_a_word_is_left_alone() -> None:
    assert near("a" * 100_000, {"a" * 99_999: 1}) == ()


@pytest.mark.req("C-28")
def test_every_unknown_word_is_replaced_by_its_best_and_then_by_its_second_best() -> None:
    vocabulary = {"letter": 9, "lettor": 3, "database": 1}
    found = {word: near(word, vocabulary) for word in ("lettr", "databse")}

    suggested = did_you_mean("a lettr in the databse", found)

    assert suggested == ("a letter in the database", "a lettor in the database")


WORDS = st.text(alphabet="abcdeé", min_size=1, max_size=11)


@given(vocabulary=st.dictionaries(WORDS, st.integers(1, 9), max_size=30), word=WORDS)
def test_a_correction_is_another_word_of_the_vocabulary_within_reach(vocabulary: dict[str, int], word: str) -> None:
    found = near(word, vocabulary)

    assert all(one.text in vocabulary and one.frequency == vocabulary[one.text] for one in found)
    assert all(1 <= one.distance <= (2 if len(word) >= 8 else 1) for one in found)
    assert len({one.distance for one in found}) <= 1


@given(word=st.text())
def test_no_word_raises(word: str) -> None:
    assert all(one.text in VOCABULARY for one in near(word))
