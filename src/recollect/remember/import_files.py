"""Import files and folders as memories. Idempotent; changed and vanished files are noticed."""

import gc
import hashlib
import os
import stat
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from recollect.errors import FileError, InputError, RecollectError
from recollect.records import Memory, Piece, Progress, Source
from recollect.remember.context import DEFAULT, Draft, IngestContext
from recollect.remember.find_files import LARGEST, LeadsOut, Passed, Refused, find_files, suffix_of
from recollect.remember.formats import Exported, Format, Parsed, read_file
from recollect.remember.ingest import decide_early, ingest_drafts, secrets_of
from recollect.remember.reading import AS_FOUND, Reading
from recollect.remember.redact import SHARED, FoundSecret
from recollect.remember.restore_archive import archive_version, restore_archive
from recollect.remember.restore_export import restore_export
from recollect.remember.sync_source import (
    SourceDiff,
    SourceFile,
    SourceIndex,
    piece_key,
    pieces_of,
    ready_drafts,
    remove_source,
    slices,
    source_diff,
    sync_source,
)
from recollect.remember.vanished import Seen, Vanished, device_of, find_vanished
from recollect.replies import Degraded


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A file, or a part of one, that could not be imported."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRead:
    """What a file was taken for, and how many memories are in it."""

    path: str
    format: str
    memories: int = 0


@dataclass(slots=True, kw_only=True)
class ImportReport:
    """What an import did."""

    files: Counter[str] = field(default_factory=Counter)
    memories: Counter[str] = field(default_factory=Counter)
    secrets: list[FoundSecret] = field(default_factory=list)
    """What was taken out, and of which memory; what all of a file have alike, such as its name, is told once."""
    errors: list[Problem] = field(default_factory=list)
    degraded: Degraded | None = None
    """Why memories have no vectors yet though they should; they are stored, and found by their words."""
    read: list[FileRead] = field(default_factory=list)
    """What each file that was read was taken for."""
    passed_over: Passed = field(default_factory=Counter)
    """How many files in folders were not read, by the ending that no format reads or by another reason."""
    left_out: Counter[str] = field(default_factory=Counter)
    """How much inside the files was left out on purpose, by what it was: tool results, lines of an unknown kind."""
    places: tuple[str, ...] = ()
    """Where files were found that nobody named one by one, or would be read; and how many bytes they have."""
    size: int = 0

    @property
    def formats(self) -> Counter[str]:
        """How many files were taken for what, the most first."""
        return Counter(dict(Counter(each.format for each in self.read).most_common()))

    @property
    def is_idle(self) -> bool:
        """Whether there was nothing to import: no file, none that is gone, none in trouble."""
        return not (self.files["scanned"] or self.files["removed"] or self.files["withheld"] or self.errors)

    @property
    def redacted(self) -> int:
        """How many secrets were taken out."""
        return len(self.secrets)

    def fail(self, path: Path, reason: str) -> None:
        """Count a file that could not be read."""
        self.files["failed"] += 1
        self.errors.append(Problem(path=str(path), reason=reason))

    def took(self, path: Path, form: str, parsed: Parsed) -> None:
        """Note what a file was taken for, and what was left out of it."""
        self.read.append(FileRead(path=str(path), format=form, memories=len(parsed.memories)))
        self.left_out += Counter(parsed.skipped)
        if not (parsed.memories or parsed.skipped or parsed.problems):
            self.passed_over["empty"] += 1

    def count(self, diff: SourceDiff, drafts: Sequence[Draft]) -> None:
        """Count what a file brought."""
        self.files["imported"] += 1
        self.memories["new"] += len(diff.new)
        self.memories["updated"] += len(diff.updated)
        self.memories["unchanged"] += diff.unchanged
        self.memories["removed"] += diff.removed
        self.memories["revived"] += diff.revived
        told: set[tuple[str, str]] = set()
        for place in (*diff.new, *diff.updated):
            for each in secrets_of(drafts[place], diff.ids[place]):
                if each.field not in SHARED or (each.field, each.kind) not in told:
                    self.secrets.append(each)
                told.add((each.field, each.kind))


def import_files(
    paths: Sequence[str | Path],
    context: IngestContext,
    progress: Progress | None = None,
    *,
    prune: bool = False,
    follow_links: bool = False,
    reading: Reading = AS_FOUND,
) -> ImportReport:
    """Import *paths*; one bad file never stops the rest, a store in trouble stops it all.

    What vanished is forgotten, unless its folder is away or it is all or most of a root: that takes *prune*. Links
    that lead out of a folder named are followed only with *follow_links*. Files are read as *reading* says; where
    that leaves some out, nothing is forgotten.
    """
    if context.profile.dedup == "words":
        # There a vector only proposes links, and looking for each draft would cost more than all else of an import;
        # consolidation proposes them later, from the vectors stored by then.
        context = replace(context, embedder=None)
    roots = [Path(path).expanduser() for path in paths]
    report, index = ImportReport(), SourceIndex(context.store, project=context.project or DEFAULT)
    recorded: dict[str, Source] = {}
    for root in roots:
        recorded |= context.store.sources(below=_name(root, context), project=index.project)
    walk = find_files(roots, suffixes=reading.suffixes, follow_links=follow_links, passed=report.passed_over)
    named = frozenset(roots)
    found = [each for each in walk if not isinstance(each, Path) or _is_wanted(each, named, reading, report)]
    files = {each: _name(each, context) for each in found if isinstance(each, Path)}
    refused = [_name(each.path, context) for each in found if isinstance(each, Refused)]
    seen = _seen(files, refused, [_name(root, context) for root in roots])
    for each in found:
        if isinstance(each, Refused):
            report.fail(each.path, each.reason)
    report.files["links"] = sum(isinstance(each, LeadsOut) for each in found)
    if reading.only or reading.dry_run:
        report.places, report.size = tuple(map(str, roots)), sum(map(_size, files))
    if reading.dry_run:
        _rehearse(files, recorded, reading, report)
        return report
    for number, (path, name) in enumerate(files.items(), start=1):
        report.files["scanned"] += 1
        if progress is not None:
            progress(number, len(files), path.name)
        with _without_gc():
            _import_file(
                path, _source_file(path, name, seen, recorded), recorded, context, index, report, progress, reading
            )
    if not reading.is_partial:
        _remove_vanished(find_vanished(recorded, seen, context, index, prune=prune), context, index, report)
    return report


