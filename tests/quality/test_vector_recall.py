"""The quantised scan brings what the vectors rank first, on vectors that the real model makes of real texts."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kit import installed_models
from recollect.embedders.hashing import HashingEmbedder
from recollect.embedders.models import load as load_model
from recollect.evaluate.datasets import read_dataset, select
from recollect.stores.nearest.codes import NARROW
from recollect.stores.nearest.files import Columns, load, write
from recollect.stores.nearest.rank import Admission, Query, columns, nearest
from recollect.stores.nearest.table import Block
from recollect.vectors import pack

TEXTS, QUERIES, COPIES, WIDTH = 600, 60, 20, 384
SHORT = 64
"""How many pieces a passage has that is hashed: vectors of few words have few large numbers."""


@pytest.fixture(scope="module")
def vectors(shared_data: Path) -> Any:
    """Turns of conversations, and each of them some more times, a little beside itself."""
    with (shared_data / "locomo" / "corpus.jsonl").open(encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for _, line in zip(range(TEXTS + QUERIES), lines, strict=False)]
    made = load_model("minilm", installed_models()).embed_passages(texts)
    real = np.frombuffer(b"".join(map(pack, made)), dtype="<f4").reshape(-1, WIDTH)
    noise = np.random.default_rng(3).standard_normal((COPIES, *real.shape), dtype=np.float32)
    beside = real + 0.35 * noise / np.linalg.norm(noise, axis=2, keepdims=True)
    return real, (beside / np.linalg.norm(beside, axis=2, keepdims=True))[:, QUERIES:].reshape(-1, WIDTH)


def read(stored: Any, folder: Path) -> Block:
    """Return the block of *stored*, one memory each, written as one of a large store."""
    rows = np.arange(len(stored))
    spans = np.zeros((len(rows), 2), dtype="i8")
    held = Columns(ids=rows, memories=rows, ordinals=np.zeros_like(rows), spans=spans, in_context=rows[:0])
    vectors = {"plain": iter([stored]), "context": iter([])}
    write(folder, held, vectors, {}, dimensions=stored.shape[1], quantised=True)
    return load(folder, {})


def recall(block: Block, stored: Any, queries: Any) -> float:
    """Return which part of the nearest hundred is found."""
    among = columns([Admission(block=block, rows=None)], in_context=False)
    kept = 0
    for query in queries:
        best = np.sort(stored @ query)[-100]
        asked = Query(vector=query, read=lambda ids, _: stored[ids])
        ((found, *_),) = nearest(among, asked, 100, alone=True).passages
        kept += min(100, int(np.count_nonzero(stored[found] @ query >= best - 1e-6)))
    return kept / 100 / len(queries)


@pytest.mark.req("N-09")
def test_the_scan_by_codes_misses_fewer_than_one_in_a_thousand(vectors: Any, tmp_path: Path) -> None:
    real, beside = vectors
    stored = np.ascontiguousarray(np.concatenate([real[QUERIES:], beside]), dtype="<f4")

    block = read(stored, tmp_path / "segment")

    assert block.plain.codes() is not None
    assert block.plain.width == NARROW
    assert recall(block, stored, real[:QUERIES]) >= 0.999


@pytest.mark.parametrize("collection", ["zh_cmrc2018", "code_cosqa"])
@pytest.mark.req("N-09")
def test_short_questions_to_vectors_of_another_shape_miss_no_more(
    collection: str, shared_data: Path, tmp_path: Path
) -> None:
    embedder, folder = HashingEmbedder(), shared_data / collection
    asked = [query.text for query in select(read_dataset(folder).queries, "dev")[:QUERIES]]
    texts = [json.loads(line)["text"] for line in (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()]
    passages = [text[start:stop] for text in texts for start, stop in embedder.passages(text, most=SHORT)]

    stored = np.array(embedder.embed_passages(passages), dtype="<f4")
    block = read(stored, tmp_path / "segment")

    assert recall(block, stored, np.array(embedder.embed_queries(asked), dtype="<f4")) >= 0.999
