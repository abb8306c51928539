"""Plain TOML is read as the library reads it."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import recollect
from recollect.toml import read_toml

PIECES = st.sampled_from(
    [
        *("[a]", "[a.b]", "[b.a]", "[[a]]", "[ a ]", "[a", "a = 1", "a.b = 1", "b = -2.5", 'c = "x"', "d = true"),
        *('"q" = 1', "e = [1, 2.0]", "e = [1, [2]]", "e = [1, ]", "e = []", 'e = ["a, b", "c"]', "f = { a = 1 }"),
        *(
            'f = { a = "x", b = 2 }',
            "f = {}",
            "f = { a = 1, a = 2 }",
            "g = 01",
            "g = 1_000",
            "g = .5",
            "g = 1.",
            "g = +1",
        ),
        *(
            "g = 1e5",
            "g = -0",
            "g = 2026-01-01",
            'h = "\\\\u00e9"',
            'h = "a\\\\"b"',
            "h = 'x'",
            'h = """x"""',
            "i = 1 # why",
        ),
        *("# alone", "", "  a = 3  ", "\ta = 4", "a == 1", "= 1", "a =", "j = nan", 'j = "a" "b"', "a = 1\r", "ä = 1"),
    ]
)


def meaning(read: object, text: str) -> object:
    """Return what *text* means to a reader, or that it is no TOML."""
    try:
        return read(text)  # type: ignore[operator]
    except ValueError:
        return ValueError


@given(st.lists(PIECES, max_size=6).map("\n".join))
def test_a_text_means_what_the_library_says(text: str) -> None:
    assert repr(meaning(read_toml, text)) == repr(meaning(tomllib.loads, text))


@pytest.mark.parametrize(
    "path", list(Path(recollect.__file__).parent.glob("profiles/*.toml")), ids=lambda path: path.stem
)
def test_a_profile_is_read_as_the_library_reads_it(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert repr(read_toml(text)) == repr(tomllib.loads(text))
