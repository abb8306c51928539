"""Take secrets out of all that is stored, field by field, and say which kind stood in which field, never what it was.

Words lose a secret to a mark (`[redacted:github]`). A name, by which something is found again (an id, a source, a
project, a session, a key), gets a mark with a short digest (`[redacted:github:3f2a9c1d]`), so that two names stay two
and the same name is the same at the next import. See docs/decisions/0009.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from hashlib import blake2b
from operator import attrgetter
from typing import Any, ClassVar, Final, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import fields, replace

from recollect.errors import StoreError
from recollect.records import MTIME, OBSERVED_FROM, Context, Memory
from recollect.remember.secret_looks import is_random
from recollect.remember.secret_rules import MARK, SecretSpan, find_secrets, replace_secrets
from recollect.stores.contract import Store

Record = TypeVar("Record")
Digest = Callable[[str], str]
"""What tells one secret from another in a name; blank where nothing may."""

WORDS: Final = frozenset({"content", "title", "tags", "section", "context", "metadata", "since", "until"})
"""The fields that are words; all others are names."""
SHARED: Final = frozenset({"source", "project", "type", "kind", "thread"})
"""What all memories of a file have alike: told once."""
_NEIGHBOURS: Final = frozenset({"section", "context"})
"""What belongs to other memories and is counted there."""
_PATHS: Final = frozenset({"source", "sources"})
_ALONE: Final = Memory(content="").context
_OURS: Final = {OBSERVED_FROM: MTIME}
_KIND: Final = "redaction"
_LONG, _SHORT = 4, 2
"""How many bytes of its digest stand for a secret that only chance can have made, and for one a person thought of."""


class FoundSecret(Struct, frozen=True, kw_only=True):
    """What kind of secret stood in which field of which memory, and where that came from."""

    json_members: ClassVar[str] = "field kind id=memory_id source"

    field: str
    kind: str
    memory_id: int = 0
    source: str | None = None


class RedactedText(Struct, frozen=True, kw_only=True):
    """A text without its secrets, and the kinds of those that were taken."""

    text: str
    kinds: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many there were."""
        return len(self.kinds)


class Redacted(Struct, Generic[Record], frozen=True, kw_only=True):
    """A record without its secrets, and where each one stood."""

    record: Record
    secrets: tuple[FoundSecret, ...] = ()

    @property
    def own(self) -> tuple[FoundSecret, ...]:
        """Those that were its own: a section and its neighbours' words are told of where they belong."""
        return tuple(each for each in self.secrets if each.field not in _NEIGHBOURS)


# --- texts and names ------------------------------------------------------------------------


def redact_text(text: str, key: str = "") -> RedactedText:
    """Return *text* with each secret replaced by `[redacted:<kind>]`; *key* is the name that it stands under."""
    spans = find_secrets(text, key)
    return RedactedText(text=replace_secrets(text, spans), kinds=tuple(span.kind for span in spans))


def redact_name(text: str, digest: Digest, *, path: bool = False) -> RedactedText:
    """Return a name with each secret replaced by `[redacted:<kind>:<digest>]`; a *path* loses them part by part."""
    spans = _found_in_name(text, path=path)
    pieces, last = [], 0
    for span in spans:
        told = digest(text[span.start : span.stop])
        pieces += [text[last : span.start], f"{MARK}{span.kind}{told and f':{told}'}]"]
        last = span.stop
    return RedactedText(text="".join([*pieces, text[last:]]), kinds=tuple(span.kind for span in spans))


def _found_in_name(text: str, *, path: bool) -> tuple[SecretSpan, ...]:
    return () if text.isalpha() or text.isdigit() else _name_spans(text, path=path)  # a number is an id, not a card


@lru_cache(maxsize=256)
def _name_spans(text: str, *, path: bool) -> tuple[SecretSpan, ...]:
    """Return the secrets of a name; those of a path by its parts, so that a folder is called alike in all below it."""
    return (tuple(_spans_of_parts(text)) if path and "://" not in text else ()) or find_secrets(text)


