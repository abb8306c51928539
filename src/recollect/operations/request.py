"""Requests: the one description of an operation, from which every surface derives its own.

An operation is a request (a Struct whose fields are its parameters) and a function that takes it. The name, the help
text and the bounds of a parameter stand in the annotation of its field, and nowhere else.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from functools import cache
from importlib import import_module
from math import isfinite
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, dataclass_transform, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, Meta, Struct, StructMeta, ValidationError
from msgspec import field as struct_field
from msgspec.structs import fields

from recollect.arguments import shown, storable
from recollect.errors import InputError
from recollect.lazy import convert, regex
from recollect.operations.rights import LOCAL, Rights
from recollect.parameters import Hints, about
from recollect.records import Progress, Trust

Group = Literal["daily", "agents", "care", "measure"]
Kind = Literal["text", "texts", "words", "number", "numbers", "float", "flag", "choice", "paths", "id", "ids", "object"]
MAX_INTEGER: Final = 2**63
_FIELD_IN_ERROR: Final = regex(r"`\$\.(\w+)")


class Traits(Struct, frozen=True, kw_only=True):
    """What a surface must know about an operation beyond its parameters."""

    rights: Rights = LOCAL
    """Who may do it through a server, and what it touches; without a declaration no server offers it."""
    group: Group = "daily"
    verb: str = ""
    """What the command line calls it if not by its name, such as "facts stale"; "-" if it is no command."""
    slow: bool = False
    """Whether it reports progress."""
    needs_store: bool = True
    """Whether it works on the user's store; else it gets an empty one in memory."""
    creates_store: bool = False
    """Whether it may create a store that does not exist yet."""
    is_shared: bool = False
    """Whether it only lends its fields to other requests, which list them last."""
    names_project: bool = False
    """Whether its Python method takes the project to write to."""
    in_python: bool = True
    """Whether it is a method in Python; some only make sense in a terminal."""
    brief_limit: int = 0
    """The `limit` of a request on a terminal that names none, nor asks for all; 0 for no such limit."""
    example: Mapping[str, Any] = {}
    """The values of a typical request, for the reference."""
    stopped: str = ""
    """What to say when it is interrupted: what was kept, and how to go on; {done} and {total} are known."""


class _RequestMeta(StructMeta):
    """Keeps the traits of an operation, which stand in the head of its request class."""

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> Any:
        traits = {key: options.pop(key) for key in Traits.__struct_fields__ if key in options}
        options.setdefault("kw_only", True)
        made = super().__new__(mcls, name, bases, namespace, **options)
        made.traits = Traits(**traits)
        return made

    traits: Traits


class Call(Struct, frozen=True, kw_only=True):
    """What a request does not say itself: when it came, how far its caller is trusted, who watches it."""

    now: datetime
    trust: Trust = "owner"
    progress: Progress | None = None
    cancelled: Callable[[], bool] | None = None
    """Asked now and then by a search, which stops once it returns True."""
    brief: bool = False
    """Whether a person reads the answer on a screen and named no limit."""
    store: str = ""
    """The store, as messages name it."""


class LazyChoices(Sequence[str]):
    """Choices that are loaded when somebody reads them: a start that does not costs nothing."""

    def __init__(self, module: str, table: str) -> None:
        self._module, self._table = module, table

    def _names(self) -> tuple[str, ...]:
        return tuple(getattr(import_module(self._module), self._table))

    def __getitem__(self, at: Any) -> Any:
        return self._names()[at]

    def __len__(self) -> int:
        return len(self._names())


# --- parameters -----------------------------------------------------------------------------


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(struct_field,))
class Request(
    Struct, metaclass=_RequestMeta, is_shared=True, frozen=True, forbid_unknown_fields=True, omit_defaults=True
):
    """What an operation is asked to do. Subclasses add its parameters."""

    project: Annotated[str, about("the project to write to and to search", is_scope=True)] | None = None


def with_options(base: type[Request], described: type[Struct], *, without: Sequence[str] = ()) -> Any:
    """Return *base* with those fields of *described* that carry a description: their only one, then."""
    hints = get_type_hints(described, include_extras=True)
    taken = {each.name: each for each in fields(described) if each.name not in without}
    own = {name: hints[name] for name in taken if _unwrapped(hints[name])[0] is not None}
    members = {"__module__": base.__module__, "__annotations__": own, **{name: taken[name].default for name in own}}
    return _RequestMeta(f"{described.__name__}Options", (base,), members)


