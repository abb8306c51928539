"""Read what word processors write, DOCX and ODT: paragraphs below their headings, lists, tables, footnotes.

Both are archives of XML, which is read as it comes; no tree is built.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from recollect.lazy import regex
from recollect.records import Memory
from recollect.remember.formats.archive import Archive, open_document
from recollect.remember.formats.outline import Block, outlined, rows_as_text
from recollect.remember.formats.record import Origin, Parsed
from recollect.text.dates import as_moment

_HEADING: Final = regex(r"heading (\d)", re.IGNORECASE)
_DEEPEST: Final = 9


def read_docx(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield a memory for each section of a Word document; its title stands above all headings."""
    with open_document(path, what="a Word document") as archive:
        styles = _Styles()
        archive.parse("word/styles.xml", styles)
        body = _Body(styles.ranks())
        for part in ("word/document.xml", "word/footnotes.xml", "word/endnotes.xml"):
            archive.parse(part, body)
        yield _parsed(body.told.blocks, archive, "docProps/core.xml", origin)


def read_odt(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield a memory for each section of an OpenDocument text."""
    with open_document(path, what="an OpenDocument text") as archive:
        body = _OpenBody()
        archive.parse("content.xml", body)
        yield _parsed(body.told.blocks, archive, "meta.xml", origin)


def _parsed(blocks: list[Block], archive: Archive, part: str, origin: Origin) -> Parsed:
    about = About()
    archive.parse(part, about)
    told = about.told
    title, author = told.get("title", ""), told.get("creator", "")
    template = Memory(
        content="",
        title=title,
        source=origin.source,
        observed_at=origin.date or as_moment(told.get("modified") or told.get("date") or told.get("created")),
        metadata={"author": author} if author else {},
    )
    return Parsed(memories=tuple(outlined(blocks, template, within=title)))


def local(tag: str) -> str:
    """Return the name of an element or attribute without its namespace."""
    return tag.rpartition("}")[2]


class About:
    """What a document says of itself, by the names of the Dublin Core; the first of each counts."""

    def __init__(self) -> None:
        self.told: dict[str, str] = {}
        self._open: list[str] = []

    def start(self, tag: str, _: Mapping[str, str]) -> None:
        """Enter an element."""
        self._open.append(local(tag))

    def end(self, _: str) -> None:
        """Leave it."""
        self._open.pop()

    def text(self, words: str) -> None:
        """Keep the text of the innermost element."""
        if len(self._open) <= _DEEPEST and words.strip():
            self.told.setdefault(self._open[-1], " ".join(words.split()))


class _Rows(Struct, kw_only=True):
    """A table as it is read; what stands in a table within a cell is the cell's."""

    rows: list[list[str]] = field(default_factory=list)
    cell: list[str] | None = None
    headed: bool = False
    depth: int = 1

    def begin_row(self) -> None:
        """Begin a row of the outer table."""
        if self.depth == 1:
            self.rows.append([])

    def begin_cell(self) -> None:
        """Begin a cell of the outer table."""
        if self.depth == 1:
            self.cell = []

    def end_cell(self) -> None:
        """Put the cell behind its neighbours."""
        if self.depth == 1 and self.cell is not None and self.rows:
            self.rows[-1].append(" ".join(self.cell))
            self.cell = None


class _Blocks:
    """Blocks as they are gathered: paragraphs go to the document, or to the cell of the table they stand in."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.table: _Rows | None = None

    def tell(self, words: str, *, rank: int = 0, item: bool = False) -> None:
        """Take a paragraph."""
        words = words.strip()
        if self.table is not None:
            if self.table.cell is not None and words:
                self.table.cell.append(words)
        elif words:
            self.blocks.append(Block(words=f"- {words}" if item and not rank else words, rank=rank, tight=item))

    def begin_table(self) -> None:
        """Begin a table, or one within a cell."""
        if self.table is None:
            self.table = _Rows()
        else:
            self.table.depth += 1

    def end_table(self) -> None:
        """Tell the rows of a table that is complete."""
        table = self.table
        if table is None:
            return
        table.depth -= 1
        if not table.depth:
            self.table = None
            self.blocks.append(Block(words=rows_as_text(table.rows, headed=table.headed)))


# --- Word -----------------------------------------------------------------------------------


class _Style(Struct, kw_only=True):
    """A style: what it is called, on what it is based, the level it puts a paragraph on."""

    name: str = ""
    based_on: str = ""
    level: int | None = None


class _Styles:
    """The styles of a Word document; a heading is known by its style, which an author may have derived."""

    def __init__(self) -> None:
        self._styles: dict[str, _Style] = {}
        self._now = _Style()

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Take a style or what is said of it."""
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

    def end(self, tag: str) -> None:
        """Pass over the end of an element."""

    def text(self, words: str) -> None:
        """Pass over text."""

    def ranks(self) -> dict[str, int]:
        """Return the rank of each style that makes headings: the title's is 1; -1 for the table of contents."""
        return {key: rank for key in self._styles if (rank := self._rank(key))}

    def _rank(self, key: str) -> int:
        for _ in range(_DEEPEST):
            style = self._styles.get(key)
            if style is None:
                return 0
            name = style.name.lower()
            found = _HEADING.fullmatch(name)
            if name.startswith("toc "):
                return -1
            if name == "title" or found or (style.level is not None and style.level < _DEEPEST):
                return 1 if name == "title" else 1 + (int(found[1]) if found else (style.level or 0) + 1)
            key = style.based_on
        return 0


class _Body:
    """The text of a Word document. What was deleted under tracked changes, and codes of fields, are not its text."""

    def __init__(self, ranks: Mapping[str, int]) -> None:
        self.told = _Blocks()
        self._ranks = ranks
        self._paragraphs: list[_Paragraph] = []
        self._inside = False
        self._silent = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Take the beginning of an element."""
        name = local(tag)
        if self._silent or name == "Fallback":  # the same once more, for programs that are old
            self._silent += 1
            return
        about = {local(key): value for key, value in attributes.items()}
        match name:
            case "p":
                self._paragraphs.append(_Paragraph())
            case "tbl":
                self.told.begin_table()
            case "tr" if self.told.table is not None:
                self.told.table.begin_row()
            case "tc" if self.told.table is not None:
                self.told.table.begin_cell()
            case "tblHeader" if self.told.table is not None and len(self.told.table.rows) == 1:
                self.told.table.headed = True
            case _ if self._paragraphs:
                self._in_paragraph(self._paragraphs[-1], name, about)

    def _in_paragraph(self, paragraph: "_Paragraph", name: str, about: Mapping[str, str]) -> None:
        match name:
            case "t":
                self._inside = True
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

    def end(self, tag: str) -> None:
        """Take the end of an element."""
        if self._silent:
            self._silent -= 1
            return
        match local(tag):
            case "t":
                self._inside = False
            case "p" if self._paragraphs:
                done = self._paragraphs.pop()
                if done.rank >= 0:
                    self.told.tell("".join(done.words), rank=done.rank, item=done.item)
            case "tc" if self.told.table is not None:
                self.told.table.end_cell()
            case "tbl":
                self.told.end_table()

    def text(self, words: str) -> None:
        """Take text."""
        if self._inside and self._paragraphs and not self._silent:
            self._paragraphs[-1].words.append(words)


class _Paragraph(Struct, kw_only=True):
    """A paragraph as it is read."""

    words: list[str] = field(default_factory=list)
    rank: int = 0
    item: bool = False


# --- OpenDocument ---------------------------------------------------------------------------

_OPEN_SILENT: Final = frozenset({"tracked-changes", "table-of-content", "forms", "annotation", "automatic-styles"})


class _OpenBody:
    """The text of an OpenDocument."""

    def __init__(self) -> None:
        self.told = _Blocks()
        self._paragraphs: list[_Paragraph] = []
        self._silent = 0
        self._lists = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Take the beginning of an element."""
        name = local(tag)
        if self._silent or name in _OPEN_SILENT:
            self._silent += 1
            return
        about = {local(key): value for key, value in attributes.items()}
        match name:
            case "p" | "h":
                level = about.get("outline-level", "1")
                rank = int(level[:1]) if name == "h" and level[:1] in {*"123456789"} else int(name == "h")
                self._paragraphs.append(_Paragraph(rank=rank, item=self._lists > 0))
            case "list":
                self._lists += 1
            case "table":
                self.told.begin_table()
            case "table-header-rows" if self.told.table is not None:
                self.told.table.headed = True
            case "table-row" if self.told.table is not None:
                self.told.table.begin_row()
            case "table-cell" if self.told.table is not None:
                self.told.table.begin_cell()
            case "tab" | "s" if self._paragraphs:
                self._paragraphs[-1].words.append(" ")
            case "line-break" if self._paragraphs:
                self._paragraphs[-1].words.append("\n")

    def end(self, tag: str) -> None:
        """Take the end of an element."""
        if self._silent:
            self._silent -= 1
            return
        match local(tag):
            case "p" | "h" if self._paragraphs:
                done = self._paragraphs.pop()
                self.told.tell("".join(done.words), rank=done.rank, item=done.item)
            case "list":
                self._lists -= 1
            case "table-cell" if self.told.table is not None:
                self.told.table.end_cell()
            case "table":
                self.told.end_table()

    def text(self, words: str) -> None:
        """Take text."""
        if self._paragraphs and not self._silent:
            self._paragraphs[-1].words.append(words)
