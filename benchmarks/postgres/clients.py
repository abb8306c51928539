"""Many clients at once: reads and writes for a minute, what they wait, and whether all is exact afterwards.

usage: python -m benchmarks.postgres.clients ADDRESS NUMBER THREADS SECONDS KIND [PROJECT]  (one process of several)
Clients are threads of processes, as servers are that share a store. KIND is mixed (of ten calls six are hybrid
searches, one a search by words, two memories with a vector, and one forgets or changes one) or write.
"""

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.common import ROOT
from benchmarks.postgres.server import HOME, database
from benchmarks.postgres.stores import fill, open_at
from benchmarks.speed.material import folder_of, read_questions, read_vectors
from benchmarks.speed.progress import say
from benchmarks.speed.results import Result, quantile

import recollect

CLIENTS, PROCESSES, SECONDS = 32, 4, 60.0
START = 10_000
"""How many memories there are in the beginning."""
WRITERS = (1, 4, 16)
WRITING = 10.0
"""How many seconds writers are counted."""
ADDED = 60
"""How many memories are added to tell what one takes."""


# --- one process ----------------------------------------------------------------------------


def work(address: str, number: int, threads: int, seconds: float, kind: str, *project: str) -> dict[str, Any]:
    """Let *threads* clients work for so many *seconds*; return what each call took, and what failed."""
    material = folder_of("zipf", START)
    questions = read_questions(material)
    vectors = [tuple(map(float, each)) for each in read_vectors(material, "questions")]
    times: dict[str, list[float]] = defaultdict(list)
    failed: list[str] = []
    print("ready", flush=True)
    sys.stdin.readline()
    until = time.monotonic() + seconds
    db = recollect.open(address, model="none", project=project[0] if project else None)

    def client(which: int) -> None:
        chance = random.Random(1000 * number + which)
        own: list[int] = []
        while time.monotonic() < until:
            at = chance.randrange(len(questions))
            name, call = _chosen(db, chance, own, questions[at], vectors[at], kind)
            started = time.perf_counter()
            try:
                call()
            except Exception as error:  # noqa: BLE001  (whatever it is, it is told)
                failed.append(f"{name}: {type(error).__name__}: {error}")
            times[name].append(1000 * (time.perf_counter() - started))

    running = [threading.Thread(target=client, args=(which,)) for which in range(threads)]
    for each in running:
        each.start()
    for each in running:
        each.join()
    db.close()
    return {"times": times, "failed": failed}


def _chosen(
    db: recollect.Recollection,
    chance: random.Random,
    own: list[int],
    question: str,
    vector: Sequence[float],
    kind: str,
) -> tuple[str, Callable[[], object]]:
    """Return the next call of a client and its name."""
    text = f"{question} was noted as {chance.getrandbits(60):x} by {os.getpid()}"
    draw = 8 if kind == "write" else chance.randrange(10)
    if draw < 6:
        return "search, hybrid", lambda: db.search(question, embedding=tuple(vector), limit=10)
    if draw < 7:
        return "search, words", lambda: db.search(question, mode="keyword", limit=10)
    if draw < 9 or not own:
        return "add", lambda: own.append(db.add(text, vector=None if kind == "write" else vector).id)
    row = own.pop(chance.randrange(len(own)))
    if chance.random() < 0.5:
        return "forget", lambda: db.forget(row)
    return "edit", lambda: db.edit(row, content=text)


# --- several processes ----------------------------------------------------------------------


def together(addresses: Sequence[str], *, clients: int, processes: int, seconds: float, kind: str) -> dict[str, Any]:
    """Run *clients* spread over *processes*, and these over *addresses*; return all that they tell."""
    started = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "benchmarks.postgres.clients",
                addresses[number % len(addresses)],
                str(number),
                str(clients // processes),
                str(seconds),
                kind,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        for number in range(processes)
    ]
    for each in started:
        each.stdout.readline()
    for each in started:
        each.stdin.write("go\n")
        each.stdin.flush()
    told = [json.loads(each.communicate()[0]) for each in started]
    times: dict[str, list[float]] = defaultdict(list)
    for each in told:
        for name, taken in each["times"].items():
            times[name] += taken
    return {"times": times, "failed": [one for each in told for one in each["failed"]]}


