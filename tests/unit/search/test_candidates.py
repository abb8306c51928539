"""Candidates in columns are the values they stand for, whatever is done to them."""

import math

from hypothesis import given
from hypothesis import strategies as st

from recollect.search.candidates import Candidate, Candidates, Drop, Given

POINTS = st.floats(0, 1)
TABLE = st.dictionaries(st.integers(1, 30), st.tuples(st.none() | POINTS, st.none() | POINTS), min_size=1, max_size=12)


def columns(table: dict[int, tuple[float | None, float | None]]) -> Candidates:
    """Return what two rankings gave, each only to some."""
    every = [{row: points[at] for row, points in table.items() if points[at] is not None} for at in range(2)]
    given_by = [Given(name, points, {}, {}) for name, points in zip(("words", "vector"), every, strict=True)]  # type: ignore[arg-type]
    return Candidates.fuse(sorted(table), given_by)


def worth(candidate: Candidate) -> tuple[float, float]:
    """Return what a candidate is worth by its shares and factors, added up anew."""
    anew = Candidate(id=candidate.id, shares=candidate.shares, factors=candidate.factors)
    return anew.fused, anew.score


@given(TABLE, st.dictionaries(st.integers(1, 30), POINTS), st.dictionaries(st.integers(1, 30), st.floats(0.5, 2)))
def test_what_a_column_holds_is_what_the_shares_and_factors_of_its_value_make(
    table: dict[int, tuple[float | None, float | None]], lifts: dict[int, float], boosts: dict[int, float]
) -> None:
    found = columns(table).lifted("reply", lifts)
    weighed = found.weighed({"prior": dict.fromkeys(found.ids, 0.9), "date_boost": boosts}).by_score()

    assert [(each.fused, each.score) for each in weighed] == list(map(worth, weighed))
    assert list(weighed) == sorted(weighed, key=lambda each: (-each.score, each.id))
    assert [math.fsum(share.points for share in each.shares if share.ranking == "reply") for each in weighed] == [
        lifts.get(row, 0.0) for row in weighed.ids
    ]


@given(TABLE, st.sets(st.integers(1, 30)), st.integers(0, 12))
def test_columns_and_the_tuple_of_their_values_are_the_same(
    table: dict[int, tuple[float | None, float | None]], gone: set[int], first: int
) -> None:
    drop = Drop(code="limit", surfaces_if="the limit is higher")
    found = columns(table).by_fused()
    dropped = found.dropped({row: drop for row in found.ids if row in gone})
    plain = tuple(dropped)

    assert dropped == plain
    assert list(dropped.kept) == [each for each in plain if each.drop is None]
    assert tuple(dropped[:first].before(dropped[first:])) == plain
    assert dropped.led_by(dropped.ids[first:]).ids == [*dropped.ids[first:], *dropped.ids[:first]]
