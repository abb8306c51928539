"""The reference of the Python face, made from its signatures and docstrings."""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

from recollect import methods as derived_methods
from recollect import recollection, replies, workspace
from recollect.embedders import install
from recollect.surfaces.schema import answers_schema, field_notes

INTRODUCTION = """# The Python face and the JSON answers

Made from the code by `make docs`; do not edit it here.

```python
import recollect

with recollect.open("notes.db") as db:
    db.add("We deploy on Fridays", type="decision", date="2026-05-01")
    for hit in db.search("when do we deploy", type="decision", since="last month").hits:
        print(hit.id, hit.memory.content)
```

Keywords are named as the options of the command line. A date is a `datetime`, a `date`, or text that the command line
understands ("2026-05-01", "3d", "yesterday", "last week"). One name or a list of them may be given for a filter; of a
list any one will do. What is wrong with an argument is said by `InputError` or `QueryError`, which are
`RecollectError`s with a `hint`. The package is typed (`py.typed`).

`recollect.aio` has the same methods for asynchronous programs, each awaited; `export` and `archive` are read by
`async for`:

```python
async with recollect.aio.open("notes.db") as db:
    reply = await db.search("when do we deploy")
```

The examples below run on a store of three memories: `We deploy on Fridays` (a decision, tagged release, of 10 April),
`The staging server listens on port 5432` (config, staging, 20 April) and `Owner: Mara of the billing team` (30 April).
"""
MODELS = """Embedding models belong to the machine, not to a store; what `recollect model` does is in
`recollect.embedders.install`, for the folder `RECOLLECT_MODELS` or `models` in your data folder."""
MODULES = (recollection, workspace, derived_methods)
CLASSES = ("Workspace", "Methods")


def reference() -> str:
    """Return the page."""
    bodies = [ast.parse(Path(inspect.getfile(each)).read_text(encoding="utf-8")).body for each in MODULES]
    functions = [each for body in bodies for each in body if isinstance(each, ast.FunctionDef)]
    opened = [each for each in functions if each.name in ("open", "recover")]
    classes = [each for body in bodies for each in body if isinstance(each, ast.ClassDef) and each.name in CLASSES]
    defined = [each for one in classes for each in one.body if isinstance(each, ast.FunctionDef)]
    methods = [each for each in defined if not each.name.startswith("_") and each.name not in workspace.NAMESPACES]
    parts = [INTRODUCTION, *(part for each in opened for part in _function(each, "recollect."))]
    parts += ["## Methods", ", ".join(f"[`{name}`](#{name})" for name in sorted(each.name for each in methods))]
    parts += [part for each in methods for part in _function(each, "db.")]
    parts += [part for name in workspace.NAMESPACES for part in _namespace(name)]
    parts += ["## Models", MODELS, *(part for each in _models() for part in _function(each, ""))]
    parts += [*_replies(), *_shapes()]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def _namespace(name: str) -> Iterator[str]:
    """Yield the methods of a namespace such as `db.lenses`."""
    module = import_module(f"recollect.workspace.{name}")
    body = ast.parse(Path(inspect.getfile(module)).read_text(encoding="utf-8")).body
    (kind,) = (each for each in body if isinstance(each, ast.ClassDef))
    yield f"## db.{name}"
    yield ast.get_docstring(kind) or ""
    defined = [each for each in kind.body if isinstance(each, ast.FunctionDef) and not each.name.startswith("_")]
    yield from (part for each in defined for part in _function(each, f"db.{name}.", heading=f"{name}.{each.name}"))


def _models() -> list[ast.FunctionDef]:
    tree = ast.parse(Path(inspect.getfile(install)).read_text(encoding="utf-8"))
    wanted = ("list_models", "install", "verify")
    return [each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name in wanted]


