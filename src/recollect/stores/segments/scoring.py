"""The scores of chosen rows: the arithmetic of `stores/bm25.py`, the same operations in the same order."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.records import IndexHit

Scores = NDArray[np.float64]
Clause = tuple[float, list[int], list[float]]
"""What is asked for: what it is worth, and the lines and weights of the leaves that may be meant and are held."""
_hit: Callable[[Any], IndexHit] = partial(tuple.__new__, IndexHit)
"""A hit from all its fields; `IndexHit._make` takes twice as long."""


BITS = 53
"""How many bits of a number count."""


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
    """Which share of what is asked for rows hold, to the bit what `math.fsum` adds up.

    What clauses are worth is cut in two: multiples of one step, and what is left. The sums of either are exact in
    whatever order they are added, as no bit of them is lost; so the sum of both is rounded once, as `fsum` does it.
    A clause has a line for each weight of its leaves, the largest first, of which the first that is held counts.
    """

    __slots__ = ("_clauses", "_further", "_halves", "_lines", "_starts", "_whole")

    def __init__(self, clauses: Sequence[Clause]) -> None:
        self._whole = math.fsum([value for value, _, _ in clauses]) or 1.0
        self._clauses = [clause for clause in clauses if clause[1]]
        self._lines: list[int] = []
        self._starts: list[int] = []
        self._further: list[int] = []
        self._halves: Scores | None = None
        worth: list[float] = []
        for value, held, weights in self._clauses:
            if len(held) == 1:
                self._starts.append(len(self._lines))
                self._lines += held
                worth.append(value * weights[0])
                continue
            for level, least in enumerate(sorted(set(weights), reverse=True)):
                if level:
                    self._further.append(len(worth))
                self._starts.append(len(self._lines))
                self._lines += [line for line, weight in zip(held, weights, strict=True) if weight >= least]
                worth.append(value * least)
        shift = _shift(worth)
        if shift:
            above = [(each + shift) - shift for each in worth]
            self._halves = np.array((above, [each - high for each, high in zip(worth, above, strict=True)]))

    def of(self, counts: Scores) -> list[float]:
        """Return the share of each column of *counts*, which has a line for each leaf."""
        if self._halves is None:
            each = np.array([_best_of(counts, clause) for clause in self._clauses])
            each = each.reshape(len(self._clauses), counts.shape[1])
            return [min(1.0, math.fsum(worth) / self._whole) for worth in each.T.tolist()]
        held = counts.take(self._lines, axis=0)
        np.minimum(held, 1.0, out=held)
        if len(self._starts) < len(self._lines):
            held = np.maximum.reduceat(held, self._starts, axis=0)
        if self._further:  # those that a leaf of more weight stands in count with that one alone
            further = np.array(self._further)
            held[further] -= held[further - 1]
        halves = self._halves @ held
        shares = halves[0] + halves[1]
        shares /= self._whole
        found: list[float] = np.minimum(shares, 1.0, out=shares).tolist()
        return found


def _shift(values: Sequence[float]) -> float:
    """Return what, added to any of *values* and taken off again, leaves multiples of one step; 0 where bits get lost.

    The largest of them have room for all of their sum above the step, the smallest for all of it below.
    """
    sizes = [math.frexp(value)[1] for value in values if value]
    if not sizes or not all(map(math.isfinite, values)):
        return 0.0
    room = max(2, len(values).bit_length())
    lost = max(sizes) - min(sizes) + 2 * room > BITS + 1
    return 0.0 if lost else math.ldexp(1.5, max(sizes) + room - 1)


def _best_of(counts: Scores, clause: Clause) -> Scores:
    """Return what a clause is worth in each column: the leaf that weighs most of those held."""
    value, lines, weights = clause
    there = counts[lines] > 0.0
    best = np.where(there, np.array(weights)[:, None], -np.inf).max(axis=0)
    return value * np.where(there.any(axis=0), best, 0.0)


def hits_of(ids: Iterable[int], scores: Iterable[float], shares: Iterable[float]) -> list[IndexHit]:
    """Return hits."""
    return list(map(_hit, zip(ids, scores, shares, repeat(None), strict=False)))
