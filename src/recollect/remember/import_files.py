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
from recollect.remember.context import DEFAULT, Draft, IngestContext
from recollect.remember.find_files import LARGEST, LeadsOut, Refused, find_files
from recollect.remember.formats import SUFFIXES, Exported, Parsed, read_file
from recollect.remember.ingest import embed_drafts, ingest_drafts
from recollect.remember.restore_export import restore_export
from recollect.remember.sync_source import (
    SourceDiff,
    SourceFile,
    SourceIndex,
    piece_key,
    pieces_of,
    remove_source,
    source_diff,
    sync_source,
)
from recollect.remember.vanished import Seen, Vanished, device_of, find_vanished


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
        self.memories["revived"] += diff.revived
        self.redacted += sum(drafts[place].redacted for place in (*diff.new, *diff.updated))


def import_files(
    paths: Sequence[str | Path],
    context: IngestContext,
    progress: Progress | None = None,
    *,
    prune: bool = False,
    follow_links: bool = False,
) -> ImportReport:
    """Import *paths*; one bad file never stops the rest, a store in trouble stops it all.

    What vanished is forgotten, unless its folder is away or it is all or most of a root: that takes *prune*. Links
    that lead out of a folder named are followed only with *follow_links*.
    """
    if context.profile.dedup == "words":
        # There a vector only proposes links, and looking for each draft would cost more than all else of an import;
        # consolidation proposes them later, from the vectors stored by then.
        context = replace(context, embedder=None)
    roots = [Path(path).expanduser() for path in paths]
    report, index = ImportReport(), SourceIndex(context.store, project=context.project or DEFAULT)
    recorded: dict[str, Source] = {}
    for root in roots:
        recorded |= context.store.sources(below=source_of(root), project=index.project)
    found = list(find_files(roots, suffixes=SUFFIXES, follow_links=follow_links))
    files = [each for each in found if isinstance(each, Path)]
    seen = _seen(files, [each.path for each in found if isinstance(each, Refused)], roots)
    for each in found:
        if isinstance(each, Refused):
            report.fail(each.path, each.reason)
    report.files["links"] = sum(isinstance(each, LeadsOut) for each in found)
    for number, path in enumerate(files, start=1):
        report.files["scanned"] += 1
        if progress is not None:
            progress(number, len(files), path.name)
        with _without_gc():
            _import_file(path, _source_file(path, seen, recorded), recorded, context, index, report)
    _remove_vanished(find_vanished(recorded, seen, context, index, prune=prune), context, index, report)
    return report


def _seen(files: Sequence[Path], refused: Sequence[Path], roots: Sequence[Path]) -> Seen:
    """Return what this import met, by the names it goes by in a store."""
    folders: dict[Path, int] = {}
    for path in files:
        if path.parent not in folders:
            folders[path.parent] = device_of(path.parent)
    return Seen(
        devices={source_of(path): folders[path.parent] for path in files},
        refused=frozenset(map(source_of, refused)),
        roots=tuple(map(source_of, roots)),
    )


def _source_file(path: Path, seen: Seen, recorded: Mapping[str, Source]) -> SourceFile:
    """Return *path* as it is recorded from now on; its root stays the one that found it first."""
    name = source_of(path)
    root = recorded[name].root if name in recorded else ""
    device = seen.devices[name]
    return SourceFile(name=name, fingerprint=_fingerprint(path), device=device, root=root or seen.root_of(name))


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
    file: SourceFile,
    recorded: Mapping[str, Source],
    context: IngestContext,
    index: SourceIndex,
    report: ImportReport,
) -> None:
    held = recorded.get(file.name)
    if file.fingerprint and held is not None and held.fingerprint == file.fingerprint:
        report.files["skipped"] += 1
        report.memories["unchanged"] += len(held.held)
        if (held.device, held.root) != (file.device, file.root):
            index.record(file, before=held.pieces, after=held.pieces)
        return
    try:
        parsed = _read(path)
        drafts = [_prepare(memory, parsed.exported.get(at), context) for at, memory in enumerate(parsed.memories)]
        with context.store.transaction():
            if parsed.exported:
                diff = _restore(file, drafts, parsed.exported, context, index)
            else:
                diff = sync_source(file, drafts, context, index)
    except InputError as error:
        report.fail(path, f"{error}; {error.hint}" if error.hint else str(error))
        return
    report.errors.extend(Problem(path=str(path), reason=problem) for problem in parsed.problems)
    report.count(diff, drafts)


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
    file: SourceFile,
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
    index.record(file, before=pieces_of(file.name, context, index), after=pieces)
    return source_diff(results, total=len(drafts))


def _remove_vanished(vanished: Vanished, context: IngestContext, index: SourceIndex, report: ImportReport) -> None:
    """Forget what came from files that are no longer there, and count what is kept all the same."""
    for source in vanished.gone:
        with context.store.transaction():
            report.memories["removed"] += remove_source(source, context, index)
        report.files["removed"] += 1
    report.files["withheld"], report.memories["withheld"] = len(vanished.withheld), vanished.memories
