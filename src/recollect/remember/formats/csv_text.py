"""Read tables: one memory for each row, with the header's names as keys."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, dropwhile
from pathlib import Path
from threading import Lock
from typing import Final

from recollect.records import Memory
from recollect.remember.find_files import MAX_DOCUMENT_BYTES, lines_of
from recollect.remember.formats.batches import batches
from recollect.remember.formats.record import CONTENT, FIELDS, Origin, Parsed, Record, as_memory
from recollect.remember.formats.values import clean

_DELIMITERS: Final = ",;\t|"
_FIELD_LIMIT_LOCK: Final = Lock()
_REMARK: Final = "note"
_KNOWN: Final = frozenset((*CONTENT, *(name for names, _ in FIELDS.values() for name in names)))


def csv_parts(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield one memory for each row of a file of any size, in parts; the header's favorite delimiter is used."""
    for memories, problems in batches(_memories(lines_of(path), origin)):
        yield Parsed(memories=tuple(memories), problems=tuple(problems))


def _memories(
    lines: Iterable[tuple[int, str | None]], origin: Origin
) -> Iterator[tuple[Memory | None, str | None, int]]:
    """Yield the memory of each row, and how long the row is; a mistake ends the table and is reported."""
    coming = dropwhile(lambda line: line[1] == "", lines)
    number, first = next(coming, (1, ""))
    texts = chain([first], (line for _, line in coming))
    reader = csv.reader((_within(line) for line in texts), delimiter=max(_DELIMITERS, key=(first or "").count))
    try:
        rows = _rows(reader)
        header = _names(next(rows, ()))
        last = reader.line_num
        for row in rows:
            line, last = number + last, reader.line_num
            record = _record(header, row)
            memory = as_memory(record, origin=origin, line=line, names=_content_names(record))
            yield memory, None, sum(map(len, row))
    except csv.Error as error:
        yield None, f"line {number - 1 + reader.line_num}: not CSV ({error})", 0


def _rows(reader: Iterator[list[str]]) -> Iterator[list[str]]:
    """Yield the rows of *reader*, with fields as long as a file may be.

    The module's limit of 128 KB is the whole process's: it is put back before anybody else reads a table.
    """
    while True:
        with _FIELD_LIMIT_LOCK:
            usual = csv.field_size_limit(MAX_DOCUMENT_BYTES)
            try:
                row = next(reader, None)
            finally:
                csv.field_size_limit(usual)
        if row is None:
            return
        yield row


def _within(line: str | None) -> str:
    """Return *line* with its end, unless it is too long to be one."""
    if line is None:
        raise csv.Error(f"a line of more than {MAX_DOCUMENT_BYTES // 2**20} MB")
    return f"{line}\n"


def _record(header: Sequence[str], row: Sequence[str]) -> Record:
    """Return the cells of *row* that are not blank, by name; cells beyond the header are numbered."""
    names = (*header, *(f"column {number}" for number in range(len(header) + 1, len(row) + 1)))
    return {name: clean(cell) for name, cell in zip(names, row, strict=False) if cell and not cell.isspace()}


def _content_names(record: Record) -> tuple[str, ...]:
    """Return the possible names of a row's content: next to several unknown columns, `note` is only a remark."""
    own = [name for name in record if name.lower() not in _KNOWN]
    return tuple(name for name in CONTENT if name != _REMARK) if len(own) > 1 else CONTENT


def _names(row: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the columns, each once: a blank one counts, a repeated one is numbered."""
    names: dict[str, None] = {}
    for number, cell in enumerate(row, start=1):
        name = " ".join(cell.split()) or f"column {number}"
        while name in names:
            name = f"{name} {number}"
        names[name] = None
    return tuple(names)
