"""Made-up documents in parts, questions to them, and what the reference answers."""

import random
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np

from recollect.records import (
    FIELDS,
    AllOf,
    AndNot,
    AnyOf,
    Bigram,
    Expression,
    Form,
    Leaf,
    Phrase,
    Prefix,
    TokenizedMemory,
    Word,
    WordHits,
    WordQuery,
)
from recollect.stores import bm25
from recollect.stores.segments.build import build
from recollect.stores.segments.merge import merge
from recollect.stores.segments.part import Part
from recollect.stores.segments.ranking import PartView, Searcher
from recollect.stores.segments.rows import index_row

USUAL = dict(zip(FIELDS, (3.0, 1.0, 0.5, 0.3, 0.2, 0.5, 1.0, 0.3, 1.0, 1.0), strict=True))
PROJECTS = ("ada", "bob", "eve")
WORDS = ("a", "ab", "abc", "abd", "b", "ba", "c", "d", "zé", "日本", "internationalisation", "internationally")


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Documents, of which some are dead, some out of scope and some not admitted, and the views that say so."""

    documents: Mapping[int, TokenizedMemory]
    projects: Mapping[int, str]
    parts: Sequence[Part]
    searched: Searcher
    living: Mapping[int, TokenizedMemory]
    admitted: AbstractSet[int]

    @property
    def stats(self) -> bm25.CollectionStats:
        return bm25.stats_of(self.living)

    def reference(self, query: WordQuery, *, limit: int, score_ids: Sequence[int] = ()) -> WordHits:
        return bm25.rank(
            query,
            read=lambda leaf: bm25.postings_of(leaf, self.living, query.weights),
            stats=self.stats,
            admits=lambda rows: set(rows) & self.admitted,
            limit=limit,
            score_ids=score_ids,
        )

    def matching(self, query: WordQuery) -> set[int]:
        found = bm25.matching(query, read=lambda leaf: bm25.postings_of(leaf, self.living, query.weights))
        return set(found) & self.admitted

    def vocabulary(self, form: Form) -> dict[str, int]:
        found: dict[str, int] = {}
        for each in self.living.values():
            tokens = bm25.by_field(each, form)
            for token in {*tokens.get("title", ()), *tokens.get("body", ())}:
                found[token] = found.get(token, 0) + 1
        return found


def made_up_document(draw: random.Random, words: Sequence[str]) -> TokenizedMemory:
    def fields() -> dict[str, tuple[str, ...]]:
        return {name: tuple(draw.choices(words, k=draw.randint(1, 6))) for name in FIELDS if draw.random() < 0.4}

    return TokenizedMemory(stem=fields(), exact=fields(), code=draw.random() < 0.3)


def made_up_world(draw: random.Random, *, most: int = 25, words: Sequence[str] = WORDS) -> World:
    """Return up to *most* documents in one to three parts; some parts are merged of others."""
    ids = draw.sample(range(1, 4 * most), draw.randint(0, most))
    documents = {row: made_up_document(draw, words) for row in ids}
    projects = {row: draw.choice(PROJECTS) for row in ids}
    dead = {row for row in ids if draw.random() < draw.choice([0.0, 0.1, 0.5])}
    admitted = {row for row in ids if draw.random() < draw.choice([0.2, 0.8, 1.0])} - dead
    scope = draw.choice([None, {"ada"}, {"bob", "eve"}, {"ada", "eve"}])
    heaps: list[list[int]] = [[] for _ in range(draw.randint(1, 3))]
    for row in ids:
        draw.choice(heaps).append(row)
    parts = [made_up_part(draw, {row: documents[row] for row in heap}, projects) for heap in heaps]
    return World(
        documents=documents,
        projects=projects,
        parts=parts,
        searched=Searcher([view for part in parts for view in views_of(part, scope, dead, admitted)]),
        living={row: documents[row] for row in ids if row not in dead and (scope is None or projects[row] in scope)},
        admitted=admitted,
    )


def made_up_part(draw: random.Random, documents: Mapping[int, TokenizedMemory], projects: Mapping[int, str]) -> Part:
    """Return the documents as one part, built at once or merged of several, with others that are dead."""
    rows = [index_row(row, projects[row], each) for row, each in documents.items()]
    if draw.random() < 0.5:
        return build(rows)
    others = [index_row(-row, "gone", made_up_document(draw, WORDS)) for row in range(1, draw.randint(1, 4))]
    heaps = [[] for _ in range(draw.randint(1, 3))]
    for row in (*rows, *others):
        draw.choice(heaps).append(row)
    several = [build(heap) for heap in heaps]
    return merge([(each, None if (each.ids > 0).all() else each.ids > 0) for each in several])


def views_of(
    part: Part, scope: AbstractSet[str] | None, dead: AbstractSet[int], admitted: AbstractSet[int]
) -> list[PartView]:
    ids = part.ids.tolist()
    alive = np.array([row not in dead for row in ids], dtype=np.bool_)
    let_through = np.array([row in admitted for row in ids], dtype=np.bool_)
    return [
        PartView(
            part=part,
            start=start,
            stop=stop,
            alive=None if alive.all() else alive,
            admitted=None if (let_through | ~alive).all() else let_through,
        )
        for start, stop in part.ranges(scope)
    ]


def made_up_leaf(draw: random.Random, words: Sequence[str] = WORDS) -> Leaf:
    weight, kind = draw.choice([1.0, 1.0, 1.0, 0.5, 0.2, 0.0, 1e-20, 1e3]), draw.randint(0, 5)
    if kind <= 2:
        return Word(text=draw.choice([*words, "absent"]), form=draw.choice(["stem", "stem", "exact"]), weight=weight)
    if kind == 3:
        return Prefix(text=draw.choice(words)[: draw.randint(1, 3)], weight=weight)
    if kind == 4:
        return Phrase(texts=tuple(draw.choices(words, k=draw.randint(1, 3))), weight=weight)
    return Bigram(first=draw.choice(words), second=draw.choice(words), weight=weight)


def made_up_expression(draw: random.Random, depth: int = 2, words: Sequence[str] = WORDS) -> Expression:
    if depth == 0 or draw.random() < 0.2:
        return made_up_leaf(draw, words)
    parts = tuple(made_up_expression(draw, depth - 1, words) for _ in range(draw.randint(1, 5)))
    kind = draw.randint(0, 4)
    if kind <= 2:
        return AnyOf(parts=parts)
    return AllOf(parts=parts) if kind == 3 else AndNot(wanted=parts[0], unwanted=AnyOf(parts=parts[1:]))


def made_up_query(draw: random.Random, words: Sequence[str] = WORDS) -> WordQuery:
    expression, kind = made_up_expression(draw, words=words), draw.choice(["fts5", "lucene"])
    if draw.random() < 0.5:
        return WordQuery(expression=expression, weights=USUAL, idf=kind)
    weights = {name: draw.choice([0.0, 0.0004, 0.3, 1.0, 3.0]) for name in FIELDS if draw.random() < 0.9}
    k1, b = draw.choice([1.2, 0.9, 0.0, 2.0]), draw.choice([0.75, 0.0, 1.0])
    return WordQuery(expression=expression, weights=weights, k1=k1, b=b, idf=kind)
