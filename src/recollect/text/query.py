"""Read the words of a question as the index knows them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from recollect.text.reading import READINGS
from recollect.text.written import written

# A quotation mark between two letters is a slip of the fingers, not the end of a word.
_SLIP: Final = re.compile(r'(?<=[^\W\d_])"(?=[^\W\d_])')


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryWord:
    """One word of a question: as typed, its exact forms in order, its stems, and what kind of word it is."""

    text: str
    atoms: tuple[str, ...]
    stems: tuple[str, ...]
    stop: bool
    cjk: bool


def read_words(text: str) -> tuple[QueryWord, ...]:
    """Return the words of *text* in order, a CJK run being one word."""
    found = ((word, READINGS[word]) for word in written(_SLIP.sub("", text)))
    return tuple(
        QueryWord(text=word, atoms=reading.atoms, stems=reading.stems, stop=reading.stop, cjk=reading.cjk)
        for word, reading in found
        if reading.atoms
    )


def significant(words: Sequence[QueryWord]) -> tuple[QueryWord, ...]:
    """Return *words* without stop words, or all of them when there are no others."""
    return tuple(word for word in words if not word.stop) or tuple(words)
