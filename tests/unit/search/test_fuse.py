"""Fusion and normalization, with the seeds' own numbers (research cases 1 to 21)."""

import itertools
import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from recollect.profile import BUILT_IN, Fuse, ReciprocalRanks, WeightedSum, load_profile
from recollect.records import IndexHit
from recollect.search.candidates import Candidate
from recollect.search.fuse import (
    NORMALIZERS,
    by_coverage,
    divide,
    list_weights,
    max_norm,
    normalize,
    only_ranking,
    order_alone,
    reciprocal_rank_fusion,
    saturate,
    shifted_saturate,
    term_count,
    weighted_sum,
)
from recollect.search.state import Ranking

ENGRAM = load_profile("engram").fuse
PLAIN = ReciprocalRanks(k=60.0, weights={"words": 1.0, "vector": 1.0})


def ranking(name: str, *ids: int, kind: str = "") -> Ranking:
    return Ranking(name=name, kind=kind, hits=tuple(IndexHit(id=row, score=1.0 / at) for at, row in enumerate(ids, 1)))


def fuse(rankings: Sequence[Ranking], rules: Fuse) -> Sequence[Candidate]:
    if isinstance(rules, WeightedSum):
        return weighted_sum(rankings, rules)
    return reciprocal_rank_fusion(rankings, rules, words=3)


def fused(rules: Fuse, *rankings: Ranking) -> dict[int, float]:
    return {each.id: each.fused for each in fuse(rankings, rules)}


@pytest.mark.case(1)
@pytest.mark.req("E-06")
def test_saturation_maps_any_size_below_one() -> None:
    assert [saturate(score) for score in (0, 1, -1, 0.5, 99)] == pytest.approx([0, 0.5, 0.5, 1 / 3, 0.99], abs=1e-12)


@pytest.mark.req("E-06")
@given(st.floats(allow_nan=True, allow_infinity=True))
def test_saturated_values_are_never_negative_and_never_one(score: float) -> None:
    assert 0.0 <= saturate(score) < 1.0


@pytest.mark.case(2)
@pytest.mark.req("E-11")
@pytest.mark.parametrize("rules", [ENGRAM, PLAIN, load_profile("default").fuse])
def test_nothing_fused_is_nothing(rules: Fuse) -> None:
    assert fuse([], rules) == ()
    assert fuse([ranking("words")], rules) == ()


@pytest.mark.case(3)
@pytest.mark.req("E-08")
def test_one_engram_list_gives_double_weight_and_a_bonus() -> None:
    assert fused(ENGRAM, ranking("words", 1, 2)) == pytest.approx({1: 2 / 61 + 0.05, 2: 2 / 62 + 0.02})


@pytest.mark.case(4)
@pytest.mark.req("E-08")
def test_a_memory_in_both_lists_adds_up() -> None:
    scores = fused(ENGRAM, ranking("words", 1, 2), ranking("vector", 1, 3))

    assert scores == pytest.approx({1: 0.165574, 2: 0.052258, 3: 0.052258}, abs=1e-6)


@pytest.mark.case(5)
@pytest.mark.req("E-08")
def test_the_first_two_lists_count_double_and_the_others_once_whatever_they_are() -> None:
    words, vector = ranking("words", 1), ranking("vector", 2)
    variant, another = (ranking(name, 1, kind="expansion") for name in ("expansion 1", "expansion 2"))

    scores = fused(ENGRAM, words, vector, variant)
    moved = fused(ENGRAM, words, variant, vector)
    without_vectors = fused(ENGRAM, words, variant, another)
    weighed = fused(ENGRAM, words, vector, replace(variant, weight=0.5))

    assert scores == weighed == pytest.approx({1: 0.149180, 2: 0.082787}, abs=1e-6)
    assert moved == pytest.approx({1: 2 * 0.082787, 2: 0.066393}, abs=1e-6)
    assert without_vectors == pytest.approx({1: 2 * 0.082787 + 0.066393}, abs=1e-6)


@pytest.mark.req("E-08")
def test_an_empty_list_keeps_its_place() -> None:
    lists = [ranking("words", 1), ranking("vector"), ranking("expansion 1", 1, kind="expansion")]

    assert fused(ENGRAM, *lists) == pytest.approx({1: 0.082787 + 0.066393}, abs=1e-6)


