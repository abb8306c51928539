import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.text.analyser import looks_like_code

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
