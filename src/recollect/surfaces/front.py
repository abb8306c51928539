"""Where the program begins. A hook or `recollect mcp` with a running server ends here, without loading the rest.

Nothing heavy is imported here: a hook costs little more than the start of Python.
"""

import gc
import os
import sys

from recollect.surfaces.client import (
    FOLDER_HEADER,
    PROJECT_HEADER,
    READS_HEADER,
    SESSION_HEADER,
    ConnectionLost,
    Exchange,
    ServerAddress,
    encoded,
    find_server,
    send,
    settings_header,
)
from recollect.version import __version__

ONE_THREAD = frozenset({"search", "inject", "why", "related", "decisions", "changes", "how-it-works", "brief"})
"""Verbs that compare so little that starting the threads of the arithmetic takes longer than they save."""
START_SERVER = "--start-server"
"""The option of a hook that starts a server where there is none."""
IDLE = "15m"
"""How long a server that a command started waits for the next command."""
OK = 200
ALL = "all"
"""The scope that reads every project."""
CHOICES = ("profile", "model", "reranker")
"""Options that say how to open a store; a server that opened it otherwise is not asked."""
VALUED = frozenset({"--db", "--project", "--scope", "--profile", "--model", "--reranker"})
"""Options that may stand before a verb and take a value."""


def main() -> None:
    """Run the program."""
    words = sys.argv[1:]
    verb = verb_of(words)
    helps = "--help" in words or "-h" in words
    if verb == "mcp" and not helps:
        serve_mcp(words)
    elif verb == "hook" and not helps and option(words, "--last") is None:
        answer_hook(words)
        _end(0)
    else:
        if verb in ONE_THREAD:
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        _run_command()


def _run_command() -> None:
    """Run the command line with the garbage collector off: what is imported lives until exit."""
    gc.disable()
    try:
        from recollect.surfaces.cli import main as run  # noqa: PLC0415

        run()
        code: object = 0
    except SystemExit as left:
        code = left.code
    _end(code)


def _end(code: object) -> None:
    """Exit with *code*; skip the teardown of the interpreter if no thread and no exit function waits for it."""
    import atexit  # noqa: PLC0415
    import threading  # noqa: PLC0415

    gc.freeze()
    if isinstance(code, int) and threading.active_count() == 1 and not atexit._ncallbacks():  # noqa: SLF001
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    if code:
        sys.exit(code)  # type: ignore[arg-type]


def verb_of(words: list[str]) -> str:
    """Return the verb among *words*, after the options before it; blank if there is none."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in VALUED else 1
    return words[at] if at < len(words) else ""


def option(words: list[str], name: str) -> str | None:
    """Return the value of the option *name* among *words*, after a space or a sign."""
    for place, word in enumerate(words):
        if word == name and place + 1 < len(words):
            return words[place + 1]
        if word.startswith(f"{name}="):
            return word[len(name) + 1 :]
    return None


# --- which server ---------------------------------------------------------------------------


def chosen(words: list[str]) -> tuple[str, str]:
    """Return the address of the store that *words* name, and whether to use its server: use, off or auto."""
    db = option(words, "--db") or os.environ.get("RECOLLECT_DB") or ""
    daemon = os.environ.get("RECOLLECT_DAEMON") or ""
    if db and daemon:
        return db, daemon
    if not _settings_file_matters() and sys.platform.startswith("linux"):
        return db or _usual_store(), daemon or "use"
    from recollect.settings import read_settings  # noqa: PLC0415  (a settings file, or another system)

    settings = read_settings(db=db or None)
    return settings.db, settings.daemon


def _settings_file_matters() -> bool:
    """Return whether the user's settings file may name the store, or say whether to use a server."""
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
    """Return where the store is if nothing says otherwise, as `default_db` does on Linux."""
    data = os.environ.get("XDG_DATA_HOME", "").strip() or os.path.expanduser("~/.local/share")  # noqa: PTH111
    return f"{data}/recollect/recollect.db"


def running_server(db: str, daemon: str) -> ServerAddress | None:
    """Return the address of the server of *db* if one is to be used; start one for the next command if it says auto."""
    if daemon not in ("use", "auto"):
        return None
    address = find_server(db, version=__version__)
    if address is None and daemon == "auto":
        start_server(db)
    return address


def start_server(db: str) -> None:
    """Start a server of *db*, if there is such a store; nobody waits for it."""
    if os.path.isfile(os.path.expanduser(db)):  # noqa: PTH111, PTH113
        from recollect.surfaces.children import start_child  # noqa: PLC0415  (few start one)

        start_child("recollect", "serve", "--no-http", "--idle", IDLE, db=db)


def _project(words: list[str]) -> str | None:
    return option(words, "--project") or os.environ.get("RECOLLECT_PROJECT")


def _choices(words: list[str]) -> dict[str, str]:
    """Return the options that say how to open the store, with absolute paths."""
    named = {name: option(words, f"--{name}") or os.environ.get(f"RECOLLECT_{name.upper()}") for name in CHOICES}
    return {name: _absolute(value) for name, value in named.items() if value}


