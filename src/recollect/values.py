"""Dataclasses that cost a start next to nothing: the decorator for slotted classes, its methods made when first used.

The standard one writes and compiles six methods for every class when its module loads, half a millisecond a class, and
a command uses few of its classes. Here the classes share their methods, and an `__init__` is compiled when it has been
called a few times. Type checkers see the standard names, and the standard functions work on these classes too.
"""

from operator import attrgetter

TYPE_CHECKING = False  # the module typing costs more than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
    from typing import Any

__all__ = ["MISSING", "Field", "dataclass", "field", "fields", "is_dataclass", "replace"]

_ABSENT = object()
_USES = 4
"""How often a class is called before its `__init__` is compiled."""


class _Field:
    """One field of a class, with the names that `dataclasses.Field` has."""

    __slots__ = ("compare", "default", "default_factory", "init", "name", "repr", "type")
    name: str
    type: "Any"

    def __init__(
        self,
        *,
        default: "Any" = _ABSENT,
        default_factory: "Any" = _ABSENT,
        init: bool = True,
        compare: bool = True,
        repr: bool = True,  # noqa: A002  (as the standard library calls it)
    ) -> None:
        self.default, self.default_factory = default, default_factory
        self.init, self.compare, self.repr = init, compare, repr

    def usual(self) -> "Any":
        """Return what is held where nothing is given; `_ABSENT` where something must be."""
        return self.default if self.default_factory is _ABSENT else self.default_factory()

    def given(self) -> "dict[str, Any]":
        """Return what the standard `field` is to be told."""
        told = {name: getattr(self, name) for name in ("default", "default_factory", "init", "compare", "repr")}
        return {name: value for name, value in told.items() if value is not _ABSENT}


def _dataclass(*, slots: bool, frozen: bool = False, kw_only: bool = False) -> "Callable[[type], type]":
    """Make a class with *slots* for the names it declares, and equal to another by what they hold."""
    assert slots  # noqa: S101  (the only kind that is made here)
    shared = {**_METHODS, **(_FROZEN if frozen else _OPEN), "__options__": {"frozen": frozen, "kw_only": kw_only}}

    def made(cls: type) -> type:
        body = {**shared, **vars(cls)}
        own = {name: body.pop(name, _ABSENT) for name, kind in cls.__annotations__.items() if not _is_of_class(kind)}
        usual = {**getattr(cls.__base__, "__usual__", {}), **own}
        for name, each in own.items():
            if type(each).__hash__ is None:
                raise ValueError(f"{cls.__name__}.{name}: what can change is no default, give a default_factory")
        compared = [name for name, each in usual.items() if type(each) is not _Field or each.compare] or ["__class__"]
        for name in _NOT_COPIED:
            body.pop(name, None)
        body |= {
            "__qualname__": cls.__qualname__,
            "__slots__": tuple(name for name in own if not hasattr(cls.__base__, name)),
            "__match_args__": () if kw_only else tuple(usual),
            "__usual__": usual,
            "__compared__": attrgetter(*compared, compared[0]),  # of two names or more it makes a tuple
        }
        return type(cls)(cls.__name__, cls.__bases__, body)

    return made


def _is_of_class(kind: "Any") -> bool:
    """Tell whether an annotation is a `ClassVar`, which is no field."""
    if isinstance(kind, str):
        return kind.startswith(("ClassVar", "typing.ClassVar"))
    return getattr(getattr(kind, "__origin__", kind), "_name", None) == "ClassVar"


_NOT_COPIED = ("__dict__", "__weakref__")


def _own(cls: "Any") -> "dict[str, _Field]":
    """Return the fields of *cls* by name, made when somebody asks for them."""
    made = cls.__dict__.get("__value__")
    if made is None:
        made = {}
        for name, each in cls.__usual__.items():
            made[name] = each if type(each) is _Field else _Field(default=each)
            declared = next(of for of in cls.__mro__ if name in of.__annotations__)
            made[name].name, made[name].type = name, declared.__annotations__[name]
        cls.__value__ = made
    return made  # type: ignore[no-any-return]


# --- how one is made ------------------------------------------------------------------------

_CALLS: "dict[type, int]" = {}


def _first_init(self: "Any", /, *args: "Any", **given: "Any") -> None:
    """Fill a value; of a class that has been called a few times, put a compiled `__init__` in the place of this."""
    cls: Any = type(self)
    calls = _CALLS[cls] = _CALLS.get(cls, 0) + 1
    if args or calls > _USES or not _filled(self, cls, given):
        cls.__init__ = _compiled(cls, **cls.__options__)
        cls.__init__(self, *args, **given)


def _filled(value: "Any", cls: "Any", given: "Mapping[str, Any]") -> bool:
    """Fill *value* with what is *given*; False where that does not fit: the compiled `__init__` says how."""
    usual = cls.__usual__
    if not given.keys() <= usual.keys():
        return False
    for name, each in usual.items():
        held = given[name] if name in given else each.usual() if type(each) is _Field else each
        inward = type(each) is not _Field or each.init
        if held is _ABSENT and not inward:
            continue  # the class sets it itself
        if held is _ABSENT or (name in given and not inward):
            return False
        getattr(cls, name).__set__(value, held)
    if hasattr(cls, "__post_init__"):
        value.__post_init__()
    return True


