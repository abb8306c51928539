"""Cut a text into passages that fit a model, at good breaks."""

from collections.abc import Mapping, Sequence
from typing import Final

from recollect.embedders.contract import Span
from recollect.lazy import regex
from recollect.text.normalise import CJK_CHARACTER, compiled
from recollect.text.sentences import break_quality

_WORD: Final = regex(r"[^\W\d_]+")
_SCRIPTS: Final[Mapping[str, str]] = {"cjk": CJK_CHARACTER}
SCRIPTS: Final = frozenset(_SCRIPTS)
"""The groups of scripts a model can be said not to know."""

TOO_MUCH: Final = 0.3
"""Above this share of words in a script it does not know, a model's vector says little."""
A_WORD: Final = 2
"""So many characters of these scripts say what one word does elsewhere."""


def knows(text: str, *, weak_on: Sequence[str]) -> bool:
    """Say whether little enough of *text* is in the scripts *weak_on*."""
    strange = 0.0
    for script in weak_on:
        text, count = compiled(_SCRIPTS[script]).subn(" ", text)
        strange += count / A_WORD
    return strange <= TOO_MUCH * (strange + len(_WORD.findall(text))) if strange else True


def batches(lengths: Sequence[int], *, room: int, most: int) -> list[list[int]]:
    """Return the positions of *lengths* in groups of like length, shortest first.

    A group holds at most *most* texts and, each filled up to the longest, at most *room* pieces;
    a text longer than the room goes alone. Grouping by length is what makes batches worth it:
    a short text beside a long one costs as much as the long one.
    """
    groups: list[list[int]] = []
    for at in sorted(range(len(lengths)), key=lambda at: (lengths[at], at)):
        group = groups[-1] if groups else []
        if not group or len(group) == most or (len(group) + 1) * lengths[at] > room:
            group = []
            groups.append(group)
        group.append(at)
    return groups


_AWAY: Final = 0.35
"""How far from the even share a better break may be looked for."""


def cut(text: str, pieces: Sequence[Span], *, most: int) -> list[Span]:
    """Return spans of at most *most* pieces each, about equally long, cut at the best break near the even share.

    A blank line is better than the end of a line, that better than the end of a sentence, then any space.
    """
    starts = [0]
    first = 0
    while (first := _after(text, pieces, first, max(1, most))) < len(pieces):
        starts.append(pieces[first][0])
    spans = (_trim(text, start, end) for start, end in zip(starts, [*starts[1:], len(text)], strict=True))
    return [(start, end) for start, end in spans if start < end]


def _after(text: str, pieces: Sequence[Span], first: int, most: int) -> int:
    """Return the piece the passage that begins at piece *first* ends before."""
    left = len(pieces) - first
    if left <= most:
        return len(pieces)
    parts = -(-left // most)
    even = -(-left // parts)
    nearest, furthest = first + max(1, round(even * (1 - _AWAY))), first + min(most, round(even * (1 + _AWAY)))
    return max(
        range(nearest, furthest + 1),
        key=lambda at: (break_quality(text, pieces[at - 1], pieces[at]), -abs(at - first - even), at),
    )


def _trim(text: str, start: int, end: int) -> Span:
    inside = text[start:end]
    start += len(inside) - len(inside.lstrip())
    return start, max(start, end - len(inside) + len(inside.rstrip()))
