"""Arithmetic on vectors of float32 numbers; NumPy is loaded when the first matrix is made."""

import math
import sys
from array import array
from collections.abc import Iterable, Sequence
from operator import mul
from typing import Any, Final, TypeAlias

from msgspec import Struct

Vector: TypeAlias = "array[float]"
"""float32 numbers, `array("f")`: `numpy.frombuffer` reads them without a copy."""

DIGITS: Final = 7
"""How many decimals of a cosine are kept: what float32 can tell, so that equal vectors tie everywhere."""

STEPS: Final = (-1, 1, -2, 2)
"""Which neighbours the weights of a context vector are for, in order."""

REACH: Final = max(STEPS)
"""How far away the furthest neighbour is."""


def pack(vector: Sequence[float]) -> bytes:
    """Return the vector as little-endian float32: the same bytes on every machine."""
    return little(array("f", vector)).tobytes()


def unpack(blob: bytes) -> Vector:
    """Return the vector that `pack` made into *blob*."""
    return little(array("f", blob))


def little(vector: Vector) -> Vector:
    """Return *vector* with its bytes in little-endian order, or back in the machine's."""
    if sys.byteorder == "big":
        vector.byteswap()
    return vector


WIDTH: Final = 4
"""Bytes of one float32."""

FAR: Final = 0.058
NEAR: Final = 0.593
"""The mean cosines of all-MiniLM-L6-v2 for texts that have nothing to do with each other, and for texts about the same
thing. Cosines of every other model are converted to this scale, so that one bound means the same for all."""


class Scale(Struct, frozen=True, kw_only=True):
    """What the cosines of a model mean: those of unrelated texts, and of texts about the same thing."""

    far: float = FAR
    near: float = NEAR
    place: float = NEAR
    """Where *near* is on the common scale; *far* is at FAR, and 1 at 1."""
    tells: bool = True
    """Whether near texts stand out from others, so that one cosine by itself says something."""

    def of(self, cosine: float) -> float:
        """Return *cosine* on the common scale."""
        return self.of_all([cosine])[0]

    def of_all(self, cosines: Sequence[float]) -> list[float]:
        """Return *cosines* on the common scale: along one line up to *near*, and along another from there to 1."""
        if self == RAW:
            return list(cosines)
        below, above = (self.place - FAR) / (self.near - self.far), (1.0 - self.place) / (1.0 - self.near)
        lines = ((each - self.near) * (above if each > self.near else below) for each in cosines)
        return [max(-1.0, round(self.place + line, DIGITS)) for line in lines]


RAW: Final = Scale()
"""The scale on which cosines stay as they are."""


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


def mix(vectors: Sequence[Vector], weights: Sequence[float]) -> Vector:
    """Return the unit vector between *vectors*, nearer to those that weigh more; zeros where they cancel out."""
    total = [math.fsum(map(mul, weights, numbers)) for numbers in zip(*vectors, strict=True)]
    length = math.sqrt(math.fsum(map(mul, total, total)))
    return array("f", [number / length for number in total] if length > 0 else total)


def plain_products(query: bytes, vectors: Sequence[bytes]) -> list[float]:
    """Return the product of each of *vectors* with *query*, in plain Python: NumPy ranks them the same."""
    asked = unpack(query)
    return [round(sum(map(mul, unpack(each), asked)), DIGITS) for each in vectors]


class Matrix:
    """Vectors in rows, numbered from 0, as one (N, D) block."""

    def __init__(self, vectors: Sequence[bytes], dimensions: int) -> None:
        import numpy as np  # noqa: PLC0415  (expensive to load)

        self._np: Any = np
        self._block: Any = np.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(vectors), dimensions)

    def products(self, query: bytes, rows: Sequence[int]) -> list[float]:
        """Return the product of each of *rows* with *query* in double precision, rounded."""
        asked = self._np.frombuffer(query, dtype="<f4").astype("f8")
        exact: list[float] = (self._block[list(rows)].astype("f8") @ asked).round(DIGITS).tolist()
        return exact

    def leads(self, scores: Sequence[float], most: int, scale: Scale = RAW) -> list[float]:
        """Return how far the *most* nearest others, ties by row, are ahead of each row by *scores*.

        Weighted by cosine on the common scale; negative leads and negative cosines count as zero.
        """
        np, block, own = self._np, self._block.astype("f8"), self._np.array(scores)
        products = (block @ block.T).round(DIGITS)
        np.fill_diagonal(products, -np.inf)
        nearest = np.argsort(-products, axis=1, kind="stable")[:, : min(most, len(block) - 1)]
        compared = np.take_along_axis(products, nearest, axis=1)
        cosines = np.maximum(np.array(scale.of_all(compared.ravel().tolist())).reshape(compared.shape), 0.0)
        ahead = cosines * np.maximum(own[nearest] - own[:, None], 0.0)
        return list(map(_mean, ahead.tolist(), cosines.tolist()))

    def in_context(self, weights: Sequence[float]) -> list[bytes]:
        """Return each row with its neighbours mixed in, at length one again.

        The weights are for the row before, the row after, the second before, the second after.
        """
        mixed = self._block.copy()
        for step, weight in zip(STEPS, weights, strict=False):
            to, of = (slice(-step, None), slice(None, step)) if step < 0 else (slice(None, -step), slice(step, None))
            mixed[to] += self._np.float32(weight) * self._block[of]
        size = self._np.linalg.norm(mixed, axis=1, keepdims=True)
        mixed /= self._np.where(size > 0, size, 1)
        return [row.tobytes() for row in mixed.astype("<f4")]


def _mean(weighed: Sequence[float], weights: Sequence[float]) -> float:
    """Return the mean of values that are *weighed* already; of nothing 0."""
    total = math.fsum(weighed)
    return total / math.fsum(weights) if total > 0 else 0.0


def matrix(vectors: Sequence[bytes], *, dimensions: int) -> Matrix:
    """Return *vectors* as the rows of a matrix."""
    return Matrix(vectors, dimensions)
