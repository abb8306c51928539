"""Cut a text into words, and a word into the tokens and stems by which the index and a question know it.

One word is one entry of a cache, so an import analyses each word of its vocabulary once. Scripts without
spaces are indexed by character, by pairs of characters and by what in them is surely a word; everything else is
stemmed by English Snowball here, and by the Snowball of its language in `recollect.text.languages`.
"""

import re
import threading
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from operator import add
from typing import Final, TypeVar, cast

import Stemmer  # type: ignore[import-not-found]  # the wheel brings no types
from msgspec import Struct

from recollect.lazy import regex
from recollect.text.minhash import token_hash
from recollect.text.normalise import CJK, CJK_PLAIN, CJK_TRAIL, EMOJI, MARKS, compiled, fold, is_cjk

LONGEST: Final = 255
"""The most characters a token has: stores limit the size of a key. A longer run is cut, a longer compound left out."""

# --- words ----------------------------------------------------------------------------------

_LETTER: Final = f"[^\\W_{CJK}]"
# Only single characters repeat possessively: before Python 3.11.5 possessive groups matched too much (gh-106052).
_RUN: Final = f"{_LETTER}(?:[A-Za-z0-9]++|{_LETTER}++|[{MARKS}]++)*"  # letters, digits, marks of any script but CJK


def _compound(run: str, *, hyphens: str, apostrophes: str) -> str:
    """Write the pattern of *run*s that signs join; most words end where no sign follows, so that is asked first."""
    signs = f"[{hyphens}{apostrophes}_./@:+#]"
    sign = f"_*+(?:::|\\+\\+|[{hyphens}./@:+#]|(?<![0-9])[{apostrophes}](?![0-9]))_*+|_++"
    return f"{run}(?:(?={signs})(?:(?:{sign}){run})*(?:(?<![0-9])(?:\\+\\+?|#))?)?"


_ASCII: Final = regex(_compound("[A-Za-z0-9]++", hyphens="-", apostrophes="'"))
_WIDE: Final = f"{_compound(_RUN, hyphens='-‐‑', apostrophes=chr(39) + '’')}|[{CJK}][{CJK}{CJK_TRAIL}]*+|[{EMOJI}]"  # noqa: RUF001


def segment(text: str) -> list[str]:
    """Return the words of *text* in order: compounds whole, runs of CJK characters whole, each emoji by itself."""
    return (_ASCII if text.isascii() else compiled(_WIDE)).findall(text)


# --- stems and stop words -------------------------------------------------------------------

# The cache of words is the cache of stems; the library's own would keep every word twice.
_ENGLISH: Final = Stemmer.Stemmer("english", 0)
# A stemmer works in one buffer of its own, which two threads must not share.
_STEMMER_LOCK: Final = threading.Lock()


def stem(word: str) -> str:
    """Return the stem of a folded *word*; words of other languages mostly stay as they are."""
    with _STEMMER_LOCK:
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


# --- the analysis of a word -----------------------------------------------------------------


class TokenAnalysis(Struct, frozen=True, gc=False):
    """What a word, or a text of them, is to the index; not tracked by the GC: many are cached, and it would pause."""

    tokens: tuple[str, ...]
    """Its exact forms, in order."""
    alternatives: tuple[str, ...]
    """Other exact forms it can be asked by: the whole compound, the parts of camelCase."""
    stems: tuple[str, ...]
    """What the stem index holds of it."""
    hashes: tuple[int, ...]
    """The minhash of each stem; none for a stop word."""
    stop: bool = False
    cjk: bool = False


_NOTHING: Final = TokenAnalysis((), (), (), ())


_Read = TypeVar("_Read")


class WordCache(dict[str, _Read]):
    """Keep what was read of short words, and forget it all when there are too many."""

    def __init__(self, read: Callable[[str], _Read], *, max_words: int, max_length: int) -> None:
        super().__init__()
        self._read, self._max_words, self._max_length = read, max_words, max_length

    def __missing__(self, word: str) -> _Read:
        found = self._read(word)
        # CJK runs hardly ever repeat.
        if len(word) <= self._max_length and not is_cjk(word):
            if len(self) >= self._max_words:
                self.clear()
            self[word] = found
        return found


