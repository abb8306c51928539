"""A block in the files of a segment: its columns, and its vectors or their codes."""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final

import numpy as np
from msgspec import Struct

from recollect.files import FOLDER, read_regular
from recollect.stores.nearest.codes import SAMPLE, fits, portions, read_codes, write_codes
from recollect.stores.nearest.table import Block, Table
from recollect.stores.segments.damage import SegmentDamaged
from recollect.stores.segments.files import Stored, header_of, is_of_newer, read
from recollect.stores.segments.files import verify as wrong_arrays
from recollect.stores.segments.files import write as write_arrays

FORMAT: Final = 2
"""Grows when a block holds something else: one of another format is written again."""
ENOUGH: Final = 2
"""A code book is learnt anew when so many times more rows are there to learn from.

So it is with codes that missed too much: they are tried again.
"""
_COLUMNS: Final = {"ids": "<i8", "memories": "<i8", "ordinals": "<i4", "spans": "<i4", "in_context": "<i4"}
_TABLES: Final = ("plain", "context")


class Columns(Struct, frozen=True, kw_only=True):
    """What a block holds beside its vectors."""

    ids: Any
    memories: Any
    ordinals: Any
    spans: Any
    in_context: Any


class _Encoded(Struct, frozen=True, kw_only=True):
    """What a header tells of the codes of a table: zero where there are none."""

    learnt: int = 0
    """From how many rows their book was learnt."""
    width: int = 0
    """How many rows for each one wanted they must bring."""
    refused: int = 0
    """Of how many rows the codes were that missed too much to be kept."""


def write(
    folder: Path,
    columns: Columns,
    vectors: Mapping[str, Iterator[Any]],
    about: Mapping[str, object],
    *,
    dimensions: int,
    quantised: bool,
    sources: Sequence[Path] = (),
) -> None:
    """Write a block to a new *folder*; vectors come part by part and are encoded where they are many.

    The code book of one of the blocks *sources* is used on while it was learnt from enough. Vectors that have codes
    are not kept: they are read from the rows of the store.
    """
    folder.mkdir(mode=FOLDER)
    arrays = {name: getattr(columns, name).astype(kind) for name, kind in _COLUMNS.items()}
    encoded: dict[str, _Encoded] = {}
    for name, count in zip(_TABLES, (len(columns.ids), len(columns.in_context)), strict=True):
        table = _gathered(folder, vectors[name], (count, dimensions))
        encoded[name] = _encode(folder, name, table, sources) if quantised else _Encoded()
        if not encoded[name].width:
            arrays[name] = table
    told = {key: {name: getattr(each, key) for name, each in encoded.items()} for key in _Encoded.__struct_fields__}
    sums = {name: _sum_of(folder, name) for name, each in encoded.items() if each.width}
    header = {"format": FORMAT, "dimensions": dimensions, "plain": len(columns.ids), "sums": sums}
    write_arrays(folder, arrays, {**header, **told, **about})


def _gathered(folder: Path, parts: Iterator[Any], shape: tuple[int, int]) -> Any:
    """Return vectors in one table, in a file that goes with it."""
    if not shape[0]:
        return np.empty(shape, dtype="<f4")
    with TemporaryFile(dir=folder) as file:
        table = np.memmap(file, dtype="<f4", mode="w+", shape=shape)
    at = 0
    for part in parts:
        table[at : at + len(part)] = part
        at += len(part)
    return table


def _encode(folder: Path, name: str, vectors: Any, sources: Sequence[Path]) -> _Encoded:
    """Write the codes of a table, where it is to have some that find what the vectors find."""
    rows = len(vectors)
    if not fits(rows, vectors.shape[1]):
        return _Encoded()
    refused = max((_told(each, "refused", name) for each in sources), default=0)
    if rows <= ENOUGH * refused:
        return _Encoded(refused=refused)
    learnt, book = max(((_told(each, "learnt", name), each) for each in sources), default=(0, None))
    again = book is None or min(rows, SAMPLE) > ENOUGH * learnt
    width = write_codes(vectors, _codes(folder, name), None if again or book is None else _codes(book, name))
    return _Encoded(learnt=min(rows, SAMPLE) if again else learnt, width=width) if width else _Encoded(refused=rows)


def _codes(folder: Path, name: str) -> Path:
    return folder / f"{name}.codes"


def _sum_of(folder: Path, name: str) -> int:
    return zlib.crc32(read_regular(_codes(folder, name)))


def has_codes(folder: Path) -> bool:
    """Return whether the vectors of a block are encoded."""
    return _codes(folder, "plain").is_file()


def is_encoded(folder: Path) -> bool:
    """Return whether the vectors of a block are encoded, or are not to be."""
    return has_codes(folder) or _told(folder, "refused", "plain") > 0


def _told(folder: Path, key: str, name: str) -> int:
    """Return what the header of a block tells of the codes of a table; zero where it tells nothing."""
    with suppress(OSError, ValueError, KeyError, TypeError, SegmentDamaged):
        return int(header_of(folder)[key][name])
    return 0


def is_newer(folder: Path) -> bool:
    """Tell whether a newer version of this program wrote the block."""
    return is_of_newer(folder, FORMAT)


def load(folder: Path, about: Mapping[str, object]) -> Block:
    """Return the block in *folder*, mapped; refuse one that is damaged, of another format, or not about *about*."""
    stored = read(folder, FORMAT)
    try:
        if {key: stored.about[key] for key in about} != about:
            raise damaged(folder)
        rows, few, dimensions = stored.about["plain"], len(stored.arrays["in_context"]), stored.about["dimensions"]
        shapes = {"plain": (rows, dimensions), "context": (few, dimensions)}
        held: dict[str, Any] = {name: stored.arrays[name] for name in _COLUMNS}
        held |= {name: _table(folder, name, shape, stored) for name, shape in shapes.items()}
        return Block(**held)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise damaged(folder) from error


def _table(folder: Path, name: str, shape: tuple[int, int], stored: Stored) -> Table:
    rows, dimensions = shape
    width, codes = stored.about["width"][name], _codes(folder, name)
    if not width:
        return Table(rows, stored.arrays[name].reshape(shape))
    if not (codes.is_file() and fits(rows, dimensions)):
        raise FileNotFoundError(codes.name)
    return Table(rows, None, partial(read_codes, codes, rows=rows, dimensions=dimensions), width)


def verify(folder: Path) -> None:
    """Refuse a block of which a byte is not as it was written."""
    stored = read(folder, FORMAT)
    try:
        sound = all(_sum_of(folder, name) == held for name, held in stored.about["sums"].items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise damaged(folder) from error
    if not sound or wrong_arrays(stored):
        raise damaged(folder)


def damaged(folder: Path) -> SegmentDamaged:
    """Return the error for a folder that is no block."""
    return SegmentDamaged(f"{folder.name} is damaged", hint="run: recollect reindex")


__all__ = ["Columns", "damaged", "has_codes", "is_encoded", "is_newer", "load", "portions", "verify", "write"]