def _absolute(value: str) -> str:
    """Return a name as it is, and a path as an absolute one, as `absolute_path` does."""
    if "://" in value or not ("/" in value or os.sep in value or value.endswith(".toml")):
        return value
    return os.path.abspath(os.path.expanduser(value))  # noqa: PTH100, PTH111


def _headers(choices: dict[str, str], project: str | None, reads: str) -> dict[str, str]:
    named = {PROJECT_HEADER: encoded(project)} if project else {}
    return settings_header(choices) | named | ({READS_HEADER: reads} if reads else {})


def _reads(words: list[str]) -> str:
    """Return "all" if the command reads every project, blank if it reads that of its folder."""
    return ALL if option(words, "--scope") == ALL else ""


# --- MCP ------------------------------------------------------------------------------------


def serve_mcp(words: list[str]) -> None:
    """Relay standard input and output to the server of the store, or serve MCP in this process."""
    try:
        db, daemon = chosen(words)
        project, choices = _project(words), _choices(words)
        folder = "" if project else _work_folder()
        session = f"mcp-{os.urandom(4).hex()}"
        headers = {**_headers(choices, project, _reads(words)), SESSION_HEADER: session, FOLDER_HEADER: encoded(folder)}
        address = running_server(db, daemon)
        attached = None if address is None else send(address, "GET", "/attached", headers=headers)
        if address is not None and attached is not None and _accepted(attached):
            from recollect.surfaces.mcp_relay import relay  # noqa: PLC0415

            relay(address, attached, headers)
            return
        from recollect.surfaces.serve.mcp_stdio import serve_alone  # noqa: PLC0415

        caller = {"project": project, "folder": folder, "mcp_session": session, "reads_all": bool(_reads(words))}
        serve_alone(db, caller=caller, choices=choices)
    except Exception as error:  # noqa: BLE001  (wrong settings are reported in one line)
        from recollect.surfaces.cli import complain  # noqa: PLC0415

        complain(error)


def _work_folder() -> str:
    """Return the folder that an agent works in; blank where a client started this program in no project's folder."""
    folder = os.getcwd()  # noqa: PTH109
    return "" if folder in (os.path.expanduser("~"), os.path.abspath(os.sep)) else folder  # noqa: PTH100, PTH111


def _accepted(attached: Exchange) -> bool:
    try:
        return attached.receive().status == OK
    except ConnectionLost:
        return False


# --- hooks ----------------------------------------------------------------------------------


def answer_hook(words: list[str]) -> None:
    """Answer the event on standard input, or in the last word; no failure may hold up an agent."""
    try:
        is_last = bool(words) and words[-1].startswith("{")  # as Codex calls a program that it notifies
        output = _hook_output(words, words[-1].encode("utf-8", "replace") if is_last else sys.stdin.buffer.read())
    except Exception as error:  # noqa: BLE001  (a hook that cannot do its work is silent)
        if "--debug" in words:
            _report(f"{type(error).__name__}: {error}")
        return
    if output:
        sys.stdout.buffer.write(output + b"\n")
        sys.stdout.buffer.flush()


def _hook_output(words: list[str], event: bytes) -> bytes:
    db, daemon = chosen(words)
    daemon = "auto" if daemon == "use" and START_SERVER in words else daemon
    project, choices = _project(words), _choices(words)
    debug = "--debug" in words  # a server would keep its reasons to itself
    address = None if debug else running_server(db, daemon)
    headers = _headers(choices, project, _reads(words))
    sent = None if address is None else send(address, "POST", "/hook", body=event, headers=headers)
    output = None if sent is None else _output(sent)
    if output is not None:
        return output
    if daemon == "auto" and not debug:
        if address is not None:
            start_server(db)  # the one that wrote this address has ended
        choices["model"] = "none"  # words alone answer at once; the server has the model for the next prompt
    gc.disable()
    from recollect.recollection import open as open_recollection  # noqa: PLC0415
    from recollect.surfaces.cli import loaded  # noqa: PLC0415
    from recollect.surfaces.hook import answer, ignore, keep_later, read_event  # noqa: PLC0415

    loaded()
    report = _report if debug else ignore
    with open_recollection(db, project=project, **choices) as opened:  # type: ignore[arg-type]
        hooked = answer(
            read_event(event.decode("utf-8", "replace"), report), opened, report, reads_all=bool(_reads(words))
        )
    keep_later(hooked, db=db)
    return hooked.output.encode("utf-8", "backslashreplace")


def _output(sent: Exchange) -> bytes | None:
    """Return what a hook prints; None if the server cannot say, because it ended or opened the store otherwise."""
    with sent:
        try:
            return sent.body() if sent.receive().status == OK else None
        except ConnectionLost:
            return None


def _report(reason: str) -> None:
    sys.stderr.write(f"{reason}\n")
