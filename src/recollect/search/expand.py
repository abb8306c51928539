"""Other ways to ask, each a list of its own: by what the question is after, and by words near in meaning."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import mul
from typing import Final
from weakref import WeakKeyDictionary

from recollect.embedders.contract import Embedder
from recollect.errors import ModelError
from recollect.profile import Expand, Profile
from recollect.records import AnyOf, Word, WordQuery
from recollect.search.build_query import ask
from recollect.search.intent import expansions, key_terms
from recollect.search.parse import Query
from recollect.search.ranking import Ranking
from recollect.search.retrieve import Desk, by_words
from recollect.search.spelling import vocabulary_of
from recollect.text.normalise import fold
from recollect.text.tokenizer import read_words
from recollect.vectors import Vector

SHORTEST: Final = 3
"""Words of the vocabulary with fewer letters say too little to be asked for."""

TERMS: Final = 512
"""For how many key terms the cosines are kept."""

_VECTORS: WeakKeyDictionary[Embedder, dict[str, Vector]] = WeakKeyDictionary()
"""The vectors of words, by model: a word means the same in every store."""


_COSINES: WeakKeyDictionary[Embedder, dict[str, dict[str, float]]] = WeakKeyDictionary()
"""The cosines of key terms to words: questions come back to the same terms, and each costs thousands of products."""


def expand(query: Query, desk: Desk, profile: Profile, *, depth: int) -> tuple[Ranking, ...]:
    """Return a list for each other way to ask *query*; none when the profile asks for none, or operators are used."""
    rules = profile.expand
    if rules.most <= 0 or query.tree is not None or query.asks_nothing:
        return ()
    ways = expansions(query.text, most=rules.most)
    others = [(way.weight, replace(query, text=way.text, words=read_words(way.text))) for way in ways]
    asked = [(weight, tier) for weight, other in others for tier in ask(other, profile.words)[:1]]
    near = _neighbours(query, desk, rules)
    if near:
        words = profile.words
        tier = WordQuery(expression=AnyOf(parts=near), weights=words.fields, k1=words.k1, b=words.b)
        asked.append((rules.vocabulary_weight, tier))
    lists = (
        replace(by_words([tier], desk, depth=depth), name=f"expansion {number}", kind="expansion", weight=weight)
        for number, (weight, tier) in enumerate(asked[: rules.most], start=1)
    )
    return tuple(replace(each, asked=()) for each in lists if each.found)


def _neighbours(query: Query, desk: Desk, rules: Expand) -> tuple[Word, ...]:
    """Return stems of the store's own words that mean about what the key terms mean; none without a model."""
    terms = [fold(term) for term in key_terms(query.text)][: rules.terms]
    if desk.embedder is None or not terms:
        return ()
    known = {stem for word in query.words for stem in word.stems}
    frequent = [
        word for word in vocabulary_of(desk.store, desk.scope).words if len(word) >= SHORTEST and word.isalpha()
    ]
    try:
        alike = near_words(terms, frequent[: rules.vocabulary], desk.embedder, least=rules.similarity)
    except ModelError:
        return ()
    stems = dict.fromkeys(stem for word in alike for each in read_words(word) for stem in each.stems if not each.stop)
    return tuple(Word(text=stem) for stem in stems if stem not in known)[: rules.neighbours]


def near_words(terms: Sequence[str], words: Sequence[str], embedder: Embedder, *, least: float) -> tuple[str, ...]:
    """Return those of *words* whose cosine to one of *terms* is at least *least*, the nearest first."""
    vectors = _embedded([*terms, *words], embedder)
    compared = [_compared(term, words, vectors, embedder) for term in terms]
    nearness = {word: max(each[word] for each in compared) for word in words if word not in set(terms)}
    near = [word for word, cosine in nearness.items() if cosine >= least]
    return tuple(sorted(near, key=lambda word: (-nearness[word], word)))


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
    if len(kept) >= TERMS:
        kept.clear()
    known = kept.setdefault(term, {})
    own = vectors[term]
    known.update({word: sum(map(mul, own, vectors[word])) for word in words if word not in known})
    return known
