"""Arithmetic on vectors: length one, and the bytes they are stored as."""

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.vectors import pack, unit, unpack, zero


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