@pytest.mark.case(19)
def test_where_lists_weigh_by_their_kind_an_expansion_counts_single_wherever_it_stands() -> None:
    rules = ReciprocalRanks(weights={"words": 2.0, "vector": 2.0, "expansion": 1.0}, rank_bonus=(0.05, 0.02, 0.02))
    lists = [ranking("words", 1), ranking("vector", 2), ranking("words of a variant", 1, kind="expansion")]

    scores, moved = fused(rules, *lists), fused(rules, lists[0], lists[2], lists[1])

    assert scores[1] == pytest.approx(0.149180, abs=1e-6)
    assert moved == pytest.approx(scores)


@pytest.mark.case(7)
def test_four_items_of_one_list_fall_strictly() -> None:
    scores = list(fused(ENGRAM, ranking("words", 1, 2, 3, 4)).values())

    assert scores == pytest.approx([0.082787, 0.052258, 0.051746, 0.031250], abs=1e-6)


@pytest.mark.case(8)
@pytest.mark.req("O-07", "N-02")
@pytest.mark.parametrize(
    ("k", "words", "vector", "expected"),
    [
        (60.0, 1, 1, 2 / 61),
        (60.0, 1, 0, 1 / 61),
        (60.0, 0, 3, 1 / 63),
        (0.0, 1, 1, 2.0),
        (60.0, 100, 200, 1 / 160 + 1 / 260),
    ],
)
def test_a_missing_rank_adds_nothing(k: float, words: int, vector: int, expected: float) -> None:
    rules = ReciprocalRanks(k=k, weights=PLAIN.weights)
    lists = [ranking(name, *range(-1, -rank, -1), 7) for name, rank in (("words", words), ("vector", vector)) if rank]

    assert fused(rules, *lists)[7] == pytest.approx(expected)


@pytest.mark.case(9)
def test_equal_scores_are_ordered_by_id() -> None:
    found = fuse([ranking("words", 1, 2, 3), ranking("vector", 2, 1, 4)], PLAIN)

    assert [each.id for each in found] == [1, 2, 3, 4]


@pytest.mark.case(10)
def test_lists_without_overlap_are_both_there() -> None:
    scores = fused(PLAIN, ranking("words", 10, 11), ranking("vector", 20))

    assert scores[10] > scores[11]
    assert scores[20] > scores[11]


@pytest.mark.case(11)
@pytest.mark.req("C-15")
def test_a_small_k_favours_one_first_rank_and_a_large_k_two_middling_ones() -> None:
    words = ranking("words", 1, *range(-1, -9, -1), 2)
    vector = ranking("vector", *range(-11, -20, -1), 2, *range(-20, -109, -1), 1)

    near = fused(ReciprocalRanks(k=1.0, weights=PLAIN.weights), words, vector)
    far = fused(PLAIN, words, vector)

    assert (near[1], near[2]) == pytest.approx((0.5099, 0.1818), abs=1e-4)
    assert (far[2], far[1]) == pytest.approx((0.02857, 0.02264), abs=1e-4)


@pytest.mark.case(12)
@given(
    st.permutations(["words", "vector", "expansion"]), st.lists(st.lists(st.integers(1, 9), unique=True), max_size=3)
)
def test_where_lists_weigh_by_their_kind_their_order_does_not_matter(names: list[str], lists: list[list[int]]) -> None:
    rankings = [ranking(name, *ids) for name, ids in zip(names, lists, strict=False)]

    forward, backward = fuse(rankings, PLAIN), fuse(rankings[::-1], PLAIN)

    assert [(each.id, each.fused) for each in forward] == [(each.id, pytest.approx(each.fused)) for each in backward]


@pytest.mark.case(13)
@pytest.mark.req("N-04")
def test_a_candidate_knows_its_rank_in_each_list() -> None:
    best = fuse([ranking("vector", 1, 2), ranking("words", 2, 3)], PLAIN)[0]

    assert best.id == 2
    assert {share.ranking: share.rank for share in best.shares} == {"vector": 2, "words": 1}


