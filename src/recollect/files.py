"""What this program leaves on a machine: files and folders that only their owner may read, and processes of its own."""

import os
import sys
from pathlib import Path
from typing import Final

FILE: Final = 0o600
FOLDER: Final = 0o700


def make_folder(path: Path) -> None:
    """Make the folder *path* and what is missing above it; what is there keeps its rights."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(mode=FOLDER, exist_ok=True)


def make_file(path: Path) -> None:
    """Make an empty file at *path*; one that is there is left as it is."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, FILE))


def write_private(path: Path, text: str) -> None:
    """Write *text* to *path*, in a folder that is made if it is missing."""
    make_folder(path.parent)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, FILE), "w", encoding="utf-8") as file:
        file.write(text)


def python_command(module: str, *words: str) -> list[str]:
    """Return the command that runs *module* in this Python; `-P` keeps the current folder out of its import path."""
    return [sys.executable, "-P", "-m", module, *words]


def neutral_folder() -> str:
    """Return the working folder for processes of ours: the one that Python is installed in, never the caller's."""
    return sys.prefix


def readable_by_others(path: Path) -> str:
    """Return the command that takes other users' rights to *path* away; blank where they have none."""
    if os.name != "posix" or not path.exists() or not path.stat().st_mode & 0o077:
        return ""
    return f"chmod {0o700 if path.is_dir() else 0o600:o} {path}"
