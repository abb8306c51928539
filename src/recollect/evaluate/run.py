"""Running a judged set through the real write path and the real read path."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from time import perf_counter

from recollect.embedders.contract import Embedder
from recollect.evaluate.datasets import Dataset, Query, as_memories
from recollect.profile import Profile
from recollect.records import EVERYTHING, Scope
from recollect.remember.embed import embed_pending
from recollect.remember.formats.chat import with_context
from recollect.remember.keep import keep
from recollect.replies import Degraded, Mode, Outcome, Reply, Request
from recollect.rerankers.contract import Reranker
from recollect.search import search
from recollect.stores.contract import Analyse, Store

BATCH = 2000
DEPTH = 100
"""How many hits are asked for: recall at 100 is the deepest measure."""
Progress = Callable[[int, int, str], None]


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
    for start in range(0, len(memories), BATCH):
        keep(memories[start : start + BATCH], store=store, analyse=analyse, now=now, redacting=False)
        if progress is not None:
            progress(min(start + BATCH, len(memories)), len(memories), f"{dataset.name}: documents")
    if embedder is not None:

        def report(done: int, total: int) -> None:
            if progress is not None:
                progress(done, total, f"{dataset.name}: vectors")

        embed_pending(store=store, embedder=embedder, model=model, progress=report)


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
        reply = search(
            request,
            store=store,
            profile=profile,
            now=query.asked_at or now,
            embedder=embedder,
            reranker=reranker,
        )
        answers[query.id] = _answered(reply, (perf_counter() - started) * 1000)
        if progress is not None:
            progress(number, len(queries), f"{dataset.name}: {profile.name} {mode}")
    return answers


def request_for(query: Query, mode: Mode) -> Request:
    """Return how *query* is asked: within its conversation, where it has one, and for nothing but the order."""
    scope = EVERYTHING if query.group is None else Scope(projects=frozenset({query.group}))
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
