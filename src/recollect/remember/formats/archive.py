"""Read the members of ZIP archives (DOCX, ODT, EPUB, exports), within one limit on what they unpack to.

Nothing is written to disk, so the names in an archive cannot escape a folder.
"""

import math
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from lzma import LZMAError
from pathlib import Path
from typing import IO, Final
from xml.parsers.expat import ExpatError, ParserCreate
from zipfile import BadZipFile, ZipFile

from recollect.errors import FileError
from recollect.remember.find_files import open_file, shown, size_of

MAX_DOCUMENT_FILE_BYTES: Final = 100 * 1024 * 1024
"""The size of a document with its pictures."""
MAX_DOCUMENT_TEXT_BYTES: Final = 64 * 1024 * 1024
"""The unpacked size of the members of a document that are read."""
MAX_UNPACKED_BYTES: Final = 8 * 1024**3
"""The unpacked size of the members of an export that are read; they are streamed."""
MAX_UNPACK_RATIO: Final = 200
"""The unpacked size of a member of an export, relative to its packed size."""
MAX_MEMBERS: Final = 200_000
_ANY_RATIO_BYTES: Final = 1024 * 1024
_BROKEN: Final = (
    *(BadZipFile, LZMAError, zlib.error, struct.error),
    *(EOFError, OSError, NotImplementedError, RuntimeError, ValueError),
)
"""What damaged, encrypted and oddly packed archives raise."""


StartElement = Callable[[str, dict[str, str]], None]
"""Receives the name and the attributes of an element."""
Receive = Callable[[str], None]
"""Receives the name of an element that ends, or text."""


class Archive:
    """The members of an open ZIP archive; it counts the bytes they unpack to."""

    def __init__(self, opened: ZipFile, path: Path, *, max_bytes: int, max_ratio: float) -> None:
        self._zip = opened
        self._path = path
        self._left = max_bytes
        self._max_ratio = max_ratio
        self.names = opened.namelist()
        if len(self.names) > MAX_MEMBERS:
            raise FileError(f"{shown(path)} has more than {MAX_MEMBERS:,} members", hint="split the archive")
        self._known = frozenset(self.names)

    def open(self, name: str) -> IO[bytes]:
        """Open the member *name*; raise FileError if it unpacks to too much."""
        member = self._zip.getinfo(name)
        self._left -= member.file_size
        allowed = _ANY_RATIO_BYTES + self._max_ratio * member.compress_size
        if self._left < 0 or member.file_size > allowed:
            size = member.file_size / 1024**2
            raise FileError(
                f"{shown(self._path)} unpacks to too much: {name} has {size:,.0f} MB",
                hint="split it, or unpack it yourself",
            )
        return self._zip.open(member)

    def read(self, name: str, *, max_bytes: int | None = None) -> bytes:
        """Return the bytes of the member *name*; nothing if there is none, FileError if it is damaged or too large."""
        if name not in self._known:
            return b""
        if max_bytes is not None and self._zip.getinfo(name).file_size > max_bytes:
            raise FileError(f"{name} unpacks to more than {max_bytes // 1024**2} MB", hint="unpack it and split it")
        try:
            with self.open(name) as member:
                return member.read()
        except _BROKEN as error:
            raise FileError(f"{name} cannot be unpacked", hint="unpack the archive yourself") from error

    def parse(self, name: str, start: StartElement, end: Receive | None = None, text: Receive | None = None) -> None:
        """Parse the XML of the member *name* as a stream; raise FileError if it declares a document type."""
        raw = self.read(name)
        if not raw:
            return
        parser = ParserCreate(namespace_separator="}")
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
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
def open_archive(
    path: Path, *, max_bytes: int = MAX_UNPACKED_BYTES, max_ratio: float = MAX_UNPACK_RATIO, what: str = "a ZIP archive"
) -> Iterator[Archive]:
    """Open the archive at *path*; raise FileError if it is not one, is damaged, or has too many members."""
    with open_file(path) as file:
        try:
            with ZipFile(file) as opened:
                yield Archive(opened, path, max_bytes=max_bytes, max_ratio=max_ratio)
        except _BROKEN as error:
            said = " ".join(str(error).split()) or "it ends too early"
            hint = "fetch it again, or open it in its program and save it"
            raise FileError(f"{shown(path)} cannot be read as {what}: {said}", hint=hint) from error


@contextmanager
def open_document(path: Path, *, what: str) -> Iterator[Archive]:
    """Open a document that is an archive; its XML is kept in memory, so little of it may be unpacked."""
    if size_of(path) > MAX_DOCUMENT_FILE_BYTES:
        raise FileError(f"{shown(path)} is too large", hint=f"the limit is {MAX_DOCUMENT_FILE_BYTES // 1024**2} MB")
    with open_archive(path, max_bytes=MAX_DOCUMENT_TEXT_BYTES, max_ratio=math.inf, what=what) as archive:
        yield archive
