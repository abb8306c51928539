"""Read tables: one memory for each row, with the header's names as keys."""

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Final

from recollect.remember.formats.record import CONTENT, FIELDS, Origin, Parsed, Record, as_memory
from recollect.remember.formats.values import clean

_DELIMITERS: Final = ",;\t|"
_LARGEST: Final = 2**31 - 1
_REMARK: Final = "note"
_KNOWN: Final = frozenset((*CONTENT, *(name for names, _ in FIELDS.values() for name in names)))


def read_csv(text: str, origin: Origin) -> Parsed:
    """Return one memory for each row that says something; the delimiter is the one the header uses most."""
    problems: list[str] = []
    memories = (
        as_memory(record, origin=origin, line=line, names=_content_names(record))
        for line, record in _records(text, problems)
    )
    return Parsed(memories=tuple(filter(None, memories)), problems=tuple(problems))


def _records(text: str, problems: list[str]) -> Iterator[tuple[int, Record]]:
    """Yield each row as a record, with the line it begins on; a mistake ends the table and is one of *problems*."""
    # The module's own limit of 128 KB a field would refuse files that we accept.
    csv.field_size_limit(_LARGEST)
    body = text.lstrip("\n")
    skipped = len(text) - len(body)
    reader = csv.reader(io.StringIO(body), delimiter=max(_DELIMITERS, key=body.split("\n", 1)[0].count))
    try:
        header = _names(next(reader, ()))
        last = reader.line_num
        for row in reader:
            line, last = skipped + last + 1, reader.line_num
            yield line, _record(header, row)
    except csv.Error as error:
        problems.append(f"line {skipped + reader.line_num}: not CSV ({error})")


def _record(header: Sequence[str], row: Sequence[str]) -> Record:
    """Return the cells of *row* that hold something, by name; cells beyond the header count on."""
    names = (*header, *(f"column {number}" for number in range(len(header) + 1, len(row) + 1)))
    return {name: clean(cell) for name, cell in zip(names, row, strict=False) if cell and not cell.isspace()}


def _content_names(record: Record) -> tuple[str, ...]:
    """Return the names that a row's content may have: beside several columns of their own a note is a mere remark."""
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
