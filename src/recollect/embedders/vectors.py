"""Arithmetic on vectors that needs no library."""

import math
from array import array
from collections.abc import Iterable, Sequence
from operator import mul
from typing import Final

from recollect.embedders.contract import Vector, little
from recollect.errors import ModelError

WIDTH: Final = 4
"""Bytes of one float32."""


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Return how alike two vectors point, from -1 to 1; 0 when there is nothing to compare.

    Nothing to compare are vectors of different length, empty ones, zero ones and ones that are not finite.
    """
    if len(one) != len(other):
        return 0.0
    size = math.sqrt(sum(map(mul, one, one))) * math.sqrt(sum(map(mul, other, other)))
    if size == 0.0 or not math.isfinite(size):
        return 0.0
    product: float = sum(map(mul, one, other))
    return max(-1.0, min(1.0, product / size))


def unit(numbers: Iterable[float]) -> Vector:
    """Return the vector of length one that points where *numbers* point; zeros stay zeros."""
    values = list(numbers)
    length = math.sqrt(sum(map(mul, values, values)))
    if length == 0.0:
        return array("f", values)
    return array("f", [value / length for value in values])


def zero(dimensions: int) -> Vector:
    """Return the vector that points nowhere."""
    return array("f", bytes(WIDTH * dimensions))


def unpack(blob: bytes, *, dimensions: int) -> Vector:
    """Return the vector that `pack` made into *blob*."""
    if len(blob) != WIDTH * dimensions:
        raise ModelError(
            f"a stored vector has {len(blob)} bytes; {dimensions} dimensions take {WIDTH * dimensions}",
            hint="embed the memory again: recollect embed",
        )
    return little(array("f", blob))


def expect(vector: Sequence[float], *, dimensions: int) -> None:
    """Refuse a vector that has other than *dimensions* numbers or one that is not finite."""
    if len(vector) != dimensions:
        raise ModelError(
            f"a vector has {len(vector)} dimensions where {dimensions} were expected",
            hint="is another model answering than the one configured?",
        )
    if not all(map(math.isfinite, vector)):
        raise ModelError("a vector holds a number that is not finite", hint="the model may be damaged")
