"""Read YAML from its events, so that text stays as it was written and no nesting can harm.

The usual constructors turn `1.10` into 1.1, `no` into false and `12:30` into 750; a memory must not.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from recollect.errors import FileError
from recollect.remember.formats.entries import of_object, parse
from recollect.remember.formats.record import (
    DEEPEST,
    Entry,
    Origin,
    Parsed,
    TooMuch,
    as_text,
    flatten,
    is_scalar,
    plain,
)

_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BROKEN: Final = (yaml.YAMLError, ValueError, OverflowError, RecursionError)

_NONE: Final = frozenset({"", "~", "null", "Null", "NULL"})
_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_FRACTION: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,14})\.[0-9]{1,15}")
_MERGE: Final = "<<"
_LONGEST_KEY: Final = 10_000


def read_yaml(text: str, origin: Origin) -> Parsed:
    """Return the memories of every document, by the rules of JSON; documents behind a broken one are lost.

    A file whose first document is broken raises FileError.
    """
    entries: list[Entry] = []
    problems: list[str] = []
    documents = 0
    try:
        for document in _documents(text):
            entries += _unfold(document, text)
            documents += 1
    except _BROKEN as error:
        if not documents:
            raise FileError(f"{origin.source} is not YAML: {_what(error)}", hint="check its indentation") from error
        problems.append(f"document {documents + 1}: not YAML ({_what(error)})")
    return parse(entries, origin=origin, problems=problems)


def load_mapping(text: str) -> dict[str, object] | None:
    """Return the mapping that *text* is as YAML; None when it is anything else, raising ValueError when broken."""
    try:
        document = next(_documents(text), None)
        value = None if document is None else plain(document.value, budget=_budget(text))
    except _BROKEN as error:
        raise ValueError(_what(error)) from error
    return value if isinstance(value, dict) else None


@dataclass(slots=True, kw_only=True)
class _Node:
    """A collection being filled, and the lines its parts begin on."""

    value: Any
    line: int
    anchor: str | None = None
    key: str | None = None
    key_line: int = 0
    lines: list[int] = field(default_factory=list)

    def set(self, key: str | None, value: object) -> None:
        """Give *key* its value; the line of the first of several stays."""
        if key not in self.value:
            self.lines.append(self.key_line)
        self.value[key] = value


def _unfold(document: _Node, text: str) -> tuple[Entry, ...]:
    value = plain(document.value, budget=_budget(text))
    if isinstance(value, dict):
        lines = dict(zip(document.value, document.lines, strict=False))
        pairs = tuple(Entry(value=each, line=lines.get(key, document.line), key=key) for key, each in value.items())
        return of_object(pairs, line=document.line)
    if isinstance(value, list):
        return tuple(Entry(value=each, line=line) for each, line in zip(value, document.lines, strict=True))
    return (Entry(value=value, line=document.line),)


def _documents(text: str) -> Iterator[_Node]:
    """Yield each document of *text* as it ends."""
    built = _Built(left=_budget(text))
    for event in yaml.parse(text, Loader=_LOADER):
        line = event.start_mark.line + 1
        match event:
            case yaml.DocumentStartEvent():
                built = _Built(left=built.left, stack=[_Node(value=None, line=line)])
            case yaml.DocumentEndEvent():
                yield built.stack.pop()
            case yaml.MappingStartEvent():
                built.open({}, line, event.anchor)
            case yaml.SequenceStartEvent():
                built.open([], line, event.anchor)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                built.close()
            case yaml.AliasEvent():
                built.put(built.anchored(event.anchor), line)
            case yaml.ScalarEvent():
                built.put(_scalar(event), line, anchor=event.anchor)
            case _:
                pass


@dataclass(slots=True, kw_only=True)
class _Built:
    """One document while it is built: the open collections, the anchors so far, what merging may still add."""

    left: int
    stack: list[_Node] = field(default_factory=list)
    anchors: dict[str, object] = field(default_factory=dict)

    def open(self, empty: object, line: int, anchor: str | None) -> None:
        """Begin a collection."""
        if len(self.stack) > DEEPEST:
            raise TooMuch(f"nested more than {DEEPEST} levels deep")
        self.stack.append(_Node(value=empty, line=line, anchor=anchor))

    def close(self) -> None:
        """End the innermost collection and put it into the one around it."""
        node = self.stack.pop()
        self.put(node.value, node.line, anchor=node.anchor)
        if len(self.stack) == 1:
            self.stack[0].lines = node.lines

    def anchored(self, anchor: str | None) -> object:
        """Return what *anchor* names; what is not complete yet has no name."""
        if anchor is None or anchor not in self.anchors:
            raise TooMuch(f"alias *{anchor} has no anchor before it")
        return self.anchors[anchor]

    def put(self, value: object, line: int, *, anchor: str | None = None) -> None:
        """Put *value* where the innermost collection expects it: an element, a key, or the value of a key."""
        if anchor is not None:
            self.anchors[anchor] = value
        parent = self.stack[-1]
        match parent.value:
            case list() as elements:
                elements.append(value)
                parent.lines.append(line)
            case dict() if parent.key is None:
                parent.key, parent.key_line = _key(value), line
            case dict():
                key, parent.key = parent.key, None
                if key == _MERGE and self._merge(parent, value):
                    return
                parent.set(key, value)
            case _:
                parent.value, parent.line = value, line

    def _merge(self, parent: _Node, value: object) -> bool:
        """Add what *value*, the right side of `<<`, holds and *parent* does not; tell whether it could."""
        given: list[object] = value if isinstance(value, list) else [value]
        sources = [source for source in given if isinstance(source, dict)]
        if len(sources) < len(given):
            return False
        for source in sources:
            self.left -= len(source) + 1
            if self.left < 0:
                raise TooMuch("too long when its merged keys are written out")
            for key, each in source.items():
                if key not in parent.value:
                    parent.set(key, each)
        return True


def _key(value: object) -> str:
    """Return *value* as the name of a key; a collection is written out."""
    return as_text(value) if is_scalar(value) else flatten(plain(value, budget=_LONGEST_KEY)).replace("\n", ", ")


def _scalar(event: yaml.ScalarEvent) -> object:
    """Return the number, truth value or nothing that a plain scalar is if it reads back the same, else its text."""
    text: str = event.value
    if not event.implicit[0]:
        return text
    if text in _NONE:
        return None
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    if _INTEGER.fullmatch(text) and text != "-0":
        return int(text)
    return float(text) if _FRACTION.fullmatch(text) and repr(float(text)) == text else text


def _budget(text: str) -> int:
    """Return how many characters a document may become: no honest one is much longer than its file."""
    return max(1_000_000, len(text) * 4)


def _what(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"line {error.problem_mark.line + 1}: {error.problem}"
    return " ".join(str(error).split())
