"""What a store is told."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from recollect.records.memory import NOTHING, Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert:
    """Keep a new memory."""

    memory: Memory
    detail: Mapping[str, object] = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Revise:
    """Put *memory* in the place of the one with its id; the words it had stay in the event."""

    memory: Memory
    verb: str = "update"
    detail: Mapping[str, object] = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Take *wording* into memory *id*: another way to say it, found like its own words."""

    id: int
    confidence: float
    wording: str | None = None
    detail: Mapping[str, object] = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forget:
    """Hide memory *id* from every question until it is restored."""

    id: int
    detail: Mapping[str, object] = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Restore:
    """Bring forgotten memory *id* back."""

    id: int
    detail: Mapping[str, object] = field(default_factory=lambda: NOTHING)


Write = Insert | Revise | Merge | Forget | Restore


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One piece of a source, and the memory that holds its words."""

    digest: bytes
    memory_id: int
    section: str | None = None
