"""Values as JSON, YAML and tables have them: made safe, written out, and converted to the fields of a memory."""

import math
from collections.abc import Iterator
from typing import Final

from recollect.arguments import LARGEST, storable

MAX_DEPTH: Final = 100
"""How many levels of nesting a value may have before it is refused."""

_MAX_VALUE_CHARS: Final = 32 * 1024 * 1024
"""How many characters one value may become; aliases and dotted keys can make much out of little."""

_MIN_DIMENSIONS: Final = 8
"""A shorter list of numbers is data, and no vector of a model."""
_YES: Final = frozenset({"true", "yes", "on", "1"})
_NO: Final = frozenset({"false", "no", "off", "0", ""})


class TooMuch(ValueError):
    """Say that a value is nested too deeply or would become too long."""


def plain(value: object, *, budget: int = _MAX_VALUE_CHARS) -> object:
    """Return a copy of *value* that any store and any JSON writer takes.

    Halves of surrogate pairs are joined or replaced, NULs replaced, keys made text, infinite numbers made text.
    A value of more than *budget* characters raises TooMuch.
    """
    return _plain(value, 0, [budget])


def clean(text: str) -> str:
    """Return *text* as any store can keep it; the two halves of a surrogate pair are joined."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return storable(text)


def _plain(value: object, depth: int, left: list[int]) -> object:
    if depth > MAX_DEPTH:
        raise TooMuch(f"nested more than {MAX_DEPTH} levels deep")
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


# --- as text --------------------------------------------------------------------------------


def is_scalar(value: object) -> bool:
    """Tell whether *value* has no parts."""
    return not isinstance(value, dict | list)


def as_text(value: object) -> str:
    """Return a scalar as one would write it; nothing for None."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def as_line(value: object) -> str | None:
    """Return a scalar as one line; None for nothing, for blanks and for what has parts."""
    return " ".join(as_text(value).split()) or None if is_scalar(value) else None


def as_words(value: object) -> str | None:
    """Return the words of a content value: text, a number, or the text parts of a list."""
    match value:
        case list():
            parts = [part.get("text") if isinstance(part, dict) else part for part in value]
            texts = [as_text(part) for part in parts if part is not None and is_scalar(part)]
            return "\n".join(texts).strip() if texts else None
        case dict():
            return as_words(value["parts"]) if isinstance(value.get("parts"), list) else None
        case _:
            return as_text(value).strip()


def flatten(value: object, path: str = "") -> str:
    """Return *value* as `path.to.key: value` lines; lists of scalars take one line."""
    lines = []
    left = _MAX_VALUE_CHARS
    for line in _lines(value, path):
        left -= len(line)
        if left < 0:
            raise TooMuch("too long when written out")
        lines.append(line)
    return "\n".join(lines)


def _lines(value: object, path: str) -> Iterator[str]:
    if isinstance(value, dict) or (isinstance(value, list) and not all(map(is_scalar, value))):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _lines(each, f"{path}.{key}" if path else str(key))
        return
    text = ", ".join(filter(None, map(as_text, value))) if isinstance(value, list) else as_text(value).strip()
    if text:
        yield f"{path}: {text}" if path else text


# --- as a field of a memory -----------------------------------------------------------------


def as_tags(value: object) -> tuple[str, ...] | None:
    """Return a list, or the parts of a comma-separated line, as tags without repeats."""
    match value:
        case str():
            parts: list[object] = [*value.split(",")]
        case list():
            parts = [part.get("name") if isinstance(part, dict) else part for part in value]
        case _:
            return None
    return tuple(dict.fromkeys(filter(None, map(as_line, parts))))


def as_confidence(value: object) -> float | None:
    """Return a number, or text that is one, brought into 0..1."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return min(1.0, max(0.0, number)) if math.isfinite(number) else None


def as_vector(value: object) -> tuple[float, ...] | None:
    """Return a list of numbers that has a direction as a vector; None for anything else, and for a short one."""
    if not isinstance(value, list | tuple) or len(value) < _MIN_DIMENSIONS:
        return None
    if not all(isinstance(each, int | float) and math.isfinite(each) for each in value):
        return None
    return tuple(map(float, value)) if any(value) else None


def as_flag(value: object) -> bool | None:
    """Return yes or no in any of its usual spellings."""
    text = as_text(value).strip().lower()
    return text in _YES if is_scalar(value) and text in _YES | _NO else None


def as_id(value: object) -> str | None:
    """Return a text or a number as an id."""
    return None if isinstance(value, bool) else as_line(value)


def as_count(value: object) -> int | None:
    """Return a whole number that every store can keep."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST else None
