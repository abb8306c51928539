"""Names say what a thing is or does; words that fit everything say nothing."""

import ast
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

import pytest
from sourcetree import Module, modules, parse

EMPTY_WORDS = frozenset(
    ["manager", "service", "helper", "util", "processor", "handler", "base", "impl", "data", "info"]
)


def words(name: str) -> list[str]:
    """Return the words of a name in either case, singular: SQLHelpers -> sql, helper."""
    return [word.lower().removesuffix("s") for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def names(module: Module) -> Iterator[tuple[int, str]]:
    path = PurePosixPath(module.path)
    yield from ((1, part) for part in (*path.parent.parts, path.stem))
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name


def empty_names(module: Module) -> list[str]:
    return [f"{module.path}:{line} {name}" for line, name in names(module) if EMPTY_WORDS.intersection(words(name))]


def test_no_class_function_or_file_has_an_empty_name() -> None:
    found = [line for module in modules() for line in empty_names(module)]

    assert found == []


@pytest.mark.parametrize(
    "text",
    ["class StoreManager: ...", "class BaseStore: ...", "def load_data(): ...", "def a():\n    def SQLHelpers(): ..."],
)
def test_an_empty_name_is_seen(text: str) -> None:
    assert len(empty_names(parse(text))) == 1


@pytest.mark.parametrize("text", ["class Database: ...", "def metadata(): ...", "def baseline(): ...", "x = 'data'"])
def test_a_word_inside_another_word_is_no_fault(text: str) -> None:
    assert empty_names(parse(text)) == []


def test_the_name_of_a_file_counts() -> None:
    assert empty_names(parse("", path="text/utils.py")) == ["text/utils.py:1 utils"]
