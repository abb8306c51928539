"""What came of an evaluation: each way of searching on each set, and how the ways compare."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Final, Literal

from recollect.evaluate.compare import Macro
from recollect.evaluate.datasets import Dataset, Query
from recollect.evaluate.measures import Scores, fold, fold_gains, means, score
from recollect.evaluate.run import Answered
from recollect.evaluate.runs import Run, Scored
from recollect.replies import Degraded, Mode, Outcome

OTHER: Final = "run-file"
"""The mode of a ranking that another tool made."""
MAIN: Final = "ndcg@10"
"""The measure that ways are compared by."""

_KINDS: Final = 12
"""So many kinds of question can be told apart by a reader; more are no kinds."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Way:
    """A way of searching: a profile in a mode, or another tool by its name."""

    profile: str
    mode: Mode | Literal["run-file"]

    def __str__(self) -> str:
        return self.profile if self.mode == OTHER else f"{self.profile} {self.mode}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """How long a search took, in milliseconds."""

    median: float
    p95: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One way on the queries of one set."""

    dataset: str
    way: Way
    run: Run
    scores: Scores
    latency: Latency | None = None
    outcomes: Mapping[Outcome, int] = field(default_factory=dict)
    """How the answerable questions were answered."""
    silences: tuple[int, int] = (0, 0)
    """How many unanswerable questions were not answered, of how many."""
    degraded: tuple[Degraded, ...] = ()

    @property
    def measures(self) -> dict[str, float]:
        """The mean of each measure."""
        return means(self.scores)

    @property
    def values(self) -> Mapping[str, float]:
        """The main measure of each query."""
        return self.scores[MAIN]


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """A set as it was used: what it is, what was asked, and whether a whole session counts as one find."""

    dataset: Dataset
    queries: tuple[Query, ...]
    by_session: bool = False

    @property
    def name(self) -> str:
        """The name of the set."""
        return self.dataset.name

    @property
    def judged(self) -> Mapping[str, Mapping[str, int]]:
        """The judgements of the queries that are scored."""
        known, wholes = self.dataset.judgements, self.wholes
        return {query.id: fold_gains(known[query.id], wholes) for query in self.queries if query.id in known}

    @property
    def wholes(self) -> Mapping[str, str]:
        """The session that each document counts as, when sessions count; a document outside one is itself."""
        documents = self.dataset.documents if self.by_session else ()
        return {document.id: document.thread for document in documents if document.thread is not None}

    @property
    def categories(self) -> Mapping[str, tuple[str, ...]]:
        """The scored queries of each kind, where the set tells kinds apart."""
        kinds: dict[str, list[str]] = {}
        for query in self.queries:
            if query.category and query.id in self.dataset.judgements:
                kinds.setdefault(query.category, []).append(query.id)
        return {kind: tuple(kinds[kind]) for kind in sorted(kinds)} if len(kinds) <= _KINDS else {}

    @property
    def texts(self) -> Mapping[str, str]:
        """What each query says."""
        return {query.id: query.text for query in self.queries}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two ways on the same queries, on every set that both were tried on."""

    baseline: Way
    new: Way
    macro: Macro


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """All that was tried, and how it compares."""

    sets: tuple[Examined, ...]
    trials: tuple[Trial, ...]
    pairs: tuple[Pair, ...] = ()

    @property
    def ways(self) -> tuple[Way, ...]:
        """Every way that was tried, in order."""
        return tuple(dict.fromkeys(trial.way for trial in self.trials))


def try_answers(examined: Examined, way: Way, answers: Mapping[str, Answered]) -> Trial:
    """Return the trial of our own answers; questions that nothing answers are counted apart."""
    judged, wholes = examined.judged, examined.wholes
    rankings = {
        query: tuple(Scored(id=id_, score=value) for id_, value in zip(found.ids, found.scores, strict=True))
        for query, found in answers.items()
    }
    hopeless = [answers[query.id] for query in examined.queries if query.id not in judged]
    return Trial(
        dataset=examined.name,
        way=way,
        run=Run(name=f"{way.profile}-{way.mode}", rankings=rankings),
        scores=score({query: fold(found.ids, wholes) for query, found in answers.items()}, judged),
        latency=latency([each.milliseconds for each in answers.values()]),
        outcomes=Counter(answers[query].outcome for query in judged),
        silences=(sum(each.outcome != "answered" for each in hopeless), len(hopeless)),
        degraded=tuple(sorted({each.degraded for each in answers.values() if each.degraded})),
    )


def try_run(examined: Examined, name: str, run: Run) -> Trial:
    """Return the trial of another tool's ranking."""
    way, wholes = Way(profile=name, mode=OTHER), examined.wholes
    rankings = {query: fold(ids, wholes) for query, ids in run.ids.items()}
    return Trial(dataset=examined.name, way=way, run=run, scores=score(rankings, examined.judged))


def latency(milliseconds: Sequence[float]) -> Latency:
    """Return the median, and what 95 of 100 searches do not exceed."""
    ordered = sorted(milliseconds)
    return Latency(median=median(ordered), p95=ordered[math.ceil(0.95 * len(ordered)) - 1])
