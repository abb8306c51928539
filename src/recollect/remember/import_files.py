"""Import files and folders as memories. Idempotent; changed and vanished files are noticed.

Each file is classified (an archive, unchanged, or to be read), read in parts, and brought up to date. Small files wait
and are written together, because a durable transaction for each would take longer than the rest of their import.
"""

import gc
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from recollect.errors import FileError, InputError, RecollectError, StoreError
from recollect.records import GLOBAL, Memory, Progress, SourceHead
from recollect.remember.context import DEFAULT, Draft, IngestContext
from recollect.remember.file_state import fingerprint_of, modified_at, stamp_of
from recollect.remember.find_files import Found, LeadsOut, Passed, Refused, find_files, size_of, suffix_of
from recollect.remember.formats import Exported, Parsed, read_parts
from recollect.remember.formats.isolated import end_idle
from recollect.remember.ingest import MAX_DRAFTS_BY_VECTOR, secrets_of
from recollect.remember.reading import AS_FOUND, Reading
from recollect.remember.redact import SHARED, FoundSecret
from recollect.remember.repository import project_of
from recollect.remember.restore_archive import archive_version, restore_archive
from recollect.remember.sources import (
    PART_MEMORIES,
    SourceDiff,
    SourceFile,
    SourceIndex,
    SourcePart,
    SourceSync,
    remove_source,
    write_parts,
)
from recollect.remember.statements import is_distilled, supersede_statements
from recollect.remember.vanished import Seen, device_of, find_vanished
from recollect.replies import Degraded

MAX_PROBLEMS_PER_FILE: Final = 100
"""How many unreadable parts of one file are reported one by one; the others are counted."""
SMALL_FILE_MEMORIES: Final = 100
"""A file with more memories is written by itself."""
MAX_WAITING_MEMORIES: Final = 500
"""How many memories of small files are written together; other writers wait no longer than that takes."""
MAX_WAITING_CHARACTERS: Final = 1_000_000
GC_INTERVAL_MEMORIES: Final = 100_000
"""After how many memories of one file the garbage collector runs."""


class Problem(Struct, frozen=True, kw_only=True):
    """A file, or a part of one, that could not be imported."""

    path: str
    reason: str


class FileRead(Struct, frozen=True, kw_only=True):
    """The format a file was read as, and how many memories it holds."""

    path: str
    format: str
    memories: int = 0


class ImportReport(Struct, kw_only=True):
    """What an import did."""

    files: Counter[str] = field(default_factory=Counter)
    memories: Counter[str] = field(default_factory=Counter)
    secrets: list[FoundSecret] = field(default_factory=list)
    """What was redacted, and in which memory. What all memories of a file share, such as its name, is reported once."""
    errors: list[Problem] = field(default_factory=list)
    degraded: Degraded | None = None
    """Why memories have no vectors yet. They are stored, and found by their words."""
    sources: set[tuple[str, str]] = field(default_factory=set)
    """The files that were read or are unchanged, each with the project it was imported for."""
    restored: bool = False
    """Whether an archive of our own was among the files."""
    renewed: list[SourceFile] = field(default_factory=list)
    """The unchanged files whose record is out of date."""
    embedded: int = 0
    """How many memories got their vectors after the import."""
    waiting: int = 0
    """How many memories of the store still wait for vectors of the model in use."""
    gone: list[str] = field(default_factory=list)
    """The files that are no longer there, by their names in the store."""
    read: list[FileRead] = field(default_factory=list)
    """The format of each file that was read."""
    passed_over: Passed = field(default_factory=Counter)
    """How many files in folders were not read, by the ending that no format reads or by another reason."""
    left_out: Counter[str] = field(default_factory=Counter)
    """How much inside the files was left out on purpose, by kind: tool results, lines of an unknown kind."""
    statements: list[int] = field(default_factory=list)
    """The new memories that were distilled from turns of recorded sessions."""
    places: tuple[str, ...] = ()
    """Where files were found, for a dry run or a program's usual place; and how many bytes they have."""
    size: int = 0

    @property
    def formats(self) -> Counter[str]:
        """How many files were read as each format, the most frequent first."""
        return Counter(dict(Counter(each.format for each in self.read).most_common()))

    @property
    def is_idle(self) -> bool:
        """Whether there was nothing to import: no file, none that is gone, no error."""
        return not (self.files["scanned"] or self.files["removed"] or self.files["withheld"] or self.errors)

    @property
    def redacted(self) -> int:
        """How many secrets were taken out."""
        return len(self.secrets)

    def add(self, other: "ImportReport") -> None:
        """Add the counts of *other*."""
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

    def fail(self, path: Path, error: InputError) -> None:
        """Count a file that could not be imported."""
        self.files["failed"] += 1
        reason = f"{error}; {error.hint}" if error.hint else str(error)
        self.errors.append(Problem(path=str(path), reason=reason))

    def settle(self, done: "SourceImport", project: str, error: InputError | None = None) -> None:
        """Take over what became of a file, and the *error* that stopped it, if any."""
        if error is None:
            self.files["imported"] += 1
            self.sources.add((project, done.file.name))
            self.read.append(FileRead(path=str(done.path), format=done.format, memories=done.found))
            self.left_out += done.skipped
            if not (done.found or done.skipped or done.problems):
                self.passed_over["empty"] += 1
        else:
            self.fail(done.path, error)
        self.errors.extend(Problem(path=str(done.path), reason=problem) for problem in done.all_problems)
        self.memories.update(done.memories)
        self.secrets += done.secrets
        self.statements += done.statements


