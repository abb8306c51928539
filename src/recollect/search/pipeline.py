"""The stages of a search as one value: the same list is run by a search, by `why`, by tuning and by evaluation.

A stage takes what the search knows and returns what it knows then. Stages that ask the store or a model get the
context as well; all the others are pure. The settings of a stage are sections of the profile, with what the request
sets for itself.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, is_dataclass, replace
from functools import partial
from typing import Any

from recollect.profile import Profile
from recollect.replies import Request
from recollect.search.answerability import explain_nothing, judge
from recollect.search.build_query import build_query
from recollect.search.diversify import diversify
from recollect.search.expand import expand
from recollect.search.fuse import fuse
from recollect.search.hits import browse, build_hits, count_facets, load
from recollect.search.parse import Query, parse
from recollect.search.rerank import rerank
from recollect.search.retrieve import retrieve
from recollect.search.smooth import smooth
from recollect.search.spelling import suggest
from recollect.search.state import SearchContext, State, Watch
from recollect.search.weigh import apply_floor, weigh


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A pure step: what it makes of the state follows from the state and its settings."""

    name: str
    step: Callable[[State], State]

    def run(self, state: State, _: SearchContext) -> State:
        """Return what is known after it."""
        return self.step(state)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingStage:
    """A step that asks the store or a model."""

    name: str
    step: Callable[[State, SearchContext], State]

    def run(self, state: State, context: SearchContext) -> State:
        """Return what is known after it."""
        return self.step(state, context)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """The stages of one search, in order."""

    stages: tuple[Stage | AskingStage, ...]

    def trace(self, state: State, context: SearchContext) -> Iterator[tuple[str, State]]:
        """Yield the name of each stage and what is known after it, unless the search is to be given up."""
        for stage in self.stages:
            context.watch.check()
            state = stage.run(state, context)
            yield stage.name, state

    def run(self, state: State, context: SearchContext) -> State:
        """Return what is known in the end."""
        for _, known in self.trace(state, context):
            state = known
        return state

    def describe(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the settings of each stage, by its name, in order."""
        return {
            stage.name: {name: asdict(each) if is_dataclass(each) else each for name, each in _settings(stage).items()}
            for stage in self.stages
        }


def _settings(stage: Stage | AskingStage) -> Mapping[str, Any]:
    return stage.step.keywords if isinstance(stage.step, partial) else {}


def build_pipeline(profile: Profile, request: Request, query: Query) -> Pipeline:
    """Return the stages that answer *request* as *profile* ranks."""
    asked = as_asked(profile, request)
    facets = (AskingStage(name="facets", step=count_facets),) if request.facets else ()
    reason = AskingStage(name="reason", step=explain_nothing)
    if query.is_blank and request.embedding is None and profile.blank == "browse":
        return Pipeline(stages=(AskingStage(name="browse", step=partial(browse, limit=asked.limit)), *facets, reason))
    asking = partial(
        retrieve,
        rules=asked.retrieve,
        words=asked.words,
        expand=asked.expand,
        fuse=asked.fuse,
        smoothing=asked.smooth.weight > 0,
        depth=depth_of(asked),
    )
    return Pipeline(
        stages=(
            Stage(name="build_query", step=partial(build_query, words=asked.words)),
            Stage(name="expand", step=partial(expand, rules=asked.expand, words=asked.words)),
            AskingStage(name="retrieve", step=asking),
            Stage(name="fuse", step=partial(fuse, rules=asked.fuse, fallback=asked.retrieve.fallback)),
            Stage(name="smooth", step=partial(smooth, rules=asked.smooth)),
            AskingStage(name="load", step=partial(load, usage="importance" in asked.weigh.factors)),
            Stage(name="weigh", step=partial(weigh, rules=asked.weigh)),
            Stage(name="floor", step=partial(apply_floor, rules=asked.floor)),
            AskingStage(name="rerank", step=partial(rerank, rules=asked.rerank)),
            Stage(name="diversify", step=partial(diversify, rules=asked.diversify, limit=asked.limit)),
            Stage(name="answerability", step=partial(judge, rules=asked.answerability)),
            Stage(name="hits", step=build_hits),
            *facets,
            AskingStage(name="suggest", step=suggest),
            reason,
        )
    )


def depth_of(profile: Profile) -> int:
    """Return how many candidates each list brings: a fixed number, or a multiple of the limit where a seed says so."""
    return max(profile.limit, profile.limit * profile.retrieve.depth_per_limit or profile.retrieve.depth)


def as_asked(profile: Profile, request: Request) -> Profile:
    """Return *profile* with what *request* sets for itself; the one place where a request overrides a profile."""
    limit, retrieve_, fuse_ = profile.limit, profile.retrieve, profile.fuse
    weigh_, floor = profile.weigh, profile.floor
    if request.limit is not None and request.limit > 0:
        limit = min(request.limit, profile.max_limit)
    weights = dict(request.weights or {})
    if request.alpha is not None:
        weights = {"words": 1.0 - request.alpha, "vector": request.alpha, **weights}
    if weights:
        given = {**fuse_.weights, **weights}
        fuse_ = replace(fuse_, weights=given, list_weights=(), adaptive=(), code_weights={})
    if request.rrf_k is not None:
        fuse_ = replace(fuse_, k=request.rrf_k)
    if request.min_similarity is not None:
        retrieve_ = replace(retrieve_, min_similarity=request.min_similarity)
    if request.intent is not None:  # who says what they are after is searched for further
        retrieve_ = replace(retrieve_, short_circuit=(0.0, 0.0))
    if request.asked_mode not in weigh_.modes:
        weigh_ = replace(weigh_, factors=(), date_boost=0.0)
    if request.recency_weight is not None:
        factors = weigh_.factors if "recency" in weigh_.factors else (*weigh_.factors, "recency")
        weigh_ = replace(weigh_, factors=factors, recency_weight=request.recency_weight)
    if request.min_confidence is not None:
        floor = replace(floor, min_confidence=request.min_confidence)
    if request.min_score is not None:
        floor = replace(floor, keyword=request.min_score, semantic=request.min_score, hybrid=request.min_score)
    return replace(profile, limit=limit, retrieve=retrieve_, fuse=fuse_, weigh=weigh_, floor=floor)


def prepare(request: Request, context: SearchContext) -> tuple[Pipeline, State, SearchContext]:
    """Return the stages for *request*, what is known before the first of them, and the context on the clock."""
    seen, boost = context.look_through(request)
    query = parse(seen.text, now=context.now, where=seen.where)
    state = State(request=seen, query=query, scope=query.narrow(seen.scope), now=context.now, boost=boost)
    return build_pipeline(context.profile, seen, query), state, replace(context, watch=Watch.over(seen))
