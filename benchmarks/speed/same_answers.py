"""Ask the questions of the judged sets of two stores and count the answers that differ in anything.

usage: PYTHONPATH=tests python -m benchmarks.speed.same_answers [--sets scifact] [--most 20]
One store is SQLite's with its index, the other the tests' store in memory, which ranks with plain Python. Compared
are whole answers, scores to the last bit, by words in every profile and hybrid in the default one, on the dev halves.
The vectors are of the hashing embedder, which needs no model; what a vector says does not matter here.
"""

import argparse
import json
import sys
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import takewhile
from typing import Any

from benchmarks.common import DATA
from benchmarks.speed.progress import clear, say
from msgspec.structs import replace

import oracle.store
from oracle.store import OracleStore
from recollect.embedders.hashing import HashingEmbedder
from recollect.evaluate.corpus import EvalResources, clock_of, imported, request_for
from recollect.evaluate.corpus import _import as write_into
from recollect.evaluate.datasets import Dataset, EvalQuery, read_dataset, split_of
from recollect.profile import BUILT_IN, load_profile
from recollect.records import Bigram, Leaf, Phrase, Prefix
from recollect.replies import Mode, Reply
from recollect.search.answer import search
from recollect.search.state import SearchContext
from recollect.stores.bm25 import by_field, form_of, postings_of
from recollect.stores.contract import Store
from recollect.text.analyser import analyse

SETS = (
    "everyday",
    "locomo",
    "scifact",
    "cranfield",
    "code_cosqa",
    "zh_cmrc2018",
    "ja_jsquad",
    "locomo_typo",
    "scifact_typo",
)
WAYS: tuple[tuple[str, Mode], ...] = (*((name, "keyword") for name in BUILT_IN), ("default", "hybrid"))
"""Profiles and modes: the words of a question are asked alike with and without vectors."""


class Shortcut:
    """Looks only at the memories that hold a token of a leaf, where the oracle looks at all: the same, sooner."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], list[int]] = {}
        self._tokens: list[tuple[str, str]] = []
        self._known: set[int] = set()

    def __call__(self, leaf: Leaf, terms: Mapping[int, Any], weights: Mapping[str, int]) -> Any:
        """Return what `postings_of` returns."""
        if not terms.keys() <= self._known:
            for row in terms.keys() - self._known:
                self._learn(row, terms[row])
            self._tokens = sorted(self._rows)
        rows = {row for key in self._keys(leaf) for row in self._rows.get(key, ())}
        return postings_of(leaf, {row: terms[row] for row in sorted(rows & terms.keys())}, weights)

    def _learn(self, row: int, terms: Any) -> None:
        self._known.add(row)
        for form in ("stem", "exact"):
            for token in {token for tokens in by_field(terms, form).values() for token in tokens}:
                self._rows.setdefault((form, token), []).append(row)

    def _keys(self, leaf: Leaf) -> Iterator[tuple[str, str]]:
        form = form_of(leaf)
        if isinstance(leaf, Prefix):
            first = bisect_left(self._tokens, (form, leaf.text))
            yield from takewhile(lambda key: key[0] == form and key[1].startswith(leaf.text), self._tokens[first:])
        else:
            yield (
                form,
                leaf.texts[0] if isinstance(leaf, Phrase) else leaf.first if isinstance(leaf, Bigram) else leaf.text,
            )


def asked(dataset: Dataset, most: int) -> Sequence[EvalQuery]:
    """Return questions of the dev half, spread over it."""
    chosen = [query for query in dataset.queries if split_of(query.id) == "dev"]
    step = max(1, len(chosen) // most) if most else 1
    return chosen[::step][: most or None]


def answer(store: Store, query: EvalQuery, name: str, mode: Mode, *, resources: EvalResources, now: datetime) -> Reply:
    """Return what *store* finds."""
    context = SearchContext(store=store, profile=load_profile(name), now=now, embedder=resources.embedder)
    return search(request_for(query, mode), context)


def same(one: Reply, other: Reply) -> bool:
    """Tell whether two answers are alike to the last bit; how long they took and the stores' own counters apart."""
    return replace(one, timings_ms={}, version=0) == replace(other, timings_ms={}, version=0)


def compare(name: str, most: int, resources: EvalResources) -> tuple[int, list[str]]:
    """Return how many questions of the set *name* were asked, and which answers differ."""
    dataset = read_dataset(DATA / name)
    oracle.store.postings_of = Shortcut()
    plain = OracleStore(analyse)
    with plain.transaction():  # it keeps a copy of all it holds for each one
        write_into(dataset, plain, resources)
    different, count, clock = [], 0, clock_of(dataset)
    queries = asked(dataset, most)
    with imported(dataset, resources) as corpus:
        getattr(corpus.store, "settle", tuple)()
        for number, query in enumerate(queries, start=1):
            say(f"{name}: question {number}/{len(queries)}, {len(different)} answers differ")
            for profile, mode in WAYS:
                found = [
                    answer(each, query, profile, mode, resources=resources, now=query.asked_at or clock)
                    for each in (corpus.store, plain)
                ]
                count += 1
                if not same(*found):
                    different.append(f"{name} {query.id} {profile} {mode}")
    return count, different


def main() -> None:
    """Compare, and print as JSON what was asked and what differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--most", type=int, default=0, help="so many questions of a set; all of them when 0")
    given = parser.parse_args()
    resources = EvalResources(embedder=HashingEmbedder(), model="hashing")
    told = {}
    for name in given.sets.split(","):
        count, different = compare(name, given.most, resources)
        told[name] = {"asked": count, "different": len(different), "note": "; ".join(different[:3])}
    clear()
    print(json.dumps(told))
    sys.exit(any(each["different"] for each in told.values()))


if __name__ == "__main__":
    main()
