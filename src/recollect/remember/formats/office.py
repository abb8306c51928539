"""Read DOCX and ODT: paragraphs below their headings, lists, tables, footnotes.

Both are archives of XML, which is parsed as a stream; no tree is built.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar, Final

from msgspec import Struct, field

from recollect.lazy import regex
from recollect.records import Memory
from recollect.remember.formats.archive import Archive, XmlHandler, open_document
from recollect.remember.formats.outline import Block, OpenTable, outlined
from recollect.remember.formats.record import Origin, Parsed
from recollect.text.dates import as_moment

_HEADING: Final = regex(r"heading (\d)", re.IGNORECASE)
_MAX_DEPTH: Final = 9


def read_docx(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield a memory for each section of a Word document; its title is above all headings."""
    with open_document(path, what="a Word document") as archive:
        styles = _Styles()
        archive.parse("word/styles.xml", styles)
        body = _WordBody(styles.ranks())
        for part in ("word/document.xml", "word/footnotes.xml", "word/endnotes.xml"):
            archive.parse(part, body)
        yield _parsed(body.blocks, archive, "docProps/core.xml", origin)


def read_odt(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield a memory for each section of an OpenDocument text."""
    with open_document(path, what="an OpenDocument text") as archive:
        body = _OpenDocumentBody()
        archive.parse("content.xml", body)
        yield _parsed(body.blocks, archive, "meta.xml", origin)


def _parsed(blocks: list[Block], archive: Archive, part: str, origin: Origin) -> Parsed:
    metadata = Metadata()
    archive.parse(part, metadata)
    about = metadata.values
    title, author = about.get("title", ""), about.get("creator", "")
    template = Memory(
        content="",
        title=title,
        source=origin.source,
        observed_at=origin.date or as_moment(about.get("modified") or about.get("date") or about.get("created")),
        metadata={"author": author} if author else {},
    )
    return Parsed(memories=tuple(outlined(blocks, template, within=title)))


def local(tag: str) -> str:
    """Return the name of an element or attribute without its namespace."""
    return tag.rpartition("}")[2]


class Metadata(XmlHandler):
    """What a document says of itself, by Dublin Core name; the first value of each counts."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self._open: list[str] = []

    def start(self, tag: str, _: Mapping[str, str]) -> None:
        """Enter an element."""
        self._open.append(local(tag))

    def end(self, _: str) -> None:
        """Leave it."""
        self._open.pop()

    def text(self, words: str) -> None:
        """Keep the text of the innermost element."""
        if len(self._open) <= _MAX_DEPTH and words.strip():
            self.values.setdefault(self._open[-1], " ".join(words.split()))


class _Paragraph(Struct, kw_only=True):
    """A paragraph while it is read; a negative rank marks one that is not shown."""

    words: list[str] = field(default_factory=list)
    rank: int = 0
    item: bool = False


class _Body(XmlHandler):
    """Collects the blocks of a document: its paragraphs, and its tables as rows of text."""

    roles: ClassVar[Mapping[str, str]]
    """What the elements are: paragraph, table, header, row, cell."""
    silent: ClassVar[frozenset[str]]
    """Elements whose contents are not shown."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.paragraphs: list[_Paragraph] = []
        self._table: OpenTable | None = None
        self._cell: list[str] | None = None
        self._silent = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Receive the start of an element."""
        name = local(tag)
        if self._silent or name in self.silent:
            self._silent += 1
            return
        about = {local(key): value for key, value in attributes.items()}
        role, table = self.roles.get(name), self._table
        if role == "paragraph":
            self.paragraphs.append(self.paragraph(name, about))
        elif role == "table" and table is None:
            self._table = OpenTable()
        elif role is None or table is None:
            self.enter(name, about)
        elif role == "table":
            table.depth += 1
        elif role == "header":
            table.headed = table.headed or len(table.rows) <= 1
        elif role == "row":
            table.begin_row()
        elif table.depth == 1:
            self._cell = []

    def paragraph(self, name: str, about: Mapping[str, str]) -> _Paragraph:
        """Return the paragraph that the element *name* begins."""
        raise NotImplementedError

    def enter(self, name: str, about: Mapping[str, str]) -> None:
        """Enter an element that has no role."""

    def leave(self, name: str) -> None:
        """Leave an element that has no role."""

    def end(self, tag: str) -> None:
        """Receive the end of an element."""
        if self._silent:
            self._silent -= 1
            return
        role, table = self.roles.get(local(tag)), self._table
        if role is None:
            self.leave(local(tag))
        elif role == "paragraph" and self.paragraphs:
            self._add(self.paragraphs.pop())
        elif role == "cell" and table is not None and table.depth == 1 and self._cell is not None:
            table.add_cell(" ".join(self._cell))
            self._cell = None
        elif role == "table" and table is not None:
            table.depth -= 1
            if not table.depth:
                self._table = None
                self.blocks.append(table.block())

    def text(self, words: str) -> None:
        """Receive text."""
        if self.paragraphs and not self._silent:
            self.paragraphs[-1].words.append(words)

    def _add(self, paragraph: _Paragraph) -> None:
        """Add a paragraph to the document, or to the cell it is in."""
        words, rank, item = "".join(paragraph.words).strip(), paragraph.rank, paragraph.item
        if not words or rank < 0:
            return
        if self._table is None:
            self.blocks.append(Block(words=f"- {words}" if item and not rank else words, rank=rank, tight=item))
        elif self._cell is not None:
            self._cell.append(words)


# --- Word -----------------------------------------------------------------------------------


class _Style(Struct, kw_only=True):
    """A style: its name, the style it is based on, and its outline level."""

    name: str = ""
    based_on: str = ""
    level: int | None = None


class _Styles(XmlHandler):
    """The styles of a Word document: a paragraph is a heading by its style, or by one that this is based on."""

    def __init__(self) -> None:
        self._styles: dict[str, _Style] = {}
        self._now = _Style()

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Receive a style or one of its properties."""
        about = {local(key): value for key, value in attributes.items()}
        match local(tag):
            case "style":
                self._now = self._styles[about.get("styleId", "")] = _Style()
            case "name":
                self._now.name = about.get("val", "")
            case "basedOn":
                self._now.based_on = about.get("val", "")
            case "outlineLvl" if about.get("val", "").isdecimal():
                self._now.level = int(about["val"][:2])

    def ranks(self) -> dict[str, int]:
        """Return the rank of each style that makes headings: the title's is 1; -1 for the table of contents."""
        return {key: rank for key in self._styles if (rank := self._rank(key))}

    def _rank(self, key: str) -> int:
        for _ in range(_MAX_DEPTH):
            style = self._styles.get(key)
            if style is None:
                return 0
            name = style.name.lower()
            found = _HEADING.fullmatch(name)
            if name.startswith("toc "):
                return -1
            if name == "title" or found or (style.level is not None and style.level < _MAX_DEPTH):
                return 1 if name == "title" else 1 + (int(found[1]) if found else (style.level or 0) + 1)
            key = style.based_on
        return 0


class _WordBody(_Body):
    """The text of a Word document, without deletions under tracked changes and without field codes."""

    roles: ClassVar = {"p": "paragraph", "tbl": "table", "tblHeader": "header", "tr": "row", "tc": "cell"}
    silent: ClassVar = frozenset({"Fallback"})  # the same content again, for old programs

    def __init__(self, ranks: Mapping[str, int]) -> None:
        super().__init__()
        self._ranks = ranks
        self._is_text = False

    def paragraph(self, _: str, __: Mapping[str, str]) -> _Paragraph:
        """Return a new paragraph; its properties follow as elements."""
        return _Paragraph()

    def enter(self, name: str, about: Mapping[str, str]) -> None:
        """Note the properties and special characters of a paragraph."""
        if not self.paragraphs:
            return
        paragraph = self.paragraphs[-1]
        match name:
            case "t":
                self._is_text = True
            case "pStyle":
                paragraph.rank = self._ranks.get(about.get("val", ""), 0)
            case "outlineLvl" if about.get("val", "") in {*"012345678"}:
                paragraph.rank = int(about["val"]) + 2
            case "numPr":
                paragraph.item = True
            case "tab":
                paragraph.words.append("\t")
            case "br" | "cr":
                paragraph.words.append("\n")
            case "noBreakHyphen":
                paragraph.words.append("-")

    def leave(self, name: str) -> None:
        """Note where text ends."""
        self._is_text = self._is_text and name != "t"

    def text(self, words: str) -> None:
        """Receive text; only that of `t` elements is shown."""
        if self._is_text:
            super().text(words)


# --- OpenDocument ---------------------------------------------------------------------------


class _OpenDocumentBody(_Body):
    """The text of an OpenDocument."""

    roles: ClassVar = {
        "p": "paragraph",
        "h": "paragraph",
        "table": "table",
        "table-header-rows": "header",
        "table-row": "row",
        "table-cell": "cell",
    }
    silent: ClassVar = frozenset({"tracked-changes", "table-of-content", "forms", "annotation", "automatic-styles"})

    def __init__(self) -> None:
        super().__init__()
        self._lists = 0

    def paragraph(self, name: str, about: Mapping[str, str]) -> _Paragraph:
        """Return a paragraph or a heading."""
        level = about.get("outline-level", "1")
        rank = int(level[:1]) if name == "h" and level[:1] in {*"123456789"} else int(name == "h")
        return _Paragraph(rank=rank, item=self._lists > 0)

    def enter(self, name: str, _: Mapping[str, str]) -> None:
        """Note lists, spaces and line breaks."""
        if name == "list":
            self._lists += 1
        elif name in {"tab", "s", "line-break"}:
            self.text("\n" if name == "line-break" else " ")

    def leave(self, name: str) -> None:
        """Note where a list ends."""
        self._lists -= name == "list"
