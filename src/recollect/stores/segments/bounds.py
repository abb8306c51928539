"""Which rows may be among the best: sums of bounds in small whole numbers, which leave few rows to be scored.

Each leaf adds to a row at least what it adds to its score, in steps of one scale. So no row whose sum is below the
score of the limit-th best can be among the best; every row that holds a leaf has a sum of at least 1, which makes the
number of sums above 0 the number of matches.
"""

import threading
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.stores.segments.measures import STEPS
from recollect.stores.segments.part import Mask, Rows, Whole
from recollect.stores.segments.searched import LARGEST, NARROW, SLACK, Drifts, Place, Searched, Stand, finer

MORE: Final = 8
"""How many rows more than an eighth of those wanted are scored at once beside these: most often no others are left."""
LINES: Final = 32
"""Sums are looked at as a table of so many lines; of each column the largest is found first."""
SMALL: Final = 1 << 15
"""Up to so many rows one look at all of them is faster."""
CACHED: Final = 1 << 16
"""How many rows are added to at once: so few that their sums stay in the cache of the processor."""


class Together:
    """The places of all lines and what an impact of 1 is worth there: those of few rows in one list, others by view."""

    __slots__ = ("_counts", "_few", "_lines", "_rows", "_sizes", "others")

    def __init__(self, lines: Sequence[Stand], searched: Searched, drifts: Drifts) -> None:
        self._few: list[tuple[Place, float]] = []
        self.others: list[list[tuple[int, Place, float]]] = [[] for _ in searched.views]
        numbers: list[int] = []
        for at, line in enumerate(lines):
            step, mine = line.step, drifts[line.form]
            for place in line.places:
                if place.counts is None:
                    self.others[place.view].append((at, place, step * mine[place.view]))
                else:
                    self._few.append((place, step * mine[place.view]))
                    numbers.append(at)
        if self._few:
            self._sizes = [len(place.rows) for place, _ in self._few]
            self._lines = np.array(numbers).repeat(self._sizes)
            self._rows = np.concatenate([place.rows for place, _ in self._few], dtype=np.int64)
            self._counts = np.concatenate([place.counts for place, _ in self._few if place.counts is not None])
            if len(searched.views) > 1 or searched.shifts[0]:
                self._rows += np.array([searched.shifts[place.view] for place, _ in self._few]).repeat(self._sizes)

    def add_to(self, sums: NDArray[Any]) -> None:
        """Add the bounds of leaves that few rows hold."""
        if self._few:
            worth = np.array([factor for _, factor in self._few]).repeat(self._sizes)
            worth *= np.concatenate([place.impacts for place, _ in self._few])
            worth += 1.0
            np.add.at(sums, self._rows, worth.astype(sums.dtype))

    def put(self, rows: Whole, counts: NDArray[np.float64], size: int) -> None:
        """Put the counts in *rows*, which are of *size*, where they belong: each leaf has a line."""
        if self._few:
            columns = columns_of(self._rows, rows, size)
            here = columns.nonzero()[0]
            counts[self._lines.take(here), columns.take(here) - 1] = self._counts.take(here)


class Sums(NamedTuple):
    """A sum of steps for each row of the views, one view after another, and how many rows match.

    Where sums are no *bounds*, they only tell that.
    """

    values: NDArray[Any]
    are_bounds: bool
    total: int = 0


class _Room(threading.local):
    """Memory that is used again from question to question, in each thread its own."""

    def __init__(self) -> None:
        self.narrow = np.zeros(0, dtype=np.uint16)
        self.product = np.empty(CACHED, dtype=np.uint16)
        self.slots = np.zeros(0, dtype=np.int32)
        self.kept: tuple[object, Sums | None] = (None, None)


_ROOM: Final = _Room()


def remember(question: object, sums: Sums) -> None:
    """Remember the sums of a question until this thread adds up those of another."""
    _ROOM.kept = question, sums


def remembered(question: object) -> Sums | None:
    """Return the sums of a question, where it was the last of this thread."""
    last, sums = _ROOM.kept
    return sums if last is question else None


def _with_room(size: int) -> int:
    """Return *size* and some more: the next write adds a row, and memory is not to be had anew after each."""
    return size + size // 16


def _values(size: int, most: float) -> NDArray[Any]:
    """Return room for sums up to *most*, whatever is in it."""
    _ROOM.kept = None, None
    if most > NARROW:
        return np.empty(size, dtype=np.uint32 if most < 1 << 32 else np.uint64)
    if len(_ROOM.narrow) < size:
        _ROOM.narrow = np.empty(_with_room(size), dtype=np.uint16)
    return _ROOM.narrow[:size]


def columns_of(some: Whole, rows: Whole, size: int) -> Rows:
    """Return as the how manieth of *rows* each of *some* stands there, 0 for those that do not; all are of *size*."""
    if len(_ROOM.slots) < size:
        _ROOM.slots = np.zeros(_with_room(size), dtype=np.int32)
    slots = _ROOM.slots
    try:
        slots[rows] = np.arange(1, len(rows) + 1, dtype=np.int32)
        return slots.take(some)
    finally:
        slots[rows] = 0


