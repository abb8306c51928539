"""Whether parts of arrays answer as the reference does: many made-up questions, and the number of differences.

Ids, the bits of scores, coverage, totals and document frequencies are compared. Small worlds take every turn that
dead rows, filters, projects, several parts and operators can take; one large part takes those that only size brings.

    python benchmarks/identical.py --cases 100000
"""

import argparse
import random
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache

from common import ROOT, watched

sys.path.insert(0, str(ROOT / "tests"))

import itertools

from recollect.records import AnyOf, Bigram, Leaf, TokenizedMemory, Word, WordHits, WordQuery
from recollect.stores import bm25
from recollect.stores.segments import searched
from recollect.stores.segments.build import build
from recollect.stores.segments.ranking import Searched, View, rank
from recollect.stores.segments.rows import index_row
from segment_worlds import USUAL, made_up_query, made_up_world

QUESTIONS = 100
"""How many questions a small world is asked."""
AGAIN = 5
"""Every so many questions the last one is asked again, for another number of hits and other ids."""
SHAPES = ((256, 2048), (4, 2048), (0, 0), (2, 8))
"""Up to how many rows leaves are added row by row, and together: sizes at which small worlds meet every turn."""
ROWS = 50_000
"""How many documents the large part holds."""
LARGE = 300
"""How many questions it is asked, at most."""


def main() -> None:
    parser = argparse.ArgumentParser(description="compare parts of arrays with the reference")
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    began = time.process_time()
    large = min(LARGE, given.cases // 10)
    differences = sum(watched(_small(given.seed, given.cases - large), of=given.cases - large, what="small"))
    differences += sum(watched(_large(given.seed, large), of=large, what="large"))
    print(f"{given.cases} questions, {differences} differences, {time.process_time() - began:.0f} s")
    sys.exit(differences > 0)


def _small(seed: int, cases: int) -> Iterator[bool]:
    """Yield for each question to small worlds whether the answers differ."""
    draw, usual = random.Random(seed), (searched.SPARSE, searched.FEW)
    query = made_up_query(draw)
    for case in range(cases):
        if case % QUESTIONS == 0:
            searched.SPARSE, searched.FEW = draw.choice(SHAPES)
            world = made_up_world(draw, most=draw.choice([3, 25, 25, 80]))
        if case % AGAIN:
            query = made_up_query(draw)
        limit, ids = draw.choice([0, 1, 3, 10, 100]), draw.sample(range(1, 320), 20)
        found = rank(query, world.searched, stats=world.stats, limit=limit, score_ids=ids)
        yield repr(found) != repr(world.reference(query, limit=limit, score_ids=ids))
    searched.SPARSE, searched.FEW = usual


def _large(seed: int, cases: int) -> Iterator[bool]:
    """Yield for each question to a large part whether the answers differ."""
    draw = random.Random(seed)
    words = [f"w{number}" for number in range(2_000)]
    shares = [1.0 / (rank + 1) for rank in range(len(words))]
    documents = {}
    for row in range(1, ROWS + 1 if cases else 1):
        body = tuple(draw.choices(words, shares, k=draw.randint(4, 20)))
        documents[row] = TokenizedMemory(stem={"body": body, "title": body[:2]}, exact={"body": body})
    asked_of = Searched([View(part=build([index_row(row, f"p{row % 3}", each) for row, each in documents.items()]))])
    stats, read = bm25.stats_of(documents), _reader(documents)
    for _ in range(cases):
        asked = list(dict.fromkeys(draw.choices(words, shares, k=draw.choice([1, 2, 8, 12]))))
        pairs = (Bigram(first=one, second=two, weight=0.2) for one, two in itertools.pairwise(asked))
        expression = AnyOf(parts=(*(Word(text=word) for word in asked), *pairs))
        query = WordQuery(expression=expression, weights=USUAL, idf=draw.choice(["lucene", "fts5"]))
        limit, ids = draw.choice([1, 10, 100, 1000]), draw.sample(range(1, ROWS + 100), 100)
        found = rank(query, asked_of, stats=stats, limit=limit, score_ids=ids)
        yield repr(found) != repr(_reference(query, read, stats, limit, ids))


def _reference(
    query: WordQuery,
    read: Callable[[Leaf], bm25.Postings],
    stats: bm25.CollectionStats,
    limit: int,
    score_ids: list[int],
) -> WordHits:
    return bm25.rank(query, read=read, stats=stats, admits=lambda rows: rows, limit=limit, score_ids=score_ids)


def _reader(documents: dict[int, TokenizedMemory]) -> Callable[[Leaf], bm25.Postings]:
    """Return how the reference reads a leaf, looking only into documents that hold its first stem."""
    holding: dict[str, list[int]] = defaultdict(list)
    for row, each in documents.items():
        for stem in {stem for stems in each.stem.values() for stem in stems}:
            holding[stem].append(row)
    weights = bm25.thousandths(USUAL)

    @cache
    def read(leaf: Leaf) -> bm25.Postings:
        first = leaf.text if isinstance(leaf, Word) else leaf.first if isinstance(leaf, Bigram) else ""
        return bm25.postings_of(leaf, {row: documents[row] for row in holding[first]}, weights)

    return read


if __name__ == "__main__":
    main()
