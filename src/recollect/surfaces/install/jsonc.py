"""Edit JSON in place, with or without comments: what is not changed keeps its bytes, its comments and its form."""

import json
import re
from collections.abc import Sequence
from typing import Any, Final, Literal

from msgspec import Struct

from recollect.lazy import regex

MAX_DEPTH: Final = 100
_SPACE: Final = regex(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
"""Space and comments."""
_REST_OF_LINE: Final = regex(r"(?:[ \t]|/\*[^\n]*?\*/)*(?://[^\r\n]*)?")
_TEXT: Final = regex(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_PLAIN: Final = regex(r"true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")


class Node(Struct, frozen=True, kw_only=True):
    """A value and where its text is; members of an object have keys."""

    start: int
    end: int
    kind: Literal["object", "array", "plain"]
    value: Any
    members: "tuple[Member, ...]" = ()


class Member(Struct, frozen=True, kw_only=True):
    """A member of an object or an array, from the first character of its key or value."""

    start: int
    key: str | None
    node: Node


def parse(text: str) -> Node:
    """Return the value in *text*; ValueError says in which line it cannot be read."""
    reader = _Reader(text)
    node = reader.value(0)
    if reader.skip() != len(text):
        raise reader.trouble("something follows the value")
    return node


class _Reader:
    def __init__(self, text: str) -> None:
        self._text, self._at = text, 1 if text.startswith("\ufeff") else 0

    def trouble(self, what: str) -> ValueError:
        return ValueError(f"{what} (line {self._text.count(chr(10), 0, self._at) + 1})")

    def skip(self) -> int:
        """Pass over space and comments; return where that ends."""
        found = _SPACE.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return self._at

    def value(self, depth: int) -> Node:
        start = self.skip()
        if depth > MAX_DEPTH:
            raise self.trouble("it is nested too deeply")
        opening = self._text[start : start + 1]
        if opening in ("{", "["):
            self._at += 1
            members = self._members("}" if opening == "{" else "]", depth)
            values: Any = [each.node.value for each in members]
            if opening == "{":
                values = {each.key: each.node.value for each in members}
            kind: Literal["object", "array"] = "object" if opening == "{" else "array"
            return Node(start=start, end=self._at, kind=kind, value=values, members=members)
        return self._plain(_TEXT if opening == '"' else _PLAIN, "a value is missing")

    def _plain(self, form: Any, missing: str) -> Node:
        start, found = self._at, form.match(self._text, self._at)
        if found is None:
            raise self.trouble(missing)
        self._at = found.end()
        return Node(start=start, end=self._at, kind="plain", value=json.loads(found[0]))

    def _members(self, closing: str, depth: int) -> tuple[Member, ...]:
        """Return what is between here and *closing*; a comma may stand before it."""
        members: list[Member] = []
        while self._text[self.skip() : self._at + 1] != closing:
            start, key = self._at, None
            if closing == "}":
                key = self._plain(_TEXT, "a name in quotes is missing").value
                self._take(":")
            members.append(Member(start=start, key=key, node=self.value(depth + 1)))
            if self._text[self.skip() : self._at + 1] != closing:
                self._take(",")
        self._at += 1
        return tuple(members)

    def _take(self, sign: str) -> None:
        if self._text[self.skip() : self._at + 1] != sign:
            raise self.trouble(f"{sign!r} is missing")
        self._at += 1


# --- changing -------------------------------------------------------------------------------


def find(root: Node, keys: Sequence[str]) -> Node | None:
    """Return the value at the path *keys*; None where there is none."""
    at: Node | None = root
    for key in keys:
        at = next((each.node for each in reversed(at.members) if each.key == key), None) if at else None
    return at


def replaced(text: str, node: Node, value: Any) -> str:
    """Return *text* with *value* in the place of *node*."""
    return text[: node.start] + _dumped(text, value, _indent_at(text, node.start)) + text[node.end :]


def inserted(text: str, into: Node, value: Any, key: str | None = None) -> str:
    """Return *text* with one more member of *into*, as the last one."""
    name = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    if not into.members:
        return _first(text, into, name, value)
    last = into.members[-1]
    is_spread = "\n" in text[into.start : into.members[0].start]
    if not is_spread:
        return f"{text[: last.node.end]}, {name}{_compact(value)}{text[last.node.end :]}"
    indent, newline = _indent_at(text, into.members[0].start), _newline(text)
    item = f"{newline}{indent}{name}{_dumped(text, value, indent)}"
    comma = _comma_after(text, last.node.end)
    end = _line_end(text, last.node.end if comma is None else comma + 1)
    if comma is not None:
        return f"{text[:end]}{item},{text[end:]}"
    return f"{text[: last.node.end]},{text[last.node.end : end]}{item}{text[end:]}"


def _first(text: str, into: Node, name: str, value: Any) -> str:
    inside = text[into.start + 1 : into.end - 1].rstrip()
    if _is_one_line(text):
        return f"{text[: into.start + 1]}{name}{_compact(value)}{text[into.end - 1 :]}"
    outer, newline = _indent_at(text, into.start), _newline(text)
    indent = outer + _unit(text)
    item = f"{newline}{indent}{name}{_dumped(text, value, indent)}{newline}{outer}"
    return text[: into.start + 1] + inside + item + text[into.end - 1 :]


def removed(text: str, out_of: Node, member: Member) -> str:
    """Return *text* without *member* and its comma; comments stay."""
    place = out_of.members.index(member)
    line = text[: member.start].rstrip(" \t")
    start = len(line) if place or line.endswith("\n") else member.start
    if line.endswith("\n"):
        start -= 2 if line.endswith("\r\n") else 1
    cuts = [(start, member.node.end)]
    comma = _comma_after(text, member.node.end)
    if comma is not None:
        spaces = 0 if place else len(text[comma + 1 :]) - len(text[comma + 1 :].lstrip(" "))
        cuts.append((comma, comma + 1 + spaces))
    elif place and (before := _comma_after(text, out_of.members[place - 1].node.end)) is not None:
        cuts.insert(0, (before, before + 1))
    for begin, end in reversed(cuts):
        text = text[:begin] + text[end:]
    return text[: out_of.start] + re.sub(r"\A([{\[])\s+([}\]])", r"\1\2", text[out_of.start :])


def has_comments(text: str) -> bool:
    """Tell whether anything but one value and space is in *text*."""
    try:
        json.loads(text)
    except ValueError:
        return True
    return False


# --- form -----------------------------------------------------------------------------------


def _comma_after(text: str, at: int) -> int | None:
    found = _SPACE.match(text, at)
    end = found.end() if found else at
    return end if text[end : end + 1] == "," else None


def _line_end(text: str, at: int) -> int:
    """Return the end of the comments that follow in the same line, where the line ends with them."""
    found = _REST_OF_LINE.match(text, at)
    end = found.end() if found else at
    return end if text[end : end + 1] in ("\n", "\r") else at


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _is_one_line(text: str) -> bool:
    return "\n" not in text.strip() and re.sub(r"\s", "", text) != "{}"


def _unit(text: str) -> str:
    """Return what one level of the file is indented by."""
    found = re.search(r"\n([ \t]+)[^\s/*]", text)
    return found[1] if found else "  "


def _indent_at(text: str, at: int) -> str:
    """Return the indentation of the line that *at* is in."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _dumped(text: str, value: Any, indent: str) -> str:
    """Return *value* as the file writes values, its first line at *indent*."""
    if _is_one_line(text):
        return _compact(value)
    return json.dumps(value, ensure_ascii=False, indent=_unit(text)).replace("\n", _newline(text) + indent)
