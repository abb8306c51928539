"""Correct words that no memory contains by words of the store, in the search and as a suggestion.

Nothing here runs for a query of known words. The store returns its words near an unknown one; this module decides which
of them may be meant.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from math import log10, sqrt
from typing import Final

from msgspec.structs import replace

from recollect.embedders.contract import Embedder
from recollect.records import AllOf, AndNot, AnyOf, Expression, NearWord, Scope, Word, WordQuery
from recollect.search.limits import MAX_DOUBTFUL, MAX_UNKNOWN
from recollect.search.parse import Query
from recollect.search.scope_cache import ScopeCache
from recollect.search.state import SearchContext, State
from recollect.text.normalise import fold, is_cjk
from recollect.text.tokenizer import STOPWORDS, QueryWord, read_words

SHORTEST: Final = 4
"""Words with fewer letters have too many neighbours."""
LONGEST: Final = 40
"""Longer runs of letters are not words."""
TWO_EDITS: Final = 8
"""A word of this length may contain two slips."""
SLIP: Final = 0.5
"""Cost of a common slip of the fingers (a letter left out, doubled or swapped, a neighboring key) in the order of
corrections; any other edit costs 1."""
SMALL: Final = 20
"""In a store ten times this size a correction needs one memory with the word, in a store 100 times this size two."""
WORDS_EACH: Final = 5
"""About how many new words a memory adds to a typical store."""
MAX_CORRECTIONS: Final = 3
"""Corrections searched per unknown word, and queries suggested."""
MAX_NEAR: Final = 12
"""Near words considered, as several of them may share a stem."""

_ROWS: Final = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_KEYS: Final = {key: (row, place) for row, keys in enumerate(_ROWS) for place, key in enumerate(keys)}


# --- near words -----------------------------------------------------------------------------

Near = Mapping[str, tuple[NearWord, ...]]
"""Typed word -> likely corrections, the most likely slip first."""


def near_words(words: Iterable[str], context: SearchContext, scope: Scope) -> Near:
    """Return the likely corrections of each of *words* in *scope*; none for a known word or one with other signs."""
    folded = {word: fold(word) for word in words}
    asked = {word: _reach(word) for word in folded.values() if _may_be_mistyped(word)}
    found = context.ask.near_words(asked, scope=scope)
    return {
        typed: likeliest(word, found.near[word], memories=found.documents) if word in asked else ()
        for typed, word in folded.items()
    }


def near_among(typed: str, words: Mapping[str, int]) -> tuple[NearWord, ...]:
    """Return the likely corrections of *typed* among *words*, a map of document frequencies."""
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
    """Return the words *near* at the smallest distance: the most likely slip first, then by frequency.

    None if the word itself is among them.
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
    """Return whether *meant* may be what was typed: it has the same first letter and is not a stop word.

    In a large store more words look alike by chance, so an unusual edit needs a more frequent word.
    """
    if meant.text[0] != typed[0] or meant.text in STOPWORDS:
        return False
    needed = log10(max(memories, 1) / SMALL)
    return meant.frequency >= needed or _cost(typed, meant.text, meant.distance) <= SLIP * meant.distance


def _is_plain(word: str) -> bool:
    return len(word) <= LONGEST and word.isalpha() and not any(map(is_cjk, word))


def _cost(typed: str, meant: str, distance: int) -> float:
    """Return the cost of the edits from *meant* to *typed*; a slip costs half of another edit."""
    from rapidfuzz.distance import Levenshtein  # noqa: PLC0415

    if distance == 1 and len(typed) == len(meant) and sorted(typed) == sorted(meant):
        return SLIP
    edits = Levenshtein.editops(typed, meant)
    return min(float(distance), sum(_edit_cost(edit.tag, typed, edit.src_pos, meant, edit.dest_pos) for edit in edits))


def _edit_cost(edit: str, typed: str, at: int, meant: str, place: int) -> float:
    """Return SLIP for a letter left out, a neighboring key, and a key hit together with another."""
    if edit == "replace":
        slip = _touch(typed[at], meant[place])
    else:
        around = typed[max(at - 1, 0) : at] + typed[at + 1 : at + 2]
        slip = edit == "insert" or any(other == typed[at] or _touch(other, typed[at]) for other in around)
    return SLIP if slip else 1.0


