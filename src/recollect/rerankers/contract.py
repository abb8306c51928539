"""What every reranker can do, and the one in use.

A reranker reads the question and a text together and says how well the text answers it. That is slower than
comparing vectors made beforehand, and sees more. It takes any text: what is too long is cut at the end.
"""

from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Final, Protocol

NONE: Final = ("", "none")
"""What turns reranking off."""


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
        """Free everything held; asking for scores afterwards raises ModelError."""
        ...


class Rerankers:
    """The cross-encoder in a folder, loaded when first needed, or none."""

    def __init__(self, folder: str = "") -> None:
        self.folder = folder
        self._loaded: Reranker | None = None
        self._lock = Lock()

    def current(self) -> Reranker | None:
        """Return the reranker, or nothing when none is named; ModelError when the named one cannot be had."""
        if self.folder in NONE:
            return None
        with self._lock:
            if self._loaded is None:
                from recollect.rerankers.onnx import OnnxReranker  # noqa: PLC0415  (most searches need none of it)

                self._loaded = OnnxReranker(Path(self.folder).expanduser())
            return self._loaded

    def close(self) -> None:
        """Close the reranker."""
        with self._lock:
            if self._loaded is not None:
                self._loaded.close()
            self._loaded = None


NO_RERANKER: Final = Rerankers()
