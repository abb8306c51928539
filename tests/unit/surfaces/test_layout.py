"""Text laid out for a screen: wrapped between words, also wide ones; styled by us alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.render.layout import Line, Piece, columns, cut, folded, line, page_of, plain


def wrapped(text: str, width: int, hang: int = 0) -> list[str]:
    """Return *text* as a screen of this width shows it."""
    return ["".join(piece.text for piece in row) for row in folded((line(text, hang=hang),), width)]


def test_a_line_is_wrapped_between_words_and_goes_on_below_its_beginning() -> None:
    assert wrapped(" 1. The label printers want 1,234.56 or nothing", 24, hang=4) == [
        " 1. The label printers",
        "    want 1,234.56 or",
        "    nothing",
    ]


def test_wide_characters_take_two_columns_and_no_line_begins_with_their_full_stop() -> None:
    assert columns("部署 ok é e\u0301") == 4 + 1 + 2 + 1 + 1 + 1 + 1
    assert wrapped("部署需要四分钟部署需要四分。钟部署", 22) == ["部署需要四分钟部署需要", "四分。钟部署"]
    assert wrapped("部署需要四分钟部署需要。四分钟", 22) == ["部署需要四分钟部署需", "要。四分钟"]
    assert wrapped("カ\u3099" * 12, 22) == ["カ\u3099" * 11, "カ\u3099"]


def test_a_path_is_broken_behind_a_slash_and_a_word_only_where_it_alone_is_too_long() -> None:
    assert wrapped("see /a/long/folder/of/notes/with-a-name.md:14", 24) == [
        "see /a/long/folder/of/",
        "notes/with-a-name.md:14",
    ]
    assert wrapped("x" * 50, 20) == ["x" * 20, "x" * 20, "x" * 10]


def test_what_is_whole_is_not_broken_at_its_spaces() -> None:
    row = line("found ", Piece("by words and meaning", whole=True), " today")

    assert ["".join(piece.text for piece in each) for each in folded((row,), 24)] == [
        "found",
        "by words and meaning",
        "today",
    ]


def test_a_word_of_several_styles_stays_one_word() -> None:
    row = line("their carriage re", Piece("turn", "mark"), "s are gone")

    assert list(folded((row,), 20)) == [
        (Piece("their carriage"),),
        (Piece("re"), Piece("turn", "mark"), Piece("s are gone")),
    ]


def test_a_gap_is_seen_on_a_screen_only() -> None:
    page = (line("a"), Line(gap=True), Line(), line("b"))

    assert plain(page) == "a\n\nb"
    assert len(list(folded(page, 80))) == 4


def test_lines_of_a_text_go_on_where_they_began() -> None:
    page = page_of("  - one two three four\nfive six seven eight")

    assert ["".join(piece.text for piece in row) for row in folded(page, 20)] == [
        "  - one two three",
        "    four",
        "five six seven eight",
    ]


@pytest.mark.parametrize(("width", "short"), [(10, "ten chars!"), (9, "ten char…"), (5, "ten…")])
def test_what_is_too_long_is_cut_with_a_sign(width: int, short: str) -> None:
    assert cut("ten chars!", width) == short
    assert cut("部署需要", 5) == "部署…"


@given(text=st.text(st.sampled_from("ab 1,.部署。カ\u3099/-\té\n"), max_size=80), width=st.integers(20, 40))
def test_nothing_is_lost_and_no_line_is_too_wide(text: str, width: int) -> None:
    rows = [each for part in text.split("\n") for each in wrapped(part, width, hang=3)]

    assert "".join("".join(rows).split()) == "".join(text.split())
    assert all(columns(each) <= width for each in rows)