class SourceImport(Struct, kw_only=True):
    """One file on its way into the store, and what became of it so far."""

    path: Path
    file: SourceFile
    modified: datetime | None = None
    """When the file was last changed: the date of memories that have no other."""
    format: str = ""
    part: SourcePart | None = None
    """What waits to be written, of a small file."""
    memories: Counter[str] = field(default_factory=Counter)
    secrets: list[FoundSecret] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    more_problems: int = 0
    """How many problems are not reported one by one."""
    skipped: Counter[str] = field(default_factory=Counter)
    reported: set[tuple[str, str]] = field(default_factory=set)
    """The secrets reported so far by field and kind: those in what all memories share are reported once."""
    found: int = 0
    """How many memories were read."""
    statements: list[int] = field(default_factory=list)
    """The new memories that were distilled from turns."""

    def read(self, parts: Iterable[Parsed]) -> Iterator[Parsed]:
        """Yield *parts* and count them; an error in a reader becomes a FileError, so that it stops no other file."""
        try:
            for part in parts:
                room = max(0, MAX_PROBLEMS_PER_FILE - len(self.problems))
                self.problems += part.problems[:room]
                self.more_problems += len(part.problems[room:])
                self.skipped.update(part.skipped)
                self.found += len(part.memories)
                yield part
        except RecollectError:
            raise
        except Exception as error:
            said = " ".join(f"{type(error).__name__}: {error}".split())
            raise FileError(f"it cannot be understood: {said}", hint="please report this") from error

    def count(self, diff: SourceDiff, drafts: Sequence[Draft]) -> None:
        """Count what a part of the file changed."""
        self.memories["new"] += len(diff.new)
        self.memories["updated"] += len(diff.updated)
        for name in ("unchanged", "removed", "repeated", "revived"):
            self.memories[name] += getattr(diff, name)
        self.statements += [diff.ids[place] for place in diff.new if is_distilled(drafts[place].memory)]
        for place in (*diff.new, *diff.updated):
            for each in secrets_of(drafts[place], diff.ids[place]):
                if each.field not in SHARED or (each.field, each.kind) not in self.reported:
                    self.secrets.append(each)
                self.reported.add((each.field, each.kind))

    @property
    def all_problems(self) -> list[str]:
        """Every problem; the last of too many is a number."""
        return [*self.problems, *([f"{self.more_problems} more like these"] if self.more_problems else [])]


