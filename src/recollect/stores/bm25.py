"""The one BM25: FTS5's, over whatever postings a store can read.

k1, b and the kind of idf come with the question: FTS5's is ln((N - n + 0.5) / (n + 0.5)), never under 1e-6,
Lucene's the logarithm of one more than that fraction. A token's frequency is the sum over the fields of
weight x count; a row's length counts every field. With one project in a store and FTS5's idf this equals
FTS5's own bm25() to rounding (Robertson & Zaragoza, 2009).
"""

import heapq
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import Final, assert_never

from msgspec import Struct

from recollect.records import (
    AllOf,
    AndNot,
    AnyOf,
    Bigram,
    Expression,
    Form,
    IndexHit,
    Leaf,
    Phrase,
    Prefix,
    TokenizedMemory,
    Word,
    WordHits,
    WordQuery,
)

RAREST = 1e-6
"""FTS5's floor: a word in more than half of the rows still counts, just."""


SCORE_UNITS: Final = 1e12
"""Scores and coverage are rounded to whole units, 1 / this, so that every store orders hits alike; ties go by id."""

Postings = Mapping[int, tuple[float, int]]
"""Row id -> (weighted count, length of the row in the form asked for)."""

TOGETHER: Final = {"title": 1.0, "body": 1.0}
"""Where two words next to each other are looked for, and what that weighs."""


class CollectionStats(Struct, frozen=True, kw_only=True):
    """How many rows a scope holds, how many tokens they have together, by form, and how many rows are code."""

    rows: int
    stem: int
    exact: int
    code: int = 0

    def average(self, form: Form) -> float:
        """Return the mean length of a row, at least one token."""
        return max(1.0, (self.stem if form == "stem" else self.exact) / max(1, self.rows))

    def __add__(self, other: "CollectionStats") -> "CollectionStats":
        return CollectionStats(
            rows=self.rows + other.rows,
            stem=self.stem + other.stem,
            exact=self.exact + other.exact,
            code=self.code + other.code,
        )


def form_of(leaf: Leaf) -> Form:
    """Return which index *leaf* asks: words say so, pairs are of stems, prefixes and phrases are exact."""
    match leaf:
        case Word(form=form):
            return form
        case Bigram():
            return "stem"
        case Prefix() | Phrase():
            return "exact"


def rank(
    query: WordQuery,
    *,
    read: Callable[[Leaf], Postings],
    stats: CollectionStats,
    admits: Callable[[AbstractSet[int]], AbstractSet[int]],
    limit: int,
    score_ids: Sequence[int] = (),
    version: int = 0,
) -> WordHits:
    """Return the best *limit* rows for *query*, ties by id, and the scores of *score_ids*."""
    postings = {leaf: read(leaf) for leaf in dict.fromkeys(leaves(query.expression, unwanted=True))}
    found = admits(_matching(query.expression, postings))
    wanted = list(dict.fromkeys(leaves(query.expression, unwanted=False)))
    scores = _score(wanted, postings, stats, query)
    worth = [
        (max(idf(leaf, len(postings[leaf]), stats, query.idf) for leaf in clause), clause)
        for clause in dict.fromkeys(clauses(query.expression))
    ]
    whole = sum(value for value, _ in worth) or 1.0

    def match(row: int) -> IndexHit:
        held = (
            value * max((leaf.weight for leaf in clause if row in postings[leaf]), default=0.0)
            for value, clause in worth
        )
        return IndexHit(id=row, score=scores[row], coverage=rounded(min(1.0, sum(held) / whole)))

    best = heapq.nsmallest(limit, found, key=lambda row: (-scores[row], row))
    return WordHits(
        top=tuple(match(row) for row in best),
        by_id={row: match(row) for row in score_ids if row in found},
        total=len(found),
        code_share=stats.code / max(1, stats.rows),
        document_frequencies=_document_frequencies(postings),
        version=version,
    )


def matching(query: WordQuery, *, read: Callable[[Leaf], Postings]) -> AbstractSet[int]:
    """Return every row that *query* match."""
    postings = {leaf: read(leaf) for leaf in dict.fromkeys(leaves(query.expression, unwanted=True))}
    return _matching(query.expression, postings)


