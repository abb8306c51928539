"""NumPy: every vector compared exactly in float32, one matrix-vector product, the best 100 by partition."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from benchmarks.speed.material import read_vectors

VERSION = f"NumPy {np.__version__}"
NOTE = "`matrix @ question`, `argpartition`, the matrix in memory"


def build(material: Path, home: Path) -> None:
    """Need nothing: the vectors are the material's own file."""


def searches(material: Path, home: Path) -> dict[str, Callable[[int], list[int]]]:  # noqa: ARG001 - it has no index
    """Read the vectors."""
    matrix, asked = read_vectors(material)[:].copy(), read_vectors(material, "questions")[:].copy()

    def near(at: int) -> list[int]:
        scores = matrix @ asked[at]
        best = np.argpartition(scores, -100)[-100:]
        return best[np.lexsort((best, -scores[best]))].tolist()

    return {"vectors": near}
