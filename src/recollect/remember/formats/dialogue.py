"""Recognise a conversation written as `Name: words` lines, and part it into turns."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

# A stamp in brackets, a name of at most 40 characters in bold or not, a colon, words.
_LINE: Final = re.compile(
    r"(?:\[(?P<stamp>[^\[\]]{1,40})\][ \t]*)?(?:\*\*|__)?"
    r"(?P<name>[^\W\d_][\w .'\u2019-]{0,39}?)"
    r"(?:\*\*|__)?(?::|\uff1a)(?:\*\*|__)?(?:[ \t]+|(?<=\uff1a))(?P<words>\S.*)"
)

_NO_NAMES: Final = frozenset({"debug", "error", "fixme", "info", "note", "todo", "trace", "warn", "warning"})
_FEWEST_TURNS: Final = 4
_MOST_SPEAKERS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One turn of a written conversation: who, what, when if it is noted, and the line it begins on (from 0)."""

    name: str
    words: str
    line: int
    stamp: str = ""


def is_dialogue(lines: Sequence[str]) -> bool:
    """Tell whether *lines* are a conversation: 4 turns or more, most lines, 2 to 8 speakers, one speaks again."""
    written = [line for line in lines if line and not line.isspace()]
    spoken = [match for line in written if (match := _spoken(line))]
    if len(spoken) < _FEWEST_TURNS or len(spoken) * 2 <= len(written):
        return False
    # A list of settings looks alike, but there no name comes twice; a list of remarks has one name only.
    return 2 <= len({match["name"] for match in spoken}) <= min(_MOST_SPEAKERS, len(spoken) - 1)


def dialogue(lines: Sequence[str]) -> tuple[tuple[Said, ...], str]:
    """Return the turns in *lines* and the text before the first; other lines go on with the turn above them."""
    turns: list[tuple[int, re.Match[str], list[str]]] = []
    before: list[str] = []
    for number, line in enumerate(lines):
        match = _spoken(line)
        if match:
            turns.append((number, match, [match["words"]]))
        else:
            (turns[-1][2] if turns else before).append(line)
    said = (
        Said(name=match["name"].strip(), words="\n".join(words).strip(), line=number, stamp=match["stamp"] or "")
        for number, match, words in turns
    )
    return tuple(said), "\n".join(before)


def _spoken(line: str) -> re.Match[str] | None:
    match = _LINE.fullmatch(line.strip())
    return None if match is None or match["name"].lower() in _NO_NAMES else match
