"""The way of a question: parse, gather, fuse, weigh, read again, judge, fit."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from time import perf_counter

from recollect.embedders.contract import Embedder
from recollect.profile import Profile
from recollect.records import Fact, FactQuery, Filter, Memory, Scope, facts_by_memory
from recollect.replies import Hit, Mode, Reason, Reply, Request
from recollect.rerankers.contract import Reranker
from recollect.search.answerability import explain_nothing, judge
from recollect.search.diversify import vary
from recollect.search.fuse import combine
from recollect.search.gather import Gathered, gather
from recollect.search.hits import clamp, facet, facet_all, fit
from recollect.search.parse import Query, parse
from recollect.search.ranking import Candidate
from recollect.search.rerank import read_again
from recollect.search.retrieve import Desk, by_words
from recollect.search.smooth import beside_kin
from recollect.search.spelling import did_you_mean
from recollect.search.weigh import Subject, lean, mean_confidence, spans_in, weigh
from recollect.stores.contract import Store

NEAR_MISSES = 5
"""How many of those not shown are told to the recall log."""


def search(
    request: Request,
    *,
    store: Store,
    profile: Profile,
    now: datetime,
    embedder: Embedder | None = None,
    former: Callable[[], Embedder | None] = lambda: None,
    lens: Callable[[Memory, Sequence[Fact]], float] | None = None,
    reranker: Callable[[], Reranker | None] = lambda: None,
) -> Reply:
    """Answer *request* from *store* as *profile* ranks."""
    started = perf_counter()
    query = parse(request.text, now=now, where=request.where)
    scope = narrowed(request.scope, query)
    desk = Desk(
        store=store,
        scope=scope,
        where=query.where,
        embedder=embedder,
        in_context=profile.retrieve.context_vectors,
        former=former,
        lens=lens,
        typo_weight=profile.words.typo_weight,
    )
    browsing = query.is_blank and profile.blank == "browse"
    reply = _browse(request, desk, profile) if browsing else _find(request, query, desk, profile, now, reranker)
    return replace(reply, timings_ms={"total": round((perf_counter() - started) * 1000, 3)})


def _find(
    request: Request,
    query: Query,
    desk: Desk,
    profile: Profile,
    now: datetime,
    reranker: Callable[[], Reranker | None],
) -> Reply:
    limit = clamp(request.limit, profile)
    gathered = gather(request, query, desk, profile, depth=depth_for(limit, profile))
    candidates = combine(gathered.rankings, profile, mode=gathered.mode, query=query, alpha=request.alpha)
    candidates = beside_kin(candidates, gathered, desk, profile)
    memories = desk.store.load([each.id for each in candidates], scope=desk.scope)
    present = [each for each in candidates if each.id in memories]
    profile = as_asked(profile, request.mode)
    subjects = subjects_of(memories, desk, profile)
    weighed = weigh(present, subjects, profile=profile, now=now)
    weighed = lean(weighed, memories, spans_in(query.text, now=now), sway=profile.weigh.date_sway)
    kept = above(weighed, getattr(profile.floor, gathered.mode), relative_floor(query, gathered, profile))
    kept = sure(kept, subjects, least=profile.floor.confidence, now=now)
    read = read_again(weighed, kept, memories, query=query, gathered=gathered, rules=profile.rerank, reranker=reranker)
    weighed, kept = read.weighed, read.kept
    degraded = "reranker_failed" if read.failed else gathered.degraded
    reply = Reply(query=request.text, mode=request.mode, profile=profile.name, outcome="none", degraded=degraded)
    if request.facets:
        reply = replace(reply, facets=facet(gathered.tiers, desk))
    if not kept:
        reply = replace(reply, reason=_why_not(query, gathered, weighed, desk))
        return replace(reply, suggestions=_suggestions(request, query, gathered, desk))
    chosen = vary(kept, {row: memory.content for row, memory in memories.items()}, rules=profile.fit, limit=limit)
    model = "" if desk.embedder is None else desk.embedder.fingerprint
    outcome, evidence = judge(
        chosen, gathered.rankings, query=query, mode=gathered.mode, model=model, rules=profile.judge
    )
    reply = replace(reply, outcome=outcome, evidence=evidence)
    facts = _facts(chosen, subjects, desk) if request.include_facts else {}
    if outcome == "weak":
        reply = replace(reply, suggestions=_suggestions(request, query, gathered, desk))
    hits = fit(chosen, memories, gathered=gathered, facts=facts, now=now, snippets=request.snippets)
    shown = {each.id for each in chosen}
    missed = tuple((each.id, each.score) for each in weighed if each.id not in shown)[:NEAR_MISSES]
    return replace(reply, hits=hits, total=_total(gathered, kept, weighed), near_misses=missed)


def _suggestions(request: Request, query: Query, gathered: Gathered, desk: Desk) -> tuple[str, ...]:
    seen = gathered.ranking("words").document_frequencies
    return did_you_mean(request.text, query, seen=seen, store=desk.store, scope=desk.scope)


def as_asked(profile: Profile, mode: Mode) -> Profile:
    """Return *profile* without its factors, and the floor that goes with them, in a mode where they do not count."""
    if mode in profile.weigh.modes:
        return profile
    return replace(
        profile, weigh=replace(profile.weigh, factors=(), date_sway=0.0), floor=replace(profile.floor, confidence=0.0)
    )


def facts_of(rows: Sequence[int], desk: Desk) -> dict[int, tuple[Fact, ...]]:
    """Return what each of *rows* states."""
    query = FactQuery(memory_ids=tuple(rows), include_superseded=True)
    return facts_by_memory(desk.store.facts(query, scope=desk.scope))


def subjects_of(memories: Mapping[int, Memory], desk: Desk, profile: Profile) -> dict[int, Subject]:
    """Return what is weighed; facts are asked for only where a factor or a lens looks at them."""
    asked = desk.lens is not None or "fact_confidence" in profile.weigh.factors
    facts = facts_of(list(memories), desk) if asked else {}
    return {
        row: Subject(
            memory=memory,
            facts=facts.get(row, ()),
            lens=1.0 if desk.lens is None else desk.lens(memory, facts.get(row, ())),
        )
        for row, memory in memories.items()
    }


def sure(
    candidates: Sequence[Candidate], subjects: Mapping[int, Subject], *, least: float, now: datetime
) -> tuple[Candidate, ...]:
    """Return the candidates whose facts are still worth *least* on average."""
    if least <= 0:
        return tuple(candidates)
    return tuple(each for each in candidates if mean_confidence(subjects[each.id].facts, now) >= least)


def _facts(chosen: Sequence[Candidate], subjects: Mapping[int, Subject], desk: Desk) -> Mapping[int, tuple[Fact, ...]]:
    known = {each.id: subjects[each.id].facts for each in chosen if subjects[each.id].facts}
    return known or facts_of([each.id for each in chosen], desk)


def depth_for(limit: int, profile: Profile) -> int:
    """Return how many candidates each list brings: a fixed number, or a multiple of the limit where a seed says so."""
    return max(limit, limit * profile.retrieve.per_limit or profile.retrieve.depth)


def above(candidates: Sequence[Candidate], floor: float, relative: float) -> tuple[Candidate, ...]:
    """Return the candidates whose score reaches *floor*, and before the factors the share *relative* of the best."""
    best = max((each.fused for each in candidates), default=0.0)
    return tuple(each for each in candidates if each.score >= floor and each.fused >= relative * best)


def relative_floor(query: Query, gathered: Gathered, profile: Profile) -> float:
    """Return the share of the best score that a hit needs: it cuts the long tail of vectors, never a word's match."""
    return 0.0 if gathered.mode == "keyword" or query.tree is not None else profile.floor.relative