def _compiled(cls: "Any", *, frozen: bool, kw_only: bool) -> "Any":
    """Return the `__init__` of *cls*, written out as the standard library does."""
    space: dict[str, Any] = {"_absent": _ABSENT}
    takes: list[str] = []
    lines: list[str] = []
    for name, each in _own(cls).items():
        space[f"_set_{name}"] = getattr(cls, name).__set__
        space[f"_usual_{name}"] = each.default if each.default_factory is _ABSENT else each.default_factory
        if not each.init:
            made = "" if each.default_factory is _ABSENT else "()"
            lines += [f"_set_{name}(self, _usual_{name}{made})"] if space[f"_usual_{name}"] is not _ABSENT else []
            continue
        if each.default_factory is not _ABSENT:
            takes.append(f"{name}=_absent")
            lines.append(f"if {name} is _absent: {name} = _usual_{name}()")
        else:
            takes.append(name if each.default is _ABSENT else f"{name}=_usual_{name}")
        lines.append(f"_set_{name}(self, {name})" if frozen else f"self.{name} = {name}")
    lines.append("self.__post_init__()" if hasattr(cls, "__post_init__") else "pass")
    head = ", ".join(["self", *(["*"] if kw_only and takes else []), *takes])
    exec(f"def __init__({head}):\n " + "\n ".join(lines), space)  # noqa: S102  (names of our own fields)
    space["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
    return space["__init__"]


# --- what all share -------------------------------------------------------------------------


def _repr(self: "Any") -> str:
    shown = (f"{name}={getattr(self, name)!r}" for name, each in _own(type(self)).items() if each.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _eq(self: "Any", other: "Any") -> "Any":
    if other.__class__ is not self.__class__:
        return NotImplemented
    compared: Any = self.__compared__
    return compared(self) == compared(other)


def _hash(self: "Any") -> int:
    return hash(self.__compared__(self))


def _refuse_to_set(_: object, name: str, __: object) -> None:
    from dataclasses import FrozenInstanceError  # noqa: PLC0415  (nobody does it twice)

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_: object, name: str) -> None:
    from dataclasses import FrozenInstanceError  # noqa: PLC0415

    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _getstate(self: "Any") -> "list[Any]":
    return [getattr(self, name) for name in self.__usual__]


def _setstate(self: "Any", state: "list[Any]") -> None:
    for name, held in zip(self.__usual__, state, strict=True):
        getattr(type(self), name).__set__(self, held)


class _Standard:
    """What the standard library knows of a class that it made, for the few who ask: its fields, its signature."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, _: object, cls: "Any") -> "Any":
        from dataclasses import field, make_dataclass  # noqa: PLC0415
        from inspect import signature  # noqa: PLC0415

        named = [(name, each.type, field(**each.given())) for name, each in _own(cls).items()]
        twin: Any = make_dataclass(cls.__name__, named, **cls.__options__)
        cls.__dataclass_fields__, cls.__signature__ = twin.__dataclass_fields__, signature(twin)
        return getattr(cls, self._name)


_METHODS: "dict[str, Any]" = {
    "__init__": _first_init,
    "__repr__": _repr,
    "__eq__": _eq,
    "__dataclass_fields__": _Standard("__dataclass_fields__"),
    "__signature__": _Standard("__signature__"),
}
_OPEN: "dict[str, Any]" = {"__hash__": None}
_FROZEN: "dict[str, Any]" = {
    "__hash__": _hash,
    "__setattr__": _refuse_to_set,
    "__delattr__": _refuse_to_delete,
    "__getstate__": _getstate,
    "__setstate__": _setstate,
}


# --- the standard functions, for these classes ----------------------------------------------


def _fields(value: "Any") -> "tuple[Any, ...]":
    """Return the fields of a class or of a value."""
    if hasattr(value, "__usual__"):
        return tuple(_own(value if isinstance(value, type) else type(value)).values())
    import dataclasses  # noqa: PLC0415

    return dataclasses.fields(value)


def _is_dataclass(value: object) -> bool:
    """Tell whether *value* is a class of fields, or a value of one."""
    kind = value if isinstance(value, type) else type(value)
    return hasattr(kind, "__usual__") or hasattr(kind, "__dataclass_fields__")


def _replace(value: "Any", /, **changes: "Any") -> "Any":
    """Return *value* with some fields changed."""
    cls: Any = type(value)
    own = getattr(cls, "__usual__", None)
    if own is not None:
        copied = cls.__dict__.get("__copied__")
        if copied is not None and changes.keys() <= own.keys():
            return copied(value, changes)
        inward = [name for name, each in own.items() if type(each) is not _Field or each.init]
        calls = _COPIES[cls] = _COPIES.get(cls, 0) + 1
        if calls == _USES and len(inward) == len(own) and not hasattr(cls, "__post_init__"):
            cls.__copied__ = _copier(cls)
        kept = {name: getattr(value, name) for name in inward if name not in changes}
        return cls(**kept, **changes)
    import dataclasses  # noqa: PLC0415

    return dataclasses.replace(value, **changes)


_COPIES: "dict[type, int]" = {}


def _copier(cls: "Any") -> "Callable[[Any, Mapping[str, Any]], Any]":
    """Return what copies a value of *cls* with changes, written out: a search makes dozens, of thirty fields each."""
    setters = {name: getattr(cls, name).__set__ for name in cls.__usual__}
    space: dict[str, Any] = {"_new": object.__new__, "_cls": cls, "_setters": setters}
    space |= {f"_set_{name}": put for name, put in setters.items()}
    lines = ["made = _new(_cls)", *(f"_set_{name}(made, value.{name})" for name in setters)]
    lines += ["for name in changes: _setters[name](made, changes[name])", "return made"]
    exec("def copied(value, changes):\n " + "\n ".join(lines), space)  # noqa: S102  (names of our own fields)
    return space["copied"]  # type: ignore[no-any-return]


if not TYPE_CHECKING:
    MISSING, Field, dataclass, field = _ABSENT, _Field, _dataclass, _Field
    fields, is_dataclass, replace = _fields, _is_dataclass, _replace
