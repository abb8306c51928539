"""Arguments as they are declared: what a caller gives is checked once, at the door, and refused in one line."""

import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime
from functools import cache, wraps
from operator import index
from pathlib import Path
from types import NoneType, SimpleNamespace, UnionType
from typing import (
    Any,
    Final,
    Literal,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from msgspec.structs import fields, force_setattr

from recollect.errors import InputError
from recollect.lazy import regex

P = ParamSpec("P")
T = TypeVar("T")
Class = TypeVar("Class", bound=type)

_SURROGATE: Final = regex("[\ud800-\udfff]")
LARGEST: Final = 2**63
"""From here on a number is too large for any store."""
_SHOWN: Final = 60
_SEVERAL: Final = 4
"""The flag of code that takes *args."""
_WANTED: Final[Mapping[Any, str]] = {
    str: "give text",
    bool: "give True or False",
    int: "give a whole number",
    float: "give a number",
    datetime: "give a datetime between the years 1 and 9999",
    Path: "give a path",
    Mapping: "give a mapping",
    Callable: "give a function",
}


def storable(text: str) -> str:
    """Return *text* with U+FFFD for each lone surrogate and NUL, which no file and no other program can carry.

    Every position stays where it was.
    """
    if not text.isascii():
        text = _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def findable(path: str | Path) -> Path:
    """Return where *path* is; refuse what the system could never find."""
    try:
        place = Path(path).expanduser()
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            place.stat()
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(f"{shown(str(path))} cannot be a file or folder", hint="name one of yours") from error
    return place


def shown(value: object) -> str:
    """Return *value* as an error names it: short, whatever it is."""
    try:
        told = repr(value)
    except Exception:  # noqa: BLE001  (a stranger's value; a huge number has no text either)
        told = f"a {type(value).__name__}"
    return told if len(told) <= _SHOWN else f"{told[: _SHOWN - 1]}…"


# --- the door -------------------------------------------------------------------------------


def guarded(owner: Class) -> Class:
    """Check the arguments of every public method of a class by their declared types."""
    for name, method in list(vars(owner).items()):
        if callable(method) and not name.startswith("_"):
            setattr(owner, name, checked(method))
    return owner


def checked(function: Callable[P, T]) -> Callable[P, T]:
    """Return *function* so that a wrong argument is an InputError that names it, never a TypeError from within."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        positional, named = _door(function).admit(args, kwargs)
        return function(*positional, **named)

    return call


@cache
def _door(function: Callable[..., Any]) -> "_Door":
    return _Door(function)


class _Door:
    """What one function takes, read once; without `inspect`, which a command would pay for."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function, code = function, function.__code__
        named = code.co_argcount + code.co_kwonlyargcount
        several = bool(code.co_flags & _SEVERAL)
        names = code.co_varnames[: named + several]
        self._placed, single, self._several = names[: code.co_argcount], names[:named], names[named:]
        self._named = frozenset(single[code.co_posonlyargcount :])
        usual = self._placed[len(self._placed) - len(function.__defaults__ or ()) :]
        self._required = frozenset(single).difference(usual, function.__kwdefaults__ or ())
        told = {name: hint for name, hint in function.__annotations__.items() if name in names}
        # What a method returns is not looked at: its name may be one that only other verbs load.
        self._hints = get_type_hints(SimpleNamespace(__annotations__=told), function.__globals__)

    def admit(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments as they are declared; refuse what is not."""
        taken, rest = self._placed[: len(args)], args[len(self._placed) :]
        fits = kwargs.keys() <= self._named and kwargs.keys().isdisjoint(taken)
        if not fits or self._required.difference(taken, kwargs) or (rest and not self._several):
            self._bind(args, kwargs)
        placed = [fitted(value, self._hints.get(name, Any), name) for name, value in zip(taken, args, strict=False)]
        placed += [fitted(value, self._hints.get(name, Any), name) for name in self._several for value in rest]
        return tuple(placed), {key: fitted(value, self._hints.get(key, Any), key) for key, value in kwargs.items()}

    def _bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Refuse arguments that do not fit as Python does."""
        from inspect import signature  # noqa: PLC0415

        try:
            signature(self._function).bind(*args, **kwargs)
        except TypeError as error:
            others = sorted(self._named.difference(self._placed), key=list(self._hints).index)
            names = [name for name in (*self._placed, *self._several, *others) if name != "self"]
            called = self._function.__name__.strip("_")
            raise InputError(f"{called}: {error}", hint=f"it takes {', '.join(names)}") from error


# --- values ---------------------------------------------------------------------------------


def fit(record: Any) -> None:
    """Bring the fields of a frozen *record* to their declared types, from its `__post_init__`; refuse what is not."""
    kind: Any = type(record)
    for name, hint, usual in _fields(kind):
        value = getattr(record, name)
        fits = value if value is usual else fitted(value, hint, name)
        if fits is not value:
            force_setattr(record, name, fits)


@cache
def _fields(record: type) -> tuple[tuple[str, Any, Any], ...]:
    """Return the name, the type and the usual value of each field."""
    hints = get_type_hints(record)
    return tuple((each.name, hints[each.name], each.default) for each in fields(record))


# What a declared type is made of does not change, and every value asks for it.
_origin: Final[Callable[[Any], Any]] = cache(get_origin)
_args: Final[Callable[[Any], tuple[Any, ...]]] = cache(get_args)


def fitted(value: Any, hint: Any, name: str) -> Any:
    """Return *value* as the type *hint* has it: texts storable, lists as declared; refuse what does not fit."""
    if hint is Any or hint is object:
        return value
    arms = _args(hint) if _origin(hint) in (Union, UnionType) else (hint,)
    if Any in arms or (value is None and NoneType in arms):
        return value
    if Path in arms:
        return _path(value, name)
    if date in arms:
        return _when(value, name)
    *others, last = (arm for arm in arms if arm is not NoneType)
    for arm in others:
        with suppress(InputError):
            return _fitted(value, arm, name)
    return _fitted(value, last, name)


def _fitted(value: Any, hint: Any, name: str) -> Any:
    origin = _origin(hint) or hint
    if origin is Literal:
        return value if isinstance(value, str) and value in get_args(hint) else _refuse(value, hint, name)
    if origin in _PLAIN:
        return _PLAIN[origin](value, name)
    if origin is Callable:
        return value if callable(value) else _refuse(value, Callable, name)
    if issubclass(origin, Mapping):
        return _mapping(value, get_args(hint), name)
    if issubclass(origin, Collection):
        return _several(value, origin, get_args(hint)[0], name)
    return value if isinstance(value, origin) else _refuse(value, hint, name)


def _refuse(value: object, hint: Any, name: str) -> Any:
    choices = f"one of {', '.join(get_args(hint))}" if get_origin(hint) is Literal else ""
    wanted = choices or _WANTED.get(hint) or f"give a {getattr(hint, '__name__', hint)}"
    raise InputError(f"{name} cannot be {shown(value)}", hint=wanted)


def _text(value: Any, name: str) -> str:
    return storable(value) if isinstance(value, str) else _refuse(value, str, name)


def _flag(value: Any, name: str) -> bool:
    return value if isinstance(value, bool) else _refuse(value, bool, name)


def _whole(value: Any, name: str) -> int:
    try:
        number = index(value)
    except TypeError:
        number = _refuse(value, int, name)
    if isinstance(value, bool):
        _refuse(value, int, name)
    if abs(number) >= LARGEST:
        raise InputError(f"{name} cannot be {shown(value)}: it is too large", hint="give a number below 2**63")
    return number


def _number(value: Any, name: str) -> float:
    try:
        number = value if isinstance(value, float) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    fits = math.isfinite(number) and not isinstance(value, str | bytes | bool)
    return number if fits else _refuse(value, float, name)


def _moment(value: Any, name: str) -> Any:
    if not isinstance(value, datetime):
        _refuse(value, datetime, name)
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    try:
        aware.astimezone(UTC)
    except (OverflowError, ValueError):
        _refuse(value, datetime, name)
    return aware


def _when(value: Any, name: str) -> datetime | date | str:
    """Return a moment, a day or a text; which moment a text names is for those to read who know the time."""
    if isinstance(value, date | str):
        kind = datetime if isinstance(value, datetime) else type(value)
        return _PLAIN[kind](value, name) if kind in _PLAIN else value
    raise InputError(f"{name} cannot be {shown(value)}", hint="give a datetime, a date, or text such as yesterday")


def _path(value: Any, name: str) -> Any:
    if not isinstance(value, str | Path):
        _refuse(value, Path, name)
    try:
        os.fsencode(value)
    except UnicodeError as error:
        raise InputError(f"no file can be called {shown(str(value))}", hint="give a path") from error
    return value


def _mapping(value: Any, arms: tuple[Any, ...], name: str) -> Any:
    if not isinstance(value, Mapping):
        _refuse(value, Mapping, name)
    key, each = arms
    return {fitted(one, key, name): fitted(other, each, f"{name}: {shown(one)}") for one, other in value.items()}


def _several(value: Any, kind: type, each: Any, name: str) -> Any:
    """Return a list as declared; the numbers of a vector are looked at by who knows what a vector is."""
    if isinstance(value, str | bytes | bytearray | Mapping) or not isinstance(value, Iterable):
        raise InputError(f"{name} cannot be {shown(value)}", hint="give a list")
    if each is float:
        return value
    found = [fitted(one, each, name) for one in value]
    return frozenset(found) if kind is frozenset else tuple(found)


_PLAIN: Final[Mapping[Any, Callable[[Any, str], Any]]] = {
    str: _text,
    bool: _flag,
    int: _whole,
    float: _number,
    datetime: _moment,
}
