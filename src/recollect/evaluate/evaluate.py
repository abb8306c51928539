"""Judged sets, asked in every way named: import once, search each way, score, compare."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal

from recollect.embedders.contract import Embedder
from recollect.errors import InputError
from recollect.evaluate.compare import compare_sets, gate
from recollect.evaluate.datasets import Dataset, Split, read_dataset, select
from recollect.evaluate.run import Progress, answer, take_in
from recollect.evaluate.runs import Run, read_run
from recollect.evaluate.trial import MAIN, OTHER, Evaluation, Examined, Pair, Trial, Way, try_answers, try_run
from recollect.profile import Profile
from recollect.replies import Mode
from recollect.rerankers.contract import Reranker
from recollect.stores.choice import open_store
from recollect.stores.contract import Store
from recollect.text.analyse import analyse

Half = Split | Literal["all"]
HALVES: Final[tuple[Half, ...]] = ("dev", "test", "all")
UNDATED: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""When the questions of a set without dates are asked: always at the same moment, so that equal runs are equal."""
_BATCH: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to try: the first profile is what the others are compared with."""

    sets: tuple[Examined, ...]
    profiles: Mapping[str, Profile]
    modes: tuple[Mode, ...]
    runs: Mapping[str, Run] = field(default_factory=dict)
    """Rankings of other tools, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gear:
    """Who turns words into meaning, who reads the best again, and who is told how far it is."""

    embedder: Embedder | None = None
    model: str = ""
    """The name of the model."""
    reranker: Callable[[], Reranker | None] = lambda: None
    progress: Progress | None = None


def examine(
    paths: Sequence[Path], *, half: Half = "all", most: int = 0, by_session: bool = False
) -> tuple[Examined, ...]:
    """Read the sets at *paths* and choose what is asked: one half, or the first *most* queries of it.

    *by_session* counts a session as found where the first of its turns stands.
    """
    sets = tuple(replace(_chosen(read_dataset(path), half, most), by_session=by_session) for path in paths)
    plain = next((each.name for each in sets if by_session and not each.wholes), None)
    if plain is not None:
        raise InputError(f"{plain} has no sessions", hint="leave out --by session")
    names = [each.name for each in sets]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"two sets are called {twice}", hint="name each set once, in folders of different names")
    return sets


def _chosen(dataset: Dataset, half: Half, most: int) -> Examined:
    queries = select(dataset.queries, half)
    examined = Examined(dataset=dataset, queries=queries[:most] if most > 0 else queries)
    if not examined.judged:
        raise InputError(f"{dataset.name} has no judged queries in the split {half}", hint="try --split all")
    return examined


def read_runs(named: Mapping[str, Path], sets: Sequence[Examined]) -> Mapping[str, Run]:
    """Read the rankings of other tools for the only one of *sets*."""
    if named and len(sets) != 1:
        raise InputError("the ranking of another tool is for one set", hint="name one DATASET with --run-file")
    found = {name: read_run(path) for name, path in named.items()}
    for name, run in found.items():
        if not run.rankings.keys() & sets[0].judged.keys():
            raise InputError(
                f"the run {name} holds none of the queries of {sets[0].name}",
                hint="compare its query ids with the set's",
            )
    return found


def evaluate(plan: Plan, gear: Gear) -> Evaluation:
    """Try every profile of *plan* in every mode on every set; sets with the same documents share one store."""
    trials: dict[str, list[Trial]] = {}
    for group in _by_corpus(plan.sets):
        with _imported(group[0].dataset, gear) as store:
            for examined in group:
                trials[examined.name] = [
                    *_tried(examined, plan, store, gear),
                    *(try_run(examined, name, run) for name, run in plan.runs.items()),
                ]
    ordered = tuple(chain.from_iterable(trials[examined.name] for examined in plan.sets))
    return Evaluation(sets=plan.sets, trials=ordered, pairs=_paired(plan, ordered))


