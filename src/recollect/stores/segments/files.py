"""Arrays as two files of a folder: a header that says what is where, and the arrays one after another.

Numbers are little-endian, arrays begin at multiples of 64 bytes. Opening maps the arrays and reads the header alone.
"""

import json
import mmap
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from recollect.files import open_regular, read_at, read_regular
from recollect.stores.segments.damage import SegmentDamaged
from recollect.stores.segments.part import Part

FORMAT: Final = 4
"""Grows when arrays change their meaning: a folder of another format is built anew."""
HEADER: Final = "header"
"""It has no ending, so that nobody takes it for a document."""
BLOCK: Final = "arrays"
ALIGNED: Final = 64
CHUNK: Final = 1 << 24
PIECE: Final = 1 << 16
"""How many bytes are written at a time: what is written at once, a system may map as one for a single byte of it."""


class Stored(Struct, frozen=True, kw_only=True):
    """The arrays of a folder, mapped, and what its header tells."""

    arrays: dict[str, NDArray[Any]]
    checksums: Mapping[str, int]
    about: Mapping[str, Any]
    block: mmap.mmap
    excerpts: "_Excerpts | None"


def save(part: Part, folder: Path) -> None:
    """Write *part* to a new *folder*."""
    write(folder, part.arrays, {"format": FORMAT, "rows": len(part)})


def load(folder: Path) -> Part:
    """Return the part in *folder*, mapped; raise SegmentDamaged where the header or the size are not right."""
    stored = read(folder, FORMAT)
    try:
        return Part(stored.arrays, stored.block, stored.checksums, stored.excerpts)
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise _damaged(folder, str(error)) from error


def write(folder: Path, arrays: Mapping[str, NDArray[Any]], about: Mapping[str, object]) -> None:
    """Write *arrays* to *folder*, for its owner alone, and see them to the disk; the header tells *about* them."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    entries, offset = {}, 0
    with _created(folder / BLOCK) as file:
        for name, values in arrays.items():
            plain = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<"), copy=False)
            file.seek(offset)
            for piece in _pieces(plain, PIECE):
                file.write(piece)
            entries[name] = [plain.dtype.str, list(plain.shape), offset, _checksum(plain)]
            offset += -(-plain.nbytes // ALIGNED) * ALIGNED
        size = max(ALIGNED, offset)
        file.truncate(size)
        _flush(file)
    header = {**about, "size": size, "arrays": entries}
    with _created(folder / HEADER) as file:
        file.write(json.dumps({**header, "checksum": _sealed(header)}).encode())
        _flush(file)


def _created(path: Path) -> Any:
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(path, flags, 0o600), "w+b")


def _flush(file: Any) -> None:
    file.flush()
    os.fsync(file.fileno())


def _pieces(values: NDArray[Any], size: int) -> Iterator[memoryview]:
    plain: Any = values.reshape(-1).view(np.uint8)
    whole = memoryview(plain)
    return (whole[start : start + size] for start in range(0, len(whole), size))


def _checksum(values: NDArray[Any]) -> int:
    found = 0
    for piece in _pieces(values, CHUNK):
        found = zlib.crc32(piece, found)
    return found


def _sealed(header: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(header, sort_keys=True).encode())


def header_of(folder: Path) -> dict[str, Any]:
    """Return what the header of *folder* tells."""
    header: dict[str, Any] = json.loads(read_regular(folder / HEADER))
    if header.pop("checksum") != _sealed(header):
        raise _damaged(folder, "its header is damaged")
    return header


def is_of_newer(folder: Path, known: int = FORMAT) -> bool:
    """Tell whether a newer version of this program wrote the segment: its rows are read, and it is left alone."""
    try:
        return bool(header_of(folder)["format"] > known)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, SegmentDamaged):
        return False


def read(folder: Path, known: int) -> Stored:
    """Return what *folder* holds, mapped; raise SegmentDamaged where the header or the size are not right."""
    try:
        header = header_of(folder)
        if header["format"] != known:
            raise _damaged(folder, "it is of another format")
        with os.fdopen(open_regular(folder / BLOCK), "rb") as file:
            if os.fstat(file.fileno()).st_size != header["size"]:
                raise _damaged(folder, "a file has another size than its header says")
            block = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            excerpts = _Excerpts(file.fileno(), header["arrays"]) if hasattr(os, "pread") else None
        arrays = {name: _array(block, *entry[:3]) for name, entry in header["arrays"].items()}
        checksums = {name: entry[3] for name, entry in header["arrays"].items()}
        return Stored(arrays=arrays, checksums=checksums, about=header, block=block, excerpts=excerpts)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
        raise _damaged(folder, str(error)) from error


class _Excerpts:
    """A few values of an array, read from the file: of a mapping a system holds sixteen pages for each one touched."""

    def __init__(self, handle: int, entries: Mapping[str, Sequence[Any]]) -> None:
        self._handle = os.dup(handle)
        self._places = {name: (np.dtype(kind), offset) for name, (kind, _, offset, _) in entries.items()}

    def __call__(self, name: str, start: int, stop: int) -> NDArray[Any]:
        kind, offset = self._places[name]
        size = kind.itemsize
        return np.frombuffer(read_at(self._handle, (stop - start) * size, offset + start * size), kind)

    def __del__(self) -> None:
        os.close(self._handle)


def _damaged(folder: Path, reason: str) -> SegmentDamaged:
    return SegmentDamaged(f"the segment {folder.name} cannot be used: {reason}", hint="run: recollect reindex")


def _array(block: mmap.mmap, dtype: str, shape: list[int], offset: int) -> NDArray[Any]:
    size = int(np.prod(shape, dtype=np.int64))
    if not size:
        return np.empty(shape, dtype=dtype)
    return np.frombuffer(block, dtype=dtype, count=size, offset=offset).reshape(shape)


def verify(part: Part | Stored) -> list[str]:
    """Return the names of the arrays that are not what was written; reads all of them."""
    return [name for name, told in part.checksums.items() if _checksum(part.arrays[name]) != told]
