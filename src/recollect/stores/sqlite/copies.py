"""Copies of a SQLite store by SQLite's own backup: a checked file, and a file put in the place of what is there.

A copy is made of one state: the connection it is read from holds a read transaction, so that writers go on beside it
and it never begins anew. It gets its name only when it is whole and on disk. A backup is put back in one write
transaction of the store itself: whoever reads meanwhile sees the old state to the end, whoever reads later the new
one, and a crash leaves the old one.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw

from recollect.errors import FileError, InputError, StoreDamaged
from recollect.files import new_part, open_regular, stale_parts
from recollect.records import Progress

SLICE = 1000
"""How many pages are copied at a time."""
TRUTH = ("memory", "wording", "event", "fact", "source", "piece", "note", "recall", "recalled", "vector")
"""The tables whose rows are counted in a copy: as many as in the store."""
COUNTERS = ("newest", "newest_fact", "version", "vectors", "seq")
"""The counts that never go back, whatever is put back: ids are given once, and caches compare versions."""
APPLICATION = 0x5EC0_11EC
"""Marks the file as ours, so that another program's database is never taken for a store."""
HEAD = 72
"""How many bytes of a file say whether it is a copy: SQLite's own number of the application ends there."""
EXPORTED = b'{"recollect":'
"""How an export begins."""
BESIDE = ("-wal", "-journal")
"""How the names of the files end that SQLite keeps beside a store in use."""


def write_copy(
    source: apsw.Connection,
    target: Path,
    *,
    force: bool = False,
    check: bool = True,
    progress: Progress | None = None,
) -> None:
    """Copy the state that *source* reads to the file *target*, which nobody but its owner may read.

    The copy is a store of its own, with a number of its own.
    """
    refuse_target(target, force=force)
    with _part_of(target) as part:
        with closing(apsw.Connection(str(part))) as copy:
            with copy.backup("main", source, "main") as job:
                _run(job, progress)
            with suppress(apsw.Error):  # a damaged store is copied as it is
                copy.execute("update meta set value = abs(random() >> 1) where key = 'store'")
            with suppress(apsw.Error):  # segments lie beside the store; those of a copy are made when it is used
                copy.execute("delete from segment; delete from removed")
            if check:
                _compare(copy, source, target)
        _sync(part)
        if force:
            part.replace(target)
        else:
            _name(part, target)
    _sync(target.parent)


def refuse_target(target: Path, *, force: bool) -> None:
    """Refuse a name that is taken, or that is a store in use."""
    if target.is_dir():
        raise InputError(f"{target} is a folder", hint=f"name a file, or say: --to {target}")
    if any(_size(beside) for beside in (target.with_name(target.name + end) for end in BESIDE)):
        raise InputError(f"{target} is a store in use", hint="name another file")
    if os.path.lexists(target) and not force:
        raise InputError(f"{target} is there already", hint="name another file, or replace it with --force")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


@contextmanager
def _part_of(target: Path) -> Iterator[Path]:
    """Give an empty file beside *target*; what is left of it in the end is removed."""
    remove_stale_parts(target.parent)
    with ExitStack() as stack:
        try:
            part = stack.enter_context(new_part(target))
        except OSError as error:
            hint = "name a file in a folder of yours"
            raise InputError(f"cannot write {target}: {error.strerror}", hint=hint) from error
        stack.callback(_remove_with_logs, part)
        yield part


def remove_stale_parts(folder: Path) -> None:
    """Remove from *folder* the parts of our copies and exports that killed processes left there."""
    with suppress(OSError):
        for part in stale_parts(folder):
            if is_copy(part):
                _remove_with_logs(part)


def _remove_with_logs(part: Path) -> None:
    for end in ("", *BESIDE, "-shm"):
        part.with_name(part.name + end).unlink(missing_ok=True)


def is_copy(path: Path) -> bool:
    """Tell whether the file at *path* is a store of ours or an export of one, by how it begins."""
    return is_ours(path) or _head(path).startswith(EXPORTED)


def is_ours(path: Path) -> bool:
    """Tell whether the file at *path* bears our mark, where SQLite keeps it in the head of a file."""
    head = _head(path)
    return head.startswith(b"SQLite format 3\x00") and int.from_bytes(head[68:72]) == APPLICATION


def _head(path: Path) -> bytes:
    try:
        with os.fdopen(open_regular(path.resolve()), "rb") as file:
            return file.read(HEAD)
    except OSError:
        return b""


