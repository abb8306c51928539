"""Read a record of recollect's own export back into the memory it was, with nothing lost."""

from collections.abc import Mapping
from typing import Any, Final, get_args

from recollect.records import Context, Memory, Trust
from recollect.remember.formats.dates import as_moment
from recollect.remember.formats.parsed import Exported
from recollect.remember.formats.record import Convert, as_confidence, as_count

MARK: Final = "recollect"
"""The key that tells an exported record; its value is the version of the export's form."""

VERSION: Final = 1

_TYPES: Final[Mapping[str, type]] = {
    **dict.fromkeys(("external_id", "kind", "project", "type", "title", "source", "section", "thread"), str),
    "pinned": bool,
    "metadata": dict,
}
_CONVERTED: Final[Mapping[str, Convert]] = {
    **dict.fromkeys(("created_at", "updated_at", "observed_at", "deleted_at"), as_moment),
    **dict.fromkeys(("valid_from", "valid_until", "superseded_at"), as_moment),
    **dict.fromkeys(("line", "turn"), as_count),
    "confidence": as_confidence,
}


def is_own(record: object) -> bool:
    """Tell whether *record* comes from recollect's own export."""
    return isinstance(record, dict) and record.get(MARK) == VERSION and isinstance(record.get("content"), str)


def as_exported(record: Mapping[str, Any]) -> tuple[Memory, Exported]:
    """Return the memory of an exported *record*, and its ids and wordings there; wrong types are left out."""
    fields = {name: record[name] for name, kind in _TYPES.items() if isinstance(record.get(name), kind)}
    converted: dict[str, Any] = {name: convert(record.get(name)) for name, convert in _CONVERTED.items()}
    fields |= {name: value for name, value in converted.items() if value is not None}
    if record.get("trust") in get_args(Trust):
        fields["trust"] = record["trust"]
    memory = Memory(
        content=record["content"],
        tags=_texts(record.get("tags")),
        context=_context(record.get("context")),
        **fields,
    )
    exported = Exported(
        id=as_count(record.get("id")),
        superseded_by=as_count(record.get("superseded_by")),
        wordings=_texts(record.get("wordings")),
    )
    return memory, exported


def _context(value: object) -> Context:
    if not isinstance(value, dict):
        return Context()
    return Context(**{name: value[name] for name in ("before", "after", "around") if isinstance(value.get(name), str)})


def _texts(value: object) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()
