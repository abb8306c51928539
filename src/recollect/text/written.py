"""Find the words of a text as they are written: compounds, CJK runs, emoji.

A compound is alphanumeric runs joined by one sign inside (`foo-bar`, `1.0.21`, `user@example.com`),
or closed by one directly after a letter (`C++`, `C#`). Punctuation around it stays outside.
"""

import re
from collections.abc import Iterator
from typing import Final

from recollect.text.characters import CJK, CJK_TRAIL, EMOJI, MARKS, compiled

_LETTER: Final = f"[^\\W_{CJK}]"
RUN: Final = f"{_LETTER}(?:[A-Za-z0-9]++|{_LETTER}++|[{MARKS}]++)*+"
"""Letters, digits and their marks, of any script but CJK."""


def _compound(run: str, *, hyphens: str, apostrophes: str) -> str:
    """Write the pattern of *run*s that signs join; most words end where no sign follows, so that is asked first."""
    signs = f"[{hyphens}{apostrophes}_./@:+#]"
    sign = f"_*+(?:::|\\+\\+|[{hyphens}./@:+#]|(?<![0-9])[{apostrophes}](?![0-9]))_*+|_++"
    return f"{run}(?:(?={signs})(?:(?:{sign}){run})*+(?:(?<![0-9])(?:\\+\\+?|#))?)?"


_ASCII: Final = re.compile(_compound("[A-Za-z0-9]++", hyphens="-", apostrophes="'"))
_WIDE: Final = f"{_compound(RUN, hyphens='-‐‑', apostrophes=chr(39) + '’')}|[{CJK}][{CJK}{CJK_TRAIL}]*+|[{EMOJI}]"  # noqa: RUF001


def written(text: str) -> list[str]:
    """Return the words of *text* in order."""
    return (_ASCII if text.isascii() else compiled(_WIDE)).findall(text)


def places(text: str) -> Iterator[re.Match[str]]:
    """Return the words of *text* in order, each with its place."""
    return (_ASCII if text.isascii() else compiled(_WIDE)).finditer(text)
