"""Words that no memory holds: what the store's own words make of them, in the search and as a suggestion.

Nothing here runs for a question whose every word is known. The vocabulary of a scope is read once for each
version of the store; the first few unknown words are compared with all of it, which needs no preparation,
and only a store that is asked more often is filed by neighbours.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Final
from weakref import WeakKeyDictionary

from recollect.records import AllOf, AnyOf, Expression, Keywords, Scope, Without, Word
from recollect.search.parse import Query
from recollect.search.suggest import SHORTEST, Neighbours, Suggestion, suggest
from recollect.stores.contract import Store
from recollect.text.normalise import fold
from recollect.text.query import QueryWord, read_words

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
        found = kept.scopes[scope] = Vocabulary(store.vocabulary(scope=scope))
    return found


def tolerate(
    keywords: Keywords, query: Query, seen: Mapping[str, int], *, weight: float, words: Callable[[], Vocabulary]
) -> Keywords:
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
        case Without(wanted=wanted, unwanted=unwanted):
            return Without(wanted=_beside(wanted, meant), unwanted=unwanted)
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
    held = {**seen, **(store.spread(others, scope=scope, form="stem") if others else {})}
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
