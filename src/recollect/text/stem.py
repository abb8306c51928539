"""Reduce a word to its stem: the Snowball English algorithm (Porter 2)."""

import threading
from typing import Final

import Stemmer  # type: ignore[import-not-found]  # the wheel brings no types

SNOWBALL: Final[str] = Stemmer.version().partition(".")[0]
"""The generation of the algorithm; another one may stem otherwise."""

# The memo of readings is the cache; the library's own would keep every word twice.
_ENGLISH: Final = Stemmer.Stemmer("english", 0)
# A stemmer works in one buffer of its own, which two threads must not share.
_PEN: Final = threading.Lock()


def stem(word: str) -> str:
    """Return the stem of a folded *word*; words of other languages mostly stay as they are."""
    with _PEN:
        return str(_ENGLISH.stemWord(word)) or word
