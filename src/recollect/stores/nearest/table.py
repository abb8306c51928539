"""Vectors in rows, with or without codes; and a block: passages with their tables."""

import mmap
import threading
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct

from recollect.stores.nearest.codes import Codes

Read: TypeAlias = Callable[[Any, bool], Any]
"""Reads the vectors of some passages from the rows of the store, by id; those in context where that is asked for."""


class Table:
    """Vectors of float32 in rows: in memory, mapped, or, where they have codes, left in the rows of the store.

    *load* reads the codes when they are needed; they must bring *width* rows for each one wanted.
    """

    def __init__(
        self, count: int, vectors: Any = None, load: Callable[[], Codes | None] | None = None, width: int = 0
    ) -> None:
        self.vectors = vectors
        self.width = width
        self._count = count
        self._load = load
        self._codes: Codes | None = None
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return self._count

    def codes(self) -> Codes | None:
        """Return the codes of the rows, if there are any."""
        if self._load is not None:
            with self._lock:
                if self._load is not None:
                    self._codes, self._load = self._load(), None
        return self._codes


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

    def vectors(self, rows: Any, read: Read, *, in_context: bool) -> Any:
        """Return the vectors of *rows*, those in context where they are asked for and there."""
        mixed = in_context and len(self.in_context) > 0
        if self.plain.vectors is None or (mixed and self.context.vectors is None):
            return read(self.ids[rows], in_context)
        found = self.plain.vectors[rows]
        if mixed and len(rows):
            at = np.minimum(np.searchsorted(self.in_context, rows), len(self.in_context) - 1)
            held = self.in_context[at] == rows
            found[held] = self.context.vectors[at[held]]
        return found
