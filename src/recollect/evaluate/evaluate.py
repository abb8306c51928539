"""Every system on every judged set: import once, search, score, compare."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final, Literal

from msgspec import Struct, field

from recollect.errors import InputError
from recollect.evaluate.compare import MacroComparison, compare_sets, gate_failure
from recollect.evaluate.corpus import Corpus, EvalResources, clock_of, imported, request_for
from recollect.evaluate.datasets import Dataset, EvalQuery, Split, read_dataset, select
from recollect.evaluate.measures import Scores, collapse, collapse_gains, means, score
from recollect.evaluate.runs import Rankings, Scored, read_run
from recollect.profile import Profile
from recollect.replies import Degraded, Mode, Outcome, Reply

RUN_FILE: Final = "run-file"
"""The mode of a system whose rankings come from a file."""
MAIN: Final = "ndcg@10"
"""The measure that systems are compared by."""
_BATCH: Final = 64


# --- what is evaluated ----------------------------------------------------------------------


class System(Struct, frozen=True, kw_only=True, order=True):
    """What answers the queries: a profile in a mode, or another tool by its name."""

    profile: str
    mode: Mode | Literal["run-file"]

    def __str__(self) -> str:
        return self.profile if self.mode == RUN_FILE else f"{self.profile} {self.mode}"


class EvalSet(Struct, frozen=True, kw_only=True, dict=True):
    """A dataset as it is used: which queries are asked, and whether a whole session counts as one document."""

    dataset: Dataset
    queries: tuple[EvalQuery, ...]
    by_session: bool = False

    @property
    def name(self) -> str:
        """The name of the dataset."""
        return self.dataset.name

    @cached_property
    def sessions(self) -> Mapping[str, str]:
        """The session that each document counts as, when sessions count; a document outside one is itself."""
        documents = self.dataset.documents if self.by_session else ()
        return {document.id: document.thread for document in documents if document.thread is not None}

    @cached_property
    def judged(self) -> Mapping[str, Mapping[str, int]]:
        """The judgements of the queries that are scored."""
        known = self.dataset.judgements
        return {each.id: collapse_gains(known[each.id], self.sessions) for each in self.queries if each.id in known}

    @property
    def categories(self) -> Mapping[str, tuple[str, ...]]:
        """The scored queries of each category, where the dataset has any."""
        found: dict[str, list[str]] = {}
        for query in self.queries:
            if query.category and query.id in self.judged:
                found.setdefault(query.category, []).append(query.id)
        return {category: tuple(found[category]) for category in sorted(found)}

    def score(self, rankings: Mapping[str, Sequence[str]]) -> Scores:
        """Return each measure of each scored query."""
        return score({query: collapse(ids, self.sessions) for query, ids in rankings.items()}, self.judged)


class Plan(Struct, frozen=True, kw_only=True):
    """What to evaluate: the first profile is what the others are compared with."""

    sets: tuple[EvalSet, ...]
    profiles: Mapping[str, Profile]
    modes: tuple[Mode, ...]
    run_files: Mapping[str, Rankings] = field(default_factory=dict)
    """Rankings of other tools, by name."""


def read_sets(
    paths: Sequence[Path], *, split: Split = "all", most: int = 0, by_session: bool = False
) -> tuple[EvalSet, ...]:
    """Read the datasets at *paths* and choose what is asked: one half, or the first *most* queries of it.

    *by_session* counts a session as found where the first of its turns stands.
    """
    sets = tuple(_chosen(read_dataset(path), split, most, by_session=by_session) for path in paths)
    twice = next((name for name, times in Counter(each.name for each in sets).items() if times > 1), None)
    if twice is not None:
        raise InputError(f"two sets are called {twice}", hint="name each set once, in folders of different names")
    return sets


def _chosen(dataset: Dataset, split: Split, most: int, *, by_session: bool) -> EvalSet:
    queries = select(dataset.queries, split)
    chosen = EvalSet(dataset=dataset, queries=queries[:most] if most > 0 else queries, by_session=by_session)
    if not chosen.judged:
        raise InputError(f"{dataset.name} has no judged queries in the split {split}", hint="try --split all")
    if by_session and not chosen.sessions:
        raise InputError(f"{dataset.name} has no sessions", hint="leave out --by session")
    return chosen


def read_run_files(named: Mapping[str, Path], sets: Sequence[EvalSet]) -> Mapping[str, Rankings]:
    """Read the rankings of other tools for the only one of *sets*."""
    if named and len(sets) != 1:
        raise InputError("the ranking of another tool is for one set", hint="name one DATASET with --run-file")
    found = {name: read_run(path) for name, path in named.items()}
    for name, rankings in found.items():
        if not rankings.by_query.keys() & sets[0].judged.keys():
            raise InputError(
                f"the run {name} holds none of the queries of {sets[0].name}",
                hint="compare its query ids with the set's",
            )
    return found


# --- what comes of it -----------------------------------------------------------------------


class Latency(Struct, frozen=True, kw_only=True):
    """How long a search took, in milliseconds."""

    median: float
    p95: float


class Run(Struct, frozen=True, kw_only=True):
    """One system on the queries of one set."""

    dataset: str
    system: System
    rankings: Rankings
    scores: Scores
    latency: Latency | None = None
    outcomes: Mapping[Outcome, int] = field(default_factory=dict)
    """How the answerable queries were answered."""
    unanswerable: int = 0
    recognised: int = 0
    """How many of the unanswerable queries were not answered."""
    degraded: tuple[Degraded, ...] = ()

    @property
    def measures(self) -> dict[str, float]:
        """The mean of each measure."""
        return means(self.scores)

    @property
    def values(self) -> Mapping[str, float]:
        """The main measure of each query."""
        return self.scores[MAIN]


class SystemComparison(Struct, frozen=True, kw_only=True):
    """Two systems on the same queries of every set."""

    baseline: System
    new: System
    macro: MacroComparison


class Evaluation(Struct, frozen=True, kw_only=True):
    """Every run, and how the systems compare."""

    sets: tuple[EvalSet, ...]
    runs: tuple[Run, ...]
    comparisons: tuple[SystemComparison, ...] = ()

    @property
    def systems(self) -> tuple[System, ...]:
        """Every system that was run, in order."""
        return tuple(dict.fromkeys(run.system for run in self.runs))


def evaluate(plan: Plan, resources: EvalResources) -> Evaluation:
    """Run every profile of *plan* in every mode on every set; sets with the same documents share one store."""
    runs: dict[str, list[Run]] = {}
    for group in _by_corpus(plan.sets):
        with imported(group[0].dataset, resources) as corpus:
            for each in group:
                runs[each.name] = [*_runs(each, plan, corpus), *_run_files(each, plan)]
    ordered = tuple(run for each in plan.sets for run in runs[each.name])
    return Evaluation(sets=plan.sets, runs=ordered, comparisons=_compared(plan, ordered))


def _by_corpus(sets: Sequence[EvalSet]) -> list[list[EvalSet]]:
    """Return *sets* with those together that ask the same documents."""
    groups: dict[str, list[EvalSet]] = {}
    for each in sets:
        groups.setdefault(each.dataset.files.get("corpus.jsonl", each.dataset.sha256), []).append(each)
    return list(groups.values())


def _runs(asked: EvalSet, plan: Plan, corpus: Corpus) -> Iterator[Run]:
    """Yield a run for each mode and profile; a baseline that found nothing ends it all."""
    _embed_queries(asked, corpus.resources)
    first = next(iter(plan.profiles))
    for mode in plan.modes:
        for name, profile in plan.profiles.items():
            run = _scored(asked, System(profile=name, mode=mode), search_all(asked, profile, mode, corpus))
            if name == first:
                _require_finds(run)
            yield run


def _run_files(asked: EvalSet, plan: Plan) -> Iterator[Run]:
    for name, rankings in plan.run_files.items():
        system = System(profile=name, mode=RUN_FILE)
        yield Run(dataset=asked.name, system=system, rankings=rankings, scores=asked.score(rankings.ids))


def _embed_queries(asked: EvalSet, resources: EvalResources) -> None:
    """Have the vectors of all the queries before any search is timed."""
    if resources.embedder is None:
        return
    texts = [query.text for query in asked.queries]
    for start in range(0, len(texts), _BATCH):
        resources.embedder.embed_queries(texts[start : start + _BATCH])
        resources.report(min(start + _BATCH, len(texts)), len(texts), f"{asked.name}: questions")


Replies = Mapping[str, tuple[Reply, float]]
"""The reply to each query, and how many milliseconds it took."""


def search_all(asked: EvalSet, profile: Profile, mode: Mode, corpus: Corpus) -> Replies:
    """Ask every query of *asked*, on its own date or when the last document was said."""
    replies, now = {}, clock_of(asked.dataset)
    for number, query in enumerate(asked.queries, start=1):
        request = request_for(query, mode)
        started = perf_counter()
        reply = corpus.search(request, profile, now=query.asked_at or now)
        replies[query.id] = reply, (perf_counter() - started) * 1000
        corpus.resources.report(number, len(asked.queries), f"{asked.name}: {profile.name} {mode}")
    return replies


def ranking(reply: Reply) -> tuple[Scored, ...]:
    """Return the documents of *reply*, best first."""
    return tuple(Scored(id=hit.memory.external_id or "", score=hit.score) for hit in reply.hits)


def _scored(asked: EvalSet, system: System, replies: Replies) -> Run:
    """Return the run that *replies* are; queries that nothing answers are counted apart."""
    by_query = {query: ranking(reply) for query, (reply, _) in replies.items()}
    rankings = Rankings(name=f"{system.profile}-{system.mode}", by_query=by_query)
    hopeless = [reply for query, (reply, _) in replies.items() if query not in asked.judged]
    return Run(
        dataset=asked.name,
        system=system,
        rankings=rankings,
        scores=asked.score(rankings.ids),
        latency=latency([milliseconds for _, milliseconds in replies.values()]),
        outcomes=Counter(replies[query][0].outcome for query in asked.judged),
        unanswerable=len(hopeless),
        recognised=sum(reply.outcome != "answered" for reply in hopeless),
        degraded=tuple(sorted({reply.degraded for reply, _ in replies.values() if reply.degraded})),
    )


def latency(milliseconds: Sequence[float]) -> Latency:
    """Return the median, and what 95 of 100 searches do not exceed."""
    ordered = sorted(milliseconds)
    return Latency(median=median(ordered), p95=ordered[math.ceil(0.95 * len(ordered)) - 1])


def _require_finds(run: Run) -> None:
    """Refuse a baseline that found nothing: whatever is compared with it would look good."""
    value = run.measures[MAIN]
    failure = gate_failure(value, value, 0.0)
    if failure is not None:
        raise InputError(
            f"{run.dataset}, {run.system}: {failure}",
            hint="do the document ids of the judgements stand in the corpus, and are they in its language?",
        )


# --- comparing ------------------------------------------------------------------------------


def _compared(plan: Plan, runs: Sequence[Run]) -> tuple[SystemComparison, ...]:
    values = {(run.system, run.dataset): run.values for run in runs}
    names = [each.name for each in plan.sets]
    return tuple(
        SystemComparison(
            baseline=baseline,
            new=new,
            macro=compare_sets({name: (values[baseline, name], values[new, name]) for name in names}),
        )
        for baseline, new in system_pairs(plan)
    )


def system_pairs(plan: Plan) -> tuple[tuple[System, System], ...]:
    """Return who is compared: each profile with the first, hybrid with its parts, the first with every other tool."""
    first, *others = plan.profiles
    pairs = [(first, mode, other, mode) for mode in plan.modes for other in others]
    if "hybrid" in plan.modes:
        parts = [mode for mode in plan.modes if mode != "hybrid"]
        pairs += [(profile, part, profile, "hybrid") for profile in plan.profiles for part in parts]
    tools = [(System(profile=name, mode=RUN_FILE), mode) for name in plan.run_files for mode in plan.modes]
    return (
        *((System(profile=one, mode=mode), System(profile=two, mode=other)) for one, mode, two, other in pairs),
        *((tool, System(profile=first, mode=mode)) for tool, mode in tools),
    )
