"""A text and what is said about it, as a memory that is not stored yet."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from recollect.errors import InputError
from recollect.records import Memory

EXTRAS: Final[Mapping[str, str]] = {
    "name": "name",
    "description": "description",
    "path": "path",
    "worker_role": "workerRole",
    "requirements": "requirements",
}


def draft(content: str, about: Mapping[str, Any]) -> Memory:
    """Return the unstored memory that *content* and the fields *about* describe."""
    extra = {EXTRAS[key]: value for key, value in about.items() if key in EXTRAS and value}
    fields = {key: value for key, value in about.items() if key not in EXTRAS}
    if "tags" in fields:
        told = fields["tags"]
        fields["tags"] = tuple(tag.strip() for tag in told.split(",")) if isinstance(told, str) else tuple(told)
    try:
        memory = Memory(content=content, **fields)
    except TypeError as error:
        raise InputError(f"a memory has no such field: {error}", hint="see the fields of recollect.Memory") from error
    return replace(memory, metadata={**memory.metadata, **extra}) if extra else memory
