"""A table of vectors, in memory or mapped, with its codes if it has some; and a block: passages with their tables."""

import mmap
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from msgspec import Struct

from recollect.files import open_regular, read_at
from recollect.records import Passage
from recollect.stores.nearest.codes import Codes

MANY: Final = 4_096
"""So many rows are better read from the mapping."""
SMALL: Final = 2**25
"""A file of so many bytes may come into memory as a whole; mapped rows are had four times sooner than read ones."""


class Table:
    """Vectors of float32 in rows; *path* is the file they are mapped from, *load* reads their codes when needed.

    *width* says how many rows for each one wanted the codes must bring: zero where there are none.
    """

    def __init__(
        self, vectors: Any, path: Path | None = None, load: Callable[[], Codes | None] | None = None, width: int = 0
    ) -> None:
        self.vectors = vectors
        self.width = width
        self._path = path
        self._file: BinaryIO | None = None
        self._load = load
        self._codes: Codes | None = None
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.vectors)

    def codes(self) -> Codes | None:
        """Return the codes of the rows, if there are any."""
        if self._load is not None:
            with self._lock:
                if self._load is not None:
                    self._codes, self._load = self._load(), None
                    self._file = self._opened()
        return self._codes

    def _opened(self) -> BinaryIO | None:
        """Return the file, where its rows are to be read from it."""
        large = self._codes is not None and self.vectors.nbytes > SMALL and hasattr(os, "pread")
        return os.fdopen(open_regular(self._path), "rb") if large and self._path is not None else None

    def rows(self, rows: Any) -> Any:
        """Return a copy of some rows.

        Where codes are scanned, few rows are looked at; those of a large file are read, not mapped, for around each one
        that is touched the system maps sixteen pages, and soon the whole file.
        """
        if self._file is None or len(rows) > MANY:
            return self.vectors[rows]
        width = self.vectors.shape[1]
        handle, size = self._file.fileno(), 4 * width
        data = b"".join([read_at(handle, size, size * row) for row in rows.tolist()])
        return np.frombuffer(bytearray(data), dtype="<f4").reshape(len(rows), width)


def _is_intact(array: Any) -> bool:
    while isinstance(array, np.ndarray):
        array = array.base
    held = array.obj if isinstance(array, memoryview) else array
    return not isinstance(held, mmap.mmap) or held.size() == len(held)


class Block(Struct, frozen=True, kw_only=True):
    """Passages in rows, by memory and by their order in it.

    The plain vectors have a row for each passage; those in context only for passages that have one, and say which.
    """

    ids: Any
    memories: Any
    ordinals: Any
    spans: Any
    plain: Table
    in_context: Any
    """The rows that have a context vector, ascending."""
    context: Table

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def is_intact(self) -> bool:
        """Tell whether its files are as long as when they were mapped: reading behind an end would end the process."""
        tables = (self.plain.vectors, self.context.vectors)
        return all(_is_intact(each) for each in (self.ids, self.memories, self.ordinals, self.spans, *tables))

    def rows_of(self, memories: Any) -> Any:
        """Return the rows of *memories*."""
        first, last = (np.searchsorted(self.memories, memories, side=side) for side in ("left", "right"))
        counts = last - first
        within = np.arange(counts.sum()) - np.repeat(counts.cumsum() - counts, counts)
        return np.repeat(first, counts) + within

    def vectors(self, rows: Any, *, in_context: bool) -> Any:
        """Return the vectors of *rows*, those in context where they are asked for and there."""
        found = self.plain.rows(rows)
        if in_context and len(self.in_context) and len(rows):
            at = np.minimum(np.searchsorted(self.in_context, rows), len(self.in_context) - 1)
            held = self.in_context[at] == rows
            found[held] = self.context.rows(at[held])
        return found

    def passages(self, rows: Any) -> Iterator[tuple[int, int, Passage]]:
        """Yield the passages of *rows*, each with its memory and its place in that."""
        plain, mixed = self.plain.rows(rows), {}
        if len(self.in_context) and len(rows):
            at = np.searchsorted(self.in_context, rows)
            held = np.flatnonzero(self.in_context.take(at, mode="clip") == rows)
            mixed = dict(zip(held.tolist(), self.context.rows(at[held]), strict=True))
        numbers = zip(
            self.memories[rows].tolist(), self.ordinals[rows].tolist(), self.spans[rows].tolist(), strict=True
        )
        for place, (owner, ordinal, (start, stop)) in enumerate(numbers):
            context = mixed[place].tobytes() if place in mixed else None
            yield (
                owner,
                ordinal,
                Passage(start=start, stop=stop, vector=plain[place].tobytes(), context_vector=context),
            )
