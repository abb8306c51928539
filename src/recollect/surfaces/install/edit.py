"""Edit a configuration file: put entries in, take the same ones out, and leave all else as it is."""

import json
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path, PureWindowsPath
from typing import Final

from msgspec import Struct

from recollect.errors import FileError, InputError
from recollect.files import replacing
from recollect.lazy import regex
from recollect.surfaces.install.clients import NAME, Change, Entry
from recollect.surfaces.install.jsonc import Node, find, has_comments, inserted, parse, removed, replaced

BACKUP: Final = ".before-recollect"
BLANK: Final = "\ufeff \t\r\n"
"""What a file may hold that is as good as empty."""


class Edit(Struct, frozen=True, kw_only=True):
    """What becomes of one file: its text before and after; None where there is no file."""

    path: Path
    before: str | None
    after: str | None
    keeps: bool = False
    """Whether the text before is the user's own, and is kept beside the file."""

    @property
    def changes(self) -> bool:
        """Whether anything changes."""
        return self.before != self.after


def put_in(change: Change) -> Edit:
    """Return *change* made; made already, it changes nothing."""
    before = _read(change.path)
    keeps = before is not None and _is_users(change, before)
    return Edit(path=change.path, before=before, after=_changed(change, before), keeps=keeps)


def _changed(change: Change, before: str | None) -> str:
    """Return the text of a file with *change* in it."""
    if change.table:
        return _with_table(before or "", change)
    text = before if before and before.strip(BLANK) else "{}\n"
    for entry in change.entries:
        text = _put(text, entry, change)
    return text


def take_out(change: Change) -> Edit:
    """Return *change* taken back: the file as it was before, where nothing else has changed since."""
    before = _read(change.path)
    if before is None:
        return Edit(path=change.path, before=None, after=None)
    kept = _read(backup_of(change.path))
    if kept is not None and before == _changed(change, kept):
        return Edit(path=change.path, before=before, after=kept)
    if change.table:
        left = _without_table(before) if _is_ours_server(_toml_entry(before)) else before
        return Edit(path=change.path, before=before, after=left if left.strip() else None)
    text = before
    for entry in change.entries:
        text = _take(text, entry, change, kept)
    is_empty = text != before and not parse(text).members and not has_comments(text)
    return Edit(path=change.path, before=before, after=None if is_empty else text)


def write(edit: Edit) -> Path | None:
    """Write *edit*; return where the file as it was is kept, if there was one."""
    if edit.after is None:
        edit.path.unlink(missing_ok=True)
        return None
    edit.path.parent.mkdir(parents=True, exist_ok=True)
    kept = backup_of(edit.path)
    if edit.keeps and edit.before is not None:
        _replace(kept, edit.before, like=edit.path)
    _replace(edit.path, edit.after, like=edit.path)
    return kept if edit.before is not None and kept.exists() else None


def backup_of(path: Path) -> Path:
    """Return where the file at *path* is kept as it was before."""
    return path.with_name(path.name + BACKUP)


def _replace(path: Path, text: str, *, like: Path) -> None:
    """Write *text* to *path*, all or none, readable by whom the file *like* is; a link stays a link."""
    mode = like.stat().st_mode & 0o777 if like.exists() else 0o600
    with replacing(path.resolve(), mode=mode) as file:
        file.write(text)


def _read(path: Path) -> str | None:
    try:
        with path.open(encoding="utf-8", newline="") as file:  # with the ends of lines that it has
            return file.read()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read {path}: {error}", hint="it is left as it is") from error


# --- whose an entry is ----------------------------------------------------------------------

OUR_WORDS: Final = (["mcp"], ["-m", "recollect", "mcp"], ["-P", "-m", "recollect", "mcp"])
"""What follows the program in an entry of ours."""


def _is_users(change: Change, text: str) -> bool:
    """Tell whether a file holds nothing of ours, or an entry of the user's own in our place."""
    if change.table:
        held = _toml_entry(text)
        return held is None or not _is_ours_server(held)
    root, ours, own = _parse(text, change), False, False
    for entry in change.entries:
        found = find(root, entry.keys)
        if found is not None and entry.member:
            ours = ours or any(_is_ours(each.node.value) for each in found.members)
        elif found is not None:
            is_ours = _is_ours_server(found.value)
            ours, own = ours or is_ours, own or not is_ours
    return own or not ours


def _is_ours_server(value: object) -> bool:
    """Tell whether an entry among the servers is one that we put in, now or by an earlier installation."""
    if not isinstance(value, dict):
        return False
    command, args = value.get("command"), value.get("args", [])
    words = [*(command if isinstance(command, list) else [command]), *(args if isinstance(args, list) else [])]
    if not all(isinstance(each, str) for each in words):
        return False
    called = words[1:-2] if words[-2:-1] in (["--project"], ["--scope"]) else words[1:]
    return called in OUR_WORDS and (called != OUR_WORDS[0] or PureWindowsPath(words[0]).stem == NAME)


