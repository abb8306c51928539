"""Sketch a set of tokens in a few keys, so that near-duplicates are found by an equal key.

Min-wise hashing (Broder, 1997): in each of two random orders of all tokens the first three of the
set are taken, and each pair of them is a key. Sets that share three quarters of their tokens share
a key nearly always, sets that share a tenth about one time in twenty, unrelated sets as good as never.
"""

from collections.abc import Iterable
from itertools import combinations
from typing import Final
from zlib import crc32

_FIRST: Final = 3
_ORDER: Final = 0x9E3779B1
_SPREAD: Final = 0x9E3779B97F4A7C15
_WORD: Final = (1 << 32) - 1
_KEY: Final = (1 << 63) - 1


def sketch(tokens: Iterable[str]) -> tuple[int, ...]:
    """Return the keys of *tokens*, sorted: at most six, one for one or two tokens, none for none."""
    return sketch_marks(map(mark, tokens))


def mark(token: str) -> int:
    """Return the number that gives *token* its place in the first order."""
    return crc32(token.encode("utf-8", "replace"))


def sketch_marks(marks: Iterable[int]) -> tuple[int, ...]:
    """Return the keys of the tokens that have these *marks*."""
    distinct = sorted(set(marks))
    if len(distinct) < _FIRST:
        return (_key(distinct[0], distinct[-1]),) if distinct else ()
    shuffled = sorted([each * _ORDER & _WORD for each in distinct])
    pairs = (*combinations(distinct[:_FIRST], 2), *combinations(shuffled[:_FIRST], 2))
    return tuple(sorted({_key(low, high) for low, high in pairs}))


def _key(low: int, high: int) -> int:
    """Mix two marks into one number that fits a signed 64-bit column."""
    return ((low << 31) ^ high) * _SPREAD & _KEY
