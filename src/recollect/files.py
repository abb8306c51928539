"""What this program leaves on a machine: files and folders that only their owner may read, and processes of its own."""

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import IO, Final

FILE: Final = 0o600
FOLDER: Final = 0o700
_BINARY: Final = getattr(os, "O_BINARY", 0)
_SEEKING: Final = Lock()


def make_folder(path: Path) -> None:
    """Make the folder *path* and what is missing above it; what is there keeps its rights."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(mode=FOLDER, exist_ok=True)


def make_file(path: Path) -> None:
    """Make an empty file at *path*; one that is there is left as it is."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, FILE))


def write_private(path: Path, text: str) -> None:
    """Write *text* to *path*, in a folder that is made if it is missing."""
    make_folder(path.parent)
    with replacing(path) as file:
        file.write(text)


@contextmanager
def replacing(path: Path, *, mode: int = FILE) -> Iterator[IO[str]]:
    """Give a new file that takes the place of *path* once it is whole; until then only its owner may read it.

    A link at *path* is replaced, not followed. When writing fails, *path* stays as it was.
    """
    part = path.with_name(f".{path.name}.{os.urandom(4).hex()}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    try:
        with os.fdopen(os.open(part, flags, FILE), "w", encoding="utf-8", errors="replace", newline="") as file:
            take_lock(file.fileno())
            yield file
        part.chmod(mode)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def new_part(path: Path) -> Iterator[Path]:
    """Give an empty file next to *path*, for its owner alone and locked while it is written; in the end it goes."""
    part = path.with_name(f".{path.name}.{os.urandom(4).hex()}.part")
    handle = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), FILE)
    try:
        take_lock(handle)
        yield part
    finally:
        os.close(handle)
        part.unlink(missing_ok=True)


def stale_parts(folder: Path) -> list[Path]:
    """Return the files in *folder* that a process was writing, as `replacing` or `new_part`, when it was killed."""
    found = []
    for each in folder.glob(".*.part"):
        with suppress(OSError):
            handle = open_regular(each)
            try:
                if take_lock(handle):
                    found.append(each)
            finally:
                os.close(handle)
    return found


def lock_file(path: Path) -> int | None:
    """Return a handle that holds the lock of the file *path* until it is closed; None where another process has it.

    The system releases the lock when a process dies, however it dies.
    """
    make_folder(path.parent)
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), FILE)
        if not take_lock(handle):
            os.close(handle)
            return None
        with suppress(OSError):
            if os.path.samestat(os.fstat(handle), path.lstat()):
                return handle
        os.close(handle)  # whoever held it removed the file meanwhile


def unlock_file(path: Path, handle: int) -> None:
    """Release the lock of the file *path*, and remove the file while nobody else can have it."""
    if sys.platform != "win32":  # there a file that is open cannot be removed
        path.unlink(missing_ok=True)
    os.close(handle)


if sys.platform == "win32":  # pragma: no cover - one of the two runs on any machine
    import msvcrt

    def take_lock(handle: int) -> bool:
        """Take the lock of an open file; tell whether it was free. The system releases it when the file is closed."""
        with suppress(OSError):
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            return True
        return False

    def wait_for_lock(handle: int) -> None:
        """Wait until the lock of an open file is free, and take it."""
        while True:
            with suppress(OSError):  # it gives up after ten seconds; we do not
                msvcrt.locking(handle, msvcrt.LK_LOCK, 1)
                return

else:
    import fcntl

    def take_lock(handle: int) -> bool:
        """Take the lock of an open file; tell whether it was free. The system releases it when the file is closed."""
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        return False

    def wait_for_lock(handle: int) -> None:
        """Wait until the lock of an open file is free, and take it."""
        fcntl.flock(handle, fcntl.LOCK_EX)


def python_command(module: str, *words: str) -> list[str]:
    """Return the command that runs *module* in this Python; `-P` keeps the current folder out of its import path."""
    return [sys.executable, "-P", "-m", module, *words]


def neutral_folder() -> str:
    """Return the working folder for processes of ours: the one that Python is installed in, never the caller's."""
    return sys.prefix


def open_regular(path: Path) -> int:
    """Open the file at *path* for reading; a link, a pipe or a device raises OSError instead of being waited for."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | _BINARY)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(f"{path.name} is not a file")
    return handle


def read_regular(path: Path) -> bytes:
    """Return the bytes of the file at *path*, which must be a plain one."""
    with os.fdopen(open_regular(path), "rb") as file:
        return file.read()


def read_at(handle: int, size: int, offset: int) -> bytes:
    """Return *size* bytes from *offset* on, though the system may read fewer at a time; raise OSError at the end."""
    found = _read_some(handle, size, offset)
    while len(found) < size:
        more = _read_some(handle, size - len(found), offset + len(found))
        if not more:
            raise OSError("the file is shorter than it was")
        found += more
    return found


def readable_by_others(path: Path) -> str:
    """Return the command that takes other users' rights to *path* away; blank where they have none."""
    if os.name != "posix" or not path.exists() or not path.stat().st_mode & 0o077:
        return ""
    return f"chmod {0o700 if path.is_dir() else 0o600:o} {path}"


def _read_some(handle: int, size: int, offset: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(handle, size, offset)
    with _SEEKING:  # threads share the handle, and Windows knows no read at an offset
        os.lseek(handle, offset, os.SEEK_SET)
        return os.read(handle, size)


def sync_folder(folder: Path) -> None:
    """Wait until the names in *folder* are on disk, where the system can."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