def _document_frequencies(postings: Mapping[Leaf, Postings]) -> dict[str, int]:
    """Return in how many rows each word stands; of two forms that look alike, the more frequent one counts."""
    found: dict[str, int] = {}
    for leaf, rows in postings.items():
        if isinstance(leaf, Word):
            found[leaf.text] = max(len(rows), found.get(leaf.text, 0))
    return found


def rounded(score: float) -> float:
    """Return *score* in whole units; a tie goes to the even one, as in NumPy."""
    return round(score * SCORE_UNITS) / SCORE_UNITS


def idf(leaf: Leaf, held: int, stats: CollectionStats, kind: str) -> float:
    """Return what *leaf*, which *held* rows hold, is worth by its rarity and its weight."""
    odds = (stats.rows - held + 0.5) / (held + 0.5)
    return (math.log1p(odds) if kind == "lucene" else max(RAREST, math.log(odds))) * leaf.weight


def _score(
    wanted: Sequence[Leaf], postings: Mapping[Leaf, Postings], stats: CollectionStats, query: WordQuery
) -> dict[int, float]:
    scores: dict[int, float] = {}
    for leaf in wanted:
        gain = idf(leaf, len(postings[leaf]), stats, query.idf) * (query.k1 + 1.0)
        base = query.k1 * (1.0 - query.b)
        slope = query.k1 * query.b / stats.average(form_of(leaf))
        for row, (count, length) in postings[leaf].items():
            scores[row] = scores.get(row, 0.0) + gain * count / (count + base + slope * length)
    return {row: rounded(score) for row, score in scores.items()}


def _matching(expression: Expression, postings: Mapping[Leaf, Postings]) -> AbstractSet[int]:
    match expression:
        case AnyOf(parts=parts):
            return set().union(*(_matching(part, postings) for part in parts))
        case AllOf(parts=parts):
            first, *rest = (_matching(part, postings) for part in parts)
            return set(first).intersection(*rest)
        case AndNot(wanted=wanted, unwanted=unwanted):
            return _matching(wanted, postings) - _matching(unwanted, postings)
        case Word() | Prefix() | Phrase() | Bigram():
            return postings[expression].keys()


def leaves(expression: Expression, *, unwanted: bool) -> Iterator[Leaf]:
    """Yield the leaves in order, with or without those that must not match."""
    match expression:
        case AnyOf(parts=parts) | AllOf(parts=parts):
            for part in parts:
                yield from leaves(part, unwanted=unwanted)
        case AndNot(wanted=wanted, unwanted=excluded):
            yield from leaves(wanted, unwanted=unwanted)
            if unwanted:
                yield from leaves(excluded, unwanted=True)
        case Word() | Prefix() | Phrase() | Bigram():
            yield expression


def clauses(expression: Expression) -> Iterator[tuple[Leaf, ...]]:
    """Yield what is asked for, each with what may be meant by it instead; pairs are a bonus and not asked for."""
    match expression:
        case AnyOf(parts=parts) | AllOf(parts=parts):
            for part in parts:
                if isinstance(part, AnyOf):
                    yield tuple(leaves(part, unwanted=False))
                else:
                    yield from clauses(part)
        case AndNot(wanted=wanted):
            yield from clauses(wanted)
        case Bigram():
            pass
        case Word() | Prefix() | Phrase():
            yield (expression,)


# --- postings of memories whose tokens are at hand ----------------------------------------------


def postings_of(leaf: Leaf, terms: Mapping[int, TokenizedMemory], weights: Mapping[str, float]) -> Postings:
    """Return where *leaf* stands among *terms*: weighted counts and row lengths."""
    form = form_of(leaf)
    counts = ((row, count_of(leaf, by_field(each, form), weights)) for row, each in terms.items())
    return {row: (count, length(terms[row], form)) for row, count in counts if count > 0}


def stats_of(terms: Mapping[int, TokenizedMemory]) -> CollectionStats:
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


def count_of(leaf: Leaf, tokens: Mapping[str, tuple[str, ...]], weights: Mapping[str, float]) -> float:
    """Return how often *leaf* stands among *tokens* by field, weighted."""
    if isinstance(leaf, Bigram):
        weights = TOGETHER
    return sum(
        [max(0.0, weight) * _occurrences(leaf, tokens[name]) for name, weight in weights.items() if name in tokens]
    )


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
