"""Clean a memory before it is stored, and make the memories and edits that a caller describes."""

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from operator import attrgetter, index
from typing import Any, Final

from recollect.errors import InputError
from recollect.records import Context, Memory, Revise

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
MAX_LENGTH: Final = 10 * 1024 * 1024
"""The most characters one memory may have."""

_DATES: Final = ("created_at", "updated_at", "observed_at", "deleted_at", "valid_from", "valid_until", "superseded_at")
_FIELD_TYPES: Final[Mapping[str, tuple[tuple[type, ...], str]]] = {
    **dict.fromkeys(("content", "title", "project", "type", "kind"), ((str,), "text")),
    **dict.fromkeys(("external_id", "source", "section", "thread"), ((str, type(None)), "text")),
    **dict.fromkeys(_DATES, ((datetime, type(None)), "a datetime")),
    **dict.fromkeys(("line", "turn"), ((int, type(None)), "a whole number")),
    "confidence": ((int, float), "a number from 0 to 1"),
    "tags": ((tuple,), "a list of texts"),
    "metadata": ((Mapping,), "a mapping"),
}
"""What each field may hold, and how to say so."""
_dates_of: Final = attrgetter(*_DATES)


def clean(memory: Memory) -> Memory:
    """Return *memory* ready to be stored, itself where it already is; refuse a blank, too long or ill-typed one."""
    try:
        return _cleaned(memory)
    except (AttributeError, TypeError):
        _refuse_wrong_types(memory)
        raise


def _cleaned(memory: Memory) -> Memory:
    content = storable(memory.content).strip()
    if not content:
        raise InputError("there is nothing to remember: the text is blank", hint="give it some words")
    if len(content) > MAX_LENGTH:
        raise InputError(f"the text is too long: {len(content):,} characters", hint="import it as a file instead")
    cleaned: dict[str, Any] = {
        "content": content,
        "title": _one_line(memory.title),
        "project": _one_line(memory.project) or "default",
        "type": _one_line(memory.type) or "note",
        "kind": _one_line(memory.kind) or "memory",
        "tags": _clean_tags(memory.tags),
        "source": memory.source and storable(memory.source),
        "section": memory.section and storable(memory.section),
        "external_id": memory.external_id and storable(memory.external_id),
        "confidence": min(1.0, max(0.0, memory.confidence)),
        "context": _clean_context(memory.context),
        # Always a copy of its own: what the caller does to his must not reach a store.
        "metadata": _clean_metadata(memory.metadata) if memory.metadata else memory.metadata,
    }
    for name, at in zip(_DATES, _dates_of(memory), strict=True):
        if at is not None and at.tzinfo is None:
            cleaned[name] = at.replace(tzinfo=UTC)
    for number in (memory.line, memory.turn):
        if number is not None:
            index(number)
    changed = {name: value for name, value in cleaned.items() if value is not getattr(memory, name)}
    return replace(memory, **changed) if changed else memory


def _refuse_wrong_types(memory: Memory) -> None:
    for name, (types, wanted) in _FIELD_TYPES.items():
        value = getattr(memory, name)
        if not isinstance(value, types):
            raise InputError(f"{name} cannot be {value!r}", hint=f"give {wanted}")
    for tag in memory.tags:
        if not isinstance(tag, str):
            raise InputError(f"a tag cannot be {tag!r}", hint="give texts")


def _clean_context(context: Context) -> Context:
    before, after, around = (
        storable(context.before),
        storable(context.after),
        storable(context.around),
    )
    same = before is context.before and after is context.after and around is context.around
    return context if same else Context(before=before, after=after, around=around)


def storable(text: str) -> str:
    """Return *text* without lone surrogates and NULs, which no file and no other program can carry."""
    if text.isascii():
        return text.replace("\0", " ") if "\0" in text else text
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text).replace("\0", " ")


def _one_line(text: str) -> str:
    line = " ".join(storable(text).split())
    return text if line == text else line


def _clean_tags(tags: tuple[str, ...]) -> tuple[str, ...]:
    lines = tuple(dict.fromkeys(tag for tag in map(_one_line, tags) if tag))
    return tags if lines == tags else lines


def _clean_metadata(metadata: Mapping[str, object]) -> Mapping[str, object]:
    return {storable(str(key)): _clean_value(each) for key, each in metadata.items()}


def _clean_value(value: object) -> object:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Mapping):
        return _clean_metadata(value)
    if isinstance(value, list | tuple):
        return [_clean_value(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no word for it
    return value if isinstance(value, bool | int | float | None) else str(value)


METADATA_FIELDS: Final[Mapping[str, str]] = {
    "name": "name",
    "description": "description",
    "path": "path",
    "worker_role": "workerRole",
    "requirements": "requirements",
}
"""What a caller may say of a memory beyond its fields, and its key in the metadata."""


def draft(content: str, about: Mapping[str, Any]) -> Memory:
    """Return the unstored memory that *content* and the fields *about* describe."""
    extra = {METADATA_FIELDS[key]: value for key, value in about.items() if key in METADATA_FIELDS and value}
    fields = {key: value for key, value in about.items() if key not in METADATA_FIELDS}
    if "tags" in fields:
        tags = fields["tags"]
        fields["tags"] = tuple(tag.strip() for tag in tags.split(",")) if isinstance(tags, str) else tuple(tags)
    try:
        memory = Memory(content=content, **fields)
    except TypeError as error:
        raise InputError(f"a memory has no such field: {error}", hint="see the fields of recollect.Memory") from error
    return replace(memory, metadata={**memory.metadata, **extra}) if extra else memory


def pinning(memory: Memory, *, pinned: bool) -> Revise:
    """Return the write that keeps *memory* from ageing, or lets it age again."""
    return Revise(memory=replace(memory, pinned=pinned), verb="pin" if pinned else "unpin")


def superseding(old: Memory, new: Memory) -> Revise:
    """Return the write that puts *new* in the place of *old*."""
    if old.id == new.id:
        raise InputError("a memory cannot supersede itself", hint="name two different ids")
    if old.project != new.project:
        raise InputError(
            f"#{old.id} is in the project {old.project}, #{new.id} in {new.project}",
            hint="a memory can be superseded only by one of its own project",
        )
    return Revise(memory=replace(old, superseded_by=new.id), verb="supersede")
