"""Cut a long text at good breaks and lose nothing.

Each chunk is a slice of the text without the white space at its ends. A fenced code block or a private key
stays in one chunk unless it alone is more than four chunks long.
"""

import unicodedata
from collections.abc import Sequence
from itertools import chain
from typing import Final

from msgspec import Struct

from recollect.lazy import regex
from recollect.text.code import Span, is_inside, span_around, whole_blocks

# Strongest first. A match ends where the next chunk may begin.
_GOOD_BREAKS: Final = (
    regex(r"\n(?=[ ]{0,3}#{1,6}[ \t])"),
    regex(r"\n[ \t]*\n"),
    regex(r"\n(?=[ \t]*(?:[-*+•]|\d{1,9}[.)])[ \t])"),
    # An ideographic or full-width end needs no space behind it; closing quotes and brackets stay with it.
    regex(r"[.!?\u2026][\"')\]\xbb\u201d\u2019]{0,3}\s|[\u3002\uff01\uff1f][\u300d\u300f\uff09\u201d\u2019]{0,3}"),
)
_POOR_BREAKS: Final = (regex(r"\n"), regex(r"\s"))

_JOINER: Final = "\u200d"


class Chunk(Struct, frozen=True, kw_only=True):
    """A slice of a text: where it starts, and how many line ends stand before it."""

    text: str
    start: int
    line_offset: int


def chunk(text: str, *, max_chars: int = 1500, min_chars: int = 50) -> tuple[Chunk, ...]:
    """Return *text* in slices of at most *max_chars*, cut at the best breaks; nothing for blank text.

    Slices under *min_chars* are joined to a neighbour where both fit. Longer slices occur only where a code block
    or a run of combining characters cannot be cut.
    """
    most = max(max_chars, 2)
    least = min(min_chars, most // 2)
    begin, end = _stripped(text, (0, len(text)))
    blocks = tuple(span for span in whole_blocks(text) if span[1] - span[0] <= most * 4)
    spans: list[Span] = []
    while end - begin > most:
        cut = _cut(text, (begin, end), most=most, least=least, blocks=blocks)
        spans.append(_stripped(text, (begin, cut)))
        begin = _stripped(text, (cut, end))[0]
    if begin < end:
        spans.append((begin, end))
    return _chunks(text, _joined(spans, most=most, least=least))


# --- where to cut ---------------------------------------------------------------------------


def _cut(text: str, span: Span, *, most: int, least: int, blocks: Sequence[Span]) -> int:
    """Return the best place to cut *span*: a good break, late rather than early, then any white space."""
    begin, end = span
    low = begin + max(least, 1)
    # The rest should not be too short either.
    high = max(min(begin + most, end - least), low)
    middle = min(max(begin + most // 2, low), high)
    for breaks in (_GOOD_BREAKS, _POOR_BREAKS):
        for first, last in ((middle, high), (low, middle)):
            for pattern in breaks:
                found = [match.end() for match in pattern.finditer(text, first - 1, last)]
                for position in reversed(found):
                    if position >= low and _is_seam(text, position) and not is_inside(position, blocks):
                        return position
    return _forced(text, span, high, blocks)


def _forced(text: str, span: Span, high: int, blocks: Sequence[Span]) -> int:
    """Return a cut near *high* where there is no break: between two characters, or behind a whole span."""
    begin, end = span
    block = span_around(high, blocks)
    back = range(high, begin, -1) if block is None else ()
    ahead = range(high if block is None else block[1], end)
    places = (at for at in chain(back, ahead) if _is_seam(text, at) and not is_inside(at, blocks))
    return next(places, end)


def _is_seam(text: str, position: int) -> bool:
    """Tell whether a reader sees two characters, not one, on the two sides of *position*."""
    if not 0 < position < len(text):
        return True
    before, after = text[position - 1], text[position]
    if after.isascii() and before.isascii():
        return True
    return not (
        _JOINER in {before, after}
        or unicodedata.category(after).startswith("M")
        or "\udc00" <= after <= "\udfff"
        or "\U0001f3fb" <= after <= "\U0001f3ff"  # skin tones
        or "\u1160" <= after <= "\u11ff"  # vowels and endings of a decomposed Hangul syllable
        or ("\U0001f1e6" <= before <= "\U0001f1ff" and "\U0001f1e6" <= after <= "\U0001f1ff")  # flags
    )


# --- spans ----------------------------------------------------------------------------------


def _stripped(text: str, span: Span) -> Span:
    """Return *span* without the white space at its ends; a space that carries an accent stays."""
    begin, end = span
    while begin < end and text[begin].isspace() and _is_seam(text, begin + 1):
        begin += 1
    while end > begin and text[end - 1].isspace():
        end -= 1
    return begin, end


def _joined(spans: Sequence[Span], *, most: int, least: int) -> list[Span]:
    """Return *spans*, each one under *least* joined to the one before it where both fit in *most*."""
    joined: list[Span] = []
    for begin, end in spans:
        if joined and end - joined[-1][0] <= most and min(end - begin, joined[-1][1] - joined[-1][0]) < least:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((begin, end))
    return joined


def _chunks(text: str, spans: Sequence[Span]) -> tuple[Chunk, ...]:
    chunks = []
    lines = last = 0
    for begin, end in spans:
        lines += text.count("\n", last, begin)
        last = begin
        chunks.append(Chunk(text=text[begin:end], start=begin, line_offset=lines))
    return tuple(chunks)
