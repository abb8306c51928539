"""The rankings of a search: the queries to the indexes, their order, and how the rankings complete each other."""

import math
from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from recollect.embedders.contract import Embedder, generation_for
from recollect.errors import ModelError, WordIndexUnavailable
from recollect.profile import Profile, Retrieve, Smooth
from recollect.records import AllOf, AnyOf, Phrase, Prefix, SubstringQuery, VectorHits, Word, WordHits, WordQuery
from recollect.replies import Degraded, Mode
from recollect.search.build_query import substring_query, word_query
from recollect.search.fuse import normalize
from recollect.search.limits import MAX_UNKNOWN
from recollect.search.spelling import correct_query, fuzzy_expand, near_words, unknown_words
from recollect.search.state import Ranking, SearchContext, State, Tier
from recollect.text.tokenizer import significant
from recollect.vectors import RAW, Scale, mix, pack, unit

SPELLED_PIECES_PER_LETTER: Final = 0.5
"""A word with this many token pieces per letter or more is spelled out; an English word has one for six letters."""
MAX_WORDS_NEXT_TO_PHRASE: Final = 3
"""A quoted phrase next to more words than these is part of a sentence."""
ROUNDING: Final = 1e-9
"""Tolerance of a difference: 0.95 is 0.15 ahead of 0.80."""


class QueryVector(Struct, frozen=True, kw_only=True):
    """The query vector for one generation."""

    generation: str
    vector: bytes
    scale: Scale = RAW


class Probe(Struct, frozen=True, kw_only=True):
    """How one search queries the indexes."""

    state: State
    context: SearchContext
    profile: Profile

    @property
    def depth(self) -> int:
        """Candidates per ranking: a fixed number, or a multiple of the limit."""
        limit, rules = self.profile.limit, self.profile.retrieve
        return max(limit, limit * rules.depth_per_limit or rules.depth)

    @property
    def typo_weight(self) -> float:
        """Weight of words near a mistyped one; 0 if typos are not tolerated."""
        return 0.0 if self.profile.typos is None else self.profile.typos.weight

    def match_words(self, tier: Tier, *, depth: int, score_ids: Sequence[int] = ()) -> WordHits:
        """Query the word index."""
        state = self.state
        return self.context.ask.match_words(
            tier, scope=state.scope, where=state.where, limit=depth, score_ids=score_ids
        )

    def nearest(
        self, asked: QueryVector, *, depth: int, score_ids: Sequence[int], exclude: str | None = None
    ) -> VectorHits:
        """Query the vectors of a generation, except memories that have vectors of the generation *exclude*."""
        found = self.context.ask.nearest(
            asked.generation,
            asked.vector,
            scope=self.state.scope,
            where=self.state.where,
            limit=depth,
            score_ids=score_ids,
            exclude_generation=exclude,
            in_context=self.profile.retrieve.context_vectors,
        )
        return scaled(found, asked.scale)


def scaled(found: VectorHits, scale: Scale) -> VectorHits:
    """Return *found* with the cosines on the common scale."""
    if scale == RAW:
        return found
    return replace(
        found,
        top=tuple(hit._replace(score=scale.of(hit.score)) for hit in found.top),
        by_id={row: hit._replace(score=scale.of(hit.score)) for row, hit in found.by_id.items()},
    )


def retrieve(state: State, context: SearchContext, *, profile: Profile) -> State:
    """Query the indexes for the rankings."""
    probe = Probe(state=state, context=context, profile=profile)
    mode, degraded = choose_mode(state, context, profile.retrieve)
    if state.query.asks_nothing and state.request.embedding is None:
        return replace(state, mode=mode, degraded=degraded)
    try:
        found = _ask(probe, mode)
    except ModelError:
        if state.request.without_model == "fail":
            raise
        mode, degraded = "keyword", "model_failed"
        found = _ask(probe, mode)
    if quoted(probe):
        found = replace(found, rankings=tuple(only_quoted(each, probe) for each in found.rankings))
    degraded = next((each.degraded for each in found.rankings if each.degraded), degraded)
    tiers = next((each.tiers for each in found.rankings if each.name == "words"), state.tiers)
    limited = state.limited or _uncorrected(found, probe)
    read = replace(found, mode=mode, degraded=degraded, tiers=tiers, limited=limited)
    return replace(read, foreign=_is_foreign(read, context), gibberish=_is_gibberish(read, context))


