"""Small functions; a file is as long as its subject."""

import ast

from sourcetree import Module, modules, parse

FUNCTION_WALL = 50
WRITTEN_BY_SCRIPTS = ("methods.py",)


def long_functions(module: Module) -> list[str]:
    found = []
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            lines = node.end_lineno - first + 1
            if lines > FUNCTION_WALL:
                found.append(f"{module.path}:{first} {node.name} has {lines} lines")
    return found


def function_of(lines: int) -> Module:
    return parse("def long():\n" + "    pass\n" * (lines - 1))


def test_no_function_is_longer_than_the_wall() -> None:
    found = [line for module in modules() if module.path not in WRITTEN_BY_SCRIPTS for line in long_functions(module)]

    assert found == []


def test_the_function_wall_stands_at_fifty_lines() -> None:
    assert long_functions(function_of(50)) == []
    assert long_functions(function_of(51)) == ["example.py:1 long has 51 lines"]


def test_a_decorator_belongs_to_its_function() -> None:
    decorated = parse("@cache\n" + function_of(50).text)

    assert long_functions(decorated) == ["example.py:1 long has 51 lines"]
