"""Pages of a list: a cursor names the last memory of a page, and the next page begins after it in the order of time."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Annotated, Any, Final

from msgspec import Meta, MsgspecError, json
from msgspec.structs import asdict, replace

from recollect.errors import InputError
from recollect.operations.answer import Answer
from recollect.operations.request import Call, Parameter
from recollect.records import Position
from recollect.replies import Listing
from recollect.surfaces.serve.dispatcher import Caller, Dispatcher, served_request

CURSOR: Final = Parameter(name="cursor", kind="text", about="continue after the page that returned this as next_cursor")
_Cursor = tuple[Annotated[datetime, Meta(tz=True)], Annotated[int, Meta(ge=0, le=2**63 - 1)], str]
"""The time and the id of the last memory of a page, and a digest of the filters of its list."""


def page_of(dispatcher: Dispatcher, values: Mapping[str, Any], caller: Caller) -> Answer[Listing]:
    """Return the page of `list` that *values* ask for, with `next_cursor` if there are more memories."""
    operation, cursor = dispatcher.operation("list"), values.get("cursor")
    wanted = {name: value for name, value in values.items() if name != "cursor" and value is not None}
    request = served_request(operation, wanted)
    limit, digest = request.limit, _digest(wanted)
    after = None if cursor is None else _read_cursor(cursor, digest, has_offset="offset" in wanted)
    one_more = replace(request, limit=limit + 1)
    answer = dispatcher.run(
        "list",
        operation.rights,
        asdict(request),
        caller,
        lambda db: operation.answer(db, one_more, Call(now=db.now(), after=after)),
    )
    listing: Listing = answer.value
    page = replace(listing, memories=listing.memories[:limit])
    if not page.memories or len(page.memories) == len(listing.memories):
        return replace(answer, value=page)
    last = page.memories[-1]
    following = urlsafe_b64encode(json.encode((last.when, last.id, digest))).decode().rstrip("=")
    return replace(answer, value=replace(page, next_cursor=following))


def _read_cursor(text: Any, digest: str, *, has_offset: bool) -> Position:
    """Return the position that the cursor *text* names, if it belongs to the list with this *digest*."""
    if not isinstance(text, str) or has_offset:
        raise InputError("give a cursor, or an offset", hint="a cursor is a text: next_cursor of the page before")
    try:
        when, row, own = json.decode(urlsafe_b64decode(text + "==="), type=_Cursor)
        position = Position(when=when.astimezone(UTC), id=row)
    except (ValueError, OverflowError, MsgspecError) as error:
        raise InputError("this is not a cursor", hint="take it from next_cursor of the page before") from error
    if own != digest:
        raise InputError("this cursor belongs to another list", hint="use the same filters as on the page before")
    return position


def _digest(wanted: Mapping[str, Any]) -> str:
    """Return a digest of the filters of a list."""
    filters = {name: value for name, value in wanted.items() if name not in ("limit", "offset")}
    return blake2b(json.encode(filters, order="sorted"), digest_size=6).hexdigest()
