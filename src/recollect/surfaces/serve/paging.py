"""Pages of a long list: a cursor names the last memory of a page, and the next begins after it whatever was written.

Lists are ordered by time and id, so the place after a memory is found by halving, also where that memory is gone.
"""

import base64
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from hashlib import blake2b
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from recollect.errors import InputError
from recollect.records import Memory
from recollect.replies import Listing
from recollect.surfaces.serialise import serialise
from recollect.surfaces.table import Answer, Parameter

CURSOR: Final = Parameter(name="cursor", about="go on after the page that told this as next_cursor")
ABOUT_NEXT: Final = "The cursor of the next page, where there is one."
Ask = Callable[[Mapping[str, Any]], Answer]


class Cursor(Struct, frozen=True, kw_only=True):
    """The last memory of a page, how many came before the next, and what the list was narrowed to."""

    when: datetime
    id: int
    passed: int
    asked: str

    def written(self) -> str:
        """Return it as a text that means nothing to anybody else."""
        told = json.dumps([self.when.isoformat(), self.id, self.passed, self.asked])
        return base64.urlsafe_b64encode(told.encode()).decode().rstrip("=")

    def is_before(self, memory: Memory) -> bool:
        """Tell whether *memory* comes after the page; the newest come first."""
        return (memory.when, memory.id) < (self.when, self.id)


def read_cursor(text: str) -> Cursor:
    """Return the cursor that *text* is."""
    try:
        told = json.loads(base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4)))
        when, row, passed, asked = told
        moment = datetime.fromisoformat(when)
        fits = moment.tzinfo is not None and isinstance(asked, str) and 0 <= passed < 2**62 and abs(row) < 2**63
    except (ValueError, TypeError, RecursionError):
        fits = False
    if not fits:
        raise InputError("this is no cursor", hint="take it from next_cursor of the page before")
    return Cursor(when=moment, id=int(row), passed=int(passed), asked=asked)


def page_of(ask: Ask, values: Mapping[str, Any]) -> Answer:
    """Return the page that *values* ask for, with the cursor of the next where there is more; *ask* lists."""
    wanted = {name: value for name, value in values.items() if name != "cursor" and value is not None}
    asked, told = _digest(wanted), values.get("cursor")
    if told is not None:
        wanted["offset"] = _place(ask, wanted, told, asked)
    answer = ask(wanted)
    listing: Listing = answer.value
    passed = wanted.get("offset", 0) + len(listing.memories)
    if not listing.memories or passed >= listing.total:
        return answer
    last = listing.memories[-1]
    following = Cursor(when=last.when, id=last.id, passed=passed, asked=asked)
    return replace(answer, value={**serialise(listing), "next_cursor": following.written()})


def _place(ask: Ask, wanted: Mapping[str, Any], told: Any, asked: str) -> int:
    """Return how many memories to pass over for the page after the cursor that was *told*."""
    if not isinstance(told, str) or "offset" in wanted:
        raise InputError("give a cursor, or an offset", hint="a cursor is a text: next_cursor of the page before")
    cursor = read_cursor(told)
    if cursor.asked != asked:
        raise InputError("this cursor is of another list", hint="narrow the list as on the page before")

    def at(place: int) -> Memory | None:
        found = ask({**wanted, "limit": 1, "offset": place}).value.memories
        return found[0] if found else None

    return _first(lambda place: (found := at(place)) is None or cursor.is_before(found), near=cursor.passed)


def _first(holds: Callable[[int], bool], *, near: int) -> int:
    """Return the first number that *holds*; all after it do too. It is probably *near*, and found from there."""
    low, high, step = 0, near, 1
    while not holds(high):
        low, high, step = high + 1, high + step, step * 2
    step = 1
    while high - step >= low and holds(high - step):
        high, step = high - step, step * 2
    low = max(low, high - step + 1)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _digest(wanted: Mapping[str, Any]) -> str:
    """Return what a list is narrowed to, in short."""
    narrowed = {name: value for name, value in wanted.items() if name not in ("limit", "offset")}
    return blake2b(json.dumps(narrowed, sort_keys=True, default=str).encode(), digest_size=6).hexdigest()
