"""What is remembered: a memory, what it states, what became of it."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final, Literal

NEVER: Final = datetime.fromtimestamp(0, UTC)
NOTHING: Final[Mapping[str, object]] = MappingProxyType({})

Form = Literal["stem", "exact"]
Trust = Literal["owner", "agent", "untrusted"]
Decision = Literal["distinct", "identical", "restates", "updates", "conflicts"]

FIELDS: Final = ("title", "body", "before", "after", "around", "section", "tags", "path", "date", "extra")
"""The columns of the keyword index: where a word may stand, and so what it may weigh."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What stood around a memory where it was found: the turns before and after it, and those beyond."""

    before: str = ""
    after: str = ""
    around: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One remembered thing; its id is 0 until a store has given it one."""

    content: str
    id: int = 0
    external_id: str | None = None
    kind: str = "memory"
    project: str = "default"
    type: str = "note"
    title: str = ""
    tags: tuple[str, ...] = ()
    source: str | None = None
    line: int | None = None
    section: str | None = None
    confidence: float = 0.8
    pinned: bool = False
    trust: Trust = "owner"
    thread: str | None = None
    turn: int | None = None
    context: Context = Context()
    metadata: Mapping[str, object] = field(default_factory=lambda: NOTHING)
    created_at: datetime = NEVER
    updated_at: datetime = NEVER
    observed_at: datetime | None = None
    deleted_at: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    superseded_by: int | None = None
    superseded_at: datetime | None = None

    @property
    def when(self) -> datetime:
        """When it was true: the date it speaks of, else the date it was written down."""
        return self.observed_at or self.created_at

    @property
    def digest(self) -> bytes:
        """What its words are known by; runs of white space do not matter."""
        return digest(self.content)

    @property
    def heading(self) -> str:
        """What stands above its words for an embedder: the title, on a line of its own."""
        return f"{self.title}\n" if self.title else ""

    @property
    def meaning(self) -> bytes:
        """What its vectors were made from: title and words."""
        return digest(self.heading + self.content)


def digest(text: str) -> bytes:
    """Return what *text* is known by; runs of white space do not matter."""
    words = " ".join(text.split())
    return hashlib.blake2b(words.encode("utf-8", "surrogatepass"), digest_size=16).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One change of one memory."""

    memory_id: int
    verb: str
    at: datetime
    detail: Mapping[str, object] = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """What a memory states: subject, predicate, object; how sure it is, and how fast that fades."""

    subject: str
    predicate: str
    object: str
    type: str
    confidence: float
    decay_rate: float
    quote: str = ""
    id: int = 0
    memory_id: int = 0
    last_reinforced: datetime = NEVER
    state: Literal["active", "superseded"] = "active"
