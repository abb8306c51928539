"""Import files and folders as memories. Idempotent; changed and vanished files are noticed."""

import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from recollect.errors import InputError
from recollect.records import Progress, SourceHead
from recollect.remember.context import DEFAULT, IngestContext
from recollect.remember.find_files import Found, LeadsOut, Passed, Refused, find_files, size_of, suffix_of
from recollect.remember.formats import read_parts
from recollect.remember.formats.isolated import end_idle
from recollect.remember.gather import SMALL, GatheredFiles
from recollect.remember.reading import AS_FOUND, Reading
from recollect.remember.redact import FoundSecret
from recollect.remember.restore_archive import archive_version, restore_archive
from recollect.remember.sync_file import (
    FileReport,
    fingerprint_of,
    modified_at,
    open_file,
    small_drafts,
    stamp_of,
    sync_file,
)
from recollect.remember.sync_source import SLICE, SourceFile, SourceIndex, remove_source
from recollect.remember.vanished import Seen, Vanished, device_of, find_vanished
from recollect.replies import Degraded


class Problem(Struct, frozen=True, kw_only=True):
    """A file, or a part of one, that could not be imported."""

    path: str
    reason: str


class FileRead(Struct, frozen=True, kw_only=True):
    """What a file was taken for, and how many memories are in it."""

    path: str
    format: str
    memories: int = 0


class ImportReport(Struct, kw_only=True):
    """What an import did."""

    files: Counter[str] = field(default_factory=Counter)
    memories: Counter[str] = field(default_factory=Counter)
    secrets: list[FoundSecret] = field(default_factory=list)
    """What was taken out, and of which memory; what all of a file have alike, such as its name, is told once."""
    errors: list[Problem] = field(default_factory=list)
    degraded: Degraded | None = None
    """Why memories have no vectors yet though they should; they are stored, and found by their words."""
    sources: set[tuple[str, str]] = field(default_factory=set)
    """The files that were read, or are as they were when they were read, each with the project it was imported for."""
    restored: bool = False
    """Whether an archive of our own was among the files."""
    renewed: list[SourceFile] = field(default_factory=list)
    """The unchanged files of which something else is recorded from now on."""
    embedded: int = 0
    """How many memories got their vectors after the import."""
    waiting: int = 0
    """How many memories of the store still wait for vectors of the model in use."""
    gone: list[str] = field(default_factory=list)
    """The files that are no longer there, by their names in the store."""
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

    def add(self, other: "ImportReport") -> None:
        """Count what *other* did too."""
        self.files.update(other.files)
        self.memories.update(other.memories)
        self.secrets += other.secrets
        self.errors += other.errors
        self.sources |= other.sources
        self.restored |= other.restored
        self.degraded = self.degraded or other.degraded
        self.read += other.read
        self.gone += other.gone
        self.passed_over.update(other.passed_over)
        self.left_out.update(other.left_out)
        self.size += other.size
        self.places += other.places

    def fail(self, path: Path, reason: str) -> None:
        """Count a file that could not be read."""
        self.files["failed"] += 1
        self.errors.append(Problem(path=str(path), reason=reason))

    def imported(self, path: Path, form: str, told: FileReport, source: tuple[str, str]) -> None:
        """Note what a file was taken for, what became of it, and what was left out of it."""
        self.files["imported"] += 1
        self.sources.add(source)
        self.read.append(FileRead(path=str(path), format=form, memories=told.found))
        self.left_out += told.skipped
        if not (told.found or told.skipped or told.problems):
            self.passed_over["empty"] += 1


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
        context = replace(context, by_vector=False)
    roots = [Path(path).expanduser() for path in paths]
    report, index = ImportReport(), SourceIndex(context.store, project=context.project or DEFAULT)
    recorded: dict[str, SourceHead] = {}
    for root in roots:
        recorded |= context.store.source_heads(below=_name(root, context), project=index.project)
    walk = _walk(roots, reading, report, follow_links=follow_links)
    named = frozenset(roots)
    found = [each for each in walk if not isinstance(each, Path) or _is_wanted(each, named, reading, report)]
    files = {each: _name(each, context) for each in found if isinstance(each, Path)}
    refused = [_name(each.path, context) for each in found if isinstance(each, Refused)]
    seen = _seen(files, refused, [_name(root, context) for root in roots])
    _tell(found, report)
    if reading.only or reading.dry_run:
        report.places, report.size = tuple(map(str, roots)), sum(map(size_of, files))
    if reading.dry_run:
        _rehearse(files, recorded, reading, report)
        return report
    gathered = GatheredFiles(context, index)
    try:
        for number, (path, name) in enumerate(files.items(), start=1):
            report.files["scanned"] += 1
            if progress is not None:
                progress(number, len(files), path.name)
            _import_file(path, name, seen, recorded, context, index, gathered, report, progress, reading)
    finally:  # whoever stops an import is told that what was read is in
        end_idle()
        _write(gathered, index, report)
    _renew(report.renewed, context, index)
    if not reading.is_partial:
        _remove_vanished(find_vanished(recorded, seen, context, index, prune=prune), context, index, report)
    return report


def _tell(found: Iterable[object], report: ImportReport) -> None:
    """Tell what is refused, and which links lead out."""
    for each in found:
        if isinstance(each, Refused):
            report.fail(each.path, each.reason)
        report.files["links"] += isinstance(each, LeadsOut)


def _is_wanted(path: Path, named: Collection[Path], reading: Reading, report: ImportReport) -> bool:
    """Tell whether a file is read, and count it where it is not."""
    wanted = reading.wants(path, named=path in named)
    if not wanted:
        report.passed_over[suffix_of(path.name)] += 1
    return wanted


