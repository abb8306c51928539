"""Arithmetic on sorted arrays of whole numbers, which building and merging share."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]


def starts_of(sizes: NDArray[Any]) -> Whole:
    """Return where each of several runs begins, and where the last one ends."""
    found = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=found[1:])
    return found


def runs_of(values: NDArray[Any]) -> tuple[Whole, Whole]:
    """Return where in sorted *values* each begins, and how often it stands there."""
    first = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    starts = np.flatnonzero(first)
    return starts, np.diff(starts, append=len(values))


def narrow(values: NDArray[Any], size: int) -> NDArray[Any]:
    """Return whole numbers below *size* in as few bytes as they need."""
    return values.astype(np.min_scalar_type(max(1, size) - 1))


def places_by(numbers: NDArray[Any], size: int) -> Whole:
    """Return the places of whole *numbers* below *size* in the order of these, equal ones as they stand.

    NumPy sorts numbers of two bytes digit by digit, four times as fast as larger ones: so they are sorted in two goes.
    """
    order = np.argsort(numbers.astype(np.uint16), kind="stable")
    for shift in range(16, max(1, size - 1).bit_length(), 16):
        order = order[np.argsort((numbers[order] >> shift).astype(np.uint16), kind="stable")]
    return order


def ordered(columns: Sequence[NDArray[Any]], sizes: Sequence[int]) -> list[NDArray[Any]]:
    """Sort several columns of numbers below *sizes* by the first, then the second, and so on.

    They are packed into one number where they fit, as sorting numbers is much faster than sorting their places.
    """
    widths = [max(1, size) for size in sizes]
    room = 1
    for width in widths:
        room *= width
    if room >= 1 << 63:
        order = np.lexsort(tuple(reversed(columns)))
        return [each[order].astype(np.int64) for each in columns]
    packed = columns[0].astype(np.int64)
    for each, width in zip(columns[1:], widths[1:], strict=True):
        packed *= width
        packed += each
    packed.sort()
    return _unpacked(packed, widths)


def _unpacked(packed: Whole, widths: Sequence[int]) -> list[NDArray[Any]]:
    found: list[NDArray[Any]] = []
    for width in reversed(widths[1:]):
        above = packed // width
        found.append(packed - above * width)
        packed = above
    return [packed, *reversed(found)]
