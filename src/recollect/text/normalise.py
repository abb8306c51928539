"""Make texts that read alike be alike: one form for case, width, accents and invisible characters."""

import unicodedata
from typing import Final

from recollect.text.characters import ACCENTED, ACCENTS, BLANK, CJK, IGNORED, compiled

_BLANK: Final = f"[{BLANK}]"
_IGNORED: Final = f"[{IGNORED}]+"
_ACCENT: Final = f"(?<=[{ACCENTED}])[{ACCENTS}]+"
_CJK: Final = f"[{CJK}]"
_ASCII: Final = "".join(" " if code < 32 or code == 127 else chr(code).lower() for code in range(128))
# Letters that carry their stroke inside, so that no decomposition frees them; and what keyboards lack.
_PLAIN: Final = str.maketrans({
    "ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "\u0131": "i", "ȷ": "j", "æ": "ae", "œ": "oe",
    "þ": "th", "\u2018": "'", "\u2019": "'", "\u02bc": "'", "\u2010": "-", "\u2011": "-",
})  # fmt: skip


def fold(text: str) -> str:
    """Return *text* as a searcher would type it: NFKC, no case, no Latin, Greek or Cyrillic accents.

    Controls and halves of surrogate pairs become spaces. Folding twice changes nothing.
    """
    if text.isascii():
        return text.translate(_ASCII)
    seen = compiled(_IGNORED).sub("", compiled(_BLANK).sub(" ", text))
    apart = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", seen).casefold())
    return unicodedata.normalize("NFKC", compiled(_ACCENT).sub("", apart).translate(_PLAIN))


def is_cjk(char: str) -> bool:
    """Tell whether *char* is Han, Kana or Hangul: a script indexed by character."""
    return not char.isascii() and compiled(_CJK).match(char) is not None