def _by_corpus(sets: Sequence[Examined]) -> list[list[Examined]]:
    """Return *sets* with those together that ask the same documents."""
    groups: dict[str, list[Examined]] = {}
    for examined in sets:
        files = examined.dataset.files
        groups.setdefault(files.get("corpus.jsonl", examined.dataset.sha256), []).append(examined)
    return list(groups.values())


@contextmanager
def _imported(dataset: Dataset, gear: Gear) -> Iterator[Store]:
    """Give a store of its own, with the documents of *dataset* in it; it is gone in the end."""
    with TemporaryDirectory(prefix="recollect-eval-") as folder:
        store = open_store(str(Path(folder) / "set.db"), analyse)
        try:
            take_in(
                dataset,
                store=store,
                analyse=analyse,
                now=clock_of(dataset),
                embedder=gear.embedder,
                model=gear.model,
                progress=gear.progress,
            )
            yield store
        finally:
            store.close()


def clock_of(dataset: Dataset) -> datetime:
    """Return when the questions without a date are asked: when the last of the documents was said."""
    return max((each.said_at for each in dataset.documents if each.said_at is not None), default=UNDATED)


def _tried(examined: Examined, plan: Plan, store: Store, gear: Gear) -> Iterator[Trial]:
    """Yield a trial for each mode and profile; a baseline that found nothing ends it all."""
    _embed_questions(examined, gear)
    first = next(iter(plan.profiles))
    for mode in plan.modes:
        for name, profile in plan.profiles.items():
            answers = answer(
                examined.queries,
                examined.dataset,
                store=store,
                profile=profile,
                mode=mode,
                now=clock_of(examined.dataset),
                embedder=gear.embedder,
                reranker=gear.reranker,
                progress=gear.progress,
            )
            trial = try_answers(examined, Way(profile=name, mode=mode), answers)
            if name == first:
                _demand(trial)
            yield trial


def _embed_questions(examined: Examined, gear: Gear) -> None:
    """Have the vectors of all the questions before any search is timed."""
    if gear.embedder is None:
        return
    texts = [query.text for query in examined.queries]
    for start in range(0, len(texts), _BATCH):
        gear.embedder.embed_queries(texts[start : start + _BATCH])
        if gear.progress is not None:
            gear.progress(min(start + _BATCH, len(texts)), len(texts), f"{examined.name}: questions")


def _demand(trial: Trial) -> None:
    """Refuse a baseline that found nothing: whatever is compared with it would look good."""
    value = trial.measures[MAIN]
    verdict = gate(value, value, 0.0)
    if not verdict:
        raise InputError(
            f"{trial.dataset}, {trial.way}: {verdict.reason}",
            hint="do the document ids of the judgements stand in the corpus, and are they in its language?",
        )


# --- comparing ------------------------------------------------------------------------------


def _paired(plan: Plan, trials: Sequence[Trial]) -> tuple[Pair, ...]:
    values = {(trial.way, trial.dataset): trial.values for trial in trials}
    names = [examined.name for examined in plan.sets]
    return tuple(
        Pair(
            baseline=baseline,
            new=new,
            macro=compare_sets({name: (values[baseline, name], values[new, name]) for name in names}),
        )
        for baseline, new in opponents(plan)
    )


def opponents(plan: Plan) -> tuple[tuple[Way, Way], ...]:
    """Return who is compared: each profile with the first, hybrid with its legs, the first with every other tool."""
    first, *others = plan.profiles
    pairs = [(Way(profile=first, mode=mode), Way(profile=other, mode=mode)) for mode in plan.modes for other in others]
    if "hybrid" in plan.modes:
        pairs += [
            (Way(profile=profile, mode=leg), Way(profile=profile, mode="hybrid"))
            for profile in plan.profiles
            for leg in plan.modes
            if leg != "hybrid"
        ]
    pairs += [
        (Way(profile=name, mode=OTHER), Way(profile=first, mode=mode)) for name in plan.runs for mode in plan.modes
    ]
    return tuple(pairs)