def analyse_word(word: str) -> TokenAnalysis:
    """Analyse one *word* as `segment` found it."""
    if word.isascii():
        # Nearly all words are letters or digits, and need no more than this.
        return _analyse_plain(word) if word.isalnum() and not _humps(word) else _analyse_compound(word)
    if is_cjk(word):
        return _analyse_run(word)
    # Folding can open a character into several words: the fraction sign, the parenthesised number.
    return joined([_analyse_run(each) if is_cjk(each) else _analyse_compound(each) for each in segment(fold(word))])


_REPEATED: Final = 48
"""Longer words hardly ever stand in two texts."""
WORDS: Final = WordCache(analyse_word, max_words=1 << 16, max_length=_REPEATED)
"""The analysis of every word, by the word as `segment` found it."""

_Plain = tuple[str, str, int | None]
"""The token of a word, its stem, and the hash of that; none for a stop word."""


def _read_chunk(chunk: str) -> _Plain | TokenAnalysis:
    """Return the analysis of the words of a *chunk*, in short where it is one token and one stem: most words are."""
    if chunk.isascii() and chunk.isalnum() and (chunk.islower() or not _humps(chunk)):
        return _read_plain(chunk) if len(chunk) > LONGEST or chunk.lower() == chunk else _READ[chunk.lower()]
    words = segment(chunk)
    if words != [chunk]:
        return _READ[words[0]] if len(words) == 1 else _gathered(map(_READ.__getitem__, words))
    analysis = analyse_word(chunk)
    tokens, stems, stop = analysis.tokens, analysis.stems, analysis.stop
    if analysis.alternatives or not len(tokens) == len(stems) == 1 or len(analysis.hashes) == stop:
        return analysis
    return tokens[0], stems[0], None if stop else analysis.hashes[0]


_READ: Final = WordCache(_read_chunk, max_words=1 << 17, max_length=_REPEATED)
"""The analysis of what stands between two spaces, a word mostly, by the text of that."""
SEVERAL: Final = ""
"""What `SOLE_STEMS` says of a chunk that has several stems, or that takes longer to read."""


def _sole_stem(chunk: str) -> str:
    """Return the stem of a *chunk* that has one, a space where it has none."""
    if not chunk.isascii() or len(chunk) > _REPEATED:
        return SEVERAL
    read = _READ[chunk]
    return read[1] if isinstance(read, tuple) else SEVERAL if read.stems else " "


SOLE_STEMS: Final = WordCache(_sole_stem, max_words=1 << 16, max_length=_REPEATED)
"""The one stem of what stands between two spaces, for those who look for few stems in many texts."""
# What can be in no word becomes a space; most words are told from those around them so.
_SPACED: Final = "".join(chr(code) if chr(code).isalnum() or chr(code) in "-'_./@:+#" else " " for code in range(128))
_SIGNS: Final = "".join(chr(code) for code in range(33, 127) if _SPACED[code] == " ")


def analyse_text(text: str) -> TokenAnalysis:
    """Analyse all words of *text*."""
    return _gathered(map(_READ.__getitem__, _chunks(text)))


def word_set(text: str) -> frozenset[str]:
    """Return the distinct folded words of *text*."""
    found: set[str] = set()
    for read in map(_READ.__getitem__, set(_chunks(text))):
        if isinstance(read, tuple):
            found.add(read[0])
        else:
            found.update(read.tokens)
    return frozenset(found)


def _chunks(text: str) -> list[str]:
    """Return what stands between spaces: no word holds one, so cutting there first finds its words much sooner."""
    if text.isascii():
        text = text.translate(_SPACED)
    else:
        for sign in _SIGNS:
            if sign in text:
                text = text.replace(sign, " ")
    # A point before a space ends a sentence and belongs to no word.
    return text.replace(". ", " ").split()


