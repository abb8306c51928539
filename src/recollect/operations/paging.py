"""Cursors: one names the last memory of a page of a list, and the next page begins after it in the order of time."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

from msgspec import Meta, MsgspecError, json

from recollect.errors import InputError
from recollect.records import Memory, Position

_Cursor = tuple[Annotated[datetime, Meta(tz=True)], Annotated[int, Meta(ge=0, le=2**63 - 1)], str]
"""The time and the id of the last memory of a page, and a digest of the filters of its list."""


def cursor_after(last: Memory, filters: Mapping[str, Any]) -> str:
    """Return the cursor of the page that follows *last* in the list with these *filters*."""
    return urlsafe_b64encode(json.encode((last.when, last.id, _digest(filters)))).decode().rstrip("=")


def read_cursor(text: str, filters: Mapping[str, Any]) -> Position:
    """Return the position that the cursor *text* names, if it belongs to the list with these *filters*."""
    try:
        when, row, own = json.decode(urlsafe_b64decode(text + "==="), type=_Cursor)
        position = Position(when=when.astimezone(UTC), id=row)
    except (ValueError, OverflowError, MsgspecError) as error:
        raise InputError("this is not a cursor", hint="take it from next_cursor of the page before") from error
    if own != _digest(filters):
        raise InputError("this cursor belongs to another list", hint="use the same filters as on the page before")
    return position


def _digest(filters: Mapping[str, Any]) -> str:
    from hashlib import blake2b  # noqa: PLC0415  (slow to import, and most lists have one page)

    return blake2b(json.encode(filters, order="sorted"), digest_size=6).hexdigest()