def add_up(lines: Sequence[Stand], together: Together, searched: Searched, drifts: Drifts) -> Sums:
    """Return the sums of bounds; they are overwritten by the next question of the same thread."""
    size, worst = len(searched), [max(each, default=1.0) for each in drifts]
    most = sum([(line.step * worst[line.form] + 1.0) * STEPS for line in lines])
    values = _values(_padded(size), most)
    values[size:] = 0
    for at, others in enumerate(together.others):
        _add(values[searched.offsets[at] : searched.offsets[at + 1]], others, searched.views[at].start)
    together.add_to(values)
    return Sums(values, max([line.gain for line in lines], default=0.0) < LARGEST)


def _add(sums: NDArray[Any], places: Sequence[tuple[int, Place, float]], start: int) -> None:
    """Put into *sums* the bounds of leaves that many rows hold; the rows of the view begin at *start*."""
    lines = [place.steps for _, place, _ in places if place.steps is not None]
    long = [(place.dense, factor) for _, place, factor in places if place.dense is not None and place.steps is None]
    if long:
        _add_long(sums, long)
    elif lines:
        np.copyto(sums, lines.pop())
    else:
        sums.fill(0)
    for line in lines:
        np.add(sums, line, out=sums)
    for _, place, factor in places:
        if place.dense is None:
            rows = place.rows - np.int32(start) if start else place.rows
            np.add.at(sums, rows, (place.impacts * factor + 1.0).astype(sums.dtype))


def _add_long(sums: NDArray[Any], places: Sequence[tuple[NDArray[np.uint8], float]]) -> None:
    """Put the bounds of *places* into *sums*: in finer steps, as many as there is room for, made whole together."""
    fine = finer(sum([factor for _, factor in places]), len(places), sums.dtype)
    factors = [(line, int(factor * (1 << fine) * SLACK) + 1) for line, factor in places]
    for first in range(0, len(sums), CACHED):
        some = sums[first : first + CACHED]
        product = some  # what is there is overwritten by the first line
        for line, factor in factors:
            np.multiply(line[first : first + CACHED], factor, out=product, dtype=sums.dtype)
            if product is some:
                product = _ROOM.product[: len(some)] if sums.dtype == np.uint16 else np.empty_like(some)
            else:
                np.add(some, product, out=some)
        some += (1 << fine) - 1
        some >>= fine


def _padded(size: int) -> int:
    """Return at least *size*, so that the sums make a full table."""
    return size if size <= SMALL else -(-size // (LINES * 32)) * (LINES * 32)


def hide(sums: Sums, searched: Searched, found: Mask | None) -> Sums:
    """Take out what may be no hit: what is not *found*, dead or not admitted; count the others."""
    values = sums.values
    if found is not None:
        _mask(values[: len(found)], found)
    for view, start in zip(searched.views, searched.offsets, strict=False):
        rows, may = view.hidden()
        if rows is not None:
            values[start : start + len(view)][rows] = 0
        elif may is not None:
            _mask(values[start : start + len(view)], may)
    return sums._replace(total=int(np.count_nonzero(values)))


def _mask(values: NDArray[Any], may: Mask) -> None:
    np.multiply(values, may.view(np.uint8), out=values, dtype=values.dtype)


def candidates(sums: Sums, limit: int) -> tuple[Whole, int]:
    """Return the rows with the largest sums, ascending, some more than *limit*, and from which sum on these are all."""
    values, wanted = sums.values, limit + limit // 8 + MORE
    if sums.total <= wanted or not sums.are_bounds:
        return np.flatnonzero(values), 1
    if len(values) <= SMALL:
        least = _kth(values, wanted)
        return (values >= least).nonzero()[0], least
    highest = values.reshape(LINES, -1).max(axis=0)
    least = _kth(values if wanted * 2 > len(highest) else highest, wanted)
    return from_sum(sums, least, highest), least


def from_sum(sums: Sums, least: int, highest: NDArray[Any] | None = None) -> Whole:
    """Return the rows whose sum is *least* or more, ascending; *highest* are the largest sums of columns of a table."""
    values = sums.values
    columns = None if highest is None else (highest >= least).nonzero()[0]
    if highest is None or columns is None or len(columns) * 4 > len(highest):
        return np.flatnonzero(values >= least)
    lines, places = np.nonzero(values.reshape(LINES, -1)[:, columns] >= least)
    return lines * len(highest) + columns[places]


def _kth(values: NDArray[Any], limit: int) -> int:
    """Return a number above 0 that at least *limit* of *values* reach, if so many do; nearly the largest there is."""
    fold = len(values) // (16 * limit)
    if fold > 1:
        width = len(values) // fold
        values = values[: fold * width].reshape(fold, width).max(axis=0)
    return max(1, int(np.partition(values, len(values) - limit)[len(values) - limit]))
