"""A file system for SQLite that tells of each change before it is made, so that one may note it down or refuse it."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal

import apsw

NAME = "faulty"
JOURNALS = ("-wal", "-journal")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change that SQLite makes to one file."""

    kind: Literal["write", "truncate", "sync", "delete"]
    name: str
    data: bytes = b""
    at: int = 0
    """Where the bytes go, or how long the file is from now on."""
    folder: bool = False
    """Whether the folder is synced with it, so that files that came or went stay so."""


Watch = Callable[[Change], None]
"""Told of each change before it is made; what it raises happens instead, as far as SQLite can tell."""


class HalfWritten(Exception):
    """Raised by a watch that wants the first half of the bytes written, and then an error."""


class FaultyVFS(apsw.VFS):
    """Stand between SQLite and the file system that is there."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.real = apsw.vfs_names()[0]
        super().__init__(NAME, self.real, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> "FaultyFile":  # noqa: N802
        return FaultyFile(self, name, flags)

    def xDelete(self, name: str, folder: bool) -> None:  # noqa: FBT001, N802
        self.watch(Change(kind="delete", name=PurePath(name).name, folder=bool(folder)))
        super().xDelete(name, folder)


class FaultyFile(apsw.VFSFile):
    """One file; each change of it is told first, unless it has no name and so will not outlive the process."""

    def __init__(self, vfs: FaultyVFS, name: Any, flags: list[int]) -> None:
        super().__init__(vfs.real, name, flags)
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self.name = PurePath(path).name if path else ""
        self.watch: Watch = vfs.watch if path else _unwatched
        # SQLite syncs the folder of a journal when it syncs the journal for the first time.
        self.fresh = self.name.endswith(JOURNALS)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        try:
            self.watch(Change(kind="write", name=self.name, data=bytes(data), at=offset))
        except HalfWritten:
            super().xWrite(data[: len(data) // 2], offset)
            raise apsw.IOError("half of it was written") from None
        super().xWrite(data, offset)

    def xTruncate(self, size: int) -> None:  # noqa: N802
        self.watch(Change(kind="truncate", name=self.name, at=size))
        super().xTruncate(size)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self.watch(Change(kind="sync", name=self.name, folder=self.fresh))
        super().xSync(flags)
        self.fresh = False


def _unwatched(_: Change) -> None:
    """Let a change pass."""


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """Let *watch* see the changes of every connection that is opened here."""
    vfs, told = FaultyVFS(watch), sys.unraisablehook
    # SQLite has no way to report some errors, such as that of a file it need not delete; the driver prints them.
    sys.unraisablehook = lambda _: None
    try:
        yield
    finally:
        vfs.unregister()
        sys.unraisablehook = told
