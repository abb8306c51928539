"""What a question is about: runs of rows of several parts, one after another, and where leaves stand in them."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.records import Leaf
from recollect.stores.segments.measures import Measure, drift
from recollect.stores.segments.part import Rows, Whole
from recollect.stores.segments.postings import Postings, find
from recollect.stores.segments.rows import FORMS
from recollect.stores.segments.views import View

FEW: Final = 2048
"""Leaves in up to so many rows of a view are looked at together."""
SPARSE: Final = 256
"""Up to so many rows are added one by one even where the leaf is kept by row as well."""
MOST_KEPT: Final = 1 << 23
"""How many bytes of what is known of leaves are remembered."""
ENTRY: Final = 1024
"""How many of them a leaf takes in one view, its counts aside."""
Key = tuple[str | None, ...]
Drifts = Sequence[Sequence[tuple[float, float]]]
"""For each form and view, between which factors a worth lies."""


class Place(NamedTuple):
    """The rows of one view that hold a leaf; where they are few, the counts in them."""

    view: int
    rows: Rows
    impacts: NDArray[np.uint8]
    most: int
    dense: NDArray[np.uint8] | None
    counts: NDArray[np.float64] | None
    postings: Postings


class Stand(NamedTuple):
    """In how many living rows a leaf stands, and where in each view that holds it."""

    size: int
    places: tuple[Place, ...]


NOWHERE: Final = Stand(0, ())


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
        self._kept: dict[Measure, dict[Key, Stand]] = {}
        self._size = 0

    def drifts(self, measure: Measure, averages: tuple[float, ...]) -> Drifts:
        """Return how far the bounds of each form and view are off where rows have these lengths on the average."""
        known, found = self._drifts
        if known != (measure, averages):
            found = [
                [drift(measure, view.part.form(form).average, average) for view in self.views]
                for form, average in zip(FORMS, averages, strict=True)
            ]
            self._drifts = (measure, averages), found
        return found

    def stands(self, leaves: Sequence[Leaf], keys: Sequence[Key | None], measure: Measure) -> list[Stand]:
        """Return where each of *leaves* stands; those that have a key are remembered by it."""
        kept: Mapping[Any, Stand] = self._kept.get(measure, {})
        found = [kept.get(key) for key in keys]
        if None in found:
            missing = [at for at, each in enumerate(found) if each is None]
            read = self._read([leaves[at] for at in missing], measure)
            for at, each in zip(missing, read, strict=True):
                found[at] = each
            self._keep(measure, [(keys[at], each) for at, each in zip(missing, read, strict=True)])
        return found  # type: ignore[return-value]

    def _keep(self, measure: Measure, stands: Sequence[tuple[Key | None, Stand]]) -> None:
        if self._size > MOST_KEPT:  # another dictionary: readers of this one are not disturbed
            self._kept, self._size = {}, 0
        kept, size = self._kept.setdefault(measure, {}), self._size
        for key, stand in stands:
            if key is not None:
                kept[key] = stand
                size += ENTRY
                for place in stand.places:
                    size += ENTRY if place.counts is None else ENTRY + place.counts.nbytes
        self._size = size

    def _read(self, leaves: Sequence[Leaf], measure: Measure) -> list[Stand]:
        sizes, places = [0] * len(leaves), [list[Place]() for _ in leaves]
        for number, view in enumerate(self.views):
            for at, postings in enumerate(find(view.part, leaves, measure)):
                place = _place(number, view, postings) if postings.most else None
                if place is not None:
                    sizes[at] += len(place.rows) if view.alive is None else view.count(postings.rows, postings.dense)
                    places[at].append(place)
        return [Stand(size, tuple(each)) if each else NOWHERE for size, each in zip(sizes, places, strict=True)]

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
    return Place(number, rows, impacts, postings.most, dense, counts, postings)
