"""Say how much two texts share."""

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

import Stemmer  # type: ignore[import-not-found]  # the wheel brings no types

from recollect.text.minhash import mark
from recollect.text.normalise import CJK, CJK_PLAIN, CJK_TRAIL, EMOJI, MARKS, compiled, fold, is_cjk

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


def segment(text: str) -> list[str]:
    """Return the words of *text* in order."""
    return (_ASCII if text.isascii() else compiled(_WIDE)).findall(text)


def places(text: str) -> Iterator[re.Match[str]]:
    """Return the words of *text* in order, each with its place."""
    return (_ASCII if text.isascii() else compiled(_WIDE)).finditer(text)


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


_WORDS: Final = """
    a an the this that these those such same other another each every any all both either neither some none
    i me my mine myself we us our ours ourselves you your yours yourself yourselves
    he him his himself she her hers herself it its itself they them their theirs themselves one
    who whom whose which what when where why how whoever whatever whichever whenever wherever
    am is are was were be been being have has had having do does did doing done
    can could might must shall should will would ought
    and or but nor so yet if then else than as because while until unless although though whether
    about above after against among around at before below between by
    down during for from in into of off on onto out over per since through throughout to toward
    towards under up upon via with within without
    again also already always just even ever only very too more most much many few less least own
    not no now there here
    aren't can't couldn't didn't doesn't don't hadn't hasn't haven't isn't mustn't shouldn't wasn't weren't won't
    wouldn't cannot dont didnt doesnt isnt im ive
"""

STOPWORDS: Final = frozenset(_WORDS.split())
"""Folded forms; a contraction of one of them with a clitic (`what's`, `they'll`) counts as well."""


LONGEST: Final = 255
"""The most characters a token has: stores limit the size of a key. A longer run is cut, a longer compound left out."""

_ASCII_ATOM: Final = re.compile("[A-Za-z0-9]+")
_ATOM: Final = f"[A-Za-z0-9]+|[{EMOJI}]|{RUN}"
_SIGN: Final = re.compile("[-_./@:+#]")
_STEP: Final = re.compile("[/@:]+")
_CLITIC: Final = re.compile("'(?:s|t|d|m|ll|re|ve)(?![a-z0-9])", re.IGNORECASE)
# Where a capital begins a part; an acronym's plural (`URLs`) is one part.
_HUMP: Final = re.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?!s(?![a-z]))[a-z])")
_LONGEST_HUMPED: Final = 64
_PLAIN_RUN: Final = f"[{CJK_PLAIN}]+"
# A syllable written as its Hangul letters, or one character, with what belongs to it.
_CLUSTER: Final = (
    "(?:[\u1100-\u115f\ua960-\ua97c]++[\u1160-\u11a7\ud7b0-\ud7c6]*+|[\uac00-\ud7a3])[\u11a8-\u11ff\ud7cb-\ud7fb]*+"
    f"[{CJK_TRAIL}]*+|.[{CJK_TRAIL}]*+"
)


class TokenAnalysis(NamedTuple):
    """What a written word is to the index."""

    tokens: tuple[str, ...]
    """Its exact forms, in order."""
    parts: tuple[str, ...]
    """Other exact forms it can be asked by: the whole compound, the parts of camelCase."""
    stems: tuple[str, ...]
    """What the stem index holds of it."""
    marks: tuple[int, ...]
    """The place of each stem in a sketch; none for a stop word."""
    stop: bool
    cjk: bool


_NOTHING: Final = TokenAnalysis((), (), (), (), stop=False, cjk=False)


class Memo(dict[str, TokenAnalysis]):
    """Keep the readings of short words, and forget them all when there are too many."""

    def __init__(self, read: Callable[[str], TokenAnalysis], *, most: int, longest: int) -> None:
        super().__init__()
        self._read, self._most, self._longest = read, most, longest

    def __missing__(self, word: str) -> TokenAnalysis:
        reading = self._read(word)
        # CJK runs hardly ever repeat.
        if not reading.cjk and len(word) <= self._longest:
            if len(self) >= self._most:
                self.clear()
            self[word] = reading
        return reading


