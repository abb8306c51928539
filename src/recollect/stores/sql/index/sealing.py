"""Sealing: what was written last becomes a segment, and segments of like size one.

Nothing depends on it: the rows answer for what no segment holds. One process at a time makes segments. A segment is on
disk before one transaction names it, in the place of those it was made from.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from recollect.errors import StoreError
from recollect.stores.sql.engine import Engine, Session
from recollect.stores.sql.failures import Failures
from recollect.stores.sql.index.folder import AT_ONCE, SOON, SegmentFolder
from recollect.stores.sql.index.marks import Mark, Segment, read_mark, uncovered

if TYPE_CHECKING:
    from recollect.stores.segments.part import Part

SEAL: Final = 1_024
"""How many documents that no segment holds are sealed."""
FIRST: Final = 2_048
"""How many there are before the first segment is made: fewer are searched as soon without any."""
MANY: Final = 64 * SEAL
"""How many notes of removals are kept where few documents wait."""
SLICE: Final = 2_048
"""How many are sealed while somebody waits for a write."""
BULK: Final = 16_384
"""How many are sealed at a time, at most, while a lot is written."""
CHUNK: Final = 32_768
"""How many are sealed at a time where all are."""
FAN: Final = 8
"""How many segments of like size become one."""
DEAD: Final = 0.2
"""From which share of removed documents on a segment is written anew."""
INLINE: Final = 2 * FAN * SEAL
"""How many documents are merged while somebody waits, unless more were written just before."""
LARGEST: Final = 1 << 19
"""How many documents a segment has at most; more at once would take too much memory."""
PAUSE: Final = 60.0
"""How many seconds nothing is sealed after that failed, as on a full disk."""
PATIENCE: Final = 10.0
"""How many seconds an erasure waits for another process that makes segments."""


class Sealer:
    """Makes segments in a folder, one process at a time."""

    def __init__(self, folder: SegmentFolder) -> None:
        self._folder = folder
        self._sealed = 0
        self._last = self._again = 0.0
        self._is_swept = self._is_verified = self._has_replaced = False
        self.failures = Failures("sealing the word index")

    def settle(self, engine: Engine, *, whole: bool = False, mends: bool = False) -> None:
        """Seal what was written last, where there is enough of it, and anew what was met damaged.

        A failure does no harm: it is logged, and the rows answer.
        """
        with self.failures.kept():
            if not whole and time.monotonic() < self._again:
                return
            if mends or self._is_due(engine, whole=whole):
                self._again = time.monotonic() + PAUSE
                self._settle(engine, most=LARGEST if whole else max(INLINE, FAN * self._sealed), all_rows=whole)
                self._again = 0.0
            elif not self._is_swept or whole:
                self._folder.tidy(lambda: _names(engine))
            self._is_swept = True
            if whole and not self._is_verified:
                self._is_verified = True
                self._verify(engine)

    def finish(self, engine: Engine) -> None:
        """Seal what was left for later while a lot was written, and remove what was replaced meanwhile."""
        with self.failures.kept():
            if self._sealed and self._is_due(engine, whole=True):
                self._settle(engine, most=FAN * self._sealed, all_rows=True)
            if self._has_replaced:
                self._folder.tidy(lambda: _names(engine), age=SOON)

    def _least(self, mark: Mark, *, whole: bool) -> int:
        """Return how many documents are sealed at a time: the more, the more this process writes in a short time."""
        if time.monotonic() - self._last > PAUSE:
            self._sealed = 0
        return max(SEAL if mark.segments else FIRST, 0 if whole else min(self._sealed, BULK))

    def _settle(self, engine: Engine, *, most: int, all_rows: bool) -> None:
        """Seal some rows or all, then merge segments into ones of at most so many documents."""
        with self._folder.locked() as ours:
            if ours and self._drop_unusable(engine):
                while self._seal(engine, all_rows=all_rows) and all_rows:
                    pass
                while self._merge(engine, most=most, fan=2 if most == LARGEST else FAN):
                    pass
                self._folder.sweep(_names(engine))

    def _is_due(self, engine: Engine, *, whole: bool) -> bool:
        """Tell whether enough documents wait; where many numbers are used up by few, their notes are let go of."""
        with engine.session() as session:
            mark = read_mark(session)
            spans = _spans(mark)
            numbers = sum(upto - after for after, upto in spans)
            if numbers < SEAL:
                return whole and _joinable(mark.segments, most=LARGEST, fan=2) is not None
            sql = "select count(*) from tokens where seq > ? and seq <= ?"
            rows = sum(session.value(sql, span) for span in spans)
        if rows >= self._least(mark, whole=whole):
            return True
        if numbers >= MANY:
            with engine.session(write=True, durable=False) as session:
                last = session.value("select coalesce(min(upto), ?) from segment", (mark.seq,))
                session.rows("delete from removed where seq <= ?", (last,))
        return whole and _joinable(mark.segments, most=LARGEST, fan=2) is not None

    def _drop_unusable(self, engine: Engine) -> bool:
        """Forget the segments that cannot be opened, so that their rows are sealed again.

        Those of a newer version stay, and are a matter for that version: then return False.
        """
        with engine.session() as session:
            mark = read_mark(session)
        if any(self._is_of_newer(segment) for segment in mark.segments):
            return False
        for segment in mark.segments:
            if self._opened(segment) is None:
                with _same(engine, mark) as session:
                    session.rows("delete from segment where name = ?", (segment.name,))
        return True

    def _is_of_newer(self, segment: Segment) -> bool:
        from recollect.stores.segments.files import is_of_newer  # noqa: PLC0415

        if not segment.is_named_well:
            return False
        self._folder.bring(segment.name)
        return is_of_newer(self._folder.path / segment.name)

    def _verify(self, engine: Engine) -> None:
        """Compare all segments with their checksums, and forget those that are not what was written."""
        with engine.session() as session:
            mark = read_mark(session)
        if not mark.segments:
            return
        from recollect.stores.segments.files import verify  # noqa: PLC0415

        for segment in mark.segments:
            part = self._opened(segment)
            if self._is_of_newer(segment):
                continue
            if part is not None and verify(part) and self._folder.bring_again(segment.name):
                part = self._opened(segment)
            if part is None or verify(part):
                with _same(engine, mark) as session:
                    session.rows("delete from segment where name = ?", (segment.name,))

    def _opened(self, segment: Segment) -> "Part | None":
        """Return the part of *segment*, None where it is damaged, and not just its copy on this machine."""
        from recollect.stores.segments.files import SegmentDamaged  # noqa: PLC0415
        from recollect.stores.sql.index.parts import opened  # noqa: PLC0415

        try:
            return opened(self._folder, segment)
        except SegmentDamaged:
            if not self._folder.bring_again(segment.name):
                return None
        try:
            return opened(self._folder, segment)
        except SegmentDamaged:
            return None

    # --- sealing ----------------------------------------------------------------------------

    def _seal(self, engine: Engine, *, all_rows: bool) -> bool:
        """Seal rows that no segment holds, the oldest of them; return whether there were enough."""
        from recollect.stores.segments.build import build  # noqa: PLC0415
        from recollect.stores.sql.index.parts import read_rows  # noqa: PLC0415

        with engine.session() as session:
            mark = read_mark(session)
            least, most = self._least(mark, whole=all_rows), CHUNK if all_rows else max(SLICE, 2 * self._sealed)
            for after, upto in _spans(mark):
                rows = read_rows(session, after, upto, most)
                if len(rows) >= least:
                    break
            else:
                return False
        end = rows[-1][0] if len(rows) == most else upto
        part = build([row for _, row in rows])
        self._name(engine, mark, part, (after, end), ())
        self._sealed += len(rows)
        self._last = time.monotonic()
        return True

    def _name(
        self, engine: Engine, mark: Mark, part: "Part", span: tuple[int, int], instead_of: Sequence[Segment]
    ) -> None:
        """Put *part* down and name it, in the place of the segments it was made from."""
        from recollect.stores.segments.files import save  # noqa: PLC0415

        name = self._folder.put(lambda folder: save(part, folder)) if len(part) else ""
        with _same(engine, mark) as session:
            session.many("delete from segment where name = ?", [(each.name,) for each in instead_of])
            if name:
                named = (name, *span, len(part))
                session.rows("insert into segment (name, after, upto, documents) values (?, ?, ?, ?)", named)
                self._folder.publish(session, name)
            session.rows("delete from removed where seq <= (select min(upto) from segment)")
        for each in instead_of:
            self._folder.let_go(each.name)
            self._has_replaced = True

    # --- merging ----------------------------------------------------------------------------

    def _merge(self, engine: Engine, *, most: int, fan: int) -> bool:
        """Make one of several segments of like size, or write one anew that is dead for a good part."""
        with engine.session() as session:
            mark = read_mark(session)
            noted = session.rows("select seq, id from removed")
        run = _joinable(mark.segments, most=most, fan=fan)
        if run is not None:
            self._join(engine, mark, run, noted)
            return True
        for each in mark.segments:
            if each.documents <= most and self._dead(each, noted) > DEAD * each.documents:
                self._join(engine, mark, [each], noted)
                return True
        return False

    def _dead(self, segment: Segment, noted: Sequence[tuple[int, int]]) -> int:
        gone = {row for seq, row in noted if seq > segment.upto}
        part = self._opened(segment) if gone else None
        return 0 if part is None else int((part.rows_of(gone) >= 0).sum())

    def _join(self, engine: Engine, mark: Mark, run: Sequence[Segment], noted: Sequence[tuple[int, int]]) -> None:
        """Write the living documents of *run* as one segment."""
        from recollect.stores.segments.merge import merge  # noqa: PLC0415
        from recollect.stores.sql.index.parts import Piece  # noqa: PLC0415

        pieces = []
        for each in run:
            part = self._opened(each)
            if part is None:
                return
            whole = Piece(part=part, after=each.after, upto=each.upto)
            pieces.append(whole.without([row for seq, row in noted if seq > each.upto]))
        part = merge([(piece.part, piece.alive) for piece in pieces])
        self._name(engine, mark, part, (run[0].after, run[-1].upto), run)

    # --- erasing ----------------------------------------------------------------------------

    def compact(self, engine: Engine, let_go: Callable[[], None]) -> tuple[str, ...]:
        """Write the segments anew that hold removed documents, and remove the old ones."""
        if not self._folder.path.exists():
            return ()
        let_go()
        with self._folder.locked(PATIENCE) as ours:
            if not ours:
                return ("another process makes segments of the word index; later run: recollect purge --verify",)
            self._rewrite(engine)
            left = self._folder.sweep(_names(engine), age=AT_ONCE)
        told = "old segments of the word index are still in use; later run: recollect purge --verify"
        return (told,) if left else ()

    def _rewrite(self, engine: Engine) -> None:
        with engine.session() as session:
            mark = read_mark(session)
            noted = session.rows("select seq, id from removed")
        for each in mark.segments:
            if self._opened(each) is None:
                with engine.session(write=True) as session:
                    session.rows("delete from segment where name = ?", (each.name,))
            elif self._dead(each, noted):
                self._join(engine, mark, [each], noted)


def _names(engine: Engine) -> list[str]:
    with engine.session() as session:
        return [each.name for each in read_mark(session).segments]


def _spans(mark: Mark) -> list[tuple[int, int]]:
    """Return the runs of numbers that no segment holds."""
    return uncovered([(each.after, each.upto) for each in mark.segments], mark.seq)


def _joinable(segments: Sequence[Segment], *, most: int, fan: int) -> list[Segment] | None:
    """Return *fan* or more segments that should be one, of at most so many documents."""
    fitting = (run for run in _runs(segments) if len(run) >= fan and sum(each.documents for each in run) <= most)
    return next(fitting, None)


def _runs(segments: Sequence[Segment]) -> Iterator[list[Segment]]:
    """Yield runs of segments that follow each other and are of like size, those of the small ones first."""
    sizes = sorted({_size(each) for each in segments})
    for size in sizes:
        run: list[Segment] = []
        for each in segments:
            if run and (_size(each) > size or each.after != run[-1].upto):
                yield run
                run = []
            if _size(each) <= size:
                run.append(each)
        yield run


def _size(segment: Segment) -> int:
    """Return how often a segment's documents can be divided by FAN."""
    return int(math.log(max(segment.documents, SEAL) / SEAL, FAN) + 1e-9)


@contextmanager
def _same(engine: Engine, mark: Mark) -> Iterator[Session]:
    """Open a write transaction in which the rows are still of the lineage that was read."""
    with engine.session(write=True) as session:
        if read_mark(session).lineage != mark.lineage:
            raise StoreError("the word index was made anew meanwhile", hint="try again")
        yield session
