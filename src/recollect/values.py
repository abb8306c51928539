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

    __slots__ = ("compare", "default", "default_factory", "name", "repr", "type")
    name: str
    type: "Any"

    def __init__(
        self,
        *,
        default: "Any" = _ABSENT,
        default_factory: "Any" = _ABSENT,
        compare: bool = True,
        repr: bool = True,  # noqa: A002  (as the standard library calls it)
    ) -> None:
        self.default, self.default_factory, self.compare, self.repr = default, default_factory, compare, repr

    def usual(self) -> "Any":
        """Return what is held where nothing is given; `_ABSENT` where something must be."""
        return self.default if self.default_factory is _ABSENT else self.default_factory()

    def given(self) -> "dict[str, Any]":
        """Return what the standard `field` is to be told."""
        told = {name: getattr(self, name) for name in ("default", "default_factory", "compare", "repr")}
        return {name: value for name, value in told.items() if value is not _ABSENT}


def _dataclass(*, slots: bool, frozen: bool = False, kw_only: bool = False) -> "Callable[[type], type]":
    """Make a class with *slots* for the names it declares, and equal to another by what they hold."""
    assert slots  # noqa: S101  (the only kind that is made here)

    def made(cls: type) -> type:
        own = {name: _read(cls, name, kind) for name, kind in cls.__annotations__.items()}
        compared = [name for name, each in own.items() if each.compare] or ["__class__"]
        body = {
            **_METHODS,
            **(_FROZEN if frozen else _OPEN),
            **{name: value for name, value in vars(cls).items() if name not in own and name not in _NOT_COPIED},
            "__slots__": tuple(own),
            "__match_args__": () if kw_only else tuple(own),
            "__value__": own,
            "__compared__": attrgetter(*compared, compared[0]),  # of two names or more it makes a tuple
            "__dataclass_fields__": _Standard(frozen=frozen, kw_only=kw_only),
            "__signature__": _Standard(frozen=frozen, kw_only=kw_only),
        }
        built: Any = type(cls)(cls.__name__, cls.__bases__, body)
        built.__qualname__ = cls.__qualname__
        built.__init__ = _first_init(built, frozen=frozen, kw_only=kw_only)
        return built  # type: ignore[no-any-return]

    return made


_NOT_COPIED = ("__dict__", "__weakref__")


def _read(cls: type, name: str, kind: "Any") -> _Field:
    """Return the field that *cls* declares as *name*."""
    given = vars(cls).get(name, _ABSENT)
    found = given if isinstance(given, _Field) else _Field(default=given)
    if type(found.default).__hash__ is None:
        raise ValueError(f"{cls.__name__}.{name}: what can change is no default, give a default_factory")
    found.name, found.type = name, kind
    return found


# --- how one is made ------------------------------------------------------------------------


def _first_init(cls: "Any", *, frozen: bool, kw_only: bool) -> "Callable[..., None]":
    """Return an `__init__` that puts a compiled one in its place when it has been called a few times."""
    calls = 0

    def __init__(self: "Any", /, *args: "Any", **given: "Any") -> None:  # noqa: N807
        nonlocal calls
        calls += 1
        if args or calls > _USES or not _filled(self, cls, given):
            cls.__init__ = _compiled(cls, frozen=frozen, kw_only=kw_only)
            cls.__init__(self, *args, **given)

    return __init__


def _filled(value: "Any", cls: "Any", given: "Mapping[str, Any]") -> bool:
    """Fill *value* with what is *given*; False where that does not fit: the compiled `__init__` says how."""
    own = cls.__value__
    if not given.keys() <= own.keys():
        return False
    for name, each in own.items():
        held = given[name] if name in given else each.usual()
        if held is _ABSENT:
            return False
        getattr(cls, name).__set__(value, held)
    if hasattr(cls, "__post_init__"):
        value.__post_init__()
    return True


