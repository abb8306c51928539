"""Read DOCX and ODT: paragraphs below their headings, lists, tables, footnotes.

Both are archives of XML, which is parsed as a stream; no tree is built.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from recollect.lazy import regex
from recollect.records import Memory
from recollect.remember.formats.archive import Archive, open_document
from recollect.remember.formats.outline import Block, OpenTable, outlined
from recollect.remember.formats.record import Origin, Parsed
from recollect.text.dates import as_moment

_HEADING: Final = regex(r"heading (\d)", re.IGNORECASE)
_MAX_DEPTH: Final = 9
_NO_RANKS: Final[Mapping[str, int]] = {}
_WORD_ROLES: Final = {
    "p": "paragraph",
    "tbl": "table",
    "tblHeader": "header",
    "tr": "row",
    "tc": "cell",
    "t": "text",
    "pStyle": "style",
    "outlineLvl": "level",
    "numPr": "item",
    "tab": "tab",
    "br": "line break",
    "cr": "line break",
    "noBreakHyphen": "hyphen",
}
"""What the elements of a Word document are; without `text`, all text of a paragraph is shown."""
_OPEN_ROLES: Final = {
    "p": "paragraph",
    "h": "paragraph",
    "list": "list",
    "table": "table",
    "table-header-rows": "header",
    "table-row": "row",
    "table-cell": "cell",
    "tab": "space",
    "s": "space",
    "line-break": "line break",
}
_OPEN_SILENT: Final = frozenset({"tracked-changes", "table-of-content", "forms", "annotation", "automatic-styles"})
"""Elements of an OpenDocument whose contents are not shown."""
_CHARACTERS: Final = {"tab": "\t", "space": " ", "line break": "\n", "hyphen": "-"}


def read_docx(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield a memory for each section of a Word document; its title is above all headings."""
    with open_document(path, what="a Word document") as archive:
        styles = _Styles()
        archive.parse("word/styles.xml", styles.start)
        body = _Body(_WORD_ROLES, frozenset({"Fallback"}), styles.ranks())  # the same again, for old programs
        for part in ("word/document.xml", "word/footnotes.xml", "word/endnotes.xml"):
            archive.parse(part, body.start, body.end, body.text)
        yield _parsed(body.blocks, archive, "docProps/core.xml", origin)


def read_odt(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield a memory for each section of an OpenDocument text."""
    with open_document(path, what="an OpenDocument text") as archive:
        body = _Body(_OPEN_ROLES, _OPEN_SILENT)
        archive.parse("content.xml", body.start, body.end, body.text)
        yield _parsed(body.blocks, archive, "meta.xml", origin)


def _parsed(blocks: list[Block], archive: Archive, part: str, origin: Origin) -> Parsed:
    metadata = Metadata()
    archive.parse(part, metadata.start, metadata.end, metadata.text)
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


class Metadata:
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


class _Body:
    """Collects the blocks of a document: its paragraphs, and its tables as rows of text."""

    def __init__(self, roles: Mapping[str, str], silent: frozenset[str], ranks: Mapping[str, int] = _NO_RANKS) -> None:
        self.blocks: list[Block] = []
        self._roles, self._silent_names, self._ranks = roles, silent, ranks
        self._paragraphs: list[_Paragraph] = []
        self._table: OpenTable | None = None
        self._cell: list[str] | None = None
        self._silent = self._lists = 0
        self._shows_text = "text" not in roles.values()

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Receive the start of an element."""
        name = local(tag)
        if self._silent or name in self._silent_names:
            self._silent += 1
            return
        about = {local(key): value for key, value in attributes.items()}
        match self._roles.get(name):
            case "paragraph":
                self._paragraphs.append(_Paragraph(rank=_rank_of(name, about), item=self._lists > 0))
            case "list":
                self._lists += 1
            case "text":
                self._shows_text = bool(self._paragraphs)
            case "table" | "header" | "row" | "cell" as role:
                self._start_in_table(role)
            case role if role and self._paragraphs:
                self._mark(self._paragraphs[-1], role, about.get("val", ""))

    def _start_in_table(self, role: str) -> None:
        table = self._table
        if table is None:
            self._table = OpenTable() if role == "table" else None
        elif role == "table":
            table.depth += 1
        elif role == "header":
            table.headed = table.headed or len(table.rows) <= 1
        elif role == "row":
            table.begin_row()
        elif table.depth == 1:
            self._cell = []

    def _mark(self, paragraph: _Paragraph, role: str, value: str) -> None:
        """Note a property or a special character of a paragraph."""
        match role:
            case "style":
                paragraph.rank = self._ranks.get(value, 0)
            case "level" if value in {*"012345678"}:
                paragraph.rank = int(value) + 2
            case "item":
                paragraph.item = True
            case _ if role in _CHARACTERS:
                paragraph.words.append(_CHARACTERS[role])

    def end(self, tag: str) -> None:
        """Receive the end of an element."""
        if self._silent:
            self._silent -= 1
            return
        table = self._table
        match self._roles.get(local(tag)):
            case "paragraph" if self._paragraphs:
                self._add(self._paragraphs.pop())
            case "list":
                self._lists -= 1
            case "text":
                self._shows_text = False
            case "cell" if table is not None and table.depth == 1 and self._cell is not None:
                table.add_cell(" ".join(self._cell))
                self._cell = None
            case "table" if table is not None:
                table.depth -= 1
                if not table.depth:
                    self._table = None
                    self.blocks.append(table.block())

    def text(self, words: str) -> None:
        """Receive text."""
        if self._paragraphs and self._shows_text and not self._silent:
            self._paragraphs[-1].words.append(words)

    def _add(self, paragraph: _Paragraph) -> None:
        """Add a paragraph to the document, or to the cell it is in."""
        words, rank, item = "".join(paragraph.words).strip(), paragraph.rank, paragraph.item
        if not words or rank < 0:
            return
        if self._table is None:
            self.blocks.append(Block(words=f"- {words}" if item and not rank else words, rank=rank, tight=item))
        elif self._cell is not None:
            self._cell.append(words)


def _rank_of(name: str, about: Mapping[str, str]) -> int:
    """Return the rank of an OpenDocument heading; 0 for a paragraph."""
    if name != "h":
        return 0
    level = about.get("outline-level", "1")[:1]
    return int(level) if level in {*"123456789"} else 1


# --- Word -----------------------------------------------------------------------------------


class _Style(Struct, kw_only=True):
    """A style: its name, the style it is based on, and its outline level."""

    name: str = ""
    based_on: str = ""
    level: int | None = None


class _Styles:
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
