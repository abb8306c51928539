"""Chroma: vectors alone, in its default HNSW index; on one's own machine it ranks by nothing else.

The conversation is metadata, and a filter of the query.
"""

from pathlib import Path

import chromadb
from material import DEPTH, Material, Question, Searches

VERSION = f"chromadb {chromadb.__version__}"


def build(material: Material, home: Path) -> Searches:
    """Fill one collection."""
    client = chromadb.PersistentClient(str(home), settings=chromadb.Settings(anonymized_telemetry=False))
    notes = client.create_collection("notes", embedding_function=None)
    most = client.get_max_batch_size()
    for start in range(0, len(material.documents), most):
        batch = material.documents[start : start + most]
        notes.add(
            ids=[document.id for document in batch],
            embeddings=material.vectors[start : start + most],
            documents=[document.text for document in batch],
            metadatas=[{"project": document.group} for document in batch],
        )

    def search(question: Question) -> list[str]:
        within = {"project": question.group} if question.group else None
        found = notes.query(query_embeddings=[question.vector], n_results=DEPTH, where=within, include=[])
        return found["ids"][0]

    return {"chromadb, vectors": search}
