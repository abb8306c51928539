"""Reciprocal rank fusion (Cormack, Clarke & Büttcher, SIGIR 2009) for tools that have none of their own."""

from collections.abc import Iterable, Sequence

K = 60


def fuse(rankings: Iterable[Sequence[int]]) -> list[int]:
    """Return the ids of all *rankings*, best first."""
    points: dict[int, float] = {}
    for ranking in rankings:
        for rank, row in enumerate(ranking, start=1):
            points[row] = points.get(row, 0.0) + 1 / (K + rank)
    return sorted(points, key=lambda row: (-points[row], row))
