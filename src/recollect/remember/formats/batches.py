"""Group records into batches that are small in memory."""

from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

T = TypeVar("T")
MAX_BATCH_RECORDS: Final = 1000
MAX_BATCH_CHARS: Final = 1_000_000
"""A single record may have more."""


def batches(read: Iterable[tuple[T | None, str | None, int]]) -> Iterator[tuple[list[T], list[str]]]:
    """Yield records and problems in batches.

    Each value of *read* is a record or None, a problem or None, and how many characters it took.
    """
    records: list[T] = []
    problems: list[str] = []
    size = 0
    for record, problem, length in read:
        size += length
        if record is not None:
            records.append(record)
        if problem is not None:
            problems.append(problem)
        if len(records) + len(problems) >= MAX_BATCH_RECORDS or size >= MAX_BATCH_CHARS:
            yield records, problems
            records, problems, size = [], [], 0
    if records or problems:
        yield records, problems
