"""The user's own editor: for the words of a memory, and for the file that a memory comes from."""

import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from recollect.errors import InputError
from recollect.settings import editor

CHANGES: Final = ("content", "title", "type", "tag", "date", "source", "confidence", "metadata")
"""The options that say what to change."""
AT_LINE: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("code", "codium", "cursor", "windsurf", "code-insiders"), ("--goto", "{path}:{line}")),
    **dict.fromkeys(("subl", "zed", "hx", "helix"), ("{path}:{line}",)),
    **dict.fromkeys(
        ("vi", "vim", "nvim", "gvim", "view", "nano", "pico", "emacs", "emacsclient"), ("+{line}", "{path}")
    ),
    **dict.fromkeys(("micro", "joe", "jed", "mg", "kak", "ne"), ("+{line}", "{path}")),
}
"""How an editor is told the line, by its name."""


def is_unchanged(values: Mapping[str, Any]) -> bool:
    """Return whether no option says what to change."""
    return not any(values.get(name) for name in CHANGES)


def edit_words(words: str) -> str:
    """Return *words* as they leave the user's editor; refuse when nothing was saved."""
    try:
        edited = click.edit(words, extension=".md", editor=editor() or None)
    except click.ClickException as error:
        raise InputError(error.format_message(), hint="name your editor in EDITOR, or use --content") from error
    if edited is None or not edited.strip():
        raise InputError("nothing was saved in the editor", hint="the memory is as it was")
    return edited.strip()


def _command() -> list[str]:
    try:
        return shlex.split(editor())
    except ValueError as error:
        raise InputError(f"cannot read EDITOR: {error}", hint="such as: EDITOR='code --wait'") from error


def open_source(source: str, line: int | None) -> bool:
    """Open the file *source* at its *line* in the user's editor; say whether there was one of both."""
    words, path = _command(), Path(source)
    if not words or not path.is_absolute() or not path.is_file():
        return False
    told = AT_LINE.get(Path(words[0]).name, ("{path}",)) if line else ("{path}",)
    try:
        subprocess.run([*words, *(each.format(path=path, line=line) for each in told)], check=False)  # noqa: S603
    except OSError as error:
        raise InputError(f"cannot run {words[0]}: {error.strerror}", hint="name your editor in EDITOR") from error
    return True
