"""Words that no memory holds: what the store's own words make of them, in the search and as a suggestion.

Nothing here runs for a query whose every word is known. The store says which of its words lie near an unknown one;
which of them may be meant is decided here.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from math import log10, sqrt
from typing import Final
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from recollect.embedders.contract import Embedder
from recollect.records import AllOf, AndNot, AnyOf, Expression, NearWord, Scope, Word, WordQuery
from recollect.search.limits import MAX_DOUBTFUL, MAX_UNKNOWN
from recollect.search.parse import Query
from recollect.search.state import SearchContext, State
from recollect.stores.contract import Store
from recollect.text.normalise import fold, is_cjk
from recollect.text.tokenizer import STOPWORDS, QueryWord, read_words

SHORTEST: Final = 4
"""Words with fewer letters have too many neighbours."""
LONGEST: Final = 40
"""Longer runs of letters are no words."""
TWO_EDITS: Final = 8
"""From this length on a word may hold two slips."""
SLIP: Final = 0.5
"""What a common slip of the fingers (a letter left out, doubled or swapped, a key beside the right one)
costs in the order of corrections; any other edit costs 1."""
SMALL: Final = 20
"""In ten times as many memories a word of one of them is enough; in ten times more than that two must hold it."""
WORDS_EACH: Final = 5
"""How many different words a memory of a usual store adds to those of the others, about."""
MAX_CORRECTIONS: Final = 3
"""How many words of the store stand for one that it does not know, and how many queries are suggested."""
MAX_NEAR: Final = 12
"""How many near words are looked at, as several of them share a stem."""
MAX_SCOPES: Final = 32
"""For how many scopes the words are kept."""

_ROWS: Final = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_KEYS: Final = {key: (row, place) for row, keys in enumerate(_ROWS) for place, key in enumerate(keys)}


# --- near words -----------------------------------------------------------------------------

Near = Mapping[str, tuple[NearWord, ...]]
"""What may be meant by each word as it was typed, the likeliest slip first."""


def near_words(words: Iterable[str], context: SearchContext, scope: Scope) -> Near:
    """Return what the words of *scope* make of each of *words*; nothing of one that is known or no plain word."""
    folded = {word: fold(word) for word in words}
    asked = {word: _reach(word) for word in folded.values() if _may_be_mistyped(word)}
    found = context.ask.near_words(asked, scope=scope)
    return {
        typed: likeliest(word, found.near[word], memories=found.documents) if word in asked else ()
        for typed, word in folded.items()
    }


def near_among(typed: str, words: Mapping[str, int]) -> tuple[NearWord, ...]:
    """Return what *words*, of which it is known how many memories hold them, make of the one that was *typed*."""
    from rapidfuzz import process  # noqa: PLC0415 (30 ms, paid only by a mistyped query)
    from rapidfuzz.distance import OSA  # noqa: PLC0415

    word = fold(typed)
    if word in words or not _may_be_mistyped(word):
        return ()
    terms = [term for term in words if abs(len(term) - len(word)) <= _reach(word)]
    found = process.extract(word, terms, scorer=OSA.distance, score_cutoff=_reach(word), limit=None)
    near = [NearWord(text=term, distance=int(distance), frequency=words[term]) for term, distance, _ in found]
    return likeliest(word, near, memories=len(words) / WORDS_EACH)


def likeliest(word: str, near: Sequence[NearWord], *, memories: float) -> tuple[NearWord, ...]:
    """Return those of the words *near* to one at the smallest distance: the likeliest slip first, then by frequency.

    None where the word itself is among them.
    """
    if any(one.distance == 0 for one in near):
        return ()
    found = [one for one in near if _is_plain(one.text) and _may_be(word, one, memories)]
    least = min((one.distance for one in found), default=0)
    nearest = [one for one in found if one.distance == least]
    ordered = sorted(nearest, key=lambda one: (_cost(word, one.text, least), -one.frequency, one.text))
    return tuple(ordered[:MAX_NEAR])


def _may_be_mistyped(word: str) -> bool:
    return len(word) >= SHORTEST and _is_plain(word)


def _reach(word: str) -> int:
    return 2 if len(word) >= TWO_EDITS else 1


def _may_be(typed: str, meant: NearWord, memories: float) -> bool:
    """Tell whether *meant* may be what was typed: it begins alike and is no stop word.

    The more words a store has, the more of them look like any word by chance: an edit that fingers seldom make
    needs a word that more memories hold.
    """
    if meant.text[0] != typed[0] or meant.text in STOPWORDS:
        return False
    needed = log10(max(memories, 1) / SMALL)
    return meant.frequency >= needed or _cost(typed, meant.text, meant.distance) <= SLIP * meant.distance


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


_KEPT: WeakKeyDictionary[Store, tuple[int, dict[Scope, Mapping[str, int]]]] = WeakKeyDictionary()
"""The words of a store, and at which version."""


def words_of(context: SearchContext, scope: Scope, *, version: int | None) -> Mapping[str, int]:
    """Return all words of *scope*, the most frequent first, read anew when the store's *version* is another."""
    asked = context.store.version() if version is None else version
    kept, scopes = _KEPT.get(context.store, (asked, {}))
    if kept != asked or len(scopes) > MAX_SCOPES:
        scopes = {}
    if scope not in scopes:
        scopes[scope] = context.ask.document_frequencies(scope=scope)
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


def fuzzy_expand(query: WordQuery, unknown: Sequence[QueryWord], near: Near, *, weight: float) -> WordQuery:
    """Return *query* with what may be meant beside each *unknown* word; the very same object where nothing may."""
    meant = {word.stems[0]: leaves for word in unknown if (leaves := _meant(near[word.text], weight=weight))}
    return replace(query, expression=_beside(query.expression, meant)) if meant else query


def _meant(near: Sequence[NearWord], *, weight: float) -> tuple[Word, ...]:
    """Return the stems one edit away, the most frequent first; together they weigh less than the word would."""
    ordered = sorted((one for one in near if one.distance == 1), key=lambda one: (-one.frequency, one.text))
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


def correct_query(text: str, near: Near) -> str:
    """Return *text* with each unknown word as its likeliest neighbour at one edit, for the sake of its meaning."""
    meant = {word: [one.text for one in found if one.distance == 1] for word, found in near.items()}
    return _replaced(text, {word: found[0] for word, found in meant.items() if found})


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
    knows = context.embedder.knows_word if context.embedder is not None else (lambda _: False)
    unknown = list(dict.fromkeys(word.text for word in doubtful if not _is_known(word, known) and not knows(word.text)))
    if not unknown:
        return state
    near = state.ranking("words").near
    fresh = [word for word in unknown[:MAX_UNKNOWN] if word not in near]
    near = {**near, **near_words(fresh, context, state.scope)} if fresh else near
    suggestions = did_you_mean(state.request.text, {word: near[word] for word in unknown[:MAX_UNKNOWN]})
    limited = state.limited or ("corrections_cut" if len(unknown) > MAX_UNKNOWN else None)
    return replace(state, suggestions=suggestions, limited=limited)


def did_you_mean(text: str, near: Near) -> tuple[str, ...]:
    """Return *text* with the unknown words replaced by near ones; at most three whole queries."""
    choices = {word: [one.text for one in found] for word, found in near.items() if found}
    rounds = range(min(MAX_CORRECTIONS, max(map(len, choices.values()), default=0)))
    queries = (
        _replaced(text, {word: each[at if at < len(each) else 0] for word, each in choices.items()}) for at in rounds
    )
    return tuple(dict.fromkeys(queries))
