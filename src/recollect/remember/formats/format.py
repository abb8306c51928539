"""What a format is: a name, the files it is found in, how one is recognised, how one is read.

The modules of formats are loaded when a file of theirs is met: an import of Markdown does not load what reads PDF.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from recollect.remember.find_files import read_text, suffix_of
from recollect.remember.formats.record import Origin, Parsed

PathReader = Callable[[Path, Origin], Iterator[Parsed]]
"""How a file becomes memories, in parts: a document has one part, a collection as many as it likes."""
HEAD: Final = 64 * 1024
"""How many bytes at the beginning of a file tell what it is."""
SAMPLED: Final = 20
"""How many lines do."""


class Glimpse(Struct, frozen=True, dict=True):
    """What tells the format of a file before it is read: its path and its first bytes."""

    path: Path

    @cached_property
    def head(self) -> bytes:
        """The first bytes of the file; none where it cannot be read, which reading it will report."""
        try:
            if not self.path.is_file():
                return b""
            with self.path.open("rb") as file:
                return file.read(HEAD)
        except (OSError, ValueError):
            return b""

    @cached_property
    def text(self) -> str:
        """The first bytes as text, with what is none left out."""
        return self.head.decode("utf-8-sig", "ignore")

    @cached_property
    def records(self) -> tuple[dict[str, Any], ...]:
        """The records among the first lines, where the file is one of JSON Lines."""
        return tuple(_records(self.text.split("\n")[:SAMPLED]))

    @property
    def suffix(self) -> str:
        """The end of the file's name, in lower case."""
        return suffix_of(self.path.name)


def _records(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value


class Format(Struct, frozen=True, kw_only=True):
    """A format: what it is called, how a file of it becomes memories, and how its files are known.

    A file is of the first format in the table whose suffixes it has and whose sign, where there is one, it bears.
    """

    name: str
    about: str
    read: PathReader
    suffixes: tuple[str, ...]
    sign: Callable[[Glimpse], bool] | None = None
    folders: bool = False
    """Whether it reads a folder itself, and not the files in it, where it is asked for by its name."""
    isolated: bool = False
    """Whether a child process reads it: its libraries take bytes that may be made to do harm."""

    def fits(self, glimpse: Glimpse) -> bool:
        """Tell whether the file is of this format."""
        return glimpse.suffix in self.suffixes and (self.sign is None or self.sign(glimpse))


def whole(module: str, function: str) -> PathReader:
    """Return how a document is read that is one text: by *function* of *module*, which takes the text."""

    def read(path: Path, origin: Origin) -> Iterator[Parsed]:
        yield _load(module, function)(read_text(path), origin)

    return read


def parts(module: str, function: str, *more: str) -> PathReader:
    """Return how a file is read by *function* of *module*, which takes the path and yields what it finds in parts."""

    def read(path: Path, origin: Origin) -> Iterator[Parsed]:
        yield from _load(module, function)(path, origin, *more)

    return read


def sign(module: str, function: str, *more: str) -> Callable[[Glimpse], bool]:
    """Return how a file is recognised: by *function* of *module*, which takes a glimpse of it."""
    return lambda glimpse: bool(_load(module, function)(glimpse, *more))


def _load(module: str, function: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(import_module(f"recollect.remember.formats.{module}"), function)
    return found
