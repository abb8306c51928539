"""Make memories of a document that consists of headings and blocks of text."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from recollect.lazy import regex
from recollect.records import Memory
from recollect.remember.chunk import chunk
from recollect.remember.formats.plain import is_rule
from recollect.remember.formats.values import clean

_DIGIT: Final = regex(r"\d")
_TOO_FEW_ROWS: Final = 2
"""With this many rows or fewer, a column of numbers proves nothing."""


class Block(Struct, frozen=True, kw_only=True):
    """A heading or a piece of text, in the order of the document."""

    words: str
    rank: int = 0
    """The rank of a heading, 1 the highest; 0 for text."""
    line: int | None = None
    tight: bool = False
    """Whether it goes on on the line below the block before it, as an item of a list does."""


class _Section(Struct, kw_only=True):
    """The text below one heading as it is put together, and where each of its blocks begins."""

    headings: tuple[Block, ...] = ()
    text: str = ""
    parts: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    lines: list[int | None] = field(default_factory=list)
    length: int = 0

    def add(self, block: Block) -> None:
        """Append *block*."""
        gap = "" if not self.parts else "\n" if block.tight else "\n\n"
        self.starts.append(self.length + len(gap))
        self.lines.append(block.line)
        self.parts.append(gap + block.words)
        self.length += len(gap) + len(block.words)

    def line_at(self, position: int, text: str) -> int | None:
        """Return the line of the file at *position* of the section's *text*."""
        at = bisect_right(self.starts, position) - 1
        line = self.lines[at]
        return None if line is None else line + text.count("\n", self.starts[at], position)


def outlined(blocks: Iterable[Block], template: Memory, *, within: str = "") -> Iterator[Memory]:
    """Yield a memory like *template* for each section of *blocks*, longer ones in chunks.

    The title is the nearest heading, the section the path `A > B` of headings, below *within* where that is given.
    """
    section = _Section()
    for block in blocks:
        words = clean(block.words)
        if not block.rank:
            if words.strip():
                section.add(replace(block, words=words))
            continue
        yield from _of_section(section, template, within)
        above = tuple(each for each in section.headings if each.rank < block.rank)
        section = _Section(headings=(*above, replace(block, words=" ".join(words.split()))))
    yield from _of_section(section, template, within)


def _of_section(section: _Section, template: Memory, within: str) -> Iterator[Memory]:
    text = "".join(section.parts)
    words = [each.words for each in section.headings if each.words]
    # The title of a page is often its heading plus the name of the site; once is enough.
    again = bool(words) and within.casefold().startswith(words[0].casefold())
    path = " > ".join([within, *words] if within and not again else words)
    title = section.headings[-1].words if section.headings else ""
    for piece in chunk(text):
        if not is_rule(piece.text):
            line = section.line_at(piece.start, text)
            yield replace(template, content=piece.text, title=title or template.title, section=path or None, line=line)


class OpenTable(Struct, kw_only=True):
    """A table while it is read; a table inside a cell is part of the cell."""

    rows: list[list[str]] = field(default_factory=list)
    headed: bool = False
    depth: int = 1

    def begin_row(self) -> None:
        """Begin a row of the outer table."""
        if self.depth == 1:
            self.rows.append([])

    def add_cell(self, words: str) -> None:
        """Add a cell to the row."""
        if not self.rows:
            self.rows.append([])
        self.rows[-1].append(words)

    def block(self) -> Block:
        """Return the rows as text."""
        return Block(words=rows_as_text(self.rows, headed=self.headed))


def rows_as_text(rows: Sequence[Sequence[str]], *, headed: bool) -> str:
    """Return the rows of a table, a line each; below a header each cell follows its column's name.

    So every row is complete by itself.
    """
    tidy = [[" ".join(cell.split()) for cell in row] for row in rows]
    filled = [row for row in tidy if any(row)]
    if (headed or _looks_headed(filled)) and len(filled) > 1 and len(filled[0]) > 1 and sum(map(bool, filled[0])) > 1:
        names, filled = filled[0], filled[1:]
        filled = [[_named(names, at, cell) for at, cell in enumerate(row)] for row in filled]
    return "\n".join(" | ".join(filter(None, row)) for row in filled)


def _looks_headed(rows: Sequence[Sequence[str]]) -> bool:
    """Tell whether the first row names the columns, though nothing marks it: words above a column of numbers alone."""
    if len(rows) <= _TOO_FEW_ROWS or not all(rows[0]) or any(map(_DIGIT.search, rows[0])):
        return False
    columns = ([row[at] for row in rows[1:] if at < len(row)] for at in range(1, len(rows[0])))
    return any(len(column) == len(rows) - 1 and all(map(_DIGIT.search, column)) for column in columns)


def _named(names: Sequence[str], at: int, cell: str) -> str:
    name = names[at] if at < len(names) else ""
    return f"{name}: {cell}" if name and cell else cell