@pytest.mark.case(14)
@pytest.mark.req("N-02")
def test_nornicdbs_worked_example() -> None:
    scores = fused(PLAIN, ranking("vector", 1, 2, 4, 3), ranking("words", 3, 1, 9, 2))

    assert {row: scores[row] for row in (1, 3, 2, 4)} == pytest.approx(
        {1: 0.032522, 3: 1 / 64 + 1 / 61, 2: 1 / 62 + 1 / 64, 4: 0.015873}, abs=1e-6
    )


@pytest.mark.case(15)
@pytest.mark.req("N-03")
@pytest.mark.parametrize(
    ("words", "vector", "keyword"),
    [(1, 0.5, 1.5), (2, 0.5, 1.5), (3, 1.0, 1.0), (5, 1.0, 1.0), (6, 1.5, 0.5), (9, 1.5, 0.5)],
)
def test_nornicdbs_weights_depend_on_the_number_of_words(words: int, vector: float, keyword: float) -> None:
    rules = load_profile("nornicdb").fuse
    assert isinstance(rules, ReciprocalRanks)

    assert list_weights([ranking("vector"), ranking("words")], rules, words=words) == [vector, keyword]


@pytest.mark.case(17)
@pytest.mark.req("B-03")
def test_boocodes_merge_of_one_sided_hits() -> None:
    rules = WeightedSum(weights={"words": 0.3, "vector": 0.7})
    words, vector = (
        Ranking(name="words", hits=(IndexHit(id=2, score=1.0),)),
        Ranking(name="vector", hits=(IndexHit(id=1, score=0.9),)),
    )

    assert fused(rules, words, vector) == pytest.approx({1: 0.63, 2: 0.30})


@pytest.mark.case(18)
@pytest.mark.req("C-17", "E-09")
def test_a_memory_of_both_lists_is_one_candidate_with_the_sum() -> None:
    rules = WeightedSum(weights={"words": 0.3, "vector": 0.7})
    lists = [Ranking(name=name, hits=(IndexHit(id=1, score=0.5),)) for name in ("words", "vector")]

    assert fused(rules, *lists) == pytest.approx({1: 0.5})


@pytest.mark.case(20)
def test_the_first_ranks_get_a_bonus_and_the_shares_add_up() -> None:
    rules = ReciprocalRanks(k=60.0, weights={"words": 1.0}, rank_bonus=(0.05, 0.02, 0.02))

    found = fuse([ranking("words", 1, 2, 3, 4)], rules)

    bonuses = [each.shares[0].points - 1 / (60 + rank) for rank, each in enumerate(found, start=1)]
    assert bonuses == pytest.approx([0.05, 0.02, 0.02, 0.0])


@pytest.mark.req("O-22")
def test_the_divisor_is_a_setting() -> None:
    rules = ReciprocalRanks(normalize={"words": "divide"}, divisor=50.0)

    assert normalize("words", [25.0, 60.0], rules) == [0.5, 1.0]


@pytest.mark.req("B-08")
def test_counts_of_substrings_have_their_normalizer_in_every_profile() -> None:
    assert all(normalize("text", [1, 2], load_profile(name).fuse) == pytest.approx([0.45, 0.6]) for name in BUILT_IN)


@pytest.mark.req("O-02")
@pytest.mark.parametrize(("raw", "expected"), [(0.0, 0.0), (2.5, 0.1), (25.0, 1.0), (99.0, 1.0), (-3.0, 0.0)])
def test_oros_normalizer_divides_by_25_and_clips(raw: float, expected: float) -> None:
    assert divide(raw, 25.0) == pytest.approx(expected)


@pytest.mark.case(71)
@pytest.mark.req("B-08")
def test_the_like_tier_counts_terms_up_to_a_cap() -> None:
    assert [term_count(count) for count in (1, 2, 3, 4)] == pytest.approx([0.45, 0.60, 0.75, 0.85])


@pytest.mark.req("B-06")
@given(st.floats(min_value=0.0, allow_infinity=True, allow_nan=False))
def test_boocodes_keyword_scores_lie_in_zero_to_one(score: float) -> None:
    assert 0.0 <= shifted_saturate(score) < 1.0


