"""txtai's hybrid index: BM25 and vectors from outside, joined by its convex combination; vectors compared exactly."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import txtai.version
from benchmarks.speed.material import read_questions, read_texts, read_vectors
from txtai.embeddings import Embeddings

VERSION = f"txtai {txtai.version.__version__}"
NOTE = "`hybrid=True`, vectors from outside, compared exactly"
EXACT = {"components": "IDMap,Flat"}


TRANSFORM = f"{__name__}.transform"
KNOWN: dict[str, Any] = {}
"""The vectors of texts and questions; txtai asks for them by a function that it finds by name."""


def transform(texts: list[str]) -> Any:
    """Return the vectors of *texts*."""
    return np.stack([KNOWN[text] for text in texts])


def build(material: Path, home: Path) -> None:
    """Write its index."""
    texts = list(read_texts(material))
    KNOWN.update(zip(texts, read_vectors(material), strict=True))
    index = Embeddings(method="external", transform=TRANSFORM, faiss=EXACT, hybrid=True)
    index.index((number, text, None) for number, text in enumerate(texts))
    index.save(str(home / "index"))


def searches(material: Path, home: Path) -> dict[str, Callable[[int], Any]]:
    """Open it."""
    asked = read_questions(material)
    KNOWN.update(zip(asked, read_vectors(material, "questions")[:], strict=True))
    index = Embeddings()
    index.load(str(home / "index"))
    return {"hybrid": lambda at: [int(number) for number, _ in index.search(asked[at], 10)]}
