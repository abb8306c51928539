"""txtai's hybrid index: BM25 and vectors from outside, its convex combination of .5 and .5.

It filters only after ranking, so every conversation has an index of its own. Vectors are compared exactly: its default
above 5,000 documents is an index by clusters, with which the hybrid falls from .711 to .643 on scifact.
"""

from pathlib import Path

import numpy as np
import txtai.version
from material import DEPTH, Material, Question, Searches
from txtai.embeddings import Embeddings

VERSION = f"txtai {txtai.version.__version__}"
EXACT = {"components": "IDMap,Flat"}


def build(material: Material, home: Path) -> Searches:  # noqa: ARG001 - it indexes in memory
    """Index each group."""
    vectors = {each.text: vector for each, vector in zip(material.documents, material.vectors, strict=True)}
    asked = {question.text: question.vector for question in material.questions}
    known = {**asked, **vectors}

    def transform(texts: list[str]) -> np.ndarray:
        return np.stack([known[text] for text in texts])

    indexes = {}
    for group, numbers in material.groups.items():
        indexes[group] = index = Embeddings(
            method="external", transform=transform, faiss=EXACT, **words(cjk=material.cjk)
        )
        index.index((material.documents[number].id, material.documents[number].text, None) for number in numbers)

    def search(question: Question) -> list[str]:
        return [name for name, _ in indexes[question.group].search(question.text, DEPTH)]

    return {"txtai, hybrid": search}


def words(*, cjk: bool) -> dict[str, object]:
    """Return its default hybrid, or the same over bigrams where words are not set apart."""
    if not cjk:
        return {"hybrid": True}
    return {"scoring": {"method": "bm25", "terms": True, "normalize": True, "tokenizer": {"ngrams": 2}}}
