"""Commands of other processes, answered by the warm one: the same code, the same bytes, without the start.

What names files of the caller, asks questions, shows progress, or is set otherwise than the server is left to the
caller, before anything is done.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from recollect.operations import OPERATIONS
from recollect.operations.answer import Operation
from recollect.profile import BUILT_IN
from recollect.recollection import Recollection
from recollect.render.terminal import VisibleStream
from recollect.settings import Settings, environment_given, environment_of, read_settings
from recollect.surfaces import session
from recollect.surfaces.cli import run
from recollect.surfaces.editing import is_unchanged
from recollect.surfaces.serve.place import part
from recollect.workspace import lend

OWN: Final = ("db", "project", "profile", "daemon")
"""Settings that each command may have of its own."""
SAME: Final = ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "TZ")
"""Variables in which the server and whoever asks must be alike."""
FOLDERS: Final = ("model", "models", "reranker")
"""Settings that may be paths; those of the caller begin in the caller's folder."""
GLOBAL: Final = ("--db", "--project", "--profile", "--model", "--reranker")
TELLS_AT_ONCE: Final = frozenset({"add", "capture", "export"})
"""Verbs that could show progress and have none to show to a terminal."""
BY_ADDRESS: Final = frozenset({"doctor", "export", "purge"})
"""Verbs that look at the files of the store by its address."""
GATHERED: Final = 65_536
"""How many characters are gathered before they are sent."""


class Alone(BaseException):
    """Leave a command to whoever asked; not an error, so that nobody takes it for one."""


class Wire(Protocol):
    """The way back to whoever asked."""

    def send(self, parts: bytes) -> None:
        """Send parts of the answer and wait until they are gone."""
        ...

    def read(self) -> bytes:
        """Return all of the caller's standard input."""
        ...


class SentCommand(Struct, frozen=True, kw_only=True):
    """A command as its front tells it."""

    words: Sequence[str]
    folder: str
    variables: Mapping[str, str]
    columns: int
    screens: frozenset[str]
    """Which of the three streams are terminals."""


def read_command(header: Mapping[str, Any]) -> SentCommand:
    """Return the command in *header*."""
    variables = {str(name): str(value) for name, value in dict(header["environment"]).items()}
    return SentCommand(
        words=[str(word) for word in header["words"]],
        folder=str(header["cwd"]),
        variables=variables,
        columns=int(header["columns"]),
        screens=frozenset(map(str, header["terminal"])),
    )


def answer_command(command: SentCommand, db: Recollection, settings: Settings, wire: Wire) -> None:
    """Answer *command* from *db*, which was opened by *settings*; send what it writes, then its exit code."""
    out = _Gathered(wire)
    if not _is_served(command.words) or not _alike(command.variables):
        wire.send(part("a"))
        return
    try:
        with environment_given(command.variables), session.working_for(_session(command, db, settings, wire, out)):
            code = _code(command.words)
    except Alone:
        wire.send(part("a"))
        return
    out.send(part("c", str(code).encode()))


def _code(words: Sequence[str]) -> int:
    try:
        run(list(words))
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else int(left.code is not None)
    return 0


def _session(
    command: SentCommand, db: Recollection, settings: Settings, wire: Wire, out: "_Gathered"
) -> session.Session:
    lent = _Lent(command, db, settings, tell=lambda: wire.send(part("w")))
    return session.Session(
        stdin=_Input(wire, screen="stdin" in command.screens),
        stdout=VisibleStream(_Output(out, "o", screen="stdout" in command.screens)),  # type: ignore[arg-type]
        stderr=VisibleStream(_Output(out, "e", screen="stderr" in command.screens)),  # type: ignore[arg-type]
        columns=command.columns,
        folder=command.folder,
        lent=session.Lent(admit=lent.admit, open=lent.open),
    )


# --- what a server answers ------------------------------------------------------------------


def _is_served(words: Sequence[str]) -> bool:
    """Tell whether *words* begin with a verb that a server offers; help is for whoever has the terminal."""
    verb = _verb(words)
    return verb in OPERATIONS and OPERATIONS[verb].rights.is_offered and not {"--help", "-h"} & set(words)


def _verb(words: Sequence[str]) -> str:
    """Return the verb after the global options; blank where something else stands there."""
    at = 0
    while at < len(words):
        word = words[at]
        if not word.startswith("-"):
            return word
        if word not in GLOBAL and word != "--json" and word.partition("=")[0] not in GLOBAL:
            return ""
        at += 2 if word in GLOBAL else 1
    return ""


def _alike(variables: Mapping[str, str]) -> bool:
    return environment_of(*SAME) == {name: variables[name] for name in SAME if variables.get(name)}