def test_the_best_score_is_normalized_to_one() -> None:
    assert max_norm([4.0, 1.0]) == [1.0, 0.25]
    assert max_norm([]) == []


@pytest.mark.parametrize("name", sorted(NORMALIZERS))
@given(st.lists(st.floats(min_value=0.0, max_value=1e6)))
def test_a_normalizer_never_changes_the_order(name: str, scores: list[float]) -> None:
    mapped = NORMALIZERS[name](scores, 25.0)

    order = sorted(range(len(scores)), key=lambda at: scores[at])
    assert all(mapped[a] <= mapped[b] + 1e-12 for a, b in itertools.pairwise(order))


def test_cross_scores_count_for_candidates_of_the_other_list() -> None:
    rules = WeightedSum(weights={"words": 0.5, "vector": 0.5})
    words = Ranking(name="words", hits=(IndexHit(id=1, score=1.0),))
    vector = Ranking(name="vector", hits=(IndexHit(id=2, score=0.8),), by_id={1: IndexHit(id=1, score=0.6)})

    found = fuse([words, vector], rules)

    assert [(each.id, round(each.fused, 3)) for each in found] == [(1, 0.8), (2, 0.4)]
    assert [share.rank for share in found[0].shares] == [1, None]


@pytest.mark.req("N-06")
def test_nornicdb_falls_back_to_the_list_that_has_anything() -> None:
    empty, full = Ranking(name="words", hits=()), Ranking(name="vector", hits=(IndexHit(id=1, score=0.9),))

    rules = load_profile("nornicdb").fuse

    assert only_ranking([empty, full], rules) is full
    assert [each.fused for each in order_alone(full, rules)] == pytest.approx([0.9])
    assert only_ranking([empty, full], PLAIN) is None


def test_a_list_alone_keeps_its_own_normalized_scores() -> None:
    (best,) = order_alone(Ranking(name="words", hits=(IndexHit(id=1, score=5.0),)), load_profile("oro").fuse)

    assert best.fused == pytest.approx(0.2)


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=4),
    st.dictionaries(st.sampled_from(["decay", "confidence", "lens"]), st.floats(0.1, 1.5)),
)
def test_a_score_is_the_sum_of_its_shares_times_its_factors(points: list[float], factors: dict[str, float]) -> None:
    shares = tuple(_share(number, each) for number, each in enumerate(points))

    score = Candidate(id=1, shares=shares, factors=factors).score

    assert score == pytest.approx(math.fsum(points) * math.prod(factors.values()))


def _share(number: int, points: float):  # noqa: ANN202
    from recollect.replies import Share  # noqa: PLC0415

    return Share(ranking=str(number), rank=1, points=points)


@pytest.mark.parametrize(
    ("coverage", "length", "strength"),
    [(1.0, 1, 1.0), (0.5, 2, 0.25), (0.5, 4, 1.0), (0.25, 4, 0.25), (0.2, 10, 1.0), (0.0, 3, 0.0)],
)
def test_a_hit_by_words_counts_by_how_much_of_the_question_it_holds(
    coverage: float, length: float, strength: float
) -> None:
    words = Ranking(name="words", hits=(IndexHit(id=1, score=9.0, coverage=coverage),))

    scaled = by_coverage(words, WeightedSum(full_words=2.0), length=length)

    assert scaled.strengths == {1: pytest.approx(strength)}


def test_the_best_match_on_one_stray_word_loses_to_what_is_near() -> None:
    rules = WeightedSum(weights={"words": 0.3, "vector": 0.7}, normalize={"words": "max_norm"}, full_words=2.0)
    words = Ranking(name="words", hits=(IndexHit(id=1, score=4.0, coverage=0.1),))
    near = Ranking(name="vector", hits=(IndexHit(id=2, score=0.5), IndexHit(id=1, score=0.2)))

    first, second = weighted_sum([by_coverage(words, rules, length=6), near], rules)

    assert (first.id, second.id) == (2, 1)


def test_vectors_count_as_they_are() -> None:
    near = ranking("vector", 1, 2)

    assert by_coverage(near, WeightedSum(full_words=2.0), length=6) is near