def _function(made: ast.FunctionDef, owner: str, *, heading: str = "") -> Iterator[str]:
    yield f"### {heading or made.name}"
    arguments = ast.unparse(made.args).removeprefix("self, ").removeprefix("self").removeprefix("/, ")
    returns = ast.unparse(made.returns).strip("'\"") if made.returns else "None"
    is_property = any(ast.unparse(each) == "property" for each in made.decorator_list)
    called = f"{owner}{made.name}" + ("" if is_property else f"({arguments})")
    yield f"```python\n{_folded(called)} -> {returns}\n```"
    text, _, example = (ast.get_docstring(made) or "").partition("Example:")
    yield text.strip()
    if example:
        yield f"```pycon\n{textwrap.dedent(example.lstrip(chr(10))).rstrip()}\n```"


def _folded(call: str) -> str:
    """Return *call* with its arguments on lines of their own where it is long."""
    if len(call) <= 100 or "(" not in call:
        return call
    name, _, rest = call.partition("(")
    parsed: Any = ast.parse(f"def f({rest}: ...").body[0]
    pieces = [each.strip() for each in _split(ast.unparse(parsed.args))]
    return f"{name}(\n" + "".join(f"    {each},\n" for each in pieces) + ")"


def _split(arguments: str) -> Iterator[str]:
    """Yield the arguments one by one: a comma inside brackets or quotes ends none."""
    depth, begun = 0, 0
    for at, sign in enumerate(arguments):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            yield arguments[begun:at]
            begun = at + 1
    yield arguments[begun:]


def _typed(hint: Any) -> str:
    text = hint.__name__ if isinstance(hint, type) and not str(hint).startswith("collections") else str(hint)
    for long, short in (
        ("datetime.datetime | datetime.date | str", "Moment"),
        ("str | collections.abc.Sequence[str]", "Names"),
        ("collections.abc.", ""),
        ("datetime.datetime", "datetime"),
        ("typing.", ""),
        ("recollect.records.", ""),
    ):
        text = text.replace(long, short)
    return text.replace("|", "\\|")


def _replies() -> Iterator[str]:
    yield "## What is returned"
    for kind in (replies.Reply, replies.Hit, replies.Reason, replies.Evidence):
        yield f"### {kind.__name__}"
        yield inspect.getdoc(kind) or ""
        hints, notes = get_type_hints(kind), field_notes(kind)
        fields = [
            f"- `{name}`: `{_plain(hint)}` {notes.get(name, '')}".rstrip()
            for name, hint in hints.items()
            if name[0] != "_"
        ]
        found = inspect.getmembers(kind, lambda each: isinstance(each, property))
        yield "\n".join([*fields, *(f"- `{name}`: {inspect.getdoc(each)}" for name, each in found)])


def _plain(hint: Any) -> str:
    text = _typed(hint).replace("\\|", "|")
    return text.replace("recollect.replies.", "").replace("recollect.text.", "")


def _shapes() -> Iterator[str]:
    yield "## JSON"
    yield (
        "`--json` prints what follows, described by [answers.json](../src/recollect/schemas/answers.json) (JSON Schema "
        "2020-12, in the package as `recollect/schemas/answers.json`): `#/$defs/search` is the answer of `search`, "
        "`#/$defs/error` what an error prints to standard error. Members may be added in later versions; none is "
        "renamed or removed without a new major version. A member with `?` is left out where there is nothing to say."
    )
    defined = answers_schema()["$defs"]
    rows = [f"| `{name}` | {_shown(shape)} |" for name, shape in defined.items()]
    yield "\n".join(["| answer or record | |", "|---|---|", *rows])


def _shown(shape: dict[str, Any]) -> str:
    if "$ref" in shape:
        return f"a {shape['$ref'].rpartition('/')[2]}"
    if "anyOf" in shape:
        return ", or ".join(_shown(each) for each in shape["anyOf"])
    if shape.get("type") == "object" and "properties" in shape:
        required = shape.get("required", ())
        members = [name if name in required else f"{name}?" for name in shape["properties"]]
        return f"`{' '.join(members)}`"
    return str(shape.get("type", "anything"))
