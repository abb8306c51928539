"""Chroma: vectors alone, in its default HNSW index; on one's own machine it ranks by nothing else."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import chromadb
from benchmarks.speed.material import read_texts, read_vectors

VERSION = f"chromadb {chromadb.__version__}"
NOTE = "default HNSW; no search by words on one's own machine, so its row stands for vectors alone"
PLAIN = chromadb.Settings(anonymized_telemetry=False)


def build(material: Path, home: Path) -> None:
    """Fill one collection."""
    client = chromadb.PersistentClient(str(home), settings=PLAIN)
    notes = client.create_collection("notes", embedding_function=None)
    vectors, texts, most = read_vectors(material), list(read_texts(material)), client.get_max_batch_size()
    for start in range(0, len(texts), most):
        part = texts[start : start + most]
        ids = [str(start + at) for at in range(len(part))]
        notes.add(ids=ids, embeddings=vectors[start : start + most], documents=part)


def searches(material: Path, home: Path) -> dict[str, Callable[[int], Any]]:
    """Open it."""
    notes = chromadb.PersistentClient(str(home), settings=PLAIN).get_collection("notes", embedding_function=None)
    vectors = read_vectors(material, "questions")[:]

    def near(at: int) -> list[int]:
        found = notes.query(query_embeddings=[vectors[at]], n_results=100, include=[])
        return [int(each) for each in found["ids"][0]]

    return {"vectors": near}
