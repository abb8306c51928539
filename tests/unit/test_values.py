"""Our dataclasses are what the standard ones are."""

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from recollect import values


def point(dataclass: Callable[..., Any], field: Callable[..., Any]) -> Any:
    """Return a class of every kind of field, made by *dataclass*."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Point:
        """A place."""

        x: int
        y: int = 2
        tags: list[str] = field(default_factory=list)
        seen: int = field(default=0, compare=False, repr=False)
        made: int = field(init=False, default=5)
        sum: int = field(init=False)

        def __post_init__(self) -> None:
            if self.x < 0:
                raise ValueError(self.x)
            object.__setattr__(self, "sum", self.x + self.y)

        @property
        def both(self) -> int:
            return self.x + self.y

    return Point


OURS = point(values.dataclass, values.field)
THEIRS = point(dataclasses.dataclass, dataclasses.field)


@values.dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What is pickled."""

    name: str
    number: int = 1


@values.dataclass(slots=True)
class Counter:
    """What changes."""

    name: str
    count: int = 0


def shown(make: Callable[[], object]) -> str:
    """Return what *make* returns or raises, as text without where the class was made."""
    try:
        return repr(make()).replace("point.<locals>.", "")
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}".replace("point.<locals>.", "")


@pytest.mark.parametrize("calls", [0, 20], ids=["first", "compiled"])
@pytest.mark.parametrize(
    "act",
    [
        lambda kind: kind(x=1),
        lambda kind: kind(x=1, y=3, tags=["a"], seen=7),
        lambda kind: kind(),
        lambda kind: kind(1),
        lambda kind: kind(x=1, z=2),
        lambda kind: kind(x=-1),
        lambda kind: kind(x=1, sum=2),
        lambda kind: kind(x=1, made=2),
        lambda kind: (kind(x=1).sum, kind(x=1).made),
        lambda kind: kind(x=1).both,
        lambda kind: kind(x=1, seen=1) == kind(x=1, seen=2),
        lambda kind: kind(x=1) == kind(x=2),
        lambda kind: kind(x=1) == 1,
        lambda kind: hash(kind(x=1)),
        lambda kind: kind(x=1).tags is kind(x=1).tags,
        lambda kind: setattr(kind(x=1), "x", 2),
        lambda kind: delattr(kind(x=1), "x"),
        lambda kind: dataclasses.replace(kind(x=1), y=9),
        lambda kind: values.replace(kind(x=1), y=9),
        lambda kind: values.replace(kind(x=1), z=9),
        lambda kind: dataclasses.asdict(kind(x=1)),
        lambda kind: [each.name for each in values.fields(kind)],
        lambda kind: [(each.name, each.type, each.compare) for each in dataclasses.fields(kind(x=1))],
        lambda kind: (values.is_dataclass(kind), dataclasses.is_dataclass(kind(x=1)), values.is_dataclass(3)),
        inspect.signature,
        lambda kind: (kind.__doc__, kind.__slots__, kind.__match_args__, hasattr(kind(x=1), "__dict__")),
        lambda kind: copy.deepcopy(kind(x=1, tags=["a"])),
    ],
)
def test_ours_do_what_the_standard_ones_do(act: Callable[[Any], object], calls: int) -> None:
    for kind in (OURS, THEIRS):
        for _ in range(calls):
            kind(x=1)

    assert shown(lambda: act(OURS)) == shown(lambda: act(THEIRS))


def test_equal_values_have_the_same_hash() -> None:
    assert hash(Kept(name="a")) == hash(Kept(name="a", number=1))
    assert len({Kept(name="a"), Kept(name="a"), Kept(name="b")}) == 2


def test_a_value_comes_back_from_a_pickle() -> None:
    assert pickle.loads(pickle.dumps(Kept(name="a", number=2))) == Kept(name="a", number=2)  # noqa: S301


def test_what_is_not_frozen_changes_and_has_no_hash() -> None:
    counter = Counter("a")

    counter.count += 1

    assert counter == Counter("a", 1)
    with pytest.raises(TypeError):
        hash(counter)


def test_a_default_that_can_change_is_refused() -> None:
    class Bad:
        items: list[str] = []  # noqa: RUF012

    with pytest.raises(ValueError, match="default_factory"):
        values.dataclass(frozen=True, slots=True)(Bad)


def test_a_class_variable_is_no_field() -> None:
    @values.dataclass(frozen=True, slots=True, kw_only=True)
    class Ship:
        kinds: ClassVar[tuple[str, ...]] = ("brig", "sloop")
        name: str

    assert [each.name for each in values.fields(Ship)] == ["name"]
    assert (Ship(name="Mary").kinds, Ship.kinds) == (("brig", "sloop"), ("brig", "sloop"))
