"""Take secrets out of a memory, field by field, and say how many were in each."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from recollect.records import Context, Memory
from recollect.remember.secret_rules import find_secrets, replace_secrets


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactedText:
    """A text without its secrets, and how many were taken."""

    text: str
    count: int


def redact_text(text: str, key: str = "") -> RedactedText:
    """Return *text* with each secret replaced by `[redacted:<kind>]`; *key* is the name that it stands under."""
    spans = find_secrets(text, key)
    return RedactedText(text=replace_secrets(text, spans), count=len(spans))


_OWN: Final = ("content", "title", "tags", "metadata")
_REDACTED: Final = (*_OWN, "section", "context")


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactedMemory:
    """A memory without its secrets, and how many were taken out of each field that had any."""

    memory: Memory
    counts: Mapping[str, int]

    @property
    def count(self) -> int:
        """How many secrets were the memory's own: a section and its neighbours' words are counted where they belong."""
        return sum(self.counts.get(field, 0) for field in _OWN)


def redact_memory(memory: Memory) -> RedactedMemory:
    """Return *memory* with the secrets of every field replaced; itself if it has none."""
    changed: dict[str, Any] = {}
    counts: dict[str, int] = {}
    for field in _REDACTED:
        if value := getattr(memory, field):
            redacted, count = _redact_value(value)
            if count:
                changed[field], counts[field] = redacted, count
    return RedactedMemory(memory=replace(memory, **changed) if changed else memory, counts=counts)


def _redact_value(value: Any, key: str = "") -> tuple[Any, int]:
    """Return *value*, however deep, without the secrets in its texts, and how many there were."""
    if isinstance(value, str):
        redacted = redact_text(value, key)
        return redacted.text, redacted.count
    if isinstance(value, Mapping):
        pairs = {name: _redact_value(each, str(name)) for name, each in value.items()}
        return {name: each for name, (each, _) in pairs.items()}, sum(count for _, count in pairs.values())
    if isinstance(value, list | tuple):
        parts = [_redact_value(each, key) for each in value]
        return type(value)(each for each, _ in parts), sum(count for _, count in parts)
    if isinstance(value, Context) and value != Context():
        (before, after, around), count = _redact_value([value.before, value.after, value.around])
        return Context(before=before, after=after, around=around), count
    return value, 0
