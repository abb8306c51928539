"""Why a memory was or was not found: its rank in each list, what kept it out, and what would bring it in."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from recollect.embedders.contract import Embedder
from recollect.profile import Profile
from recollect.records import Filter
from recollect.replies import Request
from recollect.rerankers.contract import Reranker
from recollect.search import above, as_asked, depth_for, narrowed, relative_floor, subjects_of
from recollect.search.fuse import combine
from recollect.search.gather import Gathered, gather
from recollect.search.hits import clamp
from recollect.search.parse import parse
from recollect.search.ranking import Candidate
from recollect.search.rerank import read_again
from recollect.search.retrieve import Desk
from recollect.search.smooth import beside_kin
from recollect.search.weigh import lean, spans_in, weigh
from recollect.stores.contract import Store

DEEP = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a memory stands in one list."""

    ranking: str
    rank: int | None
    score: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """Whether a memory is in the answer, its standing in each list, what blocks it, the least change that helps."""

    id: int
    found: bool
    rank: int | None
    lists: tuple[Standing, ...]
    blocked_by: str | None = None
    surfaces_if: str | None = None
    score: float | None = None


def why(
    memory_id: int,
    request: Request,
    *,
    store: Store,
    profile: Profile,
    now: datetime,
    embedder: Embedder | None = None,
    reranker: Callable[[], Reranker | None] = lambda: None,
) -> Why:
    """Explain the place of *memory_id* in the answer to *request*."""
    query = parse(request.text, now=now, where=request.where)
    desk = Desk(
        store=store,
        scope=narrowed(request.scope, query),
        where=query.where,
        embedder=embedder,
        in_context=profile.retrieve.context_vectors,
        typo_weight=profile.words.typo_weight,
    )
    limit = clamp(request.limit, profile)
    usual = gather(request, query, desk, profile, depth=depth_for(limit, profile))
    shown = _ordered(usual, request, profile, desk, now)
    kept = above(shown, getattr(profile.floor, usual.mode), relative_floor(query, usual, profile))
    deep = gather(request, query, desk, profile, depth=DEEP)
    memories = store.load([each.id for each in kept], scope=desk.scope)
    read = read_again(shown, kept, memories, query=query, gathered=usual, rules=profile.rerank, reranker=reranker)
    place = next((rank for rank, each in enumerate(read.kept, start=1) if each.id == memory_id), None)
    mine = next((each for each in read.weighed if each.id == memory_id), None)
    lists = (*(_standing(deep, name, memory_id) for name in _names(deep)), *_second(mine))
    base = Why(
        id=memory_id,
        found=place is not None and place <= limit,
        rank=place,
        lists=tuple(each for each in lists if each.rank is not None or each.score is not None),
        score=None if mine is None else mine.score,
    )
    if base.found:
        return base
    mine = next((each for each in shown if each.id == memory_id), None)
    blocked, helps = _blocked(memory_id, base, mine, shown, desk, usual, profile=profile, limit=limit)
    return replace(base, blocked_by=blocked, surfaces_if=helps)


def _ordered(
    gathered: Gathered, request: Request, profile: Profile, desk: Desk, now: datetime
) -> tuple[Candidate, ...]:
    query = parse(request.text, now=now, where=request.where)
    candidates = combine(gathered.rankings, profile, mode=gathered.mode, query=query, alpha=request.alpha)
    candidates = beside_kin(candidates, gathered, desk, profile)
    memories = desk.store.load([each.id for each in candidates], scope=desk.scope)
    asked = as_asked(profile, request.mode)
    subjects = subjects_of(memories, desk, asked)
    weighed = weigh([each for each in candidates if each.id in memories], subjects, profile=asked, now=now)
    return lean(weighed, memories, spans_in(query.text, now=now), sway=asked.weigh.date_sway)


def _names(gathered: Gathered) -> tuple[str, ...]:
    return tuple(dict.fromkeys(("words", "vector", *(each.name for each in gathered.rankings))))


def _standing(gathered: Gathered, name: str, memory_id: int) -> Standing:
    ranking = gathered.ranking(name)
    for rank, entry in enumerate(ranking.found, start=1):
        if entry.id == memory_id:
            return Standing(ranking=name, rank=rank, score=entry.score)
    also = ranking.by_id.get(memory_id)
    return Standing(ranking=name, rank=None, score=None if also is None else also.score)


def _second(candidate: Candidate | None) -> tuple[Standing, ...]:
    """Return where a candidate stands among those that the reranker read, if it did."""
    shares = () if candidate is None else candidate.shares
    return tuple(
        Standing(ranking="rerank", rank=share.rank, score=share.native) for share in shares if share.ranking == "rerank"
    )


def _blocked(
    memory_id: int,
    standing: Why,
    mine: Candidate | None,
    shown: Sequence[Candidate],
    desk: Desk,
    gathered: Gathered,
    *,
    profile: Profile,
    limit: int,
) -> tuple[str, str]:
    """Return what keeps a memory out and the smallest change that would bring it in."""
    outside = _outside(memory_id, desk)
    if outside is not None:
        return outside
    if standing.rank is not None:
        return "limit", f"limit is at least {standing.rank} (it is {limit})"
    if mine is not None:
        floor = max(getattr(profile.floor, gathered.mode), profile.floor.relative * shown[0].score)
        return "floor", f"the floor is at most {mine.score:.4g} (it is {floor:.4g})"
    ranks = [each.rank for each in standing.lists if each.rank is not None]
    if ranks:
        return "depth", f"each list brings at least {min(ranks)} candidates"
    return "no_match", "the query holds one of its words, or it has a vector and the mode asks for meaning"


def _outside(memory_id: int, desk: Desk) -> tuple[str, str] | None:
    """Return the reason why a memory is not among those searched at all, if it is not."""
    found = desk.store.load([memory_id], scope=desk.scope).get(memory_id)
    if found is None:
        return "scope", "its project is searched"
    if found.deleted_at is not None:
        return "forgotten", f"it is restored: recollect restore {memory_id}"
    if found.superseded_by is not None and not desk.where.include_superseded:
        return "superseded", f"superseded memories are included; #{found.superseded_by} took its place"
    if not _admitted(memory_id, desk):
        return "filter", "the filters are loosened"
    return None


def _admitted(memory_id: int, desk: Desk) -> bool:
    wide = replace(desk.where, include_superseded=True)
    if wide == Filter(include_superseded=True):
        return True
    page = desk.store.browse(scope=desk.scope, where=wide, limit=DEEP)
    return memory_id in page.ids