def import_files(
    paths: Sequence[str | Path],
    context: IngestContext,
    progress: Progress | None = None,
    *,
    prune: bool = False,
    follow_links: bool = False,
    reading: Reading = AS_FOUND,
) -> ImportReport:
    """Import *paths*; a bad file never stops the others, a failing store stops the import.

    Memories of vanished files are forgotten, unless the folder is away or all or most of a root would go: that takes
    *prune*. Links out of a folder are followed only with *follow_links*. Files are read as *reading* says; if that
    leaves some out, nothing is forgotten.
    """
    if context.profile.dedup == "words":
        # Vectors only propose links there, and a lookup for each draft would cost more than the rest of the import.
        # Consolidation proposes them later, from the stored vectors.
        context = replace(context, by_vector=False)
    roots = [Path(path).expanduser() for path in paths]
    report, index = ImportReport(), SourceIndex(context)
    recorded: dict[str, SourceHead] = {}
    for root in roots:
        recorded |= context.store.source_heads(below=_name(root, context), project=index.project)
    found = _find(roots, reading, report, follow_links=follow_links)
    files = {each: _name(each, context) for each in found if isinstance(each, Path)}
    refused = [_name(each.path, context) for each in found if isinstance(each, Refused)]
    if reading.only or reading.dry_run:
        report.places, report.size = tuple(map(str, roots)), sum(map(size_of, files))
    if reading.dry_run:
        _rehearse(files, recorded, reading, report)
        return report
    seen = _seen(files, refused, [_name(root, context) for root in roots])
    work = _Import(index=index, seen=seen, recorded=recorded, reading=reading, report=report, progress=progress)
    try:
        for path, name in files.items():
            work.add(path, name)
    finally:  # an interrupted import keeps and reports what was read
        end_idle()
        work.flush()
    work.renew()
    if report.statements:
        supersede_statements(report.statements, context)
    if not reading.is_partial:
        work.remove_vanished(prune=prune)
    return report


def source_of(path: Path) -> str:
    """Return the name of *path* in a store: absolute, and text whatever bytes the file system holds."""
    return os.fsencode(path.absolute().as_posix()).decode("utf-8", "backslashreplace")


def _name(path: Path, context: IngestContext) -> str:
    """Return the name of *path* in the store of *context*: without the secrets in it."""
    return context.source_name(source_of(path))


def _find(roots: Sequence[Path], reading: Reading, report: ImportReport, *, follow_links: bool) -> list[Found]:
    """Return what is found below *roots* and is to be read, and report the rest."""
    whole_folders = reading.form is not None and reading.form.folders
    walk: Iterable[Found] = roots
    if not whole_folders:
        walk = find_files(roots, suffixes=reading.suffixes, follow_links=follow_links, passed=report.passed_over)
    named = frozenset(roots)
    found = [each for each in walk if not isinstance(each, Path) or _is_wanted(each, named, reading, report)]
    for each in found:
        if isinstance(each, Refused):
            report.fail(each.path, FileError(each.reason))
        report.files["links"] += isinstance(each, LeadsOut)
    return found


def _is_wanted(path: Path, named: Collection[Path], reading: Reading, report: ImportReport) -> bool:
    """Return whether a file is to be read; count it if not."""
    wanted = reading.wants(path, named=path in named)
    if not wanted:
        report.passed_over[suffix_of(path.name)] += 1
    return wanted


def _rehearse(
    files: Mapping[Path, str], recorded: Mapping[str, SourceHead], reading: Reading, report: ImportReport
) -> None:
    """Report what would be read, and how much of it was imported before."""
    for path, name in files.items():
        report.files["scanned"] += 1
        report.files["known"] += name in recorded
        report.read.append(FileRead(path=str(path), format=reading.chosen(path).name))


def _seen(files: Mapping[Path, str], refused: Sequence[str], roots: Sequence[str]) -> Seen:
    """Return the files, unreadable paths and roots of this import, by their names in the store."""
    devices = {folder: device_of(folder) for folder in {path.parent for path in files}}
    return Seen(
        devices={name: devices[path.parent] for path, name in files.items()},
        refused=frozenset(refused),
        roots=tuple(roots),
    )


# --- one file after the other ---------------------------------------------------------------


