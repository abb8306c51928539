"""One project of many, found three ways: routed by the client, through foreign tables, in partitions of one schema.

usage: python benchmarks/shards.py [--projects 12] [--memories 1000] [--rounds 40]
Three servers on this machine, with what makes commits durable left on. The first table asks a small model of a store
the same questions in turns: two shards that the client chooses between, a coordinator whose partitions are foreign
tables on the same two servers (postgres_fdw, everything pushed down that can be), and hash partitions in one schema.
The second table asks the real store: what routing adds to a search, and how many writes of several projects pass
at once in one schema and over three shards.
"""

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg

import recollect
from common import ROOT, print_table
from recollect.stores.choice import shards_of

sys.path.insert(0, str(ROOT / "tests"))
from postgres_server import Server

WIDTH = 384
DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
TABLES = """
create table memory (project text not null, id bigint not null, body text not null) {memory};
create table vector (project text not null, id bigint not null, e halfvec(384) not null) {vector};
"""
KEYS = "create index on memory (project, id); create index on vector (project)"
QUESTIONS: Mapping[str, str] = {
    "load 20": "select id, body from memory where project = %s and id = any(%s::bigint[])",
    "read all words": "select id, body from memory where project = %s order by id",
    "nearest 50": "select id from vector where project = %s order by e <=> %s::halfvec, id limit 50",
    "nearest 50 with their texts": (
        "select m.id, m.body from vector v join memory m on m.project = v.project and m.id = v.id "
        "where v.project = %(p)s order by v.e <=> %(v)s::halfvec, v.id limit 50"
    ),
    "write one": "insert into memory (project, id, body) values (%s, %s, %s)",
}
FOREIGN = """
create extension postgres_fdw;
create server {name} foreign data wrapper postgres_fdw options
  (host '{host}', port '5432', dbname 'postgres', extensions 'vector', use_remote_estimate 'true');
create user mapping for current_user server {name} options (user 'recollect', password_required 'false');
"""
Rows = Mapping[str, Sequence[tuple[int, str, str]]]
Ask = Callable[[str, str, Any], object]


def make_rows(projects: int, memories: int) -> Rows:
    chance = random.Random(7)
    words = [f"word{number}" for number in range(5000)]

    def vector() -> str:
        return "[" + ",".join(f"{chance.gauss(0, 1):.4f}" for _ in range(WIDTH)) + "]"

    return {
        f"project{at}": [(n, " ".join(chance.choices(words, k=40)), vector()) for n in range(memories)]
        for at in range(projects)
    }


def connect(server: Server, schema: str = "public") -> "psycopg.Connection[Any]":
    db = psycopg.connect(server.url(), autocommit=True, options=f"-c search_path={schema},public -c jit=off")
    db.execute("create extension if not exists vector schema public")
    db.execute(f"create schema if not exists {schema}")
    return db


def fill(db: "psycopg.Connection[Any]", rows: Rows) -> None:
    for table, column in (("memory", 1), ("vector", 2)):
        with db.cursor() as cursor, cursor.copy(f"copy {table} from stdin") as copy:
            for project, held in rows.items():
                for row in held:
                    copy.write_row((project, row[0], row[column]))


# --- the three ways -------------------------------------------------------------------------


def routed(servers: Sequence[Server], rows: Rows) -> Ask:
    """Return how one asks who knows where a project lives: the shard itself."""
    shards = [connect(server, "shard") for server in servers]
    home = {project: shards[at % len(shards)] for at, project in enumerate(rows)}
    for shard in shards:
        shard.execute(TABLES.format(memory="", vector=""))
        fill(shard, {project: held for project, held in rows.items() if home[project] is shard})
        shard.execute(KEYS)
        shard.execute("analyze")
    return lambda project, sql, values: home[project].execute(sql, values)


def foreign(coordinator: Server, servers: Sequence[Server], rows: Rows) -> Ask:
    """Return how one asks a coordinator whose partitions lie on the shards."""
    db = connect(coordinator, "fdw")
    db.execute(TABLES.format(memory="partition by hash (project)", vector="partition by hash (project)"))
    for at, server in enumerate(servers):
        remote = connect(server, "fdw")
        remote.execute(TABLES.format(memory="", vector=""))
        remote.execute(KEYS)
        made = FOREIGN.format(name=f"shard{at}", host=server.folder)
        db.execute(made if at == 0 else made.replace("create extension postgres_fdw;", ""))
        for table in ("memory", "vector"):
            db.execute(
                f"create foreign table {table}{at} partition of {table} for values with "
                f"(modulus {len(servers)}, remainder {at}) server shard{at} "
                f"options (schema_name 'fdw', table_name '{table}')"
            )
    fill(db, rows)
    for server in servers:
        connect(server, "fdw").execute("analyze")
    return lambda project, sql, values: db.execute(sql, values)  # noqa: ARG005


def partitioned(server: Server, rows: Rows, parts: int = 8) -> Ask:
    """Return how one asks a schema whose tables are partitioned by project."""
    db = connect(server, "parts")
    db.execute(TABLES.format(memory="partition by hash (project)", vector="partition by hash (project)"))
    for table in ("memory", "vector"):
        for at in range(parts):
            bounds = f"with (modulus {parts}, remainder {at})"
            db.execute(f"create table {table}_{at} partition of {table} for values {bounds}")
    fill(db, rows)
    db.execute(KEYS)
    db.execute("analyze")
    return lambda project, sql, values: db.execute(sql, values)  # noqa: ARG005