def _total(gathered: Gathered, kept: Sequence[Candidate], weighed: Sequence[Candidate]) -> int:
    """Return how many hits a long enough answer would have."""
    whole = gathered.mode == "keyword" and len(kept) == len(weighed)
    return max(gathered.ranking("words").total, len(kept)) if whole else len(kept)


def _why_not(query: Query, gathered: Gathered, dropped: Sequence[Candidate], desk: Desk) -> Reason:
    if query.asks_nothing:
        return Reason(code="blank_query", message="there is nothing to look for in this query")
    freely = replace(desk, where=Filter(include_superseded=True))
    unfiltered = by_words(gathered.tiers, freely, depth=1).total
    return explain_nothing(store=desk.store, scope=desk.scope, unfiltered=unfiltered, dropped=dropped)


def _browse(request: Request, desk: Desk, profile: Profile) -> Reply:
    """Answer a blank question: the newest memories that the filters admit."""
    page = desk.store.browse(scope=desk.scope, where=desk.where, limit=clamp(request.limit, profile))
    memories = desk.store.load(page.ids, scope=desk.scope)
    hits = tuple(
        Hit(rank=rank, memory=memory, score=0.0, match_type="browse", snippet=memory.content[:160])
        for rank, memory in enumerate(memories.values(), start=1)
    )
    reply = Reply(query=request.text, mode=request.mode, profile=profile.name, outcome="answered", hits=hits)
    if request.facets:
        reply = replace(reply, facets=facet_all(desk))
    if hits:
        return replace(reply, total=page.total)
    unfiltered = desk.store.browse(scope=desk.scope, where=Filter(include_superseded=True), limit=1).total
    reason = explain_nothing(store=desk.store, scope=desk.scope, unfiltered=unfiltered, dropped=())
    return replace(reply, outcome="none", reason=reason)


def narrowed(scope: Scope, query: Query) -> Scope:
    """Return *scope* with the projects that the query itself names."""
    if query.projects is None:
        return scope
    return Scope(projects=query.projects if scope.projects is None else scope.projects & query.projects)


__all__ = ["search"]
