"""Read HTML: the text that a reader of the page sees, by its headings; scripts, styles and menus are left out.

libxml2 parses the markup and reports starts, ends and text; no tree is built, so neither depth nor size matters.
"""

import codecs
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from msgspec import Struct

from recollect.records import Memory
from recollect.remember.find_files import read_bytes
from recollect.remember.formats.extras import need
from recollect.remember.formats.outline import Block, OpenTable, outlined
from recollect.remember.formats.record import Origin, Parsed
from recollect.text.dates import as_moment

_CHARSET: Final = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9_:.-]{2,40})""", re.IGNORECASE)
_DECLARED: Final = re.compile(rb"""\A\s*<\?xml[^>]{0,100}?encoding\s*=\s*["']([A-Za-z0-9_.-]{2,40})""")
_MARKS: Final = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_PROBE: Final = 4096

_SILENT: Final = frozenset(
    {
        *("script", "style", "nav", "footer", "template", "noscript", "iframe", "object", "svg", "math"),
        *("button", "select", "textarea", "canvas", "dialog"),
    }
)
_SILENT_ROLES: Final = frozenset({"navigation", "banner", "contentinfo", "search", "menu", "menubar"})
_HEADINGS: Final = {f"h{rank}": rank for rank in range(1, 7)}
_BLOCKS: Final = frozenset(
    {
        *("address", "article", "aside", "blockquote", "body", "caption", "dd", "details", "div", "dl", "dt"),
        *("fieldset", "figcaption", "figure", "form", "header", "hr", "html", "li", "main", "ol", "p"),
        *("section", "summary", "ul"),
    }
)
_ANCHORS: Final = " \n\xa7\xb6\N{LINK SYMBOL}"
"""The link marks next to a heading."""
_DATES: Final = ("article:modified_time", "article:published_time", "dcterms.modified", "dcterms.date", "date")


class Page(Struct, kw_only=True):
    """The blocks of a page, its title and its metadata."""

    blocks: tuple[Block, ...]
    title: str
    meta: Mapping[str, str]

    @property
    def date(self) -> datetime | None:
        """When it was written, if it says so."""
        return next(filter(None, (as_moment(self.meta[name]) for name in _DATES if name in self.meta)), None)

    @property
    def has_main_heading(self) -> bool:
        """Whether a heading of the first rank says what the page is about."""
        return any(each.rank == 1 for each in self.blocks)


