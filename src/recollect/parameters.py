"""How a parameter is described: its help text, its bounds, and what surfaces must know about it."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from msgspec import Meta, Struct


class Hints(Struct, frozen=True, kw_only=True):
    """What surfaces must know about a parameter that its type does not say."""

    place: int = 0
    """Its place among the arguments of the command line, from 1 on; 0 for an option."""
    words: bool = False
    """Whether it takes all words that are left, joined to one text."""
    is_scope: bool = False
    """Whether it says which project the caller sees: a global option of the command line."""
    is_id: bool = False
    """Whether it is an id, which may be written #26."""
    short: str = ""
    """A letter that stands for its name."""
    off: str = ""
    """What turns a flag off that is on by default."""
    only: Literal["", "machine", "terminal", "program", "python"] = ""
    """Where alone it can be given: on the machine of the store, in a terminal, by a program, in Python; blank for
    everywhere."""
    metavar: str = ""
    """What stands for its value in the help; its name if blank."""
    choices: Sequence[str] = ()
    read: Callable[[Any], Any] | None = None
    """Turns what people write into a value of its type."""
    keyword: str = ""
    """Its name in Python, if that is not the name of the field."""
    inverse: str = ""
    """The name under which Python has the opposite of a flag: what is on by default is a plain word there."""
    python: str = ""
    """Its type in Python, if it is not that of the field."""


def about(description: str, *, ge: float | None = None, le: float | None = None, **hints: Any) -> Meta:
    """Describe a parameter: what it is for, its bounds, and what surfaces must know about it."""
    return Meta(description=description, ge=ge, le=le, extra={"hints": Hints(**hints)})
