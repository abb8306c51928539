"""Words that no memory holds: what the store's own words make of them, in the search and as a suggestion.

Nothing here runs for a query whose every word is known. The vocabulary of a scope is read once for each version of
the store, and an unknown word is compared with all of its words of like length.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from math import log10, sqrt
from typing import Final
from weakref import WeakKeyDictionary

from recollect.embedders.contract import Embedder
from recollect.records import AllOf, AndNot, AnyOf, Expression, Scope, Word, WordQuery
from recollect.search.limits import MAX_DOUBTFUL, MAX_UNKNOWN
from recollect.search.parse import Query
from recollect.search.state import SearchContext, State
from recollect.stores.contract import Store
from recollect.text.normalise import fold, is_cjk
from recollect.text.tokenizer import STOPWORDS, QueryWord, read_words
from recollect.values import dataclass, replace

SHORTEST: Final = 4
"""Words with fewer letters have too many neighbours."""
LONGEST: Final = 40
"""Longer runs of letters are no words."""
TWO_EDITS: Final = 8
"""From this length on a word may hold two slips."""
SLIP: Final = 0.5
"""What a common slip of the fingers (a letter left out, doubled or swapped, a key beside the right one)
costs in the order of corrections; any other edit costs 1."""
SMALL: Final = 100
"""In ten times as many words a word of one memory is enough; in ten times more than that two must hold it."""
MAX_CORRECTIONS: Final = 3
"""How many words of the store stand for one that it does not know, and how many queries are suggested."""
MAX_NEAR: Final = 12
"""How many near words are looked at, as several of them share a stem."""
MAX_SCOPES: Final = 32
"""For how many scopes a vocabulary is kept."""
MAX_KEPT: Final = 4096
"""For how many words a vocabulary keeps those near to them."""

_ROWS: Final = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_KEYS: Final = {key: (row, place) for row, keys in enumerate(_ROWS) for place, key in enumerate(keys)}


# --- the vocabulary -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """A word of the store for one that it does not hold, how many edits apart, and how many memories hold it."""

    text: str
    distance: int
    frequency: int


class Vocabulary:
    """The words of one scope of a store with their document frequencies, and those near to an unknown word."""

    def __init__(self, words: Mapping[str, int]) -> None:
        self.words = words
        self._by_length: dict[int, list[str]] = {}
        self._near: dict[str, tuple[Correction, ...]] = {}
        self._lines = ""

    def near(self, word: str) -> tuple[Correction, ...]:
        """Return the words nearest to *word*, the likeliest slip first; none when it is known or no plain word."""
        folded = fold(word)
        if folded not in self._near:
            if len(self._near) >= MAX_KEPT:
                self._near.clear()
            unknown = len(folded) >= SHORTEST and folded not in self.words and _is_plain(folded)
            self._near[folded] = self._look(folded) if unknown else ()
        return self._near[folded]

    def containing(self, part: str) -> list[str]:
        """Return the words that hold *part* and more."""
        self._lines = self._lines or "\n".join(filter(_is_plain, self.words))
        found = re.findall(f"^(?:.+{re.escape(part)}.*|{re.escape(part)}.+)$", self._lines, re.MULTILINE)
        return [str(word) for word in found]

    def _look(self, word: str) -> tuple[Correction, ...]:
        """Return the words at the smallest distance: the likeliest slip first, then the most frequent."""
        found = [near for near in self._within(word, 2 if len(word) >= TWO_EDITS else 1) if self._may_be(word, *near)]
        least = min((distance for _, distance in found), default=0)
        nearest = sorted(
            (_cost(word, term, distance), -self.words[term], term) for term, distance in found if distance == least
        )
        return tuple(Correction(text=term, distance=least, frequency=-rarity) for _, rarity, term in nearest[:MAX_NEAR])

    def _may_be(self, typed: str, meant: str, distance: int) -> bool:
        """Tell whether *meant* may be what was typed: it begins alike and is no stop word.

        The more words a store has, the more of them look like any word by chance: an edit that fingers seldom make
        needs a word that more memories hold.
        """
        if meant[0] != typed[0] or meant in STOPWORDS:
            return False
        needed = log10(len(self.words) / SMALL)
        return self.words[meant] >= needed or _cost(typed, meant, distance) <= SLIP * distance

    def _within(self, word: str, reach: int) -> list[tuple[str, int]]:
        """Return the words at most *reach* edits from *word*, each with its distance."""
        from rapidfuzz import process  # noqa: PLC0415 (30 ms, paid only by a mistyped query)
        from rapidfuzz.distance import OSA  # noqa: PLC0415

        if not self._by_length:
            for term in filter(_is_plain, self.words):
                self._by_length.setdefault(len(term), []).append(term)
        lengths = range(len(word) - reach, len(word) + reach + 1)
        terms = [term for length in lengths for term in self._by_length.get(length, ())]
        found = process.extract(word, terms, scorer=OSA.distance, score_cutoff=reach, limit=None)
        return [(term, int(distance)) for term, distance, _ in found]


def _is_plain(word: str) -> bool:
    return len(word) <= LONGEST and word.isalpha() and not any(map(is_cjk, word))


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
        slip = _touch(typed[at], meant[place])
    else:
        around = typed[max(at - 1, 0) : at] + typed[at + 1 : at + 2]
        slip = edit == "insert" or any(other == typed[at] or _touch(other, typed[at]) for other in around)
    return SLIP if slip else 1.0


def _touch(one: str, other: str) -> bool:
    """Tell whether two keys touch on a QWERTY keyboard, where each row sits half a key to the right."""
    if one not in _KEYS or other not in _KEYS:
        return False
    (row, place), (under, below) = sorted((_KEYS[one], _KEYS[other]))
    return abs(place - below) == 1 if row == under else under - row == 1 and place - below in {0, 1}


_KEPT: WeakKeyDictionary[Store, tuple[int, dict[Scope, Vocabulary]]] = WeakKeyDictionary()
"""What was read of a store, and at which version."""


def vocabulary_of(context: SearchContext, scope: Scope, *, version: int | None) -> Vocabulary:
    """Return the words of *scope*, read anew when the store's *version* is another than when they were read."""
    asked = context.store.version() if version is None else version
    kept, scopes = _KEPT.get(context.store, (asked, {}))
    if kept != asked or len(scopes) > MAX_SCOPES:
        scopes = {}
    if scope not in scopes:
        scopes[scope] = Vocabulary(context.ask.document_frequencies(scope=scope))
    _KEPT[context.store] = (asked, scopes)
    return scopes[scope]


