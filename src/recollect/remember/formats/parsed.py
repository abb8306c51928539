"""The values that the readers of the formats share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from recollect.records import Memory

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
