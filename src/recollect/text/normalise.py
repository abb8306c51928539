"""Make texts that read alike be alike: one form for case, width, accents and invisible characters."""

import re
import unicodedata
from functools import cache
from typing import Final


@cache
def compiled(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """Compile *pattern* when a text first needs it: the classes below take longer than all else of a start."""
    return re.compile(pattern, flags)


def _ranges(table: str) -> str:
    r"""Turn "0300-036F 0670" into the class text `\u0300-\u036f\u0670`."""
    return "".join("-".join(chr(int(end, 16)) for end in span.split("-")) for span in table.split())


CJK: Final = _ranges("""
    1100-11FF 3005-3007 3021-3029 3031-3035 3038-303C 3041-3096 309D-309F 30A1-30FA 30FC-30FF 3105-312F 3131-318E
    31A0-31BF 31F0-31FF 3400-4DBF 4E00-9FFF A960-A97C AC00-D7A3 D7B0-D7FB F900-FAFF FF66-FF9F FFA0-FFDC
    1AFF0-1AFFE 1B000-1B16F 20000-2FA1F 30000-323AF
""")
"""Scripts written without spaces, and Hangul, whose particles stick to the word: indexed by character."""

CJK_CHARACTER: Final = f"[{CJK}]"
"""The pattern of one of them, for `compiled`."""

CJK_PLAIN: Final = _ranges("""
    3005 3007 3041-3096 309D-309E 30A1-30FA 30FC-30FE 31F0-31FF 3400-4DBF 4E00-9FFF AC00-D7A3 20000-2A6DD
""")
"""The part of CJK that folding leaves alone, one character a token: nearly all that is ever written."""

CJK_TRAIL: Final = _ranges("302A-302F 3099-309A FF9E-FF9F FE00-FE0F E0100-E01EF 200C-200D")
"""What belongs to the CJK character before it: sound marks, tone marks, variation selectors."""

IGNORED: Final = _ranges("""
    00AD 034F 061C 115F-1160 17B4-17B5 180B-180F 200C-200F 202A-202E 2060-206F 3164 FE00-FE0F FEFF FFA0
    1BCA0-1BCA3 1D173-1D17A E0000-E0FFF
""")
"""Invisible characters that a reader cannot see and a searcher does not type (Default_Ignorable_Code_Point)."""
HIDDEN: Final = frozenset(
    f"\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0{''.join(map(chr, range(0xFE00, 0xFE10)))}"
    + "".join(map(chr, range(0xE0100, 0xE01F0)))
)
"""Those of them that Python takes for printable: a printable text without these holds nothing unseen."""

BLANK: Final = _ranges("0000-001F 007F-009F 200B 2028-2029 D800-DFFF")
"""What stands for a space: controls, the zero-width space, line separators, halves of surrogate pairs."""

ACCENTED: Final = _ranges("""
    0041-005A 0061-007A 00C0-024F 0250-02AF 0370-03FF 0400-052F 1C80-1C8A 1D00-1DBF 1E00-1FFF 2C60-2C7F
    A640-A69D A720-A7FF AB30-AB6F
""")
"""Latin, Greek and Cyrillic letters: a mark on them is an accent people leave out when they type."""

ACCENTS: Final = _ranges("0300-036F 0483-0489 1AB0-1AFF 1DC0-1DFF 20D0-20F0 A66F-A67D FE20-FE2F")
"""The marks that stand on those letters."""

MARKS: Final = _ranges("""
    0300-036F 0483-0489 0591-05BD 05BF 05C1-05C2 05C4-05C5 05C7 0610-061A 064B-065F 0670 06D6-06DC 06DF-06E8
    06EA-06ED 0711-07F3 07FD 0816-082D 0859-085B 0897-08E1 08E3-0963 0981-09E3 09FE-0A75 0A81-0AE3 0AFA-0B63
    0B82-0BD7 0C00-0C63 0C81-0C83 0CBC-0D4D 0D57-0D63 0D81-0DF3 0E31-0E3A 0E47-0E4E 0EB1-0ECE 0F18-0F19 0F35
    0F37 0F39 0F3E-0F84 0F86-0FBC 0FC6 102B-103E 1056-109D 135D-135F 1712-1734 1752-17D3 17DD 180B-180D
    180F-193B 1A17-1A1B 1A55-1A7F 1AB0-1B44 1B6B-1B73 1B80-1BF3 1C24-1C37 1CD0-1CD2 1CD4-1DFF 20D0-20F0
    2CEF-2CF1 2D7F-2DFF A66F-A672 A674-A67D A69E-A6F1 A802-A827 A82C A880-A8C5 A8E0-A8F1 A8FF-A92D A947-A953
    A980-A9C0 A9E5-AA4D AA7B-AAC1 AAEB-AAEF AAF5-AAF6 ABE3-ABEA ABEC-ABED FB1E FE00-FE0F FE20-FE2F
    101FD 10376-1037A 10A01-10A3F 10AE5-10AE6 10D24-10D27 10EAB-10EAC 10F46-10F50 10F82-10F85 11000-11046
    11070-110BA 110C2 11100-11134 11145-11173 11180-111C0 111C9-111CC 111CE-111CF 1122C-11237 1123E 112DF-11446
    1145E-114C3 115AF-115C0 115DC-11640 116AB-116B7 1171D-1172B 1182C-1183A 11930-11943 119D1-119E0 119E4-11A3E
    11A47-11A99 11C2F-11C3F 11C92-11D97 11EF3-11EF6 16AF0-16AF4 16B30-16B36 16F4F-16F92 1E000-1E136 1E2AE-1E2EF
    1E8D0-1E94A E0100-E01EF 00AD 200C-200F 2060 FEFF
""")
"""What continues a word and is no letter: vowel signs, viramas, accents, and invisible joiners."""

EMOJI: Final = _ranges("2600-275A 2761-2767 2776-27BF 1F1E6-1F1FF 1F300-1F3FA 1F400-1FAFF")
"""Pictures that are words of their own."""


_BLANK: Final = f"[{BLANK}]"
_IGNORED: Final = f"[{IGNORED}]+"
_ACCENT: Final = f"(?<=[{ACCENTED}])[{ACCENTS}]+"
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
    plain = text.isprintable() and HIDDEN.isdisjoint(text)
    seen = text if plain else compiled(_IGNORED).sub("", compiled(_BLANK).sub(" ", text))
    apart = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", seen).casefold())
    return unicodedata.normalize("NFKC", compiled(_ACCENT).sub("", apart).translate(_PLAIN))


def is_cjk(char: str) -> bool:
    """Tell whether *char* is Han, Kana or Hangul: a script indexed by character."""
    return not char.isascii() and compiled(CJK_CHARACTER).match(char) is not None
