"""Compare the wording of two texts: the same words, the same thing in other words, the share of words in common.

Only texts that say the same may be merged, so the answer is no when in doubt: a word that one text has and the other
has not, another order of the words, a question against a statement.
"""

import re
import unicodedata
from collections.abc import Hashable, Iterable, Sequence
from typing import Final

from recollect.lazy import cache_short, regex
from recollect.text.differences import Said, differences, said, singular, spaced
from recollect.text.tokenizer import read_words, significant, word_set

_words: Final = cache_short(256)(word_set)


def same_words(a: str, b: str) -> bool:
    """Return whether *a* and *b* are the same words in the same order."""
    words, others = (re.findall(r"\w+", spaced(text).casefold()) for text in (a, b))
    return words == others and bool(words) and _same_values(a, b)


def _same_values(a: str, b: str) -> bool:
    """Return whether values, names and negations agree, and all that punctuation can change a meaning with."""
    return not differences(a, b) and is_question(a) == is_question(b) and _symbols(a) == _symbols(b)


def similarity(a: str, b: str) -> float:
    """Return the share of words in common, as written or once short forms, numbers and plurals are spelled alike."""
    return max(word_jaccard(a, b), jaccard(content_words(a, b), content_words(b, a)))


def word_jaccard(a: str, b: str) -> float:
    """Return the Jaccard similarity of the words of *a* and *b* as they are written."""
    ours, theirs = _words(a), _words(b)
    return jaccard(ours, theirs) if ours or theirs else 1.0


def jaccard(ours: Iterable[Hashable], theirs: Iterable[Hashable]) -> float:
    """Return how many of the distinct words of both are in both; 0 when there are none."""
    left, right = frozenset(ours), frozenset(theirs)
    shared = len(left & right)
    return shared / max(1, len(left) + len(right) - shared)


def is_question(text: str) -> bool:
    """Return whether *text* ends as a question."""
    return unicodedata.normalize("NFKC", text).rstrip(" \n\t\"')*_`").endswith("?")


def _symbols(text: str) -> list[str]:
    """Return the signs that mean something by themselves: a range, a "!" before a word, C#, arrows, ticks, emoji."""
    found = ((sign.group(sign.lastindex or 0), sign.lastindex) for sign in _SYMBOL.finditer(text))
    return [sign.replace("\u2013", "-") for sign, known in found if known or _is_symbol(sign)]


def _is_symbol(sign: str) -> bool:
    """Return whether a character is a symbol that stands for something, not mere punctuation or currency."""
    return unicodedata.category(sign) in {"So", "Sm", "No", "Co", "Cn"} and sign != "°"


_SYMBOL: Final = regex(
    r"(?<![\d/:.-])\d+\s?([-/\u2013])\s?\d+(?![\d/:-]|\.\d)|(?<![\w!])(!)(?=\w)|(?<=\w)(#)|[^\w\s]|[^\W\d_a-zA-Z]"
)


def says_the_same(a: str, b: str) -> bool:
    """Return whether *a* and *b* differ in nothing that carries meaning, nor in the order of what is said."""
    if not _same_values(a, b):
        return False
    ours, theirs = content_words(a, b), content_words(b, a)
    shared = set(ours) & set(theirs)
    kept, others = ([word for word in line if word in shared] for line in (ours, theirs))
    left, right = (_without_light_nouns(line, shared) for line in (ours, theirs))
    return left == kept and right == others and _same_order(kept, others)


def _groups(text: str) -> dict[str, str]:
    """Return each word of the comma-separated groups of *text* with the first of its group."""
    return {word: words.split(",")[0] for words in text.split() for word in words.split(",")}


def word_table(text: str) -> frozenset[str]:
    """Return the words of a table that is easier to read without quotes."""
    return frozenset(text.split())


_SYNONYMS: Final = _groups("""
    be,is,are,am have,has was,were with,using,via because,since every,each,all about,around,roughly,approximately
    remove,delete,erase show,display big,large start,begin run,execute check,verify use,utilise,utilize
    fetch,retrieve fast,quick buy,purchase change,alter repair,fix maybe,perhaps
""")
FILLERS: Final = word_table("""the a an that which just really actually basically simply please very quite indeed also
    and of do does we our""")
