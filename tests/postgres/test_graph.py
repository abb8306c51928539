"""Many vectors are found by an HNSW graph, few are all compared; filters never make an answer short."""

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from msgspec.structs import replace

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
GRAPHS = "select indexname from pg_indexes where indexname like 'near_%' order by 1"
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

    assert ["hnsw" in definition for (definition,) in graphs] == [True]
    assert all(len(walked) == LIMIT for walked, _ in hits)
    assert sum(len(walked & compared) for walked, compared in hits) >= 0.99 * LIMIT * len(asked)


@pytest.mark.req("E-01")
def test_a_filter_that_leaves_one_in_a_hundred_returns_as_many_as_there_are_and_the_right_ones(store: SqlStore) -> None:
    rare = Filter(types=("rare",))

    hits = [(found(store, each, rare), found(store, each, rare, exact=True)) for each in questions(40)]

    assert all(len(filtered) == LIMIT for filtered, _ in hits)
    assert all(filtered == compared for filtered, compared in hits)


def test_a_graph_waits_while_many_memories_have_no_vectors_yet() -> None:
    opened = open_postgres(fresh_database(), plain)
    opened.scan = HalfPrecisionScan(few=5, graph=10)
    memories = [Memory(content=f"memory {number}", thread="talk", turn=number) for number in range(64)]
    ids = opened.apply([Insert(memory=memory) for memory in memories], at=NOON)
    embedded = [
        EmbeddedMemory(memory_id=row, meaning=memory.meaning, passages=(Passage(start=0, stop=6, vector=vector),))
        for row, memory, vector in zip(ids, memories, questions(64), strict=True)
    ]
    seen = []
    for some in (embedded[:32], embedded[32:]):
        opened.put_vectors(replace(MODEL, context_weights=(0.5,)), some)
        with opened.engine.session() as session:
            seen.append([name for (name,) in session.rows(GRAPHS)])
    opened.close()

    assert seen == [[], ["near_1_alone", "near_1_context"]]


def test_the_vectors_of_a_model_are_counted_as_they_come_and_go_and_counted_anew_where_that_is_wrong() -> None:
    opened = open_postgres(fresh_database(), plain)
    memories = [Memory(content=f"memory {number}") for number in range(4)]
    ids = opened.apply([Insert(memory=memory) for memory in memories], at=NOON)
    passages = tuple(Passage(start=0, stop=6, vector=vector) for vector in questions(2))
    for times in (2, 1):
        for row, memory in zip(ids, memories, strict=True):
            opened.put_vectors(
                MODEL, [EmbeddedMemory(memory_id=row, meaning=memory.meaning, passages=passages[:times])]
            )
    opened.apply([Forget(id=ids[0])], at=NOON)
    (asked,) = questions(1)

    found = opened.nearest(MODEL.fingerprint, asked, scope=ALL_PROJECTS, where=NO_FILTER, limit=LIMIT)
    sound = opened.check(deep=True)
    with opened.engine.session(write=True) as session:
        counts = session.rows("select sum(memories), sum(passages) from vector_count")
        session.rows("update vector_count set memories = 7")
    wrong = opened.check(deep=True)
    opened.rebuild()

    assert (found.total, found.missing, len(found.top)) == (3, 0, 3)
    assert (counts, sound, opened.check(deep=True)) == ([(4, 4)], (), ())
    assert wrong == ("the vectors of 1 models are counted wrong; run: recollect reindex",)
    opened.close()


def test_what_is_forgotten_is_not_found_by_the_graph(store: SqlStore) -> None:
    (vector,) = questions(1)
    gone = found(store, vector)[0]

    store.apply([Forget(id=gone)], at=NOON)

    assert gone not in found(store, vector)
    assert len(found(store, vector)) == LIMIT


BUILDING = (
    "select count(*) from pg_stat_activity where query like 'create index concurrently%' and wait_event_type = 'Lock'"
)


@contextmanager
def old_reader(address: str) -> Iterator[None]:
    """Hold a transaction open that sees the store as it is now: a graph is not ready before it ends."""
    with psycopg.connect(address, options="-c search_path=recollect,public") as db:
        db.execute("set transaction isolation level repeatable read")
        db.execute("select count(*) from vector")
        yield


def filled(address: str) -> SqlStore:
    opened = open_postgres(address, plain)
    opened.scan = HalfPrecisionScan(few=5, graph=10)
    memories = [Memory(content=f"memory {number}") for number in range(12)]
    ids = opened.apply([Insert(memory=memory) for memory in memories], at=NOON)
    with opened.engine.session(write=True):  # in which no graph is made
        opened.put_vectors(
            MODEL,
            [
                EmbeddedMemory(memory_id=row, meaning=each.meaning, passages=(Passage(start=0, stop=6, vector=vector),))
                for row, each, vector in zip(ids, memories, questions(12), strict=True)
            ],
        )
    return opened


def graphs(store: SqlStore) -> list[tuple[str, bool]]:
    with store.engine.session() as session:
        sql = "select c.relname, i.indisvalid from pg_index i join pg_class c on c.oid = i.indexrelid"
        return [(name, valid) for name, valid in session.rows(f"{sql} where c.relname like 'near\\_%'")]


def test_writers_go_on_while_a_graph_is_built() -> None:
    address = fresh_database()
    opened = filled(address)
    builder = threading.Thread(target=opened.settle)

    with psycopg.connect(address, autocommit=True) as watching, old_reader(address):
        builder.start()
        while watching.execute(BUILDING).fetchone() != (1,) and builder.is_alive():
            pass
        was_building = builder.is_alive()
        (row,) = opened.apply([Insert(memory=Memory(content="written meanwhile"))], at=NOON)
        told = opened.check(deep=False)
    builder.join()

    assert was_building
    assert row == 13
    assert told == ()
    assert graphs(opened) == [("near_1_alone", True)]
    opened.close()


def test_a_graph_that_was_left_half_built_is_built_again() -> None:
    address = fresh_database()
    opened = filled(address)
    with old_reader(address), psycopg.connect(address, autocommit=True) as db:
        db.execute("set search_path = recollect, public")
        db.execute("set lock_timeout = '10ms'")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            db.execute("create index concurrently near_1_alone on vector (id)")
    half_built = graphs(opened)

    opened.settle()

    assert half_built == [("near_1_alone", False)]
    assert graphs(opened) == [("near_1_alone", True)]
    opened.close()
