"""What a count in a row is worth, in steps of 1/255 rounded up: bounds that are stored for the usual numbers of BM25.

For other weights, k1 or b they are made when a term is first asked for, and kept for a while.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.records import FIELDS
from recollect.stores.bm25 import thousandths

STEPS: Final = 255
"""Into how many steps the worth of a count, at most 1, is divided."""


class Measure(NamedTuple):
    """The numbers that a bound depends on: weights of the fields in thousandths, k1 and b."""

    weights: tuple[int, ...]
    k1: float
    b: float

    @property
    def least(self) -> float:
        """Return what is added to every count."""
        return self.k1 * (1.0 - self.b) * 1000.0

    def slope(self, average: float) -> float:
        """Return what each token of a row adds to that."""
        return self.k1 * self.b * 1000.0 / average


_KNOWN: Final[dict[tuple[Any, ...], Measure]] = {}


def measure_of(weights: Mapping[str, float], k1: float, b: float) -> Measure:
    """Return the measure of a question."""
    key = (*weights.items(), k1, b)
    found = _KNOWN.get(key)
    if found is None:
        if len(_KNOWN) >= 64:
            _KNOWN.clear()
        whole = thousandths(weights)
        found = _KNOWN[key] = Measure(tuple(whole.get(name, 0) for name in FIELDS), k1, b)
    return found


USUAL: Final = Measure((3000, 1000, 500, 300, 200, 500, 1000, 300, 1000, 1000), 1.2, 0.75)
"""The numbers of the default profile, for which parts keep bounds."""


def average_of(lengths: NDArray[Any]) -> float:
    """Return the mean length of the rows of a part, at least one token."""
    return max(1.0, int(lengths.sum(dtype=np.int64)) / max(1, len(lengths)))


def impacts(counts: NDArray[Any], lengths: NDArray[Any], measure: Measure, average: float) -> NDArray[np.uint8]:
    """Return the least number of steps that is not below count / (count + base + slope x length), at least 1."""
    worth = counts / (counts + measure.least + measure.slope(average) * lengths)
    worth *= STEPS
    return np.maximum(np.ceil(worth, out=worth), 1.0, out=worth).astype(np.uint8)


def drift(measure: Measure, mine: float, asked: float) -> float:
    """Return up to how many times larger than its bound a worth is where another average length is asked about.

    None is above all steps, whatever the lengths.
    """
    return 1.0 if measure.b == 0.0 else min(float(STEPS), max(1.0, asked / mine))
