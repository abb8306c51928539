"""Show where a text speaks of what was asked: its best stretch, with the words found in brackets."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final

from recollect.text.normalise import is_cjk
from recollect.text.spots import Spot, Wanted, find_spots

__all__ = ["Wanted", "snippet"]

_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f]")
_HALF: Final = re.compile("[\ud800-\udfff]")
# Marks, invisible joiners, and the later letters of a Hangul syllable.
_CONTINUING: Final = frozenset({"Mn", "Mc", "Me", "Cf"})
_LATER_JAMO: Final = re.compile("[\u1160-\u11ff\uff9e\uff9f]")


def snippet(text: str, wanted: Wanted, *, width: int = 160) -> str:
    """Return at most *width* characters of *text* on one line, found words as [word], cuts as "…".

    The stretch holds the most distinct wanted tokens, the earliest of the best; the beginning when
    there are none. Marks and cut signs are not counted. A word is cut only when it alone is too long.
    """
    line = " ".join(_CONTROL.sub(" ", _HALF.sub("\ufffd", text)).split())
    width = max(width, 1)
    spots = find_spots(line, wanted)
    start, end = _stretch(line, _densest(spots, width), width)
    shown = "".join(_marked(line, spots, start, end))
    return f"{'…' if start else ''}{shown}{'…' if end < len(line) else ''}"


def _densest(spots: Sequence[Spot], width: int) -> tuple[int, int]:
    """Return the place of the *spots* with the most distinct finds that *width* can show, the earliest of equals."""
    there = len(frozenset[str]().union(*{spot.found for spot in spots}))
    best, most, left = (0, 0), 0, 0
    counts: dict[str, int] = {}
    for spot in spots:
        for token in spot.found:
            counts[token] = counts.get(token, 0) + 1
        while spots[left].start < spot.start and spot.end - spots[left].start > width:
            for token in spots[left].found:
                counts[token] -= 1
                if not counts[token]:
                    del counts[token]
            left += 1
        if len(counts) > most:
            best, most = (spots[left].start, spot.end), len(counts)
            if most == there:
                break
    return best


def _stretch(line: str, core: tuple[int, int], width: int) -> tuple[int, int]:
    """Return what to show around *core*: as much as *width* allows, cut between words."""
    first, last = core
    start = max(0, min(first - max(0, width - (last - first)) // 2, len(line) - width))
    end = limit = min(len(line), start + width)
    while start < first and not _between_words(line, start):
        start += 1
    while end > max(last, start) and not _between_words(line, end):
        end -= 1
    if end <= start or end < last:
        end = _cut_word(line, start, limit)
    if line[start : start + 1] == " ":
        start += 1
    return start, end - (line[start:end][-1:] == " ")


def _between_words(line: str, at: int) -> bool:
    """Tell whether a cut at *at* leaves every word whole; CJK runs may be cut at any character."""
    if at in {0, len(line)} or " " in line[at - 1 : at + 1]:
        return True
    return (is_cjk(line[at - 1]) or is_cjk(line[at])) and not _continues(line[at])


def _cut_word(line: str, start: int, limit: int) -> int:
    """Return where to cut a word longer than the line: at *limit*, or before the letter whose marks stand there."""
    end = limit
    while start + 1 < end < len(line) and _continues(line[end]):
        end -= 1
    return end


def _continues(char: str) -> bool:
    return unicodedata.category(char) in _CONTINUING or _LATER_JAMO.match(char) is not None


def _marked(line: str, spots: Sequence[Spot], start: int, end: int) -> Iterator[str]:
    """Yield the stretch in pieces, its spots in brackets; CJK spots that touch are one."""
    at = start
    for first, last in _merged(spots, start, end):
        yield line[at:first]
        yield f"[{line[first:last]}]"
        at = last
    yield line[at:end]


def _merged(spots: Sequence[Spot], start: int, end: int) -> list[tuple[int, int]]:
    """Return the parts of *spots* between *start* and *end*."""
    merged: list[tuple[int, int]] = []
    joining = False
    for spot in spots:
        first, last = max(spot.start, start), min(spot.end, end)
        if first >= last:
            continue
        if joining and spot.cjk and first <= merged[-1][1]:
            before = merged.pop()
            first, last = before[0], max(before[1], last)
        merged.append((first, last))
        joining = spot.cjk
    return merged