def _gathered(analyses: Iterable[_Plain | TokenAnalysis]) -> TokenAnalysis:
    tokens: list[str] = []
    alternatives: list[str] = []
    stems: list[str] = []
    hashes: list[int] = []
    # The innermost loop of an import, so it is written out.
    for read in analyses:
        if isinstance(read, tuple):
            token, root, hashed = read
            tokens.append(token)
            stems.append(root)
            if hashed is not None:
                hashes.append(hashed)
        else:
            tokens += read.tokens
            alternatives += read.alternatives
            stems += read.stems
            hashes += read.hashes
    return TokenAnalysis(tuple(tokens), tuple(alternatives), tuple(stems), tuple(hashes))


def joined(analyses: Sequence[TokenAnalysis]) -> TokenAnalysis:
    """Return *analyses* as the one of all their words."""
    if len(analyses) < 2:
        return analyses[0] if analyses else _NOTHING
    tokens: list[str] = []
    alternatives: list[str] = []
    stems: list[str] = []
    hashes: list[int] = []
    for each in analyses:
        tokens += each.tokens
        stems += each.stems
        hashes += each.hashes
        alternatives += each.alternatives
    return TokenAnalysis(tuple(tokens), tuple(alternatives), tuple(stems), tuple(hashes))


# --- runs of CJK characters -----------------------------------------------------------------

_PLAIN_RUN: Final = f"[{CJK_PLAIN}]+"
# A syllable written as its Hangul letters, or one character, with what belongs to it.
_CLUSTER: Final = (
    "(?:[\u1100-\u115f\ua960-\ua97c]++[\u1160-\u11a7\ud7b0-\ud7c6]*+|[\uac00-\ud7a3])[\u11a8-\u11ff\ud7cb-\ud7fb]*+"
    f"[{CJK_TRAIL}]*+|.[{CJK_TRAIL}]*+"
)


def is_plain_run(run: str) -> bool:
    """Tell whether each character of a CJK *run* is the token that it gives."""
    return compiled(_PLAIN_RUN).fullmatch(run) is not None


def run_tokens(run: str) -> Iterable[tuple[int, int, str]]:
    """Return the tokens of a CJK *run* with their places; a character seldom gives none or two."""
    if is_plain_run(run):
        return zip(range(len(run)), range(1, len(run) + 1), run, strict=True)
    places = compiled(_CLUSTER).finditer(run)
    return ((place.start(), place.end(), token) for place in places for token in filter(str.isalnum, fold(place[0])))


def _analyse_run(run: str) -> TokenAnalysis:
    """Analyse a CJK *run*: its stems are each character, the pair it makes with the next, and its whole words."""
    read = run if is_plain_run(run) else "".join(token for _, _, token in run_tokens(run))
    tokens = tuple(read)
    stems = (*chain.from_iterable(zip(tokens, map(add, tokens, tokens[1:]), strict=False)), *tokens[-1:])
    if words := _whole_words(read):
        stems = (*stems, *(word for word in words if len(word) > PAIR))
    return TokenAnalysis(tokens, (), stems, tuple(map(token_hash, stems)), cjk=True)


PAIR: Final = 2
"""Whole words of a CJK run are stems of their own from three characters on: shorter ones are a pair or a character."""

_SYLLABLE: Final = regex("[\u3041-\u30ff\uac00-\ud7a3]")
# A word in katakana is written by itself; a Korean word ends at a space, with its particles attached.
_WHOLE: Final = "[\u30a1-\u30fa\u30fc]{2,}|[\uac00-\ud7a3]{2,}"
_FIRST_HANGUL: Final = "\uac00"
_PARTICLES: Final = """
    은 는 이 가 을 를 의 에 로 와 과 도 만 께 에서 에게 에는 에도 으로 로서 로써 한테 께서 부터 까지 처럼 보다 마다 조차
    마저 밖에 이나 이랑 이란 하고 라고 라는 이다 입니다 이며 으로서 으로써 에서는 에서도 에게서 한테서
    인가 인가요 이야 이에요 예요
"""
_PARTICLE: Final = "|".join(sorted(_PARTICLES.split(), key=len, reverse=True))


