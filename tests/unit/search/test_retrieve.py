"""When the words alone are sure enough, by the numbers that profiles have."""

import pytest
from msgspec.structs import replace

from recollect.profile import Profile, ReciprocalRanks, load_profile
from recollect.records import IndexHit
from recollect.search.retrieve import is_decisive
from recollect.search.state import Ranking

ENGRAM = load_profile("engram")


def words(*scores: float) -> Ranking:
    return Ranking(name="words", hits=tuple(IndexHit(id=row, score=score) for row, score in enumerate(scores, start=1)))


@pytest.mark.req("E-07")
@pytest.mark.parametrize(
    ("scores", "strong"),
    [
        ((0.85, 0.70), True),
        ((0.95, 0.80), True),
        ((0.85,), True),
        ((0.99, 0.70, 0.69), True),
        ((0.84, 0.10), False),
        ((0.84,), False),
        ((0.99, 0.85), False),
        ((), False),
    ],
)
def test_a_signal_is_strong_when_the_best_is_high_and_far_ahead(
    scores: tuple[float, ...],
    strong: bool,  # noqa: FBT001
) -> None:
    assert is_decisive(words(*scores), replace(ENGRAM, fuse=ReciprocalRanks())) is strong


@pytest.mark.req("E-07", "E-06")
def test_bm25_is_compared_as_the_profile_normalizes_it() -> None:
    assert is_decisive(words(5.7), ENGRAM)
    assert not is_decisive(words(5.6), ENGRAM)


def test_a_profile_without_a_short_circuit_knows_no_strong_signal() -> None:
    assert not is_decisive(words(99.0), Profile())
