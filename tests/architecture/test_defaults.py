"""The default of a parameter stands in its declaration; a verb that writes `or DEFAULT` takes 0 for nothing."""

import ast

import pytest
from sourcetree import Module, modules, parse

from recollect.surfaces.operations import OPERATIONS
from recollect.surfaces.serve.openapi import schema_of


def defaults_in_verbs(module: Module) -> list[str]:
    """Return every `given.get(name) or DEFAULT` and `given[name] or DEFAULT` with a number or text behind it."""
    return [
        f"{module.path}:{node.lineno}"
        for node in ast.walk(module.tree)
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or) and _is_given(node.values[0])
        if any(isinstance(each, ast.Constant | ast.Tuple) for each in node.values[1:])
    ]


def _is_given(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="given"), attr="get")):
            return True
        case ast.Subscript(value=ast.Name(id="given")):
            return True
    return False


def test_no_verb_has_a_default_of_its_own() -> None:
    found = [line for module in modules() if module.path.startswith("surfaces/") for line in defaults_in_verbs(module)]

    assert found == []


@pytest.mark.parametrize("text", ["given.get('days') or 30", "given['style'] or 'xml'", "given.get('tag') or ()"])
def test_a_default_in_a_verb_is_seen(text: str) -> None:
    assert len(defaults_in_verbs(parse(text))) == 1


@pytest.mark.parametrize("text", ["given.get('show') or given.get('undo')", "paths or given.get('from_')"])
def test_a_question_of_two_parameters_is_no_default(text: str) -> None:
    assert defaults_in_verbs(parse(text)) == []


def test_every_number_has_a_least_value_but_a_limit_that_profiles_clamp() -> None:
    unbounded = [
        f"{operation.name} {each.name}"
        for operation in OPERATIONS.values()
        for each in operation.parameters
        if each.kind in ("number", "share") and each.least is None
    ]

    searches = ("search", "decisions", "changes", "how-it-works", "why", "related")
    assert unbounded == [f"{verb} limit" for verb in searches]


def test_every_default_is_within_the_bounds_of_its_parameter() -> None:
    for operation in OPERATIONS.values():
        for each in operation.parameters:
            each.refuse(each.otherwise())
            assert not each.choices or each.kind != "choice" or each.default in (None, *each.choices)


def test_bounds_and_defaults_are_published() -> None:
    published = {
        name: {each.name: schema_of(each) for each in operation.parameters} for name, operation in OPERATIONS.items()
    }

    assert (published["search"]["alpha"]["minimum"], published["search"]["alpha"]["maximum"]) == (0, 1)
    assert published["stale"]["days"] | {"minimum": 0, "default": 30} == published["stale"]["days"]
    assert published["brief"]["limit"] | {"minimum": 1, "default": 8} == published["brief"]["limit"]
