"""The candidates of a search, stored as columns: hundreds are found and only a few are shown.

Stages work on columns; a `Candidate` value is built only when one is read.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from operator import add, mul
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, overload

from msgspec import Struct, field

from recollect.replies import Share

DropCode = Literal["floor", "confidence", "near_repeat", "limit", "imprecise"]
Factors = Mapping[str, Mapping[int, float]]
"""Factor name -> memory id -> factor."""
NOTHING: Mapping[Any, Any] = MappingProxyType({})
_ALL_ONES = frozenset({1.0})
"""The values of a factor that changes nothing."""


class Drop(Struct, frozen=True, kw_only=True):
    """Why a candidate is not shown, and the smallest change that would show it."""

    code: DropCode
    surfaces_if: str
    """{score} and {fused} stand for the candidate's own; they are filled in only if somebody asks why."""


class Candidate(Struct, kw_only=True):
    """A memory with its share of each ranking and its named factors; never modified."""

    id: int
    shares: tuple[Share, ...]
    factors: Mapping[str, float] = field(default_factory=dict)
    drop: Drop | None = None
    fused: float = 0.0
    """The sum of the shares."""
    score: float = 0.0
    """The sum of the shares times the product of the factors."""

    def __post_init__(self) -> None:
        """Compute the sums."""
        self.fused = add_up([each.points for each in self.shares])
        self.score = self.fused * math.prod(self.factors.values()) if self.factors else self.fused


def add_up(points: Sequence[float]) -> float:
    """Return the exactly rounded sum of *points*; for two, plain addition is that."""
    return points[0] + points[1] if len(points) == 2 else math.fsum(points)


class Given(NamedTuple):
    """The points of one ranking by memory id, with its rank and its own score where it has them."""

    ranking: str
    points: Mapping[int, float]
    ranks: Mapping[int, int]
    natives: Mapping[int, float]

    def share(self, row: int) -> Share:
        """Return the share of *row*."""
        return Share(self.ranking, self.ranks.get(row), self.points[row], self.natives.get(row))


