"""Kill servers of a PostgreSQL store under load, on loopback: what is lost (nothing may be), and how long answers stop.

A primary and its standby with synchronous replication: the standby is killed and comes back, then the primary is
killed for good and the standby promoted a second later, as a watching program would. With --patroni, Patroni and etcd
watch them: the primary and its Patroni are killed, and come back as the standby. Clients are processes with a reading
and a writing thread each; a gap is the time between two answers to the same thread.
"""

import argparse
import multiprocessing
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from itertools import count, pairwise
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Event
from pathlib import Path

import psycopg

import recollect
from common import ROOT, made_up_texts, print_table, verdict
from patroni import IS_CONFIRMED, IS_PRIMARY, Cluster
from recollect.errors import RecollectError, WriteUncertain

sys.path.insert(0, str(ROOT / "tests"))
from postgres_server import Server, url_of

PROCESSES = 2
MEMORIES = 500
STEADY, AWAY, NOTICED, AFTER = 6.0, 2.0, 1.0, 8.0
"""How many seconds all is well, a server is away, its end goes unnoticed, and the load goes on when it is over."""
PAUSE = 0.01
"""How many seconds a thread waits after each answer: what is measured are gaps, not how much a machine can do."""
DURABLE = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "remote_apply"}
SPAWN = multiprocessing.get_context("spawn")


@dataclass(slots=True, kw_only=True)
class Tally:
    """What one client saw: when its threads were answered, what failed and when, which writes were acknowledged."""

    store: int
    reads: list[float] = field(default_factory=list)
    writes: list[float] = field(default_factory=list)
    failed: list[tuple[float, str]] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)


def client(name: str, store: int, address: str, begun: Event, stop: Event, told: "Queue[Tally]") -> None:
    """Read and write at *address* until told to stop."""
    tally, numbers = Tally(store=store), count()
    words = [text.split()[3] for text in made_up_texts(200)]

    def repeat(what: str, work: Callable[[int], None], answered: list[float]) -> None:
        for number in numbers:
            if stop.is_set():
                return
            try:
                work(number)
            except RecollectError as error:
                kind = "unsure" if isinstance(error, WriteUncertain) else what
                tally.failed.append((time.monotonic(), kind))
            else:
                answered.append(time.monotonic())
            time.sleep(PAUSE)

    with recollect.open(address, model="none") as db:

        def read(number: int) -> None:
            db.search(words[number % len(words)], mode="keyword", limit=5)

        def write(number: int) -> None:
            text = f"client {name} of store {store} keeps note {number}"
            db.add(text, external_id=text)
            tally.kept.append(text)

        begun.wait()
        writer = threading.Thread(target=repeat, args=("write", write, tally.writes))
        writer.start()
        repeat("read", read, tally.reads)
        writer.join()
    told.put(tally)


@contextmanager
def load(addresses: Sequence[str]) -> Iterator[Callable[[], list[Tally]]]:
    """Let clients read and write at each of *addresses*; give what ends them and returns what they saw."""
    begun, stop, told = SPAWN.Event(), SPAWN.Event(), SPAWN.Queue()
    clients = [
        SPAWN.Process(target=client, args=(str(number), store, address, begun, stop, told))
        for store, address in enumerate(addresses)
        for number in range(PROCESSES if len(addresses) == 1 else 1)
    ]
    for each in clients:
        each.start()
    begun.set()

    def end() -> list[Tally]:
        stop.set()
        return [told.get(timeout=120) for _ in clients]

    try:
        yield end
    finally:
        stop.set()
        for each in clients:
            each.join(60)
            each.kill()


# --- what happened --------------------------------------------------------------------------


def gap(moments: Sequence[Sequence[float]], begin: float, end: float) -> float:
    """Return the longest time in milliseconds between two answers to one thread, the second of which fell in a span."""
    found = [later - earlier for each in moments for earlier, later in pairwise(each) if begin <= later < end]
    return 1000 * max(found, default=0.0)


def rows_of(what: str, tallies: Sequence[Tally], spans: Sequence[tuple[str, float, float]]) -> list[dict[str, str]]:
    """Return a row for each span of time."""
    rows = []
    for name, begin, end in spans:
        failed = Counter(kind for each in tallies for at, kind in each.failed if begin <= at < end)
        reads = sum(begin <= at < end for each in tallies for at in each.reads)
        writes = sum(begin <= at < end for each in tallies for at in each.writes)
        rows.append(
            {
                "stores": what,
                "while": name,
                "reads": f"{reads:,}",
                "acknowledged writes": f"{writes:,}",
                "failed reads": str(failed["read"]),
                "failed writes": str(failed["write"]),
                "unsure writes": str(failed["unsure"]),
                "longest gap of reads, ms": f"{gap([each.reads for each in tallies], begin, end):.0f}",
                "of writes, ms": f"{gap([each.writes for each in tallies], begin, end):.0f}",
            }
        )
    return rows


