"""No inheritance between our own classes, except where the language asks for it, and for shared fields."""

import ast
from collections.abc import Sequence

import pytest
from sourcetree import Module, dotted, meanings, modules, parse

LANGUAGE = frozenset(
    [
        "BaseException",
        "Enum",
        "Exception",
        "Flag",
        "IntEnum",
        "IntFlag",
        "NamedTuple",
        "Protocol",
        "StrEnum",
        "Struct",
        "TypedDict",
    ]
)

# Requests made by a function share fields; the methods that `make docs` writes are joined with the store they act on.
SHARED_FIELDS = frozenset(["Ranked", "Search"])
WRITTEN_METHODS = frozenset(["AsyncMethods", "Methods", "Workspace", "Wrapped"])


def bases(sources: Sequence[Module]) -> dict[str, list[str]]:
    """Return each of our classes, by its bare name, with the bare names of what it inherits from."""
    found: dict[str, list[str]] = {}
    for module in sources:
        known = meanings(module)
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                full = [dotted(base, known) or ast.unparse(base) for base in node.bases]
                found.setdefault(node.name, []).extend(name.rpartition(".")[2] for name in full)
    return found


def comes_from_the_language(name: str, ours: dict[str, list[str]]) -> bool:
    """Say whether a class or one of its parents is an exception, a protocol, an enumeration or a record of fields."""
    if name in LANGUAGE:
        return True
    return any(comes_from_the_language(parent, ours) for parent in ours.get(name, ()) if parent != name)


def heirs(sources: Sequence[Module]) -> list[str]:
    """Return each class of ours that inherits from another class of ours without need."""
    ours = bases(sources)
    return [
        f"{name}({parent})"
        for name, parents in ours.items()
        for parent in parents
        if parent in ours.keys() - SHARED_FIELDS - WRITTEN_METHODS and not comes_from_the_language(parent, ours)
    ]


def test_our_classes_do_not_inherit_from_each_other() -> None:
    found = heirs(modules())

    assert found == []


def test_an_heir_is_seen_across_files() -> None:
    parent = parse("class Store: ...")
    heir = parse("from recollect import example\nclass SqliteStore(example.Store[int]): ...")

    assert heirs([parent, heir]) == ["SqliteStore(Store)"]


@pytest.mark.parametrize(
    "text",
    [
        "class Wrong(Exception): ...\nclass VeryWrong(Wrong): ...\nclass Worst(VeryWrong): ...",
        "import typing\nclass Reader(typing.Protocol): ...\nclass Writer(Reader, typing.Protocol): ...",
        "import ast\nclass Walk(ast.NodeVisitor): ...",
    ],
)
def test_exceptions_protocols_and_foreign_classes_may_have_heirs(text: str) -> None:
    assert heirs([parse(text)]) == []
