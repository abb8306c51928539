"""A block as a folder of little-endian arrays: written whole or not at all, mapped when it is read."""

import json
import mmap
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from msgspec import Struct

from recollect.files import FILE, FOLDER, open_regular, read_regular, sync_folder
from recollect.stores.nearest.codes import NARROW, SAMPLE, fits, portions, read_codes, write_codes
from recollect.stores.nearest.table import Block, Table
from recollect.stores.segments.damage import SegmentDamaged

FORMAT: Final = 1
ENOUGH: Final = 2
"""A code book is learnt anew when so many times more rows are there to learn from.

So it is with codes that missed too much: they are tried again.
"""
HEADER: Final = "header.json"
_ARRAYS: Final = {"ids": "<i8", "memories": "<i8", "ordinals": "<i4", "spans": "<i8", "in_context": "<i4"}
_TABLES: Final = ("plain", "context")


class Columns(Struct, frozen=True, kw_only=True):
    """What a block holds beside its vectors."""

    ids: Any
    memories: Any
    ordinals: Any
    spans: Any
    in_context: Any


class Writer:
    """A block on its way into *folder*, which is made: first the columns, then the vectors in their order."""

    def __init__(self, folder: Path, columns: Columns, *, dimensions: int, quantised: bool) -> None:
        folder.mkdir(mode=FOLDER)
        self._folder, self._dimensions, self._quantised = folder, dimensions, quantised
        self._sums: dict[str, int] = {}
        self._shape = {"plain": len(columns.ids), "context": len(columns.in_context)}
        for name, kind in _ARRAYS.items():
            self.write(name, iter([getattr(columns, name)]), kind)

    def write(self, name: str, parts: Iterator[Any], kind: str = "<f4") -> None:
        """Write the array *name*, part by part, and wait until it is on disk."""
        total = 0
        handle = os.open(self._folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE)
        with os.fdopen(handle, "wb") as file:
            for part in parts:
                data = np.ascontiguousarray(part, dtype=kind).tobytes()
                total = zlib.crc32(data, total)
                file.write(data)
            file.flush()
            os.fsync(file.fileno())
        self._sums[name] = total

    def finish(self, about: Mapping[str, object], sources: Sequence[Path] = ()) -> None:
        """Encode the vectors where they are many, and write the header, which makes the folder whole.

        The code book of one of the blocks *sources* is used on while it was learnt from enough.
        """
        encoded = {name: self._encode(name, sources) for name in _TABLES}
        told = {key: {name: getattr(each, key) for name, each in encoded.items()} for key in _ENCODED}
        about = {**about, **told, "sums": self._sums}
        header = {"format": FORMAT, "dimensions": self._dimensions, **self._shape, **about}
        handle = os.open(self._folder / HEADER, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(json.dumps(header))
            file.flush()
            os.fsync(file.fileno())
        sync_folder(self._folder)

    def _encode(self, name: str, sources: Sequence[Path]) -> "_Encoded":
        """Write the codes of a table, where it is to have some that find what the vectors find."""
        rows = self._shape[name]
        if not self._quantised or not fits(rows, self._dimensions):
            return _Encoded()
        refused = max((_told(each, "refused", name) for each in sources), default=0)
        if rows <= ENOUGH * refused:
            return _Encoded(refused=refused)
        learnt, book = max(((_told(each, "learnt", name), each) for each in sources), default=(0, None))
        again = book is None or min(rows, SAMPLE) > ENOUGH * learnt
        vectors = _mapped(self._folder / name, "<f4", (rows, self._dimensions))
        used = None if again or book is None else book / f"{name}.codes"
        width = write_codes(vectors, self._folder / f"{name}.codes", used)
        return _Encoded(learnt=min(rows, SAMPLE) if again else learnt, width=width) if width else _Encoded(refused=rows)


class _Encoded(Struct, frozen=True, kw_only=True):
    """What a header tells of the codes of a table: zero where there are none."""

    learnt: int = 0
    """From how many rows their book was learnt."""
    width: int = 0
    """How many rows for each one wanted they must bring."""
    refused: int = 0
    """Of how many rows the codes were that missed too much to be kept."""


_ENCODED: Final = ("learnt", "width", "refused")


def has_codes(folder: Path) -> bool:
    """Return whether the vectors of a block are encoded."""
    return (folder / "plain.codes").is_file()


def is_encoded(folder: Path) -> bool:
    """Return whether the vectors of a block are encoded, or are not to be."""
    return has_codes(folder) or _told(folder, "refused", "plain") > 0


def _told(folder: Path, key: str, name: str) -> int:
    """Return what the header of a block tells of the codes of a table; zero where it tells nothing."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        return int(json.loads(read_regular(folder / HEADER))[key][name])
    return 0


def load(folder: Path, about: Mapping[str, object]) -> Block:
    """Return the block in *folder*, mapped; refuse one that is damaged, of another format, or not about *about*."""
    try:
        header = json.loads(read_regular(folder / HEADER))
        expected = {"format": FORMAT, **about}
        if {key: header[key] for key in expected} != expected:
            raise damaged(folder)
        rows, few, dimensions = (int(header[key]) for key in ("plain", "context", "dimensions"))
        widths = dict(header.get("width", {}))
        shapes = {"spans": (rows, 2), "in_context": (few,)}
        arrays = {name: _mapped(folder / name, kind, shapes.get(name, (rows,))) for name, kind in _ARRAYS.items()}
        plain, context = (
            _table(folder, name, (count, dimensions), int(widths.get(name, NARROW)))
            for name, count in (("plain", rows), ("context", few))
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise damaged(folder) from error
    return Block(**arrays, plain=plain, context=context)


def verify(folder: Path) -> None:
    """Refuse a block of which a byte is not as it was written; its codes only choose whom the vectors rank."""
    try:
        header = json.loads(read_regular(folder / HEADER))
        sound = all(zlib.crc32(read_regular(folder / name)) == held for name, held in header["sums"].items())
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise damaged(folder) from error
    if not sound:
        raise damaged(folder)


def damaged(folder: Path) -> SegmentDamaged:
    """Return the error for a folder that is no block."""
    return SegmentDamaged(f"{folder.name} is damaged", hint="run: recollect reindex")


def _table(folder: Path, name: str, shape: tuple[int, int], width: int) -> Table:
    codes, (rows, dimensions) = folder / f"{name}.codes", shape
    load_codes = partial(read_codes, codes, rows=rows, dimensions=dimensions)
    return Table(_mapped(folder / name, "<f4", shape), folder / name, load_codes, width)


def _mapped(path: Path, kind: str, shape: tuple[int, ...]) -> Any:
    """Return the array in a file, which must have the size that its shape demands."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    with os.fdopen(open_regular(path), "rb") as file:
        if os.fstat(file.fileno()).st_size != size:
            raise ValueError(path.name)
        if not size:
            return np.empty(shape, dtype=kind)
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return np.frombuffer(mapped, dtype=kind).reshape(shape)


__all__ = ["Columns", "Writer", "damaged", "has_codes", "is_encoded", "load", "portions", "verify"]
