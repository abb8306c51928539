"""The stages of a search as one value: the same list is run by a search, by `why`, by tuning and by evaluation.

A stage takes what the search knows and returns what it knows then. Stages that ask the store or a model get the
context as well; all the others are pure. The settings of a stage are sections of the profile, with what the request
sets for itself.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import asdict, replace

from recollect.profile import Floor, Fuse, Profile, Retrieve, Weigh
from recollect.replies import Request
from recollect.search.answerability import explain_nothing, judge
from recollect.search.build_query import build_query, drop_dates
from recollect.search.changes import compare_changes, reaching_back
from recollect.search.dialogue import lift_replies
from recollect.search.diversify import diversify
from recollect.search.expand import expand
from recollect.search.fuse import fuse
from recollect.search.hits import browse, build_hits, count_facets, load_facts, load_shown, mark_conflicts
from recollect.search.languages import add_languages
from recollect.search.limits import limit_of
from recollect.search.parse import Query, parse
from recollect.search.precise import keep_answers
from recollect.search.rerank import rerank
from recollect.search.retrieve import load_vectors, retrieve
from recollect.search.smooth import smooth
from recollect.search.spelling import suggest
from recollect.search.state import SearchContext, State, Watch
from recollect.search.texts import load
from recollect.search.weigh import apply_floor, weigh

S = TypeVar("S", Retrieve, Fuse, Floor)


class Stage(Struct, frozen=True, kw_only=True):
    """A pure step: what it makes of the state follows from the state and its settings."""

    name: str
    step: Callable[[State], State]

    def run(self, state: State, _: SearchContext) -> State:
        """Return what is known after it."""
        return self.step(state)


class AskingStage(Struct, frozen=True, kw_only=True):
    """A step that asks the store or a model."""

    name: str
    step: Callable[[State, SearchContext], State]

    def run(self, state: State, context: SearchContext) -> State:
        """Return what is known after it."""
        return self.step(state, context)


class Pipeline(Struct, frozen=True, kw_only=True):
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
        return {stage.name: dict(map(_plain, _settings(stage).items())) for stage in self.stages}


def _settings(stage: Stage | AskingStage) -> Mapping[str, Any]:
    return stage.step.keywords if isinstance(stage.step, partial) else {}


def _plain(setting: tuple[str, Any]) -> tuple[str, Any]:
    name, value = setting
    return name, asdict(value) if isinstance(value, Struct) else value


def build_pipeline(profile: Profile, request: Request, query: Query) -> Pipeline:
    """Return the stages that answer *request* as *profile* ranks."""
    asked = as_asked(profile, request)
    facets = (AskingStage(name="facets", step=count_facets),) if request.facets else ()
    reason = AskingStage(name="reason", step=explain_nothing)
    conflicts = AskingStage(name="conflicts", step=partial(mark_conflicts, limit=asked.limit))
    if query.is_blank and request.embedding is None and profile.blank == "browse":
        newest = AskingStage(name="browse", step=partial(browse, limit=asked.limit))
        return Pipeline(stages=(newest, conflicts, *facets, reason))
    facts = AskingStage(name="facts", step=load_facts)
    weighed = "fact_confidence" in asked.weigh.factors or asked.floor.min_confidence > 0 or request.lens is not None
    idle = asked.words.drop_dates and any(found.idle_end > found.start for found in query.dates)
    asking = partial(
        retrieve,
        rules=asked.retrieve,
        words=asked.words,
        expand=asked.expand,
        fuse=asked.fuse,
        depth=depth_of(asked),
    )
    near = partial(load_vectors, most=asked.smooth.top_k)
    return Pipeline(
        stages=(
            *((AskingStage(name="dates", step=drop_dates),) if idle else ()),
            AskingStage(name="languages", step=add_languages),
            Stage(name="build_query", step=partial(build_query, words=asked.words)),
            Stage(name="expand", step=partial(expand, rules=asked.expand, words=asked.words)),
            AskingStage(name="retrieve", step=asking),
            Stage(name="fuse", step=partial(fuse, rules=asked.fuse, fallback=asked.retrieve.fallback)),
            *((AskingStage(name="vectors", step=near),) if asked.smooth.weight > 0 else ()),
            Stage(name="smooth", step=partial(smooth, rules=asked.smooth)),
            AskingStage(name="load", step=partial(load, rules=asked.weigh)),
            *((facts,) if weighed else ()),
            Stage(name="replies", step=partial(lift_replies, rules=asked.dialogue)),
            Stage(name="weigh", step=partial(weigh, rules=asked.weigh, replies=asked.dialogue.min_informativeness)),
            AskingStage(name="changes", step=partial(compare_changes, rules=asked.changes, shown=asked.limit)),
            Stage(name="floor", step=partial(apply_floor, rules=asked.floor, fallback=asked.retrieve.fallback)),
            AskingStage(name="rerank", step=partial(rerank, rules=asked.rerank)),
            AskingStage(name="diversify", step=partial(diversify, rules=asked.diversify, limit=asked.limit)),
            AskingStage(name="memories", step=partial(load_shown, pool=asked.precise.top_k if request.precise else 0)),
            *(() if weighed else (facts,)),  # only those that are shown, where nothing weighs by facts
            Stage(name="answerability", step=partial(judge, rules=asked.answerability)),
            *((Stage(name="precise", step=partial(keep_answers, rules=asked.precise)),) if request.precise else ()),
            Stage(name="hits", step=build_hits),
            conflicts,
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
    score = request.min_score
    further = None if request.intent is None else (0.0, 0.0)  # who says what they are after is searched for further
    asked: dict[str, Any] = {
        "limit": limit_of(profile, request.limit, usual=profile.limit),
        "retrieve": _set(profile.retrieve, min_similarity=request.min_similarity, short_circuit=further),
        "fuse": _set(_weighted(profile.fuse, request), k=request.rrf_k),
        "weigh": _weighing(profile.weigh, request),
        "floor": _set(
            profile.floor, min_confidence=request.min_confidence, keyword=score, semantic=score, hybrid=score
        ),
    }
    changed = {name: value for name, value in asked.items() if value is not getattr(profile, name)}
    return replace(profile, **changed) if changed else profile  # most requests set nothing


def _set(section: S, **given: Any) -> S:
    """Return *section* with what is given."""
    told = {name: value for name, value in given.items() if value is not None}
    return replace(section, **told) if told else section


def _weighted(rules: Fuse, request: Request) -> Fuse:
    """Return *rules* with the weights that the request gives, and none that depend on anything else."""
    alpha = {} if request.alpha is None else {"words": 1.0 - request.alpha, "vector": request.alpha}
    given = {**alpha, **(request.weights or {})}
    if not given:
        return rules
    plain = replace(rules, list_weights=(), short_weights={}, long_weights={}, code_weights={})
    return replace(plain, weights={**rules.weights, **given})


def _weighing(rules: Weigh, request: Request) -> Weigh:
    """Return *rules* without the factors in a mode where they do not count, and with recency for who asks for it."""
    if request.asked_mode not in rules.modes:
        rules = replace(rules, factors=(), date_boost=0.0)
    if request.recency_weight is None:
        return rules
    factors = rules.factors if "recency" in rules.factors else (*rules.factors, "recency")
    return replace(rules, factors=factors, recency_weight=request.recency_weight)


def prepare(request: Request, context: SearchContext) -> tuple[Pipeline, State, SearchContext]:
    """Return the stages for *request*, what is known before the first of them, and the context on the clock."""
    seen, boost = context.look_through(request)
    query = reaching_back(parse(seen.text, now=context.now, where=seen.where), context.profile.changes, context.now)
    state = State(request=seen, query=query, scope=query.narrow(seen.scope), now=context.now, boost=boost)
    return build_pipeline(context.profile, seen, query), state, replace(context, watch=Watch.over(seen))
