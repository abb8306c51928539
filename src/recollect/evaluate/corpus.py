"""A dataset in a store of its own: imported by the write path, searched by the read path, removed in the end.

The only place of the evaluation where contexts of the two paths are made.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from msgspec import Struct

from recollect.embedders.contract import Embedder
from recollect.evaluate.datasets import Dataset, EvalQuery, as_memories
from recollect.profile import Profile, load_profile
from recollect.records import ALL_PROJECTS, Progress, Scope
from recollect.remember.context import IngestContext
from recollect.remember.embed import embed_pending
from recollect.remember.formats.chat import with_context
from recollect.remember.ingest import ingest
from recollect.replies import Mode, Reply, Request
from recollect.rerankers.contract import Reranker
from recollect.search.answer import search
from recollect.search.state import SearchContext
from recollect.stores.choice import open_store
from recollect.stores.contract import Store
from recollect.text.analyser import ANALYSER, analyse

DEPTH: Final = 100
"""How many hits are asked for: recall at 100 is the deepest measure."""
UNDATED: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""When the queries of a set without dates are asked: always at the same moment, so that equal runs are equal."""
_BATCH: Final = 2000


class EvalResources(Struct, frozen=True, kw_only=True):
    """The models of an evaluation, and who is told how far it is."""

    embedder: Embedder | None = None
    model: str = ""
    """The name of the embedding model."""
    reranker: Callable[[], Reranker | None] = lambda: None
    progress: Progress | None = None

    def report(self, done: int, total: int, what: str) -> None:
        """Say that *done* of *total* are done."""
        if self.progress is not None:
            self.progress(done, total, what)


class Corpus(Struct, frozen=True, kw_only=True):
    """The documents of a dataset, in a store."""

    store: Store
    resources: EvalResources

    def search(self, request: Request, profile: Profile, *, now: datetime) -> Reply:
        """Answer *request* as `recollect search` does."""
        embedder, reranker = self.resources.embedder, self.resources.reranker
        context = SearchContext(store=self.store, profile=profile, now=now, embedder=embedder, reranker=reranker)
        return search(request, context)


@contextmanager
def imported(dataset: Dataset, resources: EvalResources) -> Iterator[Corpus]:
    """Give the documents of *dataset* in a store of their own, with vectors where there is an embedder."""
    with TemporaryDirectory(prefix="recollect-eval-") as folder:
        store = open_store(str(Path(folder) / "set.db"), analyse, analyser=ANALYSER)
        try:
            _import(dataset, store, resources)
            yield Corpus(store=store, resources=resources)
        finally:
            store.close()


def _import(dataset: Dataset, store: Store, resources: EvalResources) -> None:
    """Write the documents as an import does, each turn with the turns around it, and embed them."""
    memories, profile = with_context(as_memories(dataset)), load_profile("default")
    context = IngestContext(store=store, analyse=analyse, profile=profile, now=clock_of(dataset), redact=False)
    for start in range(0, len(memories), _BATCH):
        ingest(memories[start : start + _BATCH], context)
        resources.report(min(start + _BATCH, len(memories)), len(memories), f"{dataset.name}: documents")
    if resources.embedder is not None:
        embed_pending(
            store=store,
            embedder=resources.embedder,
            model=resources.model,
            context_weights=profile.embed.context_weights,
            progress=lambda done, total, what: resources.report(done, total, f"{dataset.name}: {what}"),
        )


def clock_of(dataset: Dataset) -> datetime:
    """Return when the queries without a date are asked: when the last of the documents was said."""
    return max((each.said_at for each in dataset.documents if each.said_at is not None), default=UNDATED)


def request_for(query: EvalQuery, mode: Mode) -> Request:
    """Return how *query* is asked: within its conversation, where it has one, and for nothing but the order."""
    scope = ALL_PROJECTS if query.group is None else Scope(projects=frozenset({query.group}))
    return Request(text=query.text, mode=mode, limit=DEPTH, scope=scope, include_facts=False, snippets=False)
