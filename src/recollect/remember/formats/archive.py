"""Read the parts of a document that is a ZIP archive (DOCX, ODT, EPUB), never more of one than is reasonable.

Nothing is ever written to disk, so names in an archive can lead nowhere.
"""

import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol
from xml.parsers.expat import ExpatError, ParserCreate
from zipfile import BadZipFile, ZipFile

from recollect.errors import FileError
from recollect.remember.find_files import read_bytes, shown

LARGEST_DOCUMENT: Final = 100 * 1024 * 1024
"""How many bytes a document may have; one with pictures has many and little text."""
MOST_TEXT: Final = 64 * 1024 * 1024
"""How many bytes all the parts read of one document may become: a bomb unpacks to far more."""
MOST_PARTS: Final = 20_000

_BROKEN: Final = (BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError)


class Target(Protocol):
    """What takes an XML document as it is read: beginnings and ends of elements, and the text in them."""

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Take the beginning of an element."""

    def end(self, tag: str) -> None:
        """Take the end of an element."""

    def text(self, words: str) -> None:
        """Take text."""


class Archive:
    """The parts of an open archive, by name; it counts what it has given."""

    def __init__(self, opened: ZipFile, path: Path) -> None:
        self._zip = opened
        self._path = path
        self._left = MOST_TEXT
        self.names = frozenset(opened.namelist())
        if len(self.names) > MOST_PARTS:
            raise FileError(f"{shown(path)} has more than {MOST_PARTS:,} parts", hint="split the document")

    def read(self, name: str) -> bytes:
        """Return the bytes of the part *name*; nothing where there is none."""
        if name not in self.names:
            return b""
        with self._zip.open(name) as part:
            raw = part.read(self._left + 1)
        self._left -= len(raw)
        if self._left < 0:
            raise FileError(
                f"{shown(self._path)} unpacks to more than {MOST_TEXT // 1024 // 1024} MB of text",
                hint="split the document, or save its text alone",
            )
        return raw

    def parse(self, name: str, target: Target) -> None:
        """Give the XML of the part *name* to *target*; one that declares a type of its own is refused."""
        raw = self.read(name)
        if not raw:
            return
        parser = ParserCreate(namespace_separator="}")
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = target.start, target.end
        parser.CharacterDataHandler = target.text
        parser.StartDoctypeDeclHandler = self._refuse
        try:
            parser.Parse(raw, True)
        except ExpatError as error:
            raise FileError(f"{shown(self._path)} is damaged: {name}: {error}", hint="save it once more") from error

    def _refuse(self, name: str, *_: object) -> None:
        """Refuse a document type: no office program writes one, and entities hide in it."""
        raise FileError(
            f"{shown(self._path)} declares the document type {name!r}", hint="save it once more with an office program"
        )


@contextmanager
def open_archive(path: Path, *, what: str) -> Iterator[Archive]:
    """Open the archive at *path*; raise FileError for anything that is none, or is damaged, or has too many parts."""
    raw = read_bytes(path, largest=LARGEST_DOCUMENT)
    try:
        with ZipFile(io.BytesIO(raw)) as opened:
            yield Archive(opened, path)
    except FileError:
        raise
    except _BROKEN as error:
        said = " ".join(str(error).split()) or "it ends too early"
        raise FileError(
            f"{shown(path)} is not {what}: {said}", hint="open it in its program and save it again"
        ) from error
