"""Judged sets, asked in every way named: import once, search each way, score, compare."""

import hashlib
import math
import os
import platform
import re
import sqlite3
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final, Literal

from recollect.embedders.contract import Embedder, Span
from recollect.errors import InputError
from recollect.evaluate.compare import Macro, compare_sets, gate
from recollect.evaluate.datasets import Dataset, Query, Split, as_memories, read_dataset, select
from recollect.evaluate.measures import Scores, fold, fold_gains, means, score
from recollect.evaluate.runs import Run, Scored, read_run
from recollect.profile import Profile, load_profile
from recollect.records import ALL_PROJECTS, Progress, Scope
from recollect.remember.context import IngestContext
from recollect.remember.embed import embed_pending
from recollect.remember.formats.chat import with_context
from recollect.remember.ingest import ingest
from recollect.replies import Degraded, Mode, Outcome, Reply, Request
from recollect.rerankers.contract import Reranker
from recollect.search import SearchContext, search
from recollect.stores.choice import open_store
from recollect.stores.contract import Analyse, Store
from recollect.text.analyser import ANALYSER, analyse
from recollect.vectors import Vector


class KeptVectors:
    """An embedder that looks every text up in a file before it asks *inner*."""

    def __init__(self, inner: Embedder, folder: Path) -> None:
        self._inner = inner
        self.fingerprint: Final = inner.fingerprint
        self.dimensions: Final = inner.dimensions
        name = hashlib.blake2b(inner.fingerprint.encode(), digest_size=8).hexdigest()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(folder / f"{name}.vectors", check_same_thread=False, timeout=60)
            self._db.execute("pragma journal_mode = wal")
            self._db.execute("create table if not exists kept (digest blob primary key, vector blob) without rowid")
        except (OSError, sqlite3.Error) as error:
            raise InputError(f"cannot keep vectors in {folder}: {error}", hint="name a folder of yours") from error

    def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vector of each text as something to be found."""
        return self._look(texts, "passage")

    def embed_queries(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vector of each text as something to find by."""
        return self._look(texts, "query")

    def _look(self, texts: Sequence[str], side: str) -> list[Vector]:
        keys = {text: _key(side, text) for text in texts}
        known = {text: vector for text, key in keys.items() if (vector := self._read(key)) is not None}
        fresh = [text for text in keys if text not in known]
        if fresh:
            ask = self._inner.embed_passages if side == "passage" else self._inner.embed_queries
            made = dict(zip(fresh, ask(fresh), strict=True))
            known |= made
            with self._db:
                rows = [(keys[text], vector.tobytes()) for text, vector in made.items()]
                self._db.executemany("insert or ignore into kept (digest, vector) values (?, ?)", rows)
        return [known[text] for text in texts]

    def _read(self, key: bytes) -> "Vector | None":
        row = self._db.execute("select vector from kept where digest = ?", (key,)).fetchone()
        return None if row is None else array("f", row[0])

    def count_pieces(self, text: str) -> int:
        """Say how much of the model's room *text* takes."""
        return self._inner.count_pieces(text)

    def passages(self, text: str, *, most: int | None = None) -> list[Span]:
        """Cut *text* into passages."""
        return self._inner.passages(text, most=most)

    def covers(self, text: str) -> bool:
        """Say whether the model knows the script of *text*."""
        return self._inner.covers(text)

    def close(self) -> None:
        """Let go of the file and the model."""
        self._db.close()
        self._inner.close()


def _key(side: str, text: str) -> bytes:
    return hashlib.blake2b(f"{side}\0{text}".encode("utf-8", "surrogatepass"), digest_size=20).digest()


_CPU: Final = Path("/proc/cpuinfo")