class _Lent:
    """The server's store, for one command."""

    def __init__(self, command: SentCommand, db: Recollection, settings: Settings, *, tell: Callable[[], None]) -> None:
        self._command, self._db, self._settings, self._tell = command, db, settings, tell
        self._writes = False

    def admit(self, operation: Operation, given: Mapping[str, Any], chosen: Mapping[str, Any]) -> None:
        """Leave the command to its caller where a server cannot do the same."""
        theirs = self._chosen(chosen)
        if (
            not self._is_ours(theirs)
            or any(given.get(each.name) for each in operation.parameters if each.hints.only == "machine")
            or self._asks(operation, given)
            or (operation.traits.slow and operation.name not in TELLS_AT_ONCE and "stderr" in self._command.screens)
            or (operation.name in BY_ADDRESS and _is_relative(theirs.db))
        ):
            raise Alone
        self._writes = operation.rights.writes(given)

    def open(self, chosen: Mapping[str, Any]) -> AbstractContextManager[Recollection]:
        """Return the store as *chosen*; tell before something is written, for then nobody may do it again."""
        if self._writes:
            self._tell()
        return lend(self._db, self._chosen(chosen))

    def _chosen(self, chosen: Mapping[str, Any]) -> Settings:
        return read_settings(**{name.lstrip("-"): chosen[name.lstrip("-")] for name in GLOBAL})

    def _is_ours(self, theirs: Settings) -> bool:
        """Tell whether *theirs* are the settings of the server, and name its store and a profile that is built in."""
        blank = dict.fromkeys(OWN, "")
        paths = (getattr(theirs, name) for name in FOLDERS)
        return (
            replace(theirs, **blank) == replace(self._settings, **blank)
            and theirs.profile in BUILT_IN
            and not any("/" in each and _is_relative(each) for each in paths if "://" not in each)
            and self._is_same_store(theirs.db)
        )

    def _is_same_store(self, db: str) -> bool:
        if "://" in db:
            return db == self._db.address
        path = os.path.join(self._command.folder, os.path.expanduser(db))  # noqa: PTH111, PTH118  (not this folder)
        try:
            return os.path.samefile(path, self._db.address)  # noqa: PTH121
        except OSError:
            return False

    def _asks(self, operation: Operation, given: Mapping[str, Any]) -> bool:
        """Tell whether the terminal would be asked: for consent, or for words in an editor."""
        screens = self._command.screens
        if operation.name == "edit" and {"stdin", "stdout"} <= screens:
            return is_unchanged(given)
        return {"stdin", "stderr"} <= screens and not given.get("yes", True) and not given.get("dry_run")


def _is_relative(path: str) -> bool:
    return not path.startswith("~") and not os.path.isabs(path)  # noqa: PTH117  (as the caller wrote it)


# --- streams --------------------------------------------------------------------------------


class _Gathered:
    """What a command writes, in its order, sent in large parts."""

    def __init__(self, wire: Wire) -> None:
        self._wire, self._kind = wire, ""
        self._texts: list[str] = []
        self._size = 0

    def write(self, kind: str, text: str) -> None:
        """Take *text* for the stream *kind*."""
        if kind != self._kind or self._size > GATHERED:
            self.send()
            self._kind = kind
        self._texts.append(text)
        self._size += len(text)

    def send(self, last: bytes = b"") -> None:
        """Send what waits, and the *last* part with it."""
        text = "".join(self._texts).encode("utf-8", "surrogatepass")
        self._texts, self._size = [], 0
        if sent := (part(self._kind, text) if text else b"") + last:
            self._wire.send(sent)


class _Output:
    """A stream of the caller that is written to."""

    def __init__(self, gathered: _Gathered, kind: str, *, screen: bool) -> None:
        self._gathered, self._kind, self._screen = gathered, kind, screen

    def write(self, text: str) -> int:
        """Write *text*."""
        self._gathered.write(self._kind, text)
        return len(text)

    def flush(self) -> None:
        """Leave it to the gathering."""

    def isatty(self) -> bool:
        """Tell whether the caller has a terminal there."""
        return self._screen


class _Input:
    """The caller's standard input, asked for when it is read."""

    def __init__(self, wire: Wire, *, screen: bool) -> None:
        self._wire, self._screen = wire, screen

    @property
    def buffer(self) -> "_Input":
        """Its bytes, which is all there is."""
        return self

    def read(self) -> bytes:
        """Return all of it."""
        return self._wire.read()

    def isatty(self) -> bool:
        """Tell whether the caller has a terminal there."""
        return self._screen