def _run(job: apsw.Backup, progress: Progress | None) -> None:
    while not job.done:
        job.step(SLICE)
        if progress is not None:
            progress(job.page_count - job.remaining, job.page_count, "pages")


def _compare(copy: apsw.Connection, source: apsw.Connection, target: Path) -> None:
    """Refuse a *copy* that is damaged, or has other counts than the *source* it was made from."""
    wrong = damage_of(copy)
    if wrong is None:
        counts = [{table: db.execute(f"select count(*) from {table}").get for table in TRUTH} for db in (copy, source)]
        wrong = None if counts[0] == counts[1] else "it holds other rows than the store"
    if wrong is not None:
        told = f"no backup was written to {target}, for the copy is damaged: {wrong}"
        raise StoreDamaged(told, hint="run: recollect doctor")


def damage_of(db: apsw.Connection) -> str | None:
    """Return the first thing that is wrong with a database, if anything is."""
    try:
        line = str(db.execute("pragma integrity_check(1)").get)
    except (apsw.CorruptError, apsw.SQLError) as error:  # a virtual table that cannot even be looked at
        return str(error)
    return None if line == "ok" else line


def _sync(path: Path) -> None:
    """Wait until *path* is on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _name(part: Path, target: Path) -> None:
    """Give *part* its name unless somebody else took it meanwhile."""
    try:
        os.link(part, target)
    except FileExistsError:
        refuse_target(target, force=False)
        raise
    except OSError:  # a file system without hard links
        part.replace(target)


# --- a backup put back ----------------------------------------------------------------------


@contextmanager
def opened(path: Path) -> Iterator[apsw.Connection]:
    """Open the backup *path* for reading, without leaving a trace beside it."""
    if not path.is_file():
        raise no_backup(path)
    alone = not any(_size(path.with_name(path.name + end)) for end in BESIDE)
    from urllib.parse import quote  # noqa: PLC0415  (few open a copy)

    address = f"file:{quote(str(path.absolute()))}?mode=ro{'&immutable=1' if alone else ''}"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    with closing(apsw.Connection(address, flags=flags)) as db:
        db.execute("begin")
        yield db


def no_backup(path: Path) -> FileError:
    """Return the error for a file that is none."""
    return FileError(f"{path} is no backup", hint="name a file that recollect backup has written")


def replace_all(source: apsw.Connection, target: apsw.Connection, present: apsw.Connection, aside: Path | None) -> None:
    """Put what *source* holds in the place of what *target* does; *present* reads that, and is kept *aside* first.

    The first page takes the lock, so that nobody writes between the copy aside and the end.
    """
    _fit_pages(source, target)
    with target.backup("main", source, "main") as job:
        job.step(1)
        present.execute("begin")
        _carry_on(source, present)
        if aside is not None:
            write_copy(present, aside, check=False)
        _run(job, None)


def _fit_pages(source: apsw.Connection, target: apsw.Connection) -> None:
    """Give *source*, a file of ours, pages as large as those of *target*: SQLite copies page by page."""
    size = target.pragma("page_size")
    if source.pragma("page_size") != size:
        source.pragma("journal_mode", "delete")
        source.pragma("page_size", size)
        source.execute("vacuum")


def _carry_on(source: apsw.Connection, present: apsw.Connection) -> None:
    """Let the counters of *source* go on from those of the store it replaces; every vector counts as new.

    The number of the store stays too: the file is the same one, and so is the log beside it.
    """
    held: list[tuple[Any, ...]] = []
    with suppress(apsw.Error):  # a damaged store has none to go on from
        held = present.execute("select key, value from meta").fetchall()
    with source:
        number = [(value,) for key, value in held if key == "store"]
        source.executemany("update meta set value = ? where key = 'store'", number)
        kept = [(value, key) for key, value in held if key in COUNTERS]
        source.executemany("update meta set value = max(value, ?) where key = ?", kept)
        source.execute("update meta set value = value + 1 where key in ('version', 'vectors')")
        source.execute("update meta set value = abs(random() >> 1) where key = 'lineage'")
        source.execute("update vector set stamp = stamp + (select value from meta where key = 'vectors')")
        newest = "(select coalesce(max(stamp), 0) from vector)"
        source.execute(f"update meta set value = max(value, {newest}) where key = 'vectors'")
        source.execute("delete from vector_segment; delete from vector_removed")