def read_word(word: str) -> TokenAnalysis:
    """Read one *word* as `segment` found it."""
    if word.isascii():
        # Nearly all words are letters with at most a capital in front, and need no more than this.
        return _read_letters(word) if word.isalpha() and word[1:].islower() else _read_compound(word)
    if is_cjk(word):
        return _read_run(word)
    # Folding can open a character into several words: the fraction sign, the parenthesised number.
    return joined([_read_run(each) if is_cjk(each) else _read_compound(each) for each in segment(fold(word))])


def joined(readings: Sequence[TokenAnalysis]) -> TokenAnalysis:
    """Return *readings* as the one of all their words."""
    if len(readings) < 2:
        return readings[0] if readings else _NOTHING
    tokens: list[str] = []
    parts: list[str] = []
    stems: list[str] = []
    marks: list[int] = []
    # The innermost loop of an import, so it is written out.
    for more_atoms, more_parts, more_stems, more_marks, _, _ in readings:
        tokens += more_atoms
        stems += more_stems
        marks += more_marks
        if more_parts:
            parts += more_parts
    return TokenAnalysis(tuple(tokens), tuple(parts), tuple(stems), tuple(marks), stop=False, cjk=False)


ANALYSES: Final = Memo(read_word, most=1 << 16, longest=48)
"""The reading of every word, by the word as written."""


def characters(run: str) -> Iterator[tuple[int, int, str]]:
    """Yield the tokens of a CJK *run* with their places; a character seldom gives none or two."""
    if compiled(_PLAIN_RUN).fullmatch(run):
        yield from zip(range(len(run)), range(1, len(run) + 1), run, strict=True)
        return
    for place in compiled(_CLUSTER).finditer(run):
        for token in filter(str.isalnum, fold(place[0])):
            yield place.start(), place.end(), token


def with_pairs(tokens: Iterable[str]) -> Iterator[str]:
    """Yield each CJK token, and the pair it makes with the next one."""
    for token, after in pairwise((*tokens, "")):
        yield token
        if after:
            yield token + after


def _read_run(run: str) -> TokenAnalysis:
    tokens = tuple(token for _, _, token in characters(run))
    stems = tuple(with_pairs(tokens))
    return TokenAnalysis(tokens, (), stems, tuple(map(mark, stems)), stop=False, cjk=True)


def _read_letters(word: str) -> TokenAnalysis:
    """Read an ASCII word without signs, digits and humps, as `_read_compound` would."""
    lowered = word if word.islower() else word.lower()
    token = lowered[:LONGEST]
    root = stem(token)
    stop = lowered in STOPWORDS
    return TokenAnalysis((token,), (), (root,), () if stop else (mark(root),), stop=stop, cjk=False)


def _read_compound(word: str) -> TokenAnalysis:
    """Read a compound that is ASCII or folded: camelCase is seen in the first, and gone from the second."""
    if len(word) > LONGEST and (shorter := _shorter(word)) != [word]:
        return joined([ANALYSES[each] for each in shorter])
    said = _CLITIC.sub("", word)
    pieces = _atoms(said)
    stems: list[str] = []
    parts: list[str] = []
    for piece in pieces:
        humps = _humps(piece)
        stems += map(stem, dict.fromkeys([_lower(piece)[:LONGEST], *humps]))
        parts += humps
    wholes = _wholes(_lower(said)) if pieces and pieces != [said] else []
    tokens = tuple(_lower(token)[:LONGEST] for token in (pieces if said == word else _atoms(word)))
    others = tuple(part for part in dict.fromkeys([*parts, *wholes]) if part not in tokens)
    stop = _lower(said) in STOPWORDS or _lower(word) in STOPWORDS
    every = (*stems, *wholes)
    return TokenAnalysis(tokens, others, every, () if stop else tuple(map(mark, every)), stop=stop, cjk=False)


