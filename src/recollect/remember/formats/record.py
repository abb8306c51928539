"""Make a memory of one record: a mapping that names some of a memory's fields in its own words."""

from collections.abc import Callable, Mapping
from datetime import datetime
from operator import itemgetter
from typing import Any, Final

from msgspec import Struct, field

from recollect.records import Fact, Memory, Trust, Verdict
from recollect.remember.formats.values import (
    as_confidence,
    as_flag,
    as_id,
    as_line,
    as_tags,
    as_vector,
    as_words,
    flatten,
)
from recollect.text.dates import as_moment


class Origin(Struct, frozen=True, kw_only=True):
    """Where a text comes from: its absolute path, and the date in its name."""

    source: str
    date: datetime | None = None


class Entry(Struct, frozen=True, kw_only=True):
    """One value of a structured file, the line where it begins, and its key if it has one."""

    value: object
    line: int
    key: str | None = None


class Exported(Struct, frozen=True, kw_only=True):
    """What another store says of a memory beyond its fields. None for facts: it does not say."""

    facts: tuple[Fact, ...] | None = None
    vector: tuple[float, ...] | None = None
    verdict: Verdict | None = None
    """What its user thought of it there."""
    trust: Trust | None = None
    """Whose words they are: those of an agent in a recorded session are never the owner's."""
    folder: str | None = None
    """The folder that a recorded session worked in: its project is that of the repository there."""
    everywhere: bool = False
    """Whether it is meant for all projects of its owner."""


class Parsed(Struct, frozen=True, kw_only=True):
    """The memories of one file in its order, and what could not be read, a line each.

    `exported` belongs to the memories at these positions.
    """

    memories: tuple[Memory, ...] = ()
    problems: tuple[str, ...] = ()
    exported: Mapping[int, Exported] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)
    """How many records were skipped on purpose, by reason: tool results, system lines, unknown lines."""


Reader = Callable[[str, Origin], Parsed]
"""How a text becomes memories."""
Record = dict[str, object]
Convert = Callable[[object], object]
"""How the value of a record becomes that of a field; None where it does not fit."""

CONTENT: Final = ("content", "text", "memory", "body", "note", "message")
"""The names of a record's words, the surest first."""

KEPT: Final = frozenset({"name", "description", "path", "workerrole", "requirements"})
"""Names that stay in the metadata though they are used elsewhere: search looks at them there."""

FIELDS: Final[Mapping[str, tuple[tuple[str, ...], Convert]]] = {
    "title": (("title", "name"), as_line),
    "type": (("type", "category"), as_line),
    "kind": (("kind", "doc_type"), as_line),
    "tags": (("tags", "labels"), as_tags),
    "project": (("project",), as_line),
    "source": (("source",), as_line),
    "confidence": (("confidence",), as_confidence),
    "pinned": (("pinned",), as_flag),
    "observed_at": (("observed_at", "date", "timestamp", "ts"), as_moment),
    "created_at": (("created_at",), as_moment),
    "external_id": (("external_id", "_id", "id", "uuid"), as_id),
}
"""A memory's fields, the names records give them (the surest first), and how their values are read."""

KNOWN_TYPES: Final = frozenset(
    {"note", "lesson", "decision", "gotcha", "pattern", "preference", "rule", "fact", "insight", "summary", "prompt"}
    | {"bugfix", "feature", "discovery", "refactor", "change"}
)
"""The types that a record may call its category."""

Names = Mapping[str, tuple[int, str, Convert]]
"""By the name a record uses: how sure it is (0 is surest), which field it fills, how its value is read."""


def names_of(*fields: str) -> Names:
    """Return the names that records use for *fields*."""
    return {
        name: (rank, field, _known_type if name == "category" else FIELDS[field][1])
        for field in fields
        for rank, name in enumerate(FIELDS[field][0])
    }


def _known_type(value: object) -> str | None:
    """Return a category that is a type of memories; any other is metadata of its record."""
    line = (as_line(value) or "").lower()
    return line if line in KNOWN_TYPES else None


_ALL_NAMES: Final = names_of(*FIELDS)


def without_vector(record: Record) -> tuple[Record, tuple[float, ...] | None]:
    """Return *record* without the numbers that a model made of it, and these numbers if there are any."""
    for key in ("embedding", "vector"):
        numbers = as_vector(record.get(key))
        if numbers is not None:
            return {name: value for name, value in record.items() if name != key}, numbers
    return record, None


def content_of(record: Record, names: tuple[str, ...] = CONTENT) -> tuple[str, str] | None:
    """Return the key and the words of the surest of *names* in *record*; blank words only if there are no others."""
    found = [key for key in record if key.lower() in names]
    if len(found) > 1:
        found.sort(key=lambda key: CONTENT.index(key.lower()))
    worded = [(key, words) for key in found if (words := as_words(record[key])) is not None]
    return next((each for each in worded if each[1]), worded[0] if worded else None)


def fields_of(record: Record, names: Names = _ALL_NAMES) -> tuple[dict[str, Any], set[str]]:
    """Return the memory fields that *record* gives and the keys they came from.

    The surest name of a field counts, but tags are gathered from all of theirs: `tags` and `labels` are the same.
    """
    known = [(*names[lower], key) for key in record if (lower := key.lower()) in names]
    values: dict[str, Any] = {}
    used: set[str] = set()
    for _, name, convert, key in sorted(known, key=itemgetter(0)):
        value: Any = convert(record[key])
        if value is None or (name in values and name != "tags"):
            continue
        values[name] = tuple(dict.fromkeys((*values[name], *value))) if name in values else value
        used.add(key)
    return values, used


def as_memory(
    record: Record, *, origin: Origin, line: int, title: str = "", names: tuple[str, ...] = CONTENT
) -> Memory | None:
    """Return the memory of *record*; None if it is empty.

    Without one of *names*, those of its content, its keys become `key: value` lines. What fills no field goes to the
    metadata.
    """
    fields, used = fields_of(record)
    found = content_of(record, names)
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
    if "created_at" in fields:
        fields.setdefault("observed_at", fields["created_at"])
    # The line speaks of the file, so it is silent where the record names another source.
    here = {} if "source" in fields else {"source": origin.source, "line": line}
    fields = {"title": title, "observed_at": origin.date, **here, **fields}
    return Memory(content=content, metadata={**metadata, **kept}, **fields)
