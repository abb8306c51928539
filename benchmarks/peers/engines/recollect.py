"""recollect itself with its default profile: the real write path, the real read path, a SQLite store.

A question's vector is at hand, as it is for every tool here. Each question is asked within its project.
"""

import atexit
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from material import Material, Question, Search, Searches

import recollect
from recollect.embedders.contract import Embedder, Span
from recollect.embedders.models import load
from recollect.evaluate.cache import DiskCachedEmbedder
from recollect.evaluate.corpus import EvalResources, clock_of, imported, request_for
from recollect.evaluate.datasets import read_dataset
from recollect.profile import load_profile
from recollect.replies import Mode
from recollect.settings import models_folder, read_settings
from recollect.vectors import Vector

VERSION = f"recollect {recollect.__version__}"
VECTORS = Path(__file__).resolve().parents[3] / "build" / "vectors"
MODES: tuple[Mode, ...] = ("keyword", "semantic", "hybrid")

_spent: list[float] = []


def embedding_seconds() -> float:
    """Return how long the embedder was at work, which no other tool here has to wait for."""
    return sum(_spent)


class Ready:
    """An embedder that has the vectors of the questions at hand, and counts what its other work takes."""

    def __init__(self, inner: Embedder, questions: Sequence[str]) -> None:
        self._inner = inner
        self._known = dict(zip(questions, inner.embed_queries(questions), strict=True))
        self.fingerprint = inner.fingerprint
        self.dimensions = inner.dimensions

    def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vector of each text as something to be found."""
        started = time.perf_counter()
        found = self._inner.embed_passages(texts)
        _spent.append(time.perf_counter() - started)
        return found

    def embed_queries(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vector of each text as something to find by."""
        for text in (text for text in texts if text not in self._known):
            self._known[text] = self._inner.embed_queries([text])[0]
        return [self._known[text] for text in texts]

    def count_pieces(self, text: str) -> int:
        """Say how much of the model's room *text* takes."""
        return self._inner.count_pieces(text)

    def passages(self, text: str, *, most: int | None = None) -> list[Span]:
        """Cut *text* into passages."""
        started = time.perf_counter()
        found = self._inner.passages(text, most=most)
        _spent.append(time.perf_counter() - started)
        return found

    def covers(self, text: str) -> bool:
        """Say whether the model knows the script of *text*."""
        return self._inner.covers(text)

    def knows_word(self, word: str) -> bool:
        """Say whether *word* is a whole word of the model's vocabulary."""
        return self._inner.knows_word(word)

    def close(self) -> None:
        """Close the model."""
        self._inner.close()


def build(material: Material, _home: Path) -> Searches:
    """Import the set and search it in every mode."""
    return build_rows(material, {f"recollect, {mode}": ("default", mode) for mode in MODES})


def build_rows(material: Material, rows: Mapping[str, tuple[str, Mode]]) -> Searches:
    """Import the set as a user would; the time to load the model and find kept vectors is not counted."""
    started = time.perf_counter()
    dataset = read_dataset(Path(material.source))
    queries = {query.id: query for query in dataset.queries}
    cached = DiskCachedEmbedder(load("minilm", models_folder(read_settings())), VECTORS)
    embedder = Ready(cached, [question.text for question in material.questions])
    _spent.append(time.perf_counter() - started)
    open_until_the_end = ExitStack()
    atexit.register(open_until_the_end.close)
    corpus = open_until_the_end.enter_context(imported(dataset, EvalResources(embedder=embedder, model="minilm")))

    def row(name: str, mode: Mode) -> Search:
        profile, now = load_profile(name), clock_of(dataset)

        def search(question: Question) -> tuple[str, ...]:
            query = queries[question.id]
            reply = corpus.search(request_for(query, mode), profile, now=query.asked_at or now)
            return tuple(hit.memory.external_id or "" for hit in reply.hits)

        return search

    return {name: row(profile, mode) for name, (profile, mode) in rows.items()}
