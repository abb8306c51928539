"""Yield the contents of a file in portions, so that memory stays bounded however long the file is."""

from collections import Counter
from collections.abc import Iterable, Iterator
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar

from recollect.errors import FileError
from recollect.records import Memory
from recollect.remember.find_files import open_file, read_text, shown
from recollect.remember.formats.chat import Threads
from recollect.remember.formats.json_stream import JsonStream, decode
from recollect.remember.formats.record import Exported, Origin, Parsed, Record
from recollect.remember.formats.transcript import ReadLog, records_of
from recollect.remember.formats.turns import Said, turns_of

T = TypeVar("T")
PORTION_MEMORIES: Final = 500
MAX_LINE_BYTES: Final = 10 * 1024 * 1024


def portions(values: Iterable[T], size: int = PORTION_MEMORIES) -> Iterator[tuple[T, ...]]:
    """Yield *values* in tuples of at most *size*."""
    left = iter(values)
    while portion := tuple(islice(left, size)):
        yield portion


Made = tuple[Memory, Exported | None] | str
"""The memory of a record and what the record says beyond it, or why the record is skipped."""


def in_parts(made: Iterable[Made]) -> Iterator[Parsed]:
    """Yield memories in parts, and count skipped records by their reason."""
    for portion in portions(made):
        kept = [each for each in portion if not isinstance(each, str)]
        yield Parsed(
            memories=tuple(memory for memory, _ in kept),
            exported={at: about for at, (_, about) in enumerate(kept) if about is not None},
            skipped=Counter(each for each in portion if isinstance(each, str)),
        )


def long_conversation(
    said: Iterable[Said], origin: Origin, *, thread: str, title: str = ""
) -> Iterator[tuple[Memory, ...]]:
    """Yield the memories of one conversation of any length, each with its neighbors, also across portions."""
    threads = Threads()
    for portion in portions(turns_of(said, origin, thread=thread, title=title)):
        yield tuple(threads.add(portion))
    yield tuple(threads.end())


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


class RecordLines(ReadLog, kw_only=True):
    """The records of a JSONL file, one a line, and the problems with other lines."""

    path: Path

    def records(self) -> Iterator[tuple[int, Record]]:
        """Yield each line that is an object, with its number."""
        with open_file(self.path) as file:
            yield from records_of(file, self)

    def report(self) -> Parsed:
        """Return the problems and counts of skipped lines so far."""
        return Parsed(problems=tuple(self.problems), skipped=self.skipped)


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of the file at *path* with their numbers; one that is too long raises FileError."""
    with open_file(path) as file:
        number = 0
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(line) > MAX_LINE_BYTES:
                raise FileError(f"{shown(path)} line {number} is too long", hint="the limit of a line is 10 MB")
            yield number, line


# --- records --------------------------------------------------------------------------------


def records_in(value: object) -> list[Record]:
    """Return the records in a list; none if it is something else."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def text_at(record: object, *path: str) -> str:
    """Return the text that *record* has at *path*, stripped; nothing if there is none."""
    for key in path:
        record = record.get(key) if isinstance(record, dict) else None
    return record.strip() if isinstance(record, str) else ""
