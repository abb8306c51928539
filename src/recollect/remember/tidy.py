"""Make a draft fit to be kept: no half characters, no blank edges, numbers in their bounds."""

import re
from collections.abc import Mapping
from dataclasses import replace

from recollect.errors import InputError
from recollect.records import Context, Memory

_HALF = re.compile("[\ud800-\udfff]")
LARGEST = 10 * 1024 * 1024
"""The most characters one memory may have."""


def tidy(memory: Memory) -> Memory:
    """Return *memory* ready to be kept; a blank or far too long one is refused."""
    content = whole(memory.content).strip()
    if not content:
        raise InputError("there is nothing to remember: the text is blank", hint="give it some words")
    if len(content) > LARGEST:
        raise InputError(f"the text is too long: {len(content):,} characters", hint="import it as a file instead")
    return replace(
        memory,
        content=content,
        title=_line(memory.title),
        project=_line(memory.project) or "default",
        type=_line(memory.type) or "note",
        kind=_line(memory.kind) or "memory",
        tags=tuple(dict.fromkeys(tag for tag in map(_line, memory.tags) if tag)),
        source=memory.source and whole(memory.source),
        section=memory.section and whole(memory.section),
        external_id=None if memory.external_id is None else whole(memory.external_id),
        confidence=min(1.0, max(0.0, memory.confidence)),
        context=Context(
            before=whole(memory.context.before),
            after=whole(memory.context.after),
            around=whole(memory.context.around),
        ),
        metadata=_clean(memory.metadata) if memory.metadata else memory.metadata,
    )


def whole(text: str) -> str:
    """Return *text* without lone surrogates and NULs, which no file and no other program can carry."""
    if text.isascii():
        return text.replace("\0", " ") if "\0" in text else text
    return _HALF.sub("\N{REPLACEMENT CHARACTER}", text).replace("\0", " ")


def _line(text: str) -> str:
    return " ".join(whole(text).split())


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
