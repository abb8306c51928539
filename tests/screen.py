"""The program as it runs in a terminal: a pseudo-terminal, and an emulator that says what is seen in it."""

import fcntl
import os
import pty
import select
import signal
import subprocess
import sys
import termios
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import pyte

STOP = "\x03"
COMMAND = (sys.executable, "-c", "from recollect.surfaces.cli import main; main()")
AT_NOON = f"""
import sys
sys.path.append({str(Path(__file__).parent)!r})
from kit import NOON
from recollect import recollection
from recollect.surfaces.cli import main
recollection.open.__wrapped__.__kwdefaults__["clock"] = lambda: NOON
main()
"""
"""The same on a day that never ends: what ages looks the same tomorrow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """What a terminal shows in the end, what it was sent, and how the command ended."""

    code: int
    lines: list[str]
    sent: str

    @property
    def frames(self) -> list[str]:
        """What the progress line showed, one after the other."""
        return [frame for frame in self.sent.split("\r\x1b[K")[1:-1] if frame]


def on_a_screen(
    *words: str,
    folder: Path,
    columns: int = 80,
    program: str = AT_NOON,
    until: str = "",
    typed: str = "",
    **more: str,
) -> Screen:
    """Run a command in a terminal of so many *columns*; where *until* is shown, type *typed*."""
    ours, theirs = pty.openpty()
    rows = 200
    termios.tcsetwinsize(theirs, (rows, columns))
    named = {"TERM": "xterm-256color", "NO_COLOR": "", "COLUMNS": "", "LINES": "", **more}
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", program, *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=folder,
        env=surroundings(folder, named),
        start_new_session=True,
        preexec_fn=_at_a_terminal,  # noqa: PLW1509
    )
    os.close(theirs)
    sent, last, heard = b"", -1.0, monotonic()
    while monotonic() - heard < 300:
        if not select.select([ours], [], [], 2)[0]:
            if last > 0 and typed == STOP:  # a key may be lost on the way into a program that is busy
                os.write(ours, typed.encode())
            continue
        heard = monotonic()
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        sent += piece
        if until and until.encode() in (piece if typed == STOP else sent) and monotonic() - last > 1:
            os.write(ours, typed.encode())
            last = monotonic()
            until = until if typed == STOP else ""  # who stops a program goes on until it stops
    os.close(ours)
    screen = pyte.Screen(columns, rows)
    pyte.ByteStream(screen).feed(sent)
    lines = [line.rstrip() for line in screen.display]
    while lines and not lines[-1]:
        lines.pop()
    return Screen(code=process.wait(), lines=lines, sent=sent.decode())


def _at_a_terminal() -> None:
    """Let Ctrl-C reach the program, also where whoever runs the tests does not hear it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def surroundings(folder: Path, more: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without anybody's settings and without a model."""
    ours = {"RECOLLECT_CONFIG": "", "RECOLLECT_MODEL": "none", "RECOLLECT_OFFLINE": "1"}
    ours["RECOLLECT_DB"] = str(folder / "notes.db")
    others = {name: value for name, value in os.environ.items() if not name.startswith("RECOLLECT_")}
    return {**others, **ours, **more}
