"""Measure how well plain words find what judges marked, beside FTS5 with its porter stemmer.

Every collection goes through the real write path into a SQLite store and is searched by word with the default
profile, each question within its own project. The figures of FTS5 are those of docs/benchmarks.md.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from common import DATA, print_table, verdict, watched
from recollect.evaluate.datasets import Dataset, Query, as_memories, read_dataset, select
from recollect.evaluate.measures import MEASURES, means, score
from recollect.profile import load_profile
from recollect.recollection import Recollection
from recollect.remember.formats import with_context
from recollect.stores.sqlite import open_sqlite
from recollect.text.analyser import analyse

HALVES = ("all", "dev", "test")
SHOWN = ("ndcg@10", "recall@10", "recall@100")
DEPTH = 100
"""How many hits each question asks for."""
BATCH = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """What FTS5 reaches on a collection; for Chinese and Japanese with its trigram tokenizer, on 400 questions."""

    ndcg: float
    recall: str = ""
    required: bool = False
    queries: int | None = None


RIVALS: Mapping[str, Rival] = {
    "scifact": Rival(ndcg=0.687, recall=".825 / .925", required=True),
    "cranfield": Rival(ndcg=0.420, recall=".434 / .741", required=True),
    "locomo": Rival(ndcg=0.439, recall=".581 / .804", required=True),
    "scifact_typo": Rival(ndcg=0.640),
    "locomo_typo": Rival(ndcg=0.394),
    "code_cosqa": Rival(ndcg=0.386),
    "zh_cmrc2018": Rival(ndcg=0.925, queries=400),
    "ja_jsquad": Rival(ndcg=0.911, queries=400),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a collection gave: its measures by half, and how long writing and searching took."""

    name: str
    memories: int
    queries: int
    values: Mapping[str, Mapping[str, float]]
    writing: float
    searching: float


def measure(name: str, folder: Path, *, depth: int) -> Measured:
    """Import the collection *name* and ask all its questions, for *depth* hits each."""
    dataset, rival = read_dataset(folder / name), RIVALS[name]
    queries = [query for query in dataset.queries if query.id in dataset.judgements][: rival.queries]
    with tempfile.TemporaryDirectory() as home:
        db = Recollection(store=open_sqlite(Path(home, "notes.db"), analyse), profile=load_profile("default"))
        with db:
            started = time.perf_counter()
            memories = write(db, dataset)
            written = time.perf_counter()
            found = {query.id: ask(db, dataset, query, depth) for query in watched(queries, of=len(queries), what=name)}
            asked = time.perf_counter()
    return Measured(
        name=name,
        memories=memories,
        queries=len(queries),
        values={half: values(dataset, select(queries, half), found) for half in HALVES},
        writing=written - started,
        searching=asked - written,
    )


def write(db: Recollection, dataset: Dataset) -> int:
    """Remember the documents of *dataset*, turns with their neighbours, and return how many there are."""
    memories = with_context(as_memories(dataset))
    for start in range(0, len(memories), BATCH):
        db.add_all(memories[start : start + BATCH])
    return len(memories)


def ask(db: Recollection, dataset: Dataset, query: Query, depth: int = DEPTH) -> list[str]:
    """Return the documents found for *query*, best first."""
    within = Recollection(store=db.store, profile=db.profile, project=dataset.project_of(query.group))
    hits = within.search(query.text, mode="keyword", limit=depth).hits
    return [hit.memory.external_id or "" for hit in hits]


def values(dataset: Dataset, queries: Iterable[Query], found: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Return the mean of each measure over *queries*."""
    judged = {query.id: dataset.judgements[query.id] for query in queries}
    return means(score(found, judged, measures={name: MEASURES[name] for name in SHOWN}))


def as_rows(measured: Measured) -> list[dict[str, str]]:
    """Return a line of the table for each half of the questions."""
    rival = RIVALS[measured.name]
    held = measured.values["all"]["ndcg@10"] >= rival.ndcg
    return [
        {
            "collection": measured.name if half == "all" else "",
            "questions": f"{half}" + (f" {measured.queries}" if half == "all" else ""),
            "nDCG@10": three(measured.values[half]["ndcg@10"]),
            "recall@10": three(measured.values[half]["recall@10"]),
            "recall@100": three(measured.values[half]["recall@100"]),
            "FTS5 nDCG@10": three(rival.ndcg) if half == "all" else "",
            "FTS5 recall": rival.recall if half == "all" else "",
            "": verdict(held=held) if half == "all" else "",
        }
        for half in HALVES
    ]


def three(number: float) -> str:
    """Return *number* as such figures are printed: .687."""
    return f"{number:.3f}".removeprefix("0")


def main() -> None:
    """Measure, print, and end with 1 when a required mark was missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("collections", nargs="*", choices=[*RIVALS, []], help="which ones; all of them when none named")
    parser.add_argument("--quick", action="store_true", help="only the three that a mark is set for")
    parser.add_argument("--json", action="store_true", help="print figures as JSON")
    parser.add_argument("--depth", type=int, default=DEPTH, help="hits asked for; 10 is enough for nDCG@10, and faster")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of judged collections")
    options = parser.parse_args()
    names = options.collections or [name for name, rival in RIVALS.items() if rival.required or not options.quick]
    measured = [measure(name, options.data, depth=options.depth) for name in names]
    if options.json:
        print(json.dumps({each.name: each.values for each in measured}, indent=1))
    else:
        print_all(measured)
    missed = [each for each in measured if each.values["all"]["ndcg@10"] < RIVALS[each.name].ndcg]
    sys.exit(1 if any(RIVALS[each.name].required for each in missed) else 0)


def print_all(measured: Sequence[Measured]) -> None:
    print("Found by word alone, default profile, SQLite store; FTS5 with porter (trigram for Chinese and Japanese)\n")
    print_table([row for each in measured for row in as_rows(each)])
    print()
    print_table(
        [
            {
                "collection": each.name,
                "memories": str(each.memories),
                "written in": f"{each.writing:.1f} s",
                "memories/s": f"{each.memories / each.writing:,.0f}",
                "ms a question": f"{1000 * each.searching / each.queries:.1f}",
            }
            for each in measured
        ]
    )


if __name__ == "__main__":
    main()
