"""Import one file: a document at once, a collection part by part, so that its size does not matter."""

import gc
import hashlib
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from recollect.errors import FileError, RecollectError
from recollect.records import Memory, Piece
from recollect.remember.context import Draft, IngestContext
from recollect.remember.formats import Exported, Parsed
from recollect.remember.ingest import decide_early, secrets_of
from recollect.remember.redact import SHARED, FoundSecret
from recollect.remember.stream_source import SourceStream
from recollect.remember.sync_source import (
    SLICE,
    SourceDiff,
    SourceFile,
    SourceIndex,
    piece_key,
    pieces_of,
    ready_drafts,
    slices,
    sync_source,
)

MOST_PROBLEMS: Final = 100
"""How many parts of one file that cannot be read are told one by one; the others are counted."""
EARLIEST: Final = datetime(1990, 1, 1, tzinfo=UTC)
"""What is said to be older comes from a clock that was not set, or from an archive that keeps no times."""
MANY: Final = 100_000
"""After how many memories of one file the collector of cycles runs."""
RECENT: Final = 2.0
"""A file that changed so many seconds ago may change once more without its times telling."""


class FileReport(Struct, kw_only=True):
    """What became of one file."""

    modified: datetime | None = None
    """When the file was last changed: the date of what tells no other."""
    memories: Counter[str] = field(default_factory=Counter)
    secrets: list[FoundSecret] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    told: set[tuple[str, str]] = field(default_factory=set)
    """What was taken out of what all memories of the file have alike, such as its name: that is told once."""
    found: int = 0
    """How many memories were read."""
    more: int = 0
    """How many problems are not told one by one."""

    def count(self, diff: SourceDiff, drafts: Sequence[Draft]) -> None:
        """Count what a part of the file brought."""
        self.memories["new"] += len(diff.new)
        self.memories["updated"] += len(diff.updated)
        self.memories["unchanged"] += diff.unchanged
        self.memories["removed"] += diff.removed
        self.memories["repeated"] += diff.repeated
        self.memories["revived"] += diff.revived
        for place in (*diff.new, *diff.updated):
            for each in secrets_of(drafts[place], diff.ids[place]):
                if each.field not in SHARED or (each.field, each.kind) not in self.told:
                    self.secrets.append(each)
                self.told.add((each.field, each.kind))

    def read(self, part: Parsed) -> None:
        """Count what could not be read, and what was left out on purpose."""
        room = max(0, MOST_PROBLEMS - len(self.problems))
        self.problems += part.problems[:room]
        self.more += len(part.problems[room:])
        self.skipped.update(part.skipped)
        self.found += len(part.memories)

    @property
    def all_problems(self) -> list[str]:
        """Every problem, the last of too many as a number."""
        return [*self.problems, *([f"{self.more} more like these"] if self.more else [])]


class OpenFile(Struct, kw_only=True):
    """A file of which the beginning is read: all of it, or so much that it is a collection."""

    first: list[Parsed]
    following: Parsed | None
    coming: Iterator[Parsed]

    def is_small(self, most: int) -> bool:
        """Return whether it is read to its end and holds no more than *most* memories."""
        return self.following is None and sum(len(part.memories) for part in self.first) <= most


def open_file(parts: Iterable[Parsed], report: FileReport) -> OpenFile:
    """Read the beginning of a file of these *parts*, told in *report*."""
    coming = _understood(parts, report)
    first = _first(coming)
    return OpenFile(first=first, following=next(coming, None), coming=coming)


def small_drafts(opened: OpenFile, context: IngestContext, report: FileReport) -> list[Draft]:
    """Return all that a small file holds, ready to be analysed."""
    return [draft for part in opened.first for draft in _prepared(part.memories, part.exported, context, report)]


def sync_file(
    file: SourceFile, opened: OpenFile, context: IngestContext, index: SourceIndex, report: FileReport
) -> Iterator[int]:
    """Bring *file* up to date with what was *opened*, told in *report*; yield how many memories were read so far.

    One part, or few memories, are compared with all that the file held before; more of them part by part.
    """
    if opened.following is None:
        yield _whole(file, _joined(chain(opened.first, opened.coming)), context, index, report)
        return
    first, following, coming = opened.first, opened.following, opened.coming
    stream, done = SourceStream(file, context, index), 0
    with without_gc():
        for part in chain(_drained(first), (following,), coming):
            for start in range(0, len(part.memories), SLICE):
                about = {at - start: each for at, each in part.exported.items()}
                drafts = _prepared(part.memories[start : start + SLICE], about, context, report)
                report.count(stream.add(drafts), drafts)
                if (done + len(drafts)) // MANY > done // MANY:
                    gc.collect()  # a reader may leave cycles after all
                done += len(drafts)
                yield done
        report.memories["removed"] += stream.end()


def _first(parts: Iterator[Parsed]) -> list[Parsed]:
    """Return the parts at the beginning up to a number of memories that can be compared at once."""
    first: list[Parsed] = []
    count = 0
    while count <= SLICE and (part := next(parts, None)) is not None:
        first.append(part)
        count += len(part.memories)
    return first


def _drained(parts: list[Parsed]) -> Iterator[Parsed]:
    """Yield *parts* and keep none of them."""
    while parts:
        yield parts.pop(0)


