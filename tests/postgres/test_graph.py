"""Many vectors are found by an HNSW graph, few are all compared; filters never make an answer short."""

import random
from collections.abc import Iterator

import pytest

from kit import NOON, plain
from postgres_server import fresh_database
from recollect.records import (
    ALL_PROJECTS,
    NO_FILTER,
    EmbeddedMemory,
    Filter,
    Forget,
    Generation,
    Insert,
    Memory,
    Passage,
)
from recollect.stores.postgres import open_postgres
from recollect.stores.postgres.vectors import HalfPrecisionScan
from recollect.stores.sql import SqlStore
from recollect.vectors import pack, unit

WIDTH, MEMORIES, LIMIT = 24, 1_200, 10
MODEL = Generation(fingerprint="made-up", dimensions=WIDTH, model="made-up")


def near(chance: random.Random, centre: list[float]) -> bytes:
    return pack(unit([number + chance.gauss(0, 0.4) for number in centre]))


@pytest.fixture(scope="module")
def store() -> Iterator[SqlStore]:
    """A store whose graph is made, and asked, from a few hundred vectors on; one memory in a hundred is rare."""
    chance = random.Random(11)
    opened = open_postgres(fresh_database(), plain)
    opened.scan = HalfPrecisionScan(few=100, graph=300)
    centres = [[chance.gauss(0, 1) for _ in range(WIDTH)] for _ in range(20)]
    memories = [
        Memory(content=f"memory {number}", type="rare" if number % 100 == 0 else "note") for number in range(MEMORIES)
    ]
    ids = opened.apply([Insert(memory=memory) for memory in memories], at=NOON)
    embedded = [
        EmbeddedMemory(
            memory_id=row,
            meaning=memory.meaning,
            passages=(Passage(start=0, stop=6, vector=near(chance, chance.choice(centres))),),
        )
        for row, memory in zip(ids, memories, strict=True)
    ]
    opened.put_vectors(MODEL, embedded)
    opened.settle()
    yield opened
    opened.close()


def found(store: SqlStore, vector: bytes, where: Filter = NO_FILTER, *, exact: bool = False) -> list[int]:
    asked = store.nearest(MODEL.fingerprint, vector, scope=ALL_PROJECTS, where=where, limit=LIMIT, exact=exact)
    return [hit.id for hit in asked.top]


def questions(count: int) -> list[bytes]:
    chance = random.Random(12)
    return [pack(unit([chance.gauss(0, 1) for _ in range(WIDTH)])) for _ in range(count)]


@pytest.mark.req("N-08")
def test_a_large_generation_has_a_graph_that_finds_nearly_all_of_what_comparing_all_finds(store: SqlStore) -> None:
    asked = questions(60)
    with store.engine.session() as session:
        graphs = session.rows("select indexdef from pg_indexes where indexname like 'near_%' order by 1")

    hits = [(set(found(store, each)), set(found(store, each, exact=True))) for each in asked]

    assert len(graphs) == 2
    assert all("hnsw" in definition for (definition,) in graphs)
    assert all(len(walked) == LIMIT for walked, _ in hits)
    assert sum(len(walked & compared) for walked, compared in hits) >= 0.99 * LIMIT * len(asked)


@pytest.mark.req("E-01")
def test_a_filter_that_leaves_one_in_a_hundred_returns_as_many_as_there_are_and_the_right_ones(store: SqlStore) -> None:
    rare = Filter(types=("rare",))

    hits = [(found(store, each, rare), found(store, each, rare, exact=True)) for each in questions(40)]

    assert all(len(filtered) == LIMIT for filtered, _ in hits)
    assert all(filtered == compared for filtered, compared in hits)


def test_what_is_forgotten_is_not_found_by_the_graph(store: SqlStore) -> None:
    (vector,) = questions(1)
    gone = found(store, vector)[0]

    store.apply([Forget(id=gone)], at=NOON)

    assert gone not in found(store, vector)
    assert len(found(store, vector)) == LIMIT
