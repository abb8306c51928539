"""The scores of chosen rows: the arithmetic of `stores/bm25.py`, the same operations in the same order."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.records import IndexHit
from recollect.stores.segments.part import Mask

Scores = NDArray[np.float64]
Clause = tuple[float, list[int], list[float]]
"""What is asked for: what it is worth, and the lines and weights of the leaves that may be meant and are held."""
_hit: Callable[[Any], IndexHit] = partial(tuple.__new__, IndexHit)
"""A hit from all its fields; `IndexHit._make` takes twice as long."""


BITS = 52
"""How many leaves one number can tell the presence of."""
_POWERS = np.exp2(np.arange(BITS))


def score(counts: Scores, lengths: NDArray[Any], gains: Scores, base: float) -> Scores:
    """Return the scores of rows from *counts*, a line for each leaf, what *lengths* add to these, and *gains*.

    Lines are added one by one, as adding along an axis may add in pairs and round otherwise.
    """
    if not len(gains):
        return np.zeros(counts.shape[1])
    below = counts + base
    below += lengths
    worth = counts * gains
    if base > 0.0:
        worth /= below
    else:
        np.divide(worth, below, out=worth, where=counts > 0)
    added: Scores = np.add.accumulate(worth, axis=0, out=worth)
    scores: Scores = added[-1]
    return scores


class Coverage:
    """Which share of what is asked for rows hold; rows that hold the same are added up once.

    What is asked for is told by clauses: what each is worth, and the lines and weights of the leaves that may be meant.
    """

    __slots__ = ("_counted", "_known", "_lines", "_powers", "_several", "_whole", "_worth")

    def __init__(self, clauses: Sequence[Clause], lines: int) -> None:
        plain = [clause for clause in clauses if len(clause[1]) == 1]
        self._lines = [held[0] for _, held, _ in plain]
        self._worth = np.array([value * weights[0] for value, _, weights in plain], dtype=np.float64)[:, None]
        self._several = [clause for clause in clauses if len(clause[1]) > 1]
        self._whole = math.fsum([value for value, _, _ in clauses]) or 1.0
        self._counted = sorted({*self._lines, *(line for _, held, _ in self._several for line in held)})
        self._powers = np.zeros(lines)
        if len(self._counted) <= BITS:
            self._powers[self._counted] = _POWERS[: len(self._counted)]
        self._known: dict[Any, float] = {}

    def of(self, counts: Scores) -> list[float]:
        """Return the share of each column of *counts*, which has a line for each leaf."""
        held, known = counts > 0.0, self._known
        alike = self._patterns(held)
        columns = {pattern: at for at, pattern in enumerate(alike) if pattern not in known}
        if columns:
            for pattern, each in zip(columns, self._shares(held[:, list(columns.values())]), strict=True):
                known[pattern] = min(1.0, math.fsum(each) / self._whole)
        return list(map(known.__getitem__, alike))

    def _patterns(self, held: Mask) -> list[Any]:
        """Return something for each column of *held* that is the same for those that are alike."""
        if len(self._counted) > BITS:
            return list(zip(*held[self._counted].tolist(), strict=True))
        found: list[Any] = (self._powers @ held).tolist()
        return found

    def _shares(self, held: Mask) -> list[list[float]]:
        """Return for each column what each clause that is held anywhere is worth in it."""
        shares = held[self._lines] * self._worth if self._lines else np.zeros((0, held.shape[1]))
        if self._several:
            shares = np.vstack((shares, *(_best_of(held, clause) for clause in self._several)))
        found: list[list[float]] = shares.T.tolist()
        return found


def _best_of(held: Mask, clause: Clause) -> Scores:
    """Return what a clause is worth in each column: the leaf that weighs most of those held."""
    value, lines, weights = clause
    there = held[lines]
    best = np.where(there, np.array(weights)[:, None], -np.inf).max(axis=0)
    return value * np.where(there.any(axis=0), best, 0.0)


def hits_of(ids: Iterable[int], scores: Iterable[float], shares: Iterable[float]) -> list[IndexHit]:
    """Return hits."""
    return list(map(_hit, zip(ids, scores, shares, repeat(None), strict=False)))
