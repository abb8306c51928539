"""Vectors without a model: words and parts of words, hashed (Weinberger et al., ICML 2009).

It knows no meaning, only shared words and shared spellings; it needs no download, and equal texts
give equal bytes on every machine.
"""

import math
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import Final

from recollect.embedders import estimating
from recollect.embedders.scale import scale_of
from recollect.errors import InputError, ModelError
from recollect.lazy import regex
from recollect.vectors import Vector, unit

_WORD: Final = regex(r"\w+")
_WORD_WEIGHT: Final = 1.0
_PART_WEIGHT: Final = 0.5


class HashingEmbedder:
    """Embed by the words of a text and the threes of letters in them."""

    scale = cached_property(scale_of)
    count_pieces = staticmethod(estimating.count_pieces)
    passages = staticmethod(estimating.passages)
    covers = staticmethod(estimating.covers)
    knows_word = staticmethod(estimating.knows_word)

    def __init__(self, *, dimensions: int = 256) -> None:
        if dimensions < 1:
            raise InputError(f"a vector cannot have {dimensions} dimensions", hint="give at least 1")
        self._open = True
        self.dimensions: Final = dimensions
        self.fingerprint: Final = f"hashing-1-{dimensions}"

    def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vector of each text, in the order given; blank text is the zero vector."""
        if not self._open:
            raise ModelError("the embedder hashing is closed", hint="open it again")
        return [self._embed(text) for text in texts]

    embed_queries = embed_passages

    def close(self) -> None:
        """Embed no more; there is nothing to free."""
        self._open = False

    def _embed(self, text: str) -> Vector:
        sums = [0.0] * self.dimensions
        for (feature, weight), times in Counter(_features(text)).items():
            slot, sign = _slot(feature, self.dimensions)
            sums[slot] += sign * weight * math.sqrt(times)
        return unit(sums)


def _features(text: str) -> Iterator[tuple[str, float]]:
    for word in _WORD.findall(_fold(text)):
        yield word, _WORD_WEIGHT
        framed = f"\0{word}\1"
        for start in range(len(framed) - 2):
            yield framed[start : start + 3], _PART_WEIGHT


def _fold(text: str) -> str:
    """Return *text* without case, accents and compatibility forms."""
    if text.isascii():
        return text.casefold()
    spread = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", "".join(c for c in spread if not unicodedata.combining(c)))


@lru_cache(maxsize=1 << 16)
def _slot(feature: str, dimensions: int) -> tuple[int, float]:
    """Return where *feature* counts, and whether up or down."""
    number = int.from_bytes(blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
    return (number >> 1) % dimensions, 1.0 if number & 1 else -1.0
