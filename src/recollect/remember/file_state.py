"""What tells that a file has not changed since its last import, and when it was changed last."""

import hashlib
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

EARLIEST_DATE: Final = datetime(1990, 1, 1, tzinfo=UTC)
"""An older date comes from a clock that was not set, or from an archive without times."""
RECENT_SECONDS: Final = 2.0
"""A file changed this recently may change once more without its times showing it."""
PROBE_BYTES: Final = 512
BINARY_MAGIC: Final = (
    b"SQLite format 3",
    b"PK",
    b"%PDF",
    b"\x28\xb5\x2f\xfd",
    b"\xff\xfe",
    b"\xfe\xff",
    b"\x00\x00\xfe\xff",
)
"""How files begin that are readable though they contain NULs: databases, archives, documents, wide text."""


def stamp_of(path: Path, now: datetime) -> str:
    """Return size, times and inode of *path* as text: equal stamps mean an unchanged file. Blank: it cannot tell.

    The inode change time is part of it, which no program can set. A file that was changed a moment ago may change once
    more within the same tick of that clock, so it has no stamp yet.
    """
    try:
        status = path.stat()
    except (OSError, ValueError):
        return ""
    if not stat.S_ISREG(status.st_mode) or max(status.st_ctime, status.st_mtime) > now.timestamp() - RECENT_SECONDS:
        return ""
    if _has_log(path):
        return ""
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"


def modified_at(path: Path, now: datetime) -> datetime | None:
    """Return when *path* was last changed; None if that cannot be true."""
    try:
        modified = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except (OSError, ValueError, OverflowError):
        return None
    return modified if EARLIEST_DATE <= modified <= now else None


def _has_log(path: Path) -> bool:
    """Return whether *path* is a database with a write-ahead log: its own bytes do not hold the last changes."""
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size > 0
    except (OSError, ValueError):
        return False


def fingerprint_of(path: Path) -> str:
    """Return a digest of the bytes of *path*; blank where reading it will report what is wrong."""
    try:
        if not stat.S_ISREG(path.stat().st_mode) or _has_log(path):
            return ""
        with path.open("rb") as file:
            head = file.read(PROBE_BYTES)
            if b"\0" in head and not head.startswith(BINARY_MAGIC):
                return ""  # no format reads it, and a file of holes may be endless
            file.seek(0)
            return hashlib.file_digest(file, "blake2b").hexdigest()[:32]
    except (OSError, ValueError):
        return ""
