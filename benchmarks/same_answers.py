"""Do two checkouts give the same answers? Record those of each, then compare the two files.

usage: python benchmarks/same_answers.py record FILE [--sets everyday,locomo] [--most 60] [--stores FOLDER]
       python benchmarks/same_answers.py compare FILE FILE
The dev questions of the sets in ../shared/data are asked of every profile in every mode. A file has a line for each
answer: ids, scores to the last bit, and the rest (shares, factors, snippets, marks, outcome, evidence, suggestions)
as a digest. FOLDER keeps the stores from one recording to the next. Any difference ends a comparison with exit code 1.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

from msgspec.structs import replace

from common import DATA, cached_embedder, watched
from recollect.evaluate.corpus import Corpus, EvalResources, _import, clock_of, request_for
from recollect.evaluate.datasets import Dataset, read_dataset, select
from recollect.profile import load_profile
from recollect.replies import Hit, Mode, Reply
from recollect.stores.choice import open_store
from recollect.text.analyser import ANALYSER, analyse

SETS = "everyday,locomo,locomo_typo,scifact,scifact_typo,cranfield,code_cosqa,ja_jsquad"
PROFILES = ("default", "cortex", "oro", "boocode", "engram", "nornicdb")
LIMIT = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--most", type=int, default=60, help="at most so many questions of a set, evenly chosen")
    parser.add_argument("--stores", type=Path, default=Path("build/stores"))
    given = parser.parse_args()
    if given.action == "compare":
        sys.exit(compare(*given.files))
    with given.files[0].open("w", encoding="utf-8") as file:
        for name in given.sets.split(","):
            for line in answers(read_dataset(DATA / name), given.most, given.stores):
                file.write(json.dumps(line) + "\n")


# --- record ---------------------------------------------------------------------------------


def answers(dataset: Dataset, most: int, stores: Path) -> Iterator[dict[str, Any]]:
    """Yield what each profile answers in each mode to the dev questions of *dataset*."""
    dev = select(dataset.queries, "dev")
    chosen = dev[:: max(1, len(dev) // most)][:most]
    asked = [(name, mode, precise) for name in PROFILES for mode in get_args(Mode) for precise in (False, True)]
    asked = [each for each in asked if each[0] == "default" or not each[2]]
    with corpus_of(dataset, stores) as corpus:
        for name, mode, precise in watched(asked, of=len(asked), what=dataset.name):
            for query in chosen:
                plain = request_for(query, mode)
                request = replace(plain, limit=LIMIT, snippets=True, include_facts=True, precise=precise)
                reply = corpus.search(request, load_profile(name), now=clock_of(dataset))
                asks = f"{dataset.name} {name} {mode}{' precise' * precise} {query.id}"
                yield {"asked": asks, "hits": [_hit(each) for each in reply.hits], "rest": _rest(reply)}


@contextmanager
def corpus_of(dataset: Dataset, stores: Path) -> Iterator[Corpus]:
    """Give the documents of *dataset* in a store in the folder *stores*, where they may be already."""
    stores.mkdir(parents=True, exist_ok=True)
    resources = EvalResources(embedder=cached_embedder(), model="minilm")
    store = open_store(str(stores / f"{dataset.name.removesuffix('_typo')}.db"), analyse, analyser=ANALYSER)
    try:
        if not store.projects():
            _import(dataset, store, resources)
        yield Corpus(store=store, resources=resources)
    finally:
        store.close()


def _hit(hit: Hit) -> tuple[int, str, str]:
    shares = [(each.ranking, each.rank, each.points.hex(), each.native) for each in hit.shares]
    factors = [(name, factor.hex()) for name, factor in hit.factors.items()]
    turns = [(each.id, each.line, each.before) for each in hit.exchange]
    told = (hit.match_type, hit.snippet, hit.marks, hit.effective_confidence, hit.conflicts, hit.older, hit.probability)
    facts = [(fact.id, fact.subject, fact.predicate, fact.object) for fact in hit.facts]
    return hit.id, hit.score.hex(), _digest(shares, factors, turns, told, facts, hit.memory.content)


def _rest(reply: Reply) -> str:
    near = [(row, score.hex()) for row, score in reply.near_misses]
    told = (reply.outcome, reply.degraded, reply.suggestions, reply.total, reply.hidden)
    return _digest(told, near, reply.evidence, reply.reason)


def _digest(*values: object) -> str:
    return hashlib.blake2b(repr(values).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


# --- compare --------------------------------------------------------------------------------


def compare(old: Path, new: Path) -> bool:
    """Print how many answers differ and the first of them; return whether any does."""
    before, after = (
        {line["asked"]: line for line in map(json.loads, path.read_text(encoding="utf-8").splitlines())}
        for path in (old, new)
    )
    both = [each for each in before if each in after]
    ids = [each for each in both if _column(before[each], 0) != _column(after[each], 0)]
    scores = [each for each in both if _column(before[each], 1) != _column(after[each], 1)]
    rest = [each for each in both if before[each] != after[each]]
    print(f"{len(both)} answers: {len(ids)} differ in ids, {len(scores)} in scores, {len(rest)} in anything")
    for each in rest[:10]:
        print(f"  {each}")
    return bool(rest) or before.keys() != after.keys()


def _column(line: dict[str, Any], place: int) -> list[Any]:
    return [hit[place] for hit in line["hits"]]


if __name__ == "__main__":
    main()
