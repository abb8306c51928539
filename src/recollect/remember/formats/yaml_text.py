"""Read YAML from its events, so that text stays as it was written and no nesting can harm.

The usual constructors turn `1.10` into 1.1, `no` into false and `12:30` into 750; a memory must not. The composer of
the C library calls itself for every level, and a file that nests deeply enough would end the process.
"""

from collections.abc import Iterator
from typing import Any, Final

import yaml
from msgspec import Struct, field

from recollect.errors import FileError
from recollect.lazy import regex
from recollect.remember.formats.entries import of_object, parse
from recollect.remember.formats.record import Entry, Origin, Parsed
from recollect.remember.formats.values import MAX_DEPTH, TooMuch, as_text, flatten, is_scalar, plain

_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BROKEN: Final = (yaml.YAMLError, ValueError, OverflowError)

_NONE: Final = frozenset({"", "~", "null", "Null", "NULL"})
_INTEGER: Final = regex(r"-?(?:0|[1-9][0-9]{0,17})")
_FRACTION: Final = regex(r"-?(?:0|[1-9][0-9]{0,14})\.[0-9]{1,15}")
_MERGE: Final = "<<"
_MAX_KEY_CHARS: Final = 10_000


def read_yaml(text: str, origin: Origin) -> Parsed:
    """Return the memories of every document, by the rules of JSON; documents after a broken one are lost.

    A file whose first document is broken raises FileError.
    """
    entries: list[Entry] = []
    problems: list[str] = []
    documents = 0
    try:
        for value, line, lines in _documents(text):
            entries += _entries(value, line, lines)
            documents += 1
    except _BROKEN as error:
        if not documents:
            raise FileError(f"{origin.source} is not YAML: {_what(error)}", hint="check its indentation") from error
        problems.append(f"document {documents + 1}: not YAML ({_what(error)})")
    return parse(entries, origin=origin, problems=problems)


def load_mapping(text: str) -> dict[str, object] | None:
    """Return the mapping that *text* is as YAML; None when it is anything else, raising ValueError when broken."""
    try:
        value = next((value for value, _, _ in _documents(text)), None)
    except _BROKEN as error:
        raise ValueError(_what(error)) from error
    return value if isinstance(value, dict) else None


def _entries(value: object, line: int, lines: list[int]) -> tuple[Entry, ...]:
    if isinstance(value, dict):
        pairs = (Entry(value=each, line=at, key=key) for (key, each), at in zip(value.items(), lines, strict=False))
        return of_object(tuple(pairs), line=line)
    if isinstance(value, list):
        return tuple(Entry(value=each, line=at) for each, at in zip(value, lines, strict=True))
    return (Entry(value=value, line=line),)


def _documents(text: str) -> Iterator[tuple[object, int, list[int]]]:
    """Yield each document of *text*, the line it begins on, and those that its keys or elements begin on."""
    # No honest document is much longer than its file when its aliases are written out.
    budget = max(1_000_000, len(text) * 4)
    events = yaml.parse(text, Loader=_LOADER)
    for start in events:
        if isinstance(start, yaml.DocumentStartEvent):
            root, lines = next(events), list[int]()
            value = _Document(events=events, left=budget).value(root, lines)
            next(events)  # the end of the document, where its last error is raised
            yield plain(value, budget=budget), _line(root), lines


class _Document(Struct, kw_only=True):
    """A document being read: the events to come, the anchors so far, and how many keys merging may still add."""

    events: Iterator[Any]
    left: int
    anchors: dict[str, object] = field(default_factory=dict)

    def value(self, event: Any, lines: list[int], depth: int = 0) -> object:
        """Return what begins with *event*, and add to *lines* where its keys or elements begin."""
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self.anchors:
                raise TooMuch(f"alias *{event.anchor} has no anchor before it")
            return self.anchors[event.anchor]
        value: object
        if isinstance(event, yaml.ScalarEvent):
            value = _scalar(event)
        elif depth > MAX_DEPTH - 1:
            raise TooMuch(f"nested more than {MAX_DEPTH} levels deep")
        elif isinstance(event, yaml.MappingStartEvent):
            value = self._mapping(lines, depth + 1)
        else:
            value = [self._part(each, lines, depth + 1) for each in self._until(yaml.SequenceEndEvent)]
        if event.anchor is not None:
            self.anchors[event.anchor] = value
        return value

    def _until(self, end: type[yaml.Event]) -> Iterator[Any]:
        return iter(lambda: None if isinstance(event := next(self.events), end) else event, None)

    def _part(self, event: Any, lines: list[int], depth: int) -> object:
        lines.append(_line(event))
        return self.value(event, [], depth)

    def _mapping(self, lines: list[int], depth: int) -> dict[str, object]:
        mapping: dict[str, object] = {}
        for event in self._until(yaml.MappingEndEvent):
            key, value = _key(self.value(event, [], depth)), self.value(next(self.events), [], depth)
            merged = self._merged(value) if key == _MERGE else None
            found = {key: value} if merged is None else {name: merged[name] for name in merged if name not in mapping}
            lines.extend(_line(event) for name in found if name not in mapping)
            mapping |= found
        return mapping

    def _merged(self, value: object) -> dict[str, object] | None:
        """Return what *value*, the right side of `<<`, adds, the first of equals; None where it has no mappings."""
        merged: dict[str, object] = {}
        for source in value if isinstance(value, list) else [value]:
            if not isinstance(source, dict):
                return None
            self.left -= len(source) + 1
            if self.left < 0:
                raise TooMuch("too long when its merged keys are written out")
            merged |= {name: source[name] for name in source if name not in merged}
        return merged


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _key(value: object) -> str:
    """Return *value* as the name of a key; a collection is written out."""
    return as_text(value) if is_scalar(value) else flatten(plain(value, budget=_MAX_KEY_CHARS)).replace("\n", ", ")


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


def _what(error: Exception) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"line {error.problem_mark.line + 1}: {error.problem}"
    return " ".join(str(error).split())
