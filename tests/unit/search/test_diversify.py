"""Near-repeats and diversity (research cases 80, 81, 95)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import NOON
from recollect.profile import Diversify
from recollect.records import ALL_PROJECTS, Memory
from recollect.replies import Request
from recollect.search.candidates import Candidates
from recollect.search.diversify import apply_limit, diversify, overlap, shingles
from recollect.search.mmr import diversify_by_mmr, marginal_relevance, maximal_marginal_relevance
from recollect.search.parse import parse
from recollect.search.state import State
from recollect.text.differences import differences

LONG = "the nightly job copies every table to the archive and then checks the row counts of each of them"


def candidates(*scores: float) -> Candidates:
    return Candidates(range(1, len(scores) + 1), scores, scores)


def memories(texts: dict[int, str]) -> dict[int, Memory]:
    return {row: Memory(id=row, content=text) for row, text in texts.items()}


def searched(found: Candidates, texts: dict[int, Memory]) -> State:
    query = parse("x", now=NOON)
    return State(
        request=Request(text="x"), query=query, scope=ALL_PROJECTS, now=NOON, candidates=found, outlines=dict(texts)
    )


def shown(state: State, *, limit: int = 9, **rules: Any) -> State:
    """Return the state after near-repeats are dropped and the limit is applied; every text is loaded already."""
    context: Any = None
    return apply_limit(diversify(state, context, rules=Diversify(**rules), limit=limit), context, limit=limit)


def kept(found: Candidates, texts: dict[int, str], *, limit: int = 9, **rules: Any) -> list[int]:
    return list(shown(searched(found, memories(texts)), limit=limit, **rules).kept.ids)


def repeats(state: State) -> list[int]:
    return [row for row, drop in state.candidates.drops.items() if drop.code == "near_repeat"]


@pytest.mark.case(95)
@pytest.mark.req("O-10")
def test_of_four_results_two_sharing_a_long_run_of_words_three_remain() -> None:
    texts = {1: LONG, 2: "something else entirely about lunch", 3: f"{LONG} as usual", 4: "short"}

    state = shown(searched(candidates(0.9, 0.8, 0.7, 0.6), memories(texts)), max_overlap=0.6)

    assert list(state.kept.ids) == [1, 2, 4]
    assert repeats(state) == [3]
    assert "#1" in state.candidates.drops[3].surfaces_if


def test_a_profile_without_the_stage_keeps_repeats() -> None:
    context: Any = None
    state = searched(candidates(0.9, 0.8, 0.7), memories({1: LONG, 2: LONG, 3: LONG}))

    assert list(apply_limit(state, context, limit=2).kept.ids) == [1, 2]


def test_a_long_answer_holds_the_repeats_behind_its_first_page() -> None:
    texts = {1: LONG, 2: LONG, 3: "something else", 4: LONG, 5: "a third thing"}
    found = candidates(0.9, 0.8, 0.7, 0.6, 0.5)

    answers = {limit: kept(found, texts, limit=limit, max_overlap=0.9, page=2) for limit in (1, 2, 3, 4, 9)}

    assert answers == {1: [1], 2: [1, 3], 3: [1, 3, 2], 4: [1, 3, 2, 4], 9: [1, 3, 2, 4, 5]}


def test_what_another_project_says_is_no_repeat() -> None:
    mine, again, theirs = (Memory(id=row, content=LONG, project=name) for row, name in enumerate("aab", start=1))

    state = shown(searched(candidates(0.9, 0.8, 0.7), {1: mine, 2: again, 3: theirs}), max_overlap=0.9)

    assert list(state.kept.ids) == [1, 3]
    assert repeats(state) == [2]


@pytest.mark.req("O-10")
def test_numbers_make_a_difference() -> None:
    texts = {1: f"{LONG} at 15 past", 2: f"{LONG} at 16 past", 3: f"{LONG} at 15 past again"}

    assert kept(candidates(0.9, 0.8, 0.7), texts, max_overlap=0.5) == [1, 2]


@pytest.mark.case(80)
def test_full_relevance_keeps_the_order_and_few_candidates_stay_as_they_are() -> None:
    scores = {1: 0.9, 2: 0.8, 3: 0.7}
    runs = dict.fromkeys(scores, shingles("same text"))

    assert maximal_marginal_relevance(runs, scores, mmr_lambda=1.0) == [1, 2, 3]
    assert maximal_marginal_relevance({}, {}, mmr_lambda=0.5) == []
    assert maximal_marginal_relevance({1: runs[1]}, scores, mmr_lambda=0.5) == [1]


@pytest.mark.case(81)
@pytest.mark.parametrize(
    ("relevance", "likeness", "mmr_lambda", "expected"),
    [(0.8, 0.5, 1, 0.8), (0.8, 0.5, 0, -0.5), (0.8, 0.6, 0.5, 0.1), (1, 0.5, 0.7, 0.55)],
)
def test_the_marginal_relevance(relevance: float, likeness: float, mmr_lambda: float, expected: float) -> None:
    assert marginal_relevance(relevance, likeness, mmr_lambda) == pytest.approx(expected)


def test_likeness_to_a_better_hit_costs() -> None:
    found = candidates(0.9, 0.85, 0.8)
    texts = {1: LONG, 2: LONG + " again", 3: "a quite different thing about the garden"}

    context: Any = None

    assert list(diversify_by_mmr(searched(found, memories(texts)), context, limit=9).candidates.ids) == [1, 3, 2]


def test_an_opposite_is_no_repeat() -> None:
    texts = {1: "Restart the server after the update", 2: "Do not restart the server after the update"}

    assert kept(candidates(0.9, 0.8), texts, max_overlap=0.6) == [1, 2]


WORDS = st.sampled_from(["one", "two", "red", "not", "fox", "3"])
TEXTS = st.lists(st.lists(WORDS, max_size=14).map(" ".join), max_size=12)


@given(TEXTS, st.sampled_from([0.0, 0.3, 0.6, 0.9]), st.integers(1, 12))
def test_left_out_is_what_overlaps_too_much_with_one_that_was_kept(texts: list[str], most: float, limit: int) -> None:
    numbered = dict(enumerate(texts, start=1))
    found = candidates(*(1.0 for _ in texts))

    chosen = kept(found, numbered, max_overlap=most, limit=limit)

    wanted: list[int] = []
    for row, text in numbered.items():
        like = [other for other in wanted if overlap(shingles(text), shingles(numbered[other])) > most]
        if all(differences(text, numbered[other]) for other in like):
            wanted.append(row)
    assert chosen == wanted[:limit]


@pytest.mark.req("O-10")
@pytest.mark.parametrize(
    "again",
    [
        "the nightly job copies every table, to the archive; and then checks the row counts (of each of them)!",
        "The Nightly Job Copies Every Table To The Archive And Then Checks The Row Counts Of Each Of Them",
        LONG.upper(),
        f"“{LONG}”…",
    ],
)
def test_a_repeat_is_one_whatever_its_punctuation_and_capitals(again: str) -> None:
    assert kept(candidates(0.9, 0.8), {1: LONG, 2: again}, max_overlap=0.9) == [1]


@given(st.text(alphabet="ab_ 1.,;-!\0\n\t", max_size=40))
def test_english_and_other_texts_are_cut_into_the_same_words(text: str) -> None:
    assert {word for run in shingles(f"{text} é") for word in run} - {"é"} == {
        word for run in shingles(text) for word in run
    }