def _uncorrected(state: State, probe: Probe) -> Degraded | None:
    """Report a query with more unknown words than are corrected."""
    unknown = unknown_words(state.query, state.ranking("words").document_frequencies) if probe.typo_weight > 0 else ()
    return "corrections_cut" if len(unknown) > MAX_UNKNOWN else None


def _is_foreign(state: State, context: SearchContext) -> bool:
    """Return whether the model made a vector of a query in a script that it does not know."""
    given, embedder = state.request.embedding, context.embedder
    return given is None and embedder is not None and not embedder.covers(state.query.text)


def _is_gibberish(state: State, context: SearchContext) -> bool:
    """Return whether nothing of the query is a word: the store holds none of it, and the model spells it in pieces."""
    known, embedder = state.ranking("words").document_frequencies, context.embedder
    words = [word.text for word in significant(state.query.words) if not word.cjk]
    if not words or embedder is None or state.mode == "keyword" or any(known.values()):
        return False
    if state.request.embedding is not None:  # the vector says what is meant, whatever the words are
        return False
    frame = embedder.count_pieces("")
    pieces = sum(embedder.count_pieces(word) - frame for word in words)
    return pieces >= SPELLED_PIECES_PER_LETTER * sum(map(len, words))


def choose_mode(state: State, context: SearchContext, rules: Retrieve) -> tuple[Mode, Degraded | None]:
    """Return the mode that the request amounts to here, and what is missing for the one it asked for."""
    request = state.request
    if request.asked_mode == "keyword":
        return "keyword", None
    if request.embedding is not None:
        return "semantic" if state.query.asks_nothing else request.asked_mode, None
    if context.embedder is None:
        if request.without_model == "fail":
            raise ModelError("there is no embedding model", hint="run: recollect model install minilm")
        return "keyword", "no_model"
    if request.asked_mode == "hybrid" and rules.skip_unknown_scripts and not context.embedder.covers(state.query.text):
        return "keyword", None
    return request.asked_mode, None


def is_decisive(words: Ranking, profile: Profile) -> bool:
    """Return whether the rest may be skipped: the best hit by words has a high score, far ahead of the second."""
    rules = profile.short_circuit
    if rules is None or not words.hits:
        return False
    scores = normalize(words.kind, [hit.score for hit in words.hits[:2]], profile.fuse)
    lead = scores[0] - scores[1] if len(scores) > 1 else math.inf
    return scores[0] >= rules.score - ROUNDING and lead >= rules.lead - ROUNDING


def _ask(probe: Probe, mode: Mode) -> State:
    """Return the state with the rankings of *mode*, the words first."""
    if mode == "keyword":
        return replace(probe.state, rankings=(search_words(probe),))
    if probe.state.query.tree is not None or quoted(probe):
        return _by_tree(probe, mode)
    if mode == "semantic":
        return _with_vectors(probe, (), *search_vectors(probe))
    return _hybrid(probe)


def _by_tree(probe: Probe, mode: Mode) -> State:
    """Query for what the operators or the quoted phrases admit, and for the similarity of each match."""
    words = only_quoted(search_words(probe), probe)
    near, asked = search_vectors(probe, depth=0, score_ids=[hit.id for hit in words.hits])
    if mode == "hybrid":
        return _with_vectors(probe, (words,), near, asked)
    ranked = tuple(sorted(near.by_id.values(), key=lambda hit: (-hit.score, hit.id)))
    return _with_vectors(probe, (), replace(near, hits=ranked, by_id={}), asked)


def _hybrid(probe: Probe) -> State:
    """Query both indexes; with cross scores each ranking knows the exact score of every candidate of the other.

    The word index is queried while the model embeds the query, unless a decisive word ranking may save the model.
    """
    state, profile, cross = probe.state, probe.profile, probe.profile.retrieve.cross_score
    if profile.short_circuit is None and state.request.embedding is None:
        probe.context.begin(state.query.text)
    words = search_words(probe, correct=False)
    if is_decisive(words, profile):
        return replace(state, rankings=(words,))
    words = _corrected(probe, words)
    corrected = correct_query(state.query.text, words.near) if words.tiers != state.tiers else ""
    held = [hit.id for hit in words.hits] if cross else []
    near, asked = search_vectors(probe, score_ids=held, corrected=corrected)
    ranked = set(held)
    others = [hit.id for hit in near.hits if hit.id not in ranked] if cross else []
    if others and words.answered is not None:
        words = replace(words, by_id=probe.match_words(words.answered, depth=0, score_ids=others).by_id)
    return _with_vectors(probe, (words,), near, asked)


