"""Read documents in a child process with limits of memory and time: a bomb ends the child, never the caller.

One idle child is reused for the next file. The request is a line of JSON, the reply one line for each part.
"""

import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Lock, Timer
from typing import Final

import msgspec
from msgspec import Struct

from recollect.errors import FileError
from recollect.files import neutral_folder, python_command
from recollect.remember.find_files import shown
from recollect.remember.formats.record import Origin, Parsed
from recollect.settings import child_environment

MAX_MEMORY_BYTES: Final = 1024**3
"""The address space of a child, its libraries included."""
MAX_CPU_SECONDS: Final = 180
"""The processor time that one document may take; a child that waits for its caller uses none."""
REPLY_TIMEOUT_SECONDS: Final = 600.0
"""How long a caller waits for the next part: the only limit where the system has none for processes."""
MAX_REPLY_BYTES: Final = 512 * 1024**2

_CHILD: Final = "recollect.remember.formats.isolated_child"
idle_children: Final[list["subprocess.Popen[bytes]"]] = []
_lock: Final = Lock()


class Request(Struct, frozen=True, kw_only=True):
    """A document to read."""

    format: str
    path: str
    origin: Origin


class Reply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of the document, or an error and its hint; neither at the end."""

    part: Parsed | None = None
    error: tuple[str, str] | None = None


def read_isolated(form: str, path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield the parts of the document at *path*, read as *form* by a child process; raise FileError where it fails."""
    child = _child()
    whole = False
    try:
        _send(child, Request(format=form, path=str(path.absolute()), origin=origin))
        while (reply := _reply(child, path)) is not None:
            yield reply
        whole = True
    except FileError:
        whole = child.poll() is None
        raise
    finally:
        _put_back(child) if whole else _end(child)


def end_idle() -> None:
    """End the idle children; the next document starts a new one."""
    with _lock:
        children, idle_children[:] = list(idle_children), []
    for child in children:
        _end(child)


# --- the child ------------------------------------------------------------------------------


def _child() -> "subprocess.Popen[bytes]":
    with _lock:
        while idle_children:
            child = idle_children.pop()
            if child.poll() is None:
                return child
            _end(child)
    return subprocess.Popen(  # noqa: S603
        python_command(_CHILD),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=neutral_folder(),
        env=child_environment(),
        start_new_session=True,
    )


def _put_back(child: "subprocess.Popen[bytes]") -> None:
    with _lock:
        idle_children.append(child)


def _end(child: "subprocess.Popen[bytes]") -> None:
    child.kill()
    for pipe in (child.stdin, child.stdout):
        with suppress(OSError):  # what was not sent yet is not wanted any more
            pipe.close()  # type: ignore[union-attr]
    child.wait()


def _send(child: "subprocess.Popen[bytes]", request: Request) -> None:
    with suppress(OSError):  # a child that is gone is noticed by its reply
        child.stdin.write(msgspec.json.encode(request) + b"\n")  # type: ignore[union-attr]
        child.stdin.flush()  # type: ignore[union-attr]


def _reply(child: "subprocess.Popen[bytes]", path: Path) -> Parsed | None:
    """Return the next part; None at the end. Raise what the child reports, or FileError where it died."""
    watchdog = Timer(REPLY_TIMEOUT_SECONDS, child.kill)
    watchdog.daemon = True
    watchdog.start()
    try:
        line = child.stdout.readline(MAX_REPLY_BYTES)  # type: ignore[union-attr]
    finally:
        watchdog.cancel()
    if not line.endswith(b"\n"):
        child.kill()
        child.wait()
        raise _died(path)
    reply = msgspec.json.decode(line, type=Reply)
    if reply.error is not None:
        message, hint = reply.error
        raise FileError(message, hint=hint)
    return reply.part


def _died(path: Path) -> FileError:
    limits = f"more than {MAX_MEMORY_BYTES // 1024**2:,} MB of memory or {MAX_CPU_SECONDS} s"
    return FileError(
        f"{shown(path)} cannot be read: it takes {limits}, or crashes its reader",
        hint="open it in its program and save it again, or save its text alone",
    )