_LIGHT: Final = word_table("check step process procedure")
"""Nouns that add nothing to the activity before them: linting, linting checks."""
_INVARIABLE: Final = word_table("news means goods customs lens series species headquarters savings glasses")
_OPENING: Final = regex(r"^\W*(?:note|remember|important|fyi)\b[:,]?\s*(?:that\b)?", re.IGNORECASE)
_QUANTIFIER: Final = regex(r"\ba (few|little|bit)\b", re.IGNORECASE)
_CONTRACTIONS: Final = {"can't": "can not", "cannot": "can not", "won't": "will not", "let's": "let"}
_ENDINGS: Final = (("n't", "not"), ("'re", "are"), ("'ll", "will"), ("'ve", "have"), ("'m", "am"))
PREPOSITIONS: Final = word_table("""in on at within by for from to into with during after before until when if while
    because without unless where as under over through across against""")
"""Words that open a phrase which may come first or last."""
_MAX_MOVED_WORDS: Final = 400
"""In longer texts, no moved phrase is looked for."""


@cache_short(256)
def content_words(text: str, other: str) -> tuple[str, ...]:
    """Return the words of *text* that count, each in the form *other* would use for it."""
    there = {word.text for word in said(other)}
    words = said(_QUANTIFIER.sub(r"a-\1", _OPENING.sub("", text)))
    parts = (part for word in words for part in _split_word(word, there))
    return tuple(common for part in parts if (common := canonical(part)) not in FILLERS)


def _without_light_nouns(line: Sequence[str], shared: set[str]) -> list[str]:
    """Return *line* without the light nouns that the other text omits after the same activity."""
    pairs = zip(["", *line], line, strict=False)
    return [word for before, word in pairs if word in shared or not (word in _LIGHT and before.endswith("ing"))]


def _split_word(said_word: Said, there: set[str]) -> list[str]:
    """Return a contraction or a hyphenated word in its parts, unless the other text writes it as one."""
    word = said_word.text
    if word in _CONTRACTIONS:
        return _CONTRACTIONS[word].split()
    for ending, full in _ENDINGS:
        if word.endswith(ending):
            return [word.removesuffix(ending), full]
    if said_word.kind not in {"word", "name"} or "-" not in word or word.startswith(("a-", "re-")):
        return [word]
    joined = word.replace("-", "")
    return [joined] if joined in there else [part for part in word.split("-") if part]


def canonical(word: str) -> str:
    """Return one word for *word* and its synonyms."""
    one = word if word in _INVARIABLE | FILLERS else singular(word)
    return _SYNONYMS.get(word) or _SYNONYMS.get(one, one)


def _same_order(ours: list[str], theirs: list[str]) -> bool:
    """Return whether the words come in the same order, but for one phrase moved as a whole.

    Only a phrase that opens with a preposition or the like may move: "in CI we cache wheels" is "we cache
    wheels in CI", while "Ann told Ben" is not "Ben told Ann", nor "stop and copy" the same as "copy and stop".
    """
    if ours == theirs:
        return True
    if len(ours) != len(theirs) or len(ours) > _MAX_MOVED_WORDS:
        return False
    start = next(n for n, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b)
    end = next(n for n, (a, b) in enumerate(zip(ours[::-1], theirs[::-1], strict=True)) if a != b)
    if start == 0 and _moved(ours, theirs, least=1):
        return True
    rest = len(ours) - end
    closed = end == 0 or ours[rest] in PREPOSITIONS
    return closed and _moved(ours[start:rest], theirs[start:rest], least=1 if start == 0 else 2)


def _moved(ours: list[str], theirs: list[str], *, least: int) -> bool:
    """Return whether *theirs* is *ours* with its two halves swapped, *least* of which open with a relation."""
    return any(
        theirs == ours[cut:] + ours[:cut] and (ours[0] in PREPOSITIONS) + (word in PREPOSITIONS) >= least
        for cut, word in enumerate(ours)
        if cut and word == theirs[0]
    )


def stems_of(text: str) -> frozenset[str]:
    """Return the stems of the significant words of *text*."""
    return frozenset(stem for word in significant(read_words(text)) for stem in word.stems)