def read_html(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield a memory for each section of the page at *path*, as Markdown gives; a table gives a line for each row."""
    page = page_of(read_bytes(path), what="reading HTML")
    about = {key: page.meta[key] for key in ("author", "description") if page.meta.get(key)}
    template = Memory(
        content="", title=page.title, source=origin.source, observed_at=origin.date or page.date, metadata=about
    )
    within = "" if page.has_main_heading else page.title
    yield Parsed(memories=tuple(outlined(page.blocks, template, within=within)))


def page_of(raw: bytes, *, what: str) -> Page:
    """Return what the page *raw* says; *what* is named where the library for it is missing."""
    etree = need("lxml.etree", extra="documents", what=what)
    target = _Target()
    # The text is decoded already, by what the page says of its encoding, and passed on as UTF-8.
    parser = etree.HTMLParser(target=target, encoding="utf-8", recover=True, remove_comments=True, no_network=True)
    text = decoded(raw).replace("\0", "\ufffd")
    if text.strip():
        parser.feed(text.encode("utf-8", "replace"))
        try:
            parser.close()
        except etree.LxmlError:  # keep what was parsed so far
            target.flush()
    target.flush()
    main = [block for block, is_main in target.blocks if is_main] if target.has_main else []
    blocks = main or [block for block, _ in target.blocks]
    return Page(blocks=tuple(blocks), title=" ".join("".join(target.title).split()), meta=target.meta)


def decoded(raw: bytes) -> str:
    """Return a page as text: by its byte order mark, its declared encoding, as UTF-8, or else as Windows-1252."""
    named = next((name for mark, name in _MARKS if raw.startswith(mark)), "")
    if not named:
        found = _DECLARED.match(raw[:_PROBE]) or _CHARSET.search(raw[:_PROBE])
        named = found[1].decode("ascii") if found else ""
        # The declaration was readable as ASCII, so the page is not UTF-16.
        named = "utf-8" if named.lower().startswith("utf-16") else named
        # Browsers read Latin-1 as the larger set that most such pages are in.
        named = "cp1252" if named.lower() in {"iso-8859-1", "latin1", "latin-1", "ascii", "us-ascii"} else named
    for encoding in filter(None, (named, "utf-8")):
        try:
            return raw.decode(encoding)
        except (LookupError, UnicodeError):
            continue
    return raw.decode("cp1252", "replace")


class _Target:
    """Collects the blocks of a page while libxml2 parses it."""

    def __init__(self) -> None:
        self.blocks: list[tuple[Block, bool]] = []
        self.title: list[str] = []
        self.meta: dict[str, str] = {}
        self.has_main = False
        self._words: list[str] = []
        self._silent = 0  # depth within hidden elements
        self._main = 0  # how deep within the main part
        self._heading = 0
        self._item = False
        self._title = False
        self._pre = 0
        self._table: OpenTable | None = None
        self.data = self.text  # the library's name for it

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Take the beginning of an element."""
        if self._silent or tag in _SILENT or _is_hidden(attributes):
            self._silent += 1
            return
        if self._main or tag in {"main", "article"} or attributes.get("role") == "main":
            if not self._main:
                self.flush()
            self._main += 1
            self.has_main = True
        if tag == "title":
            self._title = True
        elif tag == "meta":
            self._keep_meta(attributes)
        elif tag == "br":
            self._words.append("\n" if self._pre else "\v")
        elif self._table is not None:
            self._start_in_table(self._table, tag)
        else:
            self._start_block(tag)

    def _start_block(self, tag: str) -> None:
        if tag == "table":
            self.flush()
            self._table = OpenTable()
        elif tag == "pre":
            self.flush()
            self._pre = 1
        elif tag in _HEADINGS:
            self.flush()
            self._heading = _HEADINGS[tag]
        elif tag in _BLOCKS:
            # A heading that contains a block is still one heading; the first block of an item is the item.
            if not self._heading:
                self.flush()
            self._item = self._item or tag == "li"

    def _start_in_table(self, table: OpenTable, tag: str) -> None:
        if tag == "table":
            table.depth += 1
        elif tag == "tr":
            table.begin_row()
        elif table.depth == 1 and tag in {"td", "th"}:
            table.headed = table.headed or (tag == "th" and len(table.rows) <= 1)
            self._words = []
        elif tag in _BLOCKS or tag in {"td", "th"}:
            self._words.append(" ")

    def end(self, tag: str) -> None:
        """Take the end of an element."""
        if self._silent:
            self._silent -= 1
            return
        if tag == "title":
            self._title = False
        elif self._table is not None:
            self._end_in_table(self._table, tag)
        elif tag == "pre" or tag in _HEADINGS or (tag in _BLOCKS and not self._heading):
            self.flush()
        if self._main:
            if self._main == 1:
                self.flush()
            self._main -= 1

    def _end_in_table(self, table: OpenTable, tag: str) -> None:
        if tag == "table" and table.depth > 1:
            table.depth -= 1
        elif tag == "table":
            self._end_table()
        elif table.depth == 1 and tag in {"td", "th"}:
            table.add_cell(_tidy("".join(self._words)))
            self._words = []

    def _end_table(self) -> None:
        """Add the table as a block."""
        table, self._table, self._words = self._table, None, []
        if table is not None:
            self._add(table.block())

    def text(self, words: str) -> None:
        """Take text."""
        if not self._silent:
            (self.title if self._title else self._words).append(words)

    def comment(self, text: str) -> None:
        """Pass over a comment."""

    def close(self) -> None:
        """Return nothing: the blocks are kept here."""

    def flush(self) -> None:
        """Add the text since the last block as a block."""
        if self._table is not None:
            self._end_table()
        text, self._words = "".join(self._words), []
        rank, self._heading = self._heading, 0
        code, self._pre = self._pre, 0
        words = text.strip("\n").rstrip() if code else _tidy(text)
        words = words.strip(_ANCHORS) if rank else words
        if not words.strip():
            return
        item, self._item = self._item and not rank, False
        if code:
            fence = "~~~" if "```" in words else "```"
            words = f"{fence}\n{words}\n{fence}"
        elif item:
            words = f"- {words}"
        self._add(Block(words=words, rank=rank, tight=item))

    def _add(self, block: Block) -> None:
        self.blocks.append((block, self._main > 0))

    def _keep_meta(self, attributes: Mapping[str, str]) -> None:
        name = attributes.get("name") or attributes.get("property") or ""
        if name and attributes.get("content", "").strip():
            self.meta.setdefault(name.lower(), " ".join(attributes["content"].replace("\0", "").split()))


def _tidy(text: str) -> str:
    """Return *text* with white space as a browser shows it; a forced line break stays one."""
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.split("\v"))))


def _is_hidden(attributes: Mapping[str, str]) -> bool:
    return (
        "hidden" in attributes
        or attributes.get("aria-hidden") == "true"
        or attributes.get("role", "").lower() in _SILENT_ROLES
        or "display:none" in attributes.get("style", "").replace(" ", "").lower()
    )
