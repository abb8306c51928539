"""Variants of a query, each a list of its own: paraphrases by its intent, and words near to its key terms."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import mul
from typing import Final
from weakref import WeakKeyDictionary

from recollect.embedders.contract import Embedder
from recollect.errors import ModelError
from recollect.profile import Expand, Words
from recollect.records import AnyOf, Word
from recollect.search.build_query import tiers_of, word_query
from recollect.search.intent import key_terms, paraphrases
from recollect.search.parse import Query
from recollect.search.spelling import Vocabulary
from recollect.search.state import State, Variant
from recollect.text.normalise import fold
from recollect.text.tokenizer import read_words
from recollect.vectors import Vector

SHORTEST: Final = 3
"""Words of the vocabulary with fewer letters say too little to be asked for."""
MAX_KEPT: Final = 512
"""For how many key terms the cosines are kept."""

_VECTORS: WeakKeyDictionary[Embedder, dict[str, Vector]] = WeakKeyDictionary()
"""The vectors of words, by model: a word means the same in every store."""
_COSINES: WeakKeyDictionary[Embedder, dict[str, dict[str, float]]] = WeakKeyDictionary()
"""The cosines of key terms to words: queries come back to the same terms, and each costs thousands of products."""


def expand(state: State, *, rules: Expand, words: Words) -> State:
    """Make a variant of each paraphrase; none when the profile asks for none, or operators are used."""
    query = state.query
    if rules.max_variants <= 0 or query.tree is not None or query.asks_nothing:
        return state
    asked = (
        (each.weight, tiers_of(replace(query, text=each.text, words=read_words(each.text)), words))
        for each in paraphrases(query.text, most=rules.max_variants)
    )
    return replace(state, variants=tuple(Variant(tier=tiers[0], weight=weight) for weight, tiers in asked if tiers))


def by_vocabulary(
    query: Query, vocabulary: Vocabulary, embedder: Embedder, *, rules: Expand, words: Words
) -> tuple[Variant, ...]:
    """Return one variant of the store's own words that mean about what the key terms mean, if there are any."""
    terms = [fold(term) for term in key_terms(query.text)][: rules.max_terms]
    frequent = [word for word in vocabulary.words if len(word) >= SHORTEST and word.isalpha()]
    try:
        near = near_words(terms, frequent[: rules.vocabulary_size], embedder, least=rules.min_similarity)
    except ModelError:
        return ()
    known = {stem for word in query.words for stem in word.stems}
    stems = dict.fromkeys(stem for word in near for each in read_words(word) for stem in each.stems if not each.stop)
    leaves = tuple(Word(text=stem) for stem in stems if stem not in known)[: rules.max_neighbours]
    return (Variant(tier=word_query(AnyOf(parts=leaves), words), weight=rules.vocabulary_weight),) if leaves else ()


def near_words(terms: Sequence[str], words: Sequence[str], embedder: Embedder, *, least: float) -> tuple[str, ...]:
    """Return those of *words* whose cosine to one of *terms* is at least *least*, the nearest first."""
    vectors = _embedded([*terms, *words], embedder)
    compared = [_compared(term, words, vectors, embedder) for term in terms]
    cosines = {word: max(each[word] for each in compared) for word in words if word not in terms} if terms else {}
    near = [word for word, cosine in cosines.items() if cosine >= least]
    return tuple(sorted(near, key=lambda word: (-cosines[word], word)))


def _embedded(words: Sequence[str], embedder: Embedder) -> dict[str, Vector]:
    kept = _VECTORS.setdefault(embedder, {})
    fresh = [word for word in dict.fromkeys(words) if word not in kept]
    if fresh:
        kept.update(zip(fresh, embedder.embed_passages(fresh), strict=True))
    return kept


def _compared(
    term: str, words: Sequence[str], vectors: Mapping[str, Vector], embedder: Embedder
) -> Mapping[str, float]:
    """Return the cosine of *term* to each of *words*, and to others it was compared with before."""
    kept = _COSINES.setdefault(embedder, {})
    if len(kept) >= MAX_KEPT:
        kept.clear()
    known = kept.setdefault(term, {})
    own = vectors[term]
    known.update({word: sum(map(mul, own, vectors[word])) for word in words if word not in known})
    return known
