"""NornicDB to the digit: each score is worked out from the formulas of the document.

RRF: weight / (60 + rank by words) + weight / (60 + rank by meaning), ranks from 1, from 0.01 on; the weights go by the
number of words asked. When one list is empty the other answers alone, with its own scores.
"""

import pytest
from seedkit import Bench, exactly, factors, idf, ids, scores, shown_and_own_cosine

import recollect

# --- both lists -------------------------------------------------------------------------------


@pytest.mark.req("N-02", "N-03", "N-04")
@pytest.mark.parametrize(
    ("query", "of_words", "of_meaning"),
    [
        ("copper", 1.5, 0.5),
        ("copper one", 1.5, 0.5),
        ("copper one two", 1.0, 1.0),
        ("copper one two three four", 1.0, 1.0),
        ("copper one two three four five", 0.5, 1.5),
        ("copper one two three four five six seven eight", 0.5, 1.5),
    ],
)
def test_a_hybrid_score_is_the_weighted_sum_of_both_reciprocal_ranks_and_the_weights_go_by_the_words(
    bench: Bench, query: str, of_words: float, of_meaning: float
) -> None:
    meaning, both = bench.near({"a walk along the river": 0.9, "copper kettle": 0.8})
    (words,) = bench.add("copper copper")

    reply = bench.ask(query)

    expected = {
        both: of_words / (60 + 2) + of_meaning / (60 + 2),
        words: of_words / (60 + 1),
        meaning: of_meaning / (60 + 1),
    }
    assert scores(reply) == {row: exactly(score) for row, score in expected.items() if score >= 0.01}
    assert (reply.hits[0].id, reply.hits[0].bm25_rank, reply.hits[0].vector_rank) == (both, 2, 2)


@pytest.mark.req("N-02", "N-05")
def test_a_score_of_a_hundredth_is_the_least(bench: Bench) -> None:
    bench.near({"a walk along the river": 0.9})
    found = bench.add(*(f"copper amber silver {'kettle ' * (number % 7)}number{number}" for number in range(41)))

    reply = bench.ask("copper amber silver", limit=50)

    by_words = {hit.bm25_rank: hit.score for hit in reply.hits if hit.id in found}
    assert by_words == {rank: exactly(1 / (60 + rank)) for rank in range(1, 41)}
    assert 0.0099 < 1 / (60 + 41) < 0.01 <= 1 / (60 + 40)


@pytest.mark.req("N-05")
@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
def test_a_similarity_of_a_half_is_the_least(bench: Bench, mode: str) -> None:
    near, _ = bench.near({"a walk along the river": 0.501, "a garden bench": 0.499})

    assert ids(bench.ask("copper one two", mode=mode)) == [near]


@pytest.mark.req("N-02")
def test_each_list_brings_twice_as_many_as_are_shown(bench: Bench) -> None:
    first, second, _ = bench.near({"a walk along the river": 0.9, "amber lamp": 0.8, "copper kettle": 0.7})
    bench.add("amber amber lantern", "copper copper copper spoon", "copper copper ladle")

    second_in_both, third_in_both = bench.ask("amber one two", limit=1), bench.ask("copper one two", limit=1)

    assert ids(second_in_both) == [second]
    assert ids(third_in_both) == [first]


@pytest.mark.req("N-06")
def test_where_no_word_matches_the_vectors_answer_alone_with_their_cosines(bench: Bench) -> None:
    nearer, near = bench.near({"a walk along the river": 0.9, "a garden bench": 0.6})

    assert scores(bench.ask("copper")) == {nearer: exactly(0.9), near: exactly(0.6)}


@pytest.mark.req("N-06")
def test_where_no_vector_is_near_the_words_answer_alone_with_bm25(bench: Bench) -> None:
    (found,) = bench.near({"copper kettle handle": 0.1})
    bench.fill(9, words=3)

    assert scores(bench.ask("copper")) == {found: exactly(idf(10, 1))}


@pytest.mark.req("N-05", "N-06")
def test_the_floor_of_fused_scores_cuts_no_bm25_of_a_word_that_stands_everywhere(bench: Bench) -> None:
    both = bench.near({"copper kettle handle": 0.1, "copper spoon": 0.1})

    reply = bench.ask("copper")

    assert max(hit.score for hit in reply.hits) < 0.01
    assert sorted(ids(reply)) == sorted(both)
    assert ids(bench.ask("copper", min_score=0.01)) == []


@pytest.mark.req("N-02", "C-26")
def test_the_lens_weighs_a_score_and_nothing_else_does(bench: Bench) -> None:
    bench.near({"copper kettle": 0.9}, days=400, confidence=0.5, type="decision")
    lens = bench.keep_lens({"type:decision": 1.5})

    (plain,), (seen,) = bench.ask("copper").hits, bench.ask("copper", lens=lens).hits

    assert factors(plain) == [1.0]
    assert seen.score == exactly((1.5 / (60 + 1) + 0.5 / (60 + 1)) * 1.5)


# --- words ------------------------------------------------------------------------------------


@pytest.mark.req("N-01")
def test_content_title_name_path_and_the_other_properties_are_searched_as_one_text(bench: Bench) -> None:
    bench.add("copper kettle handle")
    bench.add("amber lantern", title="copper")
    bench.add("silver spoon", metadata={"name": "copper"})
    bench.add("walnut table", metadata={"path": "copper"})
    bench.add("linen cloth", metadata={"description": "copper"})
    bench.add("woollen sock", metadata={"workerRole": "copper"})
    bench.add("oaken chair", metadata={"requirements": "copper"})
    bench.add("leather boot", metadata={"text": "copper"})
    bench.add("marble bust", tags=("copper",))
    bench.add("ivory key", section="copper")
    bench.fill(20, words=3)

    reply = bench.ask("copper", mode="keyword")

    assert scores(reply) == {row: exactly(idf(30, 8)) for row in range(1, 9)}


@pytest.mark.req("N-02")
def test_any_significant_word_finds_and_a_small_one_does_not(bench: Bench) -> None:
    (copper,) = bench.add("copper kettle")
    (amber,) = bench.add("amber lantern")
    bench.add("under the bridge")

    assert ids(bench.ask("the copper amber", mode="keyword")) == [copper, amber]


# --- how many ---------------------------------------------------------------------------------


@pytest.mark.req("N-05")
@pytest.mark.parametrize(("asked", "shown"), [(None, 50), (7, 7), (2000, 1000)])
def test_fifty_are_shown_unless_told_and_a_blank_query_lists_the_newest(
    crowd: recollect.Recollection, profile: str, asked: int | None, shown: int
) -> None:
    reply = crowd.search("  ", profile=profile, limit=asked)

    assert ids(reply) == list(range(1001, 1001 - shown, -1))


def test_cosines_are_those_of_the_model(profile: str) -> None:
    shown, own = shown_and_own_cosine(profile)

    assert shown == exactly(own)
