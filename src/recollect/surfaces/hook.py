"""Hooks of coding agents: what a prompt should be told goes in, what a session said is kept.

Claude Code, Codex, VS Code and Qwen send the same events in the same form; Gemini has other names for them, and older
Codex tells the end of a turn in a form of its own. An event that is not known, or cannot be read, is answered by
silence: a hook must never stand in an agent's way.
"""

import json
from collections.abc import Callable, Mapping
from itertools import islice
from os import SEEK_END
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from recollect.errors import RecollectError
from recollect.recollection import Recollection
from recollect.surfaces.keeping import begin

CHARACTERS: Final = 10_000
"""How many characters of context agents take."""
BUDGET: Final = 500
"""How many tokens a prompt is told."""
RECENT_TURNS: Final = 4
"""How many of the last turns a prompt is read with."""
RECENT_BYTES: Final = 65_536
"""How much of the end of a transcript is read for them."""
MACHINE_MADE: Final = frozenset({"system", "loop_wakeup", "schedule_wakeup", "poll_event"})
"""Sources of prompts that no person wrote."""
NAMES: Final[Mapping[str, str]] = {"BeforeAgent": "UserPromptSubmit", "AfterAgent": "Stop", "PreCompress": "PreCompact"}
"""What Gemini calls the events of the others."""
NOTIFIED: Final = "agent-turn-complete"
"""What Codex calls the end of a turn to a program that is only notified."""
STARTS: Final = "SessionStart"
ASKS: Final = "UserPromptSubmit"
ENDS: Final = frozenset({"Stop", "SessionEnd", "PreCompact"})
KNOWN: Final = ENDS | {STARTS, ASKS}
DEFAULT: Final = "default"
"""The project of what belongs to no folder."""


class Hooked(Struct, frozen=True, kw_only=True):
    """What a hook does: the line it prints, and the transcript to import, into a project or into that of a folder."""

    output: str = ""
    transcript: Path | None = None
    project: str | None = None
    folder: str | None = None


Report = Callable[[str], object]
"""Takes the reason why a hook stays silent."""


def ignore(_: str) -> None:
    """Take a reason and say nothing: nobody debugs."""


def read_event(text: str, report: Report = ignore) -> dict[str, Any]:
    """Return the event in *text*; an empty one where there is none."""
    try:
        event = json.loads(text)
    except (ValueError, RecursionError) as error:
        report(f"the event is not JSON: {error}")
        return {}
    if not isinstance(event, dict):
        report("the event is not a JSON object")
        return {}
    return _notified(event) if event.get("type") == NOTIFIED else event


