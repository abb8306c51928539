"""Read the conversations in an export of an assistant, one at a time: a JSON file, or the archive it came in."""

import json
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from lzma import LZMAError
from pathlib import Path
from typing import IO, Any, Final
from zipfile import BadZipFile, ZipFile, ZipInfo

from msgspec import Struct, field

from recollect.errors import FileError
from recollect.lazy import regex
from recollect.records import Memory
from recollect.remember.find_files import shown
from recollect.remember.formats.format import HEAD_BYTES, Glimpse
from recollect.remember.formats.record import Origin, Parsed, Record
from recollect.remember.formats.transcript import LONGEST, Session, has_key, opened
from recollect.remember.formats.turns import conversation
from recollect.remember.formats.values import TooMuch, plain

_MEMBER: Final = regex(r"(?:.*/)?conversations[-_.\w]{0,40}\.json")
_BLANK: Final = regex(r"[\s,]*")
_DECODER: Final = json.JSONDecoder(parse_constant=str)
_CHUNK: Final = 1024 * 1024
_ENOUGH: Final = 300
_MOST: Final = 8 * 1024**3
"""How many bytes the conversations in an archive may have, unpacked."""
_RATIO: Final = 200
"""How many times as large as packed they may be."""
_BROKEN: Final = (BadZipFile, OSError, EOFError, RuntimeError, ValueError, LZMAError, struct.error, zlib.error)
"""What an archive raises that is damaged, locked or packed in a way nobody reads."""


class _Batch(Struct, kw_only=True):
    """What was read since the last part was given."""

    memories: list[Memory] = field(default_factory=list)
    session: Session = field(default_factory=Session)

    def parsed(self) -> Parsed:
        """Return it as a part."""
        return Parsed(
            memories=tuple(self.memories), problems=tuple(self.session.problems), skipped=self.session.skipped
        )


Fill = Callable[[Record, Session], bool]
"""How one conversation fills a session; false when the record is none."""


def read_conversations(path: Path, origin: Origin, fill: Fill, *, agent: str) -> Iterator[Parsed]:
    """Yield what the conversations in the file at *path* say, some hundred memories at a time."""
    batch = _Batch()
    with _texts(path) as texts:
        for text in texts:
            for record in _elements(text, batch.session):
                batch.memories += _memories(record, batch.session, origin, fill, agent)
                if len(batch.memories) >= _ENOUGH:
                    yield batch.parsed()
                    batch = _Batch()
    yield batch.parsed()


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
    text = _packed_head(glimpse.path) if glimpse.suffix == ".zip" else glimpse.text
    return bool(re.match(r"\s*(?:\[\s*)?\{", text)) and all(has_key(text, key) for key in keys)


def _packed_head(path: Path) -> str:
    try:
        with ZipFile(path) as archive:
            first = next(iter(_members(archive)), None)
            if first is None:
                return ""
            with archive.open(first) as file:
                return file.read(HEAD_BYTES).decode("utf-8-sig", "ignore")
    except _BROKEN:
        return ""


# --- texts ----------------------------------------------------------------------------------


@contextmanager
def _texts(path: Path) -> Iterator[Iterator[TextIOWrapper]]:
    """Open the texts in which the conversations stand: the file, or those of the archive, unpacked as they are read."""
    with opened(path) as file:
        if path.suffix.lower() != ".zip":
            yield iter([_text(file)])
            return
        try:
            with ZipFile(file) as archive:
                members = _members(archive)
                _refuse_bomb(members, path)
                yield (_text(archive.open(each)) for each in members)
        except FileError:
            raise
        except _BROKEN as error:
            said = " ".join(str(error).split()) or type(error).__name__
            raise FileError(f"{shown(path)} cannot be unpacked: {said}", hint="fetch the export again") from error


def _text(file: IO[bytes]) -> TextIOWrapper:
    return TextIOWrapper(file, encoding="utf-8-sig", errors="replace")


def _members(archive: ZipFile) -> list[ZipInfo]:
    """Return the files with conversations; nothing is ever written, so their paths do not matter."""
    return sorted(
        (each for each in archive.infolist() if _MEMBER.fullmatch(each.filename)), key=lambda each: each.filename
    )


def _refuse_bomb(members: list[ZipInfo], path: Path) -> None:
    size, packed = (sum(getattr(each, name) for each in members) for name in ("file_size", "compress_size"))
    if size > _MOST or size > _CHUNK + packed * _RATIO:
        raise FileError(f"{shown(path)} would become too large: {size / 1024**2:,.0f} MB", hint="unpack it yourself")


# --- elements -------------------------------------------------------------------------------


def _elements(text: TextIOWrapper, seen: Session) -> Iterator[Record]:
    """Yield the records of a list, or the one that there is, holding one of them at a time."""
    buffer = text.read(_CHUNK)
    several = _BLANK.sub("", buffer[:100]).startswith("[")
    at = buffer.find("[") + 1 if several else 0
    while True:
        at = _skipped(buffer, at)
        if at < len(buffer) and buffer[at] == "]":
            return
        value, end, problem = _decoded(buffer, at)
        if problem:
            more = text.read(max(_CHUNK, len(buffer) - at)) if len(buffer) - at <= LONGEST else ""
            if not more:
                if buffer[at:].strip():
                    seen.problems.append(f"it is broken off or damaged: {problem}")
                return
            buffer, at = buffer[at:] + more, 0
            continue
        at = end
        yield from _records(value, seen)
        if not several:
            return


def _records(value: object, seen: Session) -> Iterator[Record]:
    """Yield *value* as any store takes it, if it is a record."""
    try:
        made = plain(value)
    except TooMuch as error:
        seen.problems.append(f"a conversation cannot be read: {error}")
        return
    if isinstance(made, dict):
        yield made
    else:
        seen.skipped["unknown record"] += 1


def _skipped(buffer: str, at: int) -> int:
    blank = _BLANK.match(buffer, at)
    return blank.end() if blank else at


def _decoded(buffer: str, at: int) -> tuple[Any, int, str]:
    """Return the value at a place, where it ends, and why there is none."""
    try:
        value, end = _DECODER.raw_decode(buffer, at)
    except RecursionError:
        return None, at, "nested too deeply"
    except ValueError as error:
        return None, at, getattr(error, "msg", str(error))
    return value, end, "" if end < len(buffer) or isinstance(value, dict | list) else "it ends within a number"
