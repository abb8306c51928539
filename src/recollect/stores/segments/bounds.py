"""Which rows may be among the best: sums of bounds in small whole numbers, which leave few rows to be scored.

Each leaf adds to a row at least what it adds to its score, in units of one scale, and at most a known error more. So
no row whose sum is below that of the limit-th best, less the error, can be among the best; every row that holds a leaf
has a sum of at least 1, which makes the number of sums above 0 the number of matches.
"""

import threading
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.stores.segments.measures import STEPS
from recollect.stores.segments.part import Mask, Whole
from recollect.stores.segments.postings import Postings
from recollect.stores.segments.views import View

SLACK: Final = 1.0 + 1e-9
"""More than the last digits of a sum of scores can be off."""
WIDE: Final = 100
"""From so many leaves on the sums need more than 16 bits."""
LINES: Final = 128
"""Sums are looked at as a table of so many lines; of each column the largest is found first."""
SMALL: Final = 1 << 15
"""Up to so many rows one look at all of them is faster."""
CACHED: Final = 1 << 16
"""How many rows are added to at once: so few that their sums stay in the cache of the processor."""


class Leaves(NamedTuple):
    """The leaves that add to a score: what each is worth at most, and their postings by view."""

    gains: Sequence[float]
    drifts: Sequence[Sequence[tuple[float, float]]]
    postings: Sequence[Sequence[Postings]]


class Sums(NamedTuple):
    """A sum for each row of the views, one view after another; what makes a score of one, and how far it may be off."""

    values: NDArray[Any]
    scale: float
    error: float
    ratio: float


class _Room(threading.local):
    """Memory that is used again from question to question, in each thread its own."""

    def __init__(self) -> None:
        self.narrow = np.zeros(0, dtype=np.uint16)
        self.product = np.empty(CACHED, dtype=np.uint16)


_ROOM: Final = _Room()


def _zeros(size: int, *, wide: bool) -> NDArray[Any]:
    if wide:
        return np.zeros(size, dtype=np.uint32)
    if len(_ROOM.narrow) < size:
        _ROOM.narrow = np.zeros(size, dtype=np.uint16)
        return _ROOM.narrow
    room = _ROOM.narrow[:size]
    room.fill(0)
    return room


def add_up(leaves: Leaves, views: Sequence[View], offsets: Sequence[int]) -> Sums:
    """Return the sums of bounds; they are overwritten by the next question of the same thread."""
    gains = [max(0.0, gain) for gain in leaves.gains]
    wide = len(gains) > WIDE
    top = 0.0
    for gain, drifts, mine in zip(gains, leaves.drifts, leaves.postings, strict=True):
        top += gain * max([each.most * most for each, (_, most) in zip(mine, drifts, strict=True)])
    room = (1 << 31 if wide else (1 << 16) - 1) - (STEPS + 2) * len(gains)
    unit = room / ((top or 1.0) * SLACK)
    values = _zeros(_padded(offsets[-1]), wide=wide)
    errors, ratio = [0.0] * len(gains), 1.0
    for at, view in enumerate(views):
        mine, factors = [each[at] for each in leaves.postings], []
        for line, (gain, drifts, each) in enumerate(zip(gains, leaves.drifts, mine, strict=True)):
            least, most = drifts[at]
            exact = gain * most * unit
            factors.append(int(exact * SLACK) + 1)
            if each.most:
                errors[line] = max(errors[line], (factors[-1] - exact) * each.most + exact)
                ratio = min(ratio, least / most)
        _add(values[offsets[at] : offsets[at + 1]], view, mine, factors)
    return Sums(values, unit * STEPS, sum(errors), ratio)


def _padded(size: int) -> int:
    """Return at least *size*, so that the sums make a full table."""
    return size if size <= SMALL else -(-size // (LINES * 32)) * (LINES * 32)


def _add(sums: NDArray[Any], view: View, postings: Sequence[Postings], factors: Sequence[int]) -> None:
    """Add what each leaf is worth at most to the rows of one view."""
    dense = []
    whole = len(sums) == len(view.part)
    for each, factor in zip(postings, factors, strict=True):
        if each.dense is not None and sums.dtype == np.uint16:
            dense.append((each.dense if whole else each.dense[view.start : view.stop], factor))
        elif each.most:
            rows, worth = each.rows, each.impacts
            if not whole:
                inside = view.inside(rows)
                rows, worth = rows[inside] - np.int32(view.start), worth[inside]
            np.add.at(sums, rows, np.multiply(worth, factor, dtype=sums.dtype))
    for start in range(0, len(sums) if dense else 0, CACHED):
        some = sums[start : start + CACHED]
        product = _ROOM.product[: len(some)]
        for line, factor in dense:
            np.multiply(line[start : start + CACHED], factor, out=product, dtype=np.uint16)
            some += product


def hide(sums: Sums, views: Sequence[View], offsets: Sequence[int], found: Mask | None) -> None:
    """Take out what may be no hit: what is not *found*, dead or not admitted."""
    if found is not None:
        _mask(sums.values[: len(found)], found)
    for view, start, stop in zip(views, offsets, offsets[1:], strict=False):
        rows, may = view.hidden()
        if rows is not None:
            sums.values[start:stop][rows] = 0
        elif may is not None:
            _mask(sums.values[start:stop], may)


def _mask(values: NDArray[Any], may: Mask) -> None:
    np.multiply(values, may.view(np.uint8), out=values, dtype=values.dtype)


def candidates(sums: Sums, limit: int, total: int) -> Whole:
    """Return every row that may be among the best *limit*, ascending."""
    values = sums.values
    if total <= limit:
        return np.flatnonzero(values)
    if len(values) <= SMALL:
        least = _least(sums, _kth(values, limit))
        return np.flatnonzero(values >= least)
    table = values.reshape(LINES, -1)
    highest = table.max(axis=0)
    if limit * 2 > len(highest):
        return np.flatnonzero(values >= _least(sums, _kth(values, limit)))
    least = _least(sums, _kth(highest, limit))
    columns = np.flatnonzero(highest >= least)
    if len(columns) * 4 > len(highest):
        return np.flatnonzero(values >= least)
    lines, places = np.nonzero(table[:, columns] >= least)
    return lines * len(highest) + columns[places]


def _kth(values: NDArray[Any], limit: int) -> int:
    """Return a number that at least *limit* of *values* reach, if so many are above 0; nearly the largest there is."""
    while len(values) >= 64 * limit:
        half = len(values) // 8
        values = values[: half * 8].reshape(8, half).max(axis=0)
    return int(np.partition(values, len(values) - limit)[len(values) - limit])


def _least(sums: Sums, reached: int) -> int:
    """Return the least sum of a row whose score may reach that of one with the sum *reached*."""
    return max(1, int((reached - sums.error) * sums.ratio / SLACK))
