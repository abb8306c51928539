import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.text.tokenizer import QueryWord, read_words, significant


def _atoms(words: tuple[QueryWord, ...]) -> list[str]:
    return [token for word in words for token in word.tokens]


@pytest.mark.case(57)
def test_a_sentence_keeps_what_it_is_about() -> None:
    words = significant(read_words("Hello, World! This is a TEST-123."))

    assert _atoms(words) == ["hello", "world", "test", "123"]


@pytest.mark.case(54)
def test_a_quotation_mark_inside_a_word_is_a_slip() -> None:
    words = read_words('he"llo wo"rld')

    assert [word.text for word in words] == ["hello", "world"]


@pytest.mark.case(69)
@pytest.mark.parametrize("query", ["金银价格", "人", "한", "ก"])
def test_a_question_in_another_script_is_a_question(query: str) -> None:
    words = significant(read_words(query))

    assert [word.text for word in words] == [query]
    assert all(word.stems for word in words)


def test_a_cjk_run_is_one_word_of_characters_and_pairs() -> None:
    (word,) = read_words("金银价")

    assert word == QueryWord(
        text="金银价", tokens=("金", "银", "价"), stems=("金", "金银", "银", "银价", "价"), stop=False, cjk=True
    )


def test_scripts_written_together_are_words_apart() -> None:
    words = read_words("重跑gen-itgc后")

    assert [(word.text, word.cjk) for word in words] == [("重跑", True), ("gen-itgc", False), ("后", True)]


@pytest.mark.parametrize("text", ["", "   ", "!@#$%", "\0\0", "\ud800", "\u02bc"])
def test_a_text_without_words_is_no_words(text: str) -> None:
    assert read_words(text) == ()
    assert significant(read_words(text)) == ()


def test_a_question_of_stop_words_only_keeps_them() -> None:
    words = read_words("to be or not to be")

    assert significant(words) == words
    assert len(words) == 6


def test_a_hundred_thousand_characters_are_read() -> None:
    words = read_words("word 检索-" * 12_500)

    assert len(words) == 25_000


@given(st.text(st.characters() | st.sampled_from("\"' aé漢-_")))
def test_words_come_in_order_and_significant_ones_are_some_of_them(text: str) -> None:
    words = read_words(text)

    kept = significant(words)

    assert bool(kept) == bool(words)
    assert [word for word in words if word in kept] == list(kept)
    assert all(word.tokens and word.stems for word in words)
