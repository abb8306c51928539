"""Hand on what a file holds in portions, so that memory stays bounded however long the file is."""

import codecs
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from recollect.errors import FileError
from recollect.records import Memory
from recollect.remember.find_files import read_text, shown
from recollect.remember.formats.json_text import decode
from recollect.remember.formats.record import Origin, Parsed, Record
from recollect.remember.formats.turns import Said, conversation

T = TypeVar("T")
PORTION: Final = 500
"""How many memories are handed on at once."""
LONGEST_LINE: Final = 10 * 1024 * 1024
"""How many bytes one line of a file may have."""
_REACH: Final = 2
"""How many turns on each side are a turn's context."""


def portions(values: Iterable[T], size: int = PORTION) -> Iterator[tuple[T, ...]]:
    """Yield *values* in tuples of at most *size*."""
    left = iter(values)
    while portion := tuple(islice(left, size)):
        yield portion


def long_conversation(
    said: Iterable[Said], origin: Origin, *, thread: str, title: str = "", size: int = PORTION
) -> Iterator[tuple[Memory, ...]]:
    """Yield the memories of one conversation of any length, each with its neighbours also across two portions."""
    held: list[tuple[int, Said]] = []
    known = 0
    for each in enumerate((each for each in said if each.words.strip()), start=1):
        held.append(each)
        if len(held) == known + size + _REACH:
            yield _cut(held, origin, thread=thread, title=title)[known : known + size]
            held = held[known + size - _REACH :]
            known = _REACH
    yield _cut(held, origin, thread=thread, title=title)[known:]


def _cut(held: Sequence[tuple[int, Said]], origin: Origin, *, thread: str, title: str) -> tuple[Memory, ...]:
    made = conversation((said for _, said in held), origin, thread=thread, title=title)
    return tuple(replace(memory, turn=turn) for memory, (turn, _) in zip(made, held, strict=True))


# --- JSON -----------------------------------------------------------------------------------


def json_document(path: Path) -> object:
    """Return the one value in the file at *path*; what is no JSON raises FileError."""
    try:
        return decode(read_text(path))
    except ValueError as error:
        said = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise FileError(f"{shown(path)} is not JSON: {said}", hint="check it with: python -m json.tool") from error


def array_in(path: Path, key: str) -> Iterator[object]:
    """Yield what stands before the array *key* of the object in the file at *path*, then each element of the array.

    The file is never held as a whole. What is no such object, or ends too early, raises FileError.
    """
    text = _Text(path)
    opening = text.find(re.compile(rf'"{key}"\s*:\s*\['))
    head = text.held[: opening.start()].rstrip().rstrip(",").lstrip("\ufeff")
    text.at = opening.end()
    yield _decoded(f"{head}}}", path)
    while (mark := text.find(_NEXT))[0] != "]":
        text.at = mark.end() if mark[0] == "," else mark.start()
        if mark[0] != ",":
            yield text.value()


_NEXT: Final = re.compile(r"\S")


class _Text:
    """The text of a file, held only from about where it is being read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.held = ""
        self.at = 0
        self._pieces = _pieces(path)

    def find(self, pattern: re.Pattern[str]) -> re.Match[str]:
        """Return where *pattern* comes next."""
        while (found := pattern.search(self.held, self.at)) is None:
            self._read_on()
        return found

    def value(self) -> object:
        """Return the value that begins here, and go behind it."""
        while True:
            try:
                _, end = _DECODER.raw_decode(self.held, self.at)
            except (ValueError, RecursionError):
                self._read_on()
                continue
            raw, self.at = self.held[self.at : end], end
            return _decoded(raw, self.path)

    def _read_on(self) -> None:
        piece = next(self._pieces, "")
        if not piece or len(self.held) - self.at > LONGEST_LINE:
            raise FileError(f"{shown(self.path)} is not whole JSON", hint="check it with: python -m json.tool")
        self.held, self.at = self.held[self.at :] + piece, 0


_DECODER: Final = json.JSONDecoder()


def _pieces(path: Path) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    with opened(path) as file:
        while raw := file.read(1024 * 1024):
            yield decoder.decode(raw).replace("\0", "\ufffd")


def _decoded(text: str, path: Path) -> object:
    try:
        return decode(text)
    except ValueError as error:
        raise FileError(f"{shown(path)} is not JSON", hint="check it with: python -m json.tool") from error


class Lines(Struct, kw_only=True):
    """The records of a JSONL file, one a line, and what was wrong with other lines."""

    path: Path
    problems: list[str] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)

    def records(self) -> Iterator[tuple[int, Record]]:
        """Yield each line that is an object, with its number; another value is counted, no JSON is a problem."""
        for number, line in numbered_lines(self.path):
            if not line.strip():
                continue
            try:
                value = decode(line.decode("utf-8-sig"))
            except ValueError as error:
                said = error.msg if isinstance(error, json.JSONDecodeError) else "cannot be decoded"
                self.problems.append(f"line {number}: not JSON ({said})")
                continue
            if isinstance(value, dict):
                yield number, value
            else:
                self.skipped["unknown line"] += 1

    def parsed(self, make: Callable[[int, Record], Memory | None]) -> Iterator[Parsed]:
        """Yield what *make* makes of the records, in portions; a record it makes nothing of is counted."""
        for portion in portions(self.records()):
            made = [make(number, record) for number, record in portion]
            self.skipped["unknown line"] += made.count(None)
            yield Parsed(memories=tuple(each for each in made if each is not None))
        yield Parsed(problems=tuple(self.problems), skipped=+self.skipped)


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of the file at *path* with their numbers; one that has no end raises FileError."""
    with opened(path) as file:
        number = 0
        while line := file.readline(LONGEST_LINE + 1):
            number += 1
            if len(line) > LONGEST_LINE:
                raise FileError(f"{shown(path)} line {number} is too long", hint="the limit of a line is 10 MB")
            yield number, line


def opened(path: Path) -> BinaryIO:
    """Open the file at *path*, or raise FileError; a pipe would never end and a folder has no lines."""
    try:
        if not path.is_file():
            found = "is not a regular file" if path.exists() else "is not there"
            raise FileError(f"{shown(path)} {found}", hint="check the spelling")
        return path.open("rb")
    except (OSError, ValueError) as error:
        said = os.strerror(error.errno).lower() if isinstance(error, OSError) and error.errno else "no such name"
        raise FileError(f"cannot read {shown(path)}: {said}", hint="check the spelling and your rights") from error


# --- records --------------------------------------------------------------------------------


def records_in(value: object) -> list[Record]:
    """Return the records in a list; none where it is something else."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def text_at(record: object, *path: str) -> str:
    """Return the text that *record* has at *path*, its white space around cut; nothing where there is none."""
    for key in path:
        record = record.get(key) if isinstance(record, dict) else None
    return record.strip() if isinstance(record, str) else ""
