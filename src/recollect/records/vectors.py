"""Vectors, and what they find."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A piece of a memory's content, content[start:stop], and its vector: little-endian float32."""

    start: int
    stop: int
    vector: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """The passages of one memory, and what they were made from, so that an edit in between is noticed."""

    memory_id: int
    meaning: bytes
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """The vectors that one model made: which model, how wide, of how many live memories, how many are missing."""

    fingerprint: str
    dimensions: int
    model: str
    memories: int = 0
    pending: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """A memory near in meaning: the cosine of its best passage, and where that passage stands in its content."""

    id: int
    cosine: float
    start: int
    stop: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Nears:
    """The nearest, nearest first; those asked for by id; how many were compared, and how many had no vector."""

    top: tuple[Near, ...] = ()
    also: Mapping[int, Near] = field(default_factory=dict)
    total: int = 0
    missing: int = 0
