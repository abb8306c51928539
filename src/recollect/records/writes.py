"""What a store is told."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from recollect.records.memory import NOTHING, Fact, Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert:
    """Keep a new memory and what it states."""

    memory: Memory
    facts: tuple[Fact, ...] = ()
    detail: Mapping[str, object] = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Revise:
    """Put *memory* in the place of the one with its id; the words it had stay in the event.

    *facts* take the place of those it had; None keeps them. A fact that says the same as before stays the
    same fact, as sure and as fresh as it was.
    """

    memory: Memory
    verb: str = "update"
    facts: tuple[Fact, ...] | None = None
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReinforceFact:
    """Say how sure fact *id* is from now on, and when it was last confirmed."""

    id: int
    confidence: float
    last_reinforced: datetime
    detail: Mapping[str, object] = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """Say what became of memory *id* after it was recalled."""

    id: int
    verdict: Literal["used", "useful", "wrong"]
    session: str | None = None
    query: str | None = None


Write = Insert | Revise | Merge | Forget | Restore | ReinforceFact | Feedback


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One piece of a source, and the memory that holds its words."""

    digest: bytes
    memory_id: int
    section: str | None = None
