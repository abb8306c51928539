"""Make plain, bounded values of what JSON and YAML hold, and text of plain values."""

import math
from collections.abc import Iterator
from typing import Final

from recollect.remember.formats.parsed import DEEPEST

_LONGEST: Final = 32 * 1024 * 1024
"""How many characters one value may become; aliases and dotted keys can make much out of little."""


class TooMuch(ValueError):
    """Say that a value is nested too deeply or would become too long."""


def plain(value: object, *, budget: int = _LONGEST) -> object:
    """Return a copy of *value* that any store and any JSON writer takes.

    Halves of surrogate pairs are joined or replaced, NULs replaced, keys made text, infinite numbers made text.
    A value of more than *budget* characters raises TooMuch.
    """
    left = [budget]
    return _plain(value, 0, left)


def clean(text: str) -> str:
    """Return *text* with what no store can keep (NUL, lone surrogates) as U+FFFD."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def as_text(value: object) -> str:
    """Return a scalar as one would write it; nothing for None."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def flatten(value: object, path: str = "") -> str:
    """Return *value* as `path.to.key: value` lines; lists of scalars stand on one line."""
    lines = []
    left = _LONGEST
    for line in _lines(value, path):
        left -= len(line)
        if left < 0:
            raise TooMuch("too long when written out")
        lines.append(line)
    return "\n".join(lines)


def is_scalar(value: object) -> bool:
    """Tell whether *value* has no parts."""
    return not isinstance(value, dict | list)


def _plain(value: object, depth: int, left: list[int]) -> object:
    if depth > DEEPEST:
        raise TooMuch(f"nested more than {DEEPEST} levels deep")
    _spend(left, 1)
    match value:
        case str():
            _spend(left, len(value))
            return clean(value)
        case dict():
            _spend(left, sum(map(len, map(as_text, value))))
            return {clean(as_text(key)): _plain(each, depth + 1, left) for key, each in value.items()}
        case list():
            return [_plain(each, depth + 1, left) for each in value]
        case float() if not math.isfinite(value):
            return str(value)
        case _:
            return value


def _spend(left: list[int], cost: int) -> None:
    left[0] -= cost
    if left[0] < 0:
        raise TooMuch("too long when its aliases are written out")


def _lines(value: object, path: str) -> Iterator[str]:
    head = f"{path}: " if path else ""
    match value:
        case dict():
            for key, each in value.items():
                yield from _lines(each, f"{path}.{key}" if path else key)
        case list() if all(map(is_scalar, value)):
            joined = ", ".join(filter(None, map(as_text, value)))
            if joined:
                yield head + joined
        case list():
            for number, each in enumerate(value):
                yield from _lines(each, f"{path}.{number}" if path else str(number))
        case _:
            text = as_text(value).strip()
            if text:
                yield head + text
