"""Take secrets out of a whole memory: its words, its title, what stood around it, what was said about it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from recollect.records import Context, Memory
from recollect.remember.redact import redact


def conceal(memory: Memory) -> tuple[Memory, int]:
    """Return *memory* without its secrets, itself if it has none, and how many were its own.

    Those of its neighbours are taken out of its context too, and counted where they belong.
    """
    taken: dict[str, Any] = {}
    count = 0
    for name in ("content", "title", "section"):
        text = getattr(memory, name)
        found = redact(text) if text else None
        if found is not None and found.count:
            taken[name] = found.text
            count += found.count if name != "section" else 0
    tags, in_tags = _values(memory.tags)
    metadata, in_metadata = _values(memory.metadata)
    if in_tags:
        taken["tags"] = tuple(tags)
    if in_metadata:
        taken["metadata"] = metadata
    around = _context(memory.context)
    if around is not memory.context:
        taken["context"] = around
    return (replace(memory, **taken) if taken else memory), count + in_tags + in_metadata


def _context(context: Context) -> Context:
    if context == Context():
        return context
    before, after, around = (redact(text) for text in (context.before, context.after, context.around))
    if not (before.count or after.count or around.count):
        return context
    return Context(before=before.text, after=after.text, around=around.text)


def _values(value: Any, key: str = "") -> tuple[Any, int]:
    """Return *value*, however deep, without the secrets in its texts, and how many there were."""
    if isinstance(value, str):
        return _assigned(key, value)
    if isinstance(value, Mapping):
        pairs = {name: _values(each, str(name)) for name, each in value.items()}
        return {name: each for name, (each, _) in pairs.items()}, sum(count for _, count in pairs.values())
    if isinstance(value, list | tuple):
        parts = [_values(each, key) for each in value]
        return [each for each, _ in parts], sum(count for _, count in parts)
    return value, 0


def _assigned(key: str, value: str) -> tuple[str, int]:
    """Return the text under *key* without secrets; a key such as `password` makes one of what else would not be."""
    alone = redact(value)
    named = redact(f"{key}={value}") if key and not alone.count else alone
    if named.count and not alone.count and named.text.startswith(f"{key}="):
        return named.text.removeprefix(f"{key}="), named.count
    return alone.text, alone.count
