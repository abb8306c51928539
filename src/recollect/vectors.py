"""Arithmetic on vectors of float32 numbers: NumPy where it is installed, plain Python elsewhere."""

import math
import sys
from array import array
from collections.abc import Iterable, Sequence
from functools import cache
from operator import mul
from typing import Any, Final, Protocol, TypeAlias

Vector: TypeAlias = "array[float]"
"""float32 numbers, `array("f")`: `numpy.frombuffer` reads them without a copy, and NumPy is not needed."""

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


class Matrix(Protocol):
    """Vectors in rows, numbered from 0."""

    def grown(self, kept: Sequence[int], vectors: Sequence[bytes]) -> "Matrix":
        """Return the rows *kept*, in that order, with *vectors* below them."""
        ...

    def replaced(self, rows: Sequence[int], vectors: Sequence[bytes]) -> "Matrix":
        """Return the same with *vectors* in the place of *rows*."""
        ...

    def places(self, rows: Sequence[int]) -> Any:
        """Return *rows* in the form that `best` takes."""
        ...

    def best(self, query: bytes, places: Any, take: int) -> list[int]:
        """Return the *take* rows among *places* with the largest products, in no order."""
        ...

    def products(self, query: bytes, rows: Sequence[int]) -> list[float]:
        """Return the product of each of *rows* with *query* in double precision, rounded."""
        ...

    def leads(self, scores: Sequence[float], most: int) -> list[float]:
        """Return how far the *most* others with the largest products, ties by row, are ahead of each by *scores*.

        On the mean by the products: who is behind is ahead by nothing, and who points away does not count.
        """
        ...

    def in_context(self, weights: Sequence[float]) -> list[bytes]:
        """Return each row with its neighbours mixed in, at length one again.

        The weights are for the row before, the row after, the second before, the second after.
        """
        ...


class PlainMatrix:
    """Rows as arrays of the standard library."""

    def __init__(self, rows: Sequence[Vector] = ()) -> None:
        self._rows = list(rows)

    def grown(self, kept: Sequence[int], vectors: Sequence[bytes]) -> "PlainMatrix":
        """Return the rows *kept* with *vectors* below them."""
        return PlainMatrix([*(self._rows[row] for row in kept), *map(unpack, vectors)])

    def replaced(self, rows: Sequence[int], vectors: Sequence[bytes]) -> "PlainMatrix":
        """Return the same with *vectors* in the place of *rows*."""
        instead = dict(zip(rows, map(unpack, vectors), strict=True))
        return PlainMatrix([instead.get(at, row) for at, row in enumerate(self._rows)])

    def places(self, rows: Sequence[int]) -> Sequence[int]:
        """Return *rows*."""
        return rows

    def best(self, query: bytes, places: Sequence[int], take: int) -> list[int]:
        """Return the *take* best rows of *places*."""
        asked = unpack(query)
        return sorted(places, key=lambda row: -sum(map(mul, self._rows[row], asked)))[:take]

    def products(self, query: bytes, rows: Sequence[int]) -> list[float]:
        """Return the product of each of *rows* with *query*."""
        asked = unpack(query)
        return [round(sum(map(mul, self._rows[row], asked)), DIGITS) for row in rows]

    def leads(self, scores: Sequence[float], most: int) -> list[float]:
        """Return how far those nearest to each row are ahead of it."""
        found = []
        for own, one in enumerate(self._rows):
            products = [round(sum(map(mul, one, two)), DIGITS) for two in self._rows]
            others = sorted((at for at in range(len(products)) if at != own), key=lambda at: (-products[at], at))[:most]
            near = [(max(0.0, products[at]), max(0.0, scores[at] - scores[own])) for at in others]
            found.append(_mean([cosine * lead for cosine, lead in near], [cosine for cosine, _ in near]))
        return found

    def in_context(self, weights: Sequence[float]) -> list[bytes]:
        """Return each row with its neighbours mixed in."""
        return [pack(unit(self._mixture(at, weights))) for at in range(len(self._rows))]

    def _mixture(self, at: int, weights: Sequence[float]) -> Sequence[float]:
        total = list(self._rows[at])
        for step, weight in zip(STEPS, weights, strict=False):
            if 0 <= at + step < len(self._rows):
                total = [one + weight * two for one, two in zip(total, self._rows[at + step], strict=True)]
        return total


class NumpyMatrix:
    """Rows as one (N, D) block: a search is one product and a partition, O(N)."""

    def __init__(self, np: Any, block: Any) -> None:
        self._np = np
        self._block = block

    def grown(self, kept: Sequence[int], vectors: Sequence[bytes]) -> "NumpyMatrix":
        """Return the rows *kept* with *vectors* below them."""
        fresh = self._np.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(vectors), self._block.shape[1])
        return NumpyMatrix(self._np, self._np.concatenate([self._block[list(kept)], fresh]))

    def replaced(self, rows: Sequence[int], vectors: Sequence[bytes]) -> "NumpyMatrix":
        """Return the same with *vectors* in the place of *rows*."""
        block = self._block.copy()
        block[list(rows)] = self._np.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(vectors), block.shape[1])
        return NumpyMatrix(self._np, block)

    def places(self, rows: Sequence[int]) -> Any:
        """Return *rows* as an index, or nothing when they are all the rows."""
        return None if len(rows) == len(self._block) else self._np.array(rows, dtype=self._np.int64)

    def best(self, query: bytes, places: Any, take: int) -> list[int]:
        """Return the *take* best rows of *places*."""
        block = self._block if places is None else self._block[places]
        scores = block @ self._np.frombuffer(query, dtype="<f4")
        if take < len(scores):
            chosen = self._np.argpartition(scores, len(scores) - take)[len(scores) - take :]
        else:
            chosen = self._np.arange(len(scores))
        rows: list[int] = (chosen if places is None else places[chosen]).tolist()
        return rows

    def products(self, query: bytes, rows: Sequence[int]) -> list[float]:
        """Return the product of each of *rows* with *query*."""
        asked = self._np.frombuffer(query, dtype="<f4").astype("f8")
        exact: list[float] = (self._block[list(rows)].astype("f8") @ asked).round(DIGITS).tolist()
        return exact

    def leads(self, scores: Sequence[float], most: int) -> list[float]:
        """Return how far those nearest to each row are ahead of it."""
        np, block, own = self._np, self._block.astype("f8"), self._np.array(scores)
        products = (block @ block.T).round(DIGITS)
        np.fill_diagonal(products, -np.inf)
        nearest = np.argsort(-products, axis=1, kind="stable")[:, : min(most, len(block) - 1)]
        cosines = np.maximum(np.take_along_axis(products, nearest, axis=1), 0.0)
        ahead = cosines * np.maximum(own[nearest] - own[:, None], 0.0)
        return list(map(_mean, ahead.tolist(), cosines.tolist()))

    def in_context(self, weights: Sequence[float]) -> list[bytes]:
        """Return each row with its neighbours mixed in."""
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
    """Return *vectors* as the rows of a matrix, the fastest kind there is here."""
    np = _numpy()
    empty: Matrix = PlainMatrix() if np is None else NumpyMatrix(np, np.empty((0, dimensions), dtype="<f4"))
    return empty.grown([], vectors)


@cache
def _numpy() -> Any:
    try:
        import numpy as np  # noqa: PLC0415  (optional, and expensive to load)
    except ImportError:
        return None
    return np
