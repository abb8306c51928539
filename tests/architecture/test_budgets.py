"""What bounds the system: lines per package, questions per protocol, imports per module; never lines per file."""

import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable

import pytest
from sourcetree import Module, modules, parse

CODE = {
    ".": 2_965,
    "embedders": 1_410,
    "evaluate": 1_910,
    "recall": 515,
    "remember": 10_080,
    "rerankers": 200,
    "search": 3_100,
    "stores": 9_995,
    "surfaces": 7_600,
    "text": 2_700,
    "upkeep": 1_180,
}
"""How many lines of code each package may have, docstrings and comments aside; whoever needs more says why."""
METHODS = 9
"""How many questions one protocol may ask of its implementations by itself."""
QUESTIONS = 51
"""How many a store answers in all."""
IMPORTS = 21
"""How many modules of ours and of others one module may know."""
_SILENT = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)


def code_lines(module: Module) -> int:
    """Count the lines that hold code: not blank, no comment, no docstring."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(module.text).readline):
        if token.type not in _SILENT and token.string:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def package_of(path: str) -> str:
    return path.partition("/")[0] if "/" in path else "."


def lines_by_package(sources: Iterable[Module]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for module in sources:
        counts[package_of(module.path)] += code_lines(module)
    return counts


def methods_of_protocols(module: Module) -> dict[str, int]:
    """Return how many methods each protocol of *module* states itself."""
    return {
        node.name: sum(isinstance(each, ast.FunctionDef) for each in node.body)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base).startswith("Protocol") for base in node.bases)
    }


def known_modules(module: Module) -> set[str]:
    """Return the modules of ours and of others that *module* imports; the standard library does not count."""
    names: set[str] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
    return {name for name in names if name.partition(".")[0] not in sys.stdlib_module_names}


def test_every_package_stays_within_its_budget() -> None:
    counts = lines_by_package(modules())

    assert {name: count for name, count in counts.items() if count > CODE[name]} == {}


def test_no_protocol_asks_too_much() -> None:
    found = {name: count for module in modules() for name, count in methods_of_protocols(module).items()}

    assert {name: count for name, count in found.items() if count > METHODS} == {}


def test_a_store_answers_few_questions() -> None:
    contract = next(module for module in modules() if module.path == "stores/contract.py")

    assert sum(methods_of_protocols(contract).values()) <= QUESTIONS


def test_no_module_knows_too_many_others() -> None:
    found = {module.path: len(known_modules(module)) for module in modules()}

    assert {path: count for path, count in found.items() if count > IMPORTS} == {}


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('"""Say."""\n\nx = 1  # why\n# alone\n', 1),
        ('def f():\n    """Say\n    more.\n    """\n    return (\n        1\n    )\n', 4),
        ('x: int = 1\n"""What x is."""\n', 1),
        ('text = """\n\nlong\n"""\n', 4),
    ],
)
def test_docstrings_comments_and_blank_lines_are_no_code(text: str, lines: int) -> None:
    assert code_lines(parse(text)) == lines


def test_methods_of_a_protocol_are_counted_without_those_it_inherits() -> None:
    text = "class A(Protocol):\n    def a(self): ...\n\nclass B(A, Protocol):\n    def b(self): ...\n    x: int\n"

    assert methods_of_protocols(parse(text)) == {"A": 1, "B": 1}


def test_modules_are_counted_once_and_the_standard_library_not_at_all() -> None:
    text = "import os\nfrom recollect.a import x\ndef f():\n    from recollect.a import y\n    import numpy as np\n"

    assert known_modules(parse(text)) == {"recollect.a", "numpy"}
