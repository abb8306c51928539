"""Do PostgreSQL and SQLite give the same answers? Every question of the judged sets is asked of both.

By words the ids and the bits of the scores of the first ten are compared. By vectors a graph is forced upon the small
sets, and its first ten are compared with those of an exact search; hybrid answers are compared where the lists that the
vectors brought are the same ones.
"""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from benchmarks.common import DATA, cached_embedder
from benchmarks.postgres.server import database
from benchmarks.postgres.stores import open_at
from benchmarks.speed.progress import say
from benchmarks.speed.results import Result
from msgspec.structs import replace

from recollect.evaluate.corpus import Corpus, EvalResources, clock_of, imported, request_for
from recollect.evaluate.corpus import _import as write_into
from recollect.evaluate.datasets import Dataset, EvalQuery, read_dataset
from recollect.profile import load_profile
from recollect.replies import Mode
from recollect.stores.contract import Store
from recollect.stores.postgres.vectors import HalfPrecisionScan

SETS = ("scifact", "cranfield", "locomo", "everyday", "ja_jsquad")
TOP = 10
FEW, GRAPH = 50, 200
"""A graph is made, and walked, from so few memories on that every set has one."""


@dataclass(eq=False)
class Listening:
    """A store that keeps which lists of vectors it answered with."""

    store: Store
    lists: list[tuple[int, ...]] = field(default_factory=list)

    def nearest(self, *given: Any, **options: Any) -> Any:
        """Answer, and keep the ids."""
        found = self.store.nearest(*given, **options)
        self.lists.append(tuple(hit.id for hit in found.top))
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a store answered: ids and scores to the last bit, and the lists of vectors it was made from."""

    hits: tuple[tuple[int, str], ...]
    lists: tuple[tuple[int, ...], ...]


def answer(corpus: Corpus, query: EvalQuery, mode: Mode, dataset: Dataset) -> Answer:
    """Return the first ten, asked as `recollect search` asks."""
    listening = Listening(corpus.store)
    heard = replace(corpus, store=listening)  # type: ignore[arg-type]
    request = replace(request_for(query, mode), limit=TOP)
    reply = heard.search(request, load_profile("default"), now=query.asked_at or clock_of(dataset))
    return Answer(hits=tuple((hit.id, hit.score.hex()) for hit in reply.hits), lists=tuple(listening.lists))


@contextmanager
def in_postgres(dataset: Dataset, resources: EvalResources, server: str) -> Iterator[Corpus]:
    """Give the documents of *dataset* in a database of their own, with a graph."""
    store = open_at(database(server, f"parity_{dataset.name}", fresh=True))
    try:
        write_into(dataset, store, resources)
        store.scan = HalfPrecisionScan(few=FEW, graph=GRAPH)
        store.settle()
        yield Corpus(store=store, resources=resources)
    finally:
        store.close()


def compare(name: str, server: str, *, most: int = 0) -> list[Result]:
    """Ask the questions of the set *name* of both: by words all, by vectors all or at *most* so many."""
    dataset = read_dataset(DATA / name)
    resources = EvalResources(embedder=cached_embedder(), model="minilm")
    say(f"{name}: writing both stores")
    with imported(dataset, resources) as file, in_postgres(dataset, resources, server) as far:
        getattr(file.store, "settle", tuple)()
        return _compared(dataset, file, far, most)


def _compared(dataset: Dataset, file: Corpus, far: Corpus, most: int) -> list[Result]:
    queries = dataset.queries
    chosen = queries[:: max(1, len(queries) // most)][:most] if most else queries
    words = lists = hybrid = found = wanted = exact = 0
    for number, query in enumerate(queries, start=1):
        say(f"{dataset.name}: words {number}/{len(queries)}, {words} differ")
        words += answer(file, query, "keyword", dataset).hits != answer(far, query, "keyword", dataset).hits
    graph = far.store.scan  # type: ignore[attr-defined]
    for number, query in enumerate(chosen, start=1):
        say(f"{dataset.name}: hybrid {number}/{len(chosen)}, {hybrid} and {exact} differ")
        here, there = (answer(each, query, "hybrid", dataset) for each in (file, far))
        lists += here.lists == there.lists
        hybrid += here.lists == there.lists and here.hits != there.hits
        for one, other in zip(here.lists, there.lists, strict=True):
            wanted += len(one[:TOP])
            found += len({*one[:TOP]} & {*other[:TOP]})
        far.store.scan = HalfPrecisionScan()  # type: ignore[attr-defined]
        exact += here.hits != answer(far, query, "hybrid", dataset).hits
        far.store.scan = graph  # type: ignore[attr-defined]
    asked = len(chosen)
    recall = found / max(1, wanted)
    return [
        _result(dataset, "words", len(queries), words, "differ in an id or a bit of a score"),
        dataclasses.replace(
            _result(dataset, "vectors by graph", asked, lists, "lists equal to the exact ones"), recall=recall
        ),
        _result(dataset, "hybrid by graph", lists, hybrid, "differ though the lists are equal"),
        _result(dataset, "hybrid", asked, exact, "differ, all vectors compared"),
    ]


def _result(dataset: Dataset, row: str, asked: int, value: int, note: str) -> Result:
    return Result(
        section="parity",
        row=row,
        engine="postgres",
        text=dataset.name,
        size=len(dataset.documents),
        samples=asked,
        value=float(value),
        note=note,
    )
