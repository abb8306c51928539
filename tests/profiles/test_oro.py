"""Oro to the digit: each score is worked out from the formulas of the document.

Words alone: min(1, BM25 / 25) x confidence x 0.5 ^ (days / 30), from 0.05 on.
With vectors: (1 / (60 + rank by words) + 1 / (60 + rank by meaning)) x confidence x decay, from 0.01 on.
"""

import pytest
from seedkit import MADE_UP, Bench, exactly, factors, idf, ids, leaning, scores, shown_and_own_cosine

import recollect

# --- words alone ------------------------------------------------------------------------------


@pytest.mark.req("O-02", "O-03", "O-04", "O-05")
def test_a_keyword_score_is_a_25th_of_bm25_times_confidence_times_decay(bench: Bench) -> None:
    bench.open("none")
    (usual,) = bench.add("copper kettle handle")
    (aged,) = bench.add("amber lantern cord", confidence=0.9, days=15)
    bench.fill(58, words=3)

    reply = bench.ask("copper amber", mode="keyword")

    assert scores(reply) == {
        usual: exactly(idf(60, 1) / 25 * 0.8 * 1.0),
        aged: exactly(idf(60, 1) / 25 * 0.9 * 0.5 ** (15 / 30)),
    }


@pytest.mark.req("O-02")
def test_a_25th_of_bm25_counts_as_one_at_most(bench: Bench) -> None:
    bench.open("none")
    words = "copper kettle amber lantern silver spoon walnut table"
    bench.add(words, confidence=0.7)
    bench.fill(59, words=8)

    (hit,) = bench.ask(words, mode="keyword").hits

    assert 8 * idf(60, 1) / 25 > 1
    assert hit.bm25_score == exactly(8 * idf(60, 1))
    assert hit.score == exactly(1.0 * 0.7)


@pytest.mark.req("O-14")
def test_a_keyword_score_of_a_twentieth_is_the_least(bench: Bench) -> None:
    bench.open("none")
    share = idf(60, 1) / 25
    (kept,) = bench.add("copper kettle handle", confidence=0.0502 / share)
    bench.add("amber lantern cord", confidence=0.0498 / share)
    bench.fill(58, words=3)

    reply = bench.ask("copper amber", mode="keyword")

    assert scores(reply) == {kept: exactly(0.0502)}


@pytest.mark.req("O-01")
def test_any_significant_word_finds_and_a_small_one_does_not(bench: Bench) -> None:
    bench.open("none")
    (copper,) = bench.add("copper kettle handle")
    (amber,) = bench.add("amber lantern cord")
    bench.add("under the bridge")
    bench.fill(57, words=3)

    assert ids(bench.ask("the copper amber", mode="keyword")) == [copper, amber]


@pytest.mark.req("O-01")
def test_content_and_tags_are_searched_and_weigh_alike(bench: Bench) -> None:
    bench.open("none")
    (content,) = bench.add("copper kettle handle")
    (tagged,) = bench.add("amber lantern", tags=("copper",))
    bench.add("silver", title="copper", section="copper")
    bench.fill(57, words=3)

    reply = bench.ask("copper", mode="keyword")

    assert scores(reply) == {content: exactly(idf(60, 2) / 25 * 0.8), tagged: exactly(idf(60, 2) / 25 * 0.8)}


# --- both lists -------------------------------------------------------------------------------


@pytest.mark.req("O-07", "O-04")
def test_a_hybrid_score_is_the_sum_of_both_reciprocal_ranks_times_confidence_times_decay(bench: Bench) -> None:
    (meaning,) = bench.near({"a walk along the river": 0.9}, confidence=1.0, days=15)
    (both,) = bench.near({"copper kettle": 0.8}, confidence=0.5)
    (words,) = bench.add("copper copper", confidence=0.9, days=6)

    reply = bench.ask("copper")

    assert scores(reply) == {
        both: exactly((1 / (60 + 2) + 1 / (60 + 2)) * 0.5),
        words: exactly(1 / (60 + 1) * 0.9 * 0.5 ** (6 / 30)),
        meaning: exactly(1 / (60 + 1) * 1.0 * 0.5 ** (15 / 30)),
    }


@pytest.mark.req("O-14")
def test_a_hybrid_score_of_a_hundredth_is_the_least(bench: Bench) -> None:
    bench.near({"a walk along the river": 0.9}, confidence=0.00995 * (60 + 1))
    (kept,) = bench.add("copper kettle", confidence=0.01005 * (60 + 1))

    reply = bench.ask("copper")

    assert scores(reply) == {kept: exactly(0.01005)}


@pytest.mark.req("O-07")
def test_each_list_brings_three_times_as_many_as_are_shown(bench: Bench) -> None:
    texts = {"a walk along the river": 0.9, "a garden bench": 0.8, "amber lamp": 0.7, "copper kettle": 0.6}
    first, _, third, _ = bench.near(texts)
    bench.add("amber amber amber lantern", "amber amber candle")
    bench.add("copper copper copper copper spoon", "copper copper copper ladle", "copper copper pan")

    third_in_both, fourth_in_both = bench.ask("amber", limit=1), bench.ask("copper", limit=1)

    assert ids(third_in_both) == [third]
    assert ids(fourth_in_both) == [first]


@pytest.mark.req("O-07")
def test_a_semantic_score_is_the_cosine_times_confidence_times_decay_however_small(bench: Bench) -> None:
    (small,) = bench.near({"a walk along the river": 0.01}, confidence=0.5, days=15)

    assert scores(bench.ask("copper", mode="semantic")) == {small: exactly(0.01 * 0.5 * 0.5 ** (15 / 30))}


