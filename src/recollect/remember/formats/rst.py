"""Read reStructuredText: sections by their underlines, code whole, directives by their contents.

Nothing that a text asks for is done: no file is included, nothing raw is passed on, no role is carried out.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from recollect.lazy import regex
from recollect.records import Memory
from recollect.remember.formats.outline import Block, outlined
from recollect.remember.formats.record import Origin, Parsed

_ADORNMENT: Final = regex(r"([!-/:-@\[-`{-~])\1*[ \t]*")
_EXPLICIT: Final = regex(r"\.\.(?:[ \t]+(.*))?")
_DIRECTIVE: Final = regex(r"(?:\|[^|\n]+\|[ \t]+)?([A-Za-z][\w.:+-]*?)[ \t]*::(?:[ \t]+(.*))?")
_FOOTNOTE: Final = regex(r"\[[^\]\s]{1,80}\][ \t]")
_OPTION: Final = regex(r":[\w-]+:(?:[ \t]|$)")
_BORDER: Final = regex(r"[ \t]*(?:[=-]{2,}(?:[ \t]+[=-]+)+|\+(?:[-=]+\+)+)[ \t]*")
_CELLS: Final = regex(r"[ \t]*\|(.*)\|[ \t]*")

_ROLE: Final = regex(r":[\w:.+-]{1,60}:`([^`\n]{1,400})`")
_LITERAL: Final = regex(r"``([^`\n]+(?:`[^`\n]+)*)``")
_REFERENCE: Final = regex(r"`([^`<\n]{1,300}?)(?:[ \t\n]*<[^>`\n]{1,500}>)?`__?")

_CODE: Final = frozenset(
    {
        *("code", "code-block", "sourcecode", "parsed-literal", "doctest", "testcode", "testoutput", "prompt"),
        *("math", "productionlist", "graphviz", "mermaid", "uml", "console", "ipython"),
    }
)
_DROPPED: Final = frozenset(
    {
        *("contents", "toctree", "include", "literalinclude", "raw", "index", "meta", "highlight", "role"),
        *("default-role", "currentmodule", "py:currentmodule", "sectnum", "tabularcolumns", "autosummary"),
        *("replace", "unicode", "date", "automodule", "autoclass", "autofunction", "automethod", "image"),
        *("header", "footer", "title", "class"),
    }
)
_PLAIN: Final = frozenset({"container", "compound", "topic", "only", "table", "list-table", "csv-table", "tab-set"})
_MAX_DEPTH: Final = 12


class _Line(Struct, frozen=True, kw_only=True):
    """A line without its indentation, how far it was indented, and its number in the file."""

    words: str
    indent: int
    number: int


def read_rst(text: str, origin: Origin) -> Parsed:
    """Return a memory for each section with text, its title the heading, its section the path `A > B`."""
    lines = [
        _Line(words=line.strip(), indent=len(line) - len(line.lstrip()), number=number)
        for number, line in enumerate(text.expandtabs(8).split("\n"), start=1)
    ]
    template = Memory(content="", source=origin.source, observed_at=origin.date)
    return Parsed(memories=tuple(outlined(_blocks(lines, []), template)))


def _blocks(lines: Sequence[_Line], styles: list[str], depth: int = 0) -> Iterator[Block]:
    """Yield the headings and texts of *lines*; *styles* are the underlines seen so far, the highest rank first."""
    at = 0
    while at < len(lines):
        line = lines[at]
        if not line.words:
            at += 1
            continue
        heading = _heading(lines, at) if depth == 0 else None
        explicit = _EXPLICIT.fullmatch(line.words)
        if heading is not None:
            title, style, at = heading
            if style not in styles:
                styles.append(style)
            yield Block(words=_inline(title), rank=styles.index(style) + 1, line=line.number)
        elif explicit:
            end = _end_of_indented(lines, at + 1, line.indent)
            yield from _explicit(explicit[1] or "", line, lines[at + 1 : end], styles, depth)
            at = end
        else:
            end = _end_of_paragraph(lines, at)
            paragraph = lines[at:end]
            yield from _paragraph(paragraph)
            at = end
            if paragraph[-1].words.endswith("::"):
                end = _end_of_indented(lines, at, line.indent)
                yield from _literal(lines[at:end])
                at = end


# --- headings -------------------------------------------------------------------------------


def _heading(lines: Sequence[_Line], at: int) -> tuple[str, str, int] | None:
    """Return the title that begins at *at*, the style of its lines and where it ends; a line alone is a rule."""
    first = lines[at]
    over = _is_adornment(first)
    if over and at + 2 < len(lines) and lines[at + 2].words == first.words and _is_title(lines[at + 1], first):
        return lines[at + 1].words, first.words[0] * 2, at + 3
    if over and len(first.words) >= 4 and (at + 1 == len(lines) or not lines[at + 1].words):
        return None
    if at + 1 < len(lines) and not first.indent and not over:
        below = lines[at + 1]
        if _is_adornment(below) and _is_title(first, below):
            return first.words, below.words[0], at + 2
    return None


def _is_adornment(line: _Line) -> bool:
    return not line.indent and _ADORNMENT.fullmatch(line.words) is not None


def _is_title(line: _Line, adornment: _Line) -> bool:
    """Tell whether *adornment* is long enough for the title in *line*."""
    enough = min(len(line.words), 4)
    return bool(line.words) and len(line.words) <= 200 and len(adornment.words) >= max(enough, 2)


# --- text -----------------------------------------------------------------------------------


def _end_of_indented(lines: Sequence[_Line], at: int, indent: int) -> int:
    """Return where the lines end that are indented more than *indent*, from *at*."""
    end = at
    for place in range(at, len(lines)):
        if lines[place].words:
            if lines[place].indent <= indent:
                break
            end = place + 1
    return end


def _end_of_paragraph(lines: Sequence[_Line], at: int) -> int:
    end = at + 1
    while end < len(lines) and lines[end].words and not (end > at + 1 and _heading(lines, end)):
        end += 1
    return end


def _paragraph(lines: Sequence[_Line]) -> Iterator[Block]:
    """Yield a paragraph, list or table without its borders; a rule alone says nothing."""
    least = min(line.indent for line in lines)
    said = []
    for line in lines:
        if _BORDER.fullmatch(line.words) or (len(line.words) >= 4 and _ADORNMENT.fullmatch(line.words)):
            continue
        cells = _CELLS.fullmatch(line.words)
        words = " | ".join(cell.strip() for cell in cells[1].split("|") if cell.strip()) if cells else line.words
        said.append(" " * (line.indent - least) + words)
    text = _inline("\n".join(said))
    text = re.sub(r"[ \t]*::\Z", ":" if not text.rstrip().endswith(" ::") else "", text)
    if text.strip(" :\n"):
        yield Block(words=text, line=lines[0].number)


def _literal(lines: Sequence[_Line], language: str = "") -> Iterator[Block]:
    """Yield an indented block as code, in a fence, so that it stays whole."""
    filled = [line for line in lines if line.words]
    if filled:
        least = min(line.indent for line in filled)
        inside = range(filled[0].number, filled[-1].number + 1)
        code = "\n".join(" " * (line.indent - least) + line.words for line in lines if line.number in inside)
        fence = "~~~" if "```" in code else "```"
        yield Block(words=f"{fence}{language}\n{code}\n{fence}", line=max(1, filled[0].number - 1))


def _inline(text: str) -> str:
    """Return *text* with roles and references as the words a reader sees."""
    if "`" not in text:
        return text
    shown = _ROLE.sub(lambda found: _target(found[1]), text)
    return _REFERENCE.sub(r"\1", _LITERAL.sub(r"`\1`", shown))


def _target(words: str) -> str:
    """Return what a role shows: the words before `<target>`, else the target without its marks."""
    shown = words.partition("<")[0].strip() if words.endswith(">") else ""
    return shown or words.strip("<>").lstrip("~!")


# --- directives -----------------------------------------------------------------------------


def _explicit(words: str, line: _Line, inside: Sequence[_Line], styles: list[str], depth: int) -> Iterator[Block]:
    """Yield the contents of a directive or a footnote; comments and targets have none."""
    found = _DIRECTIVE.fullmatch(words)
    if found is None:
        if _FOOTNOTE.match(words):
            yield Block(words=_inline("\n".join([words, *(each.words for each in inside)])), line=line.number)
        return
    name, argument = found[1].lower(), (found[2] or "").strip()
    if name in _DROPPED or name.startswith("auto"):
        return
    options = sum(1 for _ in takewhile(lambda each: each.words and _OPTION.match(each.words), inside))
    content = inside[options:]
    if name in _CODE:
        yield from _literal(content, re.sub(r"\W.*", "", argument))
        return
    shown = argument if name in _PLAIN else f"{name.rpartition(':')[2]}: {argument}".rstrip(": ")
    if name == "figure":
        shown = ""
    if shown:
        yield Block(words=_inline(shown), line=line.number)
    if depth < _MAX_DEPTH:
        tight = bool(shown)
        for block in _blocks(content, styles, depth + 1):
            yield replace(block, tight=block.tight or tight)
            tight = False
    else:
        yield from _paragraph(content) if any(each.words for each in content) else ()