class Candidates(Sequence[Candidate]):
    """Immutable columns of candidates, best first; *drops* has the reason for each that is not shown."""

    __slots__ = ("_kept", "drops", "factors", "fused", "given", "ids", "scores")

    def __init__(
        self,
        ids: Sequence[int],
        fused: Sequence[float],
        scores: Sequence[float],
        *,
        given: tuple[Given, ...] = (),
        factors: Factors = NOTHING,
        drops: Mapping[int, Drop] = NOTHING,
    ) -> None:
        self.ids, self.fused, self.scores = ids, fused, scores
        self.given, self.factors, self.drops = given, factors, drops
        self._kept: Candidates | None = None

    @classmethod
    def fuse(cls, ids: Sequence[int], given: Sequence[Given]) -> "Candidates":
        """Return the candidates *ids*, in that order, with the points of *given*."""
        every = [each.points for each in given]
        if len(every) == 2:
            fused = list(map(add, _column(every[0], ids, 0.0), _column(every[1], ids, 0.0)))
        else:
            fused = [add_up([points[row] for points in every if row in points]) for row in ids]
        return cls(ids, fused, fused, given=tuple(given))

    def _like(self, ids: Sequence[int], fused: Sequence[float], scores: Sequence[float], **other: Any) -> "Candidates":
        same: dict[str, Any] = {"given": self.given, "factors": self.factors, "drops": self.drops, **other}
        return Candidates(ids, fused, scores, **same)

    # --- as a sequence of values ----------------------------------------------------------

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, at: int) -> Candidate: ...
    @overload
    def __getitem__(self, at: slice) -> "Candidates": ...
    def __getitem__(self, at: int | slice) -> "Candidate | Candidates":
        if isinstance(at, slice):
            return self._like(self.ids[at], self.fused[at], self.scores[at])
        row = self.ids[at]
        factors = {name: factors[row] for name, factors in self.factors.items() if row in factors}
        made = Candidate(id=row, shares=self.shares(row), factors=factors, drop=self.drops.get(row))
        made.fused, made.score = self.fused[at], self.scores[at]
        return made

    def __iter__(self) -> Iterator[Candidate]:
        return map(self.__getitem__, range(len(self.ids)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def shares(self, row: int) -> tuple[Share, ...]:
        """Return the shares of *row*."""
        return tuple([each.share(row) for each in self.given if row in each.points])

    # --- as columns -----------------------------------------------------------------------

    def by_fused(self) -> "Candidates":
        """Return them by the sum of their shares, best first, ties by id."""
        return self._ordered(self.fused)

    def by_score(self) -> "Candidates":
        """Return them by score, best first, ties by id."""
        return self._ordered(self.scores)

    def _ordered(self, column: Sequence[float]) -> "Candidates":
        ids = self.ids
        order = sorted(range(len(ids)), key=ids.__getitem__)
        order.sort(key=column.__getitem__, reverse=True)  # a reverse sort is stable, too
        return self.picked(order)

    def picked(self, places: Collection[int]) -> "Candidates":
        """Return those at *places*, in that order."""
        ids, fused, scores = self.ids, self.fused, self.scores
        taken = [fused[at] for at in places]
        others = taken if scores is fused else [scores[at] for at in places]
        return self._like([ids[at] for at in places], taken, others)

    def lifted(self, name: str, points: Mapping[int, float]) -> "Candidates":
        """Return them in the same order, some with an additional share called *name*."""
        if not points:
            return self
        given = (*self.given, Given(name, points, NOTHING, NOTHING))
        every = [each.points for each in given]
        fused = [
            math.fsum([held[row] for held in every if row in held]) if row in points else own
            for row, own in zip(self.ids, self.fused, strict=True)
        ]
        lifted = self._like(self.ids, fused, fused, given=given)
        return lifted.weighed(self.factors) if self.factors else lifted

    def weighed(self, factors: Factors) -> "Candidates":
        """Return them in the same order, with *factors* instead of their own."""
        ids, fused, product = self.ids, self.fused, list[float]()
        for each in factors.values():
            if not _ALL_ONES.issuperset(each.values()):  # a missing factor counts as 1
                column = _column(each, ids, 1.0)
                product = list(map(mul, product, column)) if product else column
        return self._like(ids, fused, list(map(mul, fused, product)) if product else fused, factors=factors)

    def dropped(self, drops: Mapping[int, Drop]) -> "Candidates":
        """Return them with *drops* added."""
        return self._like(self.ids, self.fused, self.scores, drops={**self.drops, **drops}) if drops else self

    def before(self, others: "Candidates") -> "Candidates":
        """Return them followed by *others*, which have shares of the same rankings."""
        ids, fused, scores = [*self.ids, *others.ids], [*self.fused, *others.fused], [*self.scores, *others.scores]
        return self._like(ids, fused, scores)

    def led_by(self, first: Sequence[int]) -> "Candidates":
        """Return them with the ids *first* in front, in that order; the others keep theirs."""
        places = {row: at for at, row in enumerate(self.ids)}
        ahead = set(first)
        return self.picked(
            [*[places[row] for row in first], *[at for at, row in enumerate(self.ids) if row not in ahead]]
        )

    @property
    def kept(self) -> "Candidates":
        """The candidates that no stage dropped."""
        drops = self.drops
        if not drops:
            return self
        if self._kept is None:
            self._kept = self.picked([at for at, row in enumerate(self.ids) if row not in drops])
        return self._kept


def _column(held: Mapping[int, float], ids: Sequence[int], usual: float) -> list[float]:
    """Return the values of *ids* in *held*; usually all of them are there."""
    try:
        return list(map(held.__getitem__, ids))
    except KeyError:
        return [held.get(row, usual) for row in ids]


NO_CANDIDATES: Final = Candidates((), (), ())
