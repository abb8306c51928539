"""What each stage that understands a question costs when it has nothing to do, beside a keyword search.

usage: python benchmarks/stages.py [--set locomo] [--queries 60] [--rounds 7]
Each question is asked with and without the stage in turn; the best time of each counts. The set lies in
../shared/data. A ratio above 1.10 ends the run with exit code 1.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

from recollect.evaluate.datasets import read_dataset
from recollect.evaluate.evaluate import take_in
from recollect.profile import Profile, load_profile
from recollect.records import Scope
from recollect.replies import Reply, Request
from recollect.search import search
from recollect.search.intent import expansions, key_terms
from recollect.stores.contract import Store
from recollect.stores.sqlite import open_sqlite
from recollect.text.analyser import analyse
from recollect.text.dates import find_dates
from recollect.text.tokenizer import read_words, significant

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
WALL = 1.10


def bare(profile: Profile) -> Profile:
    """Return *profile* with every stage off."""
    return replace(
        profile,
        words=replace(profile.words, typo_weight=0.0),
        weigh=replace(profile.weigh, date_sway=0.0),
        expand=replace(profile.expand, most=0),
    )


STAGES: Mapping[str, Callable[[Profile], Profile]] = {
    "nothing (noise)": lambda plain: plain,
    "typo tolerance": lambda plain: replace(plain, words=replace(plain.words, typo_weight=0.7)),
    "dates": lambda plain: replace(plain, weigh=replace(plain.weigh, date_sway=0.15)),
    "expansion": lambda plain: replace(plain, expand=replace(plain.expand, most=4)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", default="locomo")
    parser.add_argument("--queries", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    dataset = read_dataset(FOLDER / given.set)
    with tempfile.TemporaryDirectory() as folder:
        store = open_sqlite(Path(folder) / "set.db", analyse)
        take_in(dataset, store=store, analyse=analyse, now=NOW)
        asked = (
            Request(
                text=" ".join(key_terms(query.text)),
                mode="keyword",
                scope=Scope(projects=frozenset({dataset.project_of(query.group)})),
            )
            for query in dataset.queries
        )
        chosen = [request for request in asked if idle(request, store)][: given.queries]
        ratios = {name: ratio(chosen, store, stage, rounds=given.rounds) for name, stage in STAGES.items()}
        store.close()
    print(f"| stage with nothing to do | keyword search x ({len(chosen)} queries of {given.set}) |\n|---|---|")
    for name, found in ratios.items():
        print(f"| {name} | {found:.3f} |")
    sys.exit(any(found > WALL for found in ratios.values()))


def idle(request: Request, store: Store) -> bool:
    """Tell whether no stage has anything to do: each word known, no date, no other way to ask, and an answer."""
    if expansions(request.text) or find_dates(request.text, now=NOW):
        return False
    stems = [stem for word in significant(read_words(request.text)) for stem in word.stems]
    known = bool(stems) and all(store.document_frequencies(scope=request.scope, form="stem", words=stems).values())
    return known and bool(ask(request, store, load_profile("default")).hits)


def ask(request: Request, store: Store, profile: Profile) -> Reply:
    return search(request, store=store, profile=profile, now=NOW)


def ratio(requests: list[Request], store: Store, stage: Callable[[Profile], Profile], *, rounds: int) -> float:
    plain = bare(load_profile("default"))
    profiles = (plain, stage(plain))
    best = [[float("inf")] * len(requests) for _ in profiles]
    for turn in range(rounds):
        for at, request in enumerate(requests):
            for which in (0, 1) if turn % 2 else (1, 0):
                started = perf_counter()
                ask(request, store, profiles[which])
                best[which][at] = min(best[which][at], perf_counter() - started)
    without, within = map(sum, best)
    return within / without


if __name__ == "__main__":
    main()