def _notified(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the `notify` program of Codex is told, as the event that it is."""
    return {
        "hook_event_name": "Stop",
        "session_id": event.get("thread-id"),
        "cwd": event.get("cwd"),
        "last_assistant_message": event.get("last-assistant-message"),
    }


def answer(event: Mapping[str, Any], db: Recollection, report: Report = ignore, *, reads_all: bool = False) -> Hooked:
    """Return what to do about *event*; *report* takes the reason where that is nothing."""
    name = str(event.get("hook_event_name") or "")
    kind = NAMES.get(name, name)
    if kind not in KNOWN:
        known = ", ".join(sorted(KNOWN | NAMES.keys()))
        report(f"hook_event_name is {name!r}, which is not answered (known: {known})")
        return Hooked()
    _report_folder(event, report)
    if kind == STARTS:
        return _told(name, lambda: _brief(event, _reader(event, db, reads_all=reads_all)), report)
    if kind == ASKS and event.get("source") not in MACHINE_MADE:
        return _told(name, lambda: _inject(event, _reader(event, db, reads_all=reads_all), report), report)
    if kind in ENDS and not event.get("stop_hook_active"):
        return _kept(event, db, report)
    report(f"nothing to do: {'no person wrote this prompt' if kind == ASKS else 'the hook runs already'}")
    return Hooked()


def _report_folder(event: Mapping[str, Any], report: Report) -> None:
    folder = event.get("cwd")
    if not isinstance(folder, str) or not folder:
        report(f"the event names no folder (cwd), so its project is {DEFAULT!r}")
    elif not Path(folder).is_dir():
        report(f"there is no folder {folder} (cwd); its name is taken for the project")


def _told(name: str, tell: Callable[[], str], report: Report) -> Hooked:
    """Return the output that gives an agent more context; nothing where there is nothing to tell."""
    try:
        text = tell()
    except RecollectError as error:
        report(f"{error} ({error.hint})" if error.hint else str(error))
        return Hooked()
    if not text or len(text) > CHARACTERS:
        report("the store has nothing to tell" if not text else f"more than {CHARACTERS} characters: not told")
        return Hooked()
    told = {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}}
    return Hooked(output=json.dumps(told, ensure_ascii=False))


def _brief(event: Mapping[str, Any], db: Recollection) -> str:
    return db.brief(session=_session(event), budget=BUDGET).text


def _inject(event: Mapping[str, Any], db: Recollection, report: Report) -> str:
    prompt = event.get("prompt")
    if not isinstance(prompt, str) or not prompt.strip():
        report("the event has no prompt")
        return ""
    return db.remind(prompt[:2000], recent=_recent(event), session=_session(event), budget=BUDGET).text


def _recent(event: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the last turns of the session, as its transcript has them so far; none where it cannot be read."""
    path = event.get("transcript_path")
    try:
        with Path(str(path)).open("rb") as file:
            file.seek(max(0, file.seek(0, SEEK_END) - RECENT_BYTES))
            lines = file.read().splitlines()
    except (OSError, ValueError):
        return ()
    spoken = (text for line in reversed(lines) if (text := _spoken(line)))
    return tuple(islice(spoken, RECENT_TURNS))


def _spoken(line: bytes) -> str:
    """Return the words of one line of a transcript of Claude Code; blank for tools, notices and broken lines."""
    try:
        content = json.loads(line)["message"]["content"]
        return content if isinstance(content, str) else content[0]["text"]
    except (ValueError, KeyError, TypeError, IndexError, RecursionError):
        return ""


def _reader(event: Mapping[str, Any], db: Recollection, *, reads_all: bool) -> Recollection:
    """Return the store as a session reads it: the project that it also writes to, or all of them."""
    return db if reads_all else db.in_project(_project(event, db) or DEFAULT)


def _kept(event: Mapping[str, Any], db: Recollection, report: Report) -> Hooked:
    """Name the transcript to import; without one, keep what the agent asked to remember in its last words."""
    path = event.get("transcript_path")
    known = isinstance(path, str) and bool(path) and Path(path).is_file()
    said = event.get("last_assistant_message") or event.get("prompt_response")
    if not known and isinstance(said, str) and said.strip():
        try:
            project = _project(event, db, claim=True)
            (db.in_project(project) if project else db).capture(said, embed=False)
        except RecollectError as error:
            report(str(error))
    if not known:
        report(f"there is no transcript at {path}" if path else "the event names no transcript (transcript_path)")
    return Hooked(transcript=Path(str(path)) if known else None, project=db.project, folder=_folder(event))


def _session(event: Mapping[str, Any]) -> str | None:
    given = event.get("session_id")
    return given if isinstance(given, str) and given else None


def _project(event: Mapping[str, Any], db: Recollection, *, claim: bool = False) -> str | None:
    """Return the project that a session belongs to: the one chosen, else that of the repository it runs in."""
    folder = _folder(event)
    return db.project_of(folder, claim=claim) if folder else db.project


def _folder(event: Mapping[str, Any]) -> str | None:
    given = event.get("cwd")
    return given if isinstance(given, str) and given else None


def keep_later(hooked: Hooked, *, db: str) -> None:
    """Import the transcript of *hooked* in a process of its own, for which nobody waits."""
    if hooked.transcript is not None:
        begin(hooked.transcript, db=db, project=hooked.project, folder=hooked.folder)
