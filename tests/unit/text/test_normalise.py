import re
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.text.normalise import BLANK, CJK_PLAIN, EMOJI, HIDDEN, IGNORED, MARKS, fold, is_cjk

TEXTS = st.text(st.characters())


@pytest.mark.case(55)
def test_an_accent_written_either_way_and_a_capital_make_no_difference() -> None:
    assert fold("CAFÉ") == fold("cafe\u0301") == fold("CAFE\u0301") == "cafe"


@pytest.mark.case(70)
def test_the_final_sigma_folds_like_the_others() -> None:
    assert fold("Οδυσσεύς") == fold("ΟΔΥΣΣΕΥΣ")


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("\uff21\uff22\uff23\uff11\uff12", "abc12"),
        ("ﬁle", "file"),
        ("Straße", "strasse"),
        ("Ёлка", "елка"),
        ("Łódź Øystein", "lodz oystein"),
        ("\u0130stanbul \u0131l\u0131k", "istanbul ilik"),
        ("don\u2019t", "don't"),
        ("data\u00adbase", "database"),
        ("ｶﾞ か\u3099", "ガ が"),
        ("\u1112\u1161\u11ab", "한"),
    ],
)
def test_forms_of_the_same_text_fold_to_one(text: str, folded: str) -> None:
    assert fold(text) == folded


@pytest.mark.parametrize("text", ["สวัสดี", "नमस्ते", "שָׁלוֹם", "مَرْحَبًا", "검색", "ប្រាសាទ"])
def test_the_marks_of_other_scripts_stay(text: str) -> None:
    folded = fold(text)

    assert folded == unicodedata.normalize("NFKC", text)


@pytest.mark.parametrize("char", ["\0", "\x1b", "\x7f", "\x85", "\n", chr(0xD800), chr(0xDFFF), "\u200b"])
def test_controls_and_lone_surrogates_become_spaces(char: str) -> None:
    assert fold(f"a{char}b") == "a b"
    assert fold(f"é{char}b") == "e b"


@given(TEXTS)
def test_folding_never_raises_and_folding_twice_changes_nothing(text: str) -> None:
    folded = fold(text)

    assert fold(folded) == folded


@given(TEXTS)
def test_folded_text_can_be_stored(text: str) -> None:
    folded = fold(text)

    folded.encode("utf-8")
    assert "\0" not in folded


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_takes_a_shorter_way_to_the_same_place(text: str) -> None:
    longer_way = fold(text + "\u00e9")

    assert fold(text) + "e" == longer_way


@pytest.mark.parametrize("char", [*"漢々〇ひカーㇰ한", "\u1100", "\uf900", "\uff71", "\U00020000", "\U00030000"])
def test_han_kana_and_hangul_are_cjk(char: str) -> None:
    assert is_cjk(char)


@pytest.mark.parametrize("char", ["", "a", "é", "1", " ", "。", "・", "、", "ก", "न", "я", "\uff21", "🎉"])
def test_other_characters_and_cjk_punctuation_are_not(char: str) -> None:
    assert not is_cjk(char)


def _members(inside: str) -> list[str]:
    pattern = re.compile(f"[{inside}]")
    return [char for char in map(chr, range(sys.maxunicode + 1)) if pattern.match(char)]


def test_no_punctuation_and_no_space_continues_a_word() -> None:
    kinds = {unicodedata.category(char)[0] for char in _members(MARKS)}

    assert kinds <= set("MLNC")


@pytest.mark.parametrize("first", [0x300, 0x591, 0x64B, 0x93C, 0x9BC, 0xBBE, 0xE31, 0xEB1, 0x102B, 0x17B6])
def test_the_marks_of_every_living_script_continue_a_word(first: int) -> None:
    block = [chr(code) for code in range(first, first + 0x20)]

    missed = [char for char in block if unicodedata.category(char)[0] == "M" and not re.match(f"[{MARKS}]", char)]

    assert not missed


def test_plain_cjk_characters_are_those_that_folding_leaves_alone() -> None:
    changed = [char for char in _members(CJK_PLAIN) if fold(char) != char or not char.isalnum()]

    assert not changed


def test_quotation_marks_and_brackets_are_no_emoji() -> None:
    kinds = {unicodedata.category(char) for char in _members(EMOJI)}

    assert kinds.isdisjoint({"Ps", "Pe", "Pi", "Pf", "Po"})
    assert "\u275d" not in _members(EMOJI)


def test_a_printable_text_without_the_hidden_characters_holds_nothing_unseen() -> None:
    unseen = re.compile(f"[{IGNORED}{BLANK}]")
    printable = [char for char in map(chr, range(sys.maxunicode + 1)) if char.isprintable() and char not in HIDDEN]

    assert [char for char in printable if unseen.match(char)] == []
