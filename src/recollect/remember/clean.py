"""Clean a memory before it is stored, and make the memories and edits that a caller describes."""

import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from operator import attrgetter, index
from typing import Any, Final, get_args

from msgspec.structs import replace

from recollect.arguments import LARGEST, fitted, shown, storable
from recollect.errors import InputError
from recollect.records import MTIME, OBSERVED_FROM, Context, Memory, Merge, Restore, Revise, Trust
from recollect.trust import capped, may_merge

MAX_LENGTH: Final = 10 * 1024 * 1024
"""The most characters one memory may have."""
MAX_DEPTH: Final = 100
"""How deep the metadata of a memory may nest."""

_DATES: Final = ("created_at", "updated_at", "observed_at", "deleted_at", "valid_from", "valid_until", "superseded_at")
_FIELD_TYPES: Final[Mapping[str, tuple[tuple[type, ...], str]]] = {
    **dict.fromkeys(("content", "title", "project", "type", "kind"), ((str,), "text")),
    **dict.fromkeys(("external_id", "source", "section", "thread"), ((str, type(None)), "text")),
    **dict.fromkeys(_DATES, ((datetime, type(None)), "a datetime")),
    **dict.fromkeys(("line", "turn", "superseded_by"), ((int, type(None)), "a whole number")),
    "id": ((int,), "a whole number"),
    "context": ((Context,), "a Context"),
    "confidence": ((int, float), "a number from 0 to 1"),
    "tags": ((tuple,), "a list of texts"),
    "metadata": ((Mapping,), "a mapping"),
}
"""What each field may hold, and how to say so."""
_TRUSTS: Final = frozenset(get_args(Trust))
_dates_of: Final = attrgetter(*_DATES)
_LINES: Final = ("title", "project", "type", "kind")
_lines_of: Final = attrgetter(*_LINES)
_USUAL_LINES: Final = _lines_of(Memory(content=""))
_ALONE: Final = Memory(content="").context
_TEXTS: Final = ("source", "section", "external_id", "thread")
_texts_of: Final = attrgetter(*_TEXTS)
_numbers_of: Final = attrgetter("id", "line", "turn", "superseded_by")


def clean(memory: Memory, modified: datetime | None = None) -> Memory:
    """Return *memory* ready to be stored, itself where it already is; refuse a blank, too long or ill-typed one.

    What has no date of its own gets that of its file, when it was *modified*, and is marked so.
    """
    try:
        return _cleaned(memory, modified)
    except (AttributeError, TypeError):
        _refuse_wrong_types(memory)
        raise


def _cleaned(memory: Memory, modified: datetime | None) -> Memory:
    _refuse_wrong_values(memory)
    content = storable(memory.content).strip()
    if not content.strip("\N{REPLACEMENT CHARACTER} \t\n"):
        raise InputError("there is nothing to remember: the text is blank", hint="give it some words")
    if len(content) > MAX_LENGTH:
        raise InputError(f"the text is too long: {len(content):,} characters", hint="import it as a file instead")
    cleaned: dict[str, Any] = {
        "content": content,
        "tags": _clean_tags(memory.tags),
        "confidence": min(1.0, max(0.0, memory.confidence)),
        "context": _clean_context(memory.context),
        # Always a copy of its own: what the caller does to his must not reach a store.
        "metadata": _clean_metadata(memory.metadata) if memory.metadata else memory.metadata,
    }
    for name, text, usual in zip(_LINES, _lines_of(memory), _USUAL_LINES, strict=True):
        if text is not usual:
            cleaned[name] = _one_line(text) or usual
    for name, text in zip(_TEXTS, _texts_of(memory), strict=True):
        if text:
            cleaned[name] = storable(text)
    for name, at in zip(_DATES, _dates_of(memory), strict=True):
        if at is not None and (at.tzinfo is None or not 1 < at.year < 9999):
            cleaned[name] = fitted(at, datetime, name)
    if modified is not None and memory.observed_at is None:
        cleaned |= {"observed_at": modified, "metadata": {**cleaned["metadata"], OBSERVED_FROM: MTIME}}
    changed = {name: value for name, value in cleaned.items() if value is not getattr(memory, name)}
    return replace(memory, **changed) if changed else memory


def _refuse_wrong_values(memory: Memory) -> None:
    """Refuse what is of its type, or nearly, and still nothing that a store can keep."""
    if memory.trust not in _TRUSTS:
        raise InputError(f"trust cannot be {shown(memory.trust)}", hint=f"one of {', '.join(get_args(Trust))}")
    if not isinstance(memory.pinned, bool):
        raise InputError(f"pinned cannot be {shown(memory.pinned)}", hint="give True or False")
    if math.isnan(memory.confidence):
        raise InputError("confidence cannot be nan", hint="give a number from 0 to 1")
    for number in _numbers_of(memory):
        if number is not None and abs(index(number)) >= LARGEST:
            raise InputError(f"a memory cannot hold {shown(number)}: it is too large", hint="give a number below 2**63")


