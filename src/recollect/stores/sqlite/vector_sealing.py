"""Sealing: vectors that were written last become a segment, and segments of like size one.

A segment is written into a folder with a temporary name and gets its own inside the transaction that names it. So readers
see one consistent set of segments, a crash leaves nothing that is used, and two who seal at once do no harm: the second
finds other segments than it began with, and lets go of its work.
"""

import shutil
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from recollect.errors import StoreDamaged
from recollect.files import make_folder
from recollect.stores.nearest.files import Columns, Writer, load, portions, sync_folder
from recollect.stores.nearest.table import Block
from recollect.stores.sql.engine import Engine, Session
from recollect.stores.sqlite.vector_view import Segment, gone_from, left_of, read_loose, segments_of

if TYPE_CHECKING:
    from recollect.stores.sqlite.vectors import Sizes

DIRTY: Final = 0.2
"""A segment is written anew when so much of it is gone."""
SHARE: Final = 16
"""The part of all passages, one in so many, that may wait to be sealed."""
LARGEST: Final = 4
"""How many times the least number may wait at most."""
TEMPORARY: Final = "tmp-"
STALE: Final = 3_600
"""After so many seconds a folder with a temporary name belongs to nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Rows of a block that go into a segment."""

    block: Block
    rows: Any


class Sealer:
    """Makes the segments of one store."""

    def __init__(self, engine: Engine, folder: Path, sizes: "Sizes") -> None:
        self._engine, self._folder, self._sizes = engine, folder, sizes

    def settle(self, *, whole: bool) -> None:
        """Make the segments that are due; unless *whole* is asked for, one at most, and no large one."""
        with self._engine.session() as session:
            generations = session.rows("select id, dimensions from generation order by id")
        for number, dimensions in generations:
            while isinstance(dimensions, int) and self._make(number, dimensions, whole=whole) and whole:
                pass

    def compact(self) -> tuple[str, ...]:
        """Remove the segments that hold a row that is gone, and every folder that is not named; then settle."""
        with self._engine.session(write=True) as session:
            session.rows("delete from vector_segment where generation_id not in (select id from generation)")
            for number, dimensions in session.rows("select id, dimensions from generation"):
                named = segments_of(session, number, dimensions)
                gone = gone_from(session, named)
                dirty = [(each.name,) for each in named if not self._is_clean(each, gone[each.name])]
                session.many("delete from vector_segment where name = ?", dirty)
            named_now = {name for (name,) in session.rows("select name from vector_segment")}
            left = [each for each in self._folder.iterdir() if each.name not in named_now]
            failed = [each for each in left if not _removed(each)]
        self.settle(whole=True)
        return tuple(f"cannot remove {each.name}; later run: recollect purge --verify" for each in failed)

    def _is_clean(self, segment: Segment, gone: Any) -> bool:
        block = self._read(segment)
        return block is not None and left_of(block, gone) is None

    def _read(self, segment: Segment) -> Block | None:
        try:
            return load(self._folder / segment.name, segment.about)
        except StoreDamaged:
            return None

    # --- what is due ------------------------------------------------------------------------

    def _make(self, generation: int, dimensions: int, *, whole: bool) -> bool:
        """Make one segment that is due; return whether there was one."""
        folder = self._folder / f"{TEMPORARY}{uuid.uuid4().hex}"
        try:
            with self._engine.session() as session:
                task = self._due(session, generation, dimensions, whole=whole)
                if task is None:
                    return False
                make_folder(self._folder)
                name, writer, passages = self._write(session, task, folder)
            writer.finish({"name": name}, [self._folder / each for each in task.books])
            return self._publish(task, folder, name, passages)
        except OSError:
            return False  # nothing is lost: what is not sealed is read from the file
        finally:
            _removed(folder)

    def _due(self, session: Session, generation: int, dimensions: int, *, whole: bool) -> Task | None:
        named = segments_of(session, generation, dimensions)
        last = named[-1].upto if named else -1
        tail = session.value("select count(*) from vector where generation_id = ? and stamp > ?", (generation, last))
        total = tail + sum(each.passages for each in named)
        most = total if whole else self._sizes.foreground
        span = self._span(session, named, tail, total, most)
        if span is None:
            return None
        first, stop, with_tail = span
        low = named[first - 1].upto if first else -1
        upto = named[stop - 1].upto if stop else -1
        if with_tail:
            upto = session.value("select value from meta where key = 'vectors'")
            upto = _cut(session, generation, last, upto, self._sizes.foreground)
        removed = session.value("select seq from sqlite_sequence where name = 'vector_removed'") or 0
        return Task(
            generation=generation,
            dimensions=dimensions,
            replaced=tuple(named[first:stop]),
            low=low,
            upto=upto,
            removed=removed,
            quantised=total >= self._sizes.quantised,
            books=tuple(each.name for each in named),
        )

    def _span(
        self, session: Session, named: Sequence[Segment], tail: int, total: int, most: int
    ) -> tuple[int, int, bool] | None:
        """Return which segments become one, from and to, and whether with what was written since."""
        due = min(max(self._sizes.sealed, total // SHARE), LARGEST * self._sizes.sealed)
        if tail >= due:
            first, size = len(named), tail
            while first and named[first - 1].passages < 2 * size and size + named[first - 1].passages <= most:
                first -= 1
                size += named[first].passages
            return first, len(named), True
        gone = gone_from(session, named)
        for at, each in enumerate(named):
            if self._read(each) is None or len(gone[each.name]) > DIRTY * each.passages:
                return at, at + 1, False
        for at in range(len(named) - 1, 0, -1):
            size = named[at - 1].passages + named[at].passages
            if named[at - 1].passages < 2 * named[at].passages and size <= most:
                return at - 1, at + 1, False
        return None

    # --- writing ----------------------------------------------------------------------------

    def _write(self, session: Session, task: Task, folder: Path) -> tuple[str, Writer, int]:
        parts = self._parts(session, task)
        columns, sources = _merged(parts)
        writer = Writer(folder, columns, dimensions=task.dimensions, quantised=task.quantised)
        writer.write("plain", _rows(parts, sources, in_context=False))
        writer.write("context", _rows(parts, sources[columns.in_context], in_context=True))
        return uuid.uuid4().hex, writer, len(columns.ids)

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

    def _publish(self, task: Task, folder: Path, name: str, passages: int) -> bool:
        """Name the segment in *folder*, unless somebody else sealed meanwhile; remove what nobody names any more."""
        with self._engine.session(write=True) as session:
            if not _is_current(session, task):
                return False
            known = {known for (known,) in session.rows("select name from vector_segment")}
            forgotten = [each for each in self._folder.iterdir() if each.name not in known and _is_left(each, folder)]
            folder.rename(self._folder / name)
            sync_folder(self._folder)
            session.many("delete from vector_segment where name = ?", [(each.name,) for each in task.replaced])
            sql = "insert into vector_segment (name, generation_id, upto, removed, passages) values (?, ?, ?, ?, ?)"
            session.rows(sql, (name, task.generation, task.upto, task.removed, passages))
            session.rows(
                "delete from vector_removed where generation_id = ? and seq <= "
                "(select min(removed) from vector_segment where generation_id = ?)",
                (task.generation, task.generation),
            )
        for each in forgotten:
            _removed(each)
        return True


def _cut(session: Session, generation: int, low: int, upto: int, most: int) -> int:
    """Return the stamp up to which at most so many passages were written since *low*, or those of one stamp."""
    sql = "select stamp from vector where generation_id = ? and stamp > ? order by stamp limit 1 offset ?"
    beyond = session.value(sql, (generation, low, most))
    if beyond is None:
        return upto
    first: int = session.value(sql, (generation, low, 0))
    return max(first, beyond - 1)


def _is_current(session: Session, task: Task) -> bool:
    """Return whether the segments are still those that the task began with."""
    named = segments_of(session, task.generation, task.dimensions)
    there = [each for each in named if each.upto > task.low and each.low < task.upto]
    lowest = max((each.upto for each in named if each.upto <= task.low), default=-1)
    return [each.name for each in there] == [each.name for each in task.replaced] and lowest == task.low


def _is_left(folder: Path, own: Path) -> bool:
    """Return whether a folder that is not named belongs to nobody: one with a temporary name may be in the making."""
    if folder == own:
        return False
    if not folder.name.startswith(TEMPORARY):
        return True
    with suppress(OSError):
        return own.stat().st_mtime - folder.stat().st_mtime > STALE
    return False


def _removed(folder: Path) -> bool:
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


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
        name: np.concatenate([np.empty((0, *shape), dtype=kind)] + [getattr(each.block, name)[each.rows] for each in parts])
        for name, kind, shape in (("ids", "i8", ()), ("memories", "i8", ()), ("ordinals", "i4", ()), ("spans", "i8", (2,)))
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
