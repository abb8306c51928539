"""A guard around the test suite: a socket to another machine is refused, written down, and fails the test.

Python code is seen, in this process and in those that tests start; native code is the matter of tests/faults/guard.py.
"""

import os
import sys
from pathlib import Path
from typing import Any

FILE = "TESTS_SOCKETS_FILE"
"""The environment variable that names where each attempt is written down; without it nothing is guarded."""
CUSTOM = Path(__file__).parent / "guarded"
"""The folder whose `sitecustomize` brings the guard to other processes."""
_OWN = ("127.", "::1", "::ffff:127.", "localhost")
_TO_ADDRESS = ("socket.connect", "socket.sendto", "socket.sendmsg", "socket.bind")
_TO_NAME = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")
_standing: list[bool] = []


class SocketRefused(OSError):
    """Raised where something would have left the machine."""


def guard_processes(record: Path) -> None:
    """Guard this process and those it starts; attempts are written to *record*."""
    os.environ[FILE] = str(record)
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(CUSTOM), *(each for each in known if each and each != str(CUSTOM))])
    install()


def install() -> None:
    """Put the guard on this process; there is no way to take it off."""
    if not _standing:
        _standing.append(True)
        sys.addaudithook(_hear)


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _TO_ADDRESS:
        _refuse(event, arguments[1] if len(arguments) > 1 else None)
    elif event in _TO_NAME:
        _refuse(event, (arguments[0],))


def _refuse(event: str, address: object) -> None:
    record = os.environ.get(FILE)
    if record and not is_local(address):
        with Path(record).open("a", encoding="utf-8") as file:
            file.write(f"{event} {address!r} by {sys.argv[:1]}\n")
        raise SocketRefused(f"no test opens a socket to another machine: {event} {address!r}")


def is_local(address: object) -> bool:
    """Say whether *address* is of this machine: a path, nothing at all, or the loopback."""
    host = address[0] if isinstance(address, tuple) and address else None
    if not isinstance(host, str | bytes) or not host:
        return True
    return os.fsdecode(host).startswith(_OWN)
