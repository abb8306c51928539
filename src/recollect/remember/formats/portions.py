"""Hand on what a file holds in portions, so that memory stays bounded however long the file is."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from recollect.errors import FileError
from recollect.records import Memory
from recollect.remember.find_files import open_file, read_text, shown
from recollect.remember.formats.json_stream import JsonError, JsonStream, decode
from recollect.remember.formats.record import Origin, Parsed, Record
from recollect.remember.formats.turns import Said, conversation

T = TypeVar("T")
PORTION: Final = 500
"""How many memories are handed on at once."""
MAX_LINE_BYTES: Final = 10 * 1024 * 1024
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
    """Return the one value in the file at *path*; raise FileError if it is not JSON."""
    try:
        return decode(read_text(path))
    except ValueError as error:
        raise FileError(f"{shown(path)} is not JSON: {error}", hint="check it with: python -m json.tool") from error


def array_in(path: Path, key: str) -> Iterator[object]:
    """Yield the members before the array *key* of the object in the file at *path*, then each element of the array.

    Only one element is in memory at a time. A file that ends too early raises FileError.
    """
    with open_file(path) as file:
        stream = JsonStream(TextIOWrapper(file, encoding="utf-8-sig", errors="replace"))
        try:
            stream.expect("{")
            head: Record = {}
            while (name := stream.key()) != key:
                head[name] = stream.value().plain()
                stream.expect(",")
            yield head
            for each in stream.items():
                yield each.plain()
        except ValueError as error:
            raise FileError(
                f"{shown(path)} is not whole JSON: {error}", hint="check it with: python -m json.tool"
            ) from error


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
                reason = error if isinstance(error, JsonError) else "cannot be decoded"
                self.problems.append(f"line {number}: not JSON ({reason})")
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
    with open_file(path) as file:
        number = 0
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(line) > MAX_LINE_BYTES:
                raise FileError(f"{shown(path)} line {number} is too long", hint="the limit of a line is 10 MB")
            yield number, line


# --- records --------------------------------------------------------------------------------


def records_in(value: object) -> list[Record]:
    """Return the records in a list; none where it is something else."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def text_at(record: object, *path: str) -> str:
    """Return the text that *record* has at *path*, its white space around cut; nothing where there is none."""
    for key in path:
        record = record.get(key) if isinstance(record, dict) else None
    return record.strip() if isinstance(record, str) else ""
