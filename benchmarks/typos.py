"""What typos cost keyword search, and how much of it tolerance brings back: recall@10.

usage: python benchmarks/typos.py [--sets scifact,locomo] [--most 500]
The sets lie in ../shared/data, each with a twin whose queries hold a typo.
"""

import argparse
from collections.abc import Sequence

from msgspec.structs import replace

from common import DATA
from recollect.evaluate.corpus import Corpus, EvalResources, imported
from recollect.evaluate.datasets import EvalQuery, read_dataset
from recollect.evaluate.evaluate import EvalSet, ranking, search_all
from recollect.evaluate.measures import mean, recall
from recollect.profile import Profile, load_profile


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default="scifact,locomo")
    parser.add_argument("--most", type=int, default=0, help="at most so many queries of a set, evenly chosen")
    given = parser.parse_args()
    print("| set | queries | clean | clean, tolerant | typos | typos, tolerant | recovered |")
    print("|---|---|---|---|---|---|---|")
    for name in given.sets.split(","):
        one_set(name, given.most)


def exact(profile: Profile) -> Profile:
    """Return *profile* without tolerance of typos."""
    return replace(profile, typos=None)


def one_set(name: str, most: int) -> None:
    clean, mistyped = read_dataset(DATA / name), read_dataset(DATA / f"{name}_typo")
    tolerant = load_profile("default")
    pairs = paired(clean.queries, mistyped.queries)
    pairs = pairs[:: max(1, len(pairs) // most)][:most] if most else pairs
    asked = [EvalSet(dataset=clean, queries=tuple(pair[side] for pair in pairs)) for side in (0, 1)]
    with imported(clean, EvalResources()) as corpus:
        figures = [recall_at_10(each, profile, corpus) for each in asked for profile in (exact(tolerant), tolerant)]
    before, _, without, within = figures
    recovered = (within - without) / (before - without)
    cells = " | ".join(f"{figure:.3f}" for figure in figures)
    print(f"| {name} | {len(pairs)} | {cells} | {recovered:.0%} |", flush=True)


def paired(clean: Sequence[EvalQuery], mistyped: Sequence[EvalQuery]) -> list[tuple[EvalQuery, EvalQuery]]:
    twins = {query.id: query for query in mistyped}
    return [(query, twins[query.id]) for query in clean if query.id in twins]


def recall_at_10(asked: EvalSet, profile: Profile, corpus: Corpus) -> float:
    replies = search_all(asked, profile, "keyword", corpus)
    found = {query: [each.id for each in ranking(reply)] for query, (reply, _) in replies.items()}
    return mean(recall(found[query], gains, k=10) for query, gains in asked.judged.items())


if __name__ == "__main__":
    main()
