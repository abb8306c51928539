"""Try an importer as its user does: import, ask, import again."""

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import recollect
from recollect.errors import FileError
from recollect.recollection import Recollection
from recollect.records import Memory
from recollect.remember.formats import Parsed, format_of, named, read_file


@contextmanager
def store() -> Iterator[Recollection]:
    """Open a store of its own that searches by words."""
    with recollect.open(":memory:", model="none") as db:
        yield db


def taken(path: Path) -> str:
    """Return the name of the format that the file at *path* is taken for."""
    form = format_of(path)
    return form.name if form else ""


def first(db: Recollection, question: str) -> Memory:
    """Return the memory that a question finds first."""
    return db.search(question).hits[0].memory


def contents(db: Recollection, question: str, most: int = 3) -> list[str]:
    """Return the words of the first memories that a question finds."""
    return [hit.memory.content for hit in db.search(question).hits[:most]]


def changes(db: Recollection, *paths: Path) -> dict[str, int]:
    """Import *paths* and return how many memories changed, by what happened to them."""
    report = db.import_(*paths)
    assert report.errors == []
    return {name: count for name, count in report.memories.items() if count and name != "unchanged"}


def written(path: Path, value: object) -> Path:
    """Write text, bytes, or any other value as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(value, bytes):
        path.write_bytes(value)
    else:
        path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def survives(path: Path, sample: bytes, *, form: str, seed: int) -> bool:
    """Tell whether the reader *form* takes a damaged *sample* without raising anything but FileError."""
    path.write_bytes(damaged(sample, random.Random(seed)))
    try:
        parsed = read_file(path, named(form))
    except FileError as error:
        return "\n" not in str(error)
    return keepable(parsed)


def damaged(sample: bytes, chance: random.Random) -> bytes:
    """Return *sample* cut, doubled, with bytes changed, or with values of other types in it."""
    raw = bytearray(sample)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(raw) + 1)
        match chance.randrange(6):
            case 0:
                del raw[at:]
            case 1:
                raw[at:at] = raw[: chance.randrange(len(raw) + 1)]
            case 2:
                raw[at:at] = chance.choice([b"\x00", b"\xff\xfe", b"\n", b'"', b"[" * 300, b"\\ud800", b"-", b" " * 9])
            case 3:
                begin = raw.find(b": ", at)
                raw[begin + 2 : begin + 3] = chance.choice([b"null, ", b"[[]]", b"{}", b"1e999", b"-7", b"true"])
            case 4:
                raw[at : at + 1] = bytes([chance.randrange(256)])
            case _:
                del raw[at : at + chance.randint(1, 40)]
    return bytes(raw)


def keepable(parsed: Parsed) -> bool:
    """Tell whether a store could keep everything that was parsed."""
    for memory in parsed.memories:
        texts = (memory.content, memory.title, memory.type, memory.project, memory.thread or "", *memory.tags)
        assert all("\0" not in text and text.encode() is not None for text in (*texts, memory.external_id or ""))
        assert json.dumps(dict(memory.metadata), allow_nan=False).encode() is not None
        assert memory.content.strip()
        assert memory.observed_at is None or memory.observed_at.utcoffset() is not None
    return all("\n" not in problem for problem in parsed.problems)