# The folders of a file are those of many.
_part_spans: Final = lru_cache(maxsize=1024)(find_secrets)


def _spans_of_parts(path: str) -> Iterator[SecretSpan]:
    at = 0
    for part in path.split("/"):
        for span in _part_spans(part):
            yield replace(span, start=at + span.start, stop=at + span.stop)
        at += len(part) + 1


def no_digest(_: str) -> str:
    """Return nothing: names are marked alike."""
    return ""


def digests_of(store: Store) -> Digest:
    """Return how the names of *store* tell secrets apart: by a digest cut short, with a key of the store's own."""

    def digest(secret: str) -> str:
        size = _LONG if is_random(secret, 16) else _SHORT
        try:
            key = _key(store)
        except StoreError:  # a store that cannot be written to has nothing to tell apart
            return ""
        return blake2b(secret.encode("utf-8", "replace"), key=key, digest_size=16).hexdigest()[: 2 * size]

    return digest


def _key(store: Store) -> bytes:
    kept = store.notes(_KIND).get("key")
    if kept is None:
        with store.transaction({""}):
            kept = store.notes(_KIND).get("key") or {"hex": os.urandom(16).hex()}
            store.put_note(_KIND, "key", kept)
    return bytes.fromhex(kept["hex"])


# --- whole records --------------------------------------------------------------------------


def redact_record(record: Record, digest: Digest = no_digest) -> Redacted[Record]:
    """Return a memory or a lens with the secrets of every field replaced; itself if it has none."""
    changed: dict[str, Any] = {}
    found: list[FoundSecret] = []
    kind: Any = type(record)
    names, values_of, usual = _fields(kind)
    for name, value, default in zip(names, values_of(record), usual, strict=True):
        if value and value is not default and _may_hold_secrets(name, value):
            reader = _Reader(name, digest)
            redacted = reader.read(value)
            if reader.found:
                changed[name] = redacted
                found += reader.found
    return Redacted(record=replace(record, **changed) if changed else record, secrets=tuple(found))  # type: ignore[type-var]


@cache
def _fields(record: Any) -> tuple[tuple[str, ...], Callable[[object], tuple[Any, ...]], tuple[Any, ...]]:
    """Return the names of the fields of a record, how they are read, and how they come by default."""
    names = record.__struct_fields__
    return names, attrgetter(*names), tuple(each.default for each in fields(record))


def _may_hold_secrets(field: str, value: object) -> bool:
    """Return whether *value* is worth reading; nearly all are not, and an import has many."""
    if isinstance(value, str):
        return bool(find_secrets(value) if field in WORDS else _found_in_name(value, path=field in _PATHS))
    if isinstance(value, Mapping):
        return value != _OURS
    return isinstance(value, tuple) or (isinstance(value, Context) and value != _ALONE)


class _Reader:
    """Takes the secrets out of one field, however deep, and keeps what it found."""

    def __init__(self, field: str, digest: Digest) -> None:
        self._field, self._digest = field, digest
        self.found: list[FoundSecret] = []

    def read(self, value: Any, key: str = "") -> Any:
        if isinstance(value, str):
            return self._taken(self._redacted(value, key), self._field)
        if isinstance(value, Mapping):
            return {self._key(name): self.read(each, str(name)) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self.read(each, key) for each in value)
        if isinstance(value, Context):
            before, after, around = (self.read(text) for text in (value.before, value.after, value.around))
            return Context(before=before, after=after, around=around)
        return value

    def _redacted(self, text: str, key: str) -> RedactedText:
        if self._field in WORDS:
            return redact_text(text, key)
        return redact_name(text, self._digest, path=self._field in _PATHS)

    def _key(self, name: Any) -> Any:
        return self._taken(redact_name(name, self._digest), f"{self._field} key") if isinstance(name, str) else name

    def _taken(self, redacted: RedactedText, field: str) -> str:
        self.found += [FoundSecret(field=field, kind=kind) for kind in redacted.kinds]
        return redacted.text
