"""Whom a command is answered to: its streams, the width of its terminal, its folder, and who opens the store for it.

That is this process, unless a server answers a command of another one: then it is what that one said of itself, for
the thread that works for it and for no other.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from recollect.render.text import FOLDER

if TYPE_CHECKING:
    from recollect.operations.answer import Operation
    from recollect.recollection import Recollection


class Lent(Struct, frozen=True, kw_only=True):
    """The store of a server, as commands of others have it."""

    admit: "Callable[[Operation, Mapping[str, Any], Mapping[str, Any]], None]"
    """Told what is asked before anything is done; leaves by an exception of its own where it is not for a server."""
    open: "Callable[[Mapping[str, Any]], AbstractContextManager[Recollection]]"
    """Gives the store as the global options choose it; it stays open."""


class Session(Struct, frozen=True, kw_only=True):
    """Whoever waits for the answer of a command."""

    stdin: Any
    stdout: Any
    stderr: Any
    columns: int
    folder: str
    """The folder that people look from; blank where it is gone."""
    lent: Lent | None = None


_CURRENT: ContextVar[Session | None] = ContextVar("session", default=None)


def stdin() -> Any:
    """Return where a command reads from."""
    given = _CURRENT.get()
    return sys.stdin if given is None else given.stdin


def stdout() -> Any:
    """Return where a command writes its answer."""
    given = _CURRENT.get()
    return sys.stdout if given is None else given.stdout


def stderr() -> Any:
    """Return where a command writes what is no answer."""
    given = _CURRENT.get()
    return sys.stderr if given is None else given.stderr


def columns() -> int:
    """Return how wide the terminal is."""
    given = _CURRENT.get()
    if given is not None:
        return given.columns
    from shutil import get_terminal_size  # noqa: PLC0415  (a pipe has no width)

    return get_terminal_size().columns


def lent() -> Lent | None:
    """Return the store of the server that answers; None where a process works for itself."""
    given = _CURRENT.get()
    return None if given is None else given.lent


def admit(operation: "Operation", given: Mapping[str, Any], chosen: Mapping[str, Any]) -> None:
    """Let a server that answers say whether *operation* is for it; a process that works for itself does all."""
    known = lent()
    if known is not None:
        known.admit(operation, given, chosen)


@contextmanager
def working_for(session: Session) -> Iterator[None]:
    """Answer to *session* in this thread, until the end of the block."""
    before, folder = _CURRENT.set(session), FOLDER.set(session.folder)
    try:
        yield
    finally:
        _CURRENT.reset(before)
        FOLDER.reset(folder)
