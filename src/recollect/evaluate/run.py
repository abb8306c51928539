"""Running a judged set through the real write path and the real read path."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from time import perf_counter

from recollect.embedders.contract import Embedder
from recollect.evaluate.datasets import Dataset, Query, as_memories
from recollect.profile import Profile
from recollect.records import Scope
from recollect.remember.embed import embed_pending
from recollect.remember.formats.chat import with_context
from recollect.remember.keep import keep
from recollect.replies import Mode, Outcome, Request
from recollect.search import search
from recollect.stores.contract import Analyse, Store

BATCH = 2000
DEPTH = 100
"""How many hits are asked for: recall at 100 is the deepest measure."""
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """How one question was answered: ids best first, the outcome, and how long it took."""

    ids: tuple[str, ...]
    outcome: Outcome
    milliseconds: float
    best: float = 0.0


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
    for start in range(0, len(memories), BATCH):
        keep(memories[start : start + BATCH], store=store, analyse=analyse, now=now, redacting=False)
        if progress is not None:
            progress(min(start + BATCH, len(memories)), len(memories), f"{dataset.name}: documents")
    if embedder is not None:

        def report(done: int, total: int) -> None:
            if progress is not None:
                progress(done, total, f"{dataset.name}: vectors")

        embed_pending(store=store, embedder=embedder, model=model, progress=report)


def answer(
    queries: Sequence[Query],
    dataset: Dataset,
    *,
    store: Store,
    profile: Profile,
    mode: Mode,
    now: datetime,
    embedder: Embedder | None = None,
    progress: Progress | None = None,
) -> Mapping[str, Answered]:
    """Ask every query within its project; return the answers by query id."""
    answers = {}
    for number, query in enumerate(queries, start=1):
        scope = Scope(projects=frozenset({dataset.project_of(query.group)}))
        request = Request(text=query.text, mode=mode, limit=DEPTH, scope=scope)
        started = perf_counter()
        reply = search(request, store=store, profile=profile, now=now, embedder=embedder)
        took = (perf_counter() - started) * 1000
        ids = tuple(hit.memory.external_id or "" for hit in reply.hits)
        best = reply.hits[0].score if reply.hits else 0.0
        answers[query.id] = Answered(ids=ids, outcome=reply.outcome, milliseconds=took, best=best)
        if progress is not None:
            progress(number, len(queries), f"{dataset.name}: {profile.name} {mode}")
    return answers