def _rehearse(
    files: Mapping[Path, str], recorded: Mapping[str, SourceHead], reading: Reading, report: ImportReport
) -> None:
    """Tell what would be read, and how much of it was imported before."""
    for path, name in files.items():
        report.files["scanned"] += 1
        report.files["known"] += name in recorded
        report.read.append(FileRead(path=str(path), format=reading.chosen(path).name))


def _walk(roots: Sequence[Path], reading: Reading, report: ImportReport, *, follow_links: bool) -> Iterable[Found]:
    """Return what is found below *roots*; a format that reads folders takes each of them whole."""
    if reading.form is not None and reading.form.folders:
        return roots
    return find_files(roots, suffixes=reading.suffixes, follow_links=follow_links, passed=report.passed_over)


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


def _source_file(name: str, seen: Seen, held: SourceHead | None, *, fingerprint: str, stamp: str) -> SourceFile:
    """Return the file *name* as it is recorded from now on; its root stays the one that found it first."""
    root = "" if held is None else held.root
    device = seen.devices[name]
    return SourceFile(name=name, fingerprint=fingerprint, stamp=stamp, device=device, root=root or seen.root_of(name))


def source_of(path: Path) -> str:
    """Return the name that *path* goes by in a store: absolute, and text whatever the file system holds."""
    return os.fsencode(path.absolute().as_posix()).decode("utf-8", "backslashreplace")


def _name(path: Path, context: IngestContext) -> str:
    """Return the name that *path* goes by in the store of *context*: without the secrets in it."""
    return context.source_name(source_of(path))


def _import_file(  # noqa: PLR0913, PLR0917  (each is a part of its own)
    path: Path,
    name: str,
    seen: Seen,
    recorded: Mapping[str, SourceHead],
    context: IngestContext,
    index: SourceIndex,
    gathered: GatheredFiles,
    report: ImportReport,
    progress: Progress | None,
    reading: Reading,
) -> None:
    held, stamp = recorded.get(name), stamp_of(path, context.now)
    known = reading.form is None and held is not None and bool(stamp) and held.stamp == stamp
    if reading.form is None and not known and archive_version(path) is not None:
        _write(gathered, index, report)
        _import_archive(path, context, index, report, progress)
        return
    fingerprint = held.fingerprint if known and held is not None else fingerprint_of(path)
    file = _source_file(name, seen, held, fingerprint=fingerprint, stamp=stamp)
    if reading.form is None and fingerprint and held is not None and held.fingerprint == fingerprint:
        report.files["skipped"] += 1
        report.memories["unchanged"] += held.held
        report.sources.add((index.project, name))
        if (held.device, held.root, held.stamp) != (file.device, file.root, file.stamp):
            report.renewed.append(file)
        return
    told = FileReport(modified=modified_at(path, context.now))
    try:
        form = reading.chosen(path)
        opened = open_file(read_parts(path, form), told)
        if opened.is_small(SMALL):
            gathered.add(path, form.name, file, small_drafts(opened, context, told), told)
            if gathered.is_full:
                _write(gathered, index, report)
            return
        _write(gathered, index, report)
        for done in sync_file(file, opened, context, index, told):
            if progress is not None:
                progress(report.files["scanned"], len(seen.devices), f"{path.name}: {done:,} read")
    except InputError as error:
        _write(gathered, index, report)  # what came before is told before
        _settle(path, told, report, error=error)
    else:
        report.imported(path, form.name, told, (index.project, name))
        _settle(path, told, report)


def _write(gathered: GatheredFiles, index: SourceIndex, report: ImportReport) -> None:
    """Write the small files that wait, and tell what became of them."""
    for each, diff in gathered.write():
        if isinstance(diff, InputError):
            _settle(each.path, each.told, report, error=diff)
            continue
        each.told.count(diff, each.drafts)
        report.imported(each.path, each.format, each.told, (index.project, each.file.name))
        _settle(each.path, each.told, report)


def _settle(path: Path, told: FileReport, report: ImportReport, *, error: InputError | None = None) -> None:
    """Take over what is *told* of a file, and the *error* that it ended with."""
    if error is not None:
        report.fail(path, f"{error}; {error.hint}" if error.hint else str(error))
    report.errors.extend(Problem(path=str(path), reason=problem) for problem in told.all_problems)
    report.memories.update(told.memories)
    report.secrets += told.secrets


def _renew(files: Sequence[SourceFile], context: IngestContext, index: SourceIndex) -> None:
    """Record what is known of unchanged *files* now, many in one transaction."""
    for start in range(0, len(files), SLICE):
        with context.store.transaction():
            for file in files[start : start + SLICE]:
                context.store.change_source(file.name, file.holding(), project=index.project)


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
    report.restored = True
    report.read.append(FileRead(path=str(path), format="archive", memories=restored.memories.total()))
    report.memories += restored.memories
    report.secrets += restored.secrets
    report.errors.extend(Problem(path=str(path), reason=problem) for problem in restored.problems)


def _remove_vanished(vanished: Vanished, context: IngestContext, index: SourceIndex, report: ImportReport) -> None:
    """Forget what came from files that are no longer there, and count what is kept all the same."""
    for source in vanished.gone:
        report.memories["removed"] += remove_source(source, context, index)
        report.files["removed"] += 1
        report.gone.append(source)
    report.files["withheld"], report.memories["withheld"] = len(vanished.withheld), vanished.memories
