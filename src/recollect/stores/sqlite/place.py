"""The file of a store: how it can be used where it lies, and whether it is still the one that was opened."""

import os
from pathlib import Path
from typing import Final, Literal

import apsw
from msgspec import Struct

from recollect.errors import RecollectError, StoreDamaged, StoreError
from recollect.files import make_file, make_folder

SEGMENTS: Final = "-segments"
"""How the name of the folder ends in which the segments of the word index lie."""

Access = Literal["write", "read", "immutable"]
"""What can be done: all; reading beside others; reading what nobody changes, with no file beside it."""


class Place(Struct, frozen=True, kw_only=True):
    """A store's file as it was found when the store was opened."""

    path: Path
    access: Access
    identity: tuple[int, ...]
    """What tells the file from another of the same name."""

    @property
    def address(self) -> str:
        """How SQLite is told to open it."""
        if self.access == "write":
            return str(self.path)
        return f"{self.path.resolve().as_uri()}?{'immutable=1' if self.access == 'immutable' else 'mode=ro'}"

    @property
    def flags(self) -> int:
        """What SQLite may do with it; a file is made here and never by SQLite, which would let others read it."""
        if self.access == "write":
            return apsw.SQLITE_OPEN_READWRITE
        return apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI

    def require_writable(self) -> None:
        """Refuse to write where that is not possible."""
        if self.access != "write":
            raise StoreError(f"{self.path} can only be read here", hint="check the rights of the file and its folder")

    def require_same(self) -> None:
        """Refuse to use another file than the one that was opened."""
        try:
            now = _identity(self.path, self.access)
        except OSError as error:
            raise StoreError(f"{self.path} was removed while it was open", hint="open the store again") from error
        if now != self.identity:
            raise StoreError(f"{self.path} was replaced while it was open", hint="open the store again")


def find_place(path: Path) -> Place:
    """Return the place of the store at *path*; a file is made where there is none."""
    _require_file(path)
    if not path.exists():
        make_folder(path.parent)
        make_file(path)
    access = _access(path)
    if access == "write":
        _refuse_foreign_log(path)
    return Place(path=path, access=access, identity=_identity(path, access))


def opened(place: Place) -> apsw.Connection:
    """Return a connection to *place*, surely to this file and to no other that has its name by now."""
    db = apsw.Connection(place.address, flags=place.flags)
    try:
        place.require_same()
    except BaseException:
        _leave(db)
        raise
    return db


def beside(path: Path, ending: str) -> Path:
    """Return the file that SQLite keeps beside the store at *path*; it follows links first."""
    real = path.resolve()
    return real.with_name(real.name + ending)


def _identity(path: Path, access: Access) -> tuple[int, ...]:
    found = path.stat()
    if access != "immutable":
        return found.st_dev, found.st_ino
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, _size(beside(path, "-wal"))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _access(path: Path) -> Access:
    if os.access(path, os.W_OK) and os.access(path.resolve().parent, os.W_OK):
        return "write"
    if _size(beside(path, "-journal")):
        raise StoreError(
            f"{path} was left in the middle of a change, which cannot be undone where it can only be read",
            hint="copy it and its -journal to where they can be written, and open it there",
        )
    return "read" if _size(beside(path, "-wal")) else "immutable"


def _require_file(path: Path) -> None:
    """Refuse what cannot be a store; its bytes are left to SQLite, for closing a file here would give up its locks."""
    if path.is_dir():
        raise StoreError(f"{path} is a folder, not a store", hint="name a file, such as notes.db")
    if path.exists() and not path.is_file():
        raise StoreError(f"{path} is not a file", hint="name a file, such as notes.db")
    if path.exists() and not os.access(path, os.R_OK):
        raise StoreError(f"cannot open {path}: Permission denied", hint="check the rights of the file")
    if _size(path) == 1:  # SQLite would take it for an empty file
        raise no_store(path)


def no_store(path: Path) -> RecollectError:
    """Return the error for a file that is no database."""
    return StoreDamaged(f"{path} is not a recollect store", hint="name another file with --db; this one is untouched")


# --- a log that belongs to another store ------------------------------------------------------


def _refuse_foreign_log(path: Path) -> None:
    """Refuse a store beside which the log of the one lies that it took the place of: it would overwrite it."""
    if not _size(beside(path, "-wal")):
        return
    without, with_log = (_name(path, option) for option in ("immutable=1", "mode=rw"))
    if without is not None and with_log is not None and without != with_log:
        raise StoreError(
            f"{path} took the place of another store, whose log {beside(path, '-wal').name} is still there",
            hint="end the programs that use the old one, then remove its -wal and -shm",
        )


def _name(path: Path, option: str) -> int | None:
    """Return the number that a store got when it was made; None where it cannot be read."""
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI
    db = apsw.Connection(f"{path.resolve().as_uri()}?{option}", flags=flags)
    try:
        found: int | None = db.execute("select value from meta where key = 'store'").get
    except apsw.Error:
        return None
    finally:
        _leave(db)
    return found


def _leave(db: apsw.Connection) -> None:
    """Close *db* and leave the log as it is."""
    db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    db.close()
