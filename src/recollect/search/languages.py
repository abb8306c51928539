"""The query words in the languages of the store, and the compounds they are parts of.

A query that is plainly English, or a store with English only, is left alone.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from recollect.errors import WordIndexUnavailable
from recollect.records import NearWord, Scope
from recollect.search.scope_cache import ScopeCache
from recollect.search.spelling import LONGEST
from recollect.search.state import SearchContext, State
from recollect.text.languages import COMPOUNDING, FUNCTION_WORDS, LANGUAGES, is_english, language_of, marker, stems_in
from recollect.text.normalise import is_cjk
from recollect.text.tokenizer import QueryWord, read_words

SHORTEST_PART: Final = 5
"""Shorter parts of a compound occur in too many words by chance."""
SHORTEST_REST: Final = 3
"""Fewest letters left of a compound without one of its parts."""
ENDING: Final = 2
"""Most letters of inflection after the last part."""
MAX_COMPOUNDS: Final = 8
"""Compounds searched for one of their parts, most frequent first."""
_FILLING: Final = frozenset[str]().union(*(FUNCTION_WORDS[language] for language in COMPOUNDING))
_LINKS: Final = ("", "s", "es", "n", "en", "e", "er")

_LANGUAGES: Final[ScopeCache[tuple[str, ...]]] = ScopeCache()


def add_languages(state: State, context: SearchContext) -> State:
    """Add the stems of the query words in the languages of the store, unless the query is plainly English."""
    query = state.query
    tokens = [token for word in query.words for token in word.tokens]
    if query.tree is not None or all(word.cjk for word in query.words) or is_english(tokens):
        return state
    held = languages_of(context, state.scope)
    if not held:
        return state
    spoken = language_of(query.text)
    words = tuple(_translate(word, held, spoken if spoken in held else "") for word in query.words)
    if not COMPOUNDING.isdisjoint(held):
        words = _with_compounds(words, held, context, state.scope)
    return replace(state, query=replace(query, words=words))


def languages_of(context: SearchContext, scope: Scope) -> tuple[str, ...]:
    """Return the languages other than English in *scope*, read once per version of the store."""

    def read() -> tuple[str, ...]:
        markers = {marker(language): language for language in LANGUAGES}
        found = context.ask.document_frequencies(scope=scope, form="stem", words=list(markers))
        return tuple(language for mark, language in markers.items() if found.get(mark))

    try:
        return _LANGUAGES.get(context.store, scope, context.store.version(), read)
    except WordIndexUnavailable:
        return ()  # the text itself is searched, for the words as they are


def _translate(word: QueryWord, held: Iterable[str], spoken: str) -> QueryWord:
    """Return *word* with its stems in the languages *held*; stop words of the language *spoken* are marked."""
    others = dict.fromkeys(stem for language in held for stem in stems_in(word.text, language))
    stop = word.stop or bool(spoken and FUNCTION_WORDS[spoken].issuperset(word.tokens))
    return replace(word, others=tuple(stem for stem in others if stem not in word.stems), stop=stop)


# --- compounds ------------------------------------------------------------------------------


def _with_compounds(
    words: Sequence[QueryWord], held: Iterable[str], context: SearchContext, scope: Scope
) -> tuple[QueryWord, ...]:
    """Return *words*, each with its own parts and the compounds of the store that contain it."""
    forms = {word.text: _forms(word) for word in words if _may_be_compound(word)}
    holding = dict.fromkeys(form for each in forms.values() for form in each if len(form) >= SHORTEST_PART)
    near = context.ask.near_words({}, scope=scope, holding=list(holding)).holding if holding else {}
    known = _known_parts([word.tokens[0] for word in words if word.text in forms], context, scope)
    languages = [language for language in held if language in COMPOUNDING]
    return tuple(
        _with_parts(word, [*compounds(forms[word.text], near), *split_compound(word.tokens[0], known)], languages)
        if word.text in forms
        else word
        for word in words
    )


def _known_parts(words: Iterable[str], context: SearchContext, scope: Scope) -> dict[str, int]:
    """Return how many memories contain the possible parts of *words*.

    First parts are looked up only if the second part exists, which is rare.
    """
    splits = [split for word in words for split in _splits(word)]
    seconds = list(dict.fromkeys(second for _, second in splits))
    known = context.ask.document_frequencies(words=seconds, scope=scope) if seconds else {}
    firsts = list(dict.fromkeys(first for firsts, second in splits if known.get(second) for first in firsts))
    return {**known, **context.ask.document_frequencies(words=firsts, scope=scope)} if firsts else known


def _may_be_compound(word: QueryWord) -> bool:
    return not word.stop and not word.cjk and len(word.tokens) == 1 and word.tokens[0].isalpha()


def _forms(word: QueryWord) -> tuple[str, ...]:
    return tuple(dict.fromkeys((word.tokens[0], *word.stems, *word.others)))


def _with_parts(word: QueryWord, found: Iterable[str], languages: Sequence[str]) -> QueryWord:
    own = _forms(word)
    parts = dict.fromkeys(stem for each in found for stem in _all_stems(each, languages) if stem not in own)
    return replace(word, parts=tuple(parts))


def _all_stems(text: str, languages: Iterable[str]) -> Iterator[str]:
    for word in read_words(text):
        yield from word.stems
        for language in languages:
            yield from stems_in(word.text, language)


def compounds(forms: Sequence[str], holding: Mapping[str, Sequence[NearWord]]) -> list[str]:
    """Return the words *holding* one of *forms* that begin or end with it and hold another part."""
    found = {one.text: one for part in forms for one in holding.get(part, ()) if _is_compound(part, one.text)}
    return sorted(found, key=lambda word: (-found[word].frequency, word))[:MAX_COMPOUNDS]


def _is_compound(part: str, word: str) -> bool:
    return len(word) <= LONGEST and word.isalpha() and not any(map(is_cjk, word)) and _is_part(part, word)


def _is_part(part: str, word: str) -> bool:
    at, rest = word.rfind(part), len(word) - len(part)
    last = at >= SHORTEST_REST and len(word) - at - len(part) <= ENDING
    return last or (word.startswith(part) and rest > SHORTEST_REST)


def split_compound(word: str, known: Mapping[str, int]) -> tuple[str, ...]:
    """Return the two parts of *word* that are *known*, the second as long as can be; or nothing."""
    for firsts, second in _splits(word):
        first = next(filter(known.get, firsts), "") if known.get(second) else ""
        if first and _FILLING.isdisjoint((first, second)):
            return first, second
    return ()


@lru_cache(maxsize=4096)
def _splits(word: str) -> tuple[tuple[tuple[str, ...], str], ...]:
    """Return how *word* may be cut in two: what the first part may be, and the second, as long as can be first."""
    places = range(SHORTEST_REST, len(word) - SHORTEST_REST + 1)
    return tuple((_unlinked(word[:at]), word[at:]) for at in places)


def _unlinked(part: str) -> tuple[str, ...]:
    """Return *part* with and without the letters that may join it to the next one."""
    bare = (part.removesuffix(link) for link in _LINKS if part.endswith(link))
    return tuple(each for each in bare if len(each) >= SHORTEST_REST)