def with_values(base: type[Request], record: type[Struct], names: Iterable[str], *, dates: Iterable[str] = ()) -> Any:
    """Return *base* with fields of *record* that only Python sets: *names*, and *dates* that may be texts, too."""
    hints, where = get_type_hints(record), f"as in `{record.__name__}`"
    own: dict[str, Any] = {name: Annotated[hints[name], about(where, only="python")] | None for name in names}
    own |= {name: Annotated[Any, about(where, only="python", metavar="DATE")] | None for name in dates}
    members = {"__module__": base.__module__, "__annotations__": own, **dict.fromkeys(own)}
    return _RequestMeta(f"{record.__name__}Values", (base,), members, is_shared=True)


class Parameter(Struct, frozen=True, kw_only=True):
    """One field of a request, as surfaces see it."""

    name: str
    about: str
    kind: Kind
    default: Any = None
    is_required: bool = False
    choices: Sequence[str] = ()
    minimum: float | None = None
    maximum: float | None = None
    hints: Hints = Hints()
    type_name: str = "Any"
    """The name of its type, for Python."""

    @property
    def place(self) -> bool:
        """Whether it is an argument of the command line."""
        return self.hints.place > 0

    @property
    def is_date(self) -> bool:
        """Whether it is a date: text that people write, or a date or moment of Python."""
        return self.hints.metavar == "DATE"

    @property
    def option(self) -> str:
        """Its name on the command line."""
        return self.name.strip("_").replace("_", "-")

    def wanted(self) -> str:
        """Return what it takes, as the hint of an error."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if self.kind in ("number", "float") and self.minimum is not None:
            bounds = (
                f"of at least {self.minimum:g}"
                if self.maximum is None
                else f"from {self.minimum:g} to {self.maximum:g}"
            )
            return f"give {_WANTED[self.kind]} {bounds}"
        return _WANTED[self.kind]


_WANTED: Final[Mapping[str, str]] = {
    "flag": "true or false",
    "number": "a whole number",
    "float": "a number",
    "texts": "a list of texts",
    "paths": "a list of texts",
    "numbers": "a list of numbers, in the body of a POST",
    "id": "a whole number",
    "ids": "a whole number, or a list of them",
    "words": "a text",
    "text": "a text",
    "choice": "one of its choices",
    "object": "see its type",
}


@cache
def parameters_of(request: type[Request]) -> tuple[Parameter, ...]:
    """Return the parameters of *request*: arguments first, those it shares with other requests last."""
    hints = get_type_hints(request, include_extras=True)
    found = [_parameter(each, hints[each.name]) for each in fields(request)]
    shared = [kind for kind in request.__mro__ if isinstance(kind, _RequestMeta) and kind.traits.is_shared]
    lent = {name for kind in shared for name in kind.__annotations__}
    return tuple(sorted(found, key=lambda each: (each.hints.place or len(found), each.name in lent)))


def _parameter(field: Any, hint: Any) -> Parameter:
    meta, inner = _unwrapped(hint)
    hints = (meta.extra or {}).get("hints", Hints()) if meta else Hints()
    return Parameter(
        name=field.name,
        about=(meta.description if meta else "") or "",
        kind=_kind(inner, hints),
        default=None if field.default in (NODEFAULT, ()) else field.default,
        is_required=field.required,
        choices=hints.choices or (get_args(inner) if get_origin(inner) is Literal else ()),
        minimum=meta.ge if meta else None,
        maximum=meta.le if meta else None,
        hints=hints,
        type_name=getattr(inner, "__name__", "Any"),
    )


def _unwrapped(hint: Any) -> tuple[Meta | None, Any]:
    """Return the description in an annotation, and the type without it and without None."""
    if get_origin(hint) in (Union, UnionType):
        hint = next(arm for arm in get_args(hint) if arm is not NoneType)
    if get_origin(hint) is Annotated:
        inner, *metas = get_args(hint)
        meta = next(each for each in metas if isinstance(each, Meta))
        nested = _unwrapped(inner)[1]
        return meta, nested
    return None, hint


def _kind(inner: Any, hints: Hints) -> Kind:
    if get_origin(inner) is Literal or (isinstance(hints.choices, tuple) and hints.choices):
        return "choice"
    if get_origin(inner) is tuple:
        item = get_args(inner)[0]
        return "ids" if item is int else "numbers" if item is float else "paths" if hints.place else "texts"
    if inner is int:
        return "id" if hints.is_id else "number"
    text: Kind = "words" if hints.words else "text"
    kinds: Mapping[Any, Kind] = {bool: "flag", float: "float", str: text, Any: "text" if hints.metavar else "object"}
    return kinds.get(inner, "object")


# --- reading a request ----------------------------------------------------------------------


def parse(
    request: type[Request],
    name: str,
    values: Mapping[str, Any],
    *,
    allowed: Sequence[Parameter] | None = None,
    local: bool = False,
) -> Any:
    """Return the request for the operation *name* that *values* describe; refuse what does not fit.

    This is the one place where values are checked. Of the parameters only those *allowed* are taken. None counts as
    not given, and so does an empty list, unless a *local* program gives it: a filter by no names matches nothing there.
    Such a program may also name what is not among the choices of a server, such as a profile in a file.
    """
    known = {each.name: each for each in (parameters_of(request) if allowed is None else allowed)}
    for key in values:
        if key not in known:
            raise InputError(f"{name} takes no {key!r}", hint=f"one of {', '.join(sorted(known))}")
    given = {
        key: _read(known[key], value, local=local)
        for key, value in values.items()
        if value is not None and (local or known[key].is_required or not _is_no_list(known[key], value))
    }
    for each in known.values():
        if each.is_required and each.name not in given:
            raise InputError(f"{name} needs {each.name!r}", hint=each.about)
    try:
        return convert(given, request)
    except ValidationError as error:
        found = _FIELD_IN_ERROR.search(str(error))
        parameter = known[found[1]] if found else None
        if parameter is None:
            raise InputError(f"{name}: {error}", hint="see its help") from error
        raise InputError(
            f"{parameter.name} cannot be {shown(given[parameter.name])}", hint=parameter.wanted()
        ) from error


def _is_no_list(parameter: Parameter, value: Any) -> bool:
    return parameter.kind != "numbers" and isinstance(value, list | tuple) and not value


def _read(parameter: Parameter, value: Any, *, local: bool) -> Any:
    """Return *value* as the type of its field takes it: texts that can be stored, one text as a list of one."""
    if parameter.hints.read is not None:
        value = parameter.hints.read(value)
    if parameter.kind in _READERS:
        return _READERS[parameter.kind](parameter, value)
    if parameter.is_date and not isinstance(value, str):
        return _date(parameter, value)
    is_free = local and parameter.hints.only == "program"
    if parameter.kind == "choice" and not is_free and value not in parameter.choices:
        _refuse(parameter, value)
    return storable(value) if isinstance(value, str) else value


def _ids(parameter: Parameter, value: Any) -> tuple[int, ...]:
    several = value if isinstance(value, list | tuple) else [value]
    return tuple(dict.fromkeys(read_id(each) for each in several)) or _refuse(parameter, value)


def _texts(_: Parameter, value: Any) -> Any:
    if isinstance(value, str):
        return (storable(value),)
    is_list = isinstance(value, Iterable) and not isinstance(value, bytes | Mapping)
    return [storable(each) if isinstance(each, str) else each for each in value] if is_list else value


def _number(parameter: Parameter, value: Any) -> Any:
    is_large = isinstance(value, int) and abs(value) >= MAX_INTEGER
    return _refuse(parameter, value) if is_large or (isinstance(value, float) and not isfinite(value)) else value


def _date(parameter: Parameter, value: Any) -> Any:
    """Return a date or a moment, which is aware of its time zone: UTC unless it says otherwise."""
    if not isinstance(value, date):
        hint = "give a datetime, a date, or text such as yesterday"
        raise InputError(f"{parameter.name} cannot be {shown(value)}", hint=hint)
    if not isinstance(value, datetime):
        return value
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    try:
        aware.astimezone(UTC)
    except (OverflowError, ValueError):
        _refuse(parameter, value)
    return aware


def _numbers(parameter: Parameter, value: Any) -> tuple[float, ...]:
    try:
        numbers = tuple(map(float, value))
    except (TypeError, ValueError, OverflowError):
        numbers = ()
    if not numbers or any(isinstance(each, str | bool) for each in value):
        _refuse(parameter, value)
    return numbers


_READERS: Final[Mapping[Kind, Callable[[Parameter, Any], Any]]] = {
    "ids": _ids,
    "id": lambda _, value: read_id(value),
    "texts": _texts,
    "paths": _texts,
    "number": _number,
    "float": _number,
    "numbers": _numbers,
}


def _refuse(parameter: Parameter, value: Any) -> Any:
    raise InputError(f"{parameter.name} cannot be {shown(value)}", hint=parameter.wanted())


def read_id(value: Any, *, see: str = "recollect list") -> int:
    """Return the id that *value* is: a number, or a text with or without a # in front; *see* says what lists ids."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise InputError(f"id cannot be {shown(value)}", hint="a whole number")
    try:
        number = int(value.strip().removeprefix("#")) if isinstance(value, str) else value
    except ValueError as error:
        raise InputError(f"{value!r} is not an id", hint=f"ids are numbers, such as 26 or #26; see: {see}") from error
    if abs(number) >= MAX_INTEGER:
        raise InputError(f"{shown(number)} is too large", hint=f"see: {see}")
    return number
