"""Section headline: the four figures that one of our seeds (NornicDB) tells of itself, ours, and the same in NumPy.

usage: python -m benchmarks.speed.headline [MEMORIES NODES]
They are of its machine, ours of this one; what can be compared is ours beside NumPy. The last line is JSON.
"""

import json
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.common import made_up_texts, run
from benchmarks.speed.bars import headline_lines
from benchmarks.speed.results import Result, as_line, from_line
from benchmarks.speed.worker import ONE_THREAD, PLAIN

SEED = {"vector search": 8.5, "BM25": 0.255, "fusion of 100": 0.027, "index": 5400.0}
"""Milliseconds, as the seed tells them: vectors and BM25 over 10,000, an index of 38,000 nodes."""
MEMORIES, NODES = 10_000, 38_000
ROUNDS, EACH = 9, 20
_WORD = re.compile(r"\w+")
Work = Callable[[int], Any]


def headline(memories: int = MEMORIES, nodes: int = NODES) -> list[Result]:
    """Measure the four in a process of its own, with one thread."""
    command = [sys.executable, "-m", "benchmarks.speed.headline", str(memories), str(nodes)]
    ran = run(command, environment={**os.environ, **ONE_THREAD, **PLAIN})
    return [from_line(each) for each in json.loads(ran.output.splitlines()[-1])]


def measured(memories: int, nodes: int) -> list[Result]:
    """Measure the four, ours and NumPy in turns."""
    texts = made_up_texts(memories)
    with tempfile.TemporaryDirectory() as home:
        pairs = {**_searches(texts, Path(home)), "index": _indexing(made_up_texts(nodes, seed=9), Path(home))}
        return [each for row, works in pairs.items() for each in _results(row, works, memories, nodes)]


def main(memories: str = str(MEMORIES), nodes: str = str(NODES)) -> None:
    """Print the four beside the seed's, then all as one line of JSON."""
    found = measured(int(memories), int(nodes))
    print("\n".join(headline_lines(found)))
    print(json.dumps([as_line(each) for each in found]))


def _results(row: str, works: Mapping[str, Work], memories: int, nodes: int) -> Iterator[Result]:
    """Yield ours, NumPy's and the seed's own figure."""
    rounds, each, size = (1, 1, nodes) if row == "index" else (ROUNDS, EACH, memories)
    taken: dict[str, list[float]] = {name: [] for name in works}
    computed: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(rounds):
        for name, work in works.items():
            started, spent = time.perf_counter(), time.process_time()
            for at in range(each):
                work(turn * each + at)
            taken[name].append((time.perf_counter() - started) * 1000 / each)
            computed[name].append((time.process_time() - spent) * 1000 / each)
    for name, milliseconds in taken.items():
        yield Result(
            section="headline",
            row=row,
            engine=name,
            text="zipf",
            size=size,
            samples=rounds * each,
            p50=statistics.median(milliseconds),
            cpu_p50=statistics.median(computed[name]),
            rounds=tuple(round(value, 5) for value in milliseconds),
        )
    yield Result(section="headline", row=row, engine="seed", text="zipf", size=size, p50=SEED[row])


# --- searches -------------------------------------------------------------------------------


