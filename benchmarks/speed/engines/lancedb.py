"""LanceDB: its own full-text index, vectors compared exactly, its hybrid search with the RRF reranker."""

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import lancedb
import pyarrow as pa
from benchmarks.speed.material import read_questions, read_texts, read_vectors
from lancedb.index import FTS
from lancedb.rerankers import RRFReranker

VERSION = f"lancedb {lancedb.__version__}"
NOTE = "`FTS()`, exact vectors, `RRFReranker()`"
BATCH = 20_000


def build(material: Path, home: Path) -> None:
    """Write one table with its full-text index."""
    vectors = read_vectors(material)
    kind = pa.schema(
        [("number", pa.int64()), ("text", pa.string()), ("vector", pa.list_(pa.float32(), vectors.shape[1]))]
    )
    table = lancedb.connect(str(home)).create_table("notes", schema=kind)
    texts = enumerate(read_texts(material))
    while batch := list(islice(texts, BATCH)):
        numbers = [number for number, _ in batch]
        rows = pa.array(vectors[numbers[0] : numbers[-1] + 1].ravel())
        table.add(
            pa.table(
                {
                    "number": numbers,
                    "text": [text for _, text in batch],
                    "vector": pa.FixedSizeListArray.from_arrays(rows, vectors.shape[1]),
                },
                schema=kind,
            )
        )
    table.create_index("text", config=FTS())
    table.optimize()


def searches(material: Path, home: Path) -> dict[str, Callable[[int], Any]]:
    """Open it."""
    table = lancedb.connect(str(home)).open_table("notes")
    asked, vectors = read_questions(material), read_vectors(material, "questions")[:]
    reranker = RRFReranker()

    def numbers(found: Any, limit: int) -> list[int]:
        return found.select(["number"]).limit(limit).to_arrow()["number"].to_pylist()

    def hybrid(at: int) -> list[int]:
        found = table.search(query_type="hybrid").vector(vectors[at]).text(asked[at])
        return numbers(found.rerank(reranker), 10)

    return {
        "words": lambda at: numbers(table.search(asked[at], query_type="fts"), 10),
        "vectors": lambda at: numbers(table.search(vectors[at]), 100),
        "hybrid": hybrid,
    }
