"""Verbs that copy the whole store: a backup, a backup put back, a move to another place."""

from pathlib import Path

from recollect.errors import InputError
from recollect.recollection import Recollection
from recollect.recollection import move as move_store
from recollect.records import Progress
from recollect.stores.choice import shown_address
from recollect.surfaces import text
from recollect.surfaces.serialise import serialise
from recollect.surfaces.table import DRY_RUN, Answer, Given, Parameter, operation


def bytes_of(address: str) -> int:
    """Return how many bytes the files of the store at *address* hold; 0 where it is no file."""
    place = Path(address).expanduser()
    return (
        sum(each.stat().st_size for each in place.parent.glob(f"{place.name}*") if each.is_file())
        if place.is_file()
        else 0
    )


@operation(
    Parameter(name="path", place=True, optional=True, about="the file to write"),
    Parameter(name="to", about="a folder instead, where the file is named by its time"),
    Parameter(name="keep", kind="number", least=1, about="with --to: keep this many, remove older ones of this store"),
    Parameter(name="force", kind="flag", about="replace a file that is there"),
    slow=True,
    group="care",
    stopped="no backup was written; the store is as it was",
)
def backup(db: Recollection, given: Given, progress: Progress | None) -> Answer:
    """Write a checked copy of the whole store while others go on; `restore-backup` puts it back."""
    path, folder, keep = given.get("path"), given.get("to"), given.get("keep")
    if bool(path) == bool(folder):
        raise InputError(
            "name one file, or one folder with --to",
            hint="such as: recollect backup notes.bak.db, or --to backups --keep 7",
        )
    if path and keep is not None:
        raise InputError("--keep needs --to", hint="such as: recollect backup --to backups --keep 7")
    if folder:
        made = db.backup_to(folder, keep=keep, progress=progress)
    else:
        made = db.backup(path, force=bool(given.get("force")), progress=progress)
    lines = [f"{made.memories} memories backed up to {made.path}", *(f"removed {each}" for each in made.pruned)]
    return Answer(value=made, text=lambda: "\n".join(lines))


@operation(
    Parameter(name="path", place=True, about="a file that backup has written"),
    DRY_RUN,
    slow=True,
    makes=True,
    group="care",
)
def restore_backup(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Put a backup in the place of the store; what is here now is kept in a file beside it."""
    done = db.restore_backup(given["path"], dry_run=bool(given.get("dry_run")))
    verb, kept = ("restored", "are kept") if done.applied else ("would restore", "would be kept")
    lines = [f"{verb} {done.memories} memories from {done.path}"]
    if done.aside is not None:
        lines.append(f"the {done.replaced} memories that were here {kept} in {done.aside}")
    return Answer(value=done, text=lambda: "\n".join(lines))


@operation(
    Parameter(name="old", place=True, about="the store to move: a file, or postgresql://…"),
    Parameter(name="new", place=True, about="where to: a new file, or postgresql://…"),
    store=False,
    slow=True,
    group="care",
    stopped="what arrived so far is kept; the same command goes on from there",
)
def move(_: Recollection, given: Given, progress: Progress | None) -> Answer:
    """Copy a store into an empty one, between files and PostgreSQL, and compare every row; the old one stays."""
    old, new = given["old"], given["new"]
    done = move_store(old, new, progress=progress)
    value = {"old": shown_address(old), "new": shown_address(new), **serialise(done)}
    return Answer(value=value, text=lambda: text.moved_text(done, value["old"], value["new"]))
