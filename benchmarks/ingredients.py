"""What each ingredient of the default ranking gains and costs: the profile against itself without it.

usage: python benchmarks/ingredients.py [--sets locomo,scifact] [--most 200] [--split dev]
Every question is asked by every profile before the next one, so that the times of one run compare. The sets lie in
../shared/data; vectors are kept in build/vectors from one run to the next. The whole takes about half an hour.
"""

import argparse
from collections.abc import Callable, Mapping
from statistics import fmean
from time import perf_counter

from msgspec.structs import replace

from common import DATA, cached_embedder, median, watched
from recollect.embedders.contract import Embedder
from recollect.evaluate.compare import compare_sets
from recollect.evaluate.corpus import EvalResources, clock_of, imported
from recollect.evaluate.datasets import EvalQuery, read_dataset, select
from recollect.evaluate.measures import ndcg
from recollect.profile import Profile, ReciprocalRanks, load_profile
from recollect.records import Scope
from recollect.replies import Mode, Request

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
    "turns by how much they say": lambda p: replace(p, weigh=replace(p.weigh, informativeness_shift=0.0)),
    "smoothing by neighbors": lambda p: replace(p, smooth=None),
    "words next to each other": lambda p: _words(p, bigram_weight=0.0),
    "lucene's idf (fts5's)": lambda p: _words(p, idf="fts5"),
    "title x 3 (x 2)": lambda p: _fields(p, title=2.0),
    "neighbours as fields": lambda p: _fields(p, before=0.0, after=0.0, around=0.0),
    "neighbours in vectors": lambda p: _retrieve(p, context_vectors=False),
    "date as a field": lambda p: _fields(p, date=0.0),
    "typo tolerance": lambda p: replace(p, typos=None),
    "small words left out": lambda p: _words(p, drop_stopwords=False),
    "scores of both lists": lambda p: _retrieve(p, cross_score=False),
    "weights for code": lambda p: _fuse(p, code_weights={}),
    "weighted sum (RRF 60)": lambda p: replace(p, fuse=ReciprocalRanks(k=60.0, weights=EVEN)),
}


def main() -> None:
    """Ask every set by every profile and print what each ingredient gives."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--split", default="dev", choices=("dev", "test", "all"))
    parser.add_argument("--mode", default="hybrid", choices=("keyword", "semantic", "hybrid"))
    parser.add_argument("--most", type=int, default=0, help="at most so many queries of a set")
    given = parser.parse_args()
    whole = load_profile("default")
    profiles = {"default": whole, **{name: without(whole) for name, without in WITHOUT.items()}}
    embedder = cached_embedder()
    found: dict[str, dict[str, dict[str, float]]] = {}
    took: dict[str, dict[str, list[float]]] = {}
    for name in given.sets.split(","):
        found[name], took[name] = one_set(name, profiles, embedder, given)
    embedder.close()
    report(found, took)


def one_set(
    name: str, profiles: Mapping[str, Profile], embedder: Embedder, given: argparse.Namespace
) -> tuple[dict[str, dict[str, float]], dict[str, list[float]]]:
    """Return nDCG@10 of each query and the milliseconds of each search, by profile."""
    dataset = read_dataset(DATA / name)
    now = clock_of(dataset)
    queries = select(dataset.queries, given.split)
    queries = queries[: given.most] if given.most else queries
    found: dict[str, dict[str, float]] = {variant: {} for variant in profiles}
    took: dict[str, list[float]] = {variant: [] for variant in profiles}
    with imported(dataset, EvalResources(embedder=embedder, model="minilm")) as corpus:

        def ask(query: EvalQuery, profile: Profile, mode: Mode) -> tuple[float, float]:
            scope = Scope(projects=frozenset({dataset.project_of(query.group)}))
            request = Request(text=query.text, mode=mode, limit=DEEP, scope=scope)
            started = perf_counter()
            reply = corpus.search(request, profile, now=now)
            passed = (perf_counter() - started) * 1000
            ids = [hit.memory.external_id or "" for hit in reply.hits]
            return ndcg(ids, dataset.judgements[query.id], k=10), passed

        order = list(profiles)
        for query in watched(queries, of=len(queries), what=name):
            ask(query, profiles[order[-1]], given.mode)  # the first to read a query's words from the disk pays for all
            for variant in order:
                found[variant][query.id], passed = ask(query, profiles[variant], given.mode)
                took[variant].append(passed)
            order = [*order[1:], order[0]]
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
    for variant in list(found[sets[0]])[1:]:
        compared = compare_sets({name: (found[name][variant], found[name]["default"]) for name in sets})
        gains = {name: fmean(found[name]["default"].values()) - fmean(found[name][variant].values()) for name in sets}
        rests = ([gain for other, gain in gains.items() if other != name] for name in sets)
        least = min(fmean(rest or gains.values()) for rest in rests)
        ratio = fmean(median(took[name]["default"]) / median(took[name][variant]) for name in sets)
        cells = " | ".join(f"{gains[name]:+.4f}" for name in sets)
        low, high = compared.interval.low, compared.interval.high
        mean = fmean(gains.values())
        interval = f"{low:+.4f} to {high:+.4f}"
        print(f"| {variant} | {cells} | {mean:+.4f} | {interval} | {least:+.4f} | {ratio:.2f}x |", flush=True)


if __name__ == "__main__":
    main()
