"""Questions to the store: a list of candidates by words, a list by meaning, each with scores of its own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from recollect.embedders.contract import Embedder
from recollect.profile import Retrieve
from recollect.records import AnyOf, Fact, Filter, Memory, Scope, SubstringQuery, VectorHits, WordHits, WordQuery
from recollect.search.build_query import Tier
from recollect.search.fuse import NORMALISERS
from recollect.search.parse import Query
from recollect.search.ranking import Ranking
from recollect.search.spelling import mended, tolerate, vocabulary_of
from recollect.stores.contract import Store
from recollect.vectors import mix, pack


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Where a search asks: the store, what the reader may see, and who turns words into meaning."""

    store: Store
    scope: Scope
    where: Filter
    embedder: Embedder | None = None
    in_context: bool = False
    lens: Callable[[Memory, Sequence[Fact]], float] | None = None
    """What the lens in use makes of a memory and its facts."""
    former: Callable[[], Embedder | None] = lambda: None
    """Finds the model before this one, whose vectors serve for what the new one has not reached."""
    typo_weight: float = 0.0
    """What a word near to one that no memory holds counts; 0 asks for words as they are typed."""


def by_words(
    tiers: Sequence[Tier], desk: Desk, *, depth: int, score_ids: Sequence[int] = (), query: Query | None = None
) -> Ranking:
    """Return what the first tier with any match finds; words of *query* that no memory holds may be mistyped."""
    ranking = Ranking(name="words", found=())
    asked: list[Tier] = []
    for tier in tiers:
        ranking = _ask(tier, desk, depth=depth, score_ids=score_ids, query=query)
        asked += ranking.asked
        if ranking.found:
            break
    return replace(ranking, asked=(*asked, *tiers[len(asked) :]))


def _ask(tier: Tier, desk: Desk, *, depth: int, score_ids: Sequence[int], query: Query | None) -> Ranking:
    match tier:
        case WordQuery():
            matches = desk.store.match_words(tier, scope=desk.scope, where=desk.where, limit=depth, score_ids=score_ids)
            asked = tier if query is None else _tolerant(tier, query, matches, desk)
            if asked is not tier:
                matches = desk.store.match_words(
                    asked, scope=desk.scope, where=desk.where, limit=depth, score_ids=score_ids
                )
            return Ranking(
                name="words",
                asked=(asked,),
                document_frequencies=matches.document_frequencies,
                found=matches.top,
                by_id=matches.by_id,
                total=matches.total,
                code_share=matches.code_share,
            )
        case SubstringQuery():
            found = desk.store.match_words(tier, scope=desk.scope, where=desk.where, limit=depth).top
            return Ranking(name="words", kind="text", found=found, total=len(found), asked=(tier,))


def _tolerant(keywords: WordQuery, query: Query, matches: WordHits, desk: Desk) -> WordQuery:
    return tolerate(
        keywords,
        query,
        matches.document_frequencies,
        weight=desk.typo_weight,
        words=lambda: vocabulary_of(desk.store, desk.scope),
    )


def mend(query: Query, words: Ranking, desk: Desk) -> str:
    """Return the question as it was probably meant, where *words* tells that some of its words are unknown."""
    if desk.typo_weight <= 0:
        return query.text
    return mended(
        query.text, query, seen=words.document_frequencies, words=lambda: vocabulary_of(desk.store, desk.scope)
    )


def by_meaning(
    text: str, desk: Desk, *, depth: int, least: float, score_ids: Sequence[int] = (), meant: str = ""
) -> Ranking:
    """Return the memories nearest in meaning to *text*, of both generations while a new one fills.

    What was probably *meant* by it counts beside it, as words near to an unknown one do.
    """
    if desk.embedder is None:
        return Ranking(name="vector", found=())
    texts = {text: 1.0} if meant in ("", text) else {text: 1.0 - desk.typo_weight, meant: desk.typo_weight}
    nears = _nearest(texts, desk.embedder, desk, depth=depth, score_ids=score_ids, unless=None)
    former = desk.former() if nears.missing else None
    if former is not None:
        unless = desk.embedder.fingerprint
        nears = _joined(nears, _nearest(texts, former, desk, depth=depth, score_ids=score_ids, unless=unless))
    ordered = sorted(nears.top, key=lambda near: (-near.score, near.id))[:depth]
    return Ranking(
        name="vector",
        found=tuple(near for near in ordered if near.score >= least),
        by_id=nears.by_id,
        total=nears.total,
        missing=nears.missing,
    )


def _nearest(
    texts: Mapping[str, float],
    embedder: Embedder,
    desk: Desk,
    *,
    depth: int,
    score_ids: Sequence[int],
    unless: str | None,
) -> VectorHits:
    vectors = embedder.embed_queries(list(texts))
    return desk.store.nearest(
        embedder.fingerprint,
        pack(vectors[0] if len(vectors) == 1 else mix(vectors, list(texts.values()))),
        scope=desk.scope,
        where=desk.where,
        limit=depth,
        score_ids=score_ids,
        exclude_generation=unless,
        in_context=desk.in_context,
    )


def _joined(new: VectorHits, old: VectorHits) -> VectorHits:
    return VectorHits(
        top=(*new.top, *old.top),
        by_id={**old.by_id, **new.by_id},
        total=new.total + old.total,
        missing=old.missing,
    )


def is_strong(ranking: Ranking, rules: Retrieve, normaliser: str) -> bool:
    """Return whether the words alone are so sure that the rest may be skipped: a high score, far ahead."""
    top, gap = rules.short_circuit
    if top <= 0 or not ranking.found:
        return False
    scores = NORMALISERS[normaliser]([entry.score for entry in ranking.found[:2]])
    return scores[0] >= top and (len(scores) == 1 or scores[0] - scores[1] >= gap)


def unwanted(query: Query, desk: Desk, rows: Sequence[int], weights: WordQuery) -> set[int]:
    """Return those of *rows* that hold what the query excludes."""
    if not query.unwanted or not rows:
        return set()
    expression = AnyOf(parts=query.unwanted)
    asked = WordQuery(expression=expression, weights=weights.weights, k1=weights.k1, b=weights.b)
    return set(desk.store.match_words(asked, scope=desk.scope, where=desk.where, limit=1, score_ids=rows).by_id)
