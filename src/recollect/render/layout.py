"""Text laid out for a screen: pieces with a style and a link, wrapped between words to the width of the terminal.

Nothing here knows a code of a terminal: a style is a name, and `terminal.py` alone writes what stands for it.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from recollect.lazy import regex
from recollect.render.terminal import visible
from recollect.text.normalise import is_cjk

Style = Literal["", "title", "mark", "faint", "good", "bad"]
NARROWEST: Final = 20
"""No text is wrapped to less than this."""
_TOKENS: Final = regex(r"\s+|[^\s/]*/+|[^\s/]+")
_NO_WIDTH: Final = frozenset({"Mn", "Me", "Cf"})
_NO_START: Final = frozenset({*_NO_WIDTH, "Lm", "Pe", "Pf", "Po"})
"""The kinds of characters that no line begins with: they stay with what stands before them."""


class Piece(Struct, frozen=True):
    """A stretch of a line; one that is *whole* is broken only where it alone is too long."""

    text: str
    style: Style = ""
    link: str = ""
    whole: bool = False


class Line(Struct, frozen=True, kw_only=True):
    """One line; what does not fit goes on below it, *hang* columns in, or is cut off where the line is a *single* one.

    A *gap* is shown on a screen only.
    """

    pieces: tuple[Piece, ...] = ()
    hang: int = 0
    single: bool = False
    gap: bool = False


Page = tuple[Line, ...]
GAP: Final = Line(gap=True)


def line(*parts: str | Piece, hang: int = 0) -> Line:
    """Return a line of *parts*."""
    return Line(pieces=tuple(Piece(each) if isinstance(each, str) else each for each in parts if each), hang=hang)


def page_of(text: str) -> Page:
    """Return *text* line by line; each goes on where it began, behind its number or its sign."""
    return tuple(line(each, hang=_hang(each)) for each in text.split("\n"))


def _hang(text: str) -> int:
    begun = re.match(r"(\s*)([-*•] |\d+\. |#\d+ )?", text)
    return 2 if begun is None else begun.end() if begun[2] else begun.end() + 2


def plain(page: Page) -> str:
    """Return *page* as text for a pipe: no line is wrapped, nothing is styled."""
    return "\n".join("".join(piece.text for piece in each.pieces) for each in page if not each.gap)


def folded(page: Page, width: int) -> Iterator[tuple[Piece, ...]]:
    """Yield the lines of *page* as they fit into *width* columns."""
    for each in page:
        rows = list(_folded(each, max(width, NARROWEST)))
        yield from [_cut_off(rows[0], max(width, NARROWEST))] if each.single and len(rows) > 1 else rows


def _cut_off(row: tuple[Piece, ...], width: int) -> tuple[Piece, ...]:
    """Return *row* with a sign that it does not end here."""
    *before, last = row
    full = sum(columns(piece.text) for piece in row) >= width
    kept = last.text.rpartition(" ")[0] if full and " " in last.text else last.text
    return (*before, replace(last, text=f"{kept.rstrip('…')}…"))


def columns(text: str) -> int:
    """Return how many columns *text* takes: two for a wide character, none for a mark on another."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def cut(text: str, width: int) -> str:
    """Return *text* in at most *width* columns, cut between characters with a sign."""
    if columns(text) <= width:
        return text
    kept, left = "", width - 1
    for char in text:
        left -= _columns(char)
        if left < 0:
            break
        kept += char
    return f"{kept.rstrip()}…"


def _columns(char: str) -> int:
    if unicodedata.category(char) in _NO_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


# --- wrapping -------------------------------------------------------------------------------


def _folded(each: Line, width: int) -> Iterator[tuple[Piece, ...]]:
    shown = [Piece(visible(piece.text).expandtabs(4), piece.style, piece.link) for piece in each.pieces]
    if sum(columns(piece.text) for piece in shown) <= width:
        yield _trimmed(shown)
        return
    hang = min(each.hang, width // 2)
    row: list[Piece] = []
    used = start = -1  # where the row begins; a line that goes on begins with no space
    for token in _tokens(each.pieces, width - hang):
        size = sum(columns(piece.text) for piece in token)
        if max(used, 0) + size > width and used > start:
            yield _trimmed(row)
            row, used, start = [Piece(" " * hang)] if hang else [], hang, hang
        if used == start >= 0 and not "".join(piece.text for piece in token).strip():
            continue
        row += token
        used = max(used, 0) + size
    yield _trimmed(row)


def _trimmed(row: list[Piece]) -> tuple[Piece, ...]:
    """Return *row* without the spaces at its end, neighbours of one style as one piece."""
    merged: list[Piece] = []
    for piece in row:
        if merged and (merged[-1].style, merged[-1].link) == (piece.style, piece.link):
            merged[-1] = replace(merged[-1], text=merged[-1].text + piece.text)
        else:
            merged.append(piece)
    while merged and not merged[-1].text.strip():
        merged.pop()
    if merged:
        merged[-1] = replace(merged[-1], text=merged[-1].text.rstrip())
    return tuple(merged)


def _tokens(pieces: Iterable[Piece], width: int) -> Iterator[list[Piece]]:
    """Yield what stays together: words, also of several pieces, and single characters of scripts without spaces."""
    word: list[Piece] = []
    for part in _parts(pieces):
        if word and not _breaks(word[-1].text[-1], part.text[0]):
            word.append(part)
            continue
        if word:
            yield from _fitting(word, width)
        word = [part]
    if word:
        yield from _fitting(word, width)


def _parts(pieces: Iterable[Piece]) -> Iterator[Piece]:
    for piece in pieces:
        text = visible(piece.text).expandtabs(4)
        if piece.whole:
            yield Piece(text, piece.style, piece.link, whole=True)
            continue
        for token in _TOKENS.findall(text):
            for part in re.split(r"(?<=[^\x00-\u10ff])|(?=[^\x00-\u10ff])", token) if not token.isascii() else (token,):
                if part:
                    yield Piece(part, piece.style, piece.link)


def _breaks(before: str, after: str) -> bool:
    """Return whether a line may end between two characters."""
    if before.isspace() or after.isspace():
        return True
    if unicodedata.category(after) in _NO_START:
        return False
    return before == "/" or is_cjk(before) or is_cjk(after)


def _fitting(word: list[Piece], width: int) -> Iterator[list[Piece]]:
    """Yield *word*, in pieces of *width* columns where it is wider than a line."""
    if sum(columns(piece.text) for piece in word) <= width:
        yield word
        return
    for piece in word:
        for part in _TOKENS.findall(piece.text) if piece.whole else [piece.text]:
            text = part
            while columns(text) > width:
                size = _most(text, width)
                yield [replace(piece, text=text[:size])]
                text = text[size:]
            if text:
                yield [replace(piece, text=text)]


def _most(text: str, width: int) -> int:
    """Return how many characters of *text* fit into *width* columns, marks with what they stand on."""
    used = 0
    for at, char in enumerate(text):
        used += _columns(char)
        if used > width:
            return max(1, at)
    return len(text)
