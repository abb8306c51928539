"""A matrix of vectors: products, leads and mixtures, and the same ranking in plain Python."""

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.vectors import matrix, mix, plain_products, unit, unpack, zero

NUMBERS = st.floats(-1, 1, width=32).map(lambda number: number if abs(number) > 1e-6 else 0.0)
VECTORS = st.lists(st.lists(NUMBERS, min_size=3, max_size=3), min_size=1, max_size=12)


def packed(numbers: list[float]) -> bytes:
    return array("f", numbers).tobytes()


@pytest.mark.req("B-04", "B-05")
@given(VECTORS, st.lists(st.floats(-1, 1, width=32), min_size=3, max_size=3))
def test_plain_python_ranks_as_numpy_does(vectors: list[list[float]], query: list[float]) -> None:
    rows = [packed(vector) for vector in vectors]

    fast = matrix(rows, dimensions=3).products(packed(query), range(len(rows)))
    plain = plain_products(packed(query), rows)

    assert plain == pytest.approx(fast, abs=2e-7)
    order = sorted(range(len(rows)), key=lambda row: (-plain[row], row))
    assert [fast[row] for row in order] == pytest.approx(sorted(fast, reverse=True), abs=2e-7)


def test_those_ahead_count_by_how_near_they_are_and_those_behind_not_at_all() -> None:
    rows = [packed([1.0, 0.0, 0.0]), packed([0.8, 0.6, 0.0]), packed([0.0, 1.0, 0.0]), packed([-1.0, 0.0, 0.0])]

    table = matrix(rows, dimensions=3)

    assert table.leads([0.2, 0.5, 0.4, 0.9], 2) == pytest.approx([0.3, 0.0, 0.1, 0.0])
    assert table.leads([0.5, 0.2, 0.4, 0.9], 2) == pytest.approx([0.0, (0.8 * 0.3 + 0.6 * 0.2) / 1.4, 0.0, 0.0])


@given(VECTORS, st.lists(st.floats(0, 1, width=32), max_size=4))
def test_neighbours_are_mixed_in_by_their_weights(vectors: list[list[float]], weights: list[float]) -> None:
    rows = [packed(vector) for vector in vectors]
    steps = dict(zip((-1, 1, -2, 2), weights, strict=False))

    made = matrix(rows, dimensions=3).in_context(weights)

    for at, one in enumerate(made):
        near = {at + step: weight for step, weight in steps.items() if 0 <= at + step < len(rows)}
        mixed = mix([unpack(rows[at]), *(unpack(rows[row]) for row in near)], [1.0, *near.values()])
        if unit(mixed) != zero(3):
            assert list(unpack(one)) == pytest.approx(list(mixed), abs=1e-3)