def _atoms(word: str) -> list[str]:
    return (_ASCII_ATOM if word.isascii() else compiled(_ATOM)).findall(word)


def _shorter(word: str) -> list[str]:
    """Return the words between the steps of a compound too long to be a token, or its pieces."""
    steps = [each for step in _STEP.split(word) for each in segment(step)]
    return _atoms(word) if steps == [word] else steps


def _lower(text: str) -> str:
    """Return *text* folded, where `lower` alone would undo what folding did to other scripts."""
    return text.lower() if text.isascii() else text


def _humps(piece: str) -> list[str]:
    """Return the parts of a camelCase *piece*, nothing when it is not one."""
    if piece[1:].islower() or len(piece) > _LONGEST_HUMPED:
        return []
    humps = _HUMP.split(piece)
    return [hump.lower() for hump in humps] if len(humps) > 1 else []


def _wholes(said: str) -> list[str]:
    """Return the compound itself and the compounds between its steps (`file.py` in `path/to/file.py`)."""
    whole = said.replace("'", "")
    wholes = dict.fromkeys([whole, *(step.strip("_") for step in _STEP.split(whole))])
    # What lost its only sign (`o'brien`) is a whole as well.
    return [each for each in wholes if len(each) <= LONGEST and (each is whole or _SIGN.search(each))]


class Token(NamedTuple):
    """A word, or one character of a CJK run: `text[start:end]` as written, and what the index holds of it."""

    start: int
    end: int
    text: str
    tokens: tuple[str, ...]
    parts: tuple[str, ...]
    stems: tuple[str, ...]
    cjk: bool


def tokenise(text: str) -> list[Token]:
    """Return the tokens of *text* in order, none without one in the index.

    A CJK character's stems are itself and the pair it makes with the next, which the run gives.
    """
    return [token for place in places(text) for token in _tokens_at(place)]


def _tokens_at(place: re.Match[str]) -> Iterator[Token]:
    word, start = place[0], place.start()
    if is_cjk(word):
        for (first, last, token), (_, _, after) in pairwise((*characters(word), (0, 0, ""))):
            stems = (token, token + after) if after else (token,)
            yield Token(start + first, start + last, word[first:last], (token,), (), stems, cjk=True)
        return
    reading = ANALYSES[word]
    if reading.tokens:
        yield Token(start, place.end(), word, reading.tokens, reading.parts, reading.stems, reading.cjk)


# A quotation mark between two letters is a slip of the fingers, not the end of a word.
_SLIP: Final = re.compile(r'(?<=[^\W\d_])"(?=[^\W\d_])')


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryWord:
    """One word of a question: as typed, its exact forms in order, its stems, and what kind of word it is."""

    text: str
    tokens: tuple[str, ...]
    stems: tuple[str, ...]
    stop: bool
    cjk: bool


def read_words(text: str) -> tuple[QueryWord, ...]:
    """Return the words of *text* in order, a CJK run being one word."""
    found = ((word, ANALYSES[word]) for word in segment(_SLIP.sub("", text)))
    return tuple(
        QueryWord(text=word, tokens=reading.tokens, stems=reading.stems, stop=reading.stop, cjk=reading.cjk)
        for word, reading in found
        if reading.tokens
    )


def significant(words: Sequence[QueryWord]) -> tuple[QueryWord, ...]:
    """Return *words* without stop words, or all of them when there are no others."""
    return tuple(word for word in words if not word.stop) or tuple(words)


def jaccard(a: str, b: str) -> float:
    """Return the share of their folded words that *a* and *b* have in common; two texts without words are the same."""
    ours, theirs = word_set(a), word_set(b)
    return len(ours & theirs) / len(ours | theirs) if ours or theirs else 1.0


def word_set(text: str) -> frozenset[str]:
    """Return the distinct folded words of *text*."""
    return frozenset(token for word in segment(text) for token in ANALYSES[word].tokens)