def _refuse_wrong_types(memory: Memory) -> None:
    if not isinstance(memory, Memory):
        raise InputError(f"{shown(memory)} is no memory", hint="give a recollect.Memory")
    for name, (types, wanted) in _FIELD_TYPES.items():
        value = getattr(memory, name)
        if not isinstance(value, types):
            raise InputError(f"{name} cannot be {shown(value)}", hint=f"give {wanted}")
    for tag in memory.tags:
        if not isinstance(tag, str):
            raise InputError(f"a tag cannot be {shown(tag)}", hint="give texts")


def _clean_context(context: Context) -> Context:
    if context is _ALONE:
        return context
    before, after, around = (
        storable(context.before),
        storable(context.after),
        storable(context.around),
    )
    same = before is context.before and after is context.after and around is context.around
    return context if same else Context(before=before, after=after, around=around)


def _one_line(text: str) -> str:
    line = " ".join(storable(text).split())
    return text if line == text else line


def _clean_tags(tags: tuple[str, ...]) -> tuple[str, ...]:
    lines = tuple(dict.fromkeys(tag for tag in map(_one_line, tags) if tag))
    return tags if lines == tags else lines


def _clean_metadata(metadata: Mapping[Any, object], depth: int = 0) -> Mapping[str, object]:
    if depth > MAX_DEPTH:
        raise InputError(f"the metadata nests deeper than {MAX_DEPTH}", hint="give a flatter mapping")
    return {_written(key): _clean_value(each, depth + 1) for key, each in metadata.items()}


def _clean_value(value: object, depth: int) -> object:
    if isinstance(value, Mapping):
        return _clean_metadata(value, depth)
    if isinstance(value, list | tuple):
        return list(_clean_metadata(dict(enumerate(value)), depth).values())
    if isinstance(value, bool | None) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return value if isinstance(value, int) and abs(value) < LARGEST else _written(value)


def _written(value: object) -> str:
    """Return *value* as text; JSON has no word for it, or not for all of it."""
    try:
        return storable(str(value))
    except Exception as error:  # a stranger's value, or a number of thousands of digits
        raise InputError(f"metadata cannot hold {shown(value)}", hint="give texts and numbers") from error


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
    given = {key: value for key, value in about.items() if key not in METADATA_FIELDS}
    memory = Memory(content=content, **given)
    return replace(memory, metadata={**memory.metadata, **extra}) if extra else memory


def pinning(memory: Memory, *, pinned: bool) -> Revise:
    """Return the write that keeps *memory* from ageing, or lets it age again."""
    return Revise(memory=replace(memory, pinned=pinned), verb="pin" if pinned else "unpin")


def chain(row: int, successors: Mapping[int, int]) -> tuple[int, ...]:
    """Return *row* and all that took its place, one after the other."""
    rows = [row]
    while (row := successors.get(row, rows[0])) not in rows:
        rows.append(row)
    return tuple(rows)


def superseding(old: Memory, new: Memory, *, successors: Iterable[int] = ()) -> Revise:
    """Return the write that puts *new*, which its *successors* supersede in turn, in the place of *old*."""
    if old.id == new.id:
        raise InputError("a memory cannot supersede itself", hint="name two different ids")
    if old.project != new.project:
        raise InputError(
            f"#{old.id} is in the project {old.project}, #{new.id} in {new.project}",
            hint="a memory can be superseded only by one of its own project",
        )
    if old.id in successors:
        hint = f"bring it back first: recollect restore {new.id}"
        raise InputError(f"#{new.id} is itself superseded by #{old.id}: a circle would hide both", hint=hint)
    return Revise(memory=replace(old, superseded_by=new.id), verb="supersede")


def merging(gone: Memory, kept: Memory) -> Merge:
    """Return the write that makes the text of *gone* another wording of *kept*."""
    if not may_merge(gone, kept):
        raise InputError(
            f"#{gone.id} cannot be merged into #{kept.id}: one is pinned or trusted further than the other",
            hint="supersede it without keeping its wording",
        )
    confidence = capped(max(gone.confidence, kept.confidence), kept.trust)
    return Merge(id=kept.id, confidence=confidence, wording=gone.content, detail={"of": gone.id})


def restoring(memory: Memory) -> Restore | Revise:
    """Return the write that brings *memory* back: a forgotten one, or one that another took the place of."""
    if memory.deleted_at is None and memory.superseded_by is not None:
        return Revise(memory=replace(memory, superseded_by=None), verb="restore")
    return Restore(id=memory.id)
