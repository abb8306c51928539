"""Every profile on every judged set: nDCG@10 by words, by meaning and by both.

usage: python benchmarks/retrieval_quality.py [--sets locomo,scifact] [--profiles default,cortex] [--split all]
The sets lie in ../shared/data; vectors are kept in build/vectors from one run to the next.
"""

import argparse
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from recollect.embedders.cached import CachedEmbedder
from recollect.embedders.models import load
from recollect.evaluate.cache import KeptVectors
from recollect.evaluate.datasets import read_dataset, select
from recollect.evaluate.measures import MEASURES as ALL_MEASURES
from recollect.evaluate.measures import means, score
from recollect.evaluate.run import answer, take_in
from recollect.profile import BUILT_IN, load_profile
from recollect.settings import models_folder, read_settings
from recollect.stores.sqlite import SqliteStore
from recollect.text.analyse import analyse

ROOT = Path(__file__).resolve().parents[1]
SETS = ("locomo", "scifact", "cranfield", "code_cosqa", "zh_cmrc2018", "ja_jsquad", "locomo_typo", "scifact_typo")
MODES = ("keyword", "semantic", "hybrid")
MEASURES = ("ndcg@10", "recall@10", "recall@100", "mrr@10")
CHOSEN = {name: ALL_MEASURES[name] for name in MEASURES}
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def show(done: int, total: int, what: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{what:<50} {done}/{total}" + ("\r" + " " * 70 + "\r" if done == total else ""))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--profiles", default=",".join(BUILT_IN))
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--split", default="all", choices=("dev", "test", "all"))
    parser.add_argument("--most", type=int, default=0, help="at most so many queries of a set")
    given = parser.parse_args()
    embedder = CachedEmbedder(KeptVectors(load("minilm", models_folder(read_settings())), ROOT / "build" / "vectors"))
    print("| set | profile | mode | queries | " + " | ".join(MEASURES) + " | ms |")
    print("|---|---|---|---|" + "---|" * (len(MEASURES) + 1))
    for name in given.sets.split(","):
        one_set(name, embedder, given)


def one_set(name: str, embedder: CachedEmbedder, given: argparse.Namespace) -> None:
    dataset = read_dataset(ROOT.parent / "shared" / "data" / name)
    queries = select(dataset.queries, given.split)
    queries = queries[: given.most] if given.most else queries
    judged = {query.id: dataset.judgements[query.id] for query in queries}
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "set.db", analyse)
        take_in(dataset, store=store, analyse=analyse, now=NOW, embedder=embedder, model="minilm", progress=show)
        for profile in given.profiles.split(","):
            for mode in given.modes.split(","):
                answers = answer(
                    queries,
                    dataset,
                    store=store,
                    profile=load_profile(profile),
                    mode=mode,
                    now=NOW,
                    embedder=embedder,
                    progress=show,
                )
                found = means(score({q: list(a.ids) for q, a in answers.items()}, judged, measures=CHOSEN))
                took = median(each.milliseconds for each in answers.values())
                cells = " | ".join(f"{found[measure]:.3f}" for measure in MEASURES)
                print(f"| {name} | {profile} | {mode} | {len(queries)} | {cells} | {took:.1f} |", flush=True)
        store.close()


if __name__ == "__main__":
    main()
