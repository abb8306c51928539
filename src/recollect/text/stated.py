"""How much a text states: questions tell nothing, and the answer to one stands in what is said next."""

import re
from functools import lru_cache
from typing import Final

from recollect.text.characters import CJK_PLAIN

ENOUGH: Final = 2000
"""A text of so many characters states enough; it is not counted."""

_ENDS: Final = ".!?\u3002\uff01\uff1f"
_SENTENCE: Final = re.compile(f"([^{_ENDS}\\n]+)([{_ENDS}]*)")
_ASKING: Final = re.compile("[?\uff1f]")
# Two characters of a script without spaces are about a word.
_WORD: Final = re.compile(f"[{CJK_PLAIN}]{{1,2}}|[^\\W{CJK_PLAIN}]+")


@lru_cache(maxsize=4096)
def words_stated(text: str) -> int:
    """Return how many words stand in the sentences of *text* that are no questions."""
    if len(text) > ENOUGH:
        return ENOUGH
    return sum(len(_WORD.findall(said)) for said, end in _SENTENCE.findall(text) if not _ASKING.search(end))
