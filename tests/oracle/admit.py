"""Which memories a question admits: what Scope and Filter mean, once, in Python."""

from collections.abc import Iterable
from datetime import datetime

from recollect.records import Fact, Filter, Memory, Scope


def in_scope(memory: Memory, scope: Scope) -> bool:
    """Return whether a reader with *scope* may see *memory*."""
    return scope.projects is None or memory.project in scope.projects


def covers(reader: Scope, asked: Scope) -> bool:
    """Return whether a reader may see all that a search in the scope *asked* may have seen."""
    return reader.projects is None or (asked.projects is not None and asked.projects <= reader.projects)


def admits(where: Filter, memory: Memory, facts: Iterable[Fact], successor: Memory | None) -> bool:
    """Return whether *memory*, which states *facts* and whose place *successor* took, is one of those wanted."""
    return (
        is_there(memory, where.as_of)
        and (where.include_superseded or not is_superseded(memory, where.as_of, successor))
        and describes(where, memory, facts)
    )


def describes(where: Filter, memory: Memory, facts: Iterable[Fact]) -> bool:
    """Return whether *where* fits *memory*, forgotten, superseded or not."""
    return (
        (where.kinds is None or memory.kind in where.kinds)
        and (where.types is None or memory.type in where.types)
        and (where.tags is None or any(tag in memory.tags for tag in where.tags))
        and (where.sources is None or any(comes_from(memory.source, wish) for wish in where.sources))
        and (where.since is None or memory.when >= where.since)
        and (where.until is None or memory.when < where.until)
        and (where.pinned is None or memory.pinned == where.pinned)
        and (where.fact_types is None or any(fact.type in where.fact_types for fact in facts))
    )


def is_there(memory: Memory, as_of: datetime | None) -> bool:
    """Return whether *memory* is not forgotten; of a moment: whether it was recorded, not forgotten, and valid."""
    if as_of is None:
        return memory.deleted_at is None
    return (
        was_held(memory, as_of)
        and (memory.valid_from is None or memory.valid_from <= as_of)
        and (memory.valid_until is None or memory.valid_until > as_of)
    )


def was_held(memory: Memory, as_of: datetime) -> bool:
    """Return whether *memory* was recorded, or dated by its writer, by then, and not forgotten until later."""
    known = memory.created_at if memory.observed_at is None else min(memory.created_at, memory.observed_at)
    return known <= as_of and (memory.deleted_at is None or memory.deleted_at > as_of)


def is_superseded(memory: Memory, as_of: datetime | None, successor: Memory | None) -> bool:
    """Return whether another memory had taken the place of *memory*, now or at that moment.

    One that its writer dated took it at that date, if not before.
    """
    if memory.superseded_by is None:
        return False
    if as_of is not None and successor is not None and successor.observed_at is not None:
        return successor.observed_at <= as_of or (memory.superseded_at or as_of) <= as_of
    return as_of is None or memory.superseded_at is None or memory.superseded_at <= as_of


def comes_from(source: str | None, wish: str) -> bool:
    """Return whether *source* is *wish*, lies below it, or holds it between its slashes."""
    if source is None:
        return False
    return lies_below(source, wish) or f"/{wish.rstrip('/')}/" in f"{source}/"


def lies_below(source: str, folder: str) -> bool:
    """Return whether *source* is *folder* or lies below it."""
    return source == folder or source.startswith(folder.rstrip("/") + "/")