def _whole_words(run: str) -> list[str]:
    """Return the katakana words and, without their particles, the Korean words of a *run*."""
    found = compiled(_WHOLE).findall(run)
    return [_without_particles(word) if word[0] >= _FIRST_HANGUL else word for word in found]


def _without_particles(word: str) -> str:
    """Return a Korean *word* without the particles at its end, of which several may follow each other."""
    return compiled(f"^(.+?)(?:{_PARTICLE})*$").sub(r"\1", word)


def _asked_stems(analysis: TokenAnalysis) -> tuple[str, ...]:
    """Return the stems by which a question asks for a word.

    A Kana or Hangul character is a sound that stands in any text, so it is asked for only where it is a whole word.
    """
    if not analysis.cjk or len(analysis.tokens) == 1:
        return analysis.stems
    words = frozenset(_whole_words("".join(analysis.tokens)))
    return tuple(stem for stem in analysis.stems if len(stem) > 1 or stem in words or not _SYLLABLE.match(stem))


# --- words with letters, digits and signs ---------------------------------------------------

_ASCII_TOKEN: Final = regex("[A-Za-z0-9]+")
_TOKEN: Final = f"[A-Za-z0-9]+|[{EMOJI}]|{_RUN}"
_SIGN: Final = regex("[-_./@:+#]")
_STEP: Final = regex("[/@:]+")
_CLITIC: Final = regex("'(?:s|t|d|m|ll|re|ve)(?![a-z0-9])", re.IGNORECASE)
# Where a capital begins a part; an acronym's plural (`URLs`) is one part.
_HUMP: Final = regex("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?!s(?![a-z]))[a-z])")
_LONGEST_HUMPED: Final = 64


def _analyse_plain(word: str) -> TokenAnalysis:
    """Analyse an ASCII word without signs and camelCase, as `_analyse_compound` would."""
    token, root, hashed = _read_plain(word)
    return TokenAnalysis((token,), (), (root,), () if hashed is None else (hashed,), hashed is None)


def _read_plain(word: str) -> _Plain:
    lowered = word.lower()
    token = word if lowered == word and len(word) <= LONGEST else lowered[:LONGEST]
    root = stem(token)
    # Equal texts are kept once.
    return token, token if root == token else root, None if lowered in STOPWORDS else token_hash(root)


def _analyse_compound(word: str) -> TokenAnalysis:
    """Analyse a compound that is ASCII or folded: camelCase is seen in the first, and gone from the second."""
    if len(word) > LONGEST and (shorter := _shorter(word)) != [word]:
        return joined([WORDS[each] for each in shorter])
    bare = _CLITIC.sub("", word) if "'" in word else word
    pieces = _pieces(bare)
    if bare is word and (bare.islower() or (bare.isascii() and not any(map(_humps, pieces)))):
        return _analyse_lower(bare if bare.islower() else bare.lower())
    lowered = [_lower(piece)[:LONGEST] for piece in pieces]
    stemmed: list[str] = []
    parts: list[str] = []
    for piece, token in zip(pieces, lowered, strict=True):
        humps = _humps(piece)
        stemmed += dict.fromkeys([token, *humps]) if humps else [token]
        parts += humps
    plain = _lower(bare)
    wholes = _wholes(plain) if pieces and pieces != [bare] else []
    tokens = tuple(lowered) if bare == word else tuple(_lower(piece)[:LONGEST] for piece in _pieces(word))
    others = tuple(part for part in dict.fromkeys([*parts, *wholes]) if part not in tokens)
    stop = plain in STOPWORDS or _lower(word) in STOPWORDS
    return _stemmed(tokens, others, stemmed, wholes, stop=stop)


def _analyse_lower(word: str) -> TokenAnalysis:
    """Analyse a compound in small letters without an apostrophe, which nothing is to be taken from."""
    pieces = _pieces(word)
    tokens = tuple(pieces) if len(word) <= LONGEST else tuple(piece[:LONGEST] for piece in pieces)
    wholes = _wholes(word) if pieces and pieces != [word] else []
    others = tuple([whole for whole in wholes if whole not in tokens])
    return _stemmed(tokens, others, tokens, wholes, stop=word in STOPWORDS)


