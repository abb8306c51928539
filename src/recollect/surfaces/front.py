"""The program's front: thin where a warm process answers, the whole program where there is none.

Nothing heavy is imported here: with a server of the store running, a search, a hook or an MCP front costs little more
than the start of Python.
"""

import gc
import os
import sys

from recollect.surfaces.serve.place import hail, is_accepted, parts_of
from recollect.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

    from recollect.surfaces.serve.place import Connection

SENT = (
    "HOME",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "XDG_DATA_HOME",
    "XDG_CONFIG_HOME",
    "TZ",
    "NO_COLOR",
    "TERM",
    "EDITOR",
    "VISUAL",
)
"""The variables that an answer may depend on, beside our own."""
NEVER = ("serve", "daemon", "install", "uninstall", "completion", "demo", "watch", "token", "--version", "--help", "-h")
"""What is never left to a server, nor a reason to start one."""
ONE_THREAD = frozenset({"search", "inject", "why", "related", "decisions", "changes", "how-it-works", "brief"})
"""What compares so little that the threads of the arithmetic take longer to start than they save."""
IDLE = "15m"
"""How long a server that a command started waits for another one."""
TROUBLE = 3
CHOICES = ("profile", "model", "reranker")
"""The options by which a store is opened; a server that was started by others is not asked."""
VALUED = frozenset({"--db", "--project", "--profile", "--model", "--reranker"})
"""The options that may stand before a verb and have a value behind them."""


def main() -> None:
    """Run the program."""
    words = sys.argv[1:]
    verb = verb_of(words)
    helps = "--help" in words or "-h" in words
    if verb == "mcp" and not helps:
        serve_mcp(words)
    elif verb == "hook" and not helps:
        answer_hook(words)
        _end(0)
    elif helps or not verb or verb in NEVER or "_RECOLLECT_COMPLETE" in os.environ or not _answered(words):
        if verb in ONE_THREAD:
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        _do_alone()


def _do_alone() -> None:
    """Run the whole program; what is loaded is no garbage, so none is looked for meanwhile, nor in the end."""
    gc.disable()
    try:
        from recollect.surfaces.cli import main as alone  # noqa: PLC0415

        alone()
        code: object = 0
    except SystemExit as left:
        code = left.code
    _end(code)


def _end(code: object) -> None:
    """Leave with *code*, at once where nobody waits for the end of this process."""
    gc.freeze()
    if isinstance(code, int) and _is_last():
        _leave(code)
    if code:
        sys.exit(code)  # type: ignore[arg-type]


def _is_last() -> bool:
    """Tell whether nobody waits for the end of this process but whoever started it: no thread, no exit function."""
    import atexit  # noqa: PLC0415
    import threading  # noqa: PLC0415

    return threading.active_count() == 1 and not atexit._ncallbacks()  # noqa: SLF001


def verb_of(words: list[str]) -> str:
    """Return the verb among *words*, behind options that stand before it; blank where there is none."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in VALUED else 1
    return words[at] if at < len(words) else ""


def option(words: list[str], name: str) -> str | None:
    """Return the value of the option *name* among *words*, written apart or with a sign."""
    for place, word in enumerate(words):
        if word == name and place + 1 < len(words):
            return words[place + 1]
        if word.startswith(f"{name}="):
            return word[len(name) + 1 :]
    return None


# --- which server ---------------------------------------------------------------------------


def chosen(words: list[str]) -> tuple[str, str]:
    """Return the address of the store that *words* name, and whether a server of it is used: use, off or auto."""
    db = option(words, "--db") or os.environ.get("RECOLLECT_DB") or ""
    daemon = os.environ.get("RECOLLECT_DAEMON") or ""
    if db and daemon:
        return db, daemon
    if not _settings_say() and sys.platform.startswith("linux"):
        return db or _usual_store(), daemon or "use"
    from recollect.settings import read_settings  # noqa: PLC0415  (a file that says where, or another system)

    settings = read_settings(db=db or None)
    return settings.db, settings.daemon


def _settings_say() -> bool:
    """Tell whether the user's settings file may say where the store is, or whether to use a server."""
    named = os.environ.get("RECOLLECT_CONFIG")
    if named is None:
        home = os.environ.get("XDG_CONFIG_HOME") or os.environ.get("APPDATA") or "~/.config"
        named = f"{home}/recollect/settings.toml"
    try:
        with open(os.path.expanduser(named), encoding="utf-8", errors="replace") as file:  # noqa: PTH111, PTH123
            text = file.read()
    except OSError:
        return False
    return "db" in text or "daemon" in text


