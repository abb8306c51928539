"""Parts of arrays that answer for the rows: mapped segments, and in memory what no segment holds yet."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from recollect.records import Form, NearWord, NearWords, Scope, Traits, WordHits, WordQuery
from recollect.stores.bm25 import CollectionStats, stats_of
from recollect.stores.segments import ranking
from recollect.stores.segments.build import build
from recollect.stores.segments.damage import SegmentDamaged
from recollect.stores.segments.files import load, verify
from recollect.stores.segments.merge import merge
from recollect.stores.segments.part import Mask, Part, Whole
from recollect.stores.segments.ranking import PartView, Searcher
from recollect.stores.segments.rows import BLANK, COLUMNS, IndexRow, index_row
from recollect.stores.segments.spellings import containing, near
from recollect.stores.sql.codec import ranked
from recollect.stores.sql.engine import Session, WordQuestion
from recollect.stores.sql.index.answering import Memo
from recollect.stores.sql.index.folder import SegmentFolder, SegmentUnavailable
from recollect.stores.sql.index.log import Segment, uncovered
from recollect.stores.sql.index.marks import REMOVED, Mark, gone_from_span, texts_of
from recollect.stores.sql.index.masks import by_columns, in_columns
from recollect.stores.vocabulary import LEAST, nearest

FAN: Final = 8
"""A part in memory takes in those behind it until they are so many times smaller."""
MOST: Final = 8
"""How many parts there are in memory before some are joined: joining takes longer than asking a few more."""
_MICROSECOND: Final = timedelta(microseconds=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TYPES: Final = {"text": str, "whole": int, "real": float, "flag": bool}
_DATES: Final = frozenset({"happened_at", "created_at", "updated_at"})
_ROWS: Final = (
    "select t.seq, t.id, d.project, d.superseded, d.code, t.stem, t.exact, "
    f"{ranked(', '.join(f'm.{name}' for name in COLUMNS))} "
    "from tokens t cross join document d on d.id = t.id cross join memory m on m.id = t.id "
    "where t.seq > ? and t.seq <= ?"
)
VERIFIED: Final = 8_192
"""Up to how many documents a segment is compared with its checksums whenever it is opened."""


_traits: Callable[[Any], Traits] = partial(tuple.__new__, Traits)
"""Traits from all their fields; `Traits._make` takes twice as long."""


NOTHING: Final[Mapping[int, int]] = {}


class Piece(Struct, frozen=True, kw_only=True):
    """A segment, which has a name and holds the rows numbered above *after* up to *upto*; or rows in memory.

    Of rows in memory the *numbers* are known, by id.
    """

    part: Part
    after: int = 0
    upto: int = 0
    name: str = ""
    numbers: Mapping[int, int] = NOTHING
    alive: Mask | None = None
    dead: int = 0

    def rows_of(self, ids: Whole) -> Whole:
        """Return the rows of those of *ids* that are alive here."""
        rows = self.part.rows_of(ids)
        rows = rows[rows >= 0]
        return rows if self.alive is None else rows[self.alive[rows]]

    @property
    def documents(self) -> int:
        """Return how many of its rows are alive."""
        return len(self.part) - self.dead

    def without(self, ids: Collection[int]) -> "Piece":
        """Return it with the documents *ids* dead."""
        left = living(self.part, ids)
        if left is None:
            return self
        alive = left if self.alive is None else left & self.alive
        return replace(self, alive=alive, dead=len(self.part) - int(np.count_nonzero(alive)))


def living(part: Part, gone: Collection[int]) -> Mask | None:
    """Return a mask of the rows of *part* that are not *gone*; None for all."""
    rows = part.rows_of(gone) if gone else np.empty(0, dtype=np.int64)
    rows = rows[rows >= 0]
    if not len(rows):
        return None
    alive = np.ones(len(part), dtype=np.bool_)
    alive[rows] = False
    return alive


class Parts:
    """Answers from parts, each by itself and all together as one collection."""

    def __init__(self, mark: Mark, pieces: Sequence[Piece], *, has_written: bool) -> None:
        self.mark, self.memo = mark, Memo(has_written=has_written)
        self.pieces = tuple(pieces)
        self.documents, self.unindexed = sum(piece.documents for piece in pieces), 0
        self.has_met_damage = sum(bool(piece.name) for piece in pieces) < len(mark.segments)

    def is_intact(self) -> bool:
        """Tell whether the segments are as long as they were when they were mapped."""
        return all(piece.part.is_intact for piece in self.pieces)

    def match(
        self,
        query: WordQuery,
        asked: WordQuestion,
        *,
        limit: int,
        score_ids: Sequence[int],
        version: int,
    ) -> WordHits:
        """Return the best documents."""
        searched, stats = self._asked(asked, version)
        return ranking.rank(query, searched, stats=stats, limit=limit, score_ids=score_ids, version=version)

    def matching(self, query: WordQuery, asked: WordQuestion, *, version: int) -> Collection[int]:
        """Return all documents that match and are wanted."""
        found: list[int] = ranking.matching(query, self._asked(asked, version)[0]).tolist()
        return found

    def frequencies(self, form: Form, words: Sequence[str] | None, *, scope: Scope) -> Mapping[str, int]:
        """Return how many documents hold words."""
        views = self._views(scope, [None] * len(self.pieces))
        return ranking.vocabulary(views, form) if words is None else ranking.frequencies(views, form, words)

    def near(self, words: Mapping[str, int], holding: Sequence[str], *, scope: Scope) -> NearWords:
        """Return words near others, and those that hold parts."""
        views = self._views(scope, [None] * len(self.pieces))
        longer = containing(views, [part for part in holding if part])
        return NearWords(
            near={word: _words(near(views, word, reach) if word else ()) for word, reach in words.items()},
            holding={part: _words(_longer(part, longer.get(part, ()))) for part in holding},
        )

    def traits(self, ids: Sequence[int]) -> Mapping[int, Traits]:
        """Return what weighing looks at of those of *ids* that the parts hold."""
        wanted = np.array(ids, dtype=np.int64)
        return {each.id: each for piece in self.pieces for each in traits_in(piece.part, piece.rows_of(wanted))}

    def _asked(self, asked: WordQuestion, version: int) -> tuple[Searcher, CollectionStats]:
        """Return what a question is about, and how much that is; what no table of words holds is a part of its own."""
        found = self.memo.kept((asked.scope, asked.where, version), lambda: self._read(asked))
        if not asked.extra:
            return found
        searched, stats = found
        part = build([index_row(row, "", tokens) for row, tokens in asked.extra.items()])
        extra = PartView(part=part, admitted=mask_of(part, asked.admitted()))
        return Searcher([*searched.views, extra]), stats + stats_of(asked.extra)

    def _read(self, asked: WordQuestion) -> tuple[Searcher, CollectionStats]:
        return Searcher(self._views(asked.scope, self._admitted(asked))), asked.stats()

    def _admitted(self, asked: WordQuestion) -> list[Mask | None]:
        """Return which rows of each piece may be hits."""
        if in_columns(asked.where):
            masks = [by_columns(piece.part, asked.where) for piece in self.pieces]
        else:
            wanted = asked.admitted()
            masks = [mask_of(piece.part, wanted) for piece in self.pieces]
        return [_both(mask, piece.alive) for mask, piece in zip(masks, self.pieces, strict=True)]

    def _views(self, scope: Scope, admitted: Sequence[Mask | None]) -> list[PartView]:
        return [
            PartView(part=piece.part, start=start, stop=stop, alive=piece.alive, admitted=mask)
            for piece, mask in zip(self.pieces, admitted, strict=True)
            for start, stop in piece.part.ranges(scope.projects)
        ]


def traits_in(part: Part, rows: Whole) -> Iterator[Traits]:
    """Return what weighing looks at of *rows*, read off the columns."""
    created: list[int] = part.column("created_at")[rows].tolist()
    moments = {at: _EPOCH + at * _MICROSECOND for at in set(created)}
    columns = (
        part.ids[rows].tolist(),
        part.projects_of(rows),
        part.labels("type", rows),
        part.column("confidence")[rows].tolist(),
        part.column("pinned")[rows].tolist(),
        (name or None for name in part.labels("thread", rows)),
        map(moments.__getitem__, created),
    )
    return map(_traits, zip(*columns, strict=True))


def _words(found: Iterable[tuple[str, int, int]]) -> tuple[NearWord, ...]:
    return nearest(
        NearWord(text=term, distance=distance, frequency=count) for term, distance, count in found if len(term) >= LEAST
    )


def _longer(part: str, found: Iterable[tuple[str, int]]) -> Iterator[tuple[str, int, int]]:
    return ((term, len(term) - len(part), count) for term, count in found)


def mask_of(part: Part, ids: Collection[int]) -> Mask:
    """Tell which rows of *part* are those of *ids*."""
    found = np.zeros(len(part), dtype=np.bool_)
    rows = part.rows_of(ids)
    found[rows[rows >= 0]] = True
    return found


def _both(one: Mask | None, other: Mask | None) -> Mask | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other


# --- read from the rows -----------------------------------------------------------------------


def read_parts(
    session: Session, mark: Mark, base: Parts | None, folder: SegmentFolder | None, *, has_written: bool
) -> Parts:
    """Return the parts that hold all rows, with as much of *base* as still holds."""
    segments = list(_segments(mark, base, folder))
    spans = [(piece.after, piece.upto) for piece in segments]
    if base is not None and _lost(base, spans):
        base = None
    tail = [] if base is None else [_outside(piece, spans, base) for piece in base.pieces if not piece.name]
    unseen = "true" if base is None else base.mark.snapshot.unseen("t.seq")
    fresh = [
        (number, row)
        for after, upto in uncovered(spans, LAST_NUMBER)
        for number, row in _numbered_rows(session, after, upto, unseen)
    ]
    pieces = _without_removed(session, mark, [*segments, *tail], base)
    if has_written:  # it may have read rows before that came after its snapshot
        held = {row: number for piece in pieces for row, number in _living_numbers(piece)}
        fresh = [(number, row) for number, row in fresh if held.get(row.id) != number]
    new = [Piece(part=build([row for _, row in fresh]), numbers={row.id: at for at, row in fresh})] if fresh else []
    joined = _joined([*(piece for piece in pieces if not piece.name), *new])
    return Parts(mark, [*(piece for piece in pieces if piece.name), *joined], has_written=has_written)


LAST_NUMBER: Final = 2**63 - 1


def _lost(base: Parts, spans: Sequence[tuple[int, int]]) -> bool:
    """Tell whether rows that *base* has in a segment are in none any more."""
    gaps = uncovered(spans, LAST_NUMBER)
    return any(after < piece.upto and piece.after < upto for piece in base.pieces if piece.name for after, upto in gaps)


def _outside(piece: Piece, spans: Sequence[tuple[int, int]], base: Parts) -> Piece:
    """Return *piece* without the rows that segments hold now, or that the transaction itself may change again."""
    own = base.mark.snapshot.own
    if not own and spans == [(each.after, each.upto) for each in base.pieces if each.name]:
        return piece
    return piece.without(
        [
            row
            for row, number in piece.numbers.items()
            if (own and number == own) or any(after < number <= upto for after, upto in spans)
        ]
    )


def _living_numbers(piece: Piece) -> Iterator[tuple[int, int]]:
    """Yield the ids and numbers of the rows in memory that are alive."""
    if piece.numbers:
        ids = piece.part.ids if piece.alive is None else piece.part.ids[piece.alive]
        yield from ((row, piece.numbers[row]) for row in ids.tolist())


def _segments(mark: Mark, base: Parts | None, folder: SegmentFolder | None) -> Iterator[Piece]:
    """Yield the segments of *mark* that can be used; the rows of others are read instead."""
    held = {} if base is None else {piece.name: piece for piece in base.pieces if piece.name}
    for segment in mark.segments:
        if segment.name in held and held[segment.name].part.is_intact:
            yield held[segment.name]
        elif folder is not None:
            with suppress(SegmentDamaged, SegmentUnavailable):
                part = opened(folder, segment)
                yield Piece(part=part, after=segment.after, upto=segment.upto, name=segment.name)


def opened(folder: SegmentFolder, segment: Segment) -> Part:
    """Return the part that *segment* names, mapped; a small one is compared with its checksums."""
    if folder.path.is_symlink() or not segment.is_named_well:
        raise SegmentDamaged(f"{folder.path} is a link", hint="remove it")
    folder.bring(segment.name)
    return load_segment(folder.path / segment.name, segment)


def load_segment(folder: Path, segment: Segment) -> Part:
    """Map the part in *folder*; a small one is compared with its checksums."""
    part = load(folder)
    wrong = len(part) != segment.rows or (len(part) <= VERIFIED and verify(part))
    if wrong:
        raise SegmentDamaged(f"the segment {segment.name} is not what was written", hint="run: recollect reindex")
    return part


def read_rows(session: Session, after: int, upto: int) -> list[IndexRow]:
    """Return the rows numbered above *after* up to *upto*."""
    return [row for _, row in _numbered_rows(session, after, upto)]


def _numbered_rows(session: Session, after: int, upto: int, where: str = "true") -> list[tuple[int, IndexRow]]:
    rows = session.rows(f"{_ROWS} and {where} order by t.seq, t.id", (after, upto))
    return [(number, _index_row(*row)) for number, *row in rows]


def _index_row(row: int, project: str, superseded: int, code: int, stem: Any, exact: Any, *columns: Any) -> IndexRow:
    stem, exact = texts_of(row, stem, exact)
    return IndexRow(
        id=row,
        project=project,
        superseded=bool(superseded),
        code=bool(code),
        stem=stem,
        exact=exact,
        columns=tuple(map(_column, COLUMNS, columns)),
    )


def _column(name: str, value: Any) -> Any:
    kind = COLUMNS[name]
    if value is None:
        return BLANK[kind]
    try:
        if name in _DATES:
            return _microseconds(value)
        return _TYPES[kind](value)
    except (TypeError, ValueError):  # it is told of as a memory
        return BLANK[kind]


@lru_cache(maxsize=1024)  # those of one import have their dates from it
def _microseconds(moment: str) -> int:
    return (datetime.fromisoformat(moment) - _EPOCH) // _MICROSECOND


def _without_removed(session: Session, mark: Mark, held: Sequence[Piece], base: Parts | None) -> list[Piece]:
    """Return *held* without what was removed since each of them was made, or since *base* was."""
    if not held:
        return []
    known = {piece.name for piece in (base.pieces if base is not None else ())}
    since = min((piece.upto for piece in held if piece.name and piece.name not in known), default=LAST_NUMBER)
    unseen = "false" if base is None else base.mark.snapshot.unseen("r.seq")
    if base is not None and since == LAST_NUMBER and not mark.may_have_removed_since(base.mark):
        return list(held)
    noted = session.rows(f"{REMOVED} where r.seq > ? or {unseen}", (since,))
    return [piece.without(_gone(piece, noted)) for piece in held]


def _gone(piece: Piece, noted: Sequence[tuple[int, int, int | None]]) -> list[int]:
    """Return the documents that *piece* holds no more."""
    if piece.name:
        return gone_from_span(noted, piece.after, piece.upto)
    return [row for _, row, now in noted if piece.numbers.get(row, now) != now]


def _joined(tail: Sequence[Piece]) -> list[Piece]:
    """Return the parts in memory; where they are many, the last ones that are small next to the others as one."""
    found = list(tail)
    if len(found) <= MOST:
        return found
    run = [found.pop()]
    while found and len(found[-1].part) <= FAN * sum(len(each.part) for each in run):
        run.insert(0, found.pop())
    if len(run) > 1:
        part = merge([(each.part, each.alive) for each in run])
        run = [Piece(part=part, numbers={row: at for each in run for row, at in _living_numbers(each)})]
    return [*found, *run]


# --- what is wrong ------------------------------------------------------------------------------


def damaged_segments(session: Session, mark: Mark, folder: SegmentFolder, *, deep: bool) -> Iterator[str]:
    """Yield the segments that are not used, and, looking *deep*, those that are not what the rows say."""
    wrong = 0
    for segment in mark.segments:
        try:
            part = opened(folder, segment)
        except (SegmentDamaged, SegmentUnavailable):
            wrong += 1
            continue
        if deep:
            wrong += bool(verify(part)) or not _is_true(session, segment, part)
    if wrong:
        yield f"{wrong} segments of the word index cannot be used, so that searching is slower; run: recollect reindex"


def _is_true(session: Session, segment: Segment, part: Part) -> bool:
    """Tell whether what is alive of *part* is what the rows say."""
    whole = Piece(part=part, after=segment.after, upto=segment.upto)
    noted = session.rows(f"{REMOVED} where r.seq > ?", (segment.upto,))
    held = whole.without(gone_from_span(noted, segment.after, segment.upto))
    fresh = build(read_rows(session, segment.after, segment.upto))
    mine = merge([(held.part, held.alive)])
    return fresh.arrays.keys() == mine.arrays.keys() and all(
        np.array_equal(fresh.arrays[name], mine.arrays[name]) for name in fresh.arrays
    )