def _stemmed(
    tokens: tuple[str, ...], others: tuple[str, ...], parts: Sequence[str], wholes: Sequence[str], *, stop: bool
) -> TokenAnalysis:
    """Return the analysis of a compound by the stems of its *parts* and by the compounds in it."""
    stems: list[str] = []
    hashes: list[int] = []
    for part in parts:
        root, hashed = _root(part)
        stems.append(root)
        hashes.append(hashed)
    hashes += map(token_hash, wholes)
    return TokenAnalysis(tokens, others, (*stems, *wholes), () if stop else tuple(hashes), stop)


def _root(token: str) -> tuple[str, int]:
    """Return the stem of a token and the hash of that; most parts of compounds are words that were read before."""
    if token.isascii() and token.isalnum():
        _, root, hashed = cast("_Plain", _READ[token])
        return root, token_hash(root) if hashed is None else hashed
    root = stem(token)
    return root, token_hash(root)


def _pieces(word: str) -> list[str]:
    return (_ASCII_TOKEN if word.isascii() else compiled(_TOKEN)).findall(word)


def _shorter(word: str) -> list[str]:
    """Return the words between the steps of a compound too long to be a token, or its pieces."""
    steps = [each for step in _STEP.split(word) for each in segment(step)]
    return _pieces(word) if steps == [word] else steps


def _lower(text: str) -> str:
    """Return *text* folded, where `lower` alone would undo what folding did to other scripts."""
    return text.lower() if text.isascii() else text


def _humps(piece: str) -> list[str]:
    """Return the parts of a camelCase *piece*, nothing when it is not one."""
    tail = piece[1:]
    if tail == tail.lower() or len(piece) > _LONGEST_HUMPED or (piece.isupper() and piece.isalpha()):
        return []
    humps = _HUMP.split(piece)
    return [hump.lower() for hump in humps] if len(humps) > 1 else []


def _wholes(bare: str) -> list[str]:
    """Return the compound itself and the compounds between its steps (`file.py` in `path/to/file.py`)."""
    whole = bare.replace("'", "")
    if not _STEP.search(whole) and not whole.startswith("_") and not whole.endswith("_"):
        return [whole] if len(whole) <= LONGEST else []
    wholes = dict.fromkeys([whole, *(step.strip("_") for step in _STEP.split(whole))])
    # What lost its only sign (`o'brien`) is a whole as well.
    return [each for each in wholes if len(each) <= LONGEST and (each is whole or _SIGN.search(each))]


# --- the words of a question ----------------------------------------------------------------

# A quotation mark between two letters is a slip of the fingers, not the end of a word.
_SLIP: Final = regex(r'(?<=[^\W\d_])"(?=[^\W\d_])')


class QueryWord(Struct, frozen=True, kw_only=True):
    """One word of a question: as typed, its exact forms in order, its stems, and what kind of word it is."""

    text: str
    tokens: tuple[str, ...]
    stems: tuple[str, ...]
    stop: bool
    cjk: bool
    others: tuple[str, ...] = ()
    """Its stems in other languages that the store holds."""
    parts: tuple[str, ...] = ()
    """The stems of compounds that it is a part of, or of its own parts, in the store's words."""


def read_words(text: str) -> tuple[QueryWord, ...]:
    """Return the words of *text* in order, a CJK run being one word."""
    found = ((word, WORDS[word]) for word in segment(_SLIP.sub("", text)))
    return tuple(
        QueryWord(text=word, tokens=analysis.tokens, stems=_asked_stems(analysis), stop=analysis.stop, cjk=analysis.cjk)
        for word, analysis in found
        if analysis.tokens
    )


def significant(words: Sequence[QueryWord]) -> tuple[QueryWord, ...]:
    """Return *words* without stop words, or all of them when there are no others."""
    return tuple([word for word in words if not word.stop]) or tuple(words)
