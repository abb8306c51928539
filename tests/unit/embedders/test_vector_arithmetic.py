import math
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.embedders.contract import expect
from recollect.errors import ModelError
from recollect.vectors import cosine, pack, unit, unpack, zero

numbers = st.floats(-1e6, 1e6, width=32).filter(lambda x: x == 0 or abs(x) > 1e-6)
pairs = st.integers(1, 8).flatmap(lambda n: st.tuples(*[st.lists(numbers, min_size=n, max_size=n)] * 2))


@pytest.mark.req("C-30")
@pytest.mark.case(75)
@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ([0.3, -0.7, 2.0], [0.3, -0.7, 2.0], 1.0),
        ([1.0, 0.0], [0.0, 1.0], 0.0),
        ([0.5, -1.5], [-0.5, 1.5], -1.0),
        ([0.0, 0.0], [1.0, 2.0], 0.0),
        ([1.0, 2.0], [1.0, 2.0, 3.0], 0.0),
        ([], [], 0.0),
    ],
    ids=["identical", "orthogonal", "opposite", "zero", "different length", "empty"],
)
def test_cosine_at_its_edges(one: list[float], other: list[float], expected: float) -> None:
    assert cosine(one, other) == pytest.approx(expected, abs=1e-12)


@pytest.mark.req("B-05")
@pytest.mark.case(76)
def test_cosine_of_two_vectors_computed_by_hand() -> None:
    found = cosine([1, 2, 3], [4, 5, 6])

    assert found == pytest.approx(32 / math.sqrt(1078))
    assert round(found, 6) == 0.974632


@pytest.mark.parametrize("strange", [math.inf, math.nan, 1e300])
def test_cosine_of_numbers_that_cannot_be_compared_is_nothing(strange: float) -> None:
    assert cosine([strange, 1.0], [strange, 1.0]) == 0.0


@given(pairs)
def test_cosine_is_bounded_and_the_same_both_ways(pair: tuple[list[float], list[float]]) -> None:
    one, other = pair

    found = cosine(one, other)

    assert -1.0 <= found <= 1.0
    assert found == cosine(other, one)


@given(pairs)
def test_making_unit_vectors_does_not_change_the_cosine(pair: tuple[list[float], list[float]]) -> None:
    one, other = pair

    found = cosine(unit(one), unit(other))

    assert found == pytest.approx(cosine(one, other), abs=1e-5)


def test_a_unit_vector_has_length_one_and_zeros_stay_zeros() -> None:
    assert list(unit([3.0, 4.0])) == pytest.approx([0.6, 0.8])
    assert list(unit([0.0, 0.0])) == [0.0, 0.0]
    assert zero(3) == array("f", [0.0, 0.0, 0.0])


@pytest.mark.case(77)
@given(st.lists(st.floats(width=32, allow_nan=False), max_size=40))
def test_a_packed_vector_comes_back_equal(values: list[float]) -> None:
    blob = pack(values)

    assert len(blob) == 4 * len(values)
    assert list(unpack(blob)) == values


def test_packed_vectors_are_little_endian_everywhere() -> None:
    assert pack([1.0]) == b"\x00\x00\x80\x3f"


@pytest.mark.case(73)
@pytest.mark.parametrize("count", [3, 5])
def test_a_vector_of_the_wrong_dimension_is_refused(count: int) -> None:
    with pytest.raises(ModelError, match=f"{count} dimensions where 4"):
        expect([1.0] * count, dimensions=4)


def test_a_vector_that_is_not_finite_is_refused() -> None:
    with pytest.raises(ModelError, match="not finite"):
        expect([1.0, math.nan], dimensions=2)
