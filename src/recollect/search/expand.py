"""Variants of a query, each a list of its own: paraphrases by its intent, and words near to its key terms."""

from collections.abc import Iterable, Sequence
from typing import Final
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from recollect.embedders.contract import Embedder
from recollect.errors import ModelError
from recollect.lazy import Bounded
from recollect.profile import Expand, Words
from recollect.records import AnyOf, Word
from recollect.search.build_query import tiers_of, word_query
from recollect.search.intent import key_terms, paraphrases
from recollect.search.parse import Query
from recollect.search.state import State, Variant
from recollect.text.normalise import fold
from recollect.text.tokenizer import read_words
from recollect.vectors import matrix, pack

SHORTEST: Final = 3
"""Words of the vocabulary with fewer letters say too little to be asked for."""

BYTES_KEPT: Final = 1 << 24
"""How many bytes of vectors of words are kept for each model."""

_VECTORS: WeakKeyDictionary[Embedder, Bounded[str, bytes]] = WeakKeyDictionary()
"""The vectors of words, by model: a word means the same in every store."""


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
    query: Query, vocabulary: Iterable[str], embedder: Embedder, *, rules: Expand, words: Words
) -> tuple[Variant, ...]:
    """Return one variant of the store's own words that mean about what the key terms mean, if there are any."""
    terms = [fold(term) for term in key_terms(query.text)][: rules.max_terms]
    frequent = [word for word in vocabulary if len(word) >= SHORTEST and word.isalpha()]
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
    kept = _VECTORS.setdefault(embedder, Bounded(BYTES_KEPT, weigh=len))
    vectors = {word: found for word in (*terms, *words) if (found := kept.get(word)) is not None}
    fresh = [word for word in dict.fromkeys((*terms, *words)) if word not in vectors]
    if fresh:
        made = dict(zip(fresh, map(pack, embedder.embed_passages(fresh)), strict=True))
        kept.update(made)
        vectors |= made
    block = matrix([vectors[word] for word in words], dimensions=embedder.dimensions)
    compared = [block.products(vectors[term], range(len(words))) for term in terms]
    cosines = {word: max(each) for word, each in zip(words, zip(*compared, strict=True), strict=False)}
    near = [word for word, cosine in cosines.items() if cosine >= least and word not in terms]
    return tuple(sorted(near, key=lambda word: (-cosines[word], word)))
