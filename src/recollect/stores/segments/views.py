"""The rows of a part that a question is about."""

from typing import Final

import numpy as np

from recollect.stores.segments.part import Mask, Part, Rows

SPARSE: Final = 8
"""Rows are kept one by one where they are fewer than one of so many."""


class View:
    """A run of the rows of a part, of which some are dead and some not let through.

    *alive* are in scope and count for document frequencies, *admitted* may be hits as well; None stands for all.
    Both have an entry for every row of the part. Of one part there may be several views, of different rows. What
    follows from the masks is kept, so a view that is asked again answers faster than a new one.
    """

    __slots__ = ("_dead", "_hidden", "_is_counted", "admitted", "alive", "part", "start", "stop")

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
        self._dead: Rows | None = None
        self._hidden: tuple[Rows | None, Mask | None] = (None, None)
        self._is_counted = alive is None and admitted is None

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def is_whole(self) -> bool:
        """Tell whether all rows of the part count."""
        return self.alive is None and len(self) == len(self.part)

    def inside(self, rows: Rows) -> slice:
        """Return which of ascending *rows* are of this run, dead or not."""
        if len(self) == len(self.part):
            return slice(0, len(rows))
        first, last = rows.searchsorted(np.array((self.start, self.stop), dtype=rows.dtype))
        return slice(int(first), int(last))

    def count(self, rows: Rows) -> int:
        """Return how many of ascending *rows* are of this run and alive."""
        rows = rows[self.inside(rows)]
        if self.alive is None:
            return len(rows)
        dead = self._gone()
        if len(dead) * SPARSE < len(rows):
            return len(rows) - int(np.count_nonzero(rows.take(rows.searchsorted(dead), mode="clip") == dead))
        return int(np.count_nonzero(self.alive[rows]))

    def _gone(self) -> Rows:
        """Return the rows that are dead."""
        if self._dead is None:
            alive = np.ones(len(self.part), dtype=np.bool_) if self.alive is None else self.alive
            self._dead = (np.flatnonzero(~alive[self.start : self.stop]) + self.start).astype(np.int32)
        return self._dead

    def hidden(self) -> tuple[Rows | None, Mask | None]:
        """Return what may be no hit, counted from the start of the run: as rows if they are few, else what may be."""
        if not self._is_counted:
            may = self.may_be_hits()
            if may is not None:
                out = len(self) - int(np.count_nonzero(may))
                few = out * SPARSE < len(self)
                self._hidden = (np.flatnonzero(~may).astype(np.int32), None) if few else (None, may)
            self._is_counted = True
        return self._hidden

    def may_be_hits(self) -> Mask | None:
        """Tell which rows of the run may be hits; None for all."""
        masks = [mask[self.start : self.stop] for mask in (self.alive, self.admitted) if mask is not None]
        if not masks:
            return None
        return masks[0] if len(masks) == 1 else masks[0] & masks[1]
