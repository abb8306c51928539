"""The segment log: what a codec for words or vectors supplies, and the merge policy as a pure function.

A log numbers its rows in the order they are written. A segment holds the rows numbered above *after* up to *upto*; one
of its rows is dead if a tombstone newer than *removed* names it. Rows that no segment holds are the tail.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from recollect.stores.sql.engine import Session


class Segment(Struct, frozen=True, kw_only=True):
    """A folder of arrays, as the manifest lists it."""

    name: str
    after: int
    upto: int
    removed: int
    rows: int

    @property
    def is_named_well(self) -> bool:
        """Tell whether the name is that of a folder of ours and leads nowhere else."""
        return self.name.isalnum()


class LogState(Struct, frozen=True, kw_only=True):
    """The manifest of one log as a transaction sees it, and how far its rows and tombstones are numbered."""

    segments: tuple[Segment, ...]
    last: int
    removed: int
    epoch: int = 0
    """Changes when the numbers begin again."""
    generation: int = 0
    dimensions: int = 0
    start: int = 0
    """No row has a number as low as this."""
    is_sparse: bool = False
    """Most numbers are those of no row."""

    @property
    def gaps(self) -> list[tuple[int, int]]:
        """Return the runs of numbers that no segment holds."""
        return uncovered([(each.after, each.upto) for each in self.segments], self.last, self.start)


class Job(Struct, frozen=True, kw_only=True):
    """A segment to be written, in place of those it is made from."""

    replaced: tuple[Segment, ...] = ()
    after: int
    upto: int


class Codec(Protocol):
    """How one kind of rows is counted, read and written; the sealer does the rest."""

    subject: str
    """What messages call it."""

    def read(self, session: Session) -> Sequence[LogState]:
        """Return the state of each log of this kind."""
        ...

    def count(self, session: Session, log: LogState, after: int, upto: int) -> int:
        """Return how many rows there are in a run of numbers; a lower bound where they are too few to be sealed."""
        ...

    def cut(self, session: Session, log: LogState, after: int, upto: int, most: int) -> int:
        """Return up to which number at most *most* rows follow *after*, or the rows of one number."""
        ...

    def tombstones(self, session: Session, log: LogState) -> Mapping[str, Collection[int]]:
        """Return for each segment the ids that were removed since it was made."""
        ...

    def rows(self, session: Session, log: LogState, after: int, upto: int) -> list[Any]:
        """Read a run of rows from the tables, as parts."""
        ...

    def load(self, folder: Path, segment: Segment, log: LogState) -> Any:
        """Map a segment; raise SegmentDamaged where it cannot be used."""
        ...

    def verify(self, folder: Path, part: Any) -> bool:
        """Tell whether all bytes of a segment are as they were written."""
        ...

    def living(self, part: Any, gone: Collection[int]) -> Any:
        """Return a mask of the rows of *part* that are not *gone*; None for all."""
        ...

    def is_newer(self, folder: Path) -> bool:
        """Tell whether a newer version of this program wrote the segment, whose business it stays."""
        ...

    def is_outdated(self, folder: Path, segment: Segment, log: LogState, total: int) -> bool:
        """Tell whether a segment should be written again because of how many rows there are by now."""
        ...

    def write(self, session: Session, folder: Path, parts: Sequence[tuple[Any, Any]], job: Job, log: LogState) -> None:
        """Write the living rows of *parts*, of which there are some, to a new *folder*."""
        ...

    def name(self, session: Session, log: LogState, replaced: Sequence[Segment], made: Segment | None) -> None:
        """Put *made* in the place of the *replaced* in the manifest, and drop tombstones that no segment needs."""
        ...


def uncovered(spans: Sequence[tuple[int, int]], last: int, start: int = 0) -> list[tuple[int, int]]:
    """Return the runs of numbers above *start* up to *last* that no span (after, upto) holds."""
    found = []
    for after, upto in sorted(spans):
        if after > start:
            found.append((start, after))
        start = max(start, upto)
    return [*found, (start, last)] if last > start else found


# --- the merge policy -----------------------------------------------------------------------


def due_job(
    segments: Sequence[Segment],
    gaps: Sequence[tuple[int, int, int]],
    *,
    least: int,
    spoiled: Collection[str] = (),
    most: int,
    fan: int,
    tier: int,
) -> Job | None:
    """Return the next segment to write, if any.

    First a gap (after, upto, rows) of at least *least* rows; then a *spoiled* segment of at most *most* rows; then
    *fan* or more neighbors of one tier or below that have at most *most* rows together. A tier spans a factor of eight,
    beginning at *tier* rows.
    """
    for after, upto, rows in gaps:
        if rows >= least:
            return Job(after=after, upto=upto)
    for each in segments:
        if each.name in spoiled and each.rows <= most:
            return Job(replaced=(each,), after=each.after, upto=each.upto)
    for run in _runs(segments, tier):
        if len(run) >= fan and sum(each.rows for each in run) <= most:
            return Job(replaced=tuple(run), after=run[0].after, upto=run[-1].upto)
    return None


TIER_FACTOR = 8
"""How many times larger the segments of one tier are than those of the tier below."""


def _runs(segments: Sequence[Segment], tier: int) -> Iterator[list[Segment]]:
    """Yield runs of neighbors of one tier or below, the small tiers first."""
    for size in sorted({_tier(each, tier) for each in segments}):
        run: list[Segment] = []
        for each in segments:
            if run and (_tier(each, tier) > size or each.after != run[-1].upto):
                yield run
                run = []
            if _tier(each, tier) <= size:
                run.append(each)
        yield run


def _tier(segment: Segment, tier: int) -> int:
    return int(math.log(max(segment.rows, tier) / tier, TIER_FACTOR) + 1e-9)
