"""Backups in files: named, counted, told in the store they are of, and put back."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from recollect.errors import InputError, StoreError
from recollect.records import ALL_PROJECTS, Progress
from recollect.remember.redact import digests_of, redact_name
from recollect.settings import home_folder
from recollect.stores.choice import IN_MEMORY, is_store_file, shown_address
from recollect.stores.contract import Store

KIND: Final = "backup"
"""The kind of note that says when the store was last backed up, and where to."""
_LAST: Final = "last"
_STAMP: Final = "%Y%m%dT%H%M%S%fZ"


class Backup(Struct, frozen=True, kw_only=True):
    """A backup that was made: where it is, how many memories it holds, and which older ones made room for it."""

    path: str
    memories: int
    at: datetime
    pruned: tuple[str, ...] = ()


class RestoredBackup(Struct, frozen=True, kw_only=True):
    """A backup that was put back, or would be: how many memories it holds, how many were here, kept in which file."""

    path: str
    memories: int
    replaced: int
    aside: str | None
    applied: bool


def back_up(
    store: Store, path: Path, *, now: datetime, force: bool = False, progress: Progress | None = None
) -> Backup:
    """Write a checked copy of *store* to the file *path*, and note in the store that there is one."""
    count = store.stats(scope=ALL_PROJECTS).memories
    store.backup(path, force=force, progress=progress)
    with suppress(StoreError):  # a store that can only be read has no place for it
        note(store, path, now)
    return Backup(path=str(path), memories=count, at=now)


def back_up_to(
    store: Store, folder: Path, *, address: str, now: datetime, keep: int | None, progress: Progress | None = None
) -> Backup:
    """Write a backup named by its time into *folder*; of the backups of this store only the newest *keep* stay."""
    if keep is not None and keep < 1:
        raise InputError(f"cannot keep {keep} backups", hint="keep at least 1, such as --keep 7")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot use {folder}: {error.strerror}", hint="name a folder of yours") from error
    made = back_up(store, folder / f"{_prefix(address)}-{_stamp(now)}.db", now=now, progress=progress)
    return made if keep is None else Backup(path=made.path, memories=made.memories, at=now, pruned=_prune(made, keep))


def _prefix(address: str) -> str:
    """Return how the names of the backups of a store begin: its name, and what tells it from others of that name."""
    path = shown_address(address) if "://" in address else str(Path(address).expanduser().absolute())
    name = "memory" if address == IN_MEMORY else _name(address)
    return f"{name}-{blake2b(path.encode('utf-8', 'surrogateescape'), digest_size=4).hexdigest()}"


def _name(address: str) -> str:
    """Return what a store is called: by its file, or by its database."""
    place = shown_address(address)
    return Path(place.partition("://")[2].partition("?")[0] or place).stem if "://" in place else Path(place).stem


def _stamp(now: datetime) -> str:
    return now.astimezone(UTC).strftime(_STAMP)


def _prune(made: Backup, keep: int) -> tuple[str, ...]:
    """Remove the oldest backups of the store that *made* is of, all but *keep*; *made* always stays."""
    path = Path(made.path)
    others = [each for each in _siblings(path) if each != path]
    gone = sorted(others, key=lambda each: each.name, reverse=True)[keep - 1 :]
    for each in gone:
        each.unlink(missing_ok=True)
    return tuple(map(str, gone))


def _siblings(path: Path) -> Iterator[Path]:
    """Yield the backups of the same store beside *path*: of such a name, and stores of ours."""
    begin = re.escape(path.stem.rpartition("-")[0])
    named = re.compile(rf"{begin}-\d{{8}}T\d{{12}}Z\.db")
    for each in path.parent.iterdir():
        if named.fullmatch(each.name) and not each.is_symlink() and is_store_file(each):
            yield each


def restore_backup(store: Store, path: Path, *, address: str, now: datetime, dry_run: bool = False) -> RestoredBackup:
    """Put the backup *path* in the place of what *store* holds, which is kept in a file beside it."""
    aside = None if address in ("", IN_MEMORY) else _beside(address) / f"{_name(address)}-before-{_stamp(now)}.db"
    if aside is not None and "://" in address:
        aside.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    before = store.stats(scope=ALL_PROJECTS).memories
    count = store.restore_backup(path, aside=aside, dry_run=dry_run)
    if aside is not None and not dry_run:
        note(store, aside, now)
    told = None if aside is None else str(aside)
    return RestoredBackup(path=str(path), memories=count, replaced=before, aside=told, applied=not dry_run)


def _beside(address: str) -> Path:
    """Return the folder of a store; what is beside one on a server is in the user's own."""
    return home_folder() if "://" in address else Path(address).expanduser().parent


def note(store: Store, path: Path, now: datetime) -> None:
    """Note when the store was backed up, and where to, without the secrets in that path."""
    place = redact_name(str(path.absolute()), digests_of(store), path=True).text
    store.put_note(KIND, _LAST, {"at": now.isoformat(), "path": place})


def last_backup(store: Store) -> Mapping[str, Any] | None:
    """Return when the store was last backed up (*at*) and where to (*path*)."""
    return store.notes(KIND).get(_LAST)