def _usual_store() -> str:
    """Return where the store is when nobody says, as `default_db` has it on Linux."""
    data = os.environ.get("XDG_DATA_HOME", "").strip() or os.path.expanduser("~/.local/share")  # noqa: PTH111
    return f"{data}/recollect/recollect.db"


def _reached(db: str, daemon: str, header: dict[str, object]) -> "Connection | None":
    """Return a connection to the server of *db* that was told *header*; None where none is to be used."""
    if daemon not in ("use", "auto") or db == ":memory:":
        return None
    reached = hail(db, header, version=__version__)
    if reached is None and daemon == "auto":
        _start(db)
    return reached


def _start(db: str) -> None:
    """Start a server of the store for the commands to come; for this one nobody waits."""
    if not os.path.isfile(os.path.expanduser(db)):  # noqa: PTH111, PTH113
        return  # what is not there is not made by looking
    from recollect.surfaces.children import start_child  # noqa: PLC0415  (the whole program is loaded next anyway)

    start_child("recollect", "serve", "--no-http", "--idle", IDLE, db=db)


# --- commands -------------------------------------------------------------------------------


def _answered(words: list[str]) -> bool:
    """Let the server of the store answer *words*, if there is one; return whether it did."""
    try:
        db, daemon = chosen(words)
        folder = os.getcwd()  # noqa: PTH109
    except Exception:  # noqa: BLE001  (whatever is wrong with the settings, the whole program says it)
        return False
    header: dict[str, object] = {
        "door": "cli",
        "words": words,
        "cwd": folder,
        "environment": _variables(),
        "terminal": [name for name in ("stdin", "stdout", "stderr") if _is_terminal(getattr(sys, name))],
        "columns": _columns(),
    }
    reached = _reached(db, daemon, header)
    if reached is None:
        return False
    try:
        return _passed_on(reached)
    except KeyboardInterrupt:
        sys.stderr.write("stopped: what was changed is whole\n")
        sys.exit(130)
    finally:
        reached.close()


def _passed_on(reached: "Connection") -> bool:
    """Write what the server answers to where it belongs, and leave with its exit code; False where it will not."""
    begun = False
    for kind, content in parts_of(reached):
        if kind == "c":
            _leave(int(content))
        if kind == "a":
            return False
        begun = begun or kind in "oew"
        if kind == "i":
            if not _given(reached):
                return False
        elif kind in "oe":
            _write(sys.stdout if kind == "o" else sys.stderr, content)
    if not begun:
        return False  # it ended before it did anything
    sys.stdout.flush()
    sys.stderr.write("error: the server of this store ended before its answer did (look whether it was done)\n")
    sys.exit(TROUBLE)


def _given(reached: "Connection") -> bool:
    """Send all of standard input, and keep it for the case that the whole program is needed after all."""
    from io import BytesIO, TextIOWrapper  # noqa: PLC0415  (few read it)

    text = sys.stdin.buffer.read()
    sys.stdin = TextIOWrapper(BytesIO(text))
    try:
        reached.sendall(len(text).to_bytes(8, "big") + text)
    except OSError:
        return False
    return True


def _write(stream: "TextIO", content: bytes) -> None:
    """Write as the whole program does; end quietly when nobody reads it any more."""
    stream.reconfigure(errors="backslashreplace")  # type: ignore[attr-defined]
    try:
        stream.write(content.decode("utf-8", "surrogatepass"))
        stream.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        sys.exit(0)


