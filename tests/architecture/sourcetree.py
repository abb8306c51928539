"""The source as the architecture tests read it: files, syntax trees, and the names code really means."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "recollect"


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """One source file: where it is in the package, its text, its syntax tree."""

    path: str
    text: str
    tree: ast.Module


def parse(text: str, *, path: str = "example.py") -> Module:
    return Module(path=path, text=text, tree=ast.parse(text))


@cache
def modules() -> tuple[Module, ...]:
    """Return every module of the package, by path."""
    files = sorted(PACKAGE.rglob("*.py"))
    return tuple(parse(file.read_text(encoding="utf-8"), path=file.relative_to(PACKAGE).as_posix()) for file in files)


def meanings(module: Module) -> dict[str, str]:
    """Return what each imported name stands for: `from time import time as now` gives now -> time.time."""
    found = {}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                whole = alias.name if alias.asname else alias.name.partition(".")[0]
                found[alias.asname or whole] = whole
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return found


def dotted(node: ast.expr, known: dict[str, str]) -> str | None:
    """Return the full name an expression stands for, or None when it is not a name."""
    match node:
        case ast.Name(id=name):
            return known.get(name, name)
        case ast.Attribute(value=value, attr=attr):
            owner = dotted(value, known)
            return f"{owner}.{attr}" if owner else None
        case ast.Subscript(value=value):
            return dotted(value, known)
        case _:
            return None


def uses(module: Module) -> Iterator[tuple[int, str]]:
    """Yield the line and the full name of every name and attribute the module mentions."""
    known = meanings(module)
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Name | ast.Attribute) and (name := dotted(node, known)):
            yield node.lineno, name


def imports(module: Module) -> Iterator[tuple[int, str]]:
    """Yield the line and the full name of every module or name imported, at the top or in a function."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
