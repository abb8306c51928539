import re
import sys
import unicodedata

import pytest

from recollect.text.normalise import CJK_PLAIN, EMOJI, MARKS, fold


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
