"""Cut what is read into parts that are small in memory."""

from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

T = TypeVar("T")
MOST: Final = 1000
"""How many records a part has."""
LONGEST: Final = 1_000_000
"""How many characters of a file make a part, unless one record has more."""


def batches(read: Iterable[tuple[T | None, str | None, int]]) -> Iterator[tuple[list[T], list[str]]]:
    """Yield the records of *read*, and what could not be read, in batches.

    Each of *read* is a record or None, a problem or None, and how many characters it took.
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
        if len(records) + len(problems) >= MOST or size >= LONGEST:
            yield records, problems
            records, problems, size = [], [], 0
    if records or problems:
        yield records, problems
