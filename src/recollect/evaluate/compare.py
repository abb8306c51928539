"""Is the new ranking better than the old one? Paired by query: how much, how surely, and where.

All chance comes from a seed, and from the same bytes with and without NumPy, so equal runs give equal answers.
"""

import math
import random
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import compress
from typing import Final

from recollect.errors import InputError
from recollect.evaluate.measures import mean

_BLOCK: Final = 1 << 18
"""How many bytes of chance are drawn at a time."""

Values = Mapping[str, float]
"""Query -> value of one measure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Between which values the truth lies, at the level asked for."""

    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What became of one query."""

    query: str
    baseline: float
    new: float

    @property
    def difference(self) -> float:
        """How much was gained; negative when lost."""
        return self.new - self.baseline


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A baseline and what is new, on the same queries; *changes* go from the biggest gain to the biggest loss."""

    changes: tuple[Change, ...]
    interval: Interval
    p_value: float

    @property
    def baseline(self) -> float:
        """The mean of the baseline."""
        return mean(change.baseline for change in self.changes)

    @property
    def new(self) -> float:
        """The mean of what is new."""
        return mean(change.new for change in self.changes)

    @property
    def difference(self) -> float:
        """The mean gain."""
        return mean(change.difference for change in self.changes)

    @property
    def wins(self) -> int:
        """How many queries gained."""
        return sum(change.difference > 0 for change in self.changes)

    @property
    def losses(self) -> int:
        """How many queries lost."""
        return sum(change.difference < 0 for change in self.changes)

    @property
    def ties(self) -> int:
        """How many queries stayed as they were."""
        return len(self.changes) - self.wins - self.losses

    @property
    def better(self) -> bool:
        """Whether the whole interval lies above 0."""
        return self.interval.low > 0

    def gains(self, limit: int = 10) -> tuple[Change, ...]:
        """Return the queries that gained most, biggest gain first."""
        return tuple(change for change in self.changes[:limit] if change.difference > 0)

    def falls(self, limit: int = 10) -> tuple[Change, ...]:
        """Return the queries that lost most, biggest loss first."""
        lost = (change for change in self.changes if change.difference < 0)
        return tuple(sorted(lost, key=lambda change: (change.difference, change.query))[:limit])


