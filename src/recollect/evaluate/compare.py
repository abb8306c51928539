"""Is the new ranking better than the old one? Paired by query: how much, how surely, and where.

All randomness comes from a seed, so equal runs give equal answers.
"""

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from recollect.embedders.manifest import require
from recollect.errors import InputError
from recollect.evaluate.measures import mean

np: Final = require("numpy", by="an evaluation")

_BLOCK: Final = 1 << 18
"""How many random bytes are drawn at a time."""

Values = Mapping[str, float]
"""Query -> value of one measure."""


class Interval(Struct, frozen=True, kw_only=True):
    """Between which values the truth lies, at the level asked for."""

    low: float
    high: float


class Change(Struct, frozen=True, kw_only=True):
    """What became of one query."""

    query: str
    baseline: float
    new: float

    @property
    def difference(self) -> float:
        """How much was gained; negative when lost."""
        return self.new - self.baseline


class Comparison(Struct, frozen=True, kw_only=True):
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


class MacroComparison(Struct, frozen=True, kw_only=True):
    """A comparison over several sets, each set counting alike."""

    sets: Mapping[str, Comparison]
    interval: Interval
    p_value: float

    @property
    def difference(self) -> float:
        """The mean over the sets of their mean gain."""
        return mean(comparison.difference for comparison in self.sets.values())


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
    pairs: Mapping[str, tuple[Values, Values]], *, resamples: int = 10_000, seed: int = 0
) -> MacroComparison:
    """Compare baseline and new on several sets at once; samples are drawn within each set."""
    if not pairs:
        raise InputError("nothing to compare", hint="name at least one set")
    sets = {name: compare(*pair, resamples=resamples, seed=seed) for name, pair in pairs.items()}
    differences = [_by_query(one.changes) for one in sets.values()]
    return MacroComparison(
        sets=sets,
        interval=bootstrap(differences, resamples=resamples, seed=seed),
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
    means = np.mean([_resampled_means(values, chance, resamples) for values in sets], axis=0)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(low=float(low), high=float(high))


def _resampled_means(values: Sequence[float], chance: random.Random, resamples: int) -> Any:
    """Return the mean of each of *resamples* samples of *values*; four random bytes choose a value."""
    array, size = np.asarray(values, dtype=np.float64), np.uint64(len(values))
    blocks = (block.view("<u4") for block in _random_rows(chance, rows=resamples, size=4 * len(values)))
    return np.concatenate([array[(block * size >> np.uint64(32)).astype(np.intp)].mean(axis=1) for block in blocks])


def randomisation(sets: Sequence[Sequence[float]], *, trials: int = 10_000, seed: int = 0) -> float:
    """Return how likely a mean difference this far from 0 is if baseline and new were labels (Fisher, 1935).

    Every trial swaps the labels of each query or not: p = (1 + trials at least as far from 0) / (1 + trials).
    """
    weighed = np.array([value / (len(values) * len(sets)) for values in sets for value in values if value])
    if not weighed.size:
        return 1.0
    total, chance = math.fsum(weighed), random.Random(seed)  # noqa: S311 - a sample, not a secret
    reached = 0
    for block in _random_rows(chance, rows=trials, size=(len(weighed) + 7) // 8):
        swapped = np.unpackbits(block, axis=1, count=len(weighed), bitorder="little") @ weighed
        reached += int((np.abs(total - 2 * swapped) >= abs(total) * (1 - 1e-9)).sum())
    return (1 + reached) / (1 + trials)


def _random_rows(chance: random.Random, *, rows: int, size: int) -> Iterator[Any]:
    """Yield *rows* rows of *size* random bytes, in blocks that bound the memory they take."""
    height = max(1, _BLOCK // size)
    for start in range(0, rows, height):
        drawn = b"".join(chance.randbytes(size) for _ in range(start, min(start + height, rows)))
        yield np.frombuffer(drawn, dtype=np.uint8).reshape(-1, size)


def gate_failure(baseline: float, new: float, needed: float) -> str | None:
    """Say why *new* does not pass; None when it reaches *needed* beside a baseline that found something at all."""
    if not baseline > 0:
        return f"the baseline is {baseline:.4f}: it found nothing, so it proves nothing"
    if not new >= needed:
        return f"{new:.4f} is below the {needed:.4f} needed (baseline {baseline:.4f})"
    return None


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
