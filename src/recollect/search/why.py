"""Why a memory was or was not found: its rank in each ranking, what dropped it, and what would show it.

It runs the stages of the search itself and reads the explanation from their states.
"""

from typing import ClassVar, Final

from msgspec import Struct
from msgspec.structs import replace

from recollect.records import AnyOf, Filter, Scope
from recollect.replies import Request
from recollect.search.build_query import word_query
from recollect.search.candidates import Candidate, Drop
from recollect.search.diversify import diversify
from recollect.search.parse import parse
from recollect.search.pipeline import Pipeline, as_asked, prepare
from recollect.search.state import SearchContext, State

DEEP: Final = 100_000
"""Candidates per ranking while a rank is searched for."""


class ListRank(Struct, frozen=True, kw_only=True):
    """The rank of a memory in one ranking."""

    ranking: str
    rank: int | None
    score: float | None


class Why(Struct, frozen=True, kw_only=True):
    """Whether a memory is in the answer, its rank in each ranking, what blocks it, and the smallest fix."""

    json_members: ClassVar[str] = "id found rank score lists blocked_by surfaces_if"

    id: int
    found: bool
    rank: int | None
    lists: tuple[ListRank, ...]
    blocked_by: str | None = None
    surfaces_if: str | None = None
    score: float | None = None


def why(memory_id: int, request: Request, context: SearchContext) -> Why:
    """Explain the place of *memory_id* in the answer to *request*."""
    pipeline, state, watched = prepare(request, context)
    states = dict(pipeline.trace(state, watched))
    final = states["reason"]
    mine = next((each for each in final.candidates if each.id == memory_id), None)
    rank = next((hit.rank for hit in final.hits if hit.id == memory_id), None)
    lists = (*_lists(memory_id, request, watched), *_reranked(mine))
    told = Why(id=memory_id, found=rank is not None, rank=rank, lists=lists, score=None if mine is None else mine.score)
    if told.found:
        return told
    if mine is not None and mine.drop is not None:
        weighed = next(each for each in states.get("floor", final).candidates if each.id == memory_id)
        helps = mine.drop.surfaces_if.format(score=weighed.score, fused=weighed.fused)
        before = states.get("mmr", states["rerank"])
        return _dropped(told, replace(mine.drop, surfaces_if=helps), before, request, context)
    blocked, helps = _missing(told, final, request, watched)
    return replace(told, blocked_by=blocked, surfaces_if=helps)


def _lists(memory_id: int, request: Request, context: SearchContext) -> tuple[ListRank, ...]:
    """Return the rank of a memory in each ranking, however deep."""
    of = replace(context.profile.retrieve, depth=DEEP, depth_per_limit=0, min_similarity=-1.0, cross_score=False)
    deep = replace(context, profile=replace(context.profile, retrieve=of))
    pipeline, state, _ = prepare(replace(request, min_similarity=None), deep)
    asking = Pipeline(stages=tuple(stage for stage in pipeline.stages if stage.name in _ASKING))
    places = ((each.name, *each.find(memory_id)) for each in asking.run(state, deep).rankings)
    return tuple(ListRank(ranking=name, rank=rank, score=hit.score) for name, rank, hit in places if hit is not None)


_ASKING: Final = ("build_query", "retrieve", "expand")


def _reranked(candidate: Candidate | None) -> tuple[ListRank, ...]:
    """Return the rank that the reranker gave a candidate, if it read it."""
    shares = () if candidate is None else candidate.shares
    return tuple(
        ListRank(ranking="rerank", rank=share.rank, score=share.native) for share in shares if share.ranking == "rerank"
    )


def _dropped(told: Why, drop: Drop, before: State, request: Request, context: SearchContext) -> Why:
    """Explain why a stage dropped a candidate; beyond the limit, which rank it would have."""
    if drop.code == "limit":
        asked, longer = as_asked(context.profile, request), before
        if asked.diversify is not None:
            longer = diversify(before, context, rules=asked.diversify, limit=len(before.candidates))
        rank = next((at for at, each in enumerate(longer.kept, start=1) if each.id == told.id), None)
        repeat = next((each.drop for each in longer.candidates if each.id == told.id and each.drop), None)
        drop = repeat or Drop(code="limit", surfaces_if=f"limit is at least {rank} (it is {asked.limit})")
        told = replace(told, rank=rank)
    return replace(told, blocked_by=drop.code, surfaces_if=drop.surfaces_if)


def _missing(told: Why, final: State, request: Request, context: SearchContext) -> tuple[str, str]:
    """Return why a memory is not even a candidate, and the smallest change that would make it one."""
    outside = _outside(told.id, final.scope, final.where, context)
    if outside is not None:
        query = parse(request.text, now=context.now, where=request.where)
        own = _outside(told.id, query.narrow(request.scope), query.where, context)
        return own or ("lens", f"it is not looked at through the lens {request.lens}")
    if final.browsing:
        return "limit", f"the limit is higher than {len(final.hits)}"
    if any(hit.id == told.id for ranking in final.rankings for hit in ranking.hits):
        return "weight", "the list that found it weighs more than 0"
    if _excluded(told.id, final, context):
        return "excluded", "the query does not exclude one of its words"
    return _unranked(told, least=as_asked(context.profile, request).retrieve.min_similarity)


def _unranked(told: Why, *, least: float) -> tuple[str, str]:
    """Return why no ranking contains a memory: not similar enough, too deep, or no match."""
    far = [each.score for each in told.lists if each.ranking == "vector" and each.score is not None]
    if far and far[0] < least:
        return "similarity", f"min_similarity is at most {far[0]:.4g} (it is {least:.4g})"
    ranks = [each.rank for each in told.lists if each.rank is not None]
    if ranks:
        return "depth", f"each list brings at least {min(ranks)} candidates"
    return "no_match", "the query holds one of its words, or it has a vector and the mode asks for meaning"


def _excluded(memory_id: int, final: State, context: SearchContext) -> bool:
    if not final.query.unwanted:
        return False
    asked = word_query(AnyOf(parts=final.query.unwanted), context.profile.words)
    found = context.ask.match_words(asked, scope=final.scope, where=final.where, limit=1, score_ids=[memory_id])
    return memory_id in found.by_id


def _outside(memory_id: int, scope: Scope, where: Filter, context: SearchContext) -> tuple[str, str] | None:
    """Return why a memory is not among those searched, if it is not."""
    found = context.ask.load([memory_id], scope=scope).get(memory_id)
    if found is None:
        return "scope", "its project is searched"
    if found.deleted_at is not None and where.as_of is None:
        return "forgotten", f"it is restored: recollect restore {memory_id}"
    if found.superseded_by is not None and not where.include_superseded and where.as_of is None:
        return "superseded", f"superseded memories are included; #{found.superseded_by} took its place"
    wide = replace(where, include_superseded=True)
    if wide == Filter(include_superseded=True):
        return None
    admitted = context.ask.browse(scope=scope, where=wide, limit=1, among=[memory_id], count=False).ids
    return None if memory_id in admitted else ("filter", "the filters are loosened")