# --- in the search --------------------------------------------------------------------------


def unknown_words(
    query: Query, document_frequencies: Mapping[str, int], embedder: Embedder | None = None
) -> list[QueryWord]:
    """Return the plain words of *query* that no memory holds and the model does not know, each once.

    There are none where operators are used.
    """
    if query.tree is not None or all(document_frequencies.values()):
        return []
    missing = dict.fromkeys(
        word
        for word in plain_words(query.words)
        if document_frequencies.get(word.stems[0]) == 0 and not _is_known(word, document_frequencies)
    )
    return [word for word in missing if embedder is None or not embedder.knows_word(word.text)]


def _is_known(word: QueryWord, document_frequencies: Mapping[str, int]) -> bool:
    return any(document_frequencies.get(stem) for stem in (*word.stems, *word.others, *word.parts))


def plain_words(words: Sequence[QueryWord]) -> list[QueryWord]:
    """Return the words that may be mistyped: of letters alone, not too short, one stem each, no stop words."""
    plain = (word for word in words if len(word.stems) == 1 and not word.stop and not word.cjk)
    return [word for word in plain if len(word.text) >= SHORTEST and word.text.isalpha()]


def fuzzy_expand(query: WordQuery, unknown: Sequence[QueryWord], vocabulary: Vocabulary, *, weight: float) -> WordQuery:
    """Return *query* with what may be meant beside each *unknown* word; the very same object where nothing may."""
    meant = {word.stems[0]: leaves for word in unknown if (leaves := _meant(word, vocabulary, weight=weight))}
    return replace(query, expression=_beside(query.expression, meant)) if meant else query


def _meant(word: QueryWord, vocabulary: Vocabulary, *, weight: float) -> tuple[Word, ...]:
    """Return the stems one edit away, the most frequent first; together they weigh less than the word would."""
    near = [one for one in vocabulary.near(word.text) if one.distance == 1]
    ordered = sorted(near, key=lambda one: (-one.frequency, one.text))
    stems = dict.fromkeys(stem for one in ordered for each in read_words(one.text) for stem in each.stems)
    chosen = list(stems)[:MAX_CORRECTIONS]
    return tuple(Word(text=stem, weight=weight / sqrt(len(chosen))) for stem in chosen)


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


def correct_query(text: str, unknown: Sequence[QueryWord], vocabulary: Vocabulary) -> str:
    """Return *text* with each *unknown* word as its likeliest neighbour at one edit, for the sake of its meaning."""
    near = {word.text: [one.text for one in vocabulary.near(word.text) if one.distance == 1] for word in unknown}
    return _replaced(text, {word: likeliest[0] for word, likeliest in near.items() if likeliest})


def _replaced(text: str, meant: Mapping[str, str]) -> str:
    if not meant:
        return text
    wanted = "|".join(re.escape(word) for word in meant)
    return re.sub(rf"(?<!\w)(?:{wanted})(?!\w)", lambda found: meant[found.group()], text)


# --- as a suggestion ------------------------------------------------------------------------


def suggest(state: State, context: SearchContext) -> State:
    """Suggest the query in other words of the store where there is no sure answer to it, or one to what was meant."""
    known = state.ranking("words").document_frequencies
    corrected = unknown_words(state.query, known, context.embedder)
    if state.degraded == "fts_unavailable" or (state.outcome == "answered" and not corrected):
        return state
    doubtful = plain_words(state.query.words)[:MAX_DOUBTFUL]
    others = [word.stems[0] for word in doubtful if word.stems[0] not in known]
    if others:
        known = {**known, **context.ask.document_frequencies(words=others, scope=state.scope, form="stem")}
    unknown = list(dict.fromkeys(word.text for word in doubtful if not _is_known(word, known)))
    if not unknown:
        return state
    vocabulary = vocabulary_of(context, state.scope, version=state.version)
    suggestions = did_you_mean(state.request.text, unknown[:MAX_UNKNOWN], vocabulary.near)
    limited = state.limited or ("corrections_cut" if len(unknown) > MAX_UNKNOWN else None)
    return replace(state, suggestions=suggestions, limited=limited)


def did_you_mean(text: str, unknown: Sequence[str], near: Callable[[str], Sequence[Correction]]) -> tuple[str, ...]:
    """Return *text* with the *unknown* words replaced by near ones; at most three whole queries."""
    choices = {word: [one.text for one in found] for word in unknown if (found := near(word))}
    rounds = range(min(MAX_CORRECTIONS, max(map(len, choices.values()), default=0)))
    queries = (
        _replaced(text, {word: each[at if at < len(each) else 0] for word, each in choices.items()}) for at in rounds
    )
    return tuple(dict.fromkeys(queries))
