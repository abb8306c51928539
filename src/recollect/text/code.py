"""Tell program text from prose: code is found by what it does, so meaning counts for more there."""

import re
from typing import Final

SHARE: Final = 0.4
"""So many of the lines look like code in a text that is code."""
LONGEST: Final = 200
"""So much of a line is looked at."""

_LINE: Final = re.compile(
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
    lines = [line[:LONGEST] for line in text.splitlines() if line.strip()]
    return bool(lines) and sum(_LINE.match(line) is not None for line in lines) >= SHARE * len(lines)
