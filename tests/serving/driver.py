"""Run many commands, each in a process of its own forked from this one: `driver.py MODE < commands`.

The time stands still here, as in the server that is asked, so that ages are the same for both. In the mode
`only-served` a command may not open the store itself: it would leave with 99.
"""

import json
import os
import pty
import select
import sys
import tempfile
import termios
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))  # it is started as a program of its own too

from kit import NOON
from recollect import recollection
from recollect.surfaces import cli, front

AT_NOON = {"clock": lambda: NOON}
LEFT_ALONE = 99


def stop_here(*_: object, **__: object) -> None:
    os._exit(LEFT_ALONE)


def run(words: list[str], streams: tuple[int, int, int], *, only_served: bool) -> int:
    """Run *words* in a process whose streams are *streams*; return its number."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        os.setsid()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        os.closerange(3, 64)
        sys.argv = ["recollect", *words]
        if only_served:
            cli._answered_here = stop_here  # type: ignore[assignment]  # noqa: SLF001
        front.main()
        code = 0
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def in_pipes(words: list[str], text: str, *, only_served: bool) -> dict[str, Any]:
    """Run *words* with *text* on standard input; return what it wrote."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(text.encode())
        given.seek(0)
        child = run(words, (given.fileno(), out.fileno(), err.fileno()), only_served=only_served)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        for each in (out, err):
            each.seek(0)
        return {"code": code, "out": out.read().decode(), "err": err.read().decode()}


def on_a_terminal(words: list[str], *, only_served: bool) -> dict[str, Any]:
    """Run *words* in a terminal of seventy columns; return what was sent to it."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (50, 70))
    child = run(words, (theirs, theirs, theirs), only_served=only_served)
    os.close(theirs)
    sent = b""
    while select.select([ours], [], [], 60)[0]:
        try:
            sent += os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
    os.close(ours)
    return {"code": os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), "out": sent.decode(), "err": ""}


def main() -> None:
    recollection.open.__wrapped__.__kwdefaults__.update(AT_NOON)  # type: ignore[attr-defined]
    if sys.argv[1] == "serve":
        sys.argv[1:] = ["serve", "--no-http"]
        front.main()
        return
    only_served = sys.argv[1] == "only-served"
    done = []
    for command in json.load(sys.stdin):
        if command["terminal"]:
            done.append(on_a_terminal(command["words"], only_served=only_served))
        else:
            done.append(in_pipes(command["words"], command["stdin"], only_served=only_served))
    json.dump(done, sys.stdout)


if __name__ == "__main__":
    main()