def _touch(one: str, other: str) -> bool:
    """Return whether two keys touch on a QWERTY keyboard, whose rows are shifted by half a key."""
    if one not in _KEYS or other not in _KEYS:
        return False
    (row, place), (under, below) = sorted((_KEYS[one], _KEYS[other]))
    return abs(place - below) == 1 if row == under else under - row == 1 and place - below in {0, 1}


_VOCABULARIES: Final[ScopeCache[Mapping[str, int]]] = ScopeCache()


def words_of(context: SearchContext, scope: Scope, *, version: int | None) -> Mapping[str, int]:
    """Return all words of *scope*, most frequent first, read again when the store has another *version*."""
    current = context.store.version() if version is None else version
    return _VOCABULARIES.get(context.store, scope, current, lambda: context.ask.document_frequencies(scope=scope))


# --- in the search --------------------------------------------------------------------------


def unknown_words(
    query: Query, document_frequencies: Mapping[str, int], embedder: Embedder | None = None
) -> list[QueryWord]:
    """Return the plain words of *query* that neither a memory nor the model knows, each once; none with operators."""
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
    """Return the words that may be mistyped: letters only, not too short, with one stem, no stop words."""
    plain = (word for word in words if len(word.stems) == 1 and not word.stop and not word.cjk)
    return [word for word in plain if len(word.text) >= SHORTEST and word.text.isalpha()]


def fuzzy_expand(query: WordQuery, unknown: Sequence[QueryWord], near: Near, *, weight: float) -> WordQuery:
    """Return *query* with the corrections of each *unknown* word as alternatives; the same object if there are none."""
    meant = {word.stems[0]: leaves for word in unknown if (leaves := _meant(near[word.text], weight=weight))}
    return replace(query, expression=_with_alternatives(query.expression, meant)) if meant else query


def _meant(near: Sequence[NearWord], *, weight: float) -> tuple[Word, ...]:
    """Return the stems one edit away, most frequent first; together they weigh less than the word itself."""
    ordered = sorted((one for one in near if one.distance == 1), key=lambda one: (-one.frequency, one.text))
    stems = dict.fromkeys(stem for one in ordered for each in read_words(one.text) for stem in each.stems)
    chosen = list(stems)[:MAX_CORRECTIONS]
    return tuple(Word(text=stem, weight=weight / sqrt(len(chosen))) for stem in chosen)


def _with_alternatives(expression: Expression, meant: Mapping[str, tuple[Word, ...]]) -> Expression:
    """Return *expression* with corrections next to each leaf; the leaf stays, so that coverage stays correct."""
    match expression:
        case AnyOf(parts=parts):
            return AnyOf(parts=tuple(_with_alternatives(part, meant) for part in parts))
        case AllOf(parts=parts):
            return AllOf(parts=tuple(_with_alternatives(part, meant) for part in parts))
        case AndNot(wanted=wanted, unwanted=unwanted):
            return AndNot(wanted=_with_alternatives(wanted, meant), unwanted=unwanted)
        case Word(text=text, form="stem") if text in meant:
            return AnyOf(parts=(expression, *meant[text]))
        case _:
            return expression


def correct_query(text: str, near: Near) -> str:
    """Return *text* with each unknown word replaced by its most likely correction, to be embedded."""
    meant = {word: [one.text for one in found if one.distance == 1] for word, found in near.items()}
    return _replaced(text, {word: found[0] for word, found in meant.items() if found})


def _replaced(text: str, meant: Mapping[str, str]) -> str:
    if not meant:
        return text
    wanted = "|".join(re.escape(word) for word in meant)
    return re.sub(rf"(?<!\w)(?:{wanted})(?!\w)", lambda found: meant[found.group()], text)


# --- as a suggestion ------------------------------------------------------------------------


def suggest(state: State, context: SearchContext) -> State:
    """Suggest corrected queries if there is no certain answer, or if a correction found it."""
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
