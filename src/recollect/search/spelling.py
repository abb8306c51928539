"""Words that no memory holds: what the store's own words make of them, in the search and as a suggestion.

Nothing here runs for a question whose every word is known. The vocabulary of a scope is read once for each
version of the store; the first few unknown words are compared with all of it, which needs no preparation,
and only a store that is asked more often is filed by neighbours.
"""

import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby, zip_longest
from math import sqrt
from typing import Final
from weakref import WeakKeyDictionary
from zlib import crc32

from recollect.records import AllOf, AndNot, AnyOf, Expression, Scope, Word, WordQuery
from recollect.search.parse import Query
from recollect.stores.contract import Store
from recollect.text.normalise import fold, is_cjk
from recollect.text.tokenizer import QueryWord, read_words

SHORTEST: Final = 4
"""Words with fewer letters have too many neighbours."""

LONGEST: Final = 40
"""Longer runs of letters are no words."""

TWO_EDITS: Final = 8
"""From this length on a word may hold two slips."""

SLIP: Final = 0.5
"""What a common slip of the fingers (a letter left out, doubled or swapped, a key beside the right one)
costs in the order of suggestions; any other edit costs 1."""

Candidates = list[tuple[str, int]]
"""Words of the vocabulary, each with its distance."""

_ROWS: Final = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_KEYS: Final = {key: (row, place) for row, keys in enumerate(_ROWS) for place, key in enumerate(keys)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A word of the store for a word of the question, how many edits apart, and how often it occurs."""

    text: str
    replaces: str
    distance: int
    frequency: int


def suggest(words: Sequence[str], vocabulary: Mapping[str, int], *, most: int = 3) -> tuple[Suggestion, ...]:
    """Return at most *most* suggestions: the best for each unknown word, then the second best for each.

    Looks through the whole vocabulary and needs no preparation; `Neighbours` answers sooner if asked often.
    """

    @cache
    def terms() -> list[str]:
        return [term for term in vocabulary if _plain(term)]

    return _dealt(words, vocabulary, lambda word: _within(word, terms(), reach=_reach(word)), most=most)


def one_edit(word: str, terms: Iterable[str]) -> list[str]:
    """Return those of *terms* that are one edit away from *word*, in alphabetical order."""
    return sorted({term for term, distance in _within(word, list(terms), reach=1) if distance == 1})


class Neighbours:
    """A vocabulary, filed so that the words one edit away are found at once.

    Two words one edit apart become equal when each loses at most one letter, so every word is filed
    under itself and under each of its shortenings (the symmetric deletes of Garbe's SymSpell). Only a
    long word that has no such neighbour is compared with all words of like length.
    """

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._vocabulary = dict(vocabulary)
        self._terms = sorted(filter(_plain, vocabulary), key=lambda term: (len(term), term))
        self._lengths = {length: list(terms) for length, terms in groupby(self._terms, key=len)}
        # A checksum and the place of the word in one number: a small part of what a dictionary would take.
        self._filed = array(
            "Q", sorted(_checksum(short) << 32 | at for at, term in enumerate(self._terms) for short in _short(term))
        )

    def near(self, word: str, *, most: int = 3) -> tuple[Suggestion, ...]:
        """Return at most *most* words of the vocabulary for *word*, best first; none when it is known."""
        return self.suggest([word], most=most)

    def suggest(self, words: Sequence[str], *, most: int = 3) -> tuple[Suggestion, ...]:
        """Return what the function `suggest` returns for the vocabulary."""
        return _dealt(words, self._vocabulary, self._candidates, most=most)

    def _candidates(self, word: str) -> Candidates:
        filed = {self._terms[at] for short in _short(word) for at in self._under(_checksum(short))}
        near, reach = _within(word, list(filed), reach=1), _reach(word)
        if near or reach == 1:
            return near
        lengths = range(len(word) - reach, len(word) + reach + 1)
        return _within(word, [term for length in lengths for term in self._lengths.get(length, ())], reach=reach)

    def _under(self, checksum: int) -> Iterator[int]:
        place = bisect_left(self._filed, checksum << 32)
        while place < len(self._filed) and self._filed[place] >> 32 == checksum:
            yield self._filed[place] & 0xFFFFFFFF
            place += 1


def _dealt(
    words: Sequence[str], vocabulary: Mapping[str, int], candidates: Callable[[str], Candidates], *, most: int
) -> tuple[Suggestion, ...]:
    """Return the best of each unknown word, then the second best of each, and so on."""
    unknown = {plain: word for word in words if _doubtful_suggest(plain := fold(word), vocabulary)}
    hands = [_best(plain, candidates(plain), vocabulary, word) for plain, word in unknown.items()]
    rounds = zip_longest(*(hand[: max(most, 0)] for hand in hands))
    return tuple(one for dealt in rounds for one in dealt if one)[: max(most, 0)]


def _doubtful_suggest(word: str, vocabulary: Mapping[str, int]) -> bool:
    """Tell whether *word* may be mistyped: an unknown word, not too short, that letters are typed for."""
    return len(word) >= SHORTEST and word not in vocabulary and _plain(word) and not any(map(is_cjk, word))


def _plain(word: str) -> bool:
    return len(word) <= LONGEST and word.isalpha()


def _best(word: str, candidates: Candidates, vocabulary: Mapping[str, int], replaces: str) -> list[Suggestion]:
    """Return the candidates at the smallest distance: the likeliest slip first, then the most frequent."""
    least = min((distance for _, distance in candidates), default=0)
    nearest = sorted(
        (_cost(word, term, distance), -vocabulary[term], term) for term, distance in candidates if distance == least
    )
    return [Suggestion(text=term, replaces=replaces, distance=least, frequency=-rarity) for _, rarity, term in nearest]


def _within(word: str, terms: Sequence[str], *, reach: int) -> Candidates:
    """Return those of *terms* that are at most *reach* edits from *word*, each with its distance."""
    from rapidfuzz import process  # noqa: PLC0415 (30 ms, paid only by a mistyped question)
    from rapidfuzz.distance import OSA  # noqa: PLC0415

    found = process.extract(word, terms, scorer=OSA.distance, score_cutoff=reach, limit=None)
    return [(term, int(distance)) for term, distance, _ in found]


def _reach(word: str) -> int:
    return 2 if len(word) >= TWO_EDITS else 1


def _short(word: str) -> set[str]:
    return {word, *(word[:at] + word[at + 1 :] for at in range(len(word)))}


def _checksum(text: str) -> int:
    # Not hash(): equal runs give equal bytes. Two words under one checksum do no harm: distance decides.
    return crc32(text.encode("utf-8", "surrogatepass"))


def _cost(typed: str, meant: str, distance: int) -> float:
    """Return how unlikely it is that fingers made *typed* of *meant*; a slip costs half of another edit."""
    from rapidfuzz.distance import Levenshtein  # noqa: PLC0415

    if distance == 1 and len(typed) == len(meant) and sorted(typed) == sorted(meant):
        return SLIP
    edits = Levenshtein.editops(typed, meant)
    return min(float(distance), sum(_edit_cost(edit.tag, typed, edit.src_pos, meant, edit.dest_pos) for edit in edits))


def _edit_cost(edit: str, typed: str, at: int, meant: str, place: int) -> float:
    """Return SLIP for a letter left out, a key beside the right one, and a key that touched a second one."""
    if edit == "replace":
        slip = _beside_suggest(typed[at], meant[place])
    else:
        around = typed[max(at - 1, 0) : at] + typed[at + 1 : at + 2]
        slip = edit == "insert" or any(other == typed[at] or _beside_suggest(other, typed[at]) for other in around)
    return SLIP if slip else 1.0


def _beside_suggest(one: str, other: str) -> bool:
    """Tell whether two keys touch on a QWERTY keyboard, where each row sits half a key to the right."""
    if one not in _KEYS or other not in _KEYS:
        return False
    (row, place), (under, below) = sorted((_KEYS[one], _KEYS[other]))
    return abs(place - below) == 1 if row == under else under - row == 1 and place - below in {0, 1}


MOST: Final = 3
"""How many words of the store stand for one that it does not know, and how many queries are suggested."""
ASIDE: Final = 12
"""How many near words are looked at, as several of them share a stem."""
PATIENCE: Final = 8
"""How many unknown words are compared with the whole vocabulary before it is filed by neighbours."""
SCOPES: Final = 32
"""For how many scopes a vocabulary is kept."""


class Vocabulary:
    """The words of one scope of a store, and those near a word that is not among them."""

    def __init__(self, words: Mapping[str, int]) -> None:
        self.words = words
        self._asked = 0
        self._filed: Neighbours | None = None
        self._known: dict[str, tuple[Suggestion, ...]] = {}

    def near(self, word: str) -> tuple[Suggestion, ...]:
        """Return the words nearest to *word*, the likeliest slip first."""
        if word not in self._known:
            self._known[word] = self._look(word)
        return self._known[word]

    def _look(self, word: str) -> tuple[Suggestion, ...]:
        self._asked += 1
        if self._filed is None and self._asked > PATIENCE:
            self._filed = Neighbours(self.words)
        if self._filed is None:
            return suggest([word], self.words, most=ASIDE)
        return self._filed.near(word, most=ASIDE)


@dataclass(slots=True, kw_only=True)
class _Kept:
    """What was read of a store at one version."""

    version: int
    scopes: dict[Scope, Vocabulary]


_KEPT: WeakKeyDictionary[Store, _Kept] = WeakKeyDictionary()


def vocabulary_of(store: Store, scope: Scope) -> Vocabulary:
    """Return the words of *scope*, read anew when the store has changed since."""
    version = store.version()
    kept = _KEPT.get(store)
    if kept is None or kept.version != version or len(kept.scopes) > SCOPES:
        kept = _KEPT[store] = _Kept(version=version, scopes={})
    found = kept.scopes.get(scope)
    if found is None:
        found = kept.scopes[scope] = Vocabulary(store.document_frequencies(scope=scope))
    return found


def tolerate(
    keywords: WordQuery, query: Query, seen: Mapping[str, int], *, weight: float, words: Callable[[], Vocabulary]
) -> WordQuery:
    """Return *keywords* with what may be meant beside each plain word that *seen* says no memory holds.

    The very same object comes back when every word is known or has no neighbour. Operators are left as they are.
    """
    if weight <= 0 or query.tree is not None or all(seen.values()):
        return keywords
    meant = {
        word.stems[0]: leaves
        for word in _doubtful(query.words)
        if seen.get(word.stems[0]) == 0 and (leaves := _meant(word, words(), weight=weight))
    }
    return replace(keywords, expression=_beside(keywords.expression, meant)) if meant else keywords


def _doubtful(words: Sequence[QueryWord]) -> list[QueryWord]:
    """Return the words that may be mistyped: of letters alone, not too short, one stem each, no stop words."""
    plain = (word for word in words if len(word.stems) == 1 and not word.stop and not word.cjk)
    return [word for word in plain if len(word.text) >= SHORTEST and word.text.isalpha()]


def _meant(word: QueryWord, words: Vocabulary, *, weight: float) -> tuple[Word, ...]:
    """Return the stems one edit away, the most frequent first; together they weigh less than the word would."""
    near = [one for one in words.near(fold(word.text)) if one.distance == 1]
    ordered = sorted(near, key=lambda one: (-one.frequency, one.text))
    stems = list(dict.fromkeys(stem for one in ordered for each in read_words(one.text) for stem in each.stems))[:MOST]
    return tuple(Word(text=stem, weight=weight / sqrt(len(stems))) for stem in stems)


def _beside(expression: Expression, meant: Mapping[str, tuple[Word, ...]]) -> Expression:
    """Return *expression* with the words meant beside each leaf; the leaf stays, so that coverage stays honest."""
    match expression:
        case AnyOf(parts=parts):
            return AnyOf(parts=tuple(_beside(part, meant) for part in parts))
        case AllOf(parts=parts):
            return AllOf(parts=tuple(_beside(part, meant) for part in parts))
        case AndNot(wanted=wanted, unwanted=unwanted):
            return AndNot(wanted=_beside(wanted, meant), unwanted=unwanted)
        case Word(text=text, form="stem") if text in meant:
            return AnyOf(parts=(expression, *meant[text]))
        case _:
            return expression


def mended(text: str, query: Query, *, seen: Mapping[str, int], words: Callable[[], Vocabulary]) -> str:
    """Return *text* with each word that no memory holds as its likeliest neighbour, for the sake of its meaning.

    Operators, words without a neighbour at one edit and words that *seen* does not speak of are left as they are.
    """
    if query.tree is not None or all(seen.values()):
        return text
    unknown = dict.fromkeys(word.text for word in _doubtful(query.words) if seen.get(word.stems[0]) == 0)
    meant = {word: near[0] for word in unknown if (near := _one_edit(word, words()))}
    return _replaced(text, meant) if meant else text


def _one_edit(word: str, words: Vocabulary) -> list[str]:
    return [one.text for one in words.near(fold(word)) if one.distance == 1]


def did_you_mean(text: str, query: Query, *, seen: Mapping[str, int], store: Store, scope: Scope) -> tuple[str, ...]:
    """Return *text* with the words that no memory holds replaced by near ones; at most three whole queries.

    *seen* says how many memories hold each word that was asked for; the store is asked about the others.
    """
    doubtful = _doubtful(query.words)
    others = [word.stems[0] for word in doubtful if word.stems[0] not in seen]
    held = {**seen, **(store.document_frequencies(scope=scope, form="stem", words=others) if others else {})}
    unknown = dict.fromkeys(word.text for word in doubtful if not held[word.stems[0]])
    if not unknown:
        return ()
    words = vocabulary_of(store, scope)
    hands = {word: [one.text for one in near] for word in unknown if (near := words.near(fold(word)))}
    rounds = range(min(MOST, max(map(len, hands.values()), default=0)))
    queries = (
        _replaced(text, {word: hand[at if at < len(hand) else 0] for word, hand in hands.items()}) for at in rounds
    )
    return tuple(dict.fromkeys(queries))


def _replaced(text: str, meant: Mapping[str, str]) -> str:
    wanted = "|".join(re.escape(word) for word in meant)
    return re.sub(rf"(?<!\w)(?:{wanted})(?!\w)", lambda found: meant[found.group()], text)
