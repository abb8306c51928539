"""Read the conversations in an export of an assistant, one at a time: a JSON file, or the archive it came in."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Final

from recollect.errors import FileError
from recollect.lazy import regex
from recollect.records import Memory
from recollect.remember.find_files import open_file
from recollect.remember.formats.archive import open_archive
from recollect.remember.formats.format import HEAD_BYTES, Glimpse
from recollect.remember.formats.json_stream import Item, JsonError, JsonStream
from recollect.remember.formats.record import Origin, Parsed, Record
from recollect.remember.formats.transcript import MAX_RECORD_BYTES, Session, has_key
from recollect.remember.formats.turns import conversation
from recollect.remember.formats.values import TooMuch

_MEMBER: Final = regex(r"(?:.*/)?conversations[-_.\w]{0,40}\.json")
_BATCH_MEMORIES: Final = 300


Fill = Callable[[Record, Session], bool]
"""Fills a session from the record of a conversation; returns whether it is one."""


def read_conversations(path: Path, origin: Origin, fill: Fill, *, agent: str) -> Iterator[Parsed]:
    """Yield the memories of the conversations in the file at *path*, some hundred at a time."""
    memories: list[Memory] = []
    seen = Session()
    with _texts(path) as texts:
        for text in texts:
            for record in _records(text, seen):
                memories += _memories(record, seen, origin, fill, agent)
                if len(memories) >= _BATCH_MEMORIES:
                    yield Parsed(memories=tuple(memories))
                    memories = []
    yield Parsed(memories=tuple(memories), problems=tuple(seen.problems), skipped=seen.skipped)


def _memories(record: Record, seen: Session, origin: Origin, fill: Fill, agent: str) -> tuple[Memory, ...]:
    one = Session(skipped=seen.skipped)
    if not fill(record, one):
        seen.skipped["unknown record"] += 1
        return ()
    thread = f"{agent}:{one.id}" if one.id else f"{agent}:{one.title}"
    return conversation(one.said, origin, thread=thread, title=one.title, tags=(agent,))


# --- signs ----------------------------------------------------------------------------------


def begins_with(glimpse: Glimpse, *keys: str) -> bool:
    """Tell whether a JSON file, or the conversations in an archive, begin with a record that has these *keys*."""
    text = _packed_head(glimpse) if glimpse.suffix == ".zip" else glimpse.text
    return bool(re.match(r"\s*(?:\[\s*)?\{", text)) and all(has_key(text, key) for key in keys)


def _packed_head(glimpse: Glimpse) -> str:
    if not _conversations_in(glimpse.members):
        return ""
    try:
        with _texts(glimpse.path) as texts:
            return next(texts).read(HEAD_BYTES)
    except FileError:
        return ""


# --- texts ----------------------------------------------------------------------------------


@contextmanager
def _texts(path: Path) -> Iterator[Iterator[TextIOWrapper]]:
    """Open the conversations: the file itself, or the members of the archive, unpacked as they are read."""
    if path.suffix.lower() == ".zip":
        with open_archive(path) as archive:
            yield (_text(archive.open(each)) for each in _conversations_in(archive.names))
    else:
        with open_file(path) as file:
            yield iter([_text(file)])


def _text(file: IO[bytes]) -> TextIOWrapper:
    return TextIOWrapper(file, encoding="utf-8-sig", errors="replace")


def _conversations_in(names: Iterable[str]) -> list[str]:
    return sorted(filter(_MEMBER.fullmatch, names))


# --- records --------------------------------------------------------------------------------


def _records(text: TextIOWrapper, seen: Session) -> Iterator[Record]:
    """Yield the records of a list, or the only one; what follows a mistake is lost and reported."""
    stream = JsonStream(text, max_value_chars=MAX_RECORD_BYTES)
    try:
        items = stream.items() if stream.peek() == "[" else iter([stream.value()] if stream.peek() else [])
        for each in items:
            yield from _record(each, seen)
    except JsonError as error:
        seen.problems.append(f"it is broken off or damaged: {error}")


def _record(item: Item, seen: Session) -> Iterator[Record]:
    try:
        value = item.plain()
    except TooMuch as error:
        seen.problems.append(f"a conversation cannot be read: {error}")
        return
    if isinstance(value, dict):
        yield value
    else:
        seen.skipped["unknown record"] += 1