def values_for(name: str, project: str, rows: Rows, number: int) -> Any:
    chance = random.Random(f"{name} {project} {number}")
    vector = chance.choice(rows[project])[2]
    return {
        "load 20": (project, chance.sample(range(len(rows[project])), 20)),
        "read all words": (project,),
        "nearest 50": (project, vector),
        "nearest 50 with their texts": {"p": project, "v": vector},
        "write one": (project, 10**6 + number, "a memory that is written now"),
    }[name]


def compare(ways: Mapping[str, Ask], rows: Rows, rounds: int) -> list[dict[str, str]]:
    """Return the median milliseconds of each question by each way, asked in turns."""
    projects, table = list(rows), []
    for name, sql in QUESTIONS.items():
        took: dict[str, list[float]] = {way: [] for way in ways}
        for number in range(rounds + 10):
            project = projects[number % len(projects)]
            values = values_for(name, project, rows, number)
            answers = {}
            for way in sorted(ways, key=lambda each: hash((each, number))):
                begin = time.perf_counter()
                cursor: Any = ways[way](project, sql, values)
                if name != "write one":
                    answers[way] = cursor.fetchall()
                if number >= 10:
                    took[way].append(1000 * (time.perf_counter() - begin))
            if any(each != next(iter(answers.values())) for each in answers.values()):
                raise SystemExit(f"the ways do not agree on {name}")
        medians = {way: statistics.median(each) for way, each in took.items()}
        base = next(iter(medians.values()))
        table.append({"question": name} | {way: f"{ms:.2f} ms ({ms / base:.1f}x)" for way, ms in medians.items()})
    return table


# --- the real store -------------------------------------------------------------------------


def spread_store(servers: Sequence[Server]) -> tuple[str, str]:
    """Return the addresses of a store in one schema, and of one over three shards on two servers."""
    plain = f"{servers[0].url()}&schema=plain"
    spread = f"{servers[0].url()}&directory=directory"
    with recollect.open(spread, model="none") as db:
        for at, server in enumerate((servers[0], servers[1], servers[1])):
            shards_of(db.store).add(f"s{at}", f"{server.url()}&schema=s{at}")
    return plain, spread


def search_both(plain: str, spread: str, rounds: int) -> list[dict[str, str]]:
    """Return what a search of one project takes in each store, asked in turns."""
    chance = random.Random(9)
    words = [f"word{number}" for number in range(300)]
    with recollect.open(plain, model="none") as one, recollect.open(spread, model="none") as many:
        views = {"in one schema": one.in_project("web"), "over shards": many.in_project("web")}
        for view in views.values():
            seeded = random.Random(3)
            texts = [" ".join(seeded.choices(words, k=20)) for _ in range(1000)]
            view.add_all([recollect.Memory(content=text) for text in texts])
        took: dict[str, list[float]] = {name: [] for name in views}
        for number in range(rounds + 5):
            query = " ".join(chance.choices(words, k=3))
            for name in sorted(views, key=lambda each: hash((each, number))):
                begin = time.perf_counter()
                views[name].search(query)
                if number >= 5:
                    took[name].append(1000 * (time.perf_counter() - begin))
    return [{"real store": "search, median ms"} | {name: f"{statistics.median(ms):.2f}" for name, ms in took.items()}]


def write_both(plain: str, spread: str, writes: int = 30, threads: int = 6) -> list[dict[str, str]]:
    """Return how many single writes a second pass, *threads* projects at once."""
    figures: dict[str, list[float]] = {"in one schema": [], "over shards": []}
    for turn in range(3):
        for name, address in (("in one schema", plain), ("over shards", spread)):
            with recollect.open(address, model="none") as db:
                views = [db.in_project(f"writer{turn}x{at}") for at in range(threads)]
                for view in views:
                    view.add("The first word of a project")

                def write(view: recollect.Recollection) -> None:
                    for number in range(writes):
                        view.add(f"Said number {number} of many", external_id=str(number))

                begin = time.perf_counter()
                with ThreadPoolExecutor(threads) as pool:
                    list(pool.map(write, views))
                figures[name].append(threads * writes / (time.perf_counter() - begin))
    row = {"real store": f"writes a second, {threads} projects at once"}
    return [row | {name: f"{statistics.median(each):.0f}" for name, each in figures.items()}]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--projects", type=int, default=12)
    parser.add_argument("--memories", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=40)
    given = parser.parse_args()
    servers = [Server(**DURABLE) for _ in range(3)]
    try:
        rows = make_rows(given.projects, given.memories)
        ways = {
            "routed by the client": routed(servers[:2], rows),
            "foreign tables": foreign(servers[2], servers[:2], rows),
            "partitions of one schema": partitioned(servers[0], rows),
        }
        print_table(compare(ways, rows, given.rounds))
        print()
        plain, spread = spread_store(servers)
        print_table(search_both(plain, spread, given.rounds) + write_both(plain, spread))
    finally:
        for server in servers:
            server.close()


if __name__ == "__main__":
    main()
