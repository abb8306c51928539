"""The folder of segments beside a store: made for its owner alone, written by one process at a time, never followed."""

import math
import os
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Final, Protocol

from recollect.errors import StoreError
from recollect.files import FILE, FOLDER, make_folder, sync_folder, take_lock
from recollect.stores.sql.engine import Session

LOCK: Final = "lock"
"""The file whose lock whoever makes segments holds; the system gives it up with the process."""
VECTORS: Final = "vectors"
"""The folder of the segments of vectors, which has its own lock and names."""
AGE: Final = 60.0
"""How many seconds a folder that nobody names any more is left to those who may just be opening it."""
AT_ONCE: Final = -math.inf
"""The same where something is erased, or where the process that replaced it closes the store."""
PAUSE: Final = 0.05
PART: Final = ".part"
"""How the name of a segment ends that is still being written or copied."""


class SegmentUnavailable(StoreError):
    """A segment could not be copied to this machine; nothing is wrong with the segment."""

    code = "segment_unavailable"


class Elsewhere(Protocol):
    """Where machines share segments: one of them makes them, and the others copy them from there."""

    def alone(self) -> AbstractContextManager[bool]:
        """Hold the lock of all machines, if it is free; tell whether that is so."""
        ...

    def publish(self, session: Session, folder: Path) -> None:
        """Put a segment there, in the transaction that names it."""
        ...

    def bring(self, folder: Path) -> None:
        """Copy a segment from there, unless it is here; raise SegmentUnavailable where that cannot be done."""
        ...


class SegmentFolder:
    """Where the segments of one store lie, or copies of those that are kept *elsewhere*."""

    def __init__(self, path: Path, elsewhere: Elsewhere | None = None) -> None:
        self.path = path
        self._elsewhere = elsewhere

    @contextmanager
    def locked(self, patience: float = 0.0) -> Iterator[bool]:
        """Hold the lock, if it is free within so many seconds; tell whether that is so."""
        self._make()
        handle = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), FILE)
        until = time.monotonic() + patience
        try:
            while not (ours := take_lock(handle)) and time.monotonic() < until:
                time.sleep(PAUSE)
            with self._elsewhere.alone() if ours and self._elsewhere is not None else nullcontext(ours) as all_ours:
                yield all_ours
        finally:
            os.close(handle)

    def _make(self) -> None:
        if not self.path.parent.exists():
            make_folder(self.path.parent)
        with suppress(FileExistsError):
            self.path.mkdir(mode=FOLDER, parents=self._elsewhere is not None)
        if self.path.is_symlink() or not self.path.is_dir():
            raise NotADirectoryError(f"{self.path} is not a folder of our own")

    def put(self, save: Callable[[Path], None]) -> str:
        """Let *save* write a new folder; it gets its name when it is whole and on disk. Return the name."""
        name = os.urandom(16).hex()
        part = self.path / f"{name}{PART}"
        try:
            save(part)
            part.rename(self.path / name)
        except BaseException:
            _rmtree(part, ignore_errors=True)
            raise
        sync_folder(self.path)
        return name

    def bring(self, name: str) -> None:
        """See to it that a segment that is named lies here, where there is another place to take it from."""
        if self._elsewhere is not None:
            self._elsewhere.bring(self.path / name)

    def bring_again(self, name: str) -> bool:
        """Replace the copy of a segment that is damaged; return False where this folder is the only place it is in."""
        if self._elsewhere is None or not name.isalnum():
            return False
        _rmtree(self.path / name, ignore_errors=True)
        self._elsewhere.bring(self.path / name)
        return True

    def publish(self, session: Session, name: str) -> None:
        """Put a segment where others take it from, in the transaction that names it."""
        if self._elsewhere is not None:
            self._elsewhere.publish(session, self.path / name)

    def let_go(self, name: str) -> None:
        """Note that nobody names a folder any more, as of now."""
        with suppress(OSError):
            os.utime(self.path / name)

    def sweep(self, named: Collection[str], *, age: float = AGE, part_age: float | None = None) -> list[str]:
        """Remove unnamed segments older than *age* seconds and unfinished ones older than *part_age*.

        Return the names of those that could not be removed.
        """
        os.utime(self.path / LOCK)
        now = (self.path / LOCK).stat().st_mtime
        kept = {LOCK, VECTORS, *named}
        left = []
        for each in list(self.path.iterdir()):
            least = part_age if part_age is not None and each.name.endswith(PART) else age
            if each.name in kept or now - _changed(each) < least:
                continue
            with suppress(OSError):
                _remove(each)
            if os.path.lexists(each):
                left.append(each.name)
        return left

    def tidy(self, named: Callable[[], Collection[str]], *, age: float = AGE) -> None:
        """Sweep where there is something that is not *named*: what was left to others, or by a process that died."""
        if self.names().difference(named()):
            with self.locked() as ours:
                if ours:
                    self.sweep(named(), age=age, part_age=AGE)

    def names(self) -> set[str]:
        """Return the names of what is there, whoever put it there."""
        if self.path.is_symlink() or not self.path.is_dir():
            return set()
        return set(os.listdir(self.path)) - {LOCK, VECTORS}  # noqa: PTH208 (names are all that is wanted)

    def files(self) -> list[Path]:
        """Return the files that are there."""
        if self.path.is_symlink() or not self.path.is_dir():
            return []
        return sorted(each for each in self.path.rglob("*") if each.is_file() and not each.is_symlink())


def _changed(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0


def _remove(path: Path) -> None:
    if path.is_symlink() or not path.is_dir():
        path.unlink()
    else:
        _rmtree(path)


def _rmtree(path: Path, *, ignore_errors: bool = False) -> None:
    import shutil  # noqa: PLC0415  (a search removes nothing)

    shutil.rmtree(path, ignore_errors=ignore_errors)
