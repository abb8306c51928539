"""The rankings of a search: what the indexes are asked, in which order, and how the lists complete each other."""

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from recollect.embedders.contract import Embedder, generation_for
from recollect.errors import ModelError, WordIndexUnavailable
from recollect.profile import Expand, Fuse, Retrieve, Words
from recollect.records import AllOf, AnyOf, Phrase, Prefix, SubstringQuery, VectorHits, Word, WordHits, WordQuery
from recollect.replies import Degraded, Mode
from recollect.search.build_query import substring_query, word_query
from recollect.search.expand import by_vocabulary
from recollect.search.fuse import normalise
from recollect.search.limits import MAX_UNKNOWN
from recollect.search.spelling import correct_query, fuzzy_expand, near_words, unknown_words, words_of
from recollect.search.state import Ranking, SearchContext, State, Tier
from recollect.text.tokenizer import significant
from recollect.vectors import mix, pack, unit

SPELT: Final = 0.5
"""From so many pieces a letter on a word is spelt, not read: an English word has one piece for six letters."""
MAX_BESIDE: Final = 3
"""Next to more words than these a quoted phrase is part of a sentence."""
ROUNDING: Final = 1e-9
"""What the last digits of a difference may be off: 0.95 is 0.15 ahead of 0.80."""


class QueryVector(Struct, frozen=True, kw_only=True):
    """What is compared with the vectors of one generation."""

    generation: str
    vector: bytes


class Probe(Struct, frozen=True, kw_only=True):
    """How the indexes are asked in one search."""

    state: State
    context: SearchContext
    rules: Retrieve
    words: Words
    depth: int

    def match_words(self, tier: Tier, *, depth: int, score_ids: Sequence[int] = ()) -> WordHits:
        """Ask the word index."""
        state = self.state
        return self.context.ask.match_words(
            tier, scope=state.scope, where=state.where, limit=depth, score_ids=score_ids
        )

    def nearest(
        self, asked: QueryVector, *, depth: int, score_ids: Sequence[int], exclude: str | None = None
    ) -> VectorHits:
        """Ask the vectors of a generation; memories that have some of the generation *exclude* are left to it."""
        return self.context.ask.nearest(
            asked.generation,
            asked.vector,
            scope=self.state.scope,
            where=self.state.where,
            limit=depth,
            score_ids=score_ids,
            exclude_generation=exclude,
            in_context=self.rules.context_vectors,
            exact=self.rules.exact_vectors,
        )


def retrieve(
    state: State,
    context: SearchContext,
    *,
    rules: Retrieve,
    words: Words,
    expand: Expand,
    fuse: Fuse,
    depth: int,
) -> State:
    """Ask the indexes for the lists of candidates."""
    probe = Probe(state=state, context=context, rules=rules, words=words, depth=depth)
    mode, degraded = choose_mode(state, context, rules)
    if state.query.asks_nothing and state.request.embedding is None:
        return replace(state, mode=mode, degraded=degraded)
    try:
        found = _ask(probe, mode, fuse=fuse)
    except ModelError:
        if state.request.without_model == "fail":
            raise
        mode, degraded = "keyword", "model_failed"
        found = _ask(probe, mode, fuse=fuse)
    if mode != "semantic" and not is_strong(found.rankings[0], rules, fuse):
        found = replace(found, rankings=(*found.rankings, *_expansions(probe, found.version, expand)))
    if _quoted(probe):
        found = replace(found, rankings=tuple(_as_quoted(each, probe) for each in found.rankings))
    degraded = next((each.degraded for each in found.rankings if each.degraded), degraded)
    tiers = next((each.tiers for each in found.rankings if each.name == "words"), state.tiers)
    limited = state.limited or _uncorrected(found, words)
    read = replace(found, mode=mode, degraded=degraded, tiers=tiers, limited=limited)
    return replace(read, foreign=_is_foreign(read, context), gibberish=_is_gibberish(read, context))


def _uncorrected(state: State, words: Words) -> Degraded | None:
    """Tell where the query has more unknown words than are corrected."""
    unknown = unknown_words(state.query, state.ranking("words").document_frequencies) if words.typo_weight > 0 else ()
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
    return sum(embedder.count_pieces(word) - frame for word in words) >= SPELT * sum(map(len, words))


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


def is_strong(words: Ranking, rules: Retrieve, fuse: Fuse) -> bool:
    """Return whether the words alone are so sure that the rest may be skipped: a high score, far ahead."""
    top, gap = rules.short_circuit
    if top <= 0 or not words.hits:
        return False
    scores = normalise(words.kind, [hit.score for hit in words.hits[:2]], fuse)
    lead = scores[0] - scores[1] if len(scores) > 1 else math.inf
    return scores[0] >= top - ROUNDING and lead >= gap - ROUNDING


