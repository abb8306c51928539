"""Variants of a query, each a ranking of its own: paraphrases by intent, and words similar to its key terms."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from recollect.embedders.contract import Embedder
from recollect.errors import ModelError
from recollect.lazy import Bounded
from recollect.profile import Expand, Profile, Words
from recollect.records import AnyOf, Word
from recollect.search.build_query import tiers_of, word_query
from recollect.search.intent import key_terms, paraphrases
from recollect.search.parse import Query
from recollect.search.retrieve import Probe, first_match, is_decisive, only_quoted
from recollect.search.spelling import words_of
from recollect.search.state import SearchContext, State, Tier
from recollect.text.normalise import fold
from recollect.text.tokenizer import read_words
from recollect.vectors import RAW, Scale, matrix, pack

MIN_WORD_LENGTH: Final = 3
"""Shorter words of the vocabulary say too little to be searched for."""
MAX_VOCABULARY: Final = 2000
"""How many of the store's most frequent words are compared with the key terms."""
MIN_SIMILARITY: Final = 0.5
"""Lowest cosine of such a word to a key term."""
MAX_NEIGHBORS: Final = 8
"""How many such words are searched for."""
MAX_KEY_TERMS: Final = 8
VOCABULARY_WEIGHT: Final = 0.7
"""Weight of the ranking of such words, if rankings weigh by their kind."""
BYTES_KEPT: Final = 1 << 24
"""Size of the cache of word vectors, per model."""

_VECTORS: WeakKeyDictionary[Embedder, Bounded[str, bytes]] = WeakKeyDictionary()
"""Word vectors by model: a word means the same in every store."""


class Variant(NamedTuple):
    """A variant of the query for the word index, and the weight of its ranking."""

    tier: Tier
    weight: float


def expand(state: State, context: SearchContext, *, rules: Expand, profile: Profile) -> State:
    """Add a ranking for each variant of a plain query, if any variant finds something.

    A search by meaning alone has no variants, and a decisive word ranking needs none.
    """
    query = state.query
    if state.mode == "semantic" or query.tree is not None or query.asks_nothing:
        return state
    if is_decisive(state.rankings[0], profile):
        return state
    variants = (*_paraphrased(query, rules, profile.words), *_by_vocabulary(state, context, profile.words))
    probe = Probe(state=state, context=context, profile=profile)
    found = tuple(
        replace(
            only_quoted(first_match(probe, [variant.tier]), probe),
            name=f"expansion {number}",
            kind="expansion",
            weight=variant.weight,
        )
        for number, variant in enumerate(variants[: rules.max_variants], start=1)
    )
    return replace(state, rankings=(*state.rankings, *found)) if any(each.hits for each in found) else state


def _paraphrased(query: Query, rules: Expand, words: Words) -> Iterator[Variant]:
    for each in paraphrases(query.text, most=rules.max_variants):
        tiers = tiers_of(replace(query, text=each.text, words=read_words(each.text)), words)
        if tiers:
            yield Variant(tier=tiers[0], weight=each.weight)


def _by_vocabulary(state: State, context: SearchContext, words: Words) -> tuple[Variant, ...]:
    """Return a variant of the store's own words; without a model, or if the model fails, none."""
    if context.embedder is None or state.request.asked_mode == "keyword":
        return ()
    vocabulary = words_of(context, state.scope, version=state.version)
    try:
        return by_vocabulary(
            state.query, vocabulary, context.embedder, words=words, scale=context.profile.scale(context.embedder)
        )
    except ModelError:
        return ()


def by_vocabulary(
    query: Query, vocabulary: Iterable[str], embedder: Embedder, *, words: Words, scale: Scale = RAW
) -> tuple[Variant, ...]:
    """Return one variant of the frequent words of the store that mean about what the key terms mean, if any."""
    terms = [fold(term) for term in key_terms(query.text)][:MAX_KEY_TERMS]
    frequent = [word for word in vocabulary if len(word) >= MIN_WORD_LENGTH and word.isalpha()]
    near = near_words(terms, frequent[:MAX_VOCABULARY], embedder, least=MIN_SIMILARITY, scale=scale)
    known = {stem for word in query.words for stem in word.stems}
    stems = dict.fromkeys(stem for word in near for each in read_words(word) for stem in each.stems if not each.stop)
    leaves = tuple(Word(text=stem) for stem in stems if stem not in known)[:MAX_NEIGHBORS]
    return (Variant(tier=word_query(AnyOf(parts=leaves), words), weight=VOCABULARY_WEIGHT),) if leaves else ()


def near_words(
    terms: Sequence[str], words: Sequence[str], embedder: Embedder, *, least: float, scale: Scale = RAW
) -> tuple[str, ...]:
    """Return the *words* with a cosine of at least *least* to one of *terms*, nearest first."""
    kept = _VECTORS.setdefault(embedder, Bounded(BYTES_KEPT, weigh=len))
    vectors = {word: found for word in (*terms, *words) if (found := kept.get(word)) is not None}
    fresh = [word for word in dict.fromkeys((*terms, *words)) if word not in vectors]
    if fresh:
        made = dict(zip(fresh, map(pack, embedder.embed_passages(fresh)), strict=True))
        kept.update(made)
        vectors |= made
    block = matrix([vectors[word] for word in words], dimensions=embedder.dimensions)
    compared = [scale.of_all(block.products(vectors[term], range(len(words)))) for term in terms]
    cosines = {word: max(each) for word, each in zip(words, zip(*compared, strict=True), strict=False)}
    near = [word for word, cosine in cosines.items() if cosine >= least and word not in terms]
    return tuple(sorted(near, key=lambda word: (-cosines[word], word)))
