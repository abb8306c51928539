"""Operations that copy the whole store: a backup, its restore, a move to another place."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from msgspec import Struct

from recollect import upkeep
from recollect.errors import InputError
from recollect.operations.answer import Answer, operation
from recollect.operations.fields import DryRun
from recollect.operations.request import Call, Request
from recollect.parameters import about
from recollect.records import Moved
from recollect.render import text
from recollect.stores.choice import shown_address
from recollect.workspace import move as move_store

if TYPE_CHECKING:  # a client of the server opens no store
    from recollect.workspace import Workspace


def bytes_of(address: str) -> int:
    """Return how many bytes the files of the store at *address* hold; 0 where it is no file."""
    place = Path(address).expanduser()
    return (
        sum(each.stat().st_size for each in place.parent.glob(f"{place.name}*") if each.is_file())
        if place.is_file()
        else 0
    )


class BackupRequest(
    Request, in_python=False, slow=True, group="care", stopped="no backup was written; the store is as it was"
):
    """Where to back up to."""

    path: Annotated[str, about("the file to write", place=1)] | None = None
    to: Annotated[str, about("a folder instead, where the file is named by its time", metavar="FOLDER")] | None = None
    keep: Annotated[int, about("with --to: keep this many, remove older ones of this store", ge=1)] | None = None
    force: Annotated[bool, about("replace a file that is there")] = False


@operation
def backup(db: "Workspace", request: BackupRequest, call: Call) -> "Answer[upkeep.backup.Backup]":
    """Write a checked copy of the whole store while others go on; `backup restore` puts it back."""
    path, folder, keep = request.path, request.to, request.keep
    if bool(path) == bool(folder):
        raise InputError(
            "name one file, or one folder with --to",
            hint="such as: recollect backup notes.bak.db, or --to backups --keep 7",
        )
    if path and keep is not None:
        raise InputError("--keep needs --to", hint="such as: recollect backup --to backups --keep 7")
    if folder:
        made = db.backups.create_in(folder, keep=keep, progress=call.progress)
    else:
        made = db.backups.create(path or "", force=request.force, progress=call.progress)
    lines = [f"{made.memories} memories backed up to {made.path}", *(f"removed {each}" for each in made.pruned)]
    return Answer(value=made, text=lambda: "\n".join(lines))


class RestoreBackup(Request, verb="backup restore", in_python=False, slow=True, creates_store=True, group="care"):
    """Which backup to put back."""

    path: Annotated[str, about("a file that backup has written", place=1)]
    dry_run: DryRun = False


@operation
def restore_backup(db: "Workspace", request: RestoreBackup, _: Call) -> "Answer[upkeep.backup.RestoredBackup]":
    """Put a backup in the place of the store; what is here now is kept in a file beside it."""
    done = db.backups.restore(request.path, dry_run=request.dry_run)
    verb, kept = ("restored", "are kept") if done.applied else ("would restore", "would be kept")
    lines = [f"{verb} {done.memories} memories from {done.path}"]
    if done.aside is not None:
        lines.append(f"the {done.replaced} memories that were here {kept} in {done.aside}")
    return Answer(value=done, text=lambda: "\n".join(lines))


class Move(
    Request,
    verb="store move",
    in_python=False,
    needs_store=False,
    slow=True,
    group="care",
    stopped="what arrived so far is kept; the same command goes on from there",
):
    """Which store to move, and where to."""

    old: Annotated[str, about("the store to move: a file, or postgresql://…", place=1)]
    new: Annotated[str, about("where to: a new file, or postgresql://…", place=2)]


class MovedStore(Struct, frozen=True, kw_only=True):
    """From where to where a store was copied, and what was compared."""

    json_members: ClassVar[str] = "old new *moved"

    old: str
    new: str
    moved: Moved


@operation
def move(_: "Workspace", request: Move, call: Call) -> Answer[MovedStore]:
    """Copy a store into an empty one, between files and PostgreSQL, and compare every row; the old one stays."""
    old, new = request.old, request.new
    done = move_store(old, new, progress=call.progress)
    value = MovedStore(old=shown_address(old), new=shown_address(new), moved=done)
    return Answer(value=value, text=lambda: text.moved_text(done, value.old, value.new))
