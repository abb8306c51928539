"""The scores of chosen rows: the arithmetic of `stores/bm25.py`, the same operations in the same order."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.records import IndexHit
from recollect.stores.segments.part import Mask, Whole

Scores = NDArray[np.float64]


class Line(NamedTuple):
    """What a leaf is worth: its gain, and what each token of a row takes from it."""

    gain: float
    slope: float
    form: int


def score(counts: NDArray[Any], lengths: NDArray[Any], lines: Sequence[Line], base: float) -> Scores:
    """Return the scores of rows from *counts*, a line for each leaf, and *lengths*, a line for each form.

    Lines are added one by one, as adding along an axis may add in pairs and round otherwise.
    """
    scores = np.zeros(counts.shape[1])
    if not lines:
        return scores
    slopes = np.array([line.slope for line in lines])[:, None]
    below = counts + base
    below += slopes * lengths[[line.form for line in lines]]
    worth = np.array([line.gain for line in lines])[:, None] * counts
    np.divide(worth, below, out=worth, where=counts > 0)
    for each in worth:
        scores += each
    return scores


class Clause(NamedTuple):
    """What is asked for: what it is worth, and the numbers and weights of the leaves that may be meant."""

    value: float
    leaves: tuple[int, ...]
    weights: tuple[float, ...]


def coverages(held: Mask, clauses: Sequence[Clause]) -> list[float]:
    """Return which share of what is asked for each column of *held* has."""
    whole = math.fsum(clause.value for clause in clauses) or 1.0
    packed = np.packbits(held, axis=0)
    width, raw = len(packed), packed.T.tobytes()
    keys = [raw[at : at + width] for at in range(0, len(raw), width)] if width else [b""] * held.shape[1]
    first = {key: at for at, key in reversed(list(enumerate(keys)))}
    shares = _shares(held[:, list(first.values())], clauses)
    found = {key: min(1.0, math.fsum(values) / whole) for key, values in zip(first, shares.T.tolist(), strict=True)}
    return [found[key] for key in keys]


def _shares(held: Mask, clauses: Sequence[Clause]) -> Scores:
    """Return what each clause, a line, is worth in each column."""
    shares = np.zeros((len(clauses), held.shape[1]))
    for line, clause in zip(shares, clauses, strict=True):
        if len(clause.leaves) == 1:
            np.multiply(held[clause.leaves[0]], clause.value * clause.weights[0], out=line)
            continue
        there = held[list(clause.leaves)]
        best = np.where(there, np.array(clause.weights)[:, None], -np.inf).max(axis=0, initial=-np.inf)
        line[:] = clause.value * np.where(there.any(axis=0), best, 0.0)
    return shares


def hits_of(ids: Whole, scores: Scores, shares: Sequence[float]) -> list[IndexHit]:
    """Return hits."""
    return [
        IndexHit(id=row, score=score, coverage=share)
        for row, score, share in zip(ids.tolist(), scores.tolist(), shares, strict=True)
    ]
