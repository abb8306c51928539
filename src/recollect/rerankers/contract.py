"""What every reranker can do.

A reranker reads the question and a text together and says how well the text answers it. That is slower than
comparing vectors made beforehand, and sees more. It takes any text: what is too long is cut at the end.
"""

from collections.abc import Sequence
from typing import Protocol


class Reranker(Protocol):
    """One way to read a question and a text together."""

    @property
    def fingerprint(self) -> str:
        """Name what the scores depend on: equal fingerprints mean equal scores."""
        ...

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return how well each text answers *query*, between 0 and 1, in the order given.

        A text's score does not depend on the others. Raises ModelError when it cannot be had.
        """
        ...

    def close(self) -> None:
        """Let go of everything held; asking for scores afterwards raises ModelError."""
        ...
