"""Make a draft fit to be kept: no half characters, no blank edges, numbers in their bounds."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from recollect.errors import InputError
from recollect.records import Context, Memory

_HALF = re.compile("[\ud800-\udfff]")
LARGEST = 10 * 1024 * 1024
"""The most characters one memory may have."""


def tidy(memory: Memory) -> Memory:
    """Return *memory* ready to be kept, itself where it already is; a blank or far too long one is refused."""
    content = whole(memory.content).strip()
    if not content:
        raise InputError("there is nothing to remember: the text is blank", hint="give it some words")
    if len(content) > LARGEST:
        raise InputError(f"the text is too long: {len(content):,} characters", hint="import it as a file instead")
    ready: dict[str, Any] = {
        "content": content,
        "title": _line(memory.title),
        "project": _line(memory.project) or "default",
        "type": _line(memory.type) or "note",
        "kind": _line(memory.kind) or "memory",
        "tags": _tags(memory.tags),
        "source": memory.source and whole(memory.source),
        "section": memory.section and whole(memory.section),
        "external_id": memory.external_id and whole(memory.external_id),
        "confidence": min(1.0, max(0.0, memory.confidence)),
        "context": _around(memory.context),
        # Always a copy of its own: what the caller does to his must not reach a store.
        "metadata": _clean(memory.metadata) if memory.metadata else memory.metadata,
    }
    changed = {name: value for name, value in ready.items() if value is not getattr(memory, name)}
    return replace(memory, **changed) if changed else memory


def _around(context: Context) -> Context:
    before, after, around = whole(context.before), whole(context.after), whole(context.around)
    same = before is context.before and after is context.after and around is context.around
    return context if same else Context(before=before, after=after, around=around)


def whole(text: str) -> str:
    """Return *text* without lone surrogates and NULs, which no file and no other program can carry."""
    if text.isascii():
        return text.replace("\0", " ") if "\0" in text else text
    return _HALF.sub("\N{REPLACEMENT CHARACTER}", text).replace("\0", " ")


def _line(text: str) -> str:
    line = " ".join(whole(text).split())
    return text if line == text else line


def _tags(tags: tuple[str, ...]) -> tuple[str, ...]:
    lines = tuple(dict.fromkeys(tag for tag in map(_line, tags) if tag))
    return tags if lines == tags else lines


def _clean(value: object) -> Mapping[str, object]:
    cleaned = _clean_value(value)
    return cleaned if isinstance(cleaned, dict) else {}


def _clean_value(value: object) -> object:
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, Mapping):
        return {whole(str(key)): _clean_value(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_clean_value(each) for each in value]
    return value if isinstance(value, bool | int | float | None) else str(value)
