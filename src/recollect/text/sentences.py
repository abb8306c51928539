"""Where a text may be cut: its word pieces as a model may see them, how good a break is, and whole sentences."""

from collections.abc import Iterator
from typing import Final

from recollect.text.normalise import CJK_CHARACTER, compiled

Span = tuple[int, int]

PIECE: Final = rf"{CJK_CHARACTER}|[^\W\d_]{{1,4}}|\d{{1,3}}|[^\w\s]|_"
"""About what a word-piece tokenizer makes of a text, rather more than less."""

_STOPS: Final = ".!?…"
_WIDE_STOPS: Final = "\u3002\uff01\uff1f\uff0e\uff61"
_CLOSERS: Final = "\"')]}\u00bb\u201d\u2019\u300d\u300f\uff09"
SENTENCE: Final = 2
"""How good a break the end of a sentence is; that of a line is better."""


def estimate(text: str) -> list[Span]:
    """Return where the pieces of *text* are, as an unknown tokenizer may see them."""
    return [match.span() for match in compiled(PIECE).finditer(text)]


def break_quality(text: str, one: Span, other: Span) -> int:
    """Say how good a break there is between two pieces: 4 a blank line, 0 the middle of a word.

    Tokenizers differ in whether a piece holds the space before it, so both sides are looked at.
    """
    before, after = text[one[0] : other[0]], text[other[0] : other[1]]
    bare = before.rstrip()
    gap = before[len(bare) :] + after[: len(after) - len(after.lstrip())]
    if "\n" in gap:
        return 4 if gap.count("\n") > 1 else 3
    last = bare.rstrip(_CLOSERS)[-1:] or "-"
    if last in _WIDE_STOPS or (gap and last in _STOPS):
        return SENTENCE
    return 1 if gap else 0


def merge_sentences(text: str, *, most: int) -> list[Span]:
    """Return spans of whole sentences and lines, as many together as take about *most* pieces; never a part of one.

    In order and apart, without the white space between them.
    """
    spans: list[Span] = []
    taken = 0
    for (start, end), size in _sentences(text):
        if spans and taken + size <= most:
            spans[-1] = spans[-1][0], end
            taken += size
        else:
            spans.append((start, end))
            taken = size
    return spans


def _sentences(text: str) -> Iterator[tuple[Span, int]]:
    """Yield where the sentences and lines of *text* stand, and about how many pieces each takes."""
    pieces = estimate(text)
    first = 0
    for at in range(1, len(pieces) + 1):
        if at == len(pieces) or break_quality(text, pieces[at - 1], pieces[at]) >= SENTENCE:
            yield (pieces[first][0], pieces[at - 1][1]), at - first
            first = at
