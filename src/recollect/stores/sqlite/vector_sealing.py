"""Sealing: vectors that were written last become a segment, and segments of like size one.

A segment is on disk before one transaction names it, in the place of those it was made from: readers see one consistent
set of segments, and a crash leaves nothing that is used.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
from msgspec import Struct

from recollect.errors import StoreDamaged, StoreError
from recollect.files import make_folder
from recollect.stores.nearest.codes import fits
from recollect.stores.nearest.files import Columns, Writer, is_encoded, load, portions
from recollect.stores.nearest.table import Block
from recollect.stores.sql.engine import Engine, Session
from recollect.stores.sql.index.folder import AGE, AT_ONCE, SOON, SegmentFolder
from recollect.stores.sqlite.vector_view import Segment, gone_from, left_of, read_loose, segments_of, uncovered
from recollect.stores.sqlite.vectors import Sizes, named_by

ALIKE: Final = 2
"""A segment is joined with those behind it when it is less than so many times as large, while more may come."""
ALIKE_AT_REST: Final = 8
"""The same when nothing is written just now: one large segment is scanned sooner than some."""
FEW: Final = 1_024
"""So many are sealed at rest."""
DIRTY: Final = 0.2
"""A segment is written anew when so much of it is gone."""
PATIENCE: Final = 10.0
"""How many seconds an erasure waits for another process that makes segments."""


class Task(Struct, frozen=True, kw_only=True):
    """A segment to be made: in place of which ones, and up to which stamp."""

    generation: int
    dimensions: int
    replaced: tuple[Segment, ...]
    low: int
    upto: int
    removed: int
    quantised: bool
    books: tuple[str, ...]
    """The segments that have code books."""


class Part(Struct, frozen=True, kw_only=True):
    """Rows of a block that go into a segment."""

    block: Block
    rows: Any


class Sealer:
    """Makes the segments of one store, one process at a time."""

    def __init__(self, engine: Engine, path: Path, sizes: Sizes, *, at_rest: bool) -> None:
        """Begin; *at_rest* says that nothing more is on its way, so that work is worth while."""
        self._engine, self._folder, self._sizes = engine, SegmentFolder(path), sizes
        self._at_rest, self._alike = at_rest, ALIKE_AT_REST if at_rest else ALIKE
        self._age = SOON if at_rest else AGE

    def settle(self, *, whole: bool) -> None:
        """Make the segments that are due; unless the *whole* is asked for, one at most, and no large one.

        What stands against it is no harm: what is not sealed is read from the file.
        """
        with suppress(OSError, StoreError):
            if any(self._next(*each, whole=whole) is not None for each in self._generations()):
                make_folder(self._folder.path.parent)
                with self._folder.locked() as ours:
                    if ours:
                        self._make_all(whole=whole)
            elif whole:
                self._folder.tidy(lambda: named_by(self._engine), age=self._age)

    def _make_all(self, *, whole: bool) -> None:
        for each in self._generations():
            while self._make(*each, whole=whole) and whole:
                pass
        self._folder.sweep(named_by(self._engine), age=self._age)

    def _generations(self) -> list[tuple[int, int]]:
        with self._engine.session() as session:
            rows = session.rows("select id, dimensions from generation order by id")
        return [(number, width) for number, width in rows if isinstance(width, int)]

    def _next(self, generation: int, dimensions: int, *, whole: bool) -> "Task | None":
        with self._engine.session() as session:
            return self._due(session, generation, dimensions, whole=whole)

    def compact(self) -> tuple[str, ...]:
        """Remove the segments that hold a row that is gone, and every folder that is not named; then settle."""
        with self._folder.locked(PATIENCE) as ours:
            if not ours:
                return ("another process makes segments of vectors; later run: recollect purge --verify",)
            with self._engine.session(write=True) as session:
                session.rows("delete from vector_segment where generation_id not in (select id from generation)")
            for each in self._generations():
                self._drop_dirty(*each)
            left = self._folder.sweep(named_by(self._engine), age=AT_ONCE)
        self.settle(whole=True)
        return tuple(f"cannot remove the segment {name}; later run: recollect purge --verify" for name in left)

    def _drop_dirty(self, generation: int, dimensions: int) -> None:
        """Forget the segments of which a row is gone; those behind them hold no more than before."""
        with self._engine.session(write=True) as session:
            named = segments_of(session, generation, dimensions)
            gone = gone_from(session, named)
            dirty = [each for each in named if not self._is_clean(each, gone[each.name])]
            session.many("delete from vector_segment where name = ?", [(each.name,) for each in dirty])

    def _is_clean(self, segment: Segment, gone: Any) -> bool:
        block = self._read(segment)
        return block is not None and left_of(block, gone) is None

    def _read(self, segment: Segment) -> Block | None:
        try:
            return load(self._folder.path / segment.name, segment.about)
        except StoreDamaged:
            return None

    # --- what is due ------------------------------------------------------------------------

    def _make(self, generation: int, dimensions: int, *, whole: bool) -> bool:
        """Make one segment that is due; return whether there was one."""
        with self._engine.session() as session:
            task = self._due(session, generation, dimensions, whole=whole)
            if task is None:
                return False
            parts = self._parts(session, task)
        passages = sum(len(each.rows) for each in parts)
        name = self._folder.put(lambda folder: self._write(task, parts, folder)) if passages else ""
        return self._publish(task, name, passages)

    def _due(self, session: Session, generation: int, dimensions: int, *, whole: bool) -> Task | None:
        """Return the segment to be made next: of what was written since, in place of a spoilt one, of two like ones."""
        named = segments_of(session, generation, dimensions)
        counted = [(low, high, _count(session, generation, low, high)) for low, high in uncovered(named)]
        total = sum(count for _, _, count in counted) + sum(each.passages for each in named)
        most = total if whole else self._sizes.foreground
        quantised = total >= self._sizes.quantised
        span = (
            self._loose(named, counted, most)
            or self._spoilt(session, named, quantised=quantised)
            or self._like(named, most)
        )
        if span is None:
            return None
        replaced, low, upto = span
        if upto > _behind(named, low):  # no segment bounds it
            now = min(upto, session.value("select value from meta where key = 'vectors'"))
            since = max((each.upto for each in replaced), default=low)
            upto = _cut(session, generation, since, now, self._sizes.foreground)
        return Task(
            generation=generation,
            dimensions=dimensions,
            replaced=tuple(replaced),
            low=low,
            upto=upto,
            removed=session.value("select seq from sqlite_sequence where name = 'vector_removed'") or 0,
            quantised=quantised,
            books=tuple(each.name for each in named),
        )

    def _loose(
        self, named: Sequence[Segment], counted: Sequence[tuple[int, int, int]], most: int
    ) -> tuple[list[Segment], int, int] | None:
        """Return what no segment holds, with the segments right before it that are not much larger."""
        due = min(self._sizes.sealed, FEW) if self._at_rest else self._sizes.sealed
        for low, high, count in counted:
            if count < due:
                continue
            joined: list[Segment] = []
            start, size = low, count
            for each in reversed([each for each in named if each.upto <= low]):
                if each.upto != start or each.passages >= self._alike * size or size + each.passages > most:
                    break
                joined, start, size = [each, *joined], each.low, size + each.passages
            return joined, start, high
        return None

    def _spoilt(
        self, session: Session, named: Sequence[Segment], *, quantised: bool
    ) -> tuple[list[Segment], int, int] | None:
        """Return a segment that cannot be read, of which much is gone, or that came to have no codes as one of few."""
        gone = gone_from(session, named)
        for each in named:
            coded = quantised and each.passages <= self._sizes.foreground and fits(each.passages, each.dimensions)
            bare = coded and not is_encoded(self._folder.path / each.name)
            if bare or self._read(each) is None or len(gone[each.name]) > DIRTY * each.passages:
                return [each], each.low, each.upto
        return None

    def _like(self, named: Sequence[Segment], most: int) -> tuple[list[Segment], int, int] | None:
        """Return two neighbours of which the older is not much larger."""
        for older, newer in reversed(list(pairwise(named))):
            alike = older.passages < self._alike * newer.passages and older.passages + newer.passages <= most
            if older.upto == newer.low and alike:
                return [older, newer], older.low, newer.upto
        return None

    # --- writing ----------------------------------------------------------------------------

    def _write(self, task: Task, parts: Sequence[Part], folder: Path) -> None:
        columns, sources = _merged(parts)
        writer = Writer(folder, columns, dimensions=task.dimensions, quantised=task.quantised)
        writer.write("plain", _rows(parts, sources, in_context=False))
        writer.write("context", _rows(parts, sources[columns.in_context], in_context=True))
        writer.finish({"low": task.low, "upto": task.upto}, [self._folder.path / each for each in task.books])

    def _parts(self, session: Session, task: Task) -> list[Part]:
        """Return the rows of the segments that are replaced, and of what no segment holds."""
        gone = gone_from(session, task.replaced)
        parts, at = [], task.low
        for each in task.replaced:
            block = self._read(each)
            if block is not None:
                rows = left_of(block, gone[each.name])
                parts.append(Part(block=block, rows=np.arange(len(block)) if rows is None else np.flatnonzero(rows)))
            else:
                parts += _from_file(session, task, each.low, each.upto)
            at = each.upto
        return [*parts, *_from_file(session, task, at, task.upto)]

    def _publish(self, task: Task, name: str, passages: int) -> bool:
        """Name a segment in the place of those it was made from, unless they are others by now."""
        with self._engine.session(write=True) as session:
            if not _is_current(session, task):
                return False
            session.many("delete from vector_segment where name = ?", [(each.name,) for each in task.replaced])
            if name:
                names = "name, generation_id, low, upto, removed, passages"
                row = (name, task.generation, task.low, task.upto, task.removed, passages)
                session.rows(f"insert into vector_segment ({names}) values (?, ?, ?, ?, ?, ?)", row)
            session.rows(
                "delete from vector_removed where generation_id = ?1 and seq <= "
                "(select coalesce(min(removed), ?2) from vector_segment where generation_id = ?1)",
                (task.generation, task.removed),
            )
        for each in task.replaced:
            self._folder.let_go(each.name)
        return True


def _count(session: Session, generation: int, low: int, high: int) -> int:
    sql = "select count(*) from vector where generation_id = ? and stamp > ? and stamp <= ?"
    return int(session.value(sql, (generation, low, high)))


def _behind(named: Sequence[Segment], low: int) -> int:
    """Return up to which stamp segments follow *low* without a gap."""
    for each in named:
        low = each.upto if each.low == low else low
    return low


def _cut(session: Session, generation: int, low: int, upto: int, most: int) -> int:
    """Return the stamp up to which at most so many passages were written since *low*, or those of one stamp."""
    sql = "select stamp from vector where generation_id = ? and stamp > ? order by stamp limit 1 offset ?"
    beyond: int | None = session.value(sql, (generation, low, most))
    if beyond is None:
        return upto
    first: int = session.value(sql, (generation, low, 0))
    return min(upto, max(first, beyond - 1))


def _is_current(session: Session, task: Task) -> bool:
    """Return whether the segments are still those that the task began with."""
    named = segments_of(session, task.generation, task.dimensions)
    there = [each.name for each in named if each.upto > task.low and each.low < task.upto]
    return there == [each.name for each in task.replaced]


def _from_file(session: Session, task: Task, low: int, high: int) -> Iterator[Part]:
    """Yield the rows between two stamps, read from the file portion by portion."""
    sql = "select id from vector where generation_id = ? and stamp > ? and stamp <= ? order by memory_id, ordinal"
    ids = [row for (row,) in session.rows(sql, (task.generation, low, high))]
    for part in portions(len(ids)):
        loose = read_loose(session, ids[part], task.dimensions)
        yield Part(block=loose.block, rows=np.arange(len(loose.block)))


def _merged(parts: Sequence[Part]) -> tuple[Columns, Any]:
    """Return the columns of all rows in the order that blocks have, and where each comes from: part and row."""
    sources = np.concatenate(
        [np.empty((0, 2), dtype="i8")]
        + [np.stack([np.full(len(each.rows), at), each.rows], axis=1) for at, each in enumerate(parts)]
    )
    held = {
        name: np.concatenate(
            [np.empty((0, *shape), dtype=kind)] + [getattr(each.block, name)[each.rows] for each in parts]
        )
        for name, kind, shape in (
            ("ids", "i8", ()),
            ("memories", "i8", ()),
            ("ordinals", "i4", ()),
            ("spans", "i8", (2,)),
        )
    }
    mixed = np.concatenate([np.empty(0, dtype=bool)] + [np.isin(each.rows, each.block.in_context) for each in parts])
    order = np.lexsort((held["ordinals"], held["memories"]))
    columns = Columns(**{name: array[order] for name, array in held.items()}, in_context=np.flatnonzero(mixed[order]))
    return columns, sources[order]


def _rows(parts: Sequence[Part], sources: Any, *, in_context: bool) -> Iterator[Any]:
    """Yield the vectors of the rows of *sources*, portion by portion."""
    for portion in portions(len(sources)):
        some = sources[portion]
        found = np.empty((len(some), parts[0].block.plain.vectors.shape[1]), dtype="<f4")
        for at in np.unique(some[:, 0]):
            mine = some[:, 0] == at
            found[mine] = parts[at].block.vectors(some[mine, 1], in_context=in_context)
        yield found