def _joined(parts: Iterable[Parsed]) -> tuple[list[Memory], dict[int, Exported]]:
    memories: list[Memory] = []
    exported: dict[int, Exported] = {}
    for part in parts:
        exported |= {len(memories) + at: each for at, each in part.exported.items()}
        memories += part.memories
    return memories, exported


def _understood(parts: Iterable[Parsed], report: FileReport) -> Iterator[Parsed]:
    """Yield *parts*, told in *report*; a fault in a reader must not cost the other files."""
    try:
        for part in parts:
            report.read(part)
            yield part
    except RecollectError:
        raise
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise FileError(f"it cannot be understood: {said}", hint="please report this") from error


@contextmanager
def without_gc() -> Iterator[None]:
    """Pause the collector of cycles: a part becomes many values without any, which it would go through in vain."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


# --- a document -----------------------------------------------------------------------------


def _whole(
    file: SourceFile,
    found: tuple[Sequence[Memory], Mapping[int, Exported]],
    context: IngestContext,
    index: SourceIndex,
    report: FileReport,
) -> int:
    """Bring *file* up to date with all that it holds; return how many memories that is."""
    memories, exported = found
    with without_gc():
        drafts = _prepared(memories, exported, context, report)
        before = pieces_of(file.name, context, index)
        diff = _sync(file, drafts, before, context, index)
    report.count(diff, drafts)
    return len(drafts)


def _sync(
    file: SourceFile,
    drafts: Sequence[Draft],
    before: Sequence[Piece],
    context: IngestContext,
    index: SourceIndex,
) -> SourceDiff:
    """Bring *file* up to date slice by slice; an import that ends between two of them goes on there.

    Until the last slice the source has no fingerprint, so that the next import reads it again.
    """
    diffs, start, keys = [], 0, [piece_key(draft.memory) for draft in drafts]
    for stop in slices(keys, before):
        ready = ready_drafts(drafts[start:stop], keys[start:stop], before, context)
        decided = decide_early([draft for draft in ready if draft.tokens is not None], context)
        with context.store.transaction():
            told = file if stop == len(drafts) else file.unfinished()
            diffs.append(sync_source(told, [*drafts[:start], *ready], context, index, decided=decided))
        start = stop
    new, updated = (tuple(at for diff in diffs for at in getattr(diff, name)) for name in ("new", "updated"))
    removed, revived, repeated = (
        sum(getattr(diff, name) for diff in diffs) for name in ("removed", "revived", "repeated")
    )
    unchanged = len(drafts) - len(new) - len(updated) - revived
    ids = {place: row for diff in diffs for place, row in diff.ids.items()}
    return SourceDiff(
        new=new,
        updated=updated,
        unchanged=unchanged,
        removed=removed,
        revived=revived,
        repeated=repeated,
        ids=ids,
    )


def _prepared(
    memories: Sequence[Memory], exported: Mapping[int, Exported], context: IngestContext, report: FileReport
) -> list[Draft]:
    return [_prepare(each, exported.get(at), context, report.modified) for at, each in enumerate(memories)]


def _prepare(memory: Memory, about: Exported | None, context: IngestContext, modified: datetime | None) -> Draft:
    """Return *memory* ready to be stored, with the date of its file where it has none."""
    draft = context.dated(
        context.prepare(context.assign(memory), None if about is None else about.vector, modified=modified)
    )
    return draft if about is None else replace(draft, facts=about.facts, verdict=about.verdict)


# --- what tells that a file is the same -----------------------------------------------------


def stamp_of(path: Path, now: datetime) -> str:
    """Return what the file system says of *path*: while it says the same, the file is the same. Blank: it cannot tell.

    The time of the last change of any kind is in it, which no program can set. A file that was changed a moment ago
    may be changed once more within the same tick of that clock, so it is not told.
    """
    try:
        status = path.stat()
    except (OSError, ValueError):
        return ""
    if not stat.S_ISREG(status.st_mode) or max(status.st_ctime, status.st_mtime) > now.timestamp() - RECENT:
        return ""
    if _has_log(path):
        return ""
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"


def modified_at(path: Path, now: datetime) -> datetime | None:
    """Return when *path* was last changed; None where that cannot be true."""
    try:
        modified = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except (OSError, ValueError, OverflowError):
        return None
    return modified if EARLIEST <= modified <= now else None


PROBED: Final = 512
BINARY: Final = (b"SQLite format 3", b"PK", b"%PDF", b"\x28\xb5\x2f\xfd", b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
"""How files begin that are read though they hold NULs: databases, archives, documents, packed and wide text."""


def _has_log(path: Path) -> bool:
    """Tell whether *path* is a database whose last changes stand in a log beside it: its own bytes do not tell them."""
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size > 0
    except (OSError, ValueError):
        return False


def fingerprint_of(path: Path) -> str:
    """Return a digest of the bytes of *path*; blank where reading it will say what is wrong with it."""
    try:
        if not stat.S_ISREG(path.stat().st_mode) or _has_log(path):
            return ""
        with path.open("rb") as file:
            head = file.read(PROBED)
            if b"\0" in head and not head.startswith(BINARY):
                return ""  # no format reads it, and a file of holes may be endless
            file.seek(0)
            return hashlib.file_digest(file, "blake2b").hexdigest()[:32]
    except (OSError, ValueError):
        return ""
