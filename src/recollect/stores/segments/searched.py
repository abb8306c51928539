"""What a question is about: runs of rows of several parts, one after another, and where leaves stand in them."""

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.records import Leaf
from recollect.stores.bm25 import CollectionStats, form_of, idf
from recollect.stores.segments.measures import STEPS, Measure, drift
from recollect.stores.segments.part import Rows, Whole
from recollect.stores.segments.postings import Postings, find
from recollect.stores.segments.rows import FORMS
from recollect.stores.segments.views import View

FEW: Final = 2048
"""Leaves in up to so many rows of a view are looked at together."""
SPARSE: Final = 256
"""Up to so many rows are added one by one even where the leaf is kept by row as well."""
LONG: Final = 1 << 17
"""Up to so many rows of a view the bounds of leaves in many of them are remembered row by row."""
SCALE: Final = 128.0
"""How many steps of a bound make 1 in a score."""
NARROW: Final = (1 << 16) - 1
"""The largest sum that 16 bits hold."""
SLACK: Final = 1.0 + 1e-9
"""More than the last digits of a sum of scores can be off."""
LARGEST: Final = 500.0
"""Of leaves that may add more than so much bounds tell nothing but where they stand."""
MOST_KEPT: Final = 10 << 20
"""How many bytes of what is known of leaves are remembered."""
ENTRY: Final = 512
"""How many of them a leaf takes by itself, and again in each view that holds it."""
Key = tuple[str | float | None, ...]
Steps = NDArray[np.uint16]
Drifts = Sequence[Sequence[float]]
"""For each form and view, how many times larger than its bound a worth may be."""


class Numbers(NamedTuple):
    """What the worth of a leaf depends on, beside where it stands."""

    measure: Measure
    stats: CollectionStats
    idf: str


class Place(NamedTuple):
    """The rows of one view that hold a leaf: where these are few the counts in them, where many bounds for all rows."""

    view: int
    rows: Rows
    impacts: NDArray[np.uint8]
    dense: NDArray[np.uint8] | None
    counts: NDArray[np.float64] | None
    postings: Postings
    steps: Steps | None = None


class Stand(NamedTuple):
    """Where a leaf stands: in *size* living rows, so that it is worth *value* and adds less than *gain* to a score.

    An impact of 1 is worth up to *step* steps of a bound; 0 where bounds tell nothing but where it stands.
    """

    size: int
    value: float
    gain: float
    step: float
    form: int
    places: Sequence[Place]