class _Import(Struct, kw_only=True):
    """An import under way."""

    index: SourceIndex
    seen: Seen
    recorded: Mapping[str, SourceHead]
    reading: Reading
    report: ImportReport
    progress: Progress | None
    waiting: list[SourceImport] = field(default_factory=list)
    """Small files that are read but not written. They are read again if the import ends before."""
    projects: dict[str, str] = field(default_factory=dict)
    """The projects of folders that recorded sessions worked in."""

    @property
    def context(self) -> IngestContext:
        return self.index.context

    def add(self, path: Path, name: str) -> None:
        """Import one file: restore an archive, skip what is unchanged, bring everything else up to date."""
        self.report.files["scanned"] += 1
        self._tell_progress(path.name)
        any_form, held, stamp = self.reading.form is None, self.recorded.get(name), stamp_of(path, self.context.now)
        known = any_form and held is not None and bool(stamp) and held.stamp == stamp
        if any_form and not known and archive_version(path) is not None:
            self._restore(path)
            return
        fingerprint = held.fingerprint if known and held is not None else fingerprint_of(path)
        file = SourceFile(
            name=name,
            fingerprint=fingerprint,
            stamp=stamp,
            device=self.seen.devices[name],
            root=(held.root if held else "") or self.seen.root_of(name),
        )
        if any_form and fingerprint and held is not None and held.fingerprint == fingerprint:
            self._skip(file, held)
            return
        done = SourceImport(path=path, file=file, modified=modified_at(path, self.context.now))
        try:
            self._bring_up_to_date(done)
        except InputError as error:
            self.flush()  # files are reported in their order
            self.report.settle(done, self.index.project, error)

    def flush(self) -> None:
        """Write the small files that wait, in their order; one that cannot be written stops no other."""
        waiting, self.waiting = self.waiting, []
        parts = [each.part for each in waiting if each.part is not None]
        in_bulk = sum(len(part.fresh) for part in parts) > MAX_DRAFTS_BY_VECTOR
        try:
            diffs: Iterable[SourceDiff | InputError] = (
                write_parts(parts, self.context, in_bulk=in_bulk) if parts else ()
            )
        except (InputError, StoreError):  # write what still can be written: a full disk takes some of them
            diffs = (self._write_alone(part, in_bulk=in_bulk) for part in parts)
        except BaseException:
            self.waiting = waiting
            raise
        for each, part, diff in zip(waiting, parts, diffs, strict=True):
            error = diff if isinstance(diff, InputError) else None
            if not isinstance(diff, InputError):
                each.count(diff, part.drafts)
            self.report.settle(each, self.index.project, error)

    def renew(self) -> None:
        """Record the current state of unchanged files, many in one transaction."""
        files = self.report.renewed
        for start in range(0, len(files), PART_MEMORIES):
            with self.context.store.transaction({self.index.project}):
                for file in files[start : start + PART_MEMORIES]:
                    self.index.change(file, (), {})

    def remove_vanished(self, *, prune: bool) -> None:
        """Forget what came from files that are gone, and count what is kept out of caution."""
        vanished = find_vanished(self.recorded, self.seen, self.index, prune=prune)
        for source in vanished.gone:
            self.report.memories["removed"] += remove_source(source, self.index)
            self.report.files["removed"] += 1
            self.report.gone.append(source)
        self.report.files["withheld"] = len(vanished.withheld)
        self.report.memories["withheld"] = vanished.memories

    def _tell_progress(self, message: str) -> None:
        if self.progress is not None:
            self.progress(self.report.files["scanned"], len(self.seen.devices), message)

    def _skip(self, file: SourceFile, held: SourceHead) -> None:
        self.report.files["skipped"] += 1
        self.report.memories["unchanged"] += held.held
        self.report.sources.add((self.index.project, file.name))
        if (held.device, held.root, held.stamp) != (file.device, file.root, file.stamp):
            self.report.renewed.append(file)

    def _restore(self, path: Path) -> None:
        """Restore an archive of ours. It is not a source: its memories came from elsewhere."""
        self.flush()
        try:
            restored = restore_archive(path, self.index, self.progress)
        except InputError as error:
            self.report.fail(path, error)
            return
        self.report.files["imported"] += 1
        self.report.restored = True
        self.report.read.append(FileRead(path=str(path), format="archive", memories=restored.memories.total()))
        self.report.memories += restored.memories
        self.report.secrets += restored.secrets
        self.report.errors.extend(Problem(path=str(path), reason=problem) for problem in restored.problems)

    def _bring_up_to_date(self, done: SourceImport) -> None:
        """Read a file and write it: a small one together with others, a larger one in parts."""
        form = self.reading.chosen(done.path)
        done.format = form.name
        first, rest = _open(done.read(read_parts(done.path, form)))
        sync = SourceSync(done.file, self.index, whole=rest is None)
        if rest is None and sum(len(part.memories) for part in first) <= SMALL_FILE_MEMORIES:
            (done.part,) = sync.parts(self._drafts(first, done))
            self.waiting.append(done)
            if self._is_full:
                self.flush()
            return
        self.flush()
        with _without_gc():
            batches = [self._drafts(first, done)] if rest is None else self._batches(first, rest, done)
            self._write_in_parts(sync, batches, done)
        self.report.settle(done, self.index.project)

    @property
    def _is_full(self) -> bool:
        drafts = [draft for each in self.waiting if each.part for draft in each.part.drafts]
        characters = sum(len(draft.memory.content) for draft in drafts)
        return max(len(drafts), len(self.waiting)) >= MAX_WAITING_MEMORIES or characters >= MAX_WAITING_CHARACTERS

    def _write_alone(self, part: SourcePart, *, in_bulk: bool) -> SourceDiff | InputError:
        try:
            (diff,) = write_parts([part], self.context, in_bulk=in_bulk)
        except InputError as error:
            return error
        return diff

    def _write_in_parts(self, sync: SourceSync, batches: Iterable[Sequence[Draft]], done: SourceImport) -> None:
        written = 0
        for drafts in batches:
            for part in sync.parts(drafts):
                (diff,) = write_parts([part], self.context)
                done.count(diff, part.drafts)
                before, written = written, written + len(part.drafts)
                if written // GC_INTERVAL_MEMORIES > before // GC_INTERVAL_MEMORIES:
                    gc.collect()  # a reader may leave cycles
                self._tell_progress(f"{done.path.name}: {written:,} read")
        done.memories["removed"] += sync.end()

    def _batches(self, first: list[Parsed], rest: Iterator[Parsed], done: SourceImport) -> Iterator[list[Draft]]:
        """Yield the drafts of a collection batch by batch, and keep none of them."""
        while (part := first.pop(0) if first else next(rest, None)) is not None:
            for start in range(0, len(part.memories), PART_MEMORIES):
                about = {at - start: each for at, each in part.exported.items()}
                memories = part.memories[start : start + PART_MEMORIES]
                yield self._drafts([replace(part, memories=memories, exported=about)], done)

    def _drafts(self, parts: Iterable[Parsed], done: SourceImport) -> list[Draft]:
        return [
            self._draft(memory, part.exported.get(at), done.modified)
            for part in parts
            for at, memory in enumerate(part.memories)
        ]

    def _draft(self, memory: Memory, about: Exported | None, modified: datetime | None) -> Draft:
        """Return *memory* ready to be stored, with the date of its file where it has none."""
        context, vector = self.context, None if about is None else about.vector
        assigned = context.assign(memory, trust=None if about is None else about.trust)
        if about is not None and about.everywhere and context.trust == "owner":
            assigned = replace(assigned, project=GLOBAL)
        elif about is not None and about.folder and context.project is None:
            assigned = replace(assigned, project=self._project_of(about.folder))
        draft = context.dated(context.prepare(assigned, vector, modified=modified))
        return draft if about is None else replace(draft, facts=about.facts, verdict=about.verdict)

    def _project_of(self, folder: str) -> str:
        """Return the project of the repository in *folder*, which is its own from now on."""
        if folder not in self.projects:
            self.projects[folder] = project_of(folder, self.context.store, claim=True) or DEFAULT
        return self.projects[folder]


def _open(parts: Iterator[Parsed]) -> tuple[list[Parsed], Iterator[Parsed] | None]:
    """Read the first parts of a file; return them and the rest, None where there is no more: then it is a document."""
    first: list[Parsed] = []
    count = 0
    for part in parts:
        first.append(part)
        if count > PART_MEMORIES:
            return first, parts
        count += len(part.memories)
    return first, None


@contextmanager
def _without_gc() -> Iterator[None]:
    """Pause the garbage collector: the many values of a part have no cycles."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()