def _ask(probe: Probe, mode: Mode, *, fuse: Fuse) -> State:
    """Return the state with the lists of *mode*, the words first."""
    if mode == "keyword":
        return replace(probe.state, rankings=(search_words(probe),))
    if probe.state.query.tree is not None or _quoted(probe):
        return _by_tree(probe, mode)
    if mode == "semantic":
        return _with_vectors(probe, (), *search_vectors(probe))
    return _hybrid(probe, fuse=fuse)


def _by_tree(probe: Probe, mode: Mode) -> State:
    """Ask for what the operators or the quoted phrases admit, and how near each of those is."""
    words = _as_quoted(search_words(probe), probe)
    near, asked = search_vectors(probe, depth=0, score_ids=[hit.id for hit in words.hits])
    if mode == "hybrid":
        return _with_vectors(probe, (words,), near, asked)
    ranked = tuple(sorted(near.by_id.values(), key=lambda hit: (-hit.score, hit.id)))
    return _with_vectors(probe, (), replace(near, hits=ranked, by_id={}), asked)


def _hybrid(probe: Probe, *, fuse: Fuse) -> State:
    """Ask both lists; in the end each may know the exact score of every candidate of the other.

    The words are asked while the model reads the query, unless they may make its vector needless.
    """
    rules, state = probe.rules, probe.state
    if rules.short_circuit[0] <= 0 and state.request.embedding is None:
        probe.context.begin(state.query.text)
    words = search_words(probe, correct=False)
    if is_strong(words, rules, fuse):
        return replace(state, rankings=(words,))
    words = _corrected(probe, words)
    corrected = correct_query(state.query.text, words.near) if words.tiers != state.tiers else ""
    held = [hit.id for hit in words.hits] if rules.cross_score else []
    near, asked = search_vectors(probe, score_ids=held, corrected=corrected)
    ranked = set(held)
    others = [hit.id for hit in near.hits if hit.id not in ranked] if rules.cross_score else []
    if others and words.answered is not None:
        words = replace(words, by_id=probe.match_words(words.answered, depth=0, score_ids=others).by_id)
    return _with_vectors(probe, (words,), near, asked)


def _with_vectors(probe: Probe, words: tuple[Ranking, ...], near: Ranking, asked: Sequence[QueryVector]) -> State:
    return replace(probe.state, rankings=(*words, near), generations=tuple(each.generation for each in asked))


# --- words ----------------------------------------------------------------------------------


def search_words(probe: Probe, *, correct: bool = True) -> Ranking:
    """Return what the first tier with any match finds.

    Words that no memory holds may be mistyped; then what may be meant by them is asked for too.
    Where the word index cannot be used, the text of the memories is searched instead.
    """
    found = _first_match(probe, probe.state.tiers)
    return _corrected(probe, found) if correct else found


def _first_match(probe: Probe, tiers: Sequence[Tier]) -> Ranking:
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
    substrings = substring_query(probe.state.query, probe.words)
    found = _first_match(probe, () if substrings is None else (substrings,))
    return replace(_without_unwanted(found, probe), answered=None, degraded="fts_unavailable")


def _without_unwanted(found: Ranking, probe: Probe) -> Ranking:
    """Return *found* without what a plain query excludes."""
    unwanted, ids = probe.state.query.unwanted, [hit.id for hit in found.hits]
    if not unwanted or not ids:
        return found
    try:
        out = probe.match_words(word_query(AnyOf(parts=unwanted), probe.words), depth=1, score_ids=ids).by_id
    except WordIndexUnavailable:
        needles = tuple(leaf.text if isinstance(leaf, Word | Prefix) else " ".join(leaf.texts) for leaf in unwanted)
        out = probe.match_words(SubstringQuery(needles=needles), depth=1, score_ids=ids).by_id
    return replace(found, hits=tuple(hit for hit in found.hits if hit.id not in out))


def _quoted(probe: Probe) -> tuple[Phrase | Word, ...]:
    """Return what a plain query quotes, where every hit must hold it: inside a sentence a quotation only counts."""
    query = probe.state.query
    is_sentence = len(query.words) > MAX_BESIDE or any(word.stop for word in query.words)
    exact = query.exact if probe.words.require_phrases and not is_sentence else ()
    return tuple(leaf for leaf in exact if not isinstance(leaf, Prefix))


