"""What the tests of the seed profiles share: a store on disk, a clock to set, vectors chosen by hand, BM25's idf."""

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import recollect
from recollect.embedders.hashing import HashingEmbedder
from recollect.recall.lens import Lens

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
DIMENSIONS = 64
"""The first axis is where every question points; each memory leans away from it along an axis of its own."""
MADE_UP = tuple("".join(letters) + "k" for letters in product("bdfgmpvz", "aiou", "bdfgmpvz", "aiou", "lnrt"))
"""Words that stand in no other text."""


def idf(memories: int, holding: int) -> float:
    """Return ln((N - n + 0.5) / (n + 0.5)): FTS5's BM25 of a word that stands once in a memory of average length.

    With k1 = 1.2 and b = 0.75 its other factor is 1 x 2.2 / (1 + 1.2 x (0.25 + 0.75 x length / average)) = 1.
    """
    return math.log((memories - holding + 0.5) / (holding + 0.5))


def exactly(score: float) -> Any:
    """Return what equals *score* to the last digits that float32 cosines leave."""
    return pytest.approx(score, rel=1e-6)


def ids(reply: recollect.Reply) -> list[int]:
    return [hit.id for hit in reply.hits]


def scores(reply: recollect.Reply) -> dict[int, float]:
    return {hit.id: hit.score for hit in reply.hits}


def factors(hit: recollect.Hit) -> list[float]:
    """Return what *hit* was multiplied with, the smallest first."""
    return sorted(hit.factors.values())


@contextmanager
def serve_vectors(known: Mapping[str, list[float]]) -> Iterator[str]:
    """Serve the vectors of *known* texts in the OpenAI shape, zeros for others; give the model's address."""

    class Embeddings(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
            rows = [{"index": at, "embedding": known.get(text, [0.0] * DIMENSIONS)} for at, text in enumerate(texts)]
            body = json.dumps({"data": rows}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Stay quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Embeddings)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1#model=by-hand&dimensions={DIMENSIONS}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def leaning(cosine: float, axis: int) -> list[float]:
    """Return the unit vector with this *cosine* to the first axis, and the rest of it along *axis*."""
    vector = [0.0] * DIMENSIONS
    vector[0], vector[axis] = cosine, math.sqrt(1.0 - cosine * cosine)
    return vector


@dataclass(kw_only=True)
class Bench:
    """One store under the profile that is tested."""

    path: Path
    profile: str
    model: str
    vectors: dict[str, list[float]]
    now: datetime = NOW
    _opened: list[recollect.Recollection] = field(default_factory=list)

    @property
    def db(self) -> recollect.Recollection:
        """The store, opened when it is first needed."""
        return self._opened[0] if self._opened else self.open(self.model)

    def open(self, model: str) -> recollect.Recollection:
        """Open the store with *model*."""
        opened = recollect.open(self.path, profile=self.profile, model=model, clock=lambda: self.now)
        self._opened.insert(0, opened)
        return opened

    def close(self) -> None:
        """Close what was opened."""
        while self._opened:
            self._opened.pop().close()

    def near(self, texts: Mapping[str, float], *, days: float = 0, **about: Any) -> list[int]:
        """Remember each text with a vector of the given cosine to every question; before any without a vector."""
        for text, cosine in texts.items():
            self.vectors[text] = leaning(cosine, len(self.vectors) % (DIMENSIONS - 1) + 1)
        return self._keep(texts, days=days, embed=True, **about)

    def add(self, *texts: str, days: float = 0, **about: Any) -> list[int]:
        """Remember each text without a vector, as it was written so many *days* ago."""
        return self._keep(texts, days=days, embed=False, **about)

    def fill(self, count: int, *, words: int) -> None:
        """Remember *count* memories, each of so many *words* that stand nowhere else."""
        made_up = iter(MADE_UP)
        self.add(*(" ".join(next(made_up) for _ in range(words)) for _ in range(count)))

    def _keep(self, texts: Any, *, days: float, embed: bool, **about: Any) -> list[int]:
        self.now = NOW - timedelta(days=days)
        kept = self.db.add_all([recollect.Memory(content=text, **about) for text in texts], embed=embed)
        self.now = NOW
        assert {each.decision for each in kept} == {"distinct"}
        return [each.id for each in kept]

    def ask(self, query: str, **how: Any) -> recollect.Reply:
        """Search for *query*, whose vector lies on the first axis."""
        self.vectors[query] = [1.0] + [0.0] * (DIMENSIONS - 1)
        return self.db.search(query, **how)

    def keep_lens(self, boosts: Mapping[str, float]) -> str:
        """Keep a lens with these *boosts*; return its name."""
        self.db.lenses.keep(Lens(name="work", boosts=boosts))
        return "work"


def shown_and_own_cosine(profile: str) -> tuple[float | None, float]:
    """Return the cosine that a hit shows under *profile*, and that of a model whose cosines have another scale."""
    text, query = "copper kettle lid", "copper kettle lid holder"
    with recollect.open(":memory:", profile=profile, model="hashing", clock=lambda: NOW) as db:
        db.add(text)
        (hit,) = db.search(query, mode="semantic").hits
    first, second = HashingEmbedder().embed_passages([text, query])
    return hit.semantic_score, sum(float(one) * float(other) for one, other in zip(first, second, strict=True))
