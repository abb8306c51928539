"""Hits and memories as rows for other programs: a line each as JSON, ids, paths, CSV or Markdown."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from recollect.records import Memory
from recollect.render.text import place_of
from recollect.replies import Hit
from recollect.serialize import serialize

COLUMNS: Final = ("id", "type", "date", "title", "content", "tags", "source", "line", "project", "score")
_ESCAPED: Final = str.maketrans({char: f"\\{char}" for char in "\\`*_[]<>#|"})


def _memory(row: Hit | Memory) -> Memory:
    return row.memory if isinstance(row, Hit) else row


def _jsonl(rows: Sequence[Hit | Memory]) -> Iterator[str]:
    return (json.dumps(serialize(row), ensure_ascii=False) for row in rows)


def _ids(rows: Sequence[Hit | Memory]) -> Iterator[str]:
    return (str(row.id) for row in rows)


def _paths(rows: Sequence[Hit | Memory]) -> Iterator[str]:
    """Yield each source once; what has none has no path."""
    yield from dict.fromkeys(source for row in rows if (source := _memory(row).source))


def _csv(rows: Sequence[Hit | Memory]) -> Iterator[str]:
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        memory = _memory(row)
        known = {
            "date": f"{memory.when:%Y-%m-%d}",
            "tags": ",".join(memory.tags),
            "score": row.score if isinstance(row, Hit) else "",
        }
        writer.writerow(known[name] if name in known else getattr(memory, name) for name in COLUMNS)
    yield file.getvalue().removesuffix("\n")


def _md(rows: Sequence[Hit | Memory]) -> Iterator[str]:
    """Yield a list item for each: the title, the words, and where they come from."""
    for row in rows:
        memory = _memory(row)
        title = f"**{_plain(memory.title)}** " if memory.title else ""
        about = (f"#{memory.id}", memory.type, f"{memory.when:%Y-%m-%d}", place_of(memory))
        yield f"- {title}{_plain(memory.content)} ({_plain(', '.join(part for part in about if part))})"


def _plain(text: str) -> str:
    """Return *text* in one line, with nothing in it that Markdown reads."""
    return " ".join(text.split()).translate(_ESCAPED)


WRITERS: Final[Mapping[str, Callable[[Sequence[Any]], Iterator[str]]]] = {
    "jsonl": _jsonl,
    "ids": _ids,
    "paths": _paths,
    "csv": _csv,
    "md": _md,
}
"""How rows are written, by the name of the format; text and json are the answer itself."""
