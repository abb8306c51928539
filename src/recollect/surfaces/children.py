"""Processes that this program starts: always this Python, never in the caller's folder, nothing imported from there."""

import os
import subprocess
import sys

from recollect.files import neutral_folder, python_command
from recollect.settings import child_environment


def start_child(module: str, *words: str, db: str, stderr: int = subprocess.DEVNULL) -> "subprocess.Popen[bytes]":
    """Start *module* in the background for the store *db*, whose address appears in no list of processes."""
    return subprocess.Popen(  # noqa: S603  (our own program)
        python_command(module, *words),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=stderr,
        start_new_session=True,
        cwd=neutral_folder(),
        env=child_environment(db),
    )


def become(module: str, *words: str, seconds: int) -> None:
    """Run *module* in the place of this process for at most *seconds*; inherited files stay open."""
    command, environment = python_command(module, *words), child_environment()
    os.chdir(neutral_folder())
    if sys.platform == "win32":
        subprocess.run(command, timeout=seconds, check=False, env=environment)  # noqa: S603
        return
    import signal  # noqa: PLC0415  (other systems have no alarm)

    signal.alarm(seconds)
    os.execve(command[0], command, environment)  # noqa: S606
