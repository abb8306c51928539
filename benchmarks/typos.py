"""What typos cost keyword search, and how much of it tolerance brings back: recall@10.

usage: python benchmarks/typos.py [--sets scifact,locomo] [--most 500]
The sets lie in ../shared/data, each with a twin whose questions hold a typo.
"""

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from recollect.evaluate.datasets import Dataset, Query, read_dataset
from recollect.evaluate.evaluate import answer, take_in
from recollect.evaluate.measures import MEASURES, means, score
from recollect.profile import Profile, load_profile
from recollect.stores.contract import Store
from recollect.stores.sqlite import open_sqlite
from recollect.text.analyser import analyse

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
MEASURE = "recall@10"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default="scifact,locomo")
    parser.add_argument("--most", type=int, default=0, help="at most so many queries of a set, evenly chosen")
    given = parser.parse_args()
    print("| set | queries | clean | clean, tolerant | typos | typos, tolerant | recovered |")
    print("|---|---|---|---|---|---|---|")
    for name in given.sets.split(","):
        one_set(name, given.most)


def one_set(name: str, most: int) -> None:
    clean, mistyped = read_dataset(FOLDER / name), read_dataset(FOLDER / f"{name}_typo")
    tolerant = load_profile("default")
    exact = replace(tolerant, words=replace(tolerant.words, typo_weight=0.0))
    pairs = paired(clean.queries, mistyped.queries)
    pairs = pairs[:: max(1, len(pairs) // most)][:most] if most else pairs
    plain, slipped = [one for one, _ in pairs], [other for _, other in pairs]
    with tempfile.TemporaryDirectory() as folder:
        store = open_sqlite(Path(folder) / "set.db", analyse)
        take_in(clean, store=store, analyse=analyse, now=NOW)
        figures = [
            recall(queries, clean, store, profile) for queries in (plain, slipped) for profile in (exact, tolerant)
        ]
        store.close()
    before, _, without, within = figures
    recovered = (within - without) / (before - without)
    cells = " | ".join(f"{figure:.3f}" for figure in figures)
    print(f"| {name} | {len(plain)} | {cells} | {recovered:.0%} |", flush=True)


def paired(clean: Sequence[Query], mistyped: Sequence[Query]) -> list[tuple[Query, Query]]:
    twins = {query.id: query for query in mistyped}
    return [(query, twins[query.id]) for query in clean if query.id in twins]


def recall(queries: Sequence[Query], dataset: Dataset, store: Store, profile: Profile) -> float:
    answers = answer(queries, dataset, store=store, profile=profile, mode="keyword", now=NOW)
    judged = {query.id: dataset.judgements[query.id] for query in queries}
    found = score({row: list(each.ids) for row, each in answers.items()}, judged, measures={MEASURE: MEASURES[MEASURE]})
    return means(found)[MEASURE]


if __name__ == "__main__":
    main()
