"""The patterns of ignore files, as git reads them; however they are written, a match takes a time linear in the name.

A star takes as little as it can and never gives it back: what follows it up to the next star is found at the first
place where it stands, and a later place would leave less to the rest. Only the last star reaches for the end.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

LONGEST: Final = 1000
"""How many characters a pattern may have; a longer one is none."""

_ANY: Final = "[^/]"
_CLASS: Final = re.compile(r"\[([!^]?)(\]?(?:\[:[a-z]+:\]|\\.|[^\]\\])*)\]", re.DOTALL)
_CLASSES: Final = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": r" \t",
    "digit": "0-9",
    "lower": "a-z",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\s",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}


class Pattern(Struct, frozen=True, kw_only=True):
    """One line of an ignore file: what it matches, and whether it hides that or shows it again."""

    match: re.Pattern[str]
    hides: bool = True
    only_folders: bool = False
    anywhere: bool = False
    """Whether it speaks of a name in any folder, and not of a path."""

    def speaks_of(self, path: str, *, folder: bool) -> bool:
        """Tell whether *path*, a file or a folder, is what this line is about."""
        if self.only_folders and not folder:
            return False
        return self.match.fullmatch(path.rpartition("/")[2] if self.anywhere else path) is not None


def read_patterns(lines: Sequence[str]) -> tuple[Pattern, ...]:
    """Return the patterns of *lines*; a line that is no pattern is passed over, as git does."""
    return tuple(pattern for line in lines if (pattern := _pattern(line)) is not None)


def verdict(patterns: Sequence[Pattern], path: str, *, folder: bool) -> bool | None:
    """Tell whether the last of *patterns* that speaks of *path* hides it; None where none speaks of it."""
    return next((each.hides for each in reversed(patterns) if each.speaks_of(path, folder=folder)), None)


def _pattern(line: str) -> Pattern | None:
    if line.startswith("#") or len(line) > LONGEST:
        return None
    text = re.sub(r"(?<!\\) +$", "", line)
    hides, text = not text.startswith("!"), text.removeprefix("!")
    if not text.strip("/"):
        return None
    only_folders, text = text.endswith("/"), text.removesuffix("/")
    parts = text.removeprefix("/").split("/")
    anywhere = len(parts) == 1 and not text.startswith("/") and parts[0] != "**"
    try:
        match = re.compile(_path(parts), re.DOTALL)
    except (re.error, ValueError):
        return None
    return Pattern(match=match, hides=hides, only_folders=only_folders, anywhere=anywhere)


def _path(parts: Sequence[str]) -> str:
    """Return the expression for a path: `**` stands for any folders, at the end for anything below."""
    runs: list[list[str]] = [[]]
    for part in parts:
        if part != "**":
            runs[-1].append(_name(part))
        elif runs[-1] or len(runs) == 1:
            runs.append([])
    *before, last = runs
    made = [f"{'/'.join(run)}/" if run else "" for run in before[:1]]
    made += [f"(?>(?:{_ANY}+/)*?{'/'.join(run)}/)" for run in before[1:]]
    if len(runs) == 1:
        return "/".join(last)
    return "".join(made) + (f"(?:{_ANY}+/)*{'/'.join(last)}" if last else ".+")


def _name(part: str) -> str:
    """Return the expression for one name between slashes."""
    runs: list[list[str]] = [[]]
    for piece in _pieces(part):
        if piece != "*":
            runs[-1].append(piece)
        elif runs[-1] or len(runs) == 1:
            runs.append([])
    *before, last = ("".join(run) for run in runs)
    if not before:
        return last
    first, *middle = before
    return first + "".join(f"(?>{_ANY}*?{run})" for run in middle) + f"{_ANY}*{last}"


def _pieces(part: str) -> Iterator[str]:
    """Yield the expression of each character of *part*, a star as itself."""
    at = 0
    while at < len(part):
        found = _CLASS.match(part, at) if part[at] == "[" else None
        if part[at] == "\\":
            if at + 1 == len(part):
                raise ValueError("a backslash that escapes nothing")
            yield re.escape(part[at + 1])
            at += 2
        elif found is not None:
            yield f"(?!/)[{'^' if found[1] else ''}{_inside(found[2])}]"
            at = found.end()
        elif part[at] == "[":
            raise ValueError("a class that does not end")
        else:
            yield {"*": "*", "?": _ANY}.get(part[at], re.escape(part[at]))
            at += 1


def _inside(text: str) -> str:
    """Return what stands between the brackets of a class as Python writes it."""
    members, made, at = re.findall(r"\[:[a-z]+:\]|\\.|.", text, flags=re.DOTALL), "", 0
    while at < len(members):
        is_range = members[at + 1 : at + 2] == ["-"] and at + 2 < len(members)
        made += "-".join(map(_member, members[at : at + 3 : 2] if is_range else members[at : at + 1]))
        at += 3 if is_range else 1
    return made


def _member(text: str) -> str:
    if not text.startswith("[:"):
        return re.escape(text[-1])
    if text[2:-2] not in _CLASSES:
        raise ValueError("no such class")
    return _CLASSES[text[2:-2]]
