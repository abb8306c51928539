"""Backups of the whole store."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect import upkeep
from recollect.arguments import findable, guarded
from recollect.errors import InputError
from recollect.records import Progress

if TYPE_CHECKING:
    from recollect.workspace import Workspace


@guarded
class Backups:
    """Backups of the whole store."""

    def __init__(self, db: "Workspace") -> None:
        self._db = db

    def create(
        self, path: str | Path, *, force: bool = False, progress: Progress | None = None
    ) -> "upkeep.backup.Backup":
        """Write a checked copy of the whole store, every project, to the file *path* while others go on writing.

        Example:
            >>> db.backups.create("notes.bak.db").memories
            3
        """
        self._require_whole()
        place = findable(path)
        return upkeep.backup.back_up(self._db.store, place, now=self._db.now(), force=force, progress=progress)

    def create_in(
        self, folder: str | Path, *, keep: int | None = None, progress: Progress | None = None
    ) -> "upkeep.backup.Backup":
        """Write a backup named by its time into *folder*, and *keep* only so many backups of this store there.

        Example:
            >>> db.backups.create_in("backups", keep=7).memories
            3
        """
        self._require_whole()
        place = findable(folder)
        return upkeep.backup.back_up_to(
            self._db.store, place, address=self._db.address, now=self._db.now(), keep=keep, progress=progress
        )

    def restore(self, path: str | Path, *, dry_run: bool = False) -> "upkeep.backup.RestoredBackup":
        """Put the backup *path* in the place of the whole store; what is here is kept in a file beside it.

        Example:
            >>> _ = db.backups.create("notes.bak.db")
            >>> db.forget(1)
            >>> db.backups.restore("notes.bak.db").memories
            3
        """
        self._require_whole()
        return upkeep.backup.restore_backup(
            self._db.store, findable(path), address=self._db.address, now=self._db.now(), dry_run=dry_run
        )

    def last(self) -> Mapping[str, Any] | None:
        """Return when the store was last backed up (`at`) and where to (`path`).

        Example:
            >>> db.backups.last() is None
            True
        """
        return upkeep.backup.last_backup(self._db.store)

    def _require_whole(self) -> None:
        """Finish the log; refuse to copy what lies beyond the project chosen."""
        if self._db.project is not None:
            hint = "open the store without a project; of one project there is an export"
            raise InputError("a backup holds every project", hint=hint)
        self._db.flush()
