"""Measures agree with an independent implementation and with numbers a reader can compute."""

import math
import random
from collections.abc import Mapping, Sequence

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import RR, P, R, Success, nDCG

from recollect.errors import QueryError
from recollect.evaluate.measures import (
    MEASURES,
    collapse,
    collapse_gains,
    mean,
    means,
    measure,
    ndcg,
    precision,
    recall,
    recall_all,
    recall_any,
    reciprocal_rank,
    score,
)

ORACLE = {
    "ndcg@3": nDCG @ 3,
    "ndcg@10": nDCG @ 10,
    "recall@5": R @ 5,
    "recall@10": R @ 10,
    "recall@100": R @ 100,
    "recall_any@5": Success @ 5,
    "hit@1": Success @ 1,
    "mrr@10": RR @ 10,
    "mrr@100": RR @ 100,
    "precision@1": P @ 1,
    "precision@10": P @ 10,
}
DOCUMENTS = [f"d{number}" for number in range(60)]

rankings = st.lists(st.sampled_from("abcdefgh"), unique=True)
gains = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 4), min_size=1)


def judged_at_random(seed: int) -> tuple[dict[str, list[str]], dict[str, dict[str, int]]]:
    chance = random.Random(seed)
    queries = [f"q{number}" for number in range(40)]
    found = {query: chance.sample(DOCUMENTS, chance.randint(1, 60)) for query in queries}
    judged = {
        query: {one: chance.randint(0, 4) for one in chance.sample(DOCUMENTS, chance.randint(1, 30))}
        for query in queries
    }
    return found, judged


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", ORACLE)
def test_every_query_scores_what_ir_measures_says(name: str, seed: int) -> None:
    found, judged = judged_at_random(seed)
    run = {query: {one: -float(rank) for rank, one in enumerate(ids)} for query, ids in found.items()}

    ours = score(found, judged, measures={name: measure(name)})[name]

    theirs = {line.query_id: line.value for line in ir_measures.iter_calc([ORACLE[name]], judged, run)}
    assert ours == pytest.approx(theirs, abs=1e-12)
    assert len(set(ours.values())) > 1


@pytest.mark.parametrize("name", ORACLE)
def test_the_mean_is_that_of_ir_measures_with_unanswered_queries_as_zero(name: str) -> None:
    found, judged = judged_at_random(9)
    answered = {query: ids for query, ids in found.items() if query not in ("q0", "q7")}
    run = {query: {one: -float(rank) for rank, one in enumerate(ids)} for query, ids in answered.items()}

    ours = means(score(answered, judged, measures={name: measure(name)}))[name]

    assert ours == pytest.approx(ir_measures.calc_aggregate([ORACLE[name]], judged, run)[ORACLE[name]], abs=1e-12)


@pytest.mark.case(107)
@pytest.mark.parametrize(("ranking", "expected"), [("a----", 1.0), ("----a", 0.2), ("-----", 0.0)])
def test_the_reciprocal_rank_is_one_at_the_top_a_fifth_in_fifth_place_and_else_nothing(
    ranking: str, expected: float
) -> None:
    ids = [name if name == "a" else f"x{place}" for place, name in enumerate(ranking)]

    found = reciprocal_rank(ids, {"a": 1}, k=10)

    assert found == expected


@pytest.mark.parametrize(
    ("rate", "expected"),
    [(recall, 2 / 3), (recall_any, 1.0), (recall_all, 0.0), (precision, 0.5)],
)
def test_two_of_three_within_the_first_four(rate: object, expected: float) -> None:
    assert callable(rate)

    found = rate(["a", "x", "b", "y", "c"], {"a": 1, "b": 2, "c": 1, "z": 0}, k=4)

    assert found == pytest.approx(expected)


def test_all_are_recalled_only_with_the_last_of_them() -> None:
    assert recall_all(["a", "x", "b"], {"a": 1, "b": 1}, k=3) == 1.0
    assert recall_all(["a", "x", "b"], {"a": 1, "b": 1}, k=2) == 0.0


def test_a_document_named_twice_counts_once() -> None:
    found = score({"q": ["a", "a", "b"]}, {"q": {"a": 1, "b": 1}})

    assert found["recall@10"]["q"] == 1.0
    assert found["ndcg@10"]["q"] == 1.0
    assert found["precision@10"]["q"] == 0.2


def test_a_judgement_below_zero_is_worth_nothing() -> None:
    assert ndcg(["a", "b"], {"a": -1, "b": 1}, k=10) == pytest.approx(1 / math.log2(3))


@pytest.mark.parametrize("name", MEASURES)
def test_a_query_without_relevant_documents_scores_nothing(name: str) -> None:
    assert MEASURES[name](["a"], {"a": 0}) == 0.0


@given(rankings, gains)
def test_every_measure_lies_between_nothing_and_one(ranking: Sequence[str], judged: Mapping[str, int]) -> None:
    values = [rate(ranking, judged) for rate in MEASURES.values()]

    assert all(0.0 <= value <= 1.0 for value in values)


@given(gains, st.integers(1, 9))
def test_the_best_order_has_the_whole_ndcg(judged: Mapping[str, int], depth: int) -> None:
    best = sorted(judged, key=lambda one: (-judged[one], one))

    found = ndcg(best, judged, k=depth)

    assert found == (1.0 if any(judged.values()) else 0.0)


def test_a_judged_query_that_was_not_answered_scores_nothing() -> None:
    found = score({"q1": ["a"]}, {"q1": {"a": 1}, "q2": {"a": 1}})

    assert found["recall@5"] == {"q1": 1.0, "q2": 0.0}
    assert means(found)["recall@5"] == 0.5


def test_an_answer_to_a_query_nobody_judged_is_passed_over() -> None:
    found = score({"q1": ["a"], "other": ["a"]}, {"q1": {"a": 1}})

    assert set(found["ndcg@10"]) == {"q1"}


@pytest.mark.parametrize("name", ["ndcg", "ndcg@0", "ndcg@-1", "ndcg@ten", "fame@10", "@10", ""])
def test_an_unknown_measure_is_refused_with_a_hint(name: str) -> None:
    with pytest.raises(QueryError, match="unknown measure") as refused:
        measure(name)

    assert "ndcg@10" in refused.value.hint


def test_the_mean_does_not_depend_on_the_order() -> None:
    values = [0.1] * 10 + [1e16, -1e16]

    assert mean(values) == mean(values[::-1]) == pytest.approx(1 / 12)


def test_turns_fold_into_their_sessions_at_their_best_place() -> None:
    sessions = {"t1": "s1", "t2": "s1", "t3": "s2"}

    assert collapse(["t3", "t1", "t2", "t9"], sessions) == ("s2", "s1", "t9")
    assert collapse_gains({"t1": 1, "t2": 3, "t3": 0, "t9": 1}, sessions) == {"s1": 3, "s2": 0, "t9": 1}
