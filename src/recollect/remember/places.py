"""Know where programs keep what can be imported: a table of places, each a folder and what is read below it."""

import os
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from recollect.errors import FileError, InputError
from recollect.remember.formats import format_of


class Place(Struct, frozen=True, kw_only=True):
    """Where a program keeps its files: folders under the home, or the one that a variable of the environment names."""

    homes: tuple[str, ...]
    below: tuple[str, ...]
    """What to look for there; `*` stands for any name."""
    formats: tuple[str, ...]
    """The formats that are read there; other files are passed over."""
    variable: str = ""
    inside: str = ""
    """The folder inside the one that the variable names."""
    hint: str = ""


PLACES: Final[Mapping[str, Place]] = {
    "claude-code": Place(
        homes=("~/.claude", "~/.config/claude"),
        variable="CLAUDE_CONFIG_DIR",
        below=("projects", "CLAUDE.md"),
        formats=("claude-code", "agent-memory"),
    ),
    "codex": Place(
        homes=("~/.codex",),
        variable="CODEX_HOME",
        below=("sessions", "archived_sessions", "memories"),
        formats=("codex", "agent-memory"),
    ),
    "gemini": Place(
        homes=("~/.gemini",),
        variable="GEMINI_CLI_HOME",
        inside=".gemini",
        below=("tmp/*/chats", "GEMINI.md"),
        formats=("gemini", "agent-memory"),
    ),
    "cursor": Place(homes=("~/.cursor",), below=("projects/*/agent-transcripts",), formats=("cursor",)),
    "openclaw": Place(
        homes=("~/.openclaw",),
        variable="OPENCLAW_STATE_DIR",
        below=("workspace/*.md", "workspace/memory"),
        formats=("agent-memory", "markdown"),
    ),
    "chatgpt": Place(
        homes=("~/Downloads",),
        below=("*.zip", "conversations*.json", "*/conversations*.json"),
        formats=("chatgpt",),
        hint="ask for it in ChatGPT: Settings, Data controls, Export data",
    ),
    "claude-ai": Place(
        homes=("~/Downloads",),
        below=("*.zip", "conversations*.json", "*/conversations*.json"),
        formats=("claude-ai",),
        hint="ask for it in Claude: Settings, Privacy, Export data",
    ),
}
"""Where to look, by the name of the program."""


def place_named(name: str) -> Place:
    """Return the place of the program called *name*."""
    found = PLACES.get(name)
    if found is None:
        raise InputError(f"no place is known for {name!r}", hint=f"one of {', '.join(PLACES)}, or name the files")
    return found


def paths_of(name: str, environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return what there is to import of the program called *name*; say where it was looked for if that is nothing."""
    place = place_named(name)
    homes = tuple(_homes(place, environment))
    near = (path for home in homes for below in place.below for path in sorted(_matches(home, below)))
    found = [path for path in near if path.is_dir() or _is_of(path, place.formats)]
    if not found:
        told = " or ".join(str(home) for home in homes)
        other = f", or set {place.variable}" if place.variable else ""
        hint = place.hint or f"name the folder: recollect import FOLDER{other}"
        raise FileError(f"nothing of {name} found in {told}", hint=hint)
    return tuple(found)


def _homes(place: Place, environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield the folders of a place; where the variable names some, those alone."""
    named = [each.strip() for each in environment.get(place.variable, "").split(",") if each.strip()]
    for each in named or place.homes:
        yield Path(each).expanduser() / (place.inside if named else "")


def _is_of(path: Path, formats: Container[str]) -> bool:
    """Tell whether a file is of one of *formats*: beside an export there are other downloads."""
    form = format_of(path)
    return form is not None and form.name in formats


def _matches(home: Path, below: str) -> list[Path]:
    """Return what matches *below* in a folder; nothing where it is not there or cannot be entered."""
    try:
        return [path for path in home.glob(below) if os.access(path, os.R_OK)]
    except (OSError, ValueError):
        return []
