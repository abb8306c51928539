"""Replies as JSON, for the command line, HTTP and MCP.

A reply shows its fields in their order, unless its class says otherwise in `json_members`: `key=attribute` shows an
attribute under another name, `key?` leaves out what is None or empty, `*attribute` shows the members of an attribute as
members of the value itself.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from operator import attrgetter
from typing import Any

from recollect.errors import RecollectError


def serialize(value: Any) -> Any:
    """Return *value* as JSON has it: objects, arrays, texts, numbers."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {key: serialize(each) for key, each in value.items()}
    shape = members_of(type(value))
    if shape is not None:
        return _members(value, shape)
    if isinstance(value, tuple | list):
        return [serialize(each) for each in value]
    return str(value)


def members_of(kind: Any) -> str | None:
    """Return the members that are shown of values of *kind*; None if it is not a record."""
    shape: str | None = getattr(kind, "json_members", None)
    fields: tuple[str, ...] = getattr(kind, "__struct_fields__", getattr(kind, "_fields", ()))
    return shape or " ".join(fields) or None


def _members(value: Any, shape: str) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for sign, key, read in _readers(shape):
        shown = serialize(read(value))
        if sign == "*":
            members |= shown
        elif sign == "" or shown not in (None, [], {}):
            members[key] = shown
    return members


@cache
def _readers(shape: str) -> tuple[tuple[str, str, Callable[[Any], Any]], ...]:
    """Return for each member of *shape* its sign (`*`, `?` or none), its key and how it is read."""
    readers = []
    for word in shape.split():
        key, _, attribute = word.strip("*?").partition("=")
        sign = "*" if word.startswith("*") else "?" if word.endswith("?") else ""
        readers.append((sign, key, attrgetter(attribute or key)))
    return tuple(readers)


def error_value(error: RecollectError) -> dict[str, Any]:
    """Return an error, the same on every surface."""
    return {"error": {"code": error.code, "message": str(error), "hint": error.hint}}
