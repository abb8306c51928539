"""Families of models that are known by their names, in a folder and on a server."""

import json
from typing import Any

import pytest

from local_server import Answer, Asked, serving
from recollect.embedders.families import family_of
from recollect.embedders.manifest import parse_manifest
from recollect.embedders.remote import RemoteEmbedder, read_remote


@pytest.mark.parametrize(
    ("model", "query", "passage", "pooling"),
    [
        ("BAAI/bge-small-en-v1.5", "Represent this sentence for searching relevant passages: ", "", "cls"),
        ("bge-m3", "", "", "cls"),
        ("bge-small-zh-v1.5", "", "", "cls"),
        ("intfloat/multilingual-e5-small", "query: ", "passage: ", "mean"),
        ("multilingual-e5-large-instruct", "", "", "mean"),
        ("nomic-embed-text:v1.5", "search_query: ", "search_document: ", "mean"),
        ("thenlper/gte-small", "", "", "mean"),
        ("minilm", "", "", "mean"),
        ("text-embedding-3-small", "", "", "mean"),
    ],
)
def test_a_family_is_known_by_its_name(model: str, query: str, passage: str, pooling: str) -> None:
    family = family_of(model)

    assert (family.query_prefix, family.passage_prefix, family.pooling) == (query, passage, pooling)


def test_what_a_manifest_says_stands_above_its_family() -> None:
    usual = parse_manifest({"name": "bge-small-en", "dimensions": 384}, where="here")
    told = parse_manifest({"name": "bge-small-en", "dimensions": 384, "pooling": "mean", "query_prefix": ""}, where="")

    assert (usual.pooling, bool(usual.query_prefix)) == ("cls", True)
    assert (told.pooling, told.query_prefix) == ("mean", "")


def test_a_server_is_asked_with_the_prefixes_of_the_family_and_its_vectors_are_cut() -> None:
    heard: list[str] = []

    def answer(asked: Asked) -> Answer:
        texts: list[Any] = json.loads(asked.body)["input"]
        heard.extend(texts)
        rows = [{"index": at, "embedding": [3.0, 4.0, 12.0]} for at in range(len(texts))]
        return Answer(body=json.dumps({"data": rows}).encode())

    with serving(answer) as url:
        embedder = RemoteEmbedder(read_remote(f"{url}#model=nomic-embed-text&dimensions=2"))
        (query,), (passage,) = embedder.embed_queries(["when"]), embedder.embed_passages(["then"])

    assert heard == ["search_query: when", "search_document: then"]
    assert list(query) == list(passage) == pytest.approx([0.6, 0.8])
