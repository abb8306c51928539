"""Cut a text into tokens that know their place in it."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from recollect.text.normalise import is_cjk
from recollect.text.reading import READINGS, characters
from recollect.text.written import places


class Token(NamedTuple):
    """A word, or one character of a CJK run: `text[start:end]` as written, and what the index holds of it."""

    start: int
    end: int
    text: str
    atoms: tuple[str, ...]
    parts: tuple[str, ...]
    stems: tuple[str, ...]
    cjk: bool


def tokenise(text: str) -> list[Token]:
    """Return the tokens of *text* in order, none without an atom.

    A CJK character's stems are itself and the pair it makes with the next, which the run gives.
    """
    return [token for place in places(text) for token in _tokens_at(place)]


def _tokens_at(place: re.Match[str]) -> Iterator[Token]:
    word, start = place[0], place.start()
    if is_cjk(word):
        for (first, last, atom), (_, _, after) in pairwise((*characters(word), (0, 0, ""))):
            stems = (atom, atom + after) if after else (atom,)
            yield Token(start + first, start + last, word[first:last], (atom,), (), stems, cjk=True)
        return
    reading = READINGS[word]
    if reading.atoms:
        yield Token(start, place.end(), word, reading.atoms, reading.parts, reading.stems, reading.cjk)
