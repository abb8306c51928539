"""Import the transcript of a session in the background: one import of a store at a time, one more that waits.

A turn of an agent ends often, and its transcript grows by a little each time. Whoever comes while another waits for the
same transcript may leave: the one that waits will read what is there by then.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final
from zlib import crc32

from recollect.settings import read_settings
from recollect.surfaces.client import address_file

IMPORT_SECONDS: Final = 900
"""When an import is given up; the next one continues where it ended."""


def begin(transcript: Path, *, db: str, project: str | None, folder: str | None = None) -> None:
    """Start an import for which nobody waits, into *project* or into the project of *folder*."""
    if db == ":memory:":
        return  # nobody would see what it keeps
    from recollect.surfaces.children import start_child  # noqa: PLC0415  (most events start none)

    start_child("recollect.surfaces.keeping", str(transcript.absolute()), project or "", folder or "", db=db)


def main(words: Sequence[str]) -> None:
    """Import one transcript when its turn comes; end at once where another waits for it already."""
    from recollect.surfaces.children import become  # noqa: PLC0415  (a hook that starts none loads this module too)

    transcript, project, *folder = words
    db = read_settings().db
    if take_turn(db, transcript):  # the turn is held until the import ends
        project = project or _claimed(db, *folder)
        named = ("--project", project) if project else ()
        become("recollect", "import", transcript, *named, seconds=IMPORT_SECONDS)


def _claimed(db: str, folder: str = "") -> str:
    """Return the project of *folder*, which is its own from now on; blank without a folder."""
    if not folder:
        return ""
    from recollect import recollection  # noqa: PLC0415  (a hook that starts none loads this module too)

    with recollection.open(db, model="none") as opened:
        return opened.project_of(folder, claim=True) or ""


def take_turn(db: str, transcript: str) -> bool:
    """Wait for the turn of *transcript* and hold it until the process ends; False where another waits for it."""
    if sys.platform == "win32":
        return True
    import fcntl  # noqa: PLC0415  (there is none elsewhere)

    address_file(db).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = os.open(address_file(db).with_suffix(".keep"), os.O_RDWR | os.O_CREAT, 0o600)
    os.set_inheritable(file, True)
    waits = 1 + crc32(os.fsencode(transcript))
    with suppress(OSError):
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
        return True
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, waits)
    except OSError:
        return False
    fcntl.lockf(file, fcntl.LOCK_EX, 1, 0)
    fcntl.lockf(file, fcntl.LOCK_UN, 1, waits)
    return True


if __name__ == "__main__":
    main(sys.argv[1:])
