"""Let one process at a time into a folder."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

if sys.platform == "win32":  # pragma: no cover - one of the two runs on any machine
    import msvcrt

    def _take(file: IO[bytes]) -> None:
        while True:
            try:
                msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
            except OSError:  # it gives up after ten seconds; we do not
                continue
            return

else:
    import fcntl

    def _take(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX)


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Wait until no other process is inside with this lock file, and keep others out until the end.

    The system lets go of the lock when a process dies, so nothing stale is ever left.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        _take(file)
        yield
