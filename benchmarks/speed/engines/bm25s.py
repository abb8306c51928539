"""bm25s by words, NumPy by vectors, joined by reciprocal rank fusion."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
import Stemmer
from benchmarks.speed.engines import numpy
from benchmarks.speed.engines.fusion import fuse
from benchmarks.speed.material import read_questions, read_texts

VERSION = f"bm25s {bm25s.__version__}"
NOTE = "Snowball, English stop words, index mapped; exact vectors by NumPy; RRF 60 of the first 100 of each"


def _tokens(texts: list[str]) -> list[list[str]]:
    stem = Stemmer.Stemmer("english")
    return bm25s.tokenize(texts, stopwords="en", stemmer=stem, return_ids=False, show_progress=False)


def build(material: Path, home: Path) -> None:
    """Write the index by words; the vectors are the material's own file."""
    index = bm25s.BM25()
    index.index(_tokens(list(read_texts(material))), show_progress=False)
    index.save(str(home / "words"))


def searches(material: Path, home: Path) -> dict[str, Callable[[int], Any]]:
    """Map the index and read the vectors."""
    index = bm25s.BM25.load(str(home / "words"), mmap=True)
    asked = _tokens(read_questions(material))
    near = numpy.searches(material, home)["vectors"]

    def words(at: int, limit: int) -> list[int]:
        found, scores = index.retrieve([asked[at]], k=limit, show_progress=False)
        return np.asarray(found)[0][np.asarray(scores)[0] > 0].tolist()

    return {"words": lambda at: words(at, 10), "hybrid": lambda at: fuse((words(at, 100), near(at)))[:10]}
