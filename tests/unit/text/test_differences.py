from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import read_table
from recollect.text.differences import KINDS, Said, differences, said, singular

ROWS = read_table(Path(__file__).with_name("differences.tsv"))


@pytest.mark.parametrize(
    ("a", "b"),
    ROWS["one value"],
)
def test_two_spellings_of_one_value_are_no_difference(a: str, b: str) -> None:
    assert differences(a, b) == ()


@pytest.mark.parametrize(
    ("a", "b", "kind"),
    ROWS["another value"],
)
def test_another_value_is_a_difference_of_its_kind(a: str, b: str, kind: str) -> None:
    assert kind in differences(a, b)


@pytest.mark.parametrize("a", ["Deploy on time", "Always deploy on time", "Please deploy on time", "We deploy on time"])
def test_an_ordinary_word_that_opens_a_sentence_is_nobodys_name(a: str) -> None:
    assert differences(a, "deploy on time") == ()


def test_the_kinds_come_in_a_fixed_order() -> None:
    found = differences("Ann has 3 cats in May", "Ben has no 4 cats in June")

    assert found == ("number", "date", "negation", "name")
    assert list(found) == sorted(found, key=KINDS.index)


def test_a_text_is_read_word_by_word_with_its_values_named() -> None:
    assert said("Ann waits 5s on Mar 5, 2026") == (
        Said("name", "ann"),
        Said("word", "waits"),
        Said("number", "5"),
        Said("unit", "second"),
        Said("word", "on"),
        Said("date", "2026-03-05"),
    )


@pytest.mark.parametrize(
    ("word", "one"), [("files", "file"), ("boxes", "box"), ("entries", "entry"), ("status", "status"), ("bus", "bus")]
)
def test_a_plural_has_its_singular(word: str, one: str) -> None:
    assert singular(word) == one


_TEXTS = st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from("0123456789 .,:/-`'$%不ない Aa")), max_size=80)


@given(_TEXTS)
def test_a_text_never_differs_from_itself(text: str) -> None:
    assert differences(text, text) == ()


@given(_TEXTS, _TEXTS)
def test_differing_is_mutual(a: str, b: str) -> None:
    assert differences(a, b) == differences(b, a)


@given(st.integers(0, 10**18), st.integers(0, 10**18), st.sampled_from(["port {}", "{} jobs", "it is {}.", "a {} b"]))
def test_two_numbers_in_one_place_always_differ(one: int, other: int, frame: str) -> None:
    assert (differences(frame.format(one), frame.format(other)) == ()) == (one == other)
