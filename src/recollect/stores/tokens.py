"""Postings of memories whose tokens are at hand: how often a leaf stands in each, and how long each is."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import assert_never

from recollect.records import Bigram, Form, Leaf, Phrase, Prefix, TokenizedMemory, Word
from recollect.stores.bm25 import TOGETHER, CollectionStats, Postings, form_of


def posted(leaf: Leaf, terms: Mapping[int, TokenizedMemory], weights: Mapping[str, int]) -> Postings:
    """Return where *leaf* stands among *terms*: weighted counts and row lengths."""
    form = form_of(leaf)
    counts = ((row, _count(leaf, by_field(each, form), weights)) for row, each in terms.items())
    return {row: (count, length(terms[row], form)) for row, count in counts if count > 0}


def volume_of(terms: Mapping[int, TokenizedMemory]) -> CollectionStats:
    """Return how much *terms* are together."""
    return CollectionStats(
        rows=len(terms),
        stem=sum(length(each, "stem") for each in terms.values()),
        exact=sum(length(each, "exact") for each in terms.values()),
        code=sum(each.code for each in terms.values()),
    )


def by_field(terms: TokenizedMemory, form: Form) -> Mapping[str, tuple[str, ...]]:
    """Return the tokens of one form, by field."""
    return terms.stem if form == "stem" else terms.exact


def length(terms: TokenizedMemory, form: Form) -> int:
    """Return how many tokens there are in all fields."""
    return sum(map(len, by_field(terms, form).values()))


def _count(leaf: Leaf, tokens: Mapping[str, tuple[str, ...]], weights: Mapping[str, int]) -> int:
    if isinstance(leaf, Bigram):
        weights = TOGETHER
    return sum(weight * _occurrences(leaf, tokens[name]) for name, weight in weights.items() if name in tokens)


def _occurrences(leaf: Leaf, tokens: Sequence[str]) -> int:
    match leaf:
        case Word(text=text):
            return tokens.count(text)
        case Prefix(text=text):
            return sum(token.startswith(text) for token in tokens)
        case Phrase(texts=texts):
            starts = range(len(tokens) - len(texts) + 1)
            return sum(tuple(tokens[at : at + len(texts)]) == texts for at in starts)
        case Bigram(first=first, second=second):
            return sum(pair == (first, second) for pair in pairwise(tokens))
    assert_never(leaf)
