"""An embedder that remembers the questions it was asked: one search asks twice, and people ask again."""

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Final

from recollect.embedders.contract import Embedder, Span
from recollect.vectors import Vector

MOST: Final = 512
"""How many questions are remembered."""


class CachedEmbedder:
    """Ask *inner*, and remember the vectors of questions."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._lock = Lock()
        self._known: OrderedDict[str, Vector] = OrderedDict()
        self.fingerprint: Final = inner.fingerprint
        self.dimensions: Final = inner.dimensions

    def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vector of each text as something to be found."""
        return self._inner.embed_passages(texts)

    def embed_queries(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vector of each text as something to find by, asking only for those not known."""
        with self._lock:
            known = {text: self._known[text] for text in texts if text in self._known}
        fresh = [text for text in dict.fromkeys(texts) if text not in known]
        known |= dict(zip(fresh, self._inner.embed_queries(fresh), strict=True)) if fresh else {}
        with self._lock:
            for text in fresh:
                self._known[text] = known[text]
            while len(self._known) > MOST:
                self._known.popitem(last=False)
        return [known[text] for text in texts]

    def count_pieces(self, text: str) -> int:
        """Say how much of the model's room *text* takes."""
        return self._inner.count_pieces(text)

    def passages(self, text: str, *, most: int | None = None) -> list[Span]:
        """Cut *text* into passages."""
        return self._inner.passages(text, most=most)

    def covers(self, text: str) -> bool:
        """Say whether the model knows the script of *text*."""
        return self._inner.covers(text)

    def knows_word(self, word: str) -> bool:
        """Say whether *word* is a whole word of the model's vocabulary."""
        return self._inner.knows_word(word)

    def close(self) -> None:
        """Close the model and forget the questions."""
        self._inner.close()
        self._known.clear()