def _compiled(cls: "Any", *, frozen: bool, kw_only: bool) -> "Any":
    """Return the `__init__` of *cls*, written out as the standard library does."""
    space: dict[str, Any] = {"_absent": _ABSENT}
    takes, lines = ["self", *(["*"] if kw_only and cls.__value__ else [])], []
    for name, each in cls.__value__.items():
        space[f"_set_{name}"] = getattr(cls, name).__set__
        space[f"_usual_{name}"] = each.default if each.default_factory is _ABSENT else each.default_factory
        if each.default_factory is not _ABSENT:
            takes.append(f"{name}=_absent")
            lines.append(f"if {name} is _absent: {name} = _usual_{name}()")
        else:
            takes.append(name if each.default is _ABSENT else f"{name}=_usual_{name}")
        lines.append(f"_set_{name}(self, {name})" if frozen else f"self.{name} = {name}")
    lines.append("self.__post_init__()" if hasattr(cls, "__post_init__") else "pass")
    exec(f"def __init__({', '.join(takes)}):\n " + "\n ".join(lines), space)  # noqa: S102  (names of our own fields)
    space["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
    return space["__init__"]


# --- what all share -------------------------------------------------------------------------


def _repr(self: "Any") -> str:
    shown = (f"{name}={getattr(self, name)!r}" for name, each in self.__value__.items() if each.repr)
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
    return [getattr(self, name) for name in self.__value__]


def _setstate(self: "Any", state: "list[Any]") -> None:
    for name, held in zip(self.__value__, state, strict=True):
        getattr(type(self), name).__set__(self, held)


_METHODS = {"__repr__": _repr, "__eq__": _eq}
_OPEN = {"__hash__": None}
_FROZEN = {
    "__hash__": _hash,
    "__setattr__": _refuse_to_set,
    "__delattr__": _refuse_to_delete,
    "__getstate__": _getstate,
    "__setstate__": _setstate,
}


class _Standard:
    """What the standard library knows of a class that it made, for the few who ask: its fields, its signature."""

    __slots__ = ("_cls", "_name", "_options")

    def __init__(self, **options: bool) -> None:
        self._options = options

    def __set_name__(self, owner: "Any", name: str) -> None:
        self._cls, self._name = owner, name

    def __get__(self, _: object, __: type) -> "Any":
        from dataclasses import field, make_dataclass  # noqa: PLC0415
        from inspect import signature  # noqa: PLC0415

        twin: Any = make_dataclass(
            self._cls.__name__,
            [(name, each.type, field(**each.given())) for name, each in self._cls.__value__.items()],
            frozen=self._options["frozen"],
            kw_only=self._options["kw_only"],
        )
        self._cls.__dataclass_fields__, self._cls.__signature__ = twin.__dataclass_fields__, signature(twin)
        return getattr(self._cls, self._name)


# --- the standard functions, for these classes ----------------------------------------------


def _fields(value: "Any") -> "tuple[Any, ...]":
    """Return the fields of a class or of a value."""
    own = getattr(value, "__value__", None)
    if own is not None:
        return tuple(own.values())
    import dataclasses  # noqa: PLC0415

    return dataclasses.fields(value)


def _is_dataclass(value: object) -> bool:
    """Tell whether *value* is a class of fields, or a value of one."""
    kind = value if isinstance(value, type) else type(value)
    return hasattr(kind, "__value__") or hasattr(kind, "__dataclass_fields__")


def _replace(value: "Any", /, **changes: "Any") -> "Any":
    """Return *value* with some fields changed."""
    own = getattr(value, "__value__", None)
    if own is not None:
        kept = {name: getattr(value, name) for name in own if name not in changes}
        return type(value)(**kept, **changes)
    import dataclasses  # noqa: PLC0415

    return dataclasses.replace(value, **changes)


if not TYPE_CHECKING:
    MISSING, Field, dataclass, field = _ABSENT, _Field, _dataclass, _Field
    fields, is_dataclass, replace = _fields, _is_dataclass, _replace
