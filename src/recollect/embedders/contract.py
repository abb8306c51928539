"""What every embedder can do. Nothing is optional; one suite (tests/conformance) tests them all.

An embedder turns text into unit vectors that lie close when the texts mean alike. It takes any text:
lone surrogates and NUL are read as unknown characters, and what is too long is cut at the end.
"""

import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

from recollect.errors import ModelError
from recollect.records import EXTERNAL
from recollect.vectors import Scale, Vector

Span: TypeAlias = tuple[int, int]
"""Where a passage begins and ends in its text: `text[start:end]`."""


def expect(vector: Sequence[float], *, dimensions: int) -> None:
    """Refuse a vector that has other than *dimensions* numbers or one that is not finite."""
    if len(vector) != dimensions:
        raise ModelError(
            f"a vector has {len(vector)} dimensions where {dimensions} were expected",
            hint="is another model answering than the one configured?",
        )
    if not all(map(math.isfinite, vector)):
        raise ModelError("a vector holds a number that is not finite", hint="the model may be damaged")


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

    @property
    def scale(self) -> Scale:
        """Say how its cosines compare with those of other models."""
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

    def knows_word(self, word: str) -> bool:
        """Say whether *word* is a whole word of the model's own vocabulary; no for a model that has none."""
        ...

    def close(self) -> None:
        """Free everything held; asking for vectors afterwards raises ModelError."""
        ...


# --- a model that a program brings ------------------------------------------------------------

Vectors: TypeAlias = Sequence[Sequence[float]]
"""A list of lists of numbers, or a NumPy array."""


@runtime_checkable
class EmbeddingModel(Protocol):
    """What an embedding model of a program's own can do (own.py does the rest); its methods may be asynchronous."""

    fingerprint: str
    """Names the model: vectors are compared only with those of the same name."""

    def embed_passages(self, texts: Sequence[str], /) -> Vectors | Awaitable[Vectors]:
        """Return the vector of each text as something to be found."""
        ...

    def embed_queries(self, texts: Sequence[str], /) -> Vectors | Awaitable[Vectors]:
        """Return the vector of each text as something to find by."""
        ...


OwnModel: TypeAlias = EmbeddingModel | Callable[[Sequence[str]], Any]


def generation_for(width: int, embedder: Embedder | None) -> str:
    """Return the generation that a caller's own vector of *width* numbers belongs to.

    That of the model in use where the width fits, else one that all such vectors of this width share.
    """
    return f"{EXTERNAL}{width}" if embedder is None or embedder.dimensions != width else embedder.fingerprint