def _searches(texts: Sequence[str], home: Path) -> dict[str, dict[str, Work]]:
    import numpy as np  # noqa: PLC0415
    from benchmarks.speed.engines.recollect import EXTERNAL, give_vectors, or_of  # noqa: PLC0415
    from benchmarks.speed.material import WIDTH, questions_of  # noqa: PLC0415

    import recollect  # noqa: PLC0415
    from recollect.records import ALL_PROJECTS, NO_FILTER, Generation, Memory  # noqa: PLC0415

    chance = np.random.default_rng(7)
    vectors = chance.normal(size=(len(texts), WIDTH)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    db = recollect.open(home / "notes.db", model="none")
    db.add_all([Memory(content=text) for text in texts])
    give_vectors(db.store, vectors, Generation(fingerprint=EXTERNAL, dimensions=WIDTH, model=""))
    questions = questions_of(texts)
    asked = [or_of(question) for question in questions]
    near = [vectors[at].tobytes() for at in range(min(len(texts), len(questions)))]
    everywhere = {"scope": ALL_PROJECTS, "where": NO_FILTER, "limit": 10}
    numpy_words = inverted(texts)

    def exact(at: int) -> Any:
        scores = vectors @ vectors[at % len(near)]
        best = np.argpartition(scores, -10)[-10:]
        return best[np.argsort(-scores[best])]

    return {
        "vector search": {
            "recollect": lambda at: db.store.nearest(EXTERNAL, near[at % len(near)], **everywhere),
            "NumPy": exact,
        },
        "BM25": {
            "recollect": lambda at: db.store.match_words(asked[at % len(asked)], **everywhere),
            "NumPy": lambda at: by_words(numpy_words, questions[at % len(questions)].split(), len(texts)),
        },
        "fusion of 100": {"recollect": _fusion(db, questions[0], vectors[0]), "NumPy": _numpy_fusion()},
    }


def _fusion(db: Any, question: str, vector: Any) -> Work:
    """Return the step of the search that fuses, with what a real search hands to it."""
    from recollect.replies import Request  # noqa: PLC0415
    from recollect.search.pipeline import prepare  # noqa: PLC0415

    request = Request(text=question, embedding=tuple(map(float, vector)), limit=10)
    pipeline, state, context = prepare(request, db._context(db.profile))  # noqa: SLF001
    for stage in pipeline.stages:
        if stage.name == "fuse":
            return lambda _: stage.run(state, context)
        state = stage.run(state, context)
    raise LookupError("no stage fuses")


def _numpy_fusion() -> Work:
    """Return reciprocal rank fusion of two lists of 100 ids by NumPy."""
    import numpy as np  # noqa: PLC0415

    chance = np.random.default_rng(3)
    lists = [chance.permutation(150)[:100] for _ in range(2)]
    points = 1 / (60 + np.arange(1, 101))

    def fuse(_: int) -> Any:
        ids, places = np.unique(np.concatenate(lists), return_inverse=True)
        scores = np.bincount(places, weights=np.concatenate([points, points]))
        return ids[np.argsort(-scores, kind="stable")]

    return fuse


# --- an inverted index in NumPy -------------------------------------------------------------


def inverted(texts: Sequence[str]) -> dict[str, tuple[Any, Any]]:
    """Return, of each word, the rows that hold it and its BM25 there (k1 1.2, b .75), word forms as they are."""
    import numpy as np  # noqa: PLC0415

    numbers: dict[str, int] = {}
    terms, rows = [], []
    for row, text in enumerate(texts):
        for word in _WORD.findall(text.lower()):
            terms.append(numbers.setdefault(word, len(numbers)))
            rows.append(row)
    lengths = np.bincount(rows, minlength=len(texts))
    keys, counts = np.unique(np.array(terms, dtype=np.int64) * len(texts) + np.array(rows), return_counts=True)
    term, row = keys // len(texts), keys % len(texts)
    frequency = np.bincount(term, minlength=len(numbers))
    rarity = np.log1p((len(texts) - frequency + 0.5) / (frequency + 0.5))[term]
    scores = rarity * counts * 2.2 / (counts + 1.2 * (0.25 + 0.75 * lengths[row] / lengths.mean()))
    starts = np.searchsorted(term, np.arange(len(numbers) + 1))
    spans = {word: slice(starts[number], starts[number + 1]) for word, number in numbers.items()}
    return {word: (row[span], scores[span]) for word, span in spans.items()}


def by_words(index: Mapping[str, tuple[Any, Any]], words: Sequence[str], rows: int) -> Any:
    """Return the ten best rows for *words*."""
    import numpy as np  # noqa: PLC0415

    scores = np.zeros(rows)
    for word in words:
        if word in index:
            held, points = index[word]
            scores[held] += points
    best = np.argpartition(scores, -10)[-10:]
    return best[np.argsort(-scores[best])]


def _indexing(texts: Sequence[str], home: Path) -> dict[str, Work]:
    """Return the import of *texts* into a new store, and the inverted index of the same in NumPy."""
    import recollect  # noqa: PLC0415
    from recollect.records import Memory  # noqa: PLC0415

    def imported(at: int) -> None:
        with recollect.open(home / f"index-{at}.db", model="none") as db:
            db.add_all([Memory(content=text) for text in texts])

    return {"recollect": imported, "NumPy": lambda _: inverted(texts)}


if __name__ == "__main__":
    main(*sys.argv[1:])
