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
from recollect.stores.segments.part import Mask, Rows, Whole
from recollect.stores.segments.searched import Drifts, Place, Searched

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


class Line(NamedTuple):
    """A leaf that adds to a score: its gain, the number of its form, and where it stands."""

    gain: float
    form: int
    places: tuple[Place, ...]


class Together:
    """The places of all lines, numbered in order: those of few rows as one list of rows, the others by view."""

    __slots__ = ("_counts", "_few", "_lines", "_sizes", "others", "rows")

    def __init__(self, lines: Sequence[Line], searched: Searched) -> None:
        self._few: list[tuple[int, Place]] = []
        lines_of_few: list[int] = []
        self.others: list[list[tuple[int, int, Place]]] = [[] for _ in searched.views]
        number = 0
        for at, line in enumerate(lines):
            for place in line.places:
                if place.counts is None:
                    self.others[place.view].append((number, at, place))
                else:
                    self._few.append((number, place))
                    lines_of_few.append(at)
                number += 1
        if self._few:
            self._sizes = [len(place.rows) for _, place in self._few]
            self._lines = np.array(lines_of_few).repeat(self._sizes)
            self.rows = np.concatenate([place.rows for _, place in self._few], dtype=np.int64)
            self._counts = np.concatenate([place.counts for _, place in self._few if place.counts is not None])
            if len(searched.views) > 1 or searched.shifts[0]:
                self.rows += np.array([searched.shifts[place.view] for _, place in self._few]).repeat(self._sizes)

    def add_to(self, sums: NDArray[Any], factors: Sequence[int]) -> None:
        """Add what leaves that few rows hold are worth at most."""
        if self._few:
            worth = np.array([factors[number] for number, _ in self._few], dtype=sums.dtype).repeat(self._sizes)
            worth *= np.concatenate([place.impacts for _, place in self._few])
            np.add.at(sums, self.rows, worth)

    def counts_at(self, rows: Whole, slots: Rows, counts: NDArray[np.float64]) -> None:
        """Put the counts in *rows* of leaves that few rows hold where they belong; *slots* say where a row stands."""
        if self._few and len(rows):
            columns = slots.take(self.rows)
            here = (rows.take(columns, mode="clip") == self.rows).nonzero()[0]
            counts[self._lines.take(here), columns.take(here)] = self._counts.take(here)


class Sums(NamedTuple):
    """A sum for each row of the views, one view after another; what makes a score of one, and how far it may be off.

    *total* is how many rows match.
    """

    values: NDArray[Any]
    scale: float
    error: float
    ratio: float
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


def _values(size: int, *, wide: bool) -> NDArray[Any]:
    """Return room for sums, whatever is in it."""
    _ROOM.kept = None, None
    if wide:
        return np.empty(size, dtype=np.uint32)
    if len(_ROOM.narrow) < size:
        _ROOM.narrow = np.empty(size, dtype=np.uint16)
    return _ROOM.narrow[:size]


def slots_of(rows: Whole, size: int) -> Rows:
    """Return room for *size* rows in which each of *rows* has its place there, and others whatever was there."""
    if len(_ROOM.slots) < size:
        _ROOM.slots = np.zeros(size, dtype=np.int32)
    _ROOM.slots[rows] = np.arange(len(rows), dtype=np.int32)
    return _ROOM.slots


def add_up(lines: Sequence[Line], together: Together, searched: Searched, drifts: Drifts) -> Sums:
    """Return the sums of bounds; they are overwritten by the next question of the same thread."""
    wide = len(lines) > WIDE
    top = 0.0
    for gain, form, places in lines:
        mine = drifts[form]
        top += max(0.0, gain) * max([place.most * mine[place.view][1] for place in places])
    room = (1 << 31 if wide else (1 << 16) - 1) - (STEPS + 2) * len(lines)
    unit = room / ((top or 1.0) * SLACK)
    error, ratio = 0.0, 1.0
    factors: list[int] = []
    for gain, form, places in lines:
        mine, off, worth = drifts[form], 0.0, max(0.0, gain) * unit
        for place in places:
            least, most = mine[place.view]
            exact = worth * most
            factor = int(exact * SLACK) + 1
            factors.append(factor)
            off = max(off, (factor - exact) * place.most + exact)
            ratio = min(ratio, least / most)
        error += off
    values = _values(_padded(searched.offsets[-1]), wide=wide)
    values[searched.offsets[-1] :] = 0
    for at, others in enumerate(together.others):
        sums = values[searched.offsets[at] : searched.offsets[at + 1]]
        _add(sums, [(place, factors[number]) for number, _, place in others], searched.views[at].start)
    together.add_to(values, factors)
    return Sums(values, unit * STEPS, error, ratio)


def _padded(size: int) -> int:
    """Return at least *size*, so that the sums make a full table."""
    return size if size <= SMALL else -(-size // (LINES * 32)) * (LINES * 32)


def _add(sums: NDArray[Any], places: Sequence[tuple[Place, int]], start: int) -> None:
    """Put into *sums* what each leaf that many rows hold is worth at most; the rows of the view begin at *start*."""
    dense = [(place.dense, factor) for place, factor in places if place.dense is not None and sums.dtype == np.uint16]
    if not dense:
        sums.fill(0)
    for first in range(0, len(sums) if dense else 0, CACHED):
        some = sums[first : first + CACHED]
        product = some  # what is there is overwritten by the first line
        for line, factor in dense:
            np.multiply(line[first : first + CACHED], factor, out=product, dtype=np.uint16)
            if product is some:
                product = _ROOM.product[: len(some)]
            else:
                np.add(some, product, out=some)
    for place, factor in places:
        if place.dense is None or sums.dtype != np.uint16:
            rows = place.rows - np.int32(start) if start else place.rows
            np.add.at(sums, rows, np.multiply(place.impacts, factor, dtype=sums.dtype))


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


def candidates(sums: Sums, limit: int) -> Whole:
    """Return every row that may be among the best *limit*, ascending."""
    values = sums.values
    if sums.total <= limit:
        return np.flatnonzero(values)
    if len(values) <= SMALL:
        return (values >= _least(sums, _kth(values, limit))).nonzero()[0]
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
    fold = len(values) // (16 * limit)
    if fold > 1:
        width = len(values) // fold
        values = values[: fold * width].reshape(fold, width).max(axis=0)
    return int(np.partition(values, len(values) - limit)[len(values) - limit])


def _least(sums: Sums, reached: int) -> int:
    """Return the least sum of a row whose score may reach that of one with the sum *reached*."""
    return max(1, int((reached - sums.error) * sums.ratio / SLACK))