@pytest.mark.req("C-30")
def test_the_cosine_is_one_for_the_same_zero_for_a_right_angle_or_no_direction_and_minus_one_for_the_opposite(
    bench: Bench,
) -> None:
    same, right, opposite = bench.near({"alike": 1.0, "at a right angle": 0.0, "opposed": -1.0})
    nowhere = bench.db.add("in no direction").id

    reply = bench.ask("copper")

    assert {hit.id: (hit.vector_rank, hit.semantic_score) for hit in reply.hits} == {
        same: (1, exactly(1.0)),
        right: (2, 0.0),
        nowhere: (3, 0.0),
        opposite: (4, exactly(-1.0)),
    }


@pytest.mark.req("C-30")
def test_a_vector_is_compared_with_those_of_its_own_length_only(bench: Bench) -> None:
    (longer,) = bench.near({"a walk along the river": 0.6})
    bench.close()
    bench.open("hashing")

    reply = bench.ask("along the river", mode="semantic")

    assert {hit.id: hit.semantic_score for hit in reply.hits} == {longer: exactly(0.6)}


# --- factors ----------------------------------------------------------------------------------


@pytest.mark.req("O-03", "O-18")
def test_confidence_decay_type_and_lens_weigh_a_score_and_every_type_counts_as_one(bench: Bench) -> None:
    bench.add("copper kettle", days=3, confidence=0.9, type="decision")
    bench.add("amber lantern", days=3, confidence=0.9, type="gotcha")
    lens = bench.keep_lens({"type:decision": 1.5})

    (decision,), (gotcha,) = bench.ask("copper").hits, bench.ask("amber").hits
    (seen,) = bench.ask("copper", lens=lens).hits

    assert factors(decision) == factors(gotcha) == [0.9, exactly(0.5**0.1), 1.0, 1.0]
    assert decision.factors["type_weight"] == gotcha.factors["type_weight"] == 1.0
    assert seen.score == exactly(1 / (60 + 1) * 0.9 * 0.5**0.1 * 1.5)


@pytest.mark.req("O-17")
def test_a_pinned_memory_does_not_decay(bench: Bench) -> None:
    (pinned,) = bench.add("copper kettle", days=90, pinned=True)

    assert scores(bench.ask("copper")) == {pinned: exactly(1 / (60 + 1) * 0.8)}


# --- how many, and what is left out -----------------------------------------------------------


@pytest.mark.req("O-11")
@pytest.mark.parametrize(("asked", "shown"), [(None, 5), (7, 7), (2000, 1000)])
def test_five_are_shown_unless_told_and_a_blank_query_lists_the_newest(
    crowd: recollect.Recollection, profile: str, asked: int | None, shown: int
) -> None:
    reply = crowd.search("  ", profile=profile, limit=asked)

    assert ids(reply) == list(range(1001, 1001 - shown, -1))


@pytest.mark.req("O-10")
def test_a_hit_that_shares_more_than_four_fifths_of_its_word_runs_is_left_out(bench: Bench) -> None:
    short, long, others = MADE_UP[:8], MADE_UP[100:209], MADE_UP[300:325]
    four_fifths = bench.add(" ".join((*short, "copper")), " ".join((*short, "amber")))
    (more,) = bench.add(" ".join((*long, *others)), external_id="one")
    bench.add(" ".join((*long, *others[::-1])), external_id="two")  # a record of its own is no duplicate on writing

    assert (9 - 4 - 1) / (9 - 4) == 0.8 < (109 - 4) / (109 + 25 - 4) < 0.808
    assert ids(bench.ask(short[0])) == four_fifths
    assert ids(bench.ask(long[0])) == [more]


# --- duplicates on writing --------------------------------------------------------------------


@pytest.mark.req("O-08")
@pytest.mark.parametrize(("held", "decision"), [(50, "distinct"), (51, "restates")])
def test_a_new_memory_is_a_duplicate_when_its_words_find_one_with_more_than_seven_tenths(
    bench: Bench, held: int, decision: str
) -> None:
    bench.open("none")
    (old,) = bench.add("copper kettle amber lantern silver")
    bench.fill(held - 1, words=5)

    kept = bench.db.add("silver lantern amber kettle copper", confidence=0.9)

    assert 5 * idf(50, 1) / 25 < 0.7 < 5 * idf(51, 1) / 25
    assert kept.decision == decision
    assert bench.db.show(old).memory.confidence == (0.9 if decision == "restates" else 0.8)
    assert len(bench.db.show(old).events) == (2 if decision == "restates" else 1)


@pytest.mark.req("O-09")
@pytest.mark.parametrize(("cosine", "decision"), [(0.8499, "distinct"), (0.8501, "restates")])
def test_a_new_memory_is_a_duplicate_when_its_vector_is_nearer_than_85_hundredths(
    bench: Bench, cosine: float, decision: str
) -> None:
    bench.near({"a walk along the river": 1.0})
    bench.vectors["strolling beside the water"] = leaning(cosine, 9)

    kept = bench.db.add("strolling beside the water")

    assert kept.decision == decision


# --- near-repeats, however they are written ---------------------------------------------------


@pytest.mark.req("O-10")
@pytest.mark.parametrize(
    "again",
    [
        "always rotate the signing keys, before the next release; goes out: to customers!",
        "Always Rotate The Signing Keys Before The Next Release Goes Out To Customers",
    ],
    ids=["punctuation", "capitals"],
)
def test_a_near_repeat_is_left_out_whatever_its_punctuation_and_capitals(bench: Bench, again: str) -> None:
    (first,) = bench.add("always rotate the signing keys before the next release goes out to customers")
    bench.add(again)

    assert ids(bench.ask("signing")) == [first]


def test_cosines_are_those_of_the_model(profile: str) -> None:
    shown, own = shown_and_own_cosine(profile)

    assert shown == exactly(own)
