"""What each ingredient of the default ranking gains and costs: the profile against itself without it.

usage: python benchmarks/ingredients.py [--sets locomo,scifact] [--most 200] [--split dev]
Every question is asked in every way before the next one, so that the times of one run compare. The sets lie in
../shared/data; vectors are kept in build/vectors from one run to the next. The whole takes about half an hour.
"""

import argparse
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from time import perf_counter

from common import DATA, ROOT, median, watched
from recollect.embedders.cached import CachedEmbedder
from recollect.embedders.models import load
from recollect.evaluate.compare import compare_sets
from recollect.evaluate.datasets import Query, read_dataset, select
from recollect.evaluate.evaluate import KeptVectors, clock_of, take_in
from recollect.evaluate.measures import ndcg
from recollect.profile import Profile, load_profile
from recollect.records import Scope
from recollect.replies import Mode, Request
from recollect.search import search
from recollect.settings import models_folder, read_settings
from recollect.stores.sqlite import open_sqlite
from recollect.text.analyser import analyse

SETS = ("locomo", "locomo_typo", "scifact", "scifact_typo", "cranfield", "code_cosqa")
DEEP = 20


def _fields(profile: Profile, **weights: float) -> Profile:
    return replace(profile, words=replace(profile.words, fields={**profile.words.fields, **weights}))


def _words(profile: Profile, **values: object) -> Profile:
    return replace(profile, words=replace(profile.words, **values))  # type: ignore[arg-type]


def _fuse(profile: Profile, **values: object) -> Profile:
    return replace(profile, fuse=replace(profile.fuse, **values))  # type: ignore[arg-type]


def _retrieve(profile: Profile, **values: object) -> Profile:
    return replace(profile, retrieve=replace(profile.retrieve, **values))  # type: ignore[arg-type]


EVEN = {"words": 1.0, "vector": 1.0}
WITHOUT: Mapping[str, Callable[[Profile], Profile]] = {
    "turns by what they state": lambda p: replace(p, weigh=replace(p.weigh, stated_sway=0.0)),
    "company (kin)": lambda p: replace(p, kin=replace(p.kin, weight=0.0)),
    "words next to each other": lambda p: _words(p, pair_weight=0.0),
    "lucene's idf (fts5's)": lambda p: _words(p, idf="fts5"),
    "title x 3 (x 2)": lambda p: _fields(p, title=2.0),
    "neighbours as fields": lambda p: _fields(p, before=0.0, after=0.0, around=0.0),
    "neighbours in vectors": lambda p: _retrieve(p, context_vectors=False),
    "date as a field": lambda p: _fields(p, date=0.0),
    "typo tolerance": lambda p: _words(p, typo_weight=0.0),
    "small words left out": lambda p: _words(p, significant=False),
    "complete scores": lambda p: _retrieve(p, complete=False),
    "weights for code": lambda p: _fuse(p, for_code={}),
    "weighted sum (RRF 60)": lambda p: _fuse(p, method="rrf", k=60.0, weights=EVEN, for_code={}),
}


def main() -> None:
    """Ask every set in every way and print what each ingredient gives."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--split", default="dev", choices=("dev", "test", "all"))
    parser.add_argument("--mode", default="hybrid", choices=("keyword", "semantic", "hybrid"))
    parser.add_argument("--most", type=int, default=0, help="at most so many queries of a set")
    given = parser.parse_args()
    whole = load_profile("default")
    ways = {"default": whole, **{name: without(whole) for name, without in WITHOUT.items()}}
    embedder = CachedEmbedder(KeptVectors(load("minilm", models_folder(read_settings())), ROOT / "build" / "vectors"))
    found: dict[str, dict[str, dict[str, float]]] = {}
    took: dict[str, dict[str, list[float]]] = {}
    for name in given.sets.split(","):
        found[name], took[name] = one_set(name, ways, embedder, given)
    embedder.close()
    report(found, took)


def one_set(
    name: str, ways: Mapping[str, Profile], embedder: CachedEmbedder, given: argparse.Namespace
) -> tuple[dict[str, dict[str, float]], dict[str, list[float]]]:
    """Return nDCG@10 of each query and the milliseconds of each search, by way."""
    dataset = read_dataset(DATA / name)
    now = clock_of(dataset)
    queries = select(dataset.queries, given.split)
    queries = queries[: given.most] if given.most else queries
    found: dict[str, dict[str, float]] = {way: {} for way in ways}
    took: dict[str, list[float]] = {way: [] for way in ways}
    with tempfile.TemporaryDirectory() as folder:
        store = open_sqlite(Path(folder) / "set.db", analyse)
        take_in(dataset, store=store, analyse=analyse, now=now, embedder=embedder, model="minilm")

        def ask(query: Query, profile: Profile, mode: Mode) -> tuple[float, float]:
            scope = Scope(projects=frozenset({dataset.project_of(query.group)}))
            request = Request(text=query.text, mode=mode, limit=DEEP, scope=scope)
            started = perf_counter()
            reply = search(request, store=store, profile=profile, now=now, embedder=embedder)
            passed = (perf_counter() - started) * 1000
            ids = [hit.memory.external_id or "" for hit in reply.hits]
            return ndcg(ids, dataset.judgements[query.id], k=10), passed

        order = list(ways)
        for query in watched(queries, of=len(queries), what=name):
            ask(query, ways[order[-1]], given.mode)  # the first to read a question's words from the disk pays for all
            for way in order:
                found[way][query.id], passed = ask(query, ways[way], given.mode)
                took[way].append(passed)
            order = [*order[1:], order[0]]
        store.close()
    return found, took


def report(
    found: Mapping[str, Mapping[str, Mapping[str, float]]], took: Mapping[str, Mapping[str, list[float]]]
) -> None:
    """Print a Markdown table: gain by set, on the mean, its interval, the least mean with a set left out, the cost."""
    sets = list(found)
    print("| without | " + " | ".join(sets) + " | mean | 95 % | leaving one out, least | time |")
    print("|---|" + "---|" * (len(sets) + 4))
    means = " | ".join(f"{fmean(found[name]['default'].values()):.4f}" for name in sets)
    speed = " / ".join(f"{median(took[name]['default']):.0f}" for name in sets)
    print(f"| (default, nDCG@10) | {means} | | | | {speed} ms |")
    for way in list(found[sets[0]])[1:]:
        compared = compare_sets({name: (found[name][way], found[name]["default"]) for name in sets})
        gains = {name: fmean(found[name]["default"].values()) - fmean(found[name][way].values()) for name in sets}
        rests = ([gain for other, gain in gains.items() if other != name] for name in sets)
        least = min(fmean(rest or gains.values()) for rest in rests)
        ratio = fmean(median(took[name]["default"]) / median(took[name][way]) for name in sets)
        cells = " | ".join(f"{gains[name]:+.4f}" for name in sets)
        low, high = compared.interval.low, compared.interval.high
        mean = fmean(gains.values())
        print(
            f"| {way} | {cells} | {mean:+.4f} | {low:+.4f} to {high:+.4f} | {least:+.4f} | {ratio:.2f}x |", flush=True
        )


if __name__ == "__main__":
    main()
