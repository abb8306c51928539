"""LanceDB's hybrid search with the two rerankers that need no model: RRF (its default) and linear combination.

No vector index is made, as its guide advises for small tables: vectors are compared exactly. The conversation is a
column, and a filter before both searches.
"""

from pathlib import Path

import lancedb
import pyarrow as pa
from lancedb.index import FTS
from lancedb.rerankers import LinearCombinationReranker, Reranker, RRFReranker
from material import DEPTH, Material, Question, Search, Searches

VERSION = f"lancedb {lancedb.__version__}"


def build(material: Material, home: Path) -> Searches:
    """Write one table with its full-text index."""
    width = material.vectors.shape[1]
    rows = pa.table(
        {
            "id": [document.id for document in material.documents],
            "text": [document.text for document in material.documents],
            "project": [document.group for document in material.documents],
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(material.vectors.ravel()), width),
        }
    )
    table = lancedb.connect(str(home)).create_table("notes", data=rows)
    table.create_index("text", config=text_index(cjk=material.cjk))
    return {
        "lancedb, RRF": hybrid(table, RRFReranker()),
        "lancedb, linear .7/.3": hybrid(table, LinearCombinationReranker()),
    }


def text_index(*, cjk: bool) -> FTS:
    """Return its default (English: stemmed, without stop words), or bigrams where words are not set apart."""
    if not cjk:
        return FTS()
    return FTS(base_tokenizer="ngram", ngram_min_length=2, ngram_max_length=2, stem=False, remove_stop_words=False)


def hybrid(table: lancedb.table.Table, reranker: Reranker) -> Search:
    """Return the search that joins both legs with *reranker*."""

    def search(question: Question) -> list[str]:
        asked = table.search(query_type="hybrid").vector(question.vector).text(question.text)
        if question.group:
            asked = asked.where(f"project = '{question.group}'", prefilter=True)
        found = asked.rerank(reranker).select(["id"]).limit(DEPTH).to_arrow()
        return found["id"].to_pylist()

    return search