class Searched:
    """The views of a question, with what is known of them; asked again it answers faster than a new one.

    *last* is whatever was made for the question that was asked last, for those who ask the same again.
    """

    __slots__ = ("_drifts", "_kept", "_size", "is_ascending", "last", "offsets", "shifts", "views")

    def __init__(self, views: Sequence[View]) -> None:
        self.views = tuple(views)
        self.offsets = [0, *accumulate(map(len, views))]
        self.shifts = [offset - view.start for offset, view in zip(self.offsets, views, strict=False)]
        self.is_ascending = len(views) == 1 and views[0].part.is_ascending
        self.last: Any = None
        self._drifts: tuple[Any, Drifts] = (None, ())
        self._kept: dict[Numbers, dict[Key, Stand]] = {}
        self._size = 0

    def __len__(self) -> int:
        return self.offsets[-1]

    def drifts(self, numbers: Numbers) -> Drifts:
        """Return how far the bounds of each form and view may be off where rows have these lengths on the average."""
        known, found = self._drifts
        if known != numbers:
            found = [
                [drift(numbers.measure, view.part.form(form).average, average) for view in self.views]
                for form, average in [(form, numbers.stats.average(form)) for form in FORMS]
            ]
            self._drifts = numbers, found
        return found

    def stands(self, leaves: Sequence[Leaf], keys: Sequence[Key | None], numbers: Numbers) -> list[Stand]:
        """Return where each of *leaves* stands; those that have a key are remembered by it."""
        kept: Mapping[Any, Stand] = self._kept.get(numbers, {})
        found = [kept.get(key) for key in keys]
        if None in found:
            missing = [at for at, each in enumerate(found) if each is None]
            places = self.places([leaves[at] for at in missing], numbers.measure)
            read = [self._read(leaves[at], each, numbers) for at, each in zip(missing, places, strict=True)]
            for at, each in zip(missing, read, strict=True):
                found[at] = each
            self._keep(numbers, [(keys[at], each) for at, each in zip(missing, read, strict=True)])
        return found  # type: ignore[return-value]

    def _keep(self, numbers: Numbers, stands: Sequence[tuple[Key | None, Stand]]) -> None:
        if self._size > MOST_KEPT:  # another dictionary: readers of this one are not disturbed
            self._kept, self._size = {}, 0
        kept, size = self._kept.setdefault(numbers, {}), self._size
        for key, stand in stands:
            if key is not None:
                kept[key] = stand
                size += ENTRY
                for place in stand.places:
                    size += ENTRY + sum([each.nbytes for each in (place.counts, place.steps) if each is not None])
        self._size = size

    def places(self, leaves: Sequence[Leaf], measure: Measure) -> list[list[Place]]:
        """Return where each of *leaves* stands in each view that holds it."""
        found = [list[Place]() for _ in leaves]
        for number, view in enumerate(self.views):
            for at, postings in enumerate(find(view.part, leaves, measure)):
                place = _place(number, view, postings) if postings.most else None
                if place is not None:
                    found[at].append(place)
        return found

    def _read(self, leaf: Leaf, places: Sequence[Place], numbers: Numbers) -> Stand:
        """Return what is known of a leaf that stands in *places*."""
        size = 0
        for place in places:
            view, held = self.views[place.view], place.postings
            size += len(place.rows) if view.alive is None else view.count(held.rows, held.dense)
        value = idf(leaf, size, numbers.stats, numbers.idf)
        gain, form = value * (numbers.measure.k1 + 1.0), FORMS.index(form_of(leaf))
        step = gain * SCALE / STEPS if 0.0 < gain < LARGEST else 0.0
        mine = self.drifts(numbers)[form]
        return Stand(size, value, gain, step, form, [_with_steps(place, step * mine[place.view]) for place in places])

    def rows_in(self, place: Place) -> Rows:
        """Return the rows of *place*, counted through all views."""
        shift = self.shifts[place.view]
        return place.rows + np.int32(shift) if shift else place.rows

    def rows_of(self, ids: Whole) -> Whole:
        """Return the rows of *ids*, in their order, without those that no view has."""
        if len(self.views) == 1 and len(self.views[0]) == len(self.views[0].part):
            alone = self.views[0].part.rows_of(ids)
            return alone[alone >= 0]
        found = np.full(len(ids), -1, dtype=np.int64)
        for view, shift in zip(self.views, self.shifts, strict=True):
            rows = view.part.rows_of(ids)
            np.copyto(found, rows + shift, where=(rows >= view.start) & (rows < view.stop))
        return found[found >= 0]


def _place(number: int, view: View, postings: Postings) -> Place | None:
    """Return where in a view a leaf stands; None where it does not."""
    rows, impacts, codes, dense = postings.rows, postings.impacts, postings.codes, postings.dense
    if len(view) < len(view.part):
        inside = view.inside(rows)
        rows, impacts, codes = rows[inside], impacts[inside], codes[inside]
        dense = None if dense is None else dense[view.start : view.stop]
    size = len(rows)
    if not size:
        return None
    if size <= SPARSE:
        dense = None
    counts: NDArray[np.float64] | None = None
    if dense is None and size <= FEW:
        counts = (codes if postings.counts is None else postings.counts.take(codes)).astype(np.float64)
    return Place(number, rows, impacts, dense, counts, postings)


def _with_steps(place: Place, factor: float) -> Place:
    """Return *place* with bounds for all rows, its impacts times *factor*, where these are many and there is room."""
    if place.dense is None or len(place.dense) > LONG or (factor + 2.0) * STEPS > NARROW:
        return place
    fine = finer(factor, 1, np.dtype(np.uint16))
    steps = np.multiply(place.dense, int(factor * (1 << fine) * SLACK) + 1, dtype=np.uint16)
    steps += (1 << fine) - 1
    steps >>= fine
    return place._replace(steps=steps)


def finer(factors: float, count: int, kind: np.dtype[Any]) -> int:
    """Return by how many bits steps can be finer where impacts are taken times *count* factors and added up."""
    room = float(np.iinfo(kind).max) - (STEPS + 2) * count - STEPS
    return min(8, max(0, math.frexp(room / (factors * STEPS + 1.0))[1] - 1))