def lost(tallies: Sequence[Tally], addresses: Sequence[str]) -> int:
    """Return how many acknowledged writes are in no store."""
    missing = 0
    for store, address in enumerate(addresses):
        with recollect.open(address, model="none") as db:
            here = {memory.external_id for memory in db.list(limit=1_000_000).memories}
        missing += sum(text not in here for each in tallies if each.store == store for text in each.kept)
    return missing


def fill(address: str) -> None:
    """Put some memories into the store at *address*."""
    with recollect.open(address, model="none") as db:
        db.add_all([recollect.Memory(content=text) for text in made_up_texts(MEMORIES)])


def wait_for(server: Server, statement: str) -> None:
    """Wait until a statement gives true."""
    with psycopg.connect(f"{server.address} dbname=postgres", autocommit=True) as db:
        while db.execute(statement).fetchone() != (True,):
            time.sleep(0.02)


# --- what is killed -------------------------------------------------------------------------


def replicas(rows: list[dict[str, str]]) -> tuple[int, int]:
    """Kill the standby, then the primary; return how many writes were acknowledged and how many are lost."""
    with ExitStack() as stack:
        primary = stack.enter_context(closing(Server(**DURABLE)))
        standby = stack.enter_context(closing(Server(follows=primary, **DURABLE)))
        primary.set("synchronous_standby_names", "*")
        confirmed = "select exists (select 1 from pg_stat_replication where sync_state = 'sync')"
        wait_for(primary, confirmed)
        address = url_of(primary, standby)
        fill(address)
        with load([address]) as end:
            time.sleep(STEADY)
            begin = time.monotonic()
            time.sleep(STEADY)
            first = time.monotonic()
            standby.kill()
            time.sleep(AWAY)
            standby.start()
            wait_for(primary, confirmed)
            time.sleep(AFTER)
            second = time.monotonic()
            primary.kill()
            time.sleep(NOTICED)
            standby.promote()
            time.sleep(AFTER)
            last = time.monotonic()
            tallies = end()
        spans = [
            ("all is well", begin, first),
            (f"the standby is killed, and back after {AWAY:g} s", first, second),
            (f"the primary is killed, the standby promoted after {NOTICED:g} s", second, last),
        ]
        rows += rows_of("primary and standby", tallies, spans)
        return sum(len(each.kept) for each in tallies), lost(tallies, [address])


def watched_by_patroni(rows: list[dict[str, str]], packages: Path) -> tuple[int, int]:
    """Kill the primary and its Patroni; return how many writes were acknowledged and how many are lost."""
    with closing(Cluster(packages, **DURABLE)) as cluster:
        fill(cluster.url)
        killed = cluster.primary
        other = next(each for each in cluster.nodes if each is not killed)
        with load([cluster.url]) as end:
            time.sleep(STEADY)
            begin = time.monotonic()
            time.sleep(STEADY)
            first = time.monotonic()
            killed.kill()
            cluster.wait(lambda: other.says(IS_PRIMARY))
            noticed = time.monotonic() - first
            time.sleep(AFTER)
            second = time.monotonic()
            cluster.start(killed)
            cluster.wait(lambda: other.says(IS_CONFIRMED))
            time.sleep(AFTER)
            last = time.monotonic()
            tallies = end()
        spans = [
            ("all is well", begin, first),
            (f"the primary is killed, another promoted after {noticed:.0f} s", first, second),
            ("the killed one comes back as the standby", second, last),
        ]
        rows += rows_of("two nodes, Patroni and etcd", tallies, spans)
        return sum(len(each.kept) for each in tallies), lost(tallies, [cluster.url])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--patroni", type=Path, metavar="FOLDER", help="the Debian packages of Patroni and etcd")
    packages = parser.parse_args().patroni
    rows: list[dict[str, str]] = []
    acknowledged, missing = replicas(rows) if packages is None else watched_by_patroni(rows, packages)
    print_table(rows)
    print(f"{acknowledged:,} writes acknowledged, {missing} lost: {verdict(held=missing == 0)}\n")


if __name__ == "__main__":
    main()
