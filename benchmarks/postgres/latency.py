"""Latency beside SQLite in one run, where it goes, recall, and what a filter that leaves one in a hundred returns."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import psycopg
from benchmarks.postgres.server import HOME, computed, database
from benchmarks.postgres.stores import MODEL, RARE, built
from benchmarks.speed.engines.recollect import or_of
from benchmarks.speed.material import folder_of, read_questions, read_vectors
from benchmarks.speed.progress import say
from benchmarks.speed.results import Result, Samples

import recollect
from recollect.records import ALL_PROJECTS, NO_FILTER, Filter
from recollect.stores.sql import SqlStore

SIZE = 100_000
BLOCK = 20
ROUNDS = 6
TOP = 10
ASKED = 200
RARELY = Filter(types=("rare",))
Asks = Mapping[str, Callable[[int], Any]]


def addresses(server: str) -> dict[str, str]:
    """Return where the two stores of 100,000 are, built where they are missing."""
    HOME.mkdir(parents=True, exist_ok=True)
    places = {"sqlite": str(HOME / f"notes-{SIZE}.db"), "postgres": database(server, f"notes_{SIZE}")}
    for name, address in places.items():
        say(f"{name}: writing {SIZE:,} memories")
        built(address, SIZE, HOME / f"{name}-{SIZE}.json")
    return places


def asks(store: SqlStore, db: recollect.Recollection) -> Asks:
    """Return what is asked, by the number of a question."""
    material = folder_of("zipf", SIZE)
    questions, vectors = read_questions(material), read_vectors(material, "questions")
    packed, numbers = [each.tobytes() for each in vectors], [tuple(map(float, each)) for each in vectors]
    simple, everywhere = [or_of(question) for question in questions], {"scope": ALL_PROJECTS, "where": NO_FILTER}
    return {
        "words": lambda at: store.match_words(simple[at], limit=TOP, **everywhere),
        "vectors, 10": lambda at: store.nearest(MODEL.fingerprint, packed[at], limit=TOP, **everywhere),
        "vectors, 100": lambda at: store.nearest(MODEL.fingerprint, packed[at], limit=100, **everywhere),
        "vectors, 1% filter": lambda at: store.nearest(
            MODEL.fingerprint, packed[at], limit=TOP, scope=ALL_PROJECTS, where=RARELY
        ),
        "keyword": lambda at: db.search(questions[at], mode="keyword", limit=TOP),
        "hybrid": lambda at: db.search(questions[at], embedding=numbers[at], limit=TOP),
    }


def measure(server: str) -> list[Result]:
    """Ask both stores in turns, then PostgreSQL alone statement by statement."""
    places = addresses(server)
    opened = {name: recollect.open(address, model="none") for name, address in places.items()}
    given = {name: asks(db.store, db) for name, db in opened.items()}  # type: ignore[arg-type]
    try:
        return [*_in_turns(given, places), *_stages(given["postgres"]), *_recalls(given["postgres"])]
    finally:
        for db in opened.values():
            db.close()


def _in_turns(given: Mapping[str, Asks], places: Mapping[str, str]) -> list[Result]:
    samples = {(name, row): Samples() for name in given for row in given[name]}
    for name, row in samples:
        given[name][row](BLOCK * ROUNDS)
    for turn in range(ROUNDS):
        for (name, row), taken in samples.items():
            say(f"round {turn + 1}/{ROUNDS}: {row} of {name}")
            before = computed(places[name]) if "://" in places[name] else 0.0
            told = _timed(given[name][row], range(turn * BLOCK, (turn + 1) * BLOCK))
            there = (computed(places[name]) - before) / BLOCK if "://" in places[name] else 0.0
            taken.take({**told, "cpu": [each + there for each in told["cpu"]]})
    return [
        Result(section="latency", row=row, engine=name, text="zipf", size=SIZE, **taken.figures())
        for (name, row), taken in samples.items()
    ]


def _timed(ask: Callable[[int], Any], numbers: Sequence[int]) -> dict[str, list[float]]:
    wall, cpu = [], []
    for at in numbers:
        started, computed = time.perf_counter(), time.process_time()
        ask(at)
        wall.append(1000 * (time.perf_counter() - started))
        cpu.append(1000 * (time.process_time() - computed))
    return {"wall": wall, "cpu": cpu}


# --- where it goes --------------------------------------------------------------------------


@contextmanager
def listened() -> Iterator[list[tuple[str, float]]]:
    """Give the statements that are run meanwhile, each with its milliseconds."""
    told: list[tuple[str, float]] = []
    plain = psycopg.Connection.execute

    def execute(self: Any, query: Any, *given: Any, **options: Any) -> Any:
        started = time.perf_counter()
        try:
            return plain(self, query, *given, **options)
        finally:
            told.append((str(query), 1000 * (time.perf_counter() - started)))

    psycopg.Connection.execute = execute  # type: ignore[method-assign]
    try:
        yield told
    finally:
        psycopg.Connection.execute = plain  # type: ignore[method-assign]


def _stages(given: Asks) -> Iterator[Result]:
    """Yield how many statements a question takes, how long they do, and how long the longest."""
    for row, ask in given.items():
        counts, inside, outside, longest = [], [], [], {}
        for at in range(BLOCK * ROUNDS):
            say(f"statements of {row}: {at}")
            started = time.perf_counter()
            with listened() as told:
                ask(at)
            took = 1000 * (time.perf_counter() - started)
            counts.append(len(told))
            inside.append(sum(each for _, each in told))
            outside.append(took - inside[-1])
            for statement, each in told:
                longest.setdefault(_short(statement), []).append(each)
        first = sorted(longest.items(), key=lambda item: -float(np.sum(item[1])))[:3]
        note = "; ".join(f"{name} {float(np.median(times)):.2f}" for name, times in first)
        for what, values in (("statements", counts), ("ms in statements", inside), ("ms outside", outside)):
            yield Result(
                section="stages",
                row=f"{row}: {what}",
                engine="postgres",
                text="zipf",
                size=SIZE,
                samples=len(values),
                value=float(np.median(values)),
                note=note if what == "ms in statements" else "",
            )


def _short(statement: str) -> str:
    words = " ".join(statement.split())
    return f"`{words[:60]}`"


# --- recall ---------------------------------------------------------------------------------


def _recalls(given: Asks) -> Iterator[Result]:
    """Yield the recall of the first ten, and with one memory in a hundred admitted; NumPy says what is true."""
    material = folder_of("zipf", SIZE)
    held = np.asarray(read_vectors(material))
    asked = np.asarray(read_vectors(material, "questions"))[:ASKED]
    for row, rows in (("vectors, 10", np.arange(SIZE)), ("vectors, 1% filter", np.arange(0, SIZE, RARE))):
        found = full = 0
        for at, vector in enumerate(asked):
            say(f"recall of {row}: {at}")
            truth = rows[np.argsort(-(held[rows] @ vector), kind="stable")[:TOP]] + 1
            ids = [hit.id for hit in given[row](at).top]
            found += len({*ids} & {*truth.tolist()})
            full += len(ids) == TOP
        yield Result(
            section="recall",
            row=row,
            engine="postgres",
            text="zipf",
            size=SIZE,
            samples=len(asked),
            recall=found / (TOP * len(asked)),
            value=float(full),
            note="answers with ten hits",
        )
