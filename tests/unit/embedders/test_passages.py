"""Texts are cleaned, told apart by script, cut into passages and grouped into batches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.arguments import storable
from recollect.embedders.passages import batches, cut, knows
from recollect.text.sentences import estimate, merge_sentences

texts = st.text(st.sampled_from("ab cd.\n!\uff0c。漢字é\u0301\0\t\ud800🎉"), max_size=200)


def slices(text: str, most: int) -> list[str]:
    return [text[start:end] for start, end in cut(text, estimate(text), most=most)]


@given(texts, st.integers(1, 20))
def test_passages_hold_everything_but_the_white_space_between_them(text: str, most: int) -> None:
    spans = cut(text, estimate(text), most=most)

    edges = [0, *(edge for span in spans for edge in span), len(text)]
    between = [text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)]
    assert edges == sorted(edges)
    assert "".join(between).strip() == ""


@given(texts, st.integers(1, 20))
def test_a_passage_is_never_longer_than_allowed_nor_blank(text: str, most: int) -> None:
    found = slices(text, most)

    assert all(part == part.strip() != "" for part in found)
    assert all(len(estimate(part)) <= most for part in found)


@pytest.mark.parametrize("text", ["", "   ", "\n\t \n"])
def test_blank_text_has_no_passage(text: str) -> None:
    assert slices(text, 5) == []


def test_a_text_that_fits_is_one_passage() -> None:
    assert slices("  two word \n", 2) == ["two word"]


def test_a_blank_line_is_the_best_break() -> None:
    text = "one two six. red tin\nfog hen\n\nivy jam. kit log mud"

    assert slices(text, 9) == ["one two six. red tin\nfog hen", "ivy jam. kit log mud"]


def test_the_end_of_a_sentence_is_better_than_a_space() -> None:
    text = "one two six red (tin). Fog hen ivy jam kit"

    assert slices(text, 9) == ["one two six red (tin).", "Fog hen ivy jam kit"]


def test_a_wide_full_stop_ends_a_sentence_without_a_space() -> None:
    text = "海は青い。空も青い"

    assert slices(text, 6) == ["海は青い。", "空も青い"]


def test_passages_are_about_equally_long() -> None:
    text = " ".join(["abc"] * 11)

    assert [len(part.split()) for part in slices(text, 10)] == [6, 5]


def test_pieces_that_hold_the_space_before_them_break_at_words_too() -> None:
    text = "ab cd ef gh"
    pieces = [(0, 1), (1, 2), (2, 4), (4, 5), (5, 7), (7, 8), (8, 10), (10, 11)]

    found = [text[start:end] for start, end in cut(text, pieces, most=5)]

    assert found == ["ab cd", "ef gh"]


def test_a_long_word_is_cut_where_it_must_be() -> None:
    assert "".join(slices("x" * 50, 3)) == "x" * 50


# --- scripts ---------------------------------------------------------------------------------


@given(st.text(st.characters()))
def test_clean_text_can_be_encoded_and_keeps_every_position(text: str) -> None:
    found = storable(text)

    assert found.encode().decode() == found
    assert all(b in (a, "\0") or "\ud800" <= b <= "\udfff" for a, b in zip(found, text, strict=True))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain English words", True),
        ("", True),
        ("12345 !?", True),
        ("the word for sea is 海", True),
        ("今日は天気がいいから散歩しましょう", False),
        ("검색 품질", False),
        ("数据库 timeout", False),
        ("why does the 数据库 pool time out", True),
        ("Power Producer and Supplierを略した通称は", False),
        ("ｶﾀｶﾅ", False),
        ("𠀀𠀁", False),
    ],
)
def test_a_text_mostly_in_a_strange_script_is_not_known(text: str, expected: bool) -> None:  # noqa: FBT001
    assert knows(text, weak_on=["cjk"]) is expected


def test_a_model_that_is_weak_on_nothing_knows_everything() -> None:
    assert knows("今日は", weak_on=[])


def test_exactly_three_words_in_ten_are_still_known_and_two_characters_are_a_word() -> None:
    assert knows("a b c d e f g 海海海海海海", weak_on=["cjk"])
    assert not knows("a b c d e f 海海海海海海", weak_on=["cjk"])


# --- batches --------------------------------------------------------------------------------


@given(st.lists(st.integers(1, 300), max_size=60), st.integers(1, 1000), st.integers(1, 40))
def test_every_text_is_in_one_group_and_every_group_fits(lengths: list[int], room: int, most: int) -> None:
    found = batches(lengths, room=room, most=most)

    assert sorted(at for group in found for at in group) == list(range(len(lengths)))
    assert all(len(group) <= most for group in found)
    assert all(len(group) == 1 or len(group) * max(lengths[at] for at in group) <= room for group in found)


def test_texts_of_like_length_go_together() -> None:
    found = batches([9, 2, 8, 2, 2], room=18, most=8)

    assert found == [[1, 3, 4], [2, 0]]


def test_no_text_is_no_group() -> None:
    assert batches([], room=10, most=10) == []


def test_sentences_and_lines_are_merged_up_to_the_size_and_never_cut() -> None:
    text = "One two. Three four!\nFive six seven eight nine ten\n\nEleven"

    alone, merged = (merge_sentences(text, most=most) for most in (1, 6))

    assert [text[a:b] for a, b in alone] == ["One two.", "Three four!", "Five six seven eight nine ten", "Eleven"]
    assert [text[a:b] for a, b in merged][:2] == ["One two.", "Three four!"]
    assert next(text[a:b] for a, b in merge_sentences(text, most=9)) == "One two. Three four!"
    assert merge_sentences(" \n", most=9) == []
