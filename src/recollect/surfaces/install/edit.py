"""Edit a configuration file: put entries in, take the same ones out, and leave all else as it is."""

import json
import re
import tomllib
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

from recollect.errors import FileError, InputError
from recollect.lazy import regex
from recollect.surfaces.install.clients import NAME, Change, Entry
from recollect.values import dataclass

BACKUP: Final = ".before-recollect"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What becomes of one file: its text before and after; None where there is no file."""

    path: Path
    before: str | None
    after: str | None

    @property
    def changes(self) -> bool:
        """Whether anything changes."""
        return self.before != self.after


def put_in(change: Change) -> Edit:
    """Return *change* made; made already, it changes nothing."""
    before = _read(change.path)
    return Edit(path=change.path, before=before, after=_changed(change, before))


def _changed(change: Change, before: str | None) -> str:
    """Return the text of a file with *change* in it."""
    if change.table:
        return _with_table(before or "", change)
    value = _parse(change.path, before)
    after = deepcopy(value)
    for entry in change.entries:
        _put(after, entry, change.path)
    return before if before and after == value else _dump(after, before)


def take_out(change: Change) -> Edit:
    """Return *change* taken back: the file as it was before, where nothing else has changed since."""
    before = _read(change.path)
    if before is None:
        return Edit(path=change.path, before=None, after=None)
    kept = _read(backup_of(change.path))
    if kept is not None and before == _changed(change, kept):
        return Edit(path=change.path, before=before, after=kept)
    if change.table:
        left = _without_table(before)
        return Edit(path=change.path, before=before, after=left if left.strip() else None)
    value = _parse(change.path, before)
    after = deepcopy(value)
    for entry in change.entries:
        _take(after, entry)
    if after == value:
        return Edit(path=change.path, before=before, after=before)
    return Edit(path=change.path, before=before, after=_dump(after, before) if after else None)


def write(edit: Edit) -> Path | None:
    """Write *edit*; return where the file as it was is kept, if there was one."""
    kept = None
    if edit.after is None:
        edit.path.unlink(missing_ok=True)
        return None
    edit.path.parent.mkdir(parents=True, exist_ok=True)
    if edit.before is not None:
        kept = backup_of(edit.path)
        if NAME not in edit.before:
            _replace(kept, edit.before, like=edit.path)
    _replace(edit.path, edit.after, like=edit.path)
    return kept if kept is not None and kept.exists() else None


def backup_of(path: Path) -> Path:
    """Return where the file at *path* is kept as it was before."""
    return path.with_name(path.name + BACKUP)


def _replace(path: Path, text: str, *, like: Path) -> None:
    """Write *text* to *path*, all or none, readable by whom the file *like* is."""
    mode = like.stat().st_mode & 0o777 if like.exists() else 0o600
    target = path.resolve() if path.is_symlink() else path
    part = target.with_name(f".{target.name}.part")
    part.write_text(text, encoding="utf-8")
    part.chmod(mode)
    part.replace(target)


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read {path}: {error}", hint="it is left as it is") from error


# --- JSON -----------------------------------------------------------------------------------


def _parse(path: Path, text: str | None) -> dict[str, Any]:
    if text is None or not text.strip():
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        hint = "it is left as it is; add the entry by hand, --dry-run shows it"
        raise FileError(f"{path} is not plain JSON: {error}", hint=hint) from error
    if not isinstance(value, dict):
        raise FileError(f"{path} is not an object", hint="it is left as it is")
    return value


def _dump(value: dict[str, Any], like: str | None) -> str:
    """Return *value* as text, indented as the file was."""
    found = re.search(r"\n([ \t]+)\S", like or "")
    indent: str | int = found[1] if found else 2
    return json.dumps(value, ensure_ascii=False, indent=indent) + "\n"


def _put(value: dict[str, Any], entry: Entry, path: Path) -> None:
    *above, last = entry.keys
    at = value
    for key in above:
        at = at.setdefault(key, {})
        if not isinstance(at, dict):
            raise InputError(f"{path}: {key!r} is not an object", hint="it is left as it is")
    if not entry.member:
        at[last] = entry.value
        return
    members = at.setdefault(last, [])
    if not isinstance(members, list):
        raise InputError(f"{path}: {last!r} is not a list", hint="it is left as it is")
    ours = [place for place, each in enumerate(members) if _is_ours(each)]
    if ours:
        members[ours[0]] = entry.value
        for place in reversed(ours[1:]):
            del members[place]
    else:
        members.append(entry.value)


def _take(value: dict[str, Any], entry: Entry) -> None:
    """Take *entry* out of *value*, and what is empty without it."""
    *above, last = entry.keys
    levels = [value]
    for key in above:
        below = levels[-1].get(key)
        if not isinstance(below, dict):
            return
        levels.append(below)
    if last not in levels[-1]:
        return
    if entry.member:
        held = levels[-1][last]
        left = [each for each in held if not _is_ours(each)] if isinstance(held, list) else held
        if left:
            levels[-1][last] = left
        else:
            del levels[-1][last]
    else:
        del levels[-1][last]
    for level, key in zip(reversed(levels[:-1]), reversed(above), strict=True):
        if not level[key]:
            del level[key]


def _is_ours(group: object) -> bool:
    """Tell whether a group of hooks is the one that we put in."""
    hooks = group.get("hooks") if isinstance(group, dict) else None
    commands = [each.get("command") for each in hooks if isinstance(each, dict)] if isinstance(hooks, list) else []
    return len(commands) == 1 and isinstance(commands[0], str) and bool(re.search(r"recollect\"? hook$", commands[0]))


# --- TOML -----------------------------------------------------------------------------------

_TABLE: Final = regex(rf"\n*^\[mcp_servers\.{NAME}\][^\n]*\n(?:(?!\[)[^\n]*\n?)*", re.MULTILINE)


def _with_table(text: str, change: Change) -> str:
    _check_toml(text, change.path)
    bare = _without_table(text)
    joined = f"{bare.rstrip()}\n\n{change.table}" if bare.strip() else change.table
    if _same_toml(text, joined):
        return text
    _check_toml(joined, change.path)
    return joined


def _without_table(text: str) -> str:
    return _TABLE.sub("\n", text) if _TABLE.search(text) else text


def _check_toml(text: str, path: Path) -> None:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FileError(f"{path} is not TOML: {error}", hint="it is left as it is") from error


def _same_toml(one: str, other: str) -> bool:
    return tomllib.loads(one) == tomllib.loads(other)
