"""bm25s: Lucene's BM25 with its own k1 1.5 and b .75, Snowball stems, English stop words dropped.

Where words are not set apart by spaces, bigrams of characters. The conversation is a mask over the scores.
"""

import re
from pathlib import Path

import bm25s
import numpy as np
import Stemmer
from material import DEPTH, Material, Question, Searches

VERSION = f"bm25s {bm25s.__version__}"

_WORD = re.compile(r"\w+")


def build(material: Material, home: Path) -> Searches:  # noqa: ARG001 - it indexes in memory
    """Index the texts by word."""
    stem = Stemmer.Stemmer("english")

    def words(texts: list[str]) -> list[list[str]]:
        if material.cjk:
            return [bigrams(text) for text in texts]
        return bm25s.tokenize(texts, stopwords="en", stemmer=stem, return_ids=False, show_progress=False)

    index = bm25s.BM25()
    index.index(words([document.text for document in material.documents]), show_progress=False)
    ids = [document.id for document in material.documents]
    masks = {group: np.zeros(len(ids), dtype=np.float32) for group in material.groups}
    for group, numbers in material.groups.items():
        masks[group][numbers] = 1

    def search(question: Question) -> list[str]:
        asked = words([question.text])
        if not any(word in index.vocab_dict for word in asked[0]):
            return []
        depth, mask = min(DEPTH, len(ids)), masks[question.group] if question.group else None
        found, scores = index.retrieve(asked, k=depth, weight_mask=mask, show_progress=False)
        return [ids[number] for number, score in zip(found[0], scores[0], strict=True) if score > 0]

    return {"bm25s": search}


def bigrams(text: str) -> list[str]:
    """Return the pairs of characters within each run of letters."""
    return [run[at : at + 2] for run in _WORD.findall(text.lower()) for at in range(max(1, len(run) - 1))]
