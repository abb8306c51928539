"""recollect itself with its default profile: the real write path, the real read path, a SQLite store.

A question's vector is at hand, as it is for every tool here. Each question is asked within its project.
"""

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from material import Material, Question, Search, Searches

import recollect
from recollect.embedders.contract import Embedder, Span
from recollect.embedders.models import load
from recollect.evaluate.datasets import read_dataset
from recollect.evaluate.evaluate import KeptVectors, answer, take_in
from recollect.profile import load_profile
from recollect.replies import Mode
from recollect.settings import models_folder, read_settings
from recollect.stores.sqlite import open_sqlite
from recollect.text.analyser import analyse
from recollect.vectors import Vector

VERSION = f"recollect {recollect.__version__}"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
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

    def close(self) -> None:
        """Let go of everything held."""
        self._inner.close()


def build(material: Material, home: Path) -> Searches:
    """Import the set and search it in every mode."""
    return build_rows(material, home, {f"recollect, {mode}": ("default", mode) for mode in MODES})


def build_rows(material: Material, home: Path, rows: Mapping[str, tuple[str, Mode]]) -> Searches:
    """Import the set as a user would; the time to load the model and find kept vectors is not counted."""
    started = time.perf_counter()
    dataset = read_dataset(Path(material.source))
    queries = {query.id: query for query in dataset.queries}
    kept = KeptVectors(load("minilm", models_folder(read_settings())), VECTORS)
    embedder = Ready(kept, [question.text for question in material.questions])
    _spent.append(time.perf_counter() - started)
    store = open_sqlite(home / "notes.db", analyse)
    take_in(dataset, store=store, analyse=analyse, now=NOW, embedder=embedder, model="minilm")

    def row(profile: str, mode: Mode) -> Search:
        chosen = load_profile(profile)

        def search(question: Question) -> tuple[str, ...]:
            within = {"store": store, "profile": chosen, "mode": mode, "now": NOW, "embedder": embedder}
            return answer([queries[question.id]], dataset, **within)[question.id].ids

        return search

    return {name: row(profile, mode) for name, (profile, mode) in rows.items()}
