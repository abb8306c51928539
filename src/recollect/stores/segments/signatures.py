"""How terms are spelt, as numbers: their length, which letters and which pairs of letters they hold."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

LONGEST: Final = 255
"""From how many characters on a length is no longer told apart."""
FOREIGN: Final = np.uint32(1 << 31)
"""The mark of a term that is not plain ASCII, whose letters take several bytes."""
ASCII: Final = 0x80
_SET_BITS: Final = np.array([byte.bit_count() for byte in range(256)], dtype=np.uint8)


def lengths(blob: NDArray[np.uint8], offsets: NDArray[Any]) -> NDArray[np.uint8]:
    """Return how many characters each term has."""
    begins = ((blob & 0xC0) != ASCII).astype(np.int64)
    return np.minimum(np.add.reduceat(begins, offsets[:-1]) if len(offsets) > 1 else begins, LONGEST).astype(np.uint8)


def letters(blob: NDArray[np.uint8], offsets: NDArray[Any]) -> NDArray[np.uint32]:
    """Return which letters each term holds: a bit for some letters each, and one where it is not plain ASCII."""
    marks = np.left_shift(np.uint32(1), (blob % 31).astype(np.uint32))
    marks |= np.where(blob >= ASCII, FOREIGN, np.uint32(0))
    return np.bitwise_or.reduceat(marks, offsets[:-1]) if len(offsets) > 1 else marks


def digraphs(blob: NDArray[np.uint8], offsets: NDArray[Any]) -> NDArray[np.uint64]:
    """Return which two bytes follow each other in each term: a bit for some pairs each."""
    marks = np.zeros(len(blob), dtype=np.uint64)
    marks[:-1] = np.left_shift(np.uint64(1), (blob[:-1].astype(np.uint64) * 37 + blob[1:]) % np.uint64(64))
    marks[offsets[1:] - 1] = 0
    return np.bitwise_or.reduceat(marks, offsets[:-1]) if len(offsets) > 1 else marks


ALL: Final[Mapping[str, Callable[[NDArray[np.uint8], NDArray[Any]], NDArray[Any]]]] = {
    "chars": lengths,
    "letters": letters,
    "digraphs": digraphs,
}
"""What is kept of each term, by the name of its array."""


def bits_of(values: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """Return how many bits are set in each of *values*."""
    count: Any = getattr(np, "bitwise_count", None)  # from NumPy 2 on
    if count is not None:
        found: NDArray[np.uint8] = count(values)
        return found
    by_byte: NDArray[np.uint8] = _SET_BITS[values.view(np.uint8)].reshape(-1, 4).sum(axis=1, dtype=np.uint8)
    return by_byte
