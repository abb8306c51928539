"""The rows of a part that a query is about."""

from functools import cached_property
from typing import Final

import numpy as np

from recollect.stores.segments.part import Mask, Part, Rows

FEW_DEAD: Final = 64
"""Dead rows are looked up one by one if they are fewer than one of this many."""


class PartView:
    """A run of the rows of a part, of which some are dead and some not admitted.

    *alive* rows are in scope and count for document frequencies, *admitted* ones may be hits as well; None means all.
    Both have an entry for every row of the part. One part may have several views, of different rows.
    """

    def __init__(
        self,
        *,
        part: Part,
        start: int = 0,
        stop: int | None = None,
        alive: Mask | None = None,
        admitted: Mask | None = None,
    ) -> None:
        self.part, self.alive, self.admitted = part, alive, admitted
        self.start, self.stop = start, len(part) if stop is None else stop

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def is_whole(self) -> bool:
        """Tell whether all rows of the part count."""
        return self.alive is None and len(self) == len(self.part)

    def count(self, rows: Rows) -> int:
        """Return how many of ascending *rows*, all of this run, are alive."""
        if self.alive is None:
            return len(rows)
        if len(self._dead) * FEW_DEAD < len(rows):
            places = rows.searchsorted(self._dead)
            return len(rows) - int(np.count_nonzero(rows.take(places, mode="clip") == self._dead))
        return int(np.count_nonzero(self.alive[rows]))

    @cached_property
    def _dead(self) -> Rows:
        alive = np.ones(len(self.part), dtype=np.bool_) if self.alive is None else self.alive
        return (np.flatnonzero(~alive[self.start : self.stop]) + self.start).astype(np.int32)

    @cached_property
    def excluded(self) -> Rows | None:
        """Return the rows that cannot be hits, counted from the start of the run; None if all can."""
        masks = [mask[self.start : self.stop] for mask in (self.alive, self.admitted) if mask is not None]
        return np.flatnonzero(~np.logical_and.reduce(masks)).astype(np.int32) if masks else None
