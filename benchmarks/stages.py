"""What each stage that understands a question costs when it has nothing to do, beside a keyword search.

usage: python benchmarks/stages.py [--set locomo] [--queries 60] [--rounds 7]
Each question is asked with and without the stage in turn; the best time of each counts. The set lies in
../shared/data. A ratio above 1.10 ends the run with exit code 1.
"""

import argparse
import sys
from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter

from common import DATA
from recollect.evaluate.corpus import UNDATED, Corpus, EvalResources, imported
from recollect.evaluate.datasets import read_dataset
from recollect.profile import Profile, load_profile
from recollect.records import Scope
from recollect.replies import Request
from recollect.search.intent import key_terms, paraphrases
from recollect.text.dates import find_dates
from recollect.text.tokenizer import read_words, significant

WALL = 1.10


def changed(profile: Profile, *, typos: float, dates: float, variants: int) -> Profile:
    """Return *profile* with these three stages set."""
    return replace(
        profile,
        words=replace(profile.words, typo_weight=typos),
        weigh=replace(profile.weigh, date_boost=dates),
        expand=replace(profile.expand, max_variants=variants),
    )


BARE = changed(load_profile("default"), typos=0.0, dates=0.0, variants=0)
STAGES: Mapping[str, Profile] = {
    "nothing (noise)": BARE,
    "typo tolerance": changed(BARE, typos=0.9, dates=0.0, variants=0),
    "dates": changed(BARE, typos=0.0, dates=0.3, variants=0),
    "expansion": changed(BARE, typos=0.0, dates=0.0, variants=4),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", default="locomo")
    parser.add_argument("--queries", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    dataset = read_dataset(DATA / given.set)
    with imported(dataset, EvalResources()) as corpus:
        asked = (
            Request(
                text=" ".join(key_terms(query.text)),
                mode="keyword",
                scope=Scope(projects=frozenset({dataset.project_of(query.group)})),
            )
            for query in dataset.queries
        )
        chosen = [request for request in asked if idle(request, corpus)][: given.queries]
        ratios = {name: ratio(chosen, corpus, profile, rounds=given.rounds) for name, profile in STAGES.items()}
    print(f"| stage with nothing to do | keyword search x ({len(chosen)} queries of {given.set}) |\n|---|---|")
    for name, found in ratios.items():
        print(f"| {name} | {found:.3f} |")
    sys.exit(any(found > WALL for found in ratios.values()))


def idle(request: Request, corpus: Corpus) -> bool:
    """Tell whether no stage has anything to do: each word known, no date, no other way to ask, and an answer."""
    if paraphrases(request.text) or find_dates(request.text, now=UNDATED):
        return False
    stems = [stem for word in significant(read_words(request.text)) for stem in word.stems]
    known = corpus.store.document_frequencies(words=stems, scope=request.scope, form="stem")
    return all(known.values()) and bool(corpus.search(request, load_profile("default"), now=UNDATED).hits)


def ratio(requests: list[Request], corpus: Corpus, profile: Profile, *, rounds: int) -> float:
    profiles = (BARE, profile)
    best = [[float("inf")] * len(requests) for _ in profiles]
    for turn in range(rounds):
        for at, request in enumerate(requests):
            for which in (0, 1) if turn % 2 else (1, 0):
                started = perf_counter()
                corpus.search(request, profiles[which], now=UNDATED)
                best[which][at] = min(best[which][at], perf_counter() - started)
    without, within = map(sum, best)
    return within / without


if __name__ == "__main__":
    main()
