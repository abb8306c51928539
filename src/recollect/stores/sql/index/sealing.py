"""Sealing: rows that were written last become a segment, and segments of one tier are merged.

Answers never depend on it: the tables answer for rows that no segment holds. One process at a time makes segments. A
segment is on disk before one transaction names it, in the place of those it was made from.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from recollect.stores.segments.damage import SegmentDamaged
from recollect.stores.sql.engine import Engine, Session
from recollect.stores.sql.failures import Failures
from recollect.stores.sql.index.folder import AGE, AT_ONCE, SegmentFolder
from recollect.stores.sql.index.log import Codec, Job, LogState, Segment, due_job

SEAL: Final = 1_024
"""How many rows that no segment holds are sealed."""
FIRST: Final = 2_048
"""How many there are before the first segment is made: fewer are searched as soon without any."""
MANY: Final = 64 * SEAL
"""How many tombstones are kept where few rows wait."""
SLICE: Final = 2_048
"""How many rows are sealed while somebody waits for a write."""
BULK: Final = 16_384
"""How many rows wait, at most, before they are sealed while a lot is written."""
CHUNK: Final = 32_768
"""How many rows are sealed at a time where all are."""
FAN: Final = 8
"""How many segments of one tier are merged."""
DEAD: Final = 0.2
"""A segment is written again when this share of its rows is dead."""
INLINE: Final = 2 * FAN * SEAL
"""How many rows are merged while somebody waits, unless more were written just before."""
LARGEST: Final = 1 << 19
"""How many rows a segment has at most; more at once would take too much memory."""
PAUSE_SECONDS: Final = 60.0
"""How long nothing is sealed after that failed, as on a full disk."""
LOCK_TIMEOUT_SECONDS: Final = 10.0
"""How long an erasure waits for another process that makes segments."""


class Sealer:
    """Makes the segments of one kind in a folder, one process at a time."""

    def __init__(
        self, folder: SegmentFolder, codec: Codec, *, seal: int | None = None, fan: int | None = None, inline: int = 0
    ) -> None:
        self._folder, self._codec = folder, codec
        self._seal_rows, self._fan, self._inline = seal, fan, inline
        self._sealed = 0
        self._last = self._again = 0.0
        self._is_swept = self._is_verified = self._has_replaced = False
        self.failures = Failures(f"sealing {codec.subject}")

    def settle(self, engine: Engine, *, whole: bool = False, mends: bool = False) -> None:
        """Seal rows that were written last, where there are enough, and write damaged segments again.

        A failure does no harm: it is logged, and the tables answer.
        """
        with self.failures.kept():
            if not whole and time.monotonic() < self._again:
                return
            if mends or self._is_due(engine, whole=whole):
                self._again = time.monotonic() + PAUSE_SECONDS
                self._settle(engine, most=LARGEST if whole else self._merged_at_once, whole=whole)
                self._again = 0.0
            elif not self._is_swept or whole:
                self._folder.tidy(lambda: self._names(engine), age=AT_ONCE if whole and self._has_replaced else AGE)
            self._is_swept = True
            if whole and not self._is_verified:
                self._is_verified = True
                self._verify(engine)

    def finish(self, engine: Engine) -> None:
        """Seal the rows that were left while a lot was written, and remove replaced segments."""
        with self.failures.kept():
            if self._sealed and self._is_due(engine, whole=True):
                self._settle(engine, most=max(self._inline, FAN * self._sealed), whole=True)
            if self._has_replaced:
                self._folder.tidy(lambda: self._names(engine), age=AT_ONCE)

    @property
    def _merged_at_once(self) -> int:
        """Return how many rows are merged while somebody waits."""
        return max(self._inline or INLINE, FAN * self._sealed)

    def _least(self, log: LogState, *, whole: bool) -> int:
        """Return how many rows are sealed at a time: the more, the more this process writes in a short time."""
        if time.monotonic() - self._last > PAUSE_SECONDS:
            self._sealed = 0
        alone = self._seal_rows or (SEAL if log.segments else FIRST)
        if whole:
            alone = min(alone, SEAL if log.segments else FIRST)
        return max(alone, 0 if whole else min(self._sealed, BULK))

    def _is_due(self, engine: Engine, *, whole: bool) -> bool:
        """Tell whether there is a segment to write; prune tombstones where many numbers are used up by few rows."""
        with engine.session() as session:
            logs = self._codec.read(session)
            if any(self._job(session, log, most=LARGEST, whole=whole, merges=whole) is not None for log in logs):
                return True
        for log in logs:
            if whole if log.is_sparse else sum(upto - after for after, upto in log.gaps) >= MANY:
                with engine.session(write=True, durable=False, projects=()) as session:
                    self._codec.name(session, log, (), None)
        return False

    def _job(self, session: Session, log: LogState, *, most: int, whole: bool, merges: bool = True) -> Job | None:
        counted = [(after, upto, self._codec.count(session, log, after, upto)) for after, upto in log.gaps]
        segments = log.segments if merges else ()
        total = sum(rows for *_, rows in counted) + sum(each.rows for each in segments)
        return due_job(
            segments,
            counted,
            least=self._least(log, whole=whole),
            spoiled=self._spoiled(session, log, segments, total),
            most=most,
            fan=self._fan or (2 if most == LARGEST else FAN),
            tier=self._seal_rows or SEAL,
        )

    def _spoiled(self, session: Session, log: LogState, segments: Sequence[Segment], total: int) -> set[str]:
        """Return the segments that cannot be read, are dead for a good part, or are outdated."""
        gone = self._codec.tombstones(session, log) if segments else {}
        found = set()
        for each in segments:
            part = self._opened(each, log)
            dead = len(gone[each.name]) and (part is not None and self._dead(part, gone[each.name]) > DEAD * each.rows)
            outdated = part is not None and self._codec.is_outdated(self._folder.path / each.name, each, log, total)
            if part is None or dead or outdated:
                found.add(each.name)
        return found

    def _dead(self, part: Any, gone: Any) -> int:
        mask = self._codec.living(part, gone)
        return 0 if mask is None else int((~mask).sum())

    def _settle(self, engine: Engine, *, most: int, whole: bool) -> None:
        """Seal some rows or all, then merge segments into ones of at most *most* rows."""
        with self._folder.locked() as ours:
            if not ours or self._has_newer(engine):
                return
            for at in range(len(self._logs(engine))):
                while self._make(engine, at, most=most, whole=whole):
                    pass
            self._folder.sweep(self._names(engine), age=AT_ONCE if whole else AGE, part_age=AGE)

    def _logs(self, engine: Engine) -> Sequence[LogState]:
        with engine.session() as session:
            return self._codec.read(session)

    def _has_newer(self, engine: Engine) -> bool:
        for segment in [each for log in self._logs(engine) for each in log.segments if each.is_named_well]:
            self._folder.bring(segment.name)
            if self._codec.is_newer(self._folder.path / segment.name):
                return True
        return False

    def _verify(self, engine: Engine) -> None:
        """Write segments again whose bytes are not as they were written."""
        for log in self._logs(engine):
            for segment in log.segments:
                if self._codec.is_newer(self._folder.path / segment.name):
                    continue
                part = self._opened(segment, log)
                if part is not None and not self._is_sound(segment, part) and self._folder.bring_again(segment.name):
                    part = self._opened(segment, log)
                if part is None or not self._is_sound(segment, part):
                    with engine.session(write=True, projects=()) as session:
                        self._codec.name(session, log, [segment], None)

    def _is_sound(self, segment: Segment, part: Any) -> bool:
        return self._codec.verify(self._folder.path / segment.name, part)

    def _opened(self, segment: Segment, log: LogState) -> Any:
        """Return the part of *segment*, None where it is damaged, and not just its copy on this machine."""
        try:
            return self._load(segment, log)
        except SegmentDamaged:
            if not self._folder.bring_again(segment.name):
                return None
        try:
            return self._load(segment, log)
        except SegmentDamaged:
            return None

    def _load(self, segment: Segment, log: LogState) -> Any:
        if self._folder.path.is_symlink() or not segment.is_named_well:
            raise SegmentDamaged(f"{self._folder.path} is a link", hint="remove it")
        self._folder.bring(segment.name)
        return self._codec.load(self._folder.path / segment.name, segment, log)

    # --- writing ----------------------------------------------------------------------------

    def _make(self, engine: Engine, at: int, *, most: int, whole: bool) -> bool:
        """Write one segment that is due; return whether there was one and there may be more."""
        with engine.session() as session:
            logs = self._codec.read(session)
            log = logs[at] if at < len(logs) else None
            job = None if log is None else self._job(session, log, most=most, whole=whole)
            if log is None or job is None:
                return False
            if not job.replaced:
                slice_rows = CHUNK if whole else max(SLICE, 2 * self._sealed)
                end = self._codec.cut(session, log, job.after, job.upto, slice_rows)
                job = Job(after=job.after, upto=end)
            parts = self._parts(session, log, job)
        rows = self._write(engine, log, job, parts)
        if not job.replaced:
            self._sealed += rows
            self._last = time.monotonic()
        return True

    def _parts(self, session: Session, log: LogState, job: Job) -> list[tuple[Any, Any]]:
        """Return the parts of a segment with masks of their living rows; damaged ones are read from the tables."""
        if not job.replaced:
            return [(part, None) for part in self._codec.rows(session, log, job.after, job.upto)]
        gone = self._codec.tombstones(session, log)
        parts: list[tuple[Any, Any]] = []
        for each in job.replaced:
            part = self._opened(each, log)
            if part is None:
                parts += [(fresh, None) for fresh in self._codec.rows(session, log, each.after, each.upto)]
            else:
                parts.append((part, self._codec.living(part, gone[each.name])))
        return parts

    def _write(self, engine: Engine, log: LogState, job: Job, parts: Sequence[tuple[Any, Any]]) -> int:
        """Write *parts* to a folder and name it, unless the segments changed meanwhile."""
        rows = sum(len(part) if mask is None else int(mask.sum()) for part, mask in parts)
        with engine.session() as session:
            save = partial(self._codec.write, session, parts=parts, job=job, log=log)
            name = self._folder.put(save) if rows else ""
        self._has_replaced = True
        with engine.session(write=True, projects=()) as session:
            now = next((each for each in self._codec.read(session) if each.generation == log.generation), None)
            if now is None or now.epoch != log.epoch or _within(now, job) != job.replaced:
                return rows
            made = Segment(name=name, after=job.after, upto=job.upto, removed=log.removed, rows=rows) if rows else None
            self._codec.name(session, now, job.replaced, made)
            if made is not None:
                self._folder.publish(session, name)
        for each in job.replaced:
            self._folder.let_go(each.name)
        return rows

    # --- erasing ----------------------------------------------------------------------------

    def compact(self, engine: Engine, release: Callable[[], None]) -> tuple[str, ...]:
        """Write segments that hold removed rows again, and remove the old ones."""
        if not self._folder.path.exists():
            return ()
        release()
        with self._folder.locked(LOCK_TIMEOUT_SECONDS) as ours:
            if not ours:
                return (f"another process is sealing {self._codec.subject}; later run: recollect purge --verify",)
            for log in self._logs(engine):
                self._rewrite(engine, log)
            left = self._folder.sweep(self._names(engine), age=AT_ONCE)
        told = f"old segments of {self._codec.subject} are still in use; later run: recollect purge --verify"
        return (told,) if left else ()

    def _rewrite(self, engine: Engine, log: LogState) -> None:
        for each in log.segments:
            job = Job(replaced=(each,), after=each.after, upto=each.upto)
            with engine.session() as session:
                part = self._opened(each, log)
                gone = self._codec.tombstones(session, log)[each.name]
                is_clean = part is not None and self._codec.living(part, gone) is None
                parts = [] if is_clean else self._parts(session, log, job)
            if not is_clean:
                self._write(engine, log, job, parts)

    def _names(self, engine: Engine) -> list[str]:
        return [each.name for log in self._logs(engine) for each in log.segments]


def _within(log: LogState, job: Job) -> tuple[Segment, ...]:
    """Return the segments of *log* that share a number with *job*."""
    return tuple(each for each in log.segments if each.upto > job.after and each.after < job.upto)
