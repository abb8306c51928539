"""Vectors in the segment log: rows of float32, blocks of arrays with four-bit codes."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from recollect.stores.nearest.codes import fits
from recollect.stores.nearest.files import Columns, is_encoded, is_newer, load, portions, verify, write
from recollect.stores.nearest.table import Block, Read
from recollect.stores.segments.damage import SegmentDamaged
from recollect.stores.sql.engine import Session
from recollect.stores.sql.index.log import Job, LogState, Segment
from recollect.stores.sqlite.vector_view import about, gone_from, left_of, logs_of, read_loose, reader
from recollect.stores.sqlite.vectors import Sizes

Source = tuple[Block, Any]
"""A block and the places of the rows of it that are written."""
_COLUMNS = (("ids", "i8", ()), ("memories", "i8", ()), ("ordinals", "i4", ()), ("spans", "i8", (2,)))


class VectorCodec:
    """Reads, counts and writes vectors, each generation a log of its own."""

    subject = "vectors"

    def __init__(self, path: Path, sizes: Sizes) -> None:
        self._path, self._sizes = path, sizes

    def read(self, session: Session) -> Sequence[LogState]:
        """Return the state of the log of each generation."""
        return logs_of(session)

    def count(self, session: Session, log: LogState, after: int, upto: int) -> int:
        """Return how many passages were written in a run of stamps."""
        sql = "select count(*) from vector where generation_id = ? and stamp > ? and stamp <= ?"
        return int(session.value(sql, (log.generation, after, upto)))

    def cut(self, session: Session, log: LogState, after: int, upto: int, most: int) -> int:
        """Return the stamp up to which at most *most* passages follow, or those of one stamp."""
        sql = "select stamp from vector where generation_id = ? and stamp > ? order by stamp limit 1 offset ?"
        beyond: int | None = session.value(sql, (log.generation, after, most))
        if beyond is None:
            return upto
        first: int = session.value(sql, (log.generation, after, 0))
        return min(upto, max(first, beyond - 1))

    def tombstones(self, session: Session, log: LogState) -> dict[str, Any]:
        """Return for each segment the vectors that were deleted or changed since."""
        return gone_from(session, log)

    def rows(self, session: Session, log: LogState, after: int, upto: int) -> list[Block]:
        """Read a run of vectors, portion by portion."""
        sql = "select id from vector where generation_id = ? and stamp > ? and stamp <= ? order by memory_id, ordinal"
        ids = [row for (row,) in session.rows(sql, (log.generation, after, upto))]
        return [read_loose(session, ids[part], log.dimensions).block for part in portions(len(ids))]

    def load(self, folder: Path, segment: Segment, log: LogState) -> Block:
        """Map a segment."""
        return load(folder, about(segment, log))

    def verify(self, folder: Path, part: Block) -> bool:  # noqa: ARG002
        """Tell whether all bytes are as they were written."""
        try:
            verify(folder)
        except SegmentDamaged:
            return False
        return True

    def living(self, part: Block, gone: Collection[int]) -> Any:
        """Return a mask of the rows that are not *gone*; None for all."""
        return left_of(part, gone)

    def is_newer(self, folder: Path) -> bool:
        """Tell whether a newer version of this program wrote the segment."""
        return is_newer(folder)

    def is_outdated(self, folder: Path, segment: Segment, log: LogState, total: int) -> bool:
        """Tell whether a segment was written without codes when there were few."""
        many = total >= self._sizes.quantised and fits(segment.rows, log.dimensions)
        return many and not is_encoded(folder)

    def write(
        self, session: Session, folder: Path, parts: Sequence[tuple[Block, Any]], job: Job, log: LogState
    ) -> None:
        """Write the living rows of *parts*, with codes where the log has many rows."""
        read = reader(session, log.dimensions)
        several = [(block, np.arange(len(block)) if mask is None else np.flatnonzero(mask)) for block, mask in parts]
        columns, sources = _merged(several)
        others = sum(each.rows for each in log.segments if each not in job.replaced)
        many = others + len(columns.ids) >= self._sizes.quantised
        mixed = sources[columns.in_context]
        write(
            folder,
            columns,
            {
                "plain": _vectors(several, sources, read, log.dimensions, in_context=False),
                "context": _vectors(several, mixed, read, log.dimensions, in_context=True),
            },
            {"low": job.after, "upto": job.upto},
            dimensions=log.dimensions,
            quantised=many,
            sources=[self._path / each.name for each in log.segments],
        )

    def name(self, session: Session, log: LogState, replaced: Sequence[Segment], made: Segment | None) -> None:
        """Put *made* in the place of the *replaced*, and drop tombstones that no segment needs."""
        session.many("delete from vector_segment where name = ?", [(each.name,) for each in replaced])
        session.rows("delete from vector_segment where generation_id not in (select id from generation)")
        if made is not None:
            names = "name, generation_id, low, upto, removed, passages"
            row = (made.name, log.generation, made.after, made.upto, made.removed, made.rows)
            session.rows(f"insert into vector_segment ({names}) values (?, ?, ?, ?, ?, ?)", row)
        session.rows(
            "delete from vector_removed where generation_id = ?1 and seq <= "
            "(select coalesce(min(removed), ?2) from vector_segment where generation_id = ?1)",
            (log.generation, log.removed),
        )


def _merged(several: Sequence[Source]) -> tuple[Columns, Any]:
    """Return the columns of all rows in the order that blocks have, and where each comes from: part and row."""
    sources = np.concatenate([np.stack([np.full(len(rows), at), rows], 1) for at, (_, rows) in enumerate(several)])
    held = {
        name: np.concatenate([np.empty((0, *shape), kind)] + [getattr(block, name)[rows] for block, rows in several])
        for name, kind, shape in _COLUMNS
    }
    mixed = np.concatenate([np.isin(rows, block.in_context) for block, rows in several])
    order = np.lexsort((held["ordinals"], held["memories"]))
    columns = Columns(**{name: array[order] for name, array in held.items()}, in_context=np.flatnonzero(mixed[order]))
    return columns, sources[order]


def _vectors(
    several: Sequence[Source], sources: Any, read: Read, dimensions: int, *, in_context: bool
) -> Iterator[Any]:
    """Yield the vectors of the rows of *sources*, portion by portion."""
    for portion in portions(len(sources)):
        some = sources[portion]
        found = np.empty((len(some), dimensions), dtype="<f4")
        for at in np.unique(some[:, 0]):
            mine = some[:, 0] == at
            found[mine] = several[at][0].vectors(some[mine, 1], read, in_context=in_context)
        yield found
