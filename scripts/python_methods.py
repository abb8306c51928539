"""The Python methods of operations, and their asynchronous form, made from their requests and replies."""

import inspect
import keyword
from collections.abc import Iterator, Mapping
from importlib import import_module
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from recollect.operations import OPERATIONS
from recollect.operations.answer import Operation, unwrapped_type
from recollect.operations.request import Parameter, parameters_of
from recollect.workspace import NAMESPACES, Workspace

HEAD = '''"""The methods that Python programs call, one for each operation. Made by `make docs` from their requests."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from recollect.derive import given, method_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from datetime import datetime

    from recollect.filters import Moment, Names
    from recollect.records import Context, Filter, Position, Progress, Trust
{imports}

class Methods:
    """A method for each operation that has none of its own in `Workspace`."""
'''
LINE_LENGTH = 120
TYPES: Mapping[str, str] = {
    "text": "str",
    "words": "str",
    "texts": "Names",
    "paths": "str",
    "number": "int",
    "float": "float",
    "flag": "bool",
    "id": "int",
    "ids": "int",
    "numbers": "Sequence[float]",
}
ASYNC_HEAD = "# --- made by `make docs` from the methods of Recollection ---\n"
ASYNC_END = "# --- end ---\n"


def method_name(operation: Operation) -> str:
    """Return what the method of *operation* is called."""
    name = operation.name.replace("-", "_")
    return f"{name}_" if keyword.iskeyword(name) else name


def derived() -> dict[str, Operation]:
    """Return the operations whose methods are made here, by the name of the method."""
    named = {method_name(each): each for each in OPERATIONS.values() if each.has_method}
    return {name: each for name, each in named.items() if not hasattr(Workspace, name)}


def python_methods() -> str:
    """Return the module `recollect.methods`."""
    imports: dict[str, set[str]] = {}
    methods = [_method(name, each, imports) for name, each in sorted(derived().items())]
    lines = [f"    from {module} import {', '.join(sorted(names))}" for module, names in sorted(imports.items())]
    return HEAD.format(imports="\n".join(lines) + "\n") + "".join(f"\n{each}" for each in methods)


def _method(name: str, operation: Operation, imports: dict[str, set[str]]) -> str:
    taken = [each for each in parameters_of(operation.request) if _is_python(each, operation)]
    placed = [each for each in taken if each.place]
    several = next((each for each in placed if each.kind in ("ids", "paths")), None)
    head = ["self", *(_argument(each) for each in placed if each is not several)]
    head.append(f"*{several.name}: {TYPES[several.kind]}" if several else "*")
    head += [_argument(each, names_project=operation.traits.names_project) for each in taken if not each.place]
    head += [f"{key}: {hint}" for key, hint in operation.call_keywords.items()]
    if head[-1] == "*":
        head.pop()
    reply = _type(unwrapped_type(operation.reply), imports)
    doc = inspect.cleandoc(operation.run.__doc__ or "")
    body = "\n".join(f"        {line}".rstrip() for line in doc.splitlines())
    end = "\n        " if "\n" in doc else ""
    arguments = ", ".join(head)
    if len(arguments) > LINE_LENGTH - 40:
        arguments = "\n" + "".join(f"        {each},\n" for each in head) + "    "
    return (
        f'    @method_of("{operation.name}")\n    def {name}({arguments}) -> {reply}:\n'
        f'        """{body.strip()}{end}"""\n        return given(locals())\n'
    )


def _is_python(parameter: Parameter, operation: Operation) -> bool:
    """Return whether Python takes *parameter*: what only a terminal needs is left out."""
    if parameter.hints.is_scope:
        return operation.narrows_projects or operation.traits.names_project
    return parameter.hints.only in ("", "program", "python", "machine") and parameter.name != "yes"


def _argument(parameter: Parameter, *, names_project: bool = False) -> str:
    kind = parameter.hints.python or TYPES.get(parameter.kind) or parameter.type_name
    if parameter.hints.inverse:
        return f"{parameter.hints.inverse}: bool = {not parameter.default}"
    if parameter.hints.is_scope:
        kind = "str" if names_project else "Names"
    elif parameter.is_date:
        kind = "Moment"
    elif parameter.kind == "choice":
        words = ", ".join(f'"{each}"' for each in parameter.choices)
        kind = "str" if parameter.hints.only == "program" else f"Literal[{words}]"
    name = parameter.hints.keyword or parameter.name
    if parameter.is_required:
        return f"{name}: {kind}"
    if parameter.default is None:
        return f"{name}: {kind} | None = None"
    return f"{name}: {kind} = {parameter.default!r}"


def _type(hint: Any, imports: dict[str, set[str]]) -> str:
    """Return *hint* as text, and note what must be imported for it."""
    if hint in (None, NoneType):
        return "None"
    origin, arms = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " | ".join(_type(each, imports) for each in arms)
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, arms))}]"
    if arms:
        inner = ", ".join("..." if each is Ellipsis else _type(each, imports) for each in arms)
        return f"{_type(origin, imports)}[{inner}]"
    if hint is Any or hint.__module__ in ("builtins", "typing"):
        return getattr(hint, "__name__", "Any")
    if hint.__module__ != "collections.abc":
        imports.setdefault(hint.__module__, set()).add(hint.__name__)
    return str(hint.__name__)


# --- asynchronous ---------------------------------------------------------------------------


def async_methods(text: str) -> str:
    """Return *text*, the module `recollect.aio`, with its list of methods as it should be."""
    head, mark, rest = text.partition(ASYNC_HEAD)
    _, end, tail = rest.partition(ASYNC_END)
    if not (mark and end):
        raise ValueError("recollect/aio.py has lost its marks")
    return head + mark + "".join(_async_lines()) + end + tail


def _async_lines() -> Iterator[str]:
    for name in NAMESPACES:
        kind = getattr(import_module(f"recollect.workspace.{name}"), name.title())
        yield f'\n\nclass Async{name.title()}(Wrapped[{name.title()}]):\n    """The methods of `{name.title()}`."""\n\n'
        yield from (_async_line(name.title(), method, kind) for method in _public(kind))
    yield '\n\nclass AsyncMethods(Wrapped[Recollection]):\n    """The methods of `Recollection`."""\n\n'
    for name in sorted({*_public(Workspace), *derived()} - {"in_project", "now"}):
        yield _async_line("Recollection", name, Workspace)
    for name in NAMESPACES:
        yield f"\n    @property\n    def {name}(self) -> Async{name.title()}:\n"
        about = inspect.getdoc(getattr(Workspace, name))
        yield f'        """{about}"""\n        return Async{name.title()}(self.inner.{name})\n'
    yield "\n\n"


def _public(kind: type) -> list[str]:
    return [name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")]


def _async_line(owner: str, name: str, kind: type) -> str:
    returned = str(getattr(getattr(kind, name, None), "__annotations__", {}).get("return", ""))
    return f"    {name} = {'streamed' if 'Iterator' in returned else 'threaded'}({owner}.{name})\n"
