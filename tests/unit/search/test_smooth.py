"""A candidate is known by its company: who rises, by how much, and what never happens."""

import math
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kit import NOON, candidates_of
from recollect import Memory, Recollection, Reply
from recollect.embedders.models import Models
from recollect.errors import ProfileError
from recollect.profile import Smooth, load_profile, read_profile
from recollect.replies import Mode, Share
from recollect.search.candidates import Candidate
from recollect.search.smooth import lift
from recollect.stores.choice import open_store
from recollect.text.analyser import analyse

TEXTS = (
    "Deploys run from the build server on Tuesdays",
    "The deploy of the build server takes five minutes",
    "Deploys are announced in the team channel",
    "Cats sleep on warm keyboards",
    "The build server has two cores",
    "Tuesdays are quiet in the office",
)


def ahead(crowd: Sequence[Candidate], kin: Mapping[int, Mapping[int, float]]) -> dict[int, float]:
    """Return how far the neighbours of each are ahead of it, on the mean by their cosines."""
    scores = {each.id: each.fused for each in crowd}
    near = {row: {other: cosine for other, cosine in others.items() if cosine > 0} for row, others in kin.items()}
    return {
        row: math.fsum(cosine * max(0.0, scores[other] - scores[row]) for other, cosine in others.items())
        / math.fsum(others.values())
        for row, others in near.items()
        if row in scores and others
    }


def candidate(row: int, score: float) -> Candidate:
    return Candidate(id=row, shares=(Share(ranking="words", rank=row, points=score, native=score),))


def smooth(weight: float, max_rise: float = 1000.0, *, top_k: int = 50) -> Smooth:
    return Smooth(weight=weight, top_k=top_k, max_rise=max_rise)


def test_a_candidate_rises_by_how_far_its_neighbours_are_ahead_and_is_never_lowered() -> None:
    crowd = [candidate(1, 0.9), candidate(2, 0.6), candidate(3, 0.5)]
    kin = {1: {2: 0.9, 3: 0.9}, 2: {1: 0.75, 3: 0.25}, 3: {1: -0.2}}

    lifted = {each.id: each for each in lift(candidates_of(crowd), ahead(crowd, kin), smooth(0.4))}

    assert lifted[2].fused == pytest.approx(0.6 + 0.4 * 0.75 * (0.9 - 0.6))
    assert [(share.ranking, share.rank) for share in lifted[2].shares] == [("words", 2), ("neighbours", None)]
    assert (lifted[1], lifted[3]) == (crowd[0], crowd[2])


def test_what_is_itself_unrelated_stays_where_it_is() -> None:
    crowd = [candidate(1, 0.9), candidate(2, 0.02)]

    lifted = {each.id: each.fused for each in lift(candidates_of(crowd), ahead(crowd, {2: {1: 0.9}}), smooth(0.8, 0.5))}

    assert lifted == {1: 0.9, 2: pytest.approx(0.03)}


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=12),
    st.dictionaries(st.integers(1, 12), st.dictionaries(st.integers(1, 12), st.floats(-1, 1), max_size=5)),
    st.floats(0, 1),
)
def test_nobody_is_added_lost_or_lowered_and_nobody_rises_above_the_best(
    scores: list[float], near: dict[int, dict[int, float]], weight: float
) -> None:
    crowd = [candidate(row, score) for row, score in enumerate(scores, start=1)]
    known = set(range(1, len(crowd) + 1))
    kin = {row: {other: cosine for other, cosine in others.items() if other in known} for row, others in near.items()}

    lifted = lift(candidates_of(crowd), ahead(crowd, kin), smooth(weight))

    assert {each.id for each in lifted} == known
    for each in lifted:
        assert scores[each.id - 1] <= each.fused <= max(scores) + 1e-9
        assert each.fused == pytest.approx(math.fsum(share.points for share in each.shares))
    assert [(-each.fused, each.id) for each in lifted] == sorted((-each.fused, each.id) for each in lifted)


@pytest.fixture
def db() -> Recollection:
    opened = Recollection(
        store=open_store(":memory:", analyse),
        profile=load_profile("default"),
        clock=lambda: NOON,
        models=Models(name="hashing"),
    )
    opened.add_all([Memory(content=text) for text in TEXTS])
    return opened


def asked(db: Recollection, mode: Mode, *, weight: float, top: int = 50) -> Reply:
    db.profile = replace(db.profile, smooth=smooth(weight, top_k=top) if weight else None, floor=None)
    return replace(db.search("when are deploys of the build server", mode=mode), timings_ms={})


def test_only_a_search_by_words_and_meaning_smooths(db: Recollection) -> None:
    for mode in ("keyword", "semantic"):
        assert asked(db, mode, weight=0.7) == asked(db, mode, weight=0.0)
    plain, mixed = asked(db, "hybrid", weight=0.0), asked(db, "hybrid", weight=0.7)

    assert {hit.id for hit in mixed.hits} == {hit.id for hit in plain.hits}
    assert any(share.ranking == "neighbours" for hit in mixed.hits for share in hit.shares)
    assert not any(share.ranking == "neighbours" for hit in plain.hits for share in hit.shares)


def test_who_is_not_among_the_first_stays_where_it_is(db: Recollection) -> None:
    plain, mixed = asked(db, "hybrid", weight=0.0), asked(db, "hybrid", weight=0.9, top=2)

    assert [hit.id for hit in mixed.hits[2:]] == [hit.id for hit in plain.hits[2:]]
    assert {hit.id for hit in mixed.hits[:2]} == {hit.id for hit in plain.hits[:2]}


@pytest.mark.parametrize("line", ["weight = 1.5", "top_k = -1", "max_neighbors = 0"])
def test_a_number_out_of_range_is_refused(line: str) -> None:
    with pytest.raises(ProfileError, match=line.split(maxsplit=1)[0]):
        read_profile(f"[smooth]\n{line}\n", name="mine")
