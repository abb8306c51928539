"""The candidates of a search: hundreds are found and a few are shown, so they are columns, and values of those few.

A column is what a stage works on; a value is made of a candidate when somebody looks at it.
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
"""What each named factor is for each memory that it weighs."""
NOTHING: Mapping[Any, Any] = MappingProxyType({})
_EVEN = frozenset({1.0})
"""What a factor is to everybody, where it tells nobody from another."""


class Drop(Struct, frozen=True, kw_only=True):
    """Why a candidate is not shown, and the least change that would show it."""

    code: DropCode
    surfaces_if: str
    """Where it names {score} or {fused}, the candidate's own are meant: many are dropped, and hardly any is told of."""


class Candidate(Struct, kw_only=True):
    """A memory with the shares each ranking gave it and the named factors that weigh it; nobody changes one."""

    id: int
    shares: tuple[Share, ...]
    factors: Mapping[str, float] = field(default_factory=dict)
    drop: Drop | None = None
    fused: float = 0.0
    """What the rankings gave together."""
    score: float = 0.0
    """The sum of the shares times the product of the factors."""

    def __post_init__(self) -> None:
        """Add up what it was given."""
        self.fused = add_up([each.points for each in self.shares])
        self.score = self.fused * math.prod(self.factors.values()) if self.factors else self.fused


def add_up(points: Sequence[float]) -> float:
    """Return the sum of *points*, exact before it is rounded; of two, Python's own is that."""
    return points[0] + points[1] if len(points) == 2 else math.fsum(points)


class Given(NamedTuple):
    """What one ranking gave, by memory; who it did not rank has no rank, and of some it knows no score of its own."""

    ranking: str
    points: Mapping[int, float]
    ranks: Mapping[int, int]
    natives: Mapping[int, float]

    def share(self, row: int) -> Share:
        """Return what it gave *row*."""
        return Share(self.ranking, self.ranks.get(row), self.points[row], self.natives.get(row))


class Candidates(Sequence[Candidate]):
    """Candidates in columns, best first; never changed once made. *drops* says who is not shown and why."""

    __slots__ = ("_kept", "_made", "drops", "factors", "fused", "given", "ids", "scores")

    def __init__(
        self,
        ids: Sequence[int],
        fused: Sequence[float],
        scores: Sequence[float],
        *,
        given: tuple[Given, ...] = (),
        factors: Factors = NOTHING,
        drops: Mapping[int, Drop] = NOTHING,
        made: dict[int, Candidate] | None = None,
    ) -> None:
        self.ids, self.fused, self.scores = ids, fused, scores
        self.given, self.factors, self.drops = given, factors, drops
        self._made: dict[int, Candidate] = {} if made is None else made
        self._kept: Candidates | None = None

    @classmethod
    def fuse(cls, ids: Sequence[int], given: Sequence[Given]) -> "Candidates":
        """Return what *given* gives *ids*, in their order."""
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
            return self._like(self.ids[at], self.fused[at], self.scores[at], made=self._made)
        row = self.ids[at]
        made = self._made.get(row)
        if made is None:
            made = self._made[row] = self._value(row, at)
        return made

    def __iter__(self) -> Iterator[Candidate]:
        return map(self.__getitem__, range(len(self.ids)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def _value(self, row: int, at: int) -> Candidate:
        factors = {name: factors[row] for name, factors in self.factors.items() if row in factors}
        made = Candidate(id=row, shares=self.shares(row), factors=factors, drop=self.drops.get(row))
        made.fused, made.score = self.fused[at], self.scores[at]
        return made

    def shares(self, row: int) -> tuple[Share, ...]:
        """Return what *row* was given."""
        return tuple([each.share(row) for each in self.given if row in each.points])

    # --- as columns -----------------------------------------------------------------------

    def by_fused(self) -> "Candidates":
        """Return them by what the rankings gave, best first, ties by id."""
        return self._ordered(self.fused)

    def by_score(self) -> "Candidates":
        """Return them by score, best first, ties by id."""
        return self._ordered(self.scores)

    def _ordered(self, column: Sequence[float]) -> "Candidates":
        ids = self.ids
        order = sorted(range(len(ids)), key=ids.__getitem__)
        order.sort(key=column.__getitem__, reverse=True)  # in reverse, too, who is equal stays in order
        return self.picked(order)

    def picked(self, places: Collection[int]) -> "Candidates":
        """Return those at *places*, in that order."""
        ids, fused, scores = self.ids, self.fused, self.scores
        taken = [fused[at] for at in places]
        others = taken if scores is fused else [scores[at] for at in places]
        return self._like([ids[at] for at in places], taken, others, made=self._made)

    def lifted(self, name: str, points: Mapping[int, float]) -> "Candidates":
        """Return them with a share more for some, given for the reason *name*, where they stand."""
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
        """Return them with *factors* in the place of others, where they stand."""
        ids, fused, product = self.ids, self.fused, list[float]()
        for each in factors.values():
            if not _EVEN.issuperset(each.values()):  # who has no such factor is as with one of 1
                column = _column(each, ids, 1.0)
                product = list(map(mul, product, column)) if product else column
        return self._like(ids, fused, list(map(mul, fused, product)) if product else fused, factors=factors)

    def dropped(self, drops: Mapping[int, Drop]) -> "Candidates":
        """Return them with *drops* for some more of them."""
        return self._like(self.ids, self.fused, self.scores, drops={**self.drops, **drops}) if drops else self

    def before(self, others: "Candidates") -> "Candidates":
        """Return them with *others*, that were given by the same, behind."""
        ids, fused, scores = [*self.ids, *others.ids], [*self.fused, *others.fused], [*self.scores, *others.scores]
        return self._like(ids, fused, scores)

    def led_by(self, first: Sequence[int]) -> "Candidates":
        """Return them with those of the ids *first* in front, in that order; the others stay as they are."""
        places = {row: at for at, row in enumerate(self.ids)}
        ahead = set(first)
        return self.picked(
            [*[places[row] for row in first], *[at for at, row in enumerate(self.ids) if row not in ahead]]
        )

    @property
    def kept(self) -> "Candidates":
        """Those that nobody dropped; most stages ask for them."""
        drops = self.drops
        if not drops:
            return self
        if self._kept is None:
            self._kept = self.picked([at for at, row in enumerate(self.ids) if row not in drops])
        return self._kept


def _column(held: Mapping[int, float], ids: Sequence[int], usual: float) -> list[float]:
    """Return what is *held* of *ids*, in their order; most often it is of all."""
    try:
        return list(map(held.__getitem__, ids))
    except KeyError:
        return [held.get(row, usual) for row in ids]


NO_CANDIDATES: Final = Candidates((), (), ())
