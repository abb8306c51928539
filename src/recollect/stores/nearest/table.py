"""A table of vectors, in memory or mapped, with its codes where it has some; and a block: passages with their tables."""

import mmap
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from recollect.stores.nearest.codes import Codes

TOUCHED: Final = 512
"""After so many rows here and there a mapping lets go of its pages: around each one the system maps sixteen."""


class Table:
    """Vectors of float32 in rows; *mapped* is the mapping they lie in, *load* reads their codes when first needed."""

    def __init__(self, vectors: Any, mapped: mmap.mmap | None = None, load: Callable[[], Codes | None] | None = None):
        self.vectors = vectors
        self._mapped = mapped
        self._load = load
        self._codes: Codes | None = None
        self._lock = threading.Lock()
        self._touched = 0

    def __len__(self) -> int:
        return len(self.vectors)

    def codes(self) -> Codes | None:
        """Return the codes of the rows, if there are any."""
        if self._load is not None:
            with self._lock:
                if self._load is not None:
                    self._codes = self._load()
                    self._load = None
        return self._codes

    def rows(self, rows: Any) -> Any:
        """Return a copy of some rows."""
        found = self.vectors[rows]
        self._touched += len(found)
        if self._touched >= TOUCHED and self._mapped is not None and hasattr(self._mapped, "madvise"):
            self._touched = 0
            self._mapped.madvise(mmap.MADV_DONTNEED)  # they stay in the memory that processes share
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
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