def _is_ours(group: object) -> bool:
    """Tell whether a group of hooks is the one that we put in."""
    hooks = group.get("hooks") if isinstance(group, dict) else None
    commands = [each.get("command") for each in hooks if isinstance(each, dict)] if isinstance(hooks, list) else []
    return len(commands) == 1 and isinstance(commands[0], str) and bool(_HOOK.search(commands[0]))


_HOOK: Final = regex(r"recollect(?:\.exe)?\"? hook(?: --start-server)?(?: --(?:project|scope) .+)?$")


# --- JSON -----------------------------------------------------------------------------------


def _parse(text: str, change: Change) -> Node:
    entries = {" > ".join(each.keys): each.value for each in change.entries}
    by_hand = f"it is left as it is; add by hand: {json.dumps(entries, ensure_ascii=False)}"
    try:
        root = parse(text if text.strip(BLANK) else "{}")
    except ValueError as error:
        raise FileError(f"{change.path} is not JSON: {error}", hint=by_hand) from error
    if root.kind != "object":
        raise FileError(f"{change.path} is not an object", hint=by_hand)
    return root


def _put(text: str, entry: Entry, change: Change) -> str:
    """Return *text* with *entry* in it, and with the objects above it."""
    at = _parse(text, change)
    for depth, key in enumerate(entry.keys):
        is_list = entry.member and depth == len(entry.keys) - 1
        below = find(at, (key,))
        if below is None:
            value = [entry.value] if entry.member else entry.value
            for name in reversed(entry.keys[depth + 1 :]):
                value = {name: value}
            return inserted(text, at, value, key)
        if depth < len(entry.keys) - 1 or is_list:
            wanted = "array" if is_list else "object"
            if below.kind != wanted:
                told = "a list" if is_list else "an object"
                raise InputError(f"{change.path}: {key!r} is not {told}", hint="it is left as it is")
        at = below
    return _put_member(text, at, entry.value) if entry.member else _put_value(text, at, entry.value)


def _put_value(text: str, node: Node, value: object) -> str:
    return text if node.value == value else replaced(text, node, value)


def _put_member(text: str, array: Node, value: object) -> str:
    """Return *text* with *value* once among our members of *array*."""
    ours = [each for each in array.members if _is_ours(each.node.value)]
    if not ours:
        return inserted(text, array, value)
    for each in reversed(ours[1:]):
        text = removed(text, array, each)
    return _put_value(text, ours[0].node, value)


def _take(text: str, entry: Entry, change: Change, kept: str | None) -> str:
    """Return *text* without *entry*, and without what is empty then; the user's own comes back from *kept*."""
    root = _parse(text, change)
    found = find(root, entry.keys)
    if found is None:
        return text
    if entry.member:
        ours = [each for each in found.members if _is_ours(each.node.value)]
        for each in reversed(ours):
            text = removed(text, found, each)
        return _without_empty(text, entry.keys, change) if ours else text
    if not _is_ours_server(found.value):
        return text
    before = None if kept is None else find(_parse(kept, change), entry.keys)
    if before is not None and not _is_ours_server(before.value):
        return replaced(text, found, before.value)
    above = find(root, entry.keys[:-1])
    if above is not None:
        text = removed(text, above, next(each for each in above.members if each.node is found))
    return _without_empty(text, entry.keys[:-1], change)


def _without_empty(text: str, keys: Sequence[str], change: Change) -> str:
    """Return *text* without what is empty at *keys* and above; what holds a comment is not empty."""
    while keys:
        root = _parse(text, change)
        node, above = find(root, keys), find(root, keys[:-1])
        if node is None or above is None or text[node.start + 1 : node.end - 1].strip():
            return text
        text = removed(text, above, next(each for each in above.members if each.node is node))
        keys = keys[:-1]
    return text


# --- TOML -----------------------------------------------------------------------------------

_TABLE: Final = regex(rf"(?:\r?\n)*^\[mcp_servers\.{NAME}\][^\n]*\n(?:(?!\[)[^\n]*\n?)*", re.MULTILINE)


def _with_table(text: str, change: Change) -> str:
    _check_toml(text, change.path)
    bare = _without_table(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    table = change.table.replace("\n", newline)
    joined = f"{bare.rstrip()}{newline}{newline}{table}" if bare.strip() else table
    if _same_toml(text, joined):
        return text
    _check_toml(joined, change.path)
    return joined


def _without_table(text: str) -> str:
    return _TABLE.sub("\r\n" if "\r\n" in text else "\n", text) if _TABLE.search(text) else text


def _toml_entry(text: str) -> object:
    """Return our entry in a TOML file; None where there is none."""
    try:
        servers = tomllib.loads(text).get("mcp_servers", {})
    except tomllib.TOMLDecodeError:
        return None
    return servers.get(NAME) if isinstance(servers, dict) else None


def _check_toml(text: str, path: Path) -> None:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FileError(f"{path} is not TOML: {error}", hint="it is left as it is") from error


def _same_toml(one: str, other: str) -> bool:
    return tomllib.loads(one) == tomllib.loads(other)
