"""Patterns of ignore files mean what they mean to git; those that could take minutes are not applied."""

import pytest

from recollect.remember.ignore import is_too_complex, read_patterns


def hidden(pattern: str, path: str) -> bool:
    return bool(read_patterns(pattern.split("\n")).check_file(path).include)


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
        ("a/**\n!a/b.md", "a/b.md", False),
        ("[z-a]", "b", False),
    ],
)
def test_a_pattern_hides_what_git_says(pattern: str, path: str, *, expected: bool) -> None:
    assert hidden(pattern, path) is expected


@pytest.mark.parametrize(
    "pattern", ["*a" * 30 + "*b", "**/" * 30 + "b", "**/a/" * 15 + "b", "[a]*" * 200 + "b", "?*" * 200 + "b", "*" * 100]
)
def test_a_pattern_that_could_take_minutes_is_not_applied(pattern: str) -> None:
    assert is_too_complex(pattern)
    assert not hidden(pattern, "a" * 200)


@pytest.mark.parametrize("pattern", ["[[:digit:]]x", "[+--]x", "[a&&b]x"])
@pytest.mark.filterwarnings("error")
def test_a_class_that_python_reads_otherwise_is_not_applied(pattern: str) -> None:
    assert is_too_complex(pattern)
    assert not hidden(pattern, "7x")
