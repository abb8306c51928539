"""What a count in a row is worth at most, in steps of 1/255: stored for the default profile's BM25 parameters.

For other weights, k1 or b the steps are computed when a term is first asked for, and cached.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.records import FIELDS

STEPS: Final = 255
"""Into how many steps the worth of a count, at most 1, is divided."""


class Measure(NamedTuple):
    """The BM25 parameters that an impact depends on: field weights, k1 and b."""

    weights: tuple[float, ...]
    k1: float
    b: float

    def slope(self, average: float) -> float:
        """Return what each token of a row adds to the denominator."""
        return self.k1 * self.b / average


def measure_of(weights: Mapping[str, float], k1: float, b: float) -> Measure:
    """Return the measure of a query."""
    return Measure(tuple([max(0.0, weights.get(name, 0.0)) for name in FIELDS]), k1, b)


USUAL: Final = Measure((3.0, 1.0, 0.5, 0.3, 0.2, 0.5, 1.0, 0.3, 1.0, 1.0), 1.2, 0.75)
"""The default profile's parameters, for which segments store impacts."""


def average_of(lengths: NDArray[Any]) -> float:
    """Return the mean row length of a part, at least one token."""
    return max(1.0, int(lengths.sum(dtype=np.int64)) / max(1, len(lengths)))


def impacts(counts: NDArray[Any], lengths: NDArray[Any], measure: Measure, average: float) -> NDArray[np.uint8]:
    """Return count / (count + k1 (1 - b + b length / average)) in steps, rounded up, at least 1."""
    worth = counts / (counts + measure.k1 * (1.0 - measure.b) + measure.slope(average) * lengths)
    worth *= STEPS
    return np.clip(np.ceil(worth, out=worth), 1.0, STEPS, out=worth).astype(np.uint8)


def drift(measure: Measure, mine: float, asked: float) -> float:
    """Return by what factor a worth may exceed its impact if the average length is *asked* instead of *mine*."""
    return 1.0 if measure.b == 0.0 else min(float(STEPS), max(1.0, asked / mine))
