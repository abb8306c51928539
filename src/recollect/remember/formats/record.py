"""Make a memory of one record: a mapping that names some of a memory's fields in its own words."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from operator import itemgetter
from typing import Any, Final

from recollect.records import Memory
from recollect.text.dates import as_moment

DEEPEST: Final = 100
"""How many levels of nesting a value may have before it is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a text comes from: its absolute path, and the date in its name."""

    source: str
    date: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One value of a structured file, the line where it begins, and its key if it stood under one."""

    value: object
    line: int
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What recollect's own export says of a memory beyond the memory: its ids there and its other wordings."""

    id: int | None = None
    superseded_by: int | None = None
    wordings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """The memories of one file in its order, and what could not be read, a line each.

    `exported` belongs to the memories at these positions when the file is an export of recollect itself.
    """

    memories: tuple[Memory, ...] = ()
    problems: tuple[str, ...] = ()
    exported: Mapping[int, Exported] = field(default_factory=dict)


Reader = Callable[[str, Origin], Parsed]
"""How a text becomes memories."""


_LONGEST: Final = 32 * 1024 * 1024
"""How many characters one value may become; aliases and dotted keys can make much out of little."""


class TooMuch(ValueError):
    """Say that a value is nested too deeply or would become too long."""


def plain(value: object, *, budget: int = _LONGEST) -> object:
    """Return a copy of *value* that any store and any JSON writer takes.

    Halves of surrogate pairs are joined or replaced, NULs replaced, keys made text, infinite numbers made text.
    A value of more than *budget* characters raises TooMuch.
    """
    left = [budget]
    return _plain(value, 0, left)


def clean(text: str) -> str:
    """Return *text* with what no store can keep (NUL, lone surrogates) as U+FFFD."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def as_text(value: object) -> str:
    """Return a scalar as one would write it; nothing for None."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def flatten(value: object, path: str = "") -> str:
    """Return *value* as `path.to.key: value` lines; lists of scalars stand on one line."""
    lines = []
    left = _LONGEST
    for line in _lines(value, path):
        left -= len(line)
        if left < 0:
            raise TooMuch("too long when written out")
        lines.append(line)
    return "\n".join(lines)


def is_scalar(value: object) -> bool:
    """Tell whether *value* has no parts."""
    return not isinstance(value, dict | list)


def _plain(value: object, depth: int, left: list[int]) -> object:
    if depth > DEEPEST:
        raise TooMuch(f"nested more than {DEEPEST} levels deep")
    _spend(left, 1)
    match value:
        case str():
            _spend(left, len(value))
            return clean(value)
        case dict():
            _spend(left, sum(map(len, map(as_text, value))))
            return {clean(as_text(key)): _plain(each, depth + 1, left) for key, each in value.items()}
        case list():
            return [_plain(each, depth + 1, left) for each in value]
        case float() if not math.isfinite(value):
            return str(value)
        case _:
            return value


def _spend(left: list[int], cost: int) -> None:
    left[0] -= cost
    if left[0] < 0:
        raise TooMuch("too long when its aliases are written out")


def _lines(value: object, path: str) -> Iterator[str]:
    head = f"{path}: " if path else ""
    match value:
        case dict():
            for key, each in value.items():
                yield from _lines(each, f"{path}.{key}" if path else key)
        case list() if all(map(is_scalar, value)):
            joined = ", ".join(filter(None, map(as_text, value)))
            if joined:
                yield head + joined
        case list():
            for number, each in enumerate(value):
                yield from _lines(each, f"{path}.{number}" if path else str(number))
        case _:
            text = as_text(value).strip()
            if text:
                yield head + text


Record = dict[str, object]

CONTENT: Final = ("content", "text", "memory", "body", "note", "message")
"""The names of a record's words, the surest first."""

KEPT: Final = frozenset({"name", "description", "path", "workerrole", "requirements"})
"""Names that stay in the metadata though they are used elsewhere: search looks at them there."""

_YES: Final = frozenset({"true", "yes", "on", "1"})
_NO: Final = frozenset({"false", "no", "off", "0", ""})


def as_line(value: object) -> str | None:
    """Return a scalar as one line; None for nothing, for blanks and for what has parts."""
    if isinstance(value, dict | list):
        return None
    return " ".join((value if isinstance(value, str) else as_text(value)).split()) or None


