"""The program's front: thin where a warm process answers, the whole program where there is none.

Nothing heavy is imported here: with a server of the store running, a hook, an MCP front or a search costs little more
than the start of Python.
"""

import os
import sys
from typing import Any

from recollect import __version__
from recollect.surfaces.serve.place import ask, hail

ALONE = "RECOLLECT_ALONE"
"""With this in the environment no server is asked."""
VALUED = frozenset({"--db", "--project", "--profile", "--model", "--reranker"})
"""The options that may stand before a verb and have a value behind them."""


def main() -> None:
    """Run the program."""
    words = sys.argv[1:]
    thin = {"mcp": serve_mcp, "hook": answer_hook}.get(verb_of(words))
    if thin is not None and "--help" not in words and "-h" not in words:
        thin(words)
    else:
        from recollect.surfaces.cli import main as alone  # noqa: PLC0415

        alone()


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


def store_of(words: list[str]) -> str:
    """Return the address of the store that *words* name, or the one in the settings."""
    named = option(words, "--db") or os.environ.get("RECOLLECT_DB")
    if named:
        return named
    from recollect.settings import read_settings  # noqa: PLC0415

    return read_settings().db


# --- MCP ------------------------------------------------------------------------------------


def serve_mcp(words: list[str]) -> None:
    """Hand standard input and output to the server of the store, or serve them here."""
    db, project = store_of(words), option(words, "--project") or os.environ.get("RECOLLECT_PROJECT")
    header: dict[str, object] = {"door": "mcp", "project": project}
    reached = None if os.environ.get(ALONE) else hail(db, header, version=__version__)
    if reached is None:
        from recollect.surfaces.serve.mcp_stdio import serve_alone  # noqa: PLC0415

        serve_alone(db, project=project)
        return
    from recollect.surfaces.serve.relay import relay  # noqa: PLC0415

    relay(reached)


# --- hooks ----------------------------------------------------------------------------------


def answer_hook(words: list[str]) -> None:
    """Answer the event on standard input, or in the last word; whatever goes wrong, an agent is not held up."""
    try:
        told = bool(words) and words[-1].startswith("{")  # as Codex tells a program that it notifies
        output = _hooked(words, words[-1] if told else sys.stdin.buffer.read().decode("utf-8", "replace"))
    except Exception as error:  # noqa: BLE001  (silence is the answer of a hook that cannot do its work)
        if "--debug" in words:
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return
    if output:
        sys.stdout.buffer.write(f"{output}\n".encode("utf-8", "backslashreplace"))


def _hooked(words: list[str], event: str) -> str:
    db, project = store_of(words), option(words, "--project") or os.environ.get("RECOLLECT_PROJECT")
    header: dict[str, object] = {"door": "hook", "event": event, "project": project}
    told: dict[str, Any] | None = None if os.environ.get(ALONE) else ask(db, header, version=__version__)
    if told is not None:
        return str(told.get("output") or "")
    from recollect.recollection import open as open_recollection  # noqa: PLC0415
    from recollect.surfaces.hook import answer, keep_later, read_event  # noqa: PLC0415

    with open_recollection(db, project=project) as opened:
        hooked = answer(read_event(event), opened)
    keep_later(hooked, db=db)
    return hooked.output
