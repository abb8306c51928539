"""Read EPUB books: the chapters in the order in which they are read, each as an HTML page."""

import posixpath
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from recollect.errors import FileError
from recollect.records import Memory
from recollect.remember.find_files import shown
from recollect.remember.formats.archive import open_document
from recollect.remember.formats.html_text import page_of
from recollect.remember.formats.office import Metadata, local
from recollect.remember.formats.outline import outlined
from recollect.remember.formats.record import Origin, Parsed

_PAGES: Final = frozenset({"application/xhtml+xml", "text/html"})


def read_epub(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield the memories of each chapter, by its headings; the section begins with the title of the book."""
    with open_document(path, what="an EPUB book") as archive:
        container = _Container()
        archive.parse("META-INF/container.xml", container.start)
        package = _Package()
        archive.parse(container.package, package.start, package.metadata.end, package.metadata.text)
        if not package.chapters:
            raise FileError(f"{shown(path)} is not an EPUB book: it names no chapters", hint="look at it in a reader")
        title, author = package.metadata.values.get("title", ""), package.metadata.values.get("creator", "")
        about = {name: value for name, value in (("book", title), ("author", author)) if value}
        template = Memory(content="", title=title, source=origin.source, observed_at=origin.date, metadata=about)
        folder = posixpath.dirname(container.package)
        for href in package.chapters:
            name = posixpath.normpath(posixpath.join(folder, unquote(href.partition("#")[0])))
            raw = archive.read(name)
            page = page_of(raw, what="reading EPUB") if raw else None
            if page is not None and page.blocks:
                yield Parsed(memories=tuple(outlined(page.blocks, template, within=title)))


class _Container:
    """The path of the book's description."""

    def __init__(self) -> None:
        self.package = ""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Receive an element; the first description that is named counts."""
        if local(tag) == "rootfile" and not self.package:
            self.package = attributes.get("full-path", "")


class _Package:
    """The description of a book: its title, and its chapters in order."""

    def __init__(self) -> None:
        self.metadata = Metadata()
        self._pages: dict[str, str] = {}
        self.chapters: list[str] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Receive a file of the book, or its place in the order."""
        self.metadata.start(tag, attributes)
        match local(tag):
            case "item" if attributes.get("media-type") in _PAGES:
                # The table of contents only repeats the chapters.
                if "nav" not in attributes.get("properties", "").split():
                    self._pages[attributes.get("id", "")] = attributes.get("href", "")
            case "itemref" if href := self._pages.get(attributes.get("idref", "")):
                self.chapters.append(href)