def machine() -> Mapping[str, str]:
    """Return the processor, cores, memory, system, Python and SQLite that are in use."""
    return {
        "cpu": _cpu(),
        "cores": str(os.cpu_count() or "unknown"),
        "memory": _memory(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "sqlite": _installed("apsw"),
        "recollect": _installed("recollect"),
    }


def _cpu() -> str:
    try:
        named = re.search(r"^model name\s*:\s*(.+)$", _CPU.read_text(encoding="utf-8"), re.MULTILINE)
    except (OSError, UnicodeDecodeError):
        named = None
    return named[1] if named else platform.processor() or platform.machine() or "unknown"


def _memory() -> str:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return "unknown"
    return f"{size / 2**30:.1f} GiB"


def _installed(package: str) -> str:
    """Return the version of *package*; that of apsw begins with the version of its SQLite."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


BATCH = 2000
DEPTH = 100
"""How many hits are asked for: recall at 100 is the deepest measure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """How one question was answered: ids best first with their scores, the outcome, and how long it took."""

    ids: tuple[str, ...]
    outcome: Outcome
    milliseconds: float
    best: float = 0.0
    scores: tuple[float, ...] = ()
    degraded: Degraded | None = None


def take_in(
    dataset: Dataset,
    *,
    store: Store,
    analyse: Analyse,
    now: datetime,
    embedder: Embedder | None = None,
    model: str = "",
    progress: Progress | None = None,
) -> None:
    """Write the documents of *dataset* as a user's import would, with their context, and embed them."""
    memories = with_context(as_memories(dataset))
    context = IngestContext(store=store, analyse=analyse, profile=Profile(), now=now, redact=False)
    for start in range(0, len(memories), BATCH):
        ingest(memories[start : start + BATCH], context)
        if progress is not None:
            progress(min(start + BATCH, len(memories)), len(memories), f"{dataset.name}: documents")
    if embedder is not None:

        def report(done: int, total: int, what: str) -> None:
            if progress is not None:
                progress(done, total, f"{dataset.name}: {what}")

        weights = load_profile("default").embed.context_weights
        embed_pending(store=store, embedder=embedder, model=model, context_weights=weights, progress=report)


def answer(  # noqa: PLR0913  (a search takes them all)
    queries: Sequence[Query],
    dataset: Dataset,
    *,
    store: Store,
    profile: Profile,
    mode: Mode,
    now: datetime,
    embedder: Embedder | None = None,
    reranker: Callable[[], Reranker | None] = lambda: None,
    progress: Progress | None = None,
) -> Mapping[str, Answered]:
    """Ask every query within its conversation, by the clock of its own date or *now*; return the answers by id."""
    answers = {}
    for number, query in enumerate(queries, start=1):
        request = request_for(query, mode)
        started = perf_counter()
        asked_at = query.asked_at or now
        context = SearchContext(store=store, profile=profile, now=asked_at, embedder=embedder, reranker=reranker)
        reply = search(request, context)
        answers[query.id] = _answered(reply, (perf_counter() - started) * 1000)
        if progress is not None:
            progress(number, len(queries), f"{dataset.name}: {profile.name} {mode}")
    return answers


def request_for(query: Query, mode: Mode) -> Request:
    """Return how *query* is asked: within its conversation, where it has one, and for nothing but the order."""
    scope = ALL_PROJECTS if query.group is None else Scope(projects=frozenset({query.group}))
    return Request(text=query.text, mode=mode, limit=DEPTH, scope=scope, include_facts=False, snippets=False)


def _answered(reply: Reply, milliseconds: float) -> Answered:
    return Answered(
        ids=tuple(hit.memory.external_id or "" for hit in reply.hits),
        outcome=reply.outcome,
        milliseconds=milliseconds,
        best=reply.hits[0].score if reply.hits else 0.0,
        scores=tuple(hit.score for hit in reply.hits),
        degraded=reply.degraded,
    )


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
class SystemPair:
    """Two ways on the same queries, on every set that both were tried on."""

    baseline: Way
    new: Way
    macro: Macro


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """All that was tried, and how it compares."""

    sets: tuple[Examined, ...]
    trials: tuple[Trial, ...]
    pairs: tuple[SystemPair, ...] = ()

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
        store = open_store(str(Path(folder) / "set.db"), analyse, analyser=ANALYSER)
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


def _paired(plan: Plan, trials: Sequence[Trial]) -> tuple[SystemPair, ...]:
    values = {(trial.way, trial.dataset): trial.values for trial in trials}
    names = [examined.name for examined in plan.sets]
    return tuple(
        SystemPair(
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
