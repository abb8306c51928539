"""Import the transcript of a session in the background: one import of a store at a time, one more that waits.

A turn of an agent ends often, and its transcript grows by a little each time. Whoever comes while another waits for the
same transcript may leave: the one that waits will read what is there by then.
"""

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final
from zlib import crc32

from recollect.settings import environment_naming, read_settings
from recollect.surfaces.serve.place import place_file

LONGEST: Final = 900
"""After how many seconds an import is given up; the next one goes on where it ended."""


def begin(transcript: Path, *, db: str, project: str | None) -> None:
    """Start an import for which nobody waits."""
    if db == ":memory:":
        return  # nobody would see what it keeps
    import subprocess  # noqa: PLC0415  (most events start none)

    subprocess.Popen(  # noqa: S603  (our own program)
        [sys.executable, "-m", "recollect.surfaces.keeping", str(transcript), *((project,) if project else ())],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env=environment_naming(db),
    )


def main(words: Sequence[str]) -> None:
    """Import one transcript when its turn comes; end at once where another waits for it already."""
    transcript, *project = words
    if not take_turn(read_settings().db, transcript):
        return
    named = ("--project", project[0]) if project else ()
    command = ("-m", "recollect", "import", transcript, "--trust", "agent", *named)
    if sys.platform == "win32":
        import subprocess  # noqa: PLC0415

        subprocess.run([sys.executable, *command], timeout=LONGEST, check=False)  # noqa: S603
    else:
        signal.alarm(LONGEST)
        os.execv(sys.executable, [sys.executable, *command])  # noqa: S606  (the turn is held until it ends)


def take_turn(db: str, transcript: str) -> bool:
    """Wait for the turn of *transcript* and hold it until the process ends; False where another waits for it."""
    if sys.platform == "win32":
        return True
    import fcntl  # noqa: PLC0415  (there is none elsewhere)

    place_file(db).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = os.open(place_file(db).with_suffix(".keep"), os.O_RDWR | os.O_CREAT, 0o600)
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
