"""tantivy, and usearch's HNSW beside it, joined by reciprocal rank fusion; usearch is left out of the largest size.

The texts go through its English stemmer; a question is a boolean query of eight terms, parsed before the clock runs.
By default all matches are counted, as ours are. The hybrid row has usearch look as far as it must to find nearly all
that is near, as every other tool here does but Chroma; its default effort is a row of its own.
"""

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import tantivy
from benchmarks.speed.engines.fusion import fuse
from benchmarks.speed.material import read_questions, read_texts, read_vectors
from usearch.index import Index

VERSION = f"tantivy {version('tantivy')}, usearch {version('usearch')}"
NOTE = "`en_stem`; HNSW of usearch in float32, effort 64 (its default) to 512; RRF 60 of the first 100 of each"
LARGEST = 200_000
"""So many vectors take minutes to index by one thread; more of them would take most of an hour."""
EFFORTS = (64, 128, 256, 512)
"""How many candidates usearch keeps while it searches: more of them find more and take longer."""


def build(material: Path, home: Path) -> None:
    """Write both indexes."""
    (home / "words").mkdir()
    schema = tantivy.SchemaBuilder()
    schema.add_text_field("text", stored=False, tokenizer_name="en_stem", index_option="freq")
    schema.add_integer_field("number", stored=False, fast=True)
    index = tantivy.Index(schema.build(), str(home / "words"))
    writer = index.writer(heap_size=512_000_000, num_threads=1)
    for number, text in enumerate(read_texts(material)):
        writer.add_document(tantivy.Document(text=text, number=number))
    writer.commit()
    writer.wait_merging_threads()
    vectors = read_vectors(material)
    if len(vectors) <= LARGEST:
        near = Index(ndim=vectors.shape[1], metric="ip", dtype="f32")
        near.add(range(len(vectors)), vectors[:], threads=1)
        near.save(str(home / "near.usearch"))


def searches(material: Path, home: Path) -> dict[str, Callable[[int], Any]]:
    """Open both."""
    index = tantivy.Index.open(str(home / "words"))
    index.reload()
    searcher = index.searcher()
    parsed = [index.parse_query(question, ["text"]) for question in read_questions(material)]
    rows: dict[str, Callable[[int], Any]] = {
        "words": lambda at: searcher.search(parsed[at], 10).hits,
        "words, matches not counted": lambda at: searcher.search(parsed[at], 10, count=False).hits,
    }
    if (home / "near.usearch").exists():
        rows |= _near(material, home, lambda at: _ids(searcher, searcher.search(parsed[at], 100, count=False).hits))
    return rows


def _ids(searcher: Any, hits: list[Any]) -> list[int]:
    return searcher.fast_field_values("number", [address for _, address in hits])


def _near(material: Path, home: Path, words: Callable[[int], list[int]]) -> dict[str, Callable[[int], Any]]:
    near = Index.restore(str(home / "near.usearch"), view=True)
    asked = read_vectors(material, "questions")[:]

    def by_vector(at: int) -> list[int]:
        return near.search(asked[at], 100, threads=1).keys.tolist()

    def with_effort(effort: int) -> Callable[[int], list[int]]:
        def search(at: int) -> list[int]:
            near.expansion_search = effort
            return by_vector(at)

        return search

    usual, *more = EFFORTS
    by_default, best = with_effort(usual), with_effort(more[-1])
    return {
        "vectors": by_default,
        **{f"vectors, effort {effort}": with_effort(effort) for effort in more},
        "hybrid": lambda at: fuse((words(at), best(at)))[:10],
        "hybrid, default effort": lambda at: fuse((words(at), by_default(at)))[:10],
    }
