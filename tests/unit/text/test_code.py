import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.text.code import fenced_blocks, looks_like_code, whole_blocks

PYTHON = '''def area(width, height):
    """Return the area of a rectangle."""
    if width < 0 or height < 0:
        raise ValueError("negative")
    return width * height
'''
SCRIPT = "function add(a, b) {\n  const sum = a + b;\n  return sum;\n}\n"
PROSE = "We return to the class on Monday. If it rains: stay in.\nThe function of the board is to listen."
NOTE = "Deploys\n\nRun `make release` after review.\nThe flag --dry-run = safe.\nSee the runbook for details."


@pytest.mark.parametrize(
    ("text", "expected"), [(PYTHON, True), (SCRIPT, True), (PROSE, False), (NOTE, False), ("", False)]
)
def test_programs_are_told_from_prose(text: str, expected: bool) -> None:  # noqa: FBT001
    assert looks_like_code(text) is expected


@given(st.text())
def test_any_text_can_be_asked_about(text: str) -> None:
    assert looks_like_code(text) in (True, False)


# --- blocks ---------------------------------------------------------------------------------


def test_an_open_fence_runs_to_the_end_and_inline_ticks_open_none() -> None:
    text = "```not a fence``` here\n\n~~~\ncode"

    assert fenced_blocks(text) == [(24, len(text))]


@pytest.mark.parametrize(
    "block",
    ["```py\ncode\n```", "~~~~\n~~~\ncode\n~~~~", "> ```\n> code\n> ```", "- ```\n  code\n  ```", "1) ~~~\nx\n~~~"],
)
def test_a_fenced_block_is_found_with_its_fences_also_in_lists_and_quotations(block: str) -> None:
    text = f"before\n{block}\nafter"

    ((begin, end),) = fenced_blocks(text)

    assert text[begin:end] == block


def test_a_key_inside_a_fence_and_a_key_beside_it_are_whole_blocks() -> None:
    key = "-----BEGIN EC PRIVATE KEY-----\nQUJD\n-----END EC PRIVATE KEY-----"
    text = f"```\n{key}\n```\nand\n{key}\n"

    blocks = whole_blocks(text)

    assert [text[begin:end] for begin, end in blocks] == [f"```\n{key}\n```", key]