def _is_wanted(path: Path, named: Collection[Path], reading: Reading, report: ImportReport) -> bool:
    """Tell whether a file is read, and count it where it is not."""
    wanted = reading.wants(path, named=path in named)
    if not wanted:
        report.passed_over[suffix_of(path.name)] += 1
    return wanted


def _rehearse(
    files: Mapping[Path, str], recorded: Mapping[str, Source], reading: Reading, report: ImportReport
) -> None:
    """Tell what would be read, and how much of it was imported before."""
    for path, name in files.items():
        report.files["scanned"] += 1
        report.files["known"] += name in recorded
        report.read.append(FileRead(path=str(path), format=reading.chosen(path).name))


def _size(path: Path) -> int:
    """Return how many bytes a file has; none where reading it will say what is wrong with it."""
    try:
        return path.stat().st_size
    except (OSError, ValueError):
        return 0


def _seen(files: Mapping[Path, str], refused: Sequence[str], roots: Sequence[str]) -> Seen:
    """Return what this import met, by the names it goes by in a store."""
    folders: dict[Path, int] = {}
    for path in files:
        if path.parent not in folders:
            folders[path.parent] = device_of(path.parent)
    return Seen(
        devices={name: folders[path.parent] for path, name in files.items()},
        refused=frozenset(refused),
        roots=tuple(roots),
    )


def _source_file(path: Path, name: str, seen: Seen, recorded: Mapping[str, Source]) -> SourceFile:
    """Return *path* as it is recorded from now on; its root stays the one that found it first."""
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


def _name(path: Path, context: IngestContext) -> str:
    """Return the name that *path* goes by in the store of *context*: without the secrets in it."""
    return context.source_name(source_of(path))


def _import_file(
    path: Path,
    file: SourceFile,
    recorded: Mapping[str, Source],
    context: IngestContext,
    index: SourceIndex,
    report: ImportReport,
    progress: Progress | None,
    reading: Reading,
) -> None:
    if reading.form is None and archive_version(path) is not None:
        _import_archive(path, context, index, report, progress)
        return
    held = recorded.get(file.name)
    if reading.form is None and file.fingerprint and held is not None and held.fingerprint == file.fingerprint:
        report.files["skipped"] += 1
        report.memories["unchanged"] += len(held.held)
        if (held.device, held.root) != (file.device, file.root):
            index.record(file, before=held.pieces, after=held.pieces)
        return
    try:
        form = reading.chosen(path)
        parsed = _read(path, form)
        drafts = [_prepare(memory, parsed.exported.get(at), context) for at, memory in enumerate(parsed.memories)]
        before = pieces_of(file.name, context, index)
        if parsed.exported:
            ready = ready_drafts(drafts, before, context)
            with context.store.transaction():
                diff = _restore(file, ready, parsed.exported, context, index)
        else:
            diff = _sync(file, drafts, before, context, index)
    except InputError as error:
        report.fail(path, f"{error}; {error.hint}" if error.hint else str(error))
        return
    report.took(path, form.name, parsed)
    report.errors.extend(Problem(path=str(path), reason=problem) for problem in parsed.problems)
    report.count(diff, drafts)


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
    diffs, start = [], 0
    for stop in slices(drafts, before):
        ready = ready_drafts(drafts[start:stop], before, context)
        decided = decide_early([draft for draft in ready if draft.tokens is not None], context)
        with context.store.transaction():
            told = file if stop == len(drafts) else replace(file, fingerprint="")
            diffs.append(sync_source(told, [*drafts[:start], *ready], context, index, decided=decided))
        start = stop
    new, updated = (tuple(at for diff in diffs for at in getattr(diff, name)) for name in ("new", "updated"))
    removed, revived = (sum(getattr(diff, name) for diff in diffs) for name in ("removed", "revived"))
    unchanged = len(drafts) - len(new) - len(updated) - revived
    ids = {place: row for diff in diffs for place, row in diff.ids.items()}
    return SourceDiff(new=new, updated=updated, unchanged=unchanged, removed=removed, revived=revived, ids=ids)


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
    report.read.append(FileRead(path=str(path), format="archive", memories=restored.memories.total()))
    report.memories += restored.memories
    report.secrets += restored.secrets
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


def _read(path: Path, form: Format) -> Parsed:
    try:
        return read_file(path, form)
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
    results |= zip(others, ingest_drafts([drafts[at] for at in others], context), strict=True)
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
