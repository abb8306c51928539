"""What every embedder can do. Nothing is optional; one suite (tests/conformance) tests them all.

An embedder turns text into unit vectors that lie close when the texts mean alike. It takes any text:
lone surrogates and NUL are read as unknown characters, and what is too long is cut at the end.
"""

import math
import sys
from array import array
from collections.abc import Sequence
from operator import mul
from typing import Protocol, TypeAlias

Vector: TypeAlias = "array[float]"
"""float32 numbers, `array("f")`: `numpy.frombuffer` reads them without a copy, and NumPy is not needed."""

Span: TypeAlias = tuple[int, int]
"""Where a passage begins and ends in its text: `text[start:end]`."""


def pack(vector: Sequence[float]) -> bytes:
    """Return the vector as little-endian float32: the same bytes on every machine."""
    return little(array("f", vector)).tobytes()


def little(vector: Vector) -> Vector:
    """Return *vector* with its bytes in little-endian order, or back in the machine's."""
    if sys.byteorder == "big":
        vector.byteswap()
    return vector


def mix(vectors: Sequence[Vector], weights: Sequence[float]) -> Vector:
    """Return the unit vector between *vectors*, nearer to those that weigh more; zeros where they cancel out."""
    total = [math.fsum(map(mul, weights, numbers)) for numbers in zip(*vectors, strict=True)]
    length = math.sqrt(math.fsum(map(mul, total, total)))
    return array("f", [number / length for number in total] if length > 0 else total)


class Embedder(Protocol):
    """One way to turn text into vectors."""

    @property
    def fingerprint(self) -> str:
        """Name what the vectors depend on: equal fingerprints mean vectors that may be compared."""
        ...

    @property
    def dimensions(self) -> int:
        """Say how many numbers each vector has."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vector of each text as something to be found, in the order given.

        Hundreds of texts in one call are faster than one by one: texts of like length go together.
        """
        ...

    def embed_queries(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vector of each text as something to find by, in the order given."""
        ...

    def count_pieces(self, text: str) -> int:
        """Say how much of the model's room *text* takes, with all the model adds to a passage."""
        ...

    def passages(self, text: str, *, most: int | None = None) -> list[Span]:
        """Cut *text* at good breaks into spans that take at most *most* pieces (all the room when None).

        In order and apart; together they hold every character but the white space between them.
        Blank text has no passage.
        """
        ...

    def covers(self, text: str) -> bool:
        """Say whether the model knows the script *text* is written in."""
        ...

    def close(self) -> None:
        """Let go of everything held; asking for vectors afterwards raises ModelError."""
        ...
