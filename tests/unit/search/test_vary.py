"""Near-repeats and diversity (research cases 80, 81, 95)."""

import pytest

from recollect.profile import Fit
from recollect.replies import Share
from recollect.search.ranking import Candidate
from recollect.search.vary import marginal, marginal_value, runs_of, vary

LONG = "the nightly job copies every table to the archive and then checks the row counts of each of them"


def candidates(*scores: float) -> list[Candidate]:
    return [
        Candidate(id=row, shares=(Share(ranking="words", rank=row, points=score),))
        for row, score in enumerate(scores, start=1)
    ]


@pytest.mark.case(95)
@pytest.mark.req("O-10")
def test_of_four_results_two_sharing_a_long_run_of_words_three_remain() -> None:
    texts = {1: LONG, 2: "something else entirely about lunch", 3: f"{LONG} as usual", 4: "short"}

    kept = vary(candidates(0.9, 0.8, 0.7, 0.6), texts, rules=Fit(repeats=0.6), limit=9)

    assert [each.id for each in kept] == [1, 2, 4]


def test_a_profile_that_does_not_mind_repeats_keeps_them() -> None:
    assert len(vary(candidates(0.9, 0.8), {1: LONG, 2: LONG}, rules=Fit(), limit=9)) == 2


def test_numbers_make_a_difference() -> None:
    texts = {1: "deadline is October 15 for the tax report", 2: "deadline is October 16 for the tax report"}

    assert len(vary(candidates(0.9, 0.8), texts, rules=Fit(repeats=0.9), limit=9)) == 2


@pytest.mark.case(80)
def test_full_relevance_keeps_the_order_and_few_candidates_stay_as_they_are() -> None:
    found = candidates(0.9, 0.8, 0.7)
    runs = {each.id: runs_of("same text") for each in found}

    assert marginal(found, runs, share=1.0) == tuple(found)
    assert marginal([], {}, share=0.5) == ()
    assert marginal(found[:1], runs, share=0.5) == tuple(found[:1])


@pytest.mark.case(81)
@pytest.mark.parametrize(
    ("relevance", "likeness", "share", "expected"),
    [(0.8, 0.5, 1, 0.8), (0.8, 0.5, 0, -0.5), (0.8, 0.6, 0.5, 0.1), (1, 0.5, 0.7, 0.55)],
)
def test_the_marginal_value(relevance: float, likeness: float, share: float, expected: float) -> None:
    assert marginal_value(relevance, likeness, share) == pytest.approx(expected)


def test_likeness_to_a_better_hit_costs() -> None:
    found = candidates(0.9, 0.85, 0.8)
    texts = {1: LONG, 2: LONG + " again", 3: "a quite different thing about the garden"}

    assert [each.id for each in vary(found, texts, rules=Fit(diversity=0.5), limit=9)] == [1, 3, 2]


def test_an_opposite_is_no_repeat() -> None:
    texts = {1: "Restart the server after the update", 2: "Do not restart the server after the update"}

    assert len(vary(candidates(0.9, 0.8), texts, rules=Fit(repeats=0.6), limit=9)) == 2
