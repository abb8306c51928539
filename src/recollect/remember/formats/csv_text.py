"""Read tables: one memory for each row, with the header's names as keys."""

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Final

from recollect.remember.find_files import LARGEST
from recollect.remember.formats.record import Entry, Origin, Parsed, as_memory, clean

_DELIMITERS: Final = ",;\t|"


def read_csv(text: str, origin: Origin) -> Parsed:
    """Return one memory for each row that says something; the delimiter is the one the header uses most."""
    memories = []
    problems: list[str] = []
    for entry in _rows(text, problems):
        record = entry.value if isinstance(entry.value, dict) else {}
        memory = as_memory(record, origin=origin, line=entry.line)
        if memory is not None:
            memories.append(memory)
    return Parsed(memories=tuple(memories), problems=tuple(problems))


def _rows(text: str, problems: list[str]) -> Iterator[Entry]:
    # The module's own limit of 128 KB a field would refuse files that we accept.
    csv.field_size_limit(LARGEST)
    body = text.lstrip("\n")
    skipped = len(text) - len(body)
    head = body.split("\n", 1)[0]
    reader = csv.reader(io.StringIO(body), delimiter=max(_DELIMITERS, key=head.count))
    header: Sequence[str] | None = None
    try:
        last = 0
        for row in reader:
            line, last = skipped + last + 1, reader.line_num
            if header is None:
                header = _names(row)
            else:
                yield Entry(value=_record(header, row), line=line)
    except csv.Error as error:
        problems.append(f"line {skipped + reader.line_num}: not CSV ({error})")


def _record(header: Sequence[str], row: Sequence[str]) -> dict[str, object]:
    """Return the cells of *row* that hold something, by name; cells beyond the header count on."""
    names = (*header, *(f"column {number}" for number in range(len(header) + 1, len(row) + 1)))
    return {name: clean(cell) for name, cell in zip(names, row, strict=False) if cell and not cell.isspace()}


def _names(row: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the columns, each once: a blank one counts, a repeated one is numbered."""
    names: dict[str, None] = {}
    for number, cell in enumerate(row, start=1):
        name = " ".join(cell.split()) or f"column {number}"
        while name in names:
            name = f"{name} {number}"
        names[name] = None
    return tuple(names)
