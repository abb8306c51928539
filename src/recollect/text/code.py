"""Find code in a text: fenced blocks, private keys, and whether the whole of it is a program."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

from recollect.lazy import regex

Span = tuple[int, int]
"""Where a stretch begins and ends: text[begin:end]."""

FENCE: Final = regex(r"^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
"""A line that opens or closes a code block, also one in a quotation or a list: its fence, and what stands behind it."""

PRIVATE_KEY: Final = regex(r"-----(BEGIN|END)[A-Z0-9 ]{0,40} PRIVATE KEY[A-Z ]{0,10}-----")
"""The line before or behind a private key."""

_SHARE: Final = 0.4  # so many of the lines look like code in a text that is code
_LONGEST: Final = 200  # so much of a line is looked at
_LINE: Final = regex(
    r"""\s*+(?:
        (?:def|class|import|return|elif|except|raise|fn|func|function|const|let|var|public|private|static)\b
      | from\ [\w.]++\ import\b | \#include\b | <\?php | @\w
      | (?:if|for|while|with|try|else|switch)\b[^:{]*+[:{]\s*+$
      | [\w.\[\]'"]++\s?[-+*/|&]?=\s?[^=\s]
      | [\w.]++\([^)]*+\)[;,:{]?\s*+$
      | [})\];]++[;,]?\s*+$
      | \"\"\"|'''|//|/\*|\*/
    )""",
    re.VERBOSE,
)


def looks_like_code(text: str) -> bool:
    """Return whether most of *text* is a program, not a note about one."""
    lines = [line[:_LONGEST] for line in text.splitlines() if line.strip()]
    return bool(lines) and sum(_LINE.match(line) is not None for line in lines) >= _SHARE * len(lines)


def fenced_blocks(text: str) -> list[Span]:
    """Return where the fenced code blocks of *text* stand, their fences included; an open one runs to the end."""
    spans: list[Span] = []
    opening: re.Match[str] | None = None
    for line in FENCE.finditer(text) if "```" in text or "~~~" in text else ():
        fence, rest = line[1], line[2]
        if opening is None:
            if fence[0] == "~" or "`" not in rest:
                opening = line
        elif fence.startswith(opening[1]) and not rest.strip():
            spans.append((opening.start(), line.end()))
            opening = None
    return spans if opening is None else [*spans, (opening.start(), len(text))]


def whole_blocks(text: str) -> tuple[Span, ...]:
    """Return where the blocks of *text* stand that no cut may part: fenced code and private keys, merged and sorted."""
    merged: list[Span] = []
    for begin, end in sorted((*fenced_blocks(text), *_private_keys(text))):
        if merged and begin < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return tuple(merged)


def is_inside(position: int, spans: Sequence[Span]) -> bool:
    """Tell whether a cut at *position* would part one of *spans*, which are sorted and disjoint."""
    return span_around(position, spans) is not None


def span_around(position: int, spans: Sequence[Span]) -> Span | None:
    """Return the one of *spans* that a cut at *position* would part."""
    index = bisect_right(spans, (position, -1)) - 1
    return spans[index] if index >= 0 and position < spans[index][1] else None


def _private_keys(text: str) -> Iterator[Span]:
    begin: int | None = None
    for line in PRIVATE_KEY.finditer(text) if " PRIVATE KEY" in text else ():
        if line[1] == "BEGIN":
            begin = line.start()
        elif begin is not None:
            yield begin, line.end()
            begin = None