def _with_vectors(probe: Probe, words: tuple[Ranking, ...], near: Ranking, asked: Sequence[QueryVector]) -> State:
    return replace(probe.state, rankings=(*words, near), generations={each.generation: each.scale for each in asked})


# --- words ----------------------------------------------------------------------------------


def search_words(probe: Probe, *, correct: bool = True) -> Ranking:
    """Return the hits of the first tier that matches.

    Words that no memory contains may be mistyped; then likely corrections are searched too.
    If the word index is unavailable, the text of the memories is searched instead.
    """
    found = first_match(probe, probe.state.tiers)
    return _corrected(probe, found) if correct else found


def first_match(probe: Probe, tiers: Sequence[Tier]) -> Ranking:
    """Return the hits of the first of *tiers* that has any."""
    found = Ranking(name="words", tiers=tuple(tiers))
    for tier in tiers:
        try:
            hits = probe.match_words(tier, depth=probe.depth)
        except WordIndexUnavailable:
            return _by_substrings(probe)
        found = replace(
            found,
            kind="text" if isinstance(tier, SubstringQuery) else "words",
            hits=hits.top,
            answered=tier if hits.top else None,
            total=hits.total,
            code_share=hits.code_share,
            document_frequencies={**found.document_frequencies, **hits.document_frequencies},
            version=hits.version,
        )
        if hits.top:
            break
    return found


def _by_substrings(probe: Probe) -> Ranking:
    substrings = substring_query(probe.state.query)
    found = first_match(probe, () if substrings is None else (substrings,))
    return replace(_without_unwanted(found, probe), answered=None, degraded="fts_unavailable")


def _without_unwanted(found: Ranking, probe: Probe) -> Ranking:
    """Return *found* without the words that a plain query excludes."""
    unwanted, ids = probe.state.query.unwanted, [hit.id for hit in found.hits]
    if not unwanted or not ids:
        return found
    try:
        out = probe.match_words(word_query(AnyOf(parts=unwanted), probe.profile.words), depth=1, score_ids=ids).by_id
    except WordIndexUnavailable:
        needles = tuple(leaf.text if isinstance(leaf, Word | Prefix) else " ".join(leaf.texts) for leaf in unwanted)
        out = probe.match_words(SubstringQuery(needles=needles), depth=1, score_ids=ids).by_id
    return replace(found, hits=tuple(hit for hit in found.hits if hit.id not in out))


def quoted(probe: Probe) -> tuple[Phrase | Word, ...]:
    """Return the quotations of a plain query that every hit must contain; none inside a sentence."""
    query = probe.state.query
    is_sentence = len(query.words) > MAX_WORDS_NEXT_TO_PHRASE or any(word.stop for word in query.words)
    exact = query.exact if probe.profile.words.require_phrases and not is_sentence else ()
    return tuple(leaf for leaf in exact if not isinstance(leaf, Prefix))


def only_quoted(found: Ranking, probe: Probe) -> Ranking:
    """Return *found* with only the hits that contain every required quotation."""
    required, ids = quoted(probe), [hit.id for hit in found.hits]
    if not required or not ids:
        return found
    try:
        asked = word_query(AllOf(parts=required), probe.profile.words)
        held = set(probe.match_words(asked, depth=1, score_ids=ids).by_id)
    except WordIndexUnavailable:
        needles = tuple(leaf.text if isinstance(leaf, Word) else " ".join(leaf.texts) for leaf in required)
        counted = probe.match_words(SubstringQuery(needles=needles), depth=1, score_ids=ids).by_id
        held = {row for row, hit in counted.items() if hit.coverage == 1.0}
    return replace(found, hits=tuple(hit for hit in found.hits if hit.id in held))


