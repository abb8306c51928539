"""Sketch a set of tokens in a few keys, so that near-duplicates are found by an equal key.

Min-wise hashing (Broder, 1997): in a random order of all tokens the first four of the set are taken and
the last four, and each three of either four are a key. Sets that share three quarters of their tokens
share a key nearly always; sets that share a tenth hardly ever do, even though some words are in every
fifth text. Of a small set the pairs are keys too, since one word is much of it.
"""

from collections.abc import Iterable, Iterator
from itertools import chain, combinations
from typing import Final
from zlib import crc32

_END: Final = 4
_SMALL: Final = 6
_KEY: Final = (1 << 63) - 1
_FIRST, _SECOND, _THIRD = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9


def token_hash(token: str) -> int:
    """Return the number that gives *token* its place in the order."""
    return crc32(token.encode("utf-8", "replace"))


def minhash(hashes: Iterable[int]) -> tuple[int, ...]:
    """Return the sorted keys of the tokens with these *hashes*: at most fourteen, one for one or two, none for none."""
    ordered = sorted(set(hashes))
    if len(ordered) < 3:
        return (_key(ordered[0], ordered[-1]),) if ordered else ()
    threes = {_key(*ordered)} if len(ordered) == 3 else {*_threes(*ordered[:_END]), *_threes(*ordered[-_END:])}
    return tuple(sorted(threes.union(_pairs(ordered)) if len(ordered) <= _SMALL else threes))


def _threes(a: int, b: int, c: int, d: int) -> tuple[int, int, int, int]:
    """Return the key of each three of four hashes in order, as `_key` mixes them; each product is made once."""
    first, middle, behind, last = a * _FIRST, b * _SECOND, c * _SECOND, d * _THIRD
    return (
        (first + middle + c * _THIRD) & _KEY,
        (first + middle + last) & _KEY,
        (first + behind + last) & _KEY,
        (b * _FIRST + behind + last) & _KEY,
    )


def _pairs(ordered: list[int]) -> Iterator[int]:
    return (_key(*pair) for pair in chain(combinations(ordered[:3], 2), combinations(ordered[-3:], 2)))


def _key(first: int, second: int, third: int = 0) -> int:
    """Mix hashes into one number that fits a signed 64-bit column."""
    return (first * _FIRST + second * _SECOND + third * _THIRD) & _KEY
