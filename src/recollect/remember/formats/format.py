"""The description of a file format: its name, its suffixes, how to recognize it, how to read it."""

import json
from collections.abc import Iterable, Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from recollect.errors import FileError
from recollect.remember.find_files import read_text, suffix_of
from recollect.remember.formats.archive import open_archive
from recollect.remember.formats.record import Origin, Parsed

HEAD_BYTES: Final = 64 * 1024
"""How much of a file recognizers see."""
HEAD_LINES: Final = 20


class Glimpse(Struct, frozen=True, dict=True):
    """The path and the first bytes of a file, from which its format is recognized."""

    path: Path

    @cached_property
    def head(self) -> bytes:
        """The first bytes of the file; empty if it cannot be read (reading it will report why)."""
        try:
            if not self.path.is_file():
                return b""
            with self.path.open("rb") as file:
                return file.read(HEAD_BYTES)
        except (OSError, ValueError):
            return b""

    @cached_property
    def text(self) -> str:
        """The first bytes as text, without those that are not UTF-8."""
        return self.head.decode("utf-8-sig", "ignore")

    @cached_property
    def records(self) -> tuple[dict[str, Any], ...]:
        """The JSON objects among the first lines."""
        return tuple(_records(self.text.split("\n")[:HEAD_LINES]))

    @cached_property
    def members(self) -> frozenset[str]:
        """The names in a ZIP archive; none if the file is not one."""
        if self.suffix != ".zip" or not self.head.startswith(b"PK"):
            return frozenset()
        try:
            with open_archive(self.path) as archive:
                return frozenset(archive.names)
        except FileError:
            return frozenset()

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


class Format(Struct, frozen=True):
    """A format: its name, how its files are recognized, and how they are read.

    A file has the first format of the table whose suffix and recognizer match. Reader and recognizer are functions
    of a module of this package, which is loaded when a file with such a suffix turns up.
    """

    name: str
    about: str
    suffixes: tuple[str, ...]
    module: str
    reader: str
    recognizer: str = ""
    """Decides from a `Glimpse`; blank if the suffix alone decides."""
    by_name: bool = False
    """Whether reader and recognizer serve several formats, and take the name of this one."""
    takes_text: bool = False
    """Whether the reader takes the text of the file instead of its path, and returns everything at once."""
    folders: bool = False
    """Whether it reads a folder itself instead of the files in it, when asked for by name."""
    isolated: bool = False
    """Whether a child process reads it, because its libraries parse untrusted bytes."""

    def matches(self, glimpse: Glimpse) -> bool:
        """Tell whether the file is of this format."""
        if glimpse.suffix not in self.suffixes:
            return False
        return not self.recognizer or bool(self._call(self.recognizer, glimpse))

    def read(self, path: Path, origin: Origin) -> Iterator[Parsed]:
        """Yield the memories of the file: one part for a document, any number for a collection."""
        if self.takes_text:
            yield self._call(self.reader, read_text(path), origin)
        else:
            yield from self._call(self.reader, path, origin)

    def _call(self, function: str, *arguments: object) -> Any:
        module = import_module(f"recollect.remember.formats.{self.module}")
        return getattr(module, function)(*arguments, *((self.name,) if self.by_name else ()))