@dataclass(frozen=True, slots=True, kw_only=True)
class Macro:
    """A comparison over several sets, each set counting alike."""

    sets: Mapping[str, Comparison]
    interval: Interval
    p_value: float

    @property
    def difference(self) -> float:
        """The mean over the sets of their mean gain."""
        return mean(comparison.difference for comparison in self.sets.values())

    @property
    def better(self) -> bool:
        """Whether the whole interval lies above 0."""
        return self.interval.low > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether a gate was passed, and why; true when passed."""

    passed: bool
    reason: str

    def __bool__(self) -> bool:
        return self.passed


def compare(
    baseline: Values, new: Values, *, resamples: int = 10_000, seed: int = 0, level: float = 0.95
) -> Comparison:
    """Compare two rankings scored on the same queries."""
    changes = _changes(baseline, new)
    differences = _by_query(changes)
    return Comparison(
        changes=changes,
        interval=bootstrap([differences], resamples=resamples, seed=seed, level=level),
        p_value=randomisation([differences], trials=resamples, seed=seed),
    )


def compare_sets(
    pairs: Mapping[str, tuple[Values, Values]], *, resamples: int = 10_000, seed: int = 0, level: float = 0.95
) -> Macro:
    """Compare baseline and new on several sets at once; chance is drawn within each set."""
    if not pairs:
        raise InputError("nothing to compare", hint="name at least one set")
    sets = {name: compare(*pair, resamples=resamples, seed=seed, level=level) for name, pair in pairs.items()}
    differences = [_by_query(one.changes) for one in sets.values()]
    return Macro(
        sets=sets,
        interval=bootstrap(differences, resamples=resamples, seed=seed, level=level),
        p_value=randomisation(differences, trials=resamples, seed=seed),
    )


def bootstrap(
    sets: Sequence[Sequence[float]], *, resamples: int = 10_000, seed: int = 0, level: float = 0.95
) -> Interval:
    """Return the percentile interval of the mean over *sets* of each set's mean (Efron, 1979).

    Every resample draws from each set as many values as it has, with replacement. Differences by query make it paired.
    """
    if not sets or not all(sets):
        raise InputError("nothing to resample", hint="score at least one query in every set")
    chance = random.Random(seed)  # noqa: S311 - a sample, not a secret
    samples = [_draw(_means_of(values), chance, size=4 * len(values), rows=resamples) for values in sets]
    means = [math.fsum(parts) / len(sets) for parts in zip(*samples, strict=True)]
    means.sort()
    return Interval(low=_quantile(means, (1 - level) / 2), high=_quantile(means, (1 + level) / 2))


def randomisation(sets: Sequence[Sequence[float]], *, trials: int = 10_000, seed: int = 0) -> float:
    """Return how likely a mean difference this far from 0 is if baseline and new were labels (Fisher, 1935).

    Every trial swaps the labels of each query or not: p = (1 + trials at least as far from 0) / (1 + trials).
    """
    weighed = [value / (len(values) * len(sets)) for values in sets for value in values if value]
    total = math.fsum(weighed)
    needed = abs(total) * (1 - 1e-9)
    chance = random.Random(seed)  # noqa: S311 - a sample, not a secret
    sums = _draw(_sums_of(weighed), chance, size=(len(weighed) + 7) // 8, rows=trials)
    reached = sum(abs(total - 2 * swapped) >= needed for swapped in sums)
    return (1 + reached) / (1 + trials)


def gate(baseline: float, new: float, needed: float) -> Verdict:
    """Say whether *new* is at least *needed*; a baseline of 0 measured nothing, so nothing passes beside it."""
    if not baseline > 0:
        return Verdict(passed=False, reason=f"the baseline is {baseline:.4f}: it found nothing, so it proves nothing")
    if not new >= needed:
        return Verdict(passed=False, reason=f"{new:.4f} is below the {needed:.4f} needed (baseline {baseline:.4f})")
    return Verdict(passed=True, reason=f"{new:.4f} reaches the {needed:.4f} needed (baseline {baseline:.4f})")


def _changes(baseline: Values, new: Values) -> tuple[Change, ...]:
    alone = sorted(baseline.keys() ^ new.keys())
    if alone:
        raise InputError(
            f"{len(alone)} queries were scored on one side only, such as {alone[0]!r}",
            hint="score both rankings on the same queries",
        )
    if not baseline:
        raise InputError("nothing to compare", hint="score at least one query")
    changes = (Change(query=query, baseline=baseline[query], new=new[query]) for query in baseline)
    return tuple(sorted(changes, key=lambda change: (-change.difference, change.query)))


def _by_query(changes: Sequence[Change]) -> list[float]:
    """Return the differences in an order that both sides share, so that swapping the sides mirrors the answer."""
    return [change.difference for change in sorted(changes, key=lambda change: change.query)]


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


# --- drawing: rows of chance in, a number for each row out, with NumPy where it is installed ---


_Drawing = Callable[[Sequence[bytes]], list[float]]


def _draw(drawing: _Drawing, chance: random.Random, *, size: int, rows: int) -> list[float]:
    """Return what *drawing* makes of *rows* rows of *size* bytes, a block at a time."""
    height = max(1, _BLOCK // max(1, size))
    blocks = (
        [chance.randbytes(size) for _ in range(start, min(start + height, rows))] for start in range(0, rows, height)
    )
    return [number for block in blocks for number in drawing(block)]


def _means_of(values: Sequence[float]) -> _Drawing:
    """Return how four bytes a value become the mean of a sample of *values* with replacement."""
    try:
        import numpy as np  # noqa: PLC0415 - optional
    except ImportError:
        return partial(_plain_means, values)
    array, size = np.asarray(values, dtype=np.float64), np.uint64(len(values))

    def draw(rows: Sequence[bytes]) -> list[float]:
        drawn = np.frombuffer(b"".join(rows), dtype="<u4").reshape(len(rows), -1)
        picked = (drawn * size >> np.uint64(32)).astype(np.intp)
        return [*map(float, array[picked].mean(axis=1))]

    return draw


def _plain_means(values: Sequence[float], rows: Sequence[bytes]) -> list[float]:
    size = len(values)
    drawn = (struct.unpack(f"<{size}I", row) for row in rows)
    return [math.fsum(values[number * size >> 32] for number in numbers) / size for numbers in drawn]


def _sums_of(values: Sequence[float]) -> _Drawing:
    """Return how a bit a value becomes the sum of those of *values* whose bit is set."""
    try:
        import numpy as np  # noqa: PLC0415 - optional
    except ImportError:
        return partial(_plain_sums, values)
    array = np.asarray(values, dtype=np.float64)

    def draw(rows: Sequence[bytes]) -> list[float]:
        drawn = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(len(rows), -1)
        bits = np.unpackbits(drawn, axis=1, count=len(values), bitorder="little")
        return [*map(float, bits @ array)]

    return draw


def _plain_sums(values: Sequence[float], rows: Sequence[bytes]) -> list[float]:
    spelled = (reversed(f"{int.from_bytes(row, 'little'):0{8 * len(row)}b}") for row in rows)
    return [math.fsum(compress(values, map("1".__eq__, bits))) for bits in spelled]
