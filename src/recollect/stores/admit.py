"""Which memories a question admits: what Scope and Where mean, once, in Python."""

from recollect.records import Memory, Scope, Where


def in_scope(memory: Memory, scope: Scope) -> bool:
    """Return whether a reader with *scope* may see *memory*."""
    return scope.projects is None or memory.project in scope.projects


def admits(where: Where, memory: Memory) -> bool:
    """Return whether *memory* is one of those wanted."""
    return (
        (where.include_superseded or memory.superseded_by is None)
        and (where.kinds is None or memory.kind in where.kinds)
        and (where.types is None or memory.type in where.types)
        and (where.tags is None or any(tag in memory.tags for tag in where.tags))
        and (where.sources is None or any(comes_from(memory.source, wish) for wish in where.sources))
        and (where.since is None or memory.when >= where.since)
        and (where.until is None or memory.when < where.until)
    )


def comes_from(source: str | None, wish: str) -> bool:
    """Return whether *source* is *wish*, lies below it, or ends with it as a path."""
    if source is None:
        return False
    return lies_below(source, wish) or source.endswith("/" + wish)


def lies_below(source: str, folder: str) -> bool:
    """Return whether *source* is *folder* or lies below it."""
    return source == folder or source.startswith(folder.rstrip("/") + "/")