def as_tags(value: object) -> tuple[str, ...] | None:
    """Return a list, or the parts of a comma-separated line, as tags without repeats."""
    match value:
        case str():
            parts: list[object] = [*value.split(",")]
        case list():
            parts = [part.get("name") if isinstance(part, dict) else part for part in value]
        case _:
            return None
    tags = [as_line(part) for part in parts]
    return tuple(dict.fromkeys(tag for tag in tags if tag))


def as_confidence(value: object) -> float | None:
    """Return a number, or text that is one, brought into 0..1."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return min(1.0, max(0.0, number)) if math.isfinite(number) else None


def as_flag(value: object) -> bool | None:
    """Return yes or no in any of its usual spellings."""
    text = as_text(value).strip().lower()
    return text in _YES if is_scalar(value) and text in _YES | _NO else None


def as_id(value: object) -> str | None:
    """Return a text or a number as an id."""
    return None if isinstance(value, bool) else as_line(value)


def as_count(value: object) -> int | None:
    """Return a whole number that every store can keep."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None


Convert = Callable[[object], object]

FIELDS: Final[Mapping[str, tuple[tuple[str, ...], Convert]]] = {
    "title": (("title", "name"), as_line),
    "type": (("type", "category"), as_line),
    "kind": (("kind", "doc_type"), as_line),
    "tags": (("tags", "labels"), as_tags),
    "project": (("project",), as_line),
    "source": (("source",), as_line),
    "confidence": (("confidence",), as_confidence),
    "pinned": (("pinned",), as_flag),
    "observed_at": (("observed_at", "date", "timestamp", "created_at", "ts"), as_moment),
    "external_id": (("external_id", "_id", "id", "uuid"), as_id),
}
"""A memory's fields, the names records give them, and how their values are read."""


Names = Mapping[str, tuple[int, str, Convert]]
"""By the name a record uses: how sure it is (0 is surest), which field it fills, how its value is read."""


def names_of(*fields: str) -> Names:
    """Return the names that records use for *fields*."""
    return {name: (rank, field, FIELDS[field][1]) for field in fields for rank, name in enumerate(FIELDS[field][0])}


_ALL_NAMES: Final = names_of(*FIELDS)


def content_of(record: Record) -> tuple[str, str] | None:
    """Return the key and the words of the surest content name in *record*; blank words only if there are no others."""
    found = [key for key in record if key.lower() in CONTENT]
    if len(found) > 1:
        found.sort(key=lambda key: CONTENT.index(key.lower()))
    worded = [(key, words) for key in found if (words := words_of(record[key])) is not None]
    return next((each for each in worded if each[1]), worded[0] if worded else None)


def words_of(value: object) -> str | None:
    """Return the words of a content value: text, a number, or the text parts of a list."""
    match value:
        case list():
            parts = [part.get("text") if isinstance(part, dict) else part for part in value]
            texts = [as_text(part) for part in parts if part is not None and is_scalar(part)]
            return "\n".join(texts).strip() if texts else None
        case dict():
            return words_of(value["parts"]) if isinstance(value.get("parts"), list) else None
        case _:
            return as_text(value).strip()


def fields_of(record: Record, names: Names = _ALL_NAMES) -> tuple[dict[str, Any], set[str]]:
    """Return the memory fields that *record* gives and the keys they came from, the surest name of each field."""
    known = [(*names[lower], key) for key in record if (lower := key.lower()) in names]
    values: dict[str, Any] = {}
    used: set[str] = set()
    for _, name, convert, key in sorted(known, key=itemgetter(0)):
        if name not in values and (value := convert(record[key])) is not None:
            values[name] = value
            used.add(key)
    return values, used


def as_memory(record: Record, *, origin: Origin, line: int, title: str = "") -> Memory | None:
    """Return the memory that *record* tells of; None when it says nothing.

    Without a content name its keys become `key: value` lines. What fills no field goes to the metadata.
    """
    fields, used = fields_of(record)
    found = content_of(record)
    given = record.get("metadata")
    metadata = given if isinstance(given, dict) else {}
    rest = {key: value for key, value in record.items() if value is not metadata}
    kept = {key: value for key, value in rest.items() if key not in used or key.lower() in KEPT}
    if found is None:
        content = flatten(rest)
        kept = {key: value for key, value in kept.items() if key.lower() in KEPT}
    else:
        content = found[1] or fields.get("title", "")
        kept.pop(found[0], None)
    if not content:
        return None
    # The line speaks of the file, so it is silent where the record names another source.
    here = {} if "source" in fields else {"source": origin.source, "line": line}
    fields = {"title": title, "observed_at": origin.date, **here, **fields}
    return Memory(content=content, metadata={**metadata, **kept}, **fields)