def mixed(server: str) -> Iterator[Result]:
    """Yield what 32 clients waited, how many calls failed, and what is not exact afterwards."""
    address = database(server, "clients", fresh=True)
    say(f"clients: writing {START:,} memories")
    store = open_at(address)
    fill(store, START)
    store.close()
    before = _deadlocks(server)
    say(f"{CLIENTS} clients for {SECONDS:g} s")
    told = together([address], clients=CLIENTS, processes=PROCESSES, seconds=SECONDS, kind="mixed")
    for name, taken in sorted(told["times"].items()):
        yield _quantiles(name, sorted(taken), len(taken) / SECONDS, threads=CLIENTS)
    yield _value("calls that failed", len(told["failed"]), "; ".join(sorted(set(told["failed"]))[:3]))
    yield _value("deadlocks", _deadlocks(server) - before, "pg_stat_database")
    store = open_at(address)
    say("clients: looking deep")
    found = store.check(deep=True)
    yield _value("findings of doctor --deep", len(found), "; ".join(found))
    with store.engine.session() as session:
        ((wrong, kept),) = session.rows(MISCOUNTED)
    store.close()
    yield _value("projects whose totals differ from those counted anew", int(wrong), f"{kept:,} documents in the end")


MISCOUNTED = """
select count(*) filter (where (s.documents, s.stem_length, s.exact_length, s.code) is distinct from
  (d.documents, d.stem_length, d.exact_length, d.code)), coalesce(sum(d.documents), 0)
from collection_stats s full join (
  select project, count(*) as documents, sum(stem_length) as stem_length, sum(exact_length) as exact_length,
    sum(code) as code from document group by project
) d using (project)
"""


def _deadlocks(server: str) -> int:
    import psycopg  # noqa: PLC0415  (clients have no need of it)

    with psycopg.connect(server) as db:
        row = db.execute("select coalesce(sum(deadlocks), 0) from pg_stat_database").fetchone()
        return int(row[0]) if row else 0


def writing(server: str) -> Iterator[Result]:
    """Yield how many memories a second a schema takes from 1, 4 and 16 writers, and four schemas from four each."""
    address = database(server, "writers", fresh=True)
    mark = "&" if "?" in address else "?"
    schemas = [f"{address}{mark}schema=shard_{number}" for number in range(4)]
    for each in schemas:
        open_at(each).close()
    yield from _alone(schemas[0], address)
    cases = [(f"{count} writers of one schema", schemas[:1], count, min(count, 4)) for count in WRITERS]
    for name, places, count, processes in [*cases, ("16 writers of four schemas", schemas, 16, 4)]:
        say(name)
        told = together(places, clients=count, processes=processes, seconds=WRITING, kind="write")
        taken = sorted(told["times"]["add"])
        yield _quantiles(name, taken, len(taken) / WRITING, section="writing", threads=count)


def _alone(schema: str, server: str) -> Iterator[Result]:
    """Yield how many statements a memory takes that is added by itself to *schema*, and how long both ends compute."""
    from benchmarks.postgres.latency import listened  # noqa: PLC0415  (clients have no need of it)
    from benchmarks.postgres.server import computed  # noqa: PLC0415

    with recollect.open(schema, model="none") as db:
        db.add("The first one opens connections")
        before, here = computed(server), time.process_time()
        with listened() as told:
            for number in range(ADDED):
                db.add(f"Memory number {number} is written by itself")
        there, here = computed(server) - before, 1000 * (time.process_time() - here)
    count = len(told) / ADDED
    yield _value("statements of one add", round(count), "executemany apart", section="writing")
    yield _value("microseconds of computing of one add", round(1000 * here / ADDED), "client", section="writing")
    yield _value("microseconds of computing of one add", round(1000 * there / ADDED), "server", section="writing")


def _quantiles(row: str, ordered: Sequence[float], rate: float, *, section: str = "clients", threads: int) -> Result:
    p50, p95, p99 = (quantile(ordered, share) for share in (0.5, 0.95, 0.99))
    return Result(
        section=section,
        row=row,
        engine="postgres",
        samples=len(ordered),
        p50=p50,
        p95=p95,
        p99=p99,
        per_second=rate,
        threads=threads,
    )


def _value(row: str, value: int, note: str, *, section: str = "clients") -> Result:
    return Result(section=section, row=row, engine="postgres", value=float(value), note=note)


if __name__ == "__main__":
    os.environ.setdefault("XDG_DATA_HOME", str(Path(HOME, "home")))
    answer = work(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), *sys.argv[5:])
    print(json.dumps(answer))