def _corrected(probe: Probe, words: Ranking) -> Ranking:
    """Return *words*, or the ranking of the query with likely corrections next to unknown words, if there are any."""
    query, tiers, weight = probe.state.query, probe.state.tiers, probe.typo_weight
    known = words.document_frequencies
    unknown = unknown_words(query, known, probe.context.embedder)[:MAX_UNKNOWN] if weight > 0 else []
    if not unknown:
        return words
    near = near_words([word.text for word in unknown], probe.context, probe.state.scope)
    fuzzy = tuple(
        fuzzy_expand(tier, unknown, near, weight=weight) if isinstance(tier, WordQuery) else tier for tier in tiers
    )
    found = words if fuzzy == tiers else first_match(probe, fuzzy)
    return replace(found, near=near, document_frequencies=known)


# --- vectors --------------------------------------------------------------------------------


def search_vectors(
    probe: Probe, *, depth: int | None = None, score_ids: Sequence[int] = (), corrected: str = ""
) -> tuple[Ranking, tuple[QueryVector, ...]]:
    """Return the memories nearest to the query, and the query vectors, the one of the current generation first.

    The *corrected* query is mixed in. While a new generation is being filled, memories without a vector in it are
    compared by the previous model's vectors.
    """
    depth = probe.depth if depth is None else depth
    asked = [_query_vector(probe, probe.context.embedder, corrected)]
    found = probe.nearest(asked[0], depth=depth, score_ids=score_ids)
    top, missing = found.top, found.missing
    previous = previous_embedder(probe) if missing else None
    if previous is not None:
        asked.append(_query_vector(probe, previous, corrected))
        older = probe.nearest(asked[1], depth=depth, score_ids=score_ids, exclude=asked[0].generation)
        by_id, missing = {**older.by_id, **found.by_id}, older.missing
        found = replace(found, by_id=by_id, total=found.total + older.total)
        top = tuple(sorted((*top, *older.top), key=lambda hit: (-hit.score, hit.id))[:depth])
    least = probe.profile.retrieve.min_similarity if depth else -1.0
    if top and top[-1].score < least:
        top = tuple(hit for hit in top if hit.score >= least)
    ranking = Ranking(
        name="vector",
        hits=top,
        by_id=found.by_id,
        total=found.total,
        degraded="vectors_pending" if missing else None,
        version=found.version,
    )
    return _without_unwanted(ranking, probe), tuple(asked)


def _query_vector(probe: Probe, embedder: Embedder | None, corrected: str) -> QueryVector:
    given, text, weight = probe.state.request.embedding, probe.state.query.text, probe.typo_weight
    if given is not None:
        generation = generation_for(len(given), embedder)
        known = embedder if embedder is not None and generation == embedder.fingerprint else None
        return QueryVector(generation=generation, vector=pack(unit(given)), scale=probe.profile.scale(known))
    if embedder is None:
        raise ModelError("there is no embedding model", hint="run: recollect model install minilm")
    probe.context.watch.check()
    if corrected in ("", text):
        (vector,) = embedder.embed_queries([text])
    else:
        vector = mix(embedder.embed_queries([text, corrected]), [1.0 - weight, weight])
    return QueryVector(generation=embedder.fingerprint, vector=pack(vector), scale=probe.profile.scale(embedder))


def previous_embedder(probe: Probe) -> Embedder | None:
    """Return the newest other model that made vectors here and can still be loaded."""
    current = probe.context.embedder
    if current is None or probe.state.request.embedding is not None:
        return None
    generations = probe.context.ask.generations(scope=probe.state.scope)
    others = (each.model for each in generations if each.fingerprint != current.fingerprint)
    return next((found for model in others if (found := probe.context.named(model)) is not None), None)


def load_vectors(state: State, context: SearchContext, *, rules: Smooth) -> State:
    """Load the vector of the first passage of the first candidates, of the current generation or the previous one."""
    first = state.candidates.ids[: rules.top_k]
    return with_vectors(state, context, first) if state.mode == "hybrid" else state


def with_vectors(state: State, context: SearchContext, ids: Sequence[int]) -> State:
    """Return *state* with the vectors of *ids* as well, after a search by words and vectors."""
    wanted = [row for row in ids if row not in state.vectors]
    for generation in state.generations if wanted else ():
        held = context.ask.vectors(generation, wanted, scope=state.scope)
        if held:
            vectors = {**state.vectors, **{row: each[0].vector for row, each in held.items()}}
            return replace(state, vectors=vectors, scale=state.generations[generation])
    return state
