"""The scores of chosen rows: the arithmetic of `stores/bm25.py`, the same operations in the same order."""

import math
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.records import IndexHit
from recollect.stores.segments.part import Mask

Scores = NDArray[np.float64]
BITS = 62
"""How many leaves one number can tell the presence of."""


class Line(NamedTuple):
    """What a leaf is worth: its gain, and the number of its form."""

    gain: float
    form: int


def score(counts: Scores, lengths: NDArray[Any], lines: Sequence[Line], base: float, slopes: Sequence[float]) -> Scores:
    """Return the scores of rows from *counts*, a line for each leaf, and *lengths*, a line for each form.

    Lines are added one by one, as adding along an axis may add in pairs and round otherwise.
    """
    scores = np.zeros(counts.shape[1])
    if not lines:
        return scores
    below = counts + base
    by_form = lengths * np.array(slopes)[:, None]
    forms = [line.form for line in lines]
    below += by_form[forms[0]] if len(set(forms)) == 1 else by_form[forms]
    worth = counts * np.array([line.gain for line in lines])[:, None]
    if base > 0.0:
        worth /= below
    else:
        np.divide(worth, below, out=worth, where=counts > 0)
    for each in worth:
        scores += each
    return scores


class Clause(NamedTuple):
    """What is asked for: what it is worth, and the lines and weights of the leaves that may be meant and are held."""

    value: float
    lines: tuple[int, ...]
    weights: tuple[float, ...]


def coverages(held: Mask, clauses: Sequence[Clause]) -> list[float]:
    """Return which share of what is asked for each column of *held* has; what is alike is counted once."""
    whole = math.fsum([clause.value for clause in clauses]) or 1.0
    if len(held) <= BITS:
        patterns = (1 << np.arange(len(held))) @ held
        _, first, again = np.unique(patterns, return_index=True, return_inverse=True)
        held, places = held[:, first], again.reshape(-1).tolist()
    else:
        places = range(held.shape[1])
    fsum = math.fsum
    found = [min(1.0, fsum(shares) / whole) for shares in _shares(held, clauses).T.tolist()]
    return [found[at] for at in places]


def _shares(held: Mask, clauses: Sequence[Clause]) -> Scores:
    """Return what each clause, a line, is worth in each column."""
    if all(len(clause.lines) == 1 for clause in clauses):
        worth = np.array([clause.value * clause.weights[0] for clause in clauses])
        return (
            held[[clause.lines[0] for clause in clauses]] * worth[:, None] if clauses else np.zeros((0, held.shape[1]))
        )
    shares = np.zeros((len(clauses), held.shape[1]))
    for line, clause in zip(shares, clauses, strict=True):
        if clause.lines:
            there = held[list(clause.lines)]
            best = np.where(there, np.array(clause.weights)[:, None], -np.inf).max(axis=0)
            line[:] = clause.value * np.where(there.any(axis=0), best, 0.0)
    return shares


def hits_of(ids: Iterable[int], scores: Iterable[float], shares: Iterable[float]) -> list[IndexHit]:
    """Return hits."""
    return list(map(IndexHit._make, zip(ids, scores, shares, repeat(None))))