def _as_quoted(found: Ranking, probe: Probe) -> Ranking:
    """Return *found* with only the hits that hold all that the query quotes."""
    quoted, ids = _quoted(probe), [hit.id for hit in found.hits]
    if not quoted or not ids:
        return found
    try:
        asked = word_query(AllOf(parts=quoted), probe.words)
        held = set(probe.match_words(asked, depth=1, score_ids=ids).by_id)
    except WordIndexUnavailable:
        needles = tuple(leaf.text if isinstance(leaf, Word) else " ".join(leaf.texts) for leaf in quoted)
        counted = probe.match_words(SubstringQuery(needles=needles), depth=1, score_ids=ids).by_id
        held = {row for row, hit in counted.items() if hit.coverage == 1.0}
    return replace(found, hits=tuple(hit for hit in found.hits if hit.id in held))


def _corrected(probe: Probe, words: Ranking) -> Ranking:
    """Return *words*, or what is found with what may be meant by unknown words, where anything may."""
    query, tiers, weight = probe.state.query, probe.state.tiers, probe.words.typo_weight
    known = words.document_frequencies
    unknown = unknown_words(query, known, probe.context.embedder)[:MAX_UNKNOWN] if weight > 0 else []
    if not unknown:
        return words
    near = near_words([word.text for word in unknown], probe.context, probe.state.scope)
    fuzzy = tuple(
        fuzzy_expand(tier, unknown, near, weight=weight) if isinstance(tier, WordQuery) else tier for tier in tiers
    )
    found = words if fuzzy == tiers else _first_match(probe, fuzzy)
    return replace(found, near=near, document_frequencies=known)


def _expansions(probe: Probe, version: int | None, expand: Expand) -> tuple[Ranking, ...]:
    """Return a list for each variant of the query, none where no variant finds anything."""
    state, context = probe.state, probe.context
    if expand.max_variants <= 0 or state.query.tree is not None or state.query.asks_nothing:
        return ()
    variants = state.variants
    if context.embedder is not None and state.request.asked_mode != "keyword":
        vocabulary = words_of(context, state.scope, version=version)
        with suppress(ModelError):  # the other variants need no model
            near = by_vocabulary(state.query, vocabulary, context.embedder, rules=expand, words=probe.words)
            variants = (*variants, *near)
    lists = tuple(
        replace(
            _first_match(probe, [variant.tier]),
            name=f"expansion {number}",
            kind="expansion",
            weight=variant.weight,
        )
        for number, variant in enumerate(variants[: expand.max_variants], start=1)
    )
    return lists if any(each.hits for each in lists) else ()


# --- vectors --------------------------------------------------------------------------------


def search_vectors(
    probe: Probe, *, depth: int | None = None, score_ids: Sequence[int] = (), corrected: str = ""
) -> tuple[Ranking, tuple[QueryVector, ...]]:
    """Return the memories nearest to the query, and the vectors that were compared, the generation in use first.

    The query as it was probably meant, *corrected*, counts beside it. While a new generation fills, what it lacks
    is compared with the vectors of the model before.
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
    least = probe.rules.min_similarity if depth else -1.0
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
    given, text, weight = probe.state.request.embedding, probe.state.query.text, probe.words.typo_weight
    if given is not None:
        return QueryVector(generation=generation_for(len(given), embedder), vector=pack(unit(given)))
    if embedder is None:
        raise ModelError("there is no embedding model", hint="run: recollect model install minilm")
    probe.context.watch.check()
    if corrected in ("", text):
        (vector,) = embedder.embed_queries([text])
    else:
        vector = mix(embedder.embed_queries([text, corrected]), [1.0 - weight, weight])
    return QueryVector(generation=embedder.fingerprint, vector=pack(vector))


def previous_embedder(probe: Probe) -> Embedder | None:
    """Return the newest other model that made vectors here and can still be loaded."""
    current = probe.context.embedder
    if current is None or probe.state.request.embedding is not None:
        return None
    generations = probe.context.ask.generations(scope=probe.state.scope)
    others = (each.model for each in generations if each.fingerprint != current.fingerprint)
    return next((found for model in others if (found := probe.context.named(model)) is not None), None)


def load_vectors(state: State, context: SearchContext, *, most: int) -> State:
    """Load the vectors of the first passages of the first candidates, of the generation in use or the one before."""
    first = state.columns.ids[:most]
    return with_vectors(state, context, first) if state.mode == "hybrid" else state


def with_vectors(state: State, context: SearchContext, ids: Sequence[int]) -> State:
    """Return *state* with the vectors of *ids* too, where words and vectors were both asked."""
    wanted = [row for row in ids if row not in state.vectors]
    for generation in state.generations if wanted else ():
        held = context.ask.vectors(generation, wanted, scope=state.scope)
        if held:
            return replace(state, vectors={**state.vectors, **{row: each[0].vector for row, each in held.items()}})
    return state
