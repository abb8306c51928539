"""Import files and folders as memories. Idempotent; changed and vanished files are noticed."""

import gc
import hashlib
import os
import stat
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from recollect.errors import FileError, InputError, RecollectError
from recollect.records import Memory, Piece, Progress, Source
from recollect.remember.context import Draft, IngestContext
from recollect.remember.find_files import LARGEST, Refused, find_files
from recollect.remember.formats import SUFFIXES, Exported, Parsed, read_file
from recollect.remember.ingest import embed_drafts, ingest_drafts
from recollect.remember.restore_archive import archive_version, restore_archive
from recollect.remember.restore_export import restore_export
from recollect.remember.sync_source import (
    SourceDiff,
    SourceIndex,
    piece_key,
    pieces_of,
    remove_source,
    source_diff,
    sync_source,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A file, or a part of one, that could not be imported."""

    path: str
    reason: str


@dataclass(slots=True, kw_only=True)
class ImportReport:
    """What an import did."""

    files: Counter[str] = field(default_factory=Counter)
    memories: Counter[str] = field(default_factory=Counter)
    redacted: int = 0
    errors: list[Problem] = field(default_factory=list)

    def fail(self, path: Path, reason: str) -> None:
        """Count a file that could not be read."""
        self.files["failed"] += 1
        self.errors.append(Problem(path=str(path), reason=reason))

    def count(self, diff: SourceDiff, drafts: Sequence[Draft]) -> None:
        """Count what a file brought."""
        self.files["imported"] += 1
        self.memories["new"] += len(diff.new)
        self.memories["updated"] += len(diff.updated)
        self.memories["unchanged"] += diff.unchanged
        self.memories["removed"] += diff.removed
        self.redacted += sum(drafts[place].redacted for place in (*diff.new, *diff.updated))


def import_files(paths: Sequence[str | Path], context: IngestContext, progress: Progress | None = None) -> ImportReport:
    """Import *paths*; one bad file never stops the rest, a store in trouble stops it all."""
    if context.profile.dedup == "words":
        # There a vector only proposes links, and looking for each draft would cost more than all else of an import;
        # consolidation proposes them later, from the vectors stored by then.
        context = replace(context, embedder=None)
    roots = [Path(path).expanduser() for path in paths]
    recorded = {name: held for root in roots for name, held in context.store.sources(below=source_of(root)).items()}
    report, index = ImportReport(), SourceIndex(context.store)
    found = list(find_files(roots, suffixes=SUFFIXES))
    for number, each in enumerate(found, start=1):
        if isinstance(each, Refused):
            report.fail(each.path, each.reason)
            continue
        report.files["scanned"] += 1
        if progress is not None:
            progress(number, len(found), each.name)
        with _without_gc():
            _import_file(each, recorded, context, index, report, progress)
    _remove_vanished(
        recorded.keys() - {source_of(each) for each in found if isinstance(each, Path)}, context, index, report
    )
    return report


@contextmanager
def _without_gc() -> Iterator[None]:
    """Pause the collector of cycles: a file becomes many values without any, which it would go through in vain."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def source_of(path: Path) -> str:
    """Return the name that *path* goes by in a store: absolute, and text whatever the file system holds."""
    return os.fsencode(path.absolute().as_posix()).decode("utf-8", "backslashreplace")


def _import_file(
    path: Path,
    recorded: Mapping[str, Source],
    context: IngestContext,
    index: SourceIndex,
    report: ImportReport,
    progress: Progress | None,
) -> None:
    if archive_version(path) is not None:
        _import_archive(path, context, index, report, progress)
        return
    source, fingerprint = source_of(path), _fingerprint(path)
    held = recorded.get(source)
    if fingerprint and held is not None and held.fingerprint == fingerprint:
        report.files["skipped"] += 1
        report.memories["unchanged"] += len(held.pieces)
        return
    try:
        parsed = _read(path)
        drafts = [_prepare(memory, parsed.exported.get(at), context) for at, memory in enumerate(parsed.memories)]
        with context.store.transaction():
            if parsed.exported:
                diff = _restore(source, fingerprint, drafts, parsed.exported, context, index)
            else:
                diff = sync_source(source, fingerprint, drafts, context, index)
    except InputError as error:
        report.fail(path, f"{error}; {error.hint}" if error.hint else str(error))
        return
    report.errors.extend(Problem(path=str(path), reason=problem) for problem in parsed.problems)
    report.count(diff, drafts)


def _import_archive(
    path: Path, context: IngestContext, index: SourceIndex, report: ImportReport, progress: Progress | None
) -> None:
    """Restore an archive of our own; it is no source, for what it holds came from elsewhere."""
    try:
        restored = restore_archive(path, context, index, progress)
    except InputError as error:
        report.fail(path, f"{error}; {error.hint}" if error.hint else str(error))
        return
    report.files["imported"] += 1
    report.memories += restored.memories
    report.redacted += restored.redacted
    report.errors.extend(Problem(path=str(path), reason=problem) for problem in restored.problems)


def _fingerprint(path: Path) -> str:
    """Return a digest of the bytes of *path*; blank where reading it will say what is wrong with it."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
            return ""
        with path.open("rb") as file:
            return hashlib.file_digest(file, "blake2b").hexdigest()[:32]
    except (OSError, ValueError):
        return ""


def _read(path: Path) -> Parsed:
    try:
        return read_file(path)
    except RecollectError:
        raise
    except Exception as error:  # a fault in one reader must not cost the other files
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise FileError(f"it cannot be understood: {said}", hint="please report this") from error


def _prepare(memory: Memory, exported: Exported | None, context: IngestContext) -> Draft:
    """Return *memory* ready to be stored; only an export of our own may say that it is less trusted than its writer."""
    return context.prepare(context.assign(memory, trust=None if exported is None else memory.trust))


def _restore(
    source: str,
    fingerprint: str,
    drafts: Sequence[Draft],
    exported: Mapping[int, Exported],
    context: IngestContext,
    index: SourceIndex,
) -> SourceDiff:
    """Restore an export of our own; records of another kind in the same file are ingested as new ones."""
    ours = sorted(exported)
    others = [place for place in range(len(drafts)) if place not in exported]
    results = dict(zip(ours, restore_export([(drafts[at], exported[at]) for at in ours], context), strict=True))
    rest = embed_drafts([drafts[at] for at in others], context)
    results |= zip(others, ingest_drafts(rest, context), strict=True)
    pieces = [Piece(digest=piece_key(draft.memory), memory_id=results[at].id) for at, draft in enumerate(drafts)]
    index.record(source, fingerprint, before=pieces_of(source, context.store), after=pieces)
    return source_diff(results, total=len(drafts))


def _remove_vanished(unseen: set[str], context: IngestContext, index: SourceIndex, report: ImportReport) -> None:
    """Forget what came from files that are no longer there."""
    for source in sorted(unseen):
        if not Path(source).exists():
            with context.store.transaction():
                report.memories["removed"] += remove_source(source, context, index)
            report.files["removed"] += 1
