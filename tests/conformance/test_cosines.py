"""How near two texts are, at the edges, as a search sees it: unit vectors put into a store and asked for."""

import math

import pytest

from kit import NOON
from recollect.records import (
    ALL_PROJECTS,
    NO_FILTER,
    EmbeddedMemory,
    Generation,
    IndexHit,
    Insert,
    Memory,
    Passage,
)
from recollect.stores.contract import Store
from recollect.vectors import pack, unit


def keep(store: Store, *vectors: list[float], fingerprint: str = "model") -> None:
    """Remember one text for each of *vectors*, and give it that vector as an embedder would: at length one."""
    rows = store.apply([Insert(memory=Memory(content=f"{fingerprint} {at}")) for at in range(len(vectors))], at=NOON)
    memories = store.load(rows, scope=ALL_PROJECTS)
    for row, vector in zip(rows, vectors, strict=True):
        generation = Generation(fingerprint=fingerprint, dimensions=len(vector), model="m")
        passage = Passage(start=0, stop=1, vector=pack(unit(vector)))
        embedded = EmbeddedMemory(memory_id=row, meaning=memories[row].meaning, passages=(passage,))
        store.put_vectors(generation, [embedded])


def cosines(store: Store, *query: float) -> list[IndexHit]:
    found = store.nearest("model", pack(unit(query)), scope=ALL_PROJECTS, where=NO_FILTER, limit=9)
    return sorted(found.top, key=lambda hit: hit.id)


@pytest.mark.req("C-30")
@pytest.mark.case(75)
@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ([0.3, -0.7, 2.0], [0.3, -0.7, 2.0], 1.0),
        ([1.0, 0.0], [0.0, 1.0], 0.0),
        ([0.5, -1.5], [-0.5, 1.5], -1.0),
        ([0.0, 0.0], [1.0, 2.0], 0.0),
        ([1.0, 2.0], [0.0, 0.0], 0.0),
    ],
    ids=["identical", "orthogonal", "opposite", "a text that points nowhere", "a question that points nowhere"],
)
def test_the_cosine_at_its_edges(store: Store, one: list[float], other: list[float], expected: float) -> None:
    keep(store, one)

    (hit,) = cosines(store, *other)

    assert hit.score == pytest.approx(expected, abs=1e-6)


@pytest.mark.req("C-30")
@pytest.mark.case(75)
def test_vectors_of_different_lengths_are_never_compared(store: Store) -> None:
    keep(store, [1.0, 2.0, 3.0], fingerprint="another")
    keep(store, [1.0, 2.0])

    found = store.nearest("model", pack(unit([1.0, 2.0])), scope=ALL_PROJECTS, where=NO_FILTER, limit=9)

    assert [(hit.id, round(hit.score, 6)) for hit in found.top] == [(2, 1.0)]
    assert found.missing == 1


@pytest.mark.req("B-05")
@pytest.mark.case(76)
def test_the_cosine_of_two_vectors_computed_by_hand(store: Store) -> None:
    keep(store, [1.0, 2.0, 3.0])

    (hit,) = cosines(store, 4.0, 5.0, 6.0)

    assert hit.score == pytest.approx(32 / math.sqrt(1078), abs=1e-6)
    assert round(hit.score, 6) == 0.974632
