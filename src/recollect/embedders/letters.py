"""The letters of a text: none that a tokenizer chokes on, and whether a model knows their script."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
_WORD: Final = re.compile(r"[^\W\d_]+")
_SCRIPTS: Final[Mapping[str, re.Pattern[str]]] = {
    "cjk": re.compile(
        r"[\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3031-\u3035\u3041-\u30ff\u3105-\u318f\u31a0-\u31ff"
        r"\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc"
        r"\U0001b000-\U0001b16f\U00020000-\U0003ffff]"
    ),
}
SCRIPTS: Final = frozenset(_SCRIPTS)
"""The groups of scripts a model can be said not to know."""

TOO_MUCH: Final = 0.3
"""Above this share of words in a script it does not know, a model's vector says little."""
A_WORD: Final = 2
"""So many characters of these scripts say what one word does elsewhere."""


def clean(text: str) -> str:
    """Return *text* with each lone surrogate replaced by U+FFFD; every position stays where it was."""
    return _SURROGATE.sub("\ufffd", text)


def knows(text: str, *, weak_on: Sequence[str]) -> bool:
    """Say whether little enough of *text* is in the scripts *weak_on*."""
    strange = 0.0
    for script in weak_on:
        text, count = _SCRIPTS[script].subn(" ", text)
        strange += count / A_WORD
    return strange <= TOO_MUCH * (strange + len(_WORD.findall(text))) if strange else True
