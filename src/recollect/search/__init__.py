"""The way of a question: parse, retrieve, fuse, weigh, judge, fit."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from time import perf_counter

from recollect.profile import Profile
from recollect.records import Scope, Where
from recollect.replies import Hit, Reason, Reply, Request
from recollect.search.ask import Tier, ask
from recollect.search.fit import clamp, fit
from recollect.search.fuse import order_alone
from recollect.search.judge import explain_nothing, judge
from recollect.search.parse import Query, parse
from recollect.search.ranking import Candidate
from recollect.search.retrieve import retrieve_words
from recollect.search.weigh import weigh
from recollect.stores.contract import Store


def search(request: Request, *, store: Store, profile: Profile, now: datetime) -> Reply:
    """Answer *request* from *store* as *profile* ranks."""
    started = perf_counter()
    query = parse(request.text, now=now, where=request.where)
    scope = _narrowed(request.scope, query)
    if query.is_blank and profile.blank == "browse":
        return _timed(_browse(request, query, scope, store=store, profile=profile), started)
    return _timed(_find(request, query, scope, store=store, profile=profile, now=now), started)


def _find(request: Request, query: Query, scope: Scope, *, store: Store, profile: Profile, now: datetime) -> Reply:
    limit = clamp(request.limit, profile)
    tiers = ask(query, profile.words)
    depth = max(limit, limit * profile.retrieve.per_limit or profile.retrieve.depth)
    words = retrieve_words(tiers, store=store, scope=scope, where=query.where, depth=depth)
    candidates = order_alone(words, profile.fuse)
    memories = store.load([each.id for each in candidates], scope=scope)
    weighed = weigh(candidates, memories, profile=profile, now=now)
    kept = above(weighed, profile.floor.keyword, profile.floor.relative)
    reply = Reply(query=request.text, mode=request.mode, profile=profile.name, outcome="none", degraded="no_model")
    if not kept:
        reason = _why_not(query, tiers, weighed, store=store, scope=scope)
        return replace(reply, reason=reason)
    outcome = judge(kept[0], [words], mode="keyword", bars=profile.judge)
    hits = fit(kept[:limit], memories, tiers=tiers)
    return replace(reply, outcome=outcome, hits=hits, total=words.total)


def above(candidates: Sequence[Candidate], floor: float, relative: float) -> tuple[Candidate, ...]:
    """Return the candidates that reach *floor* and the share *relative* of the best."""
    best = candidates[0].score if candidates else 0.0
    return tuple(each for each in candidates if each.score >= floor and each.score >= relative * best)


def _why_not(
    query: Query, tiers: Sequence[Tier], dropped: Sequence[Candidate], *, store: Store, scope: Scope
) -> Reason:
    if query.asks_nothing:
        return Reason(code="blank_query", message="there is nothing to look for in this query")
    open_to_all = Where(include_superseded=True)
    freely = retrieve_words(tiers, store=store, scope=scope, where=open_to_all, depth=1)
    return explain_nothing(store=store, scope=scope, unfiltered=freely.total, dropped=dropped)


def _browse(request: Request, query: Query, scope: Scope, *, store: Store, profile: Profile) -> Reply:
    """Answer a blank question: the newest memories that the filters admit."""
    page = store.browse(scope=scope, where=query.where, limit=clamp(request.limit, profile))
    memories = store.load(page.ids, scope=scope)
    hits = tuple(
        Hit(rank=rank, memory=memory, score=0.0, match_type="browse", snippet=memory.content[:160])
        for rank, memory in enumerate(memories.values(), start=1)
    )
    reply = Reply(query=request.text, mode=request.mode, profile=profile.name, outcome="answered", hits=hits)
    if hits:
        return replace(reply, total=page.total)
    unfiltered = store.browse(scope=scope, where=Where(include_superseded=True), limit=1).total
    reason = explain_nothing(store=store, scope=scope, unfiltered=unfiltered, dropped=())
    return replace(reply, outcome="none", reason=reason)


def _narrowed(scope: Scope, query: Query) -> Scope:
    if query.projects is None:
        return scope
    return Scope(projects=query.projects if scope.projects is None else scope.projects & query.projects)


def _timed(reply: Reply, started: float) -> Reply:
    return replace(reply, timings_ms={"total": round((perf_counter() - started) * 1000, 3)})


__all__ = ["search"]
