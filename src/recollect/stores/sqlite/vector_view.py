"""What a transaction sees of the vectors of one generation: segments, less what is gone from them, and what came since.

A segment holds the rows whose stamps lie above its low end, up to its high one. What is not in a segment that can be
read is read from the file.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from msgspec import Struct, field

from recollect.records import Filter, Scope, VectorHits
from recollect.stores.nearest.files import load, verify
from recollect.stores.nearest.rank import Admission, Column, Passages, Query, columns, distinct, hits, nearest, speakers
from recollect.stores.nearest.table import Block, Read, Table
from recollect.stores.segments.damage import SegmentDamaged
from recollect.stores.sql.engine import Admitted, Session, VectorQuestion
from recollect.stores.sql.index.log import LogState, Segment, uncovered
from recollect.vectors import WIDTH

MASKS: Final = 32
"""How many answers to "who is admitted?" are kept at most."""
SLICE: Final = 4_096
"""How many rows are read from the file at a time."""
_LAST: Final = 2**62
Key: TypeAlias = tuple[int, Scope, Filter, str | None]
"""A version of the store, and who a question is about: a scope, a filter, and a generation that they are not of."""


class Loose(Struct, frozen=True, kw_only=True):
    """Rows that are in memory, and when each was written."""

    block: Block
    stamps: Any


class Seen(Struct, frozen=True, kw_only=True):
    """Who a question admits: in each block, how many memories, and how many without vectors."""

    admissions: tuple[Admission, ...]
    total: int
    missing: int
    alone: bool
    """Whether each of them has one passage."""
    columns: dict[bool, list[Column]] = field(default_factory=dict)


class View(Struct, frozen=True, kw_only=True):
    """The vectors of a generation at one moment."""

    stamp: int
    dimensions: int
    segments: dict[str, Block] = field(default_factory=dict)
    loose: tuple[Loose, ...] = ()
    present: tuple[Admission, ...] = ()
    lacks: frozenset[str] = frozenset()
    """The segments that could not be read: others may have come in their place since their names were read."""
    _seen: dict[Key, Seen] = field(default_factory=dict)

    @property
    def is_intact(self) -> bool:
        """Tell whether the segments are as long as they were when they were mapped."""
        return all(each.is_intact for each in self.segments.values())

    def is_of(self, session: Session, asked: VectorQuestion) -> bool:
        """Return whether this is what *session* sees."""
        if (self.stamp, self.dimensions) != (asked.stamp, asked.dimensions) or not self.is_intact:
            return False
        return not self.lacks or self.lacks <= {each.name for each in log_of(session, asked).segments}

    def nearest(self, session: Session, asked: VectorQuestion, admitted: Callable[[], Admitted]) -> VectorHits:
        """Return the admitted memories nearest to the vector asked about."""
        seen = self._admit((asked.version, asked.scope, asked.where, asked.exclude_generation), admitted)
        vector = np.frombuffer(asked.vector, dtype="<f4")
        query = Query(vector=vector, read=reader(session, asked.dimensions), is_exact=asked.exact)
        top = self._best(seen, query, asked) if asked.limit else []
        extra = np.array(sorted(set(asked.score_ids)), dtype="i8")
        scored = speakers(seen.admissions, query, extra, in_context=asked.in_context) if len(extra) else []
        return VectorHits(
            top=tuple(hits(top, asked.limit, alone=seen.alone)),
            by_id={hit.id: hit for hit in hits(scored, alone=seen.alone)},
            total=seen.total,
            missing=seen.missing,
            version=asked.version,
        )

    def _best(self, seen: Seen, query: Query, asked: VectorQuestion) -> list[Passages]:
        """Return passages, among them the best of each of the nearest memories."""
        among = self._columns(seen, in_context=asked.in_context)
        found = nearest(among, query, asked.limit, alone=seen.alone)
        if found.is_whole:
            return found.passages
        memories = distinct(np.concatenate([owners for owners, *_ in found.passages]))
        return speakers(seen.admissions, query, memories, in_context=asked.in_context)

    def _columns(self, seen: Seen, *, in_context: bool) -> list[Column]:
        if in_context not in seen.columns:
            seen.columns[in_context] = columns(seen.admissions, in_context=in_context)
        return seen.columns[in_context]

    def _admit(self, key: Key, admitted: Callable[[], Admitted]) -> Seen:
        """Return who is admitted; that is asked once for each *key*."""
        seen = self._seen.get(key)
        if seen is None:
            everyone = admitted()
            admissions = tuple(_narrowed(each, everyone) for each in self.present)
            total = _count_memories(admissions)
            seen = Seen(
                admissions=admissions,
                total=total,
                missing=everyone.count - total,
                alone=total == sum(map(len, admissions)),
            )
            if len(self._seen) >= MASKS:
                self._seen.clear()
            self._seen[key] = seen
        return seen


def _narrowed(present: Admission, everyone: Admitted) -> Admission:
    """Return the rows of those admitted among those present."""
    block, rows = present.block, None
    if everyone.ids is not None:
        rows = np.isin(block.memories, np.array(everyone.ids, dtype="i8"))
    elif everyone.hidden:
        rows = ~np.isin(block.memories, np.array(everyone.hidden, dtype="i8"))
    if rows is None or rows.all():
        return present
    return Admission(block=block, rows=rows if present.rows is None else rows & present.rows)


def _count_memories(admissions: Sequence[Admission]) -> int:
    """Return how many memories are admitted; one may have passages in several blocks."""
    held = [each.block.memories if each.rows is None else each.block.memories[each.rows] for each in admissions]
    several = sorted((distinct(each) for each in held if len(each)), key=len, reverse=True)
    total = 0
    for at, mine in enumerate(several):
        for larger in several[:at]:
            mine = mine[larger.take(larger.searchsorted(mine), mode="clip") != mine]  # noqa: PLW2901
        total += len(mine)
    return total


# --- looking --------------------------------------------------------------------------------


def look(session: Session, asked: VectorQuestion, known: View, folder: Path | None) -> View:
    """Return what *session* sees; what is *known* from before is not read again."""
    log = log_of(session, asked)
    named = log.segments
    blocks = {each.name: block for each in named if (block := _opened(each, log, known, folder)) is not None}
    spans = [(each.after, each.upto) for each in named if each.name in blocks]
    loose = _kept_up(session, asked, known.loose, uncovered(spans, _LAST, log.start))
    gone = gone_from(session, log)
    present = [Admission(block=block, rows=left_of(block, gone[name])) for name, block in blocks.items()]
    return View(
        stamp=asked.stamp,
        dimensions=asked.dimensions,
        segments=blocks,
        loose=tuple(each for each, _ in loose),
        present=(*present, *(Admission(block=each.block, rows=rows) for each, rows in loose)),
        lacks=frozenset(each.name for each in named if each.name not in blocks),
    )


def logs_of(session: Session, only: int | None = None) -> list[LogState]:
    """Return the segment log of each generation, or of one."""
    removed = session.value("select seq from sqlite_sequence where name = 'vector_removed'") or 0
    last = session.value("select value from meta where key = 'vectors'")
    sql = "select name, low, upto, removed, passages from vector_segment where generation_id = ? order by upto"
    return [
        LogState(
            generation=number,
            dimensions=width,
            segments=tuple(
                Segment(name=name, after=low, upto=upto, removed=since, rows=rows)
                for name, low, upto, since, rows in session.rows(sql, (number,))
            ),
            last=last,
            removed=removed,
            start=-1,
        )
        for number, width in session.rows("select id, dimensions from generation order by id")
        if isinstance(width, int) and only in (None, number)
    ]


def log_of(session: Session, asked: VectorQuestion) -> LogState:
    """Return the segment log that a question is about."""
    (log,) = logs_of(session, asked.generation)
    return log


def about(segment: Segment, log: LogState) -> dict[str, object]:
    """Return what the header of a segment must say."""
    return {"low": segment.after, "upto": segment.upto, "dimensions": log.dimensions, "plain": segment.rows}


def _opened(segment: Segment, log: LogState, known: View, folder: Path | None) -> Block | None:
    """Return the block of *segment*; None where it cannot be read."""
    if segment.name in known.segments and known.segments[segment.name].is_intact:
        return known.segments[segment.name]
    try:
        return None if folder is None else load(folder / segment.name, about(segment, log))
    except SegmentDamaged:
        return None


def gone_from(session: Session, log: LogState) -> dict[str, Any]:
    """Return for each segment the rows that were deleted or changed since it was made."""
    if not log.segments:
        return {}
    since = min(each.removed for each in log.segments)
    sql = "select seq, id from vector_removed where seq > ? and generation_id = ?"
    rows = np.array(session.rows(sql, (since, log.generation)), dtype="i8").reshape(-1, 2)
    return {each.name: rows[rows[:, 0] > each.removed, 1] for each in log.segments}


def left_of(block: Block, gone: Any) -> Any:
    """Return which rows of *block* are not *gone*; None for all."""
    rows = ~np.isin(block.ids, gone) if len(gone) else None
    return None if rows is None or rows.all() else rows


def _kept_up(
    session: Session, asked: VectorQuestion, known: Sequence[Loose], ranges: Sequence[tuple[int, int]]
) -> list[tuple[Loose, Any]]:
    """Return the rows in *ranges*, in memory: those that are *known*, and the others read; and which of them count."""
    sql = "select id, stamp from vector where generation_id = ? and stamp > ? and stamp <= ?"
    pairs = [row for low, high in ranges for row in session.rows(sql, (asked.generation, low, high))]
    wanted = np.array(pairs, dtype="i8").reshape(-1, 2)
    wanted = wanted[np.argsort(wanted[:, 0])]
    held, loose = np.zeros(len(wanted), dtype=bool), []
    for each in known:
        at = np.searchsorted(wanted[:, 0], each.block.ids)
        near = wanted[np.minimum(at, len(wanted) - 1)] if len(wanted) else np.full((len(at), 2), -1)
        alive = (near[:, 0] == each.block.ids) & (near[:, 1] == each.stamps)
        held[at[alive]] = True
        if alive.any():
            loose.append((each, None if alive.all() else alive))
    fresh = wanted[~held]
    if len(fresh):
        loose.append((read_loose(session, fresh[:, 0].tolist(), asked.dimensions), None))
    return _joined(loose, reader(session, asked.dimensions))


def _joined(loose: list[tuple[Loose, Any]], read: Read) -> list[tuple[Loose, Any]]:
    """Join blocks until each is twice as large as the next, so that there are few."""
    while len(loose) > 1 and len(loose[-2][0].block) < 2 * len(loose[-1][0].block):
        joined = _join([loose.pop(), loose.pop()], read)
        loose.append((joined, None))
    return [each for each in loose if len(each[0].block)]


def _join(several: Sequence[tuple[Loose, Any]], read: Read) -> Loose:
    parts = [(each, np.flatnonzero(rows) if rows is not None else np.arange(len(each.block))) for each, rows in several]
    names = ("ids", "memories", "ordinals", "spans")
    held = {name: np.concatenate([getattr(each.block, name)[rows] for each, rows in parts]) for name in names}
    plain = np.concatenate([each.block.plain.vectors[rows] for each, rows in parts])
    context = np.concatenate([each.block.vectors(rows, read, in_context=True) for each, rows in parts])
    mixed = np.concatenate([np.isin(rows, each.block.in_context) for each, rows in parts])
    stamps = np.concatenate([each.stamps[rows] for each, rows in parts])
    return _ordered(held, plain, context, mixed, stamps)


def _ordered(held: dict[str, Any], plain: Any, context: Any, mixed: Any, stamps: Any) -> Loose:
    """Return a block in memory, in the order that blocks have."""
    order = np.lexsort((held["ordinals"], held["memories"]))
    rows = np.flatnonzero(mixed[order])
    block = Block(
        **{name: array[order] for name, array in held.items()},
        plain=Table(len(order), plain[order]),
        in_context=rows,
        context=Table(len(rows), context[order[rows]]),
    )
    return Loose(block=block, stamps=stamps[order])


def read_loose(session: Session, ids: Sequence[int], dimensions: int) -> Loose:
    """Read the rows *ids* from the file.

    A vector of a wrong width is no damage to the others: it is left out, and `check` tells of it.
    """
    rows = list(read_rows(session, ids, dimensions))
    numbers = np.array([row[:6] for row in rows], dtype="i8").reshape(-1, 6)
    plain = _stacked([row[6] for row in rows], dimensions)
    mixed = np.array([row[7] is not None for row in rows], dtype=bool)
    context = _stacked([row[6] if row[7] is None else row[7] for row in rows], dimensions)
    held = {
        "ids": numbers[:, 0],
        "memories": numbers[:, 1],
        "ordinals": numbers[:, 2].astype("i4"),
        "spans": numbers[:, 3:5],
    }
    return _ordered(held, plain, context, mixed, numbers[:, 5])


def read_rows(session: Session, ids: Sequence[int], dimensions: int) -> Iterator[Any]:
    """Yield the rows *ids* of vectors that have the right width, in no order."""
    sql = (
        "select id, memory_id, ordinal, start, stop, stamp, embedding, "
        "case when length(context_embedding) = ?2 then context_embedding end from vector "
        "where id in (select value from json_each(?1)) and typeof(embedding) = 'blob' and length(embedding) = ?2"
    )
    for at in range(0, len(ids), SLICE):
        yield from session.rows(sql, (json.dumps(ids[at : at + SLICE]), WIDTH * dimensions))


def _stacked(vectors: Sequence[bytes], dimensions: int) -> Any:
    return np.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(vectors), dimensions)


def reader(session: Session, dimensions: int) -> Read:
    """Return what reads vectors of a generation as *session* sees them; one that is damaged has no direction."""
    sql = (
        "select j.key, v.{0} from json_each(?1) j cross join vector v on v.id = j.value "
        "where typeof(v.{0}) = 'blob' and length(v.{0}) = ?2"
    )

    def read(ids: Any, in_context: bool) -> Any:  # noqa: FBT001
        found = np.zeros((len(ids), dimensions), dtype="<f4")
        for column in ("embedding", *(("context_embedding",) if in_context else ())):
            for at in range(0, len(ids), SLICE):
                asked = json.dumps(ids[at : at + SLICE].tolist())
                rows = session.rows(sql.format(column), (asked, WIDTH * dimensions))
                if len(rows) == len(ids):  # each in its place
                    found = _stacked([vector for _, vector in rows], dimensions)
                elif rows:
                    found = found if found.flags.writeable else found.copy()
                    found[[at + place for place, _ in rows]] = _stacked([vector for _, vector in rows], dimensions)
        return found

    return read


# --- checking -------------------------------------------------------------------------------


def faults(session: Session, folder: Path, *, deep: bool) -> Iterator[str]:
    """Yield the segments that cannot be read, or hold other bytes than were written."""
    for log in logs_of(session):
        for each in log.segments:
            try:
                load(folder / each.name, about(each, log))
                if deep:
                    verify(folder / each.name)
            except SegmentDamaged:
                yield f"the segment {each.name} of vectors is damaged and not used; run: recollect reindex"
