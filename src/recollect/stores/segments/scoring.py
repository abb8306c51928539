"""The scores of chosen rows: the arithmetic of `stores/bm25.py`, the same operations in the same order."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.records import IndexHit
from recollect.stores.segments.part import Mask

Scores = NDArray[np.float64]
_hit: Callable[[Any], IndexHit] = partial(tuple.__new__, IndexHit)
"""A hit from all its fields; `IndexHit._make` takes twice as long."""


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
    """Return which share of what is asked for each column of *held* has; columns that are alike are added up once."""
    whole = math.fsum([clause.value for clause in clauses]) or 1.0
    packed = np.packbits(held, axis=0).tolist()
    alike = packed[0] if len(packed) == 1 else list(zip(*packed, strict=True)) or [()] * held.shape[1]
    columns = {pattern: at for at, pattern in enumerate(alike)}
    shares = _shares(held[:, list(columns.values())], clauses).T.tolist()
    found = {pattern: min(1.0, math.fsum(each) / whole) for pattern, each in zip(columns, shares, strict=True)}
    return [found[pattern] for pattern in alike]


def _shares(held: Mask, clauses: Sequence[Clause]) -> Scores:
    """Return what each clause that is held anywhere, a line, is worth in each column."""
    plain = [clause for clause in clauses if len(clause.lines) == 1]
    worth = np.array([clause.value * clause.weights[0] for clause in plain], dtype=np.float64)
    shares = held[[clause.lines[0] for clause in plain]] * worth[:, None] if plain else np.zeros((0, held.shape[1]))
    others = [_best_of(held, clause) for clause in clauses if len(clause.lines) > 1]
    return np.vstack((shares, *others)) if others else shares


def _best_of(held: Mask, clause: Clause) -> Scores:
    """Return what a clause is worth in each column: the leaf that weighs most of those held."""
    there = held[list(clause.lines)]
    best = np.where(there, np.array(clause.weights)[:, None], -np.inf).max(axis=0)
    return clause.value * np.where(there.any(axis=0), best, 0.0)


def hits_of(ids: Iterable[int], scores: Iterable[float], shares: Iterable[float]) -> list[IndexHit]:
    """Return hits."""
    return list(map(_hit, zip(ids, scores, shares, repeat(None), strict=False)))
