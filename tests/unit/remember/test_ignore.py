"""Patterns of ignore files mean what they mean to git, and none of them takes long."""

import time

import pathspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect.remember.ignore import read_patterns, verdict


def hidden(pattern: str, path: str) -> bool:
    return bool(verdict(read_patterns(pattern.split("\n")), path.removesuffix("/"), folder=path.endswith("/")))


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.log", "a.log", True),
        ("*.log", "deep/a.log", True),
        ("/a.md", "deep/a.md", False),
        ("build/", "build/", True),
        ("build/", "build", False),
        ("a/b", "a/b", True),
        ("a/b", "x/a/b", False),
        ("**/b", "x/y/b", True),
        ("**/b", "b", True),
        ("a/**", "a/x/y", True),
        ("a/**", "a/", False),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("a*b*c", "aXbYc", True),
        ("a*b*c", "aXcYb", False),
        ("*a*ab", "aab", True),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("[a-c]x", "bx", True),
        ("[!a-c]x", "bx", False),
        ("[]-]x", "]x", True),
        ("[[:digit:]]x", "7x", True),
        ("[+--]x", ",x", True),
        ("*.md\n!keep.md", "keep.md", False),
        ("\\!a", "!a", True),
        ("\\#a", "#a", True),
        ("# a", "# a", False),
        ("a  ", "a", True),
        ("a\\ ", "a ", True),
        ("[", "[", False),
        ("a\\", "a", False),
        ("!", "!", False),
        ("*", "a", True),
        ("**", "a/b", True),
        ("[[:none:]]", "a", False),
        ("[z-a]", "b", False),
        ("x" * 1001, "x" * 1001, False),
    ],
)
def test_a_pattern_hides_what_git_says(pattern: str, path: str, *, expected: bool) -> None:
    assert hidden(pattern, path) is expected


PART = st.text("ab*?", min_size=1, max_size=5).filter(lambda text: "**" not in text) | st.just("**")
PATTERN = st.builds(
    lambda start, parts, end: start + "/".join(parts) + end,
    st.sampled_from(["", "/"]),
    st.lists(PART, min_size=1, max_size=4),
    st.sampled_from(["", "/"]),
)
PATH = st.lists(st.text("ab", min_size=1, max_size=5), min_size=1, max_size=4).map("/".join)


@given(pattern=PATTERN, path=PATH)
@example(pattern="a/**/**/b", path="a/b")
def test_what_is_hidden_is_what_an_independent_reader_hides(pattern: str, path: str) -> None:
    other = pathspec.GitIgnoreSpec.from_lines([pattern])
    parents = [path[:at] for at, letter in enumerate(path) if letter == "/"]

    # That reader also hides what lies below a hidden folder; a walk never enters one.
    ours = hidden(pattern, path) or any(hidden(pattern, f"{each}/") for each in parents)

    assert ours == other.match_file(path)


@pytest.mark.parametrize(
    "pattern",
    ["*a" * 30 + "*b", "**/" * 30 + "b", "**/a/" * 15 + "b", "[a]*" * 200 + "b", "?*" * 200 + "b", " " * 900 + "x"],
)
@pytest.mark.parametrize("path", ["a" * 200, "/".join("a" * 500), " " * 5000])
def test_no_pattern_takes_long(pattern: str, path: str) -> None:
    begin = time.perf_counter()

    hidden(pattern, path)

    assert time.perf_counter() - begin < 0.5
