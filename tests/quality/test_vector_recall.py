"""The quantised scan brings what the vectors rank first, on vectors that the real model makes of real texts."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kit import installed_models
from recollect.embedders.models import load as load_model
from recollect.stores.nearest.files import Columns, Writer, load
from recollect.stores.nearest.rank import Admission, columns, nearest
from recollect.vectors import pack

TEXTS, QUERIES, COPIES, WIDTH = 600, 60, 20, 384


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


@pytest.mark.req("N-09")
def test_the_scan_by_codes_misses_fewer_than_one_in_a_thousand(vectors: Any, tmp_path: Path) -> None:
    real, beside = vectors
    stored = np.ascontiguousarray(np.concatenate([real[QUERIES:], beside]), dtype="<f4")
    rows = np.arange(len(stored))
    spans = np.zeros((len(rows), 2), dtype="i8")
    held = Columns(ids=rows, memories=rows, ordinals=np.zeros_like(rows), spans=spans, in_context=rows[:0])
    writer = Writer(tmp_path / "segment", held, dimensions=WIDTH, quantised=True)
    writer.write("plain", iter([stored]))
    writer.write("context", iter([]))
    writer.finish({})
    block = load(tmp_path / "segment", {})
    among = columns([Admission(block=block, rows=None)], in_context=False)

    kept = 0
    for query in real[:QUERIES]:
        best = np.sort(stored @ query)[-100]
        ((found, *_),) = nearest(among, query, 100, quantised=True, alone=True).passages
        kept += min(100, int(np.count_nonzero(stored[found] @ query >= best - 1e-6)))

    assert block.plain.codes() is not None
    assert kept >= 0.999 * 100 * QUERIES
