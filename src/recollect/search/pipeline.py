"""The stages of a search as one value: a search, `why`, tuning and evaluation all run the same list.

A stage takes the state of the search and returns the next one. Stages that ask the store or a model get the context as
well; all others are pure. The profile lists the stages and their settings; the request overrides some of them.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from recollect.profile import Floor, Fuse, Profile, ReciprocalRanks, Weigh
from recollect.replies import Request
from recollect.search.answerability import explain_nothing, judge
from recollect.search.build_query import build_query, drop_dates
from recollect.search.changes import compare_changes, include_superseded
from recollect.search.dialogue import lift_replies
from recollect.search.diversify import apply_limit, diversify
from recollect.search.expand import expand
from recollect.search.fuse import fuse
from recollect.search.hits import browse, build_hits, count_facets, load_facts, load_shown, mark_conflicts
from recollect.search.languages import add_languages
from recollect.search.limits import limit_of
from recollect.search.mmr import diversify_by_mmr
from recollect.search.parse import Query, parse
from recollect.search.periods import read_period
from recollect.search.precise import keep_answers
from recollect.search.rerank import rerank
from recollect.search.retrieve import load_vectors, retrieve
from recollect.search.smooth import smooth
from recollect.search.spelling import suggest
from recollect.search.state import SearchContext, State, Watch
from recollect.search.texts import load
from recollect.search.weigh import apply_floor, boost_dates, weigh

S = TypeVar("S", bound=Struct)
NO_FLOOR: Final = Floor()


class Stage(Struct, frozen=True, kw_only=True):
    """One step of a search; the result of a pure one follows from the state and its settings alone."""

    name: str
    step: Callable[..., State]
    asks: bool = False
    """Whether it asks the store or a model."""
    ranks: bool = False
    """Whether it is left out once memories are listed without ranking."""

    def run(self, state: State, context: SearchContext) -> State:
        """Return the next state."""
        return self.step(state, context) if self.asks else self.step(state)


class Pipeline(Struct, frozen=True, kw_only=True):
    """The stages of one search, in order."""

    stages: tuple[Stage, ...]

    def trace(self, state: State, context: SearchContext) -> Iterator[tuple[str, State]]:
        """Yield the name of each stage and the state after it; raise if the search is cancelled or out of time."""
        for stage in self.stages:
            if stage.ranks and state.browsing:
                continue
            context.watch.check()
            state = stage.run(state, context)
            yield stage.name, state

    def run(self, state: State, context: SearchContext) -> State:
        """Return the last state."""
        for _, known in self.trace(state, context):
            state = known
        return state


def build_pipeline(profile: Profile, request: Request, query: Query) -> Pipeline:
    """Return the stages that answer *request* as *profile* ranks."""
    asked = as_asked(profile, request)
    if query.is_blank and request.embedding is None and profile.blank == "browse":
        finding: tuple[Stage | None, ...] = (_asking("browse", browse, limit=asked.limit),)
    else:
        ranking = (*_retrieval(asked), *_ranking(asked, request), *_judgement(asked, request))
        listing = None if asked.period is None else _asking("period", read_period, limit=asked.limit)
        finding = (listing, *map(_ranking_only, ranking))
    stages = (
        *finding,
        _asking("conflicts", mark_conflicts, limit=asked.limit),
        _asking("facets", count_facets) if request.facets else None,
        None if len(finding) == 1 else _ranking_only(_asking("suggest", suggest)),
        _asking("reason", explain_nothing),
    )
    return Pipeline(stages=tuple(stage for stage in stages if stage is not None))


def _retrieval(asked: Profile) -> tuple[Stage | None, ...]:
    return (
        None if asked.drop_dates is None else _asking("drop_dates", drop_dates),
        _asking("languages", add_languages),
        _pure("build_query", build_query, rules=asked.words),
        _asking("retrieve", retrieve, profile=asked),
        _asking("expand", expand, rules=asked.expand, profile=asked),
    )


def _ranking(asked: Profile, request: Request) -> tuple[Stage | None, ...]:
    replies = 0.0 if asked.dialogue is None else asked.dialogue.min_informativeness
    return (
        _pure("fuse", fuse, rules=asked.fuse),
        _asking("vectors", load_vectors, rules=asked.smooth),
        _pure("smooth", smooth, rules=asked.smooth),
        _asking("load", load, profile=asked),
        _asking("facts", load_facts) if _weighs_facts(asked, request) else None,
        _pure("replies", lift_replies, rules=asked.dialogue),
        _pure("weigh", weigh, rules=asked.weigh, replies=replies),
        _pure("date_boost", boost_dates, rules=asked.date_boost),
        _asking("changes", compare_changes, rules=asked.changes, shown=asked.limit),
        _pure("floor", apply_floor, rules=asked.floor),
        _asking("rerank", rerank),
        None if asked.mmr is None else _asking("mmr", diversify_by_mmr, limit=asked.limit),
        _asking("diversify", diversify, rules=asked.diversify, limit=asked.limit),
        _asking("limit", apply_limit, limit=asked.limit),
    )


def _judgement(asked: Profile, request: Request) -> tuple[Stage | None, ...]:
    precise = asked.precise if request.precise else None
    return (
        _asking("memories", load_shown, pool=0 if precise is None else precise.top_k),
        None if _weighs_facts(asked, request) else _asking("facts", load_facts),  # of the shown hits only
        _pure("answerability", judge, rules=asked.answerability),
        _pure("precise", keep_answers, rules=precise),
        _pure("hits", build_hits),
    )


def _ranking_only(stage: Stage | None) -> Stage | None:
    return None if stage is None else replace(stage, ranks=True)


def _weighs_facts(asked: Profile, request: Request) -> bool:
    """Return whether ranking reads the facts of every candidate."""
    by_floor = asked.floor is not None and asked.floor.min_confidence > 0
    return by_floor or "fact_confidence" in asked.weigh.factors or request.lens is not None


def _asking(name: str, step: Callable[..., State], **settings: Any) -> Stage | None:
    return _stage(name, step, asks=True, **settings)


def _pure(name: str, step: Callable[..., State], **settings: Any) -> Stage | None:
    return _stage(name, step, asks=False, **settings)


def _stage(name: str, step: Callable[..., State], *, asks: bool, **settings: Any) -> Stage | None:
    """Return a stage with its *settings*; None if its rules are None, because the profile does not list it."""
    if "rules" in settings and settings["rules"] is None:
        return None
    return Stage(name=name, step=partial(step, **settings) if settings else step, asks=asks)


def as_asked(profile: Profile, request: Request) -> Profile:
    """Return *profile* with the overrides of *request*; the only place where a request overrides a profile."""
    score = request.min_score
    floors = {"min_confidence": request.min_confidence, "keyword": score, "semantic": score, "hybrid": score}
    floor = _set(profile.floor or NO_FLOOR, **floors)
    asked: dict[str, Any] = {
        "limit": limit_of(profile, request.limit, usual=profile.limit),
        "retrieve": _set(profile.retrieve, min_similarity=request.min_similarity),
        "fuse": _fusing(profile.fuse, request),
        "weigh": _weighing(profile.weigh, request),
        "date_boost": profile.date_boost if request.asked_mode in profile.weigh.modes else None,
        "floor": None if floor is NO_FLOOR else floor,
        "short_circuit": profile.short_circuit if request.intent is None else None,
    }
    changed = {name: value for name, value in asked.items() if value is not getattr(profile, name)}
    return replace(profile, **changed) if changed else profile  # most requests override nothing


def _set(settings: S, **given: Any) -> S:
    """Return *settings* with the values of *given* that are not None."""
    changed = {name: value for name, value in given.items() if value is not None}
    return replace(settings, **changed) if changed else settings


def _fusing(rules: Fuse, request: Request) -> Fuse:
    """Return *rules* with the weights and the k of the request; such weights depend on nothing else."""
    alpha = {} if request.alpha is None else {"words": 1.0 - request.alpha, "vector": request.alpha}
    weights = {**alpha, **(request.weights or {})}
    if isinstance(rules, ReciprocalRanks):
        rules = _set(rules, k=request.rrf_k)
        plain: dict[str, Any] = {"list_weights": (), "short_weights": {}, "long_weights": {}}
    else:
        plain = {"code_weights": {}}
    return replace(rules, weights={**rules.weights, **weights}, **plain) if weights else rules


def _weighing(rules: Weigh, request: Request) -> Weigh:
    """Return *rules* without factors in a mode where they do not count, and with recency if the request asks for it."""
    if request.asked_mode not in rules.modes:
        rules = replace(rules, factors=())
    if request.recency_weight is None:
        return rules
    factors = rules.factors if "recency" in rules.factors else (*rules.factors, "recency")
    return replace(rules, factors=factors, recency_weight=request.recency_weight)


def prepare(request: Request, context: SearchContext) -> tuple[Pipeline, State, SearchContext]:
    """Return the stages for *request*, the first state, and the context with the request's time limit."""
    seen, boost = context.look_through(request)
    query = parse(seen.text, now=context.now, where=seen.where)
    if context.profile.changes is not None:
        query = include_superseded(query, context.now)
    state = State(request=seen, query=query, scope=query.narrow(seen.scope), now=context.now, boost=boost)
    return build_pipeline(context.profile, seen, query), state, replace(context, watch=Watch.over(seen))