def _leave(code: int) -> None:
    """End at once: all is written, and there is nothing to take down."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _variables() -> dict[str, str]:
    """Return the variables of this process that an answer may depend on."""
    return {name: value for name, value in os.environ.items() if name in SENT or name.startswith("RECOLLECT_")}


def _is_terminal(stream: "TextIO | None") -> bool:
    return stream is not None and stream.isatty()


def _columns() -> int:
    """Return how wide the terminal is, as `shutil.get_terminal_size` has it."""
    try:
        named = int(os.environ["COLUMNS"])
    except (KeyError, ValueError):
        named = 0
    if named > 0:
        return named
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or 80  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):
        return 80


# --- MCP ------------------------------------------------------------------------------------


def serve_mcp(words: list[str]) -> None:
    """Hand standard input and output to the server of the store, or serve them here."""
    try:
        db, daemon = chosen(words)
        project, choices = _project(words), _choices(words)
        reached = _reached(db, daemon, {"door": "mcp", "project": project, "choices": choices})
        if reached is not None and not is_accepted(reached):
            reached = None
        if reached is None and choices:
            _check(choices)
    except Exception as error:  # noqa: BLE001  (whatever is wrong with the settings is told in one line)
        from recollect.surfaces.cli import complain  # noqa: PLC0415

        complain(error)
    if reached is None:
        from recollect.surfaces.serve.mcp_stdio import serve_alone  # noqa: PLC0415

        serve_alone(db, project=project, choices=choices)
        return
    from recollect.surfaces.serve.relay import relay  # noqa: PLC0415

    relay(reached)


def _project(words: list[str]) -> str | None:
    return option(words, "--project") or os.environ.get("RECOLLECT_PROJECT")


def _choices(words: list[str]) -> dict[str, str]:
    """Return the options by which the store is to be opened, as they read from any folder."""
    named = {name: option(words, f"--{name}") or os.environ.get(f"RECOLLECT_{name.upper()}") for name in CHOICES}
    return {name: _from_anywhere(value) for name, value in named.items() if value}


def _from_anywhere(value: str) -> str:
    """Return a name as it is and a path as an absolute one, as `absolute_path` has it."""
    if "://" in value or not ("/" in value or os.sep in value or value.endswith(".toml")):
        return value
    return os.path.abspath(os.path.expanduser(value))  # noqa: PTH100, PTH111


def _check(choices: dict[str, str]) -> None:
    """Refuse a profile or a model that nobody knows before the client is greeted."""
    from recollect.profile import load_profile  # noqa: PLC0415
    from recollect.surfaces.cli import require_model  # noqa: PLC0415

    if "profile" in choices:
        load_profile(choices["profile"])
    require_model(choices.get("model"))


# --- hooks ----------------------------------------------------------------------------------


def answer_hook(words: list[str]) -> None:
    """Answer the event on standard input, or in the last word; whatever goes wrong, an agent is not held up."""
    try:
        told = bool(words) and words[-1].startswith("{")  # as Codex tells a program that it notifies
        output = _hooked(words, words[-1] if told else sys.stdin.buffer.read().decode("utf-8", "replace"))
    except Exception as error:  # noqa: BLE001  (silence is the answer of a hook that cannot do its work)
        if "--debug" in words:
            _report(f"{type(error).__name__}: {error}")
        return
    if output:
        sys.stdout.buffer.write(f"{output}\n".encode("utf-8", "backslashreplace"))


def _hooked(words: list[str], event: str) -> str:
    db, daemon = chosen(words)
    project, choices = _project(words), _choices(words)
    debug = "--debug" in words  # a server would keep its reasons to itself
    header: dict[str, object] = {"door": "hook", "event": event, "project": project, "choices": choices}
    reached = _reached(db, "off" if debug else daemon, header)
    told = {} if reached is None else dict(parts_of(reached))
    if "c" in told:
        return told.get("o", b"").decode("utf-8", "surrogatepass")
    gc.disable()
    from recollect.recollection import open as open_recollection  # noqa: PLC0415
    from recollect.surfaces.cli import loaded  # noqa: PLC0415
    from recollect.surfaces.hook import answer, ignore, keep_later, read_event  # noqa: PLC0415

    loaded()
    report = _report if debug else ignore
    with open_recollection(db, project=project, **choices) as opened:  # type: ignore[arg-type]
        hooked = answer(read_event(event, report), opened, report)
    keep_later(hooked, db=db)
    return hooked.output


def _report(reason: str) -> None:
    sys.stderr.write(f"{reason}\n")
