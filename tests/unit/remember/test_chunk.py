"""Cutting long texts."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.remember.chunk import chunk
from recollect.text.code import whole_blocks

PIECES = st.sampled_from(
    [
        *(
            "word ",
            "A sentence. ",
            "\n\n",
            "\n",
            "# Heading\n",
            "- item\n",
            "```\n",
            "~~~\n",
            "文字。",
            "x" * 40,
            "    ",
        ),
        *("e\u0301", " \u0301", "👩\u200d👩", "\U0001f1e9\U0001f1ea", "\ud83d\ude00"),
        *("-----BEGIN PRIVATE KEY-----\n", "-----END PRIVATE KEY-----\n"),
    ]
)
TEXTS = st.lists(PIECES, max_size=60).map("".join) | st.text(max_size=300)


def test_a_short_text_is_one_chunk_without_the_white_space_around_it() -> None:
    chunks = chunk("\n\n  two words \n")

    assert [(each.text, each.start, each.line_offset) for each in chunks] == [("two words", 4, 2)]


def test_a_blank_text_gives_nothing() -> None:
    chunks = chunk(" \n\t ")

    assert chunks == ()


@pytest.mark.parametrize(
    ("break_", "next_"),
    [
        ("\n", "# Heading"),
        ("\n\n", "Paragraph"),
        ("\n", "- item"),
        ("\n", "12. item"),
        (". ", "Sentence"),
        ("。", "句"),
    ],
)
def test_a_text_is_cut_at_a_better_break_than_a_space(break_: str, next_: str) -> None:
    text = "word " * 30 + "end" + break_ + next_ + " word" * 30

    chunks = chunk(text, max_chars=220, min_chars=20)

    assert chunks[1].text.startswith(next_)


def test_the_best_break_in_reach_wins_over_a_later_one() -> None:
    text = "a b c d. " * 12 + "\n\n" + "Next para. " * 4 + "\n# Head\n" + "Sentence. " * 30

    chunks = chunk(text, max_chars=200, min_chars=20)

    assert chunks[1].text.startswith("# Head")


def test_chunks_know_their_place_and_line() -> None:
    text = "First line.\n\n" + "x" * 30 + "\n\n" + "y" * 30

    chunks = chunk(text, max_chars=40, min_chars=10)

    assert [(each.text[0], each.start, each.line_offset) for each in chunks] == [
        ("F", 0, 0),
        ("x", 13, 2),
        ("y", 45, 4),
    ]


def test_a_code_block_stays_whole_even_when_it_is_longer_than_a_chunk() -> None:
    code = "```python\n" + "x = 1\n\n" * 40 + "```"
    text = "Before it.\n\n" + code + "\n\nAfter it. " + "word " * 40

    chunks = chunk(text, max_chars=100, min_chars=5)

    assert code in [each.text for each in chunks]


def test_a_code_block_of_more_than_four_chunks_is_cut() -> None:
    text = "```\n" + "x = 1\n" * 200 + "```"

    chunks = chunk(text, max_chars=100)

    assert max(len(each.text) for each in chunks) <= 100


def test_a_private_key_stays_whole_so_that_it_can_be_recognised() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + "QUJD" * 15 + "\n\n" + "QUJD" * 15 + "\n-----END RSA PRIVATE KEY-----"
    text = "word " * 15 + "\n" + key + "\n" + "word " * 15

    chunks = chunk(text, max_chars=100, min_chars=10)

    assert key in [each.text for each in chunks]


def test_a_tail_too_short_to_stand_alone_takes_words_from_its_neighbour() -> None:
    text = "word " * 20 + "tail"

    chunks = chunk(text, max_chars=100, min_chars=30)

    assert [len(each.text) >= 30 for each in chunks] == [True, True]


@pytest.mark.parametrize(
    "cluster", ["e\u0301\u0302", "👩\u200d👩\u200d👧", "👍🏽", "\U0001f1e9\U0001f1ea", "\ud83d\ude00"]
)
def test_what_a_reader_sees_as_one_character_is_never_parted(cluster: str) -> None:
    text = "x" + cluster * 50

    chunks = chunk(text, max_chars=20, min_chars=1)

    assert "".join(each.text for each in chunks) == text
    assert len(chunks) > 1 or cluster == "\U0001f1e9\U0001f1ea"
    assert all(each.text.removeprefix("x").replace(cluster, "") == "" for each in chunks)


@given(text=TEXTS, most=st.integers(1, 80), least=st.integers(0, 60))
def test_only_white_space_is_lost_and_only_at_the_cuts(text: str, most: int, least: int) -> None:
    chunks = chunk(text, max_chars=most, min_chars=least)

    at = 0
    for each in chunks:
        assert text[at : each.start].strip() == ""
        assert text[each.start : each.start + len(each.text)] == each.text
        assert each.text.strip() != "" or "\u0301" in each.text
        assert each.line_offset == text.count("\n", 0, each.start)
        at = each.start + len(each.text)
    assert text[at:].strip() == ""


@given(text=TEXTS, most=st.integers(2, 80), least=st.integers(0, 60))
def test_a_chunk_never_begins_inside_a_character_or_a_code_block(text: str, most: int, least: int) -> None:
    chunks = chunk(text, max_chars=most, min_chars=least)

    small = [(begin, end) for begin, end in whole_blocks(text) if end - begin <= most * 4]
    for each in chunks[1:]:
        first = each.text[0]
        assert not unicodedata.combining(first)
        assert not ("\ud800" <= text[each.start - 1] <= "\udbff" and "\udc00" <= first <= "\udfff")
        assert not any(text[begin : each.start].strip() and each.start < end for begin, end in small)


@given(words=st.lists(st.text("abc", min_size=1, max_size=9), min_size=1, max_size=200), most=st.integers(20, 90))
def test_a_text_of_short_words_never_exceeds_the_size(words: list[str], most: int) -> None:
    chunks = chunk(" ".join(words), max_chars=most, min_chars=5)

    assert max(len(each.text) for each in chunks) <= most
