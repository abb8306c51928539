"""Many clients at once: reads and writes for a minute, what they wait, and whether all is exact afterwards.

usage: python -m benchmarks.postgres.clients ADDRESS NUMBER THREADS SECONDS KIND [PROJECT]  (one process of several)
Clients are threads of processes, as servers are that share a store. KIND is mixed (of ten calls six are hybrid
searches, one a search by words, two memories with a vector, and one forgets or changes one), write (all to one
project), apart (each to a project of its own), or bare (an INSERT of the same text into a table with two indexes).
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
WRITERS = (1, 8, 32)
WRITING = float(os.environ.get("RECOLLECT_BENCH_WRITING", "20"))
"""How many seconds writers are counted."""
TEXTS = 1_000
ADDED = 60
"""How many memories are added to tell what one takes."""


# --- one process ----------------------------------------------------------------------------


def work(address: str, number: int, threads: int, seconds: float, kind: str, *project: str) -> dict[str, Any]:
    """Let *threads* clients work for so many *seconds*; return what each call took, and what failed."""
    if kind == "mixed":
        material = folder_of("zipf", START)
        questions = read_questions(material)
        vectors = [tuple(map(float, each)) for each in read_vectors(material, "questions")]
    else:
        questions, vectors = _texts(), [()] * TEXTS
    times: dict[str, list[float]] = defaultdict(list)
    failed: list[str] = []
    print("ready", flush=True)
    sys.stdin.readline()
    until = time.monotonic() + seconds
    shared = recollect.open(address, model="none", project=project[0] if project else None)
    inserted = _insert_into(address) if kind == "bare" else None

    def client(which: int) -> None:
        chance = random.Random(1000 * number + which)
        db = shared.in_project(f"project {number}-{which}") if kind == "apart" else shared
        own: list[int] = []
        while time.monotonic() < until:
            at = chance.randrange(len(questions))
            name, call = _chosen(db, chance, own, questions[at], vectors[at], kind)
            if inserted is not None:
                text = f"{questions[at]} was noted as {chance.getrandbits(60):x} by {os.getpid()}"
                call = lambda: inserted(text)  # noqa: B023, E731  (called at once)
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
    shared.close()
    return {"times": times, "failed": failed}


def _texts() -> list[str]:
    chance = random.Random(5)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(3, 9))) for _ in range(4_000)]
    return [" ".join(chance.choices(words, k=20)) for _ in range(TEXTS)]


def _insert_into(address: str) -> Callable[[str], object]:
    import psycopg  # noqa: PLC0415  (other clients have no need of it)

    db = psycopg.connect(address.partition("schema=")[0].rstrip("?&"), autocommit=True)
    return lambda text: db.execute("insert into public.bare (project, content) values ('one', %s)", (text,))


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
    draw = 8 if kind != "mixed" else chance.randrange(10)
    if draw < 6:
        return "search, hybrid", lambda: db.search(question, embedding=tuple(vector), limit=10)
    if draw < 7:
        return "search, words", lambda: db.search(question, mode="keyword", limit=10)
    if draw < 9 or not own:
        return "add", lambda: own.append(db.add(text, vector=vector if kind == "mixed" else None).id)
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
from (select * from collection_stats where project <> '' or documents > 0) s full join (
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
    """Yield how many memories a second writers of one project add, and writers of as many projects; and bare rows."""
    address = database(server, "writers", fresh=True)
    open_at(address).close()
    _make_bare_table(address)
    yield from _alone(address, address)
    one = [("a bare INSERT of the same text, 1 writer", "bare", 1)]
    cases = [
        (f"{count} writers of {'one project' if kind == 'write' else 'as many projects'}", kind, count)
        for count in WRITERS
        for kind in ("write", "apart")
    ]
    for name, kind, count in [*one, *cases]:
        say(name)
        told = together([address], clients=count, processes=min(count, 4), seconds=WRITING, kind=kind)
        for failure in sorted(set(told["failed"]))[:3]:
            say(failure)
        taken = sorted(told["times"]["add"])
        yield _quantiles(name, taken, len(taken) / WRITING, section="writing", threads=count)


def _make_bare_table(address: str) -> None:
    import psycopg  # noqa: PLC0415  (clients have no need of it)

    with psycopg.connect(address, autocommit=True) as db:
        db.execute("create table public.bare (id bigserial primary key, project text not null, content text not null)")
        db.execute("create index on public.bare (project)")
        db.execute("create index on public.bare using gin (to_tsvector('simple', content))")


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
