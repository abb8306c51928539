"""TOML, read without the library where it is plain: tables of numbers, words, lists of them and flat inline tables.

Our profiles and most settings are that, and to load the library takes five times as long as to read them. What is not
plain, and what is no TOML at all, is left to the library.
"""

from typing import Any


class _NotPlainError(Exception):
    """It is for the library to read."""


def read_toml(text: str) -> dict[str, Any]:
    """Return what *text* says; raise ValueError where it is no TOML."""
    try:
        return _tables(text)
    except _NotPlainError:
        import tomllib  # noqa: PLC0415

        return tomllib.loads(text)


def _tables(text: str) -> dict[str, Any]:
    top: dict[str, Any] = {}
    headed: dict[tuple[str, ...], dict[str, Any]] = {(): top}
    table = top
    for line in (each.strip(" ") for each in text.replace("\r\n", "\n").split("\n")):
        if not line.isprintable():
            raise _NotPlainError
        if line.startswith("["):
            table = _table(headed, line)
        elif line and not line.startswith("#"):
            _put(table, line)
    return top


def _table(headed: dict[tuple[str, ...], dict[str, Any]], line: str) -> dict[str, Any]:
    """Return the table that *line* heads, beside those *headed* before; one that is begun twice is not plain."""
    path = tuple(map(_key, line[1:-1].split(".")))
    if not line.endswith("]") or path in headed:
        raise _NotPlainError
    for at, key in enumerate(path):
        if path[: at + 1] not in headed:
            if key in headed[path[:at]]:
                raise _NotPlainError
            headed[path[: at + 1]] = headed[path[:at]][key] = {}
    return headed[path]


def _put(table: dict[str, Any], line: str) -> None:
    name, sign, value = line.partition("=")
    key = _key(name.strip())
    if not sign or key in table:
        raise _NotPlainError
    table[key] = _value(value.strip())


def _key(name: str) -> str:
    if not (name.isascii() and name.replace("_", "").replace("-", "").isalnum()):
        raise _NotPlainError
    return name


def _value(text: str) -> Any:
    """Return what *text* is; what holds a comment, an escape or a list of lists is not plain."""
    inner = text[1:-1]
    if text[:1] == "[" and text[-1:] == "]":
        return [_scalar(each.strip()) for each in inner.split(",")] if inner.strip() else []
    if text[:1] == "{" and text[-1:] == "}":
        flat: dict[str, Any] = {}
        for each in inner.split(",") if inner.strip() else ():
            name, sign, value = each.partition("=")
            key = _key(name.strip())
            if not sign or key in flat:
                raise _NotPlainError
            flat[key] = _scalar(value.strip())
        return flat
    return _scalar(text)


def _scalar(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    if text[:1] == text[-1:] == '"' and len(text) > 1:
        if '"' in text[1:-1] or "\\" in text:
            raise _NotPlainError
        return text[1:-1]
    whole, point, rest = text.removeprefix("-").partition(".")
    digits = whole.isascii() and whole.isdecimal() and (whole == "0" or whole[0] != "0")
    if not digits or (point and not (rest.isascii() and rest.isdecimal())):
        raise _NotPlainError
    return float(text) if point else int(text)
