"""Families of models that are known by their names: what stands before their texts, and how a vector is made.

It holds where nothing else is said: a `model.toml` or the address of a server may say otherwise.
"""

from typing import Final, Literal

from msgspec import Struct

from recollect.lazy import regex

Pooling = Literal["mean", "cls", "none"]


class Family(Struct, frozen=True, kw_only=True):
    """What the models of a family have in common."""

    query_prefix: str = ""
    passage_prefix: str = ""
    pooling: Pooling = "mean"
    matryoshka: bool = False
    """Whether the beginning of a vector is a vector too."""


_OTHERS: Final = Family()
_FAMILIES: Final = (
    (
        regex(r"bge-(micro|small|base|large)(?!-zh)"),
        Family(query_prefix="Represent this sentence for searching relevant passages: ", pooling="cls"),
    ),
    (regex(r"bge-"), Family(pooling="cls")),
    (regex(r"\be5-(?!.*instruct)"), Family(query_prefix="query: ", passage_prefix="passage: ")),
    (
        regex(r"nomic-embed-text"),
        Family(query_prefix="search_query: ", passage_prefix="search_document: ", matryoshka=True),
    ),
    (regex(r"gte-.*v1\.5"), Family(pooling="cls")),
    (regex(r"text-embedding-3"), Family(matryoshka=True)),
)


def family_of(model: str) -> Family:
    """Return the family of the model called so; one without a prefix where none is known."""
    return next((family for name, family in _FAMILIES if name.search(model.lower())), _OTHERS)
