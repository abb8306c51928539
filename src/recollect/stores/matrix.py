"""Rows of float32 numbers and their products with a vector: NumPy where it is installed, plain Python elsewhere."""

import math
import sys
from array import array
from collections.abc import Sequence
from operator import mul
from typing import Any, Protocol

DIGITS = 7
"""How many decimals of a cosine are kept: what float32 can tell, so that equal vectors tie everywhere."""


STEPS = (-1, 1, -2, 2)
"""Which neighbours the weights of a blend are for, in order."""


class Matrix(Protocol):
    """Vectors in rows, numbered from 0."""

    def grown(self, kept: Sequence[int], vectors: Sequence[bytes]) -> "Matrix":
        """Return the rows *kept*, in that order, with *vectors* below them."""
        ...

    def blended(self, threads: Sequence[Sequence[int]], weights: Sequence[float]) -> "Matrix":
        """Return the rows with their neighbours in *threads* mixed in, at length one again.

        The weights are for the row before, the row after, the second before, the second after, and so on.
        """
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

    def alike(self, rows: Sequence[int], *, most: int) -> list[list[tuple[int, float]]]:
        """Return for each of *rows* the *most* others with the largest products, each by its place in *rows*."""
        ...


class PlainMatrix:
    """Rows as arrays of the standard library."""

    def __init__(self, rows: Sequence["array[float]"] = ()) -> None:
        self._rows = list(rows)

    def grown(self, kept: Sequence[int], vectors: Sequence[bytes]) -> "PlainMatrix":
        """Return the rows *kept* with *vectors* below them."""
        return PlainMatrix([*(self._rows[row] for row in kept), *map(_floats, vectors)])

    def blended(self, threads: Sequence[Sequence[int]], weights: Sequence[float]) -> "PlainMatrix":
        """Return the rows with their neighbours in *threads* mixed in."""
        mixed = list(self._rows)
        for thread in threads:
            for at, row in enumerate(thread):
                mixed[row] = _unit(self._mixture(thread, at, weights))
        return PlainMatrix(mixed)

    def _mixture(self, thread: Sequence[int], at: int, weights: Sequence[float]) -> list[float]:
        total = list(self._rows[thread[at]])
        for step, weight in zip(STEPS, weights, strict=False):
            if 0 <= at + step < len(thread):
                other = self._rows[thread[at + step]]
                total = [one + weight * two for one, two in zip(total, other, strict=True)]
        return total

    def places(self, rows: Sequence[int]) -> Sequence[int]:
        """Return *rows*."""
        return rows

    def best(self, query: bytes, places: Sequence[int], take: int) -> list[int]:
        """Return the *take* best rows of *places*."""
        asked = _floats(query)
        return sorted(places, key=lambda row: -sum(map(mul, self._rows[row], asked)))[:take]

    def products(self, query: bytes, rows: Sequence[int]) -> list[float]:
        """Return the product of each of *rows* with *query*."""
        asked = _floats(query)
        return [round(sum(map(mul, self._rows[row], asked)), DIGITS) for row in rows]

    def alike(self, rows: Sequence[int], *, most: int) -> list[list[tuple[int, float]]]:
        """Return the *most* others nearest to each of *rows*."""
        vectors = [self._rows[row] for row in rows]
        lines = [[round(sum(map(mul, one, two)), DIGITS) for two in vectors] for one in vectors]
        return [
            sorted(((at, each) for at, each in enumerate(line) if at != own), key=lambda near: (-near[1], near[0]))[
                :most
            ]
            for own, line in enumerate(lines)
        ]


class NumpyMatrix:
    """Rows as one (N, D) block: a search is one product and a partition, O(N)."""

    def __init__(self, np: Any, block: Any) -> None:
        self._np = np
        self._block = block

    def grown(self, kept: Sequence[int], vectors: Sequence[bytes]) -> "NumpyMatrix":
        """Return the rows *kept* with *vectors* below them."""
        fresh = self._np.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(vectors), self._block.shape[1])
        return NumpyMatrix(self._np, self._np.concatenate([self._block[list(kept)], fresh]))

    def blended(self, threads: Sequence[Sequence[int]], weights: Sequence[float]) -> "NumpyMatrix":
        """Return the rows with their neighbours in *threads* mixed in."""
        mixed = self._block.copy()
        for thread in threads:
            rows = self._np.array(thread)
            for step, weight in zip(STEPS, weights, strict=False):
                to, of = (rows[-step:], rows[:step]) if step < 0 else (rows[:-step], rows[step:])
                mixed[to] += self._np.float32(weight) * self._block[of]
            size = self._np.linalg.norm(mixed[rows], axis=1, keepdims=True)
            mixed[rows] /= self._np.where(size > 0, size, 1)
        return NumpyMatrix(self._np, mixed)

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

    def alike(self, rows: Sequence[int], *, most: int) -> list[list[tuple[int, float]]]:
        """Return the *most* others nearest to each of *rows*."""
        block = self._block[list(rows)].astype("f8")
        products = (block @ block.T).round(DIGITS)
        self._np.fill_diagonal(products, -self._np.inf)
        nearest = self._np.argsort(-products, axis=1, kind="stable")[:, : min(most, max(0, len(rows) - 1))]
        cosines = self._np.take_along_axis(products, nearest, axis=1)
        return [list(zip(*pair, strict=True)) for pair in zip(nearest.tolist(), cosines.tolist(), strict=True)]


def empty_matrix(dimensions: int) -> Matrix:
    """Return a matrix without rows, the fastest kind there is here."""
    try:
        import numpy as np  # noqa: PLC0415  (optional, and dear to load)
    except ImportError:
        return PlainMatrix()
    return NumpyMatrix(np, np.empty((0, dimensions), dtype="<f4"))


def _unit(numbers: Sequence[float]) -> "array[float]":
    size = math.sqrt(sum(map(mul, numbers, numbers)))
    return array("f", [number / size for number in numbers] if size > 0 else numbers)


def _floats(vector: bytes) -> "array[float]":
    floats = array("f", vector)
    if sys.byteorder == "big":
        floats.byteswap()
    return floats
