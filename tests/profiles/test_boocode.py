"""boocode to the digit: each score is worked out from the formulas of the document and of the tables behind it.

0.7 x cosine + 0.3 x words; words are 0.3 + 0.69 x / (1 + x) of BM25, or 0.3 + 0.15 for each term found by LIKE, at
most 0.85. A file named by its day fades by exp(-ln(2) / 30 x days). What scores under 0.1 is left out.
"""

from datetime import timedelta
from math import exp, log

import pytest
from seedkit import NOW, Bench, exactly, factors, idf, ids, scores, shown_and_own_cosine

import recollect


def bounded(bm25: float) -> float:
    """Return the share that BM25 has, in [0, 1)."""
    return 0.3 + 0.69 * bm25 / (1 + bm25)


# --- both lists -------------------------------------------------------------------------------


@pytest.mark.req("B-03", "B-06")
def test_a_hybrid_score_is_seven_tenths_of_the_cosine_and_three_tenths_of_the_words(bench: Bench) -> None:
    meaning, both = bench.near({"rivers run seaward": 0.9, "copper kettle handle": 0.8})
    against, slight = bench.near({"copper spoon engraving": -0.005, "copper ladle rack": 0.005})
    (words,) = bench.add("copper lamp cord")
    bench.fill(15, words=3)

    reply = bench.ask("copper")

    assert scores(reply) == {
        both: exactly(0.7 * 0.8 + 0.3 * bounded(idf(20, 4))),
        meaning: exactly(0.7 * 0.9),
        slight: exactly(0.7 * 0.005 + 0.3 * bounded(idf(20, 4))),
        words: exactly(0.3 * bounded(idf(20, 4))),
        against: exactly(0.3 * bounded(idf(20, 4))),
    }


@pytest.mark.req("B-03", "B-08")
def test_what_only_like_finds_has_three_tenths_of_a_hybrid_score_too(bench: Bench) -> None:
    both, _ = bench.near({"coppersmith": 0.2, "rivers": 0.1})
    (words,) = bench.add("coppersmiths and tinkers")

    reply = bench.ask("oppersmit inker")

    assert scores(reply) == {
        both: exactly(0.7 * 0.2 + 0.3 * (0.3 + 0.15 * 1)),
        words: exactly(0.3 * (0.3 + 0.15 * 2)),
    }


@pytest.mark.req("B-11")
def test_a_hybrid_score_of_a_tenth_is_the_least(bench: Bench) -> None:
    kept, _ = bench.near({"rivers": 0.1005 / 0.7, "gardens": 0.0995 / 0.7})

    assert scores(bench.ask("copper")) == {kept: exactly(0.1005)}


@pytest.mark.req("B-11")
def test_a_cosine_of_a_tenth_is_the_least(bench: Bench) -> None:
    kept, _ = bench.near({"rivers": 0.1005, "gardens": 0.0995})

    assert scores(bench.ask("copper", mode="semantic")) == {kept: exactly(0.1005)}


@pytest.mark.req("B-03")
def test_each_list_brings_twice_as_many_as_are_shown(bench: Bench) -> None:
    first, second, _ = bench.near({"a walk along the river": 0.9, "amber lamp": 0.89, "copper kettle": 0.88})
    bench.add("amber amber lantern", "copper copper copper spoon", "copper copper ladle")

    second_in_both, third_in_both = bench.ask("amber", limit=1), bench.ask("copper", limit=1)

    assert ids(second_in_both) == [second]
    assert ids(third_in_both) == [first]


# --- words in three tiers ---------------------------------------------------------------------


@pytest.mark.req("B-02", "B-06")
def test_any_word_finds_small_ones_too_and_bm25_becomes_a_score_below_one(bench: Bench) -> None:
    copper, small = bench.add("copper kettle handle", "under the bridge")
    bench.fill(18, words=3)

    reply = bench.ask("the copper", mode="keyword")

    assert scores(reply) == {copper: exactly(bounded(idf(20, 1))), small: exactly(bounded(idf(20, 1)))}


@pytest.mark.req("B-06")
def test_words_are_matched_as_they_are_written_and_in_the_content_only(bench: Bench) -> None:
    (same,) = bench.add("copper kettles handle")
    bench.add("copper kettle", title="kettles", tags=("kettles",), source="kettles.md", section="kettles")

    assert ids(bench.ask("kettles", mode="keyword")) == [same]


@pytest.mark.req("B-07")
def test_chinese_japanese_and_korean_runs_and_words_all_have_to_match(bench: Bench) -> None:
    (both,) = bench.add("这里介绍 vector 数据库和关键词检索")
    bench.add("vector kettle", "这里介绍关键词检索")

    reply = bench.ask("vector 关键词", mode="keyword")

    assert ids(reply) == [both]
    assert 0.3 <= reply.hits[0].score < 1


@pytest.mark.req("B-08")
def test_what_is_no_word_is_found_by_like_each_term_by_itself(bench: Bench) -> None:
    texts = (
        "coppersmith",
        "coppersmith tinkers",
        "coppersmith tinkers silversmith",
        "coppersmith tinkers silversmith glassblower",
        "coppersmith tinkers silversmith glassblower ropemaker",
    )
    one, two, three, four, five = bench.add(*texts)

    reply = bench.ask("oppersmit inker ilversmit lassblowe opemake", mode="keyword")

    assert scores(reply) == {
        one: exactly(0.3 + 0.15),
        two: exactly(0.3 + 0.15 * 2),
        three: exactly(0.3 + 0.15 * 3),
        four: exactly(0.85),
        five: exactly(0.85),
    }


@pytest.mark.req("B-08")
def test_like_takes_runs_of_one_character_and_words_of_three(bench: Bench) -> None:
    chinese, smith = bench.add("人工智能教程", "coppersmith")

    assert ids(bench.ask("智", mode="keyword")) == [chinese]
    assert ids(bench.ask("mit", mode="keyword")) == [smith]
    assert ids(bench.ask("mi", mode="keyword")) == []


# --- factors ----------------------------------------------------------------------------------


@pytest.mark.req("B-09", "B-10")
def test_a_file_named_by_its_day_fades_from_that_day_and_no_other_file_does(bench: Bench) -> None:
    (dated,) = bench.add("coppersmith one", source="memory/2026-04-19.md")
    (to_come,) = bench.add("coppersmith two", source="memory/2026-06-01.md")
    (undated,) = bench.add("coppersmith three", source="MEMORY.md", days=400)
    (pinned,) = bench.add("coppersmith four", source="memory/2026-01-01.md", pinned=True)

    reply = bench.ask("oppersmit", mode="keyword")

    assert scores(reply) == {
        undated: exactly(0.45),
        to_come: exactly(0.45),
        pinned: exactly(0.45),
        dated: exactly(0.45 * exp(-log(2) / 30 * 15.5)),
    }


@pytest.mark.req("B-09", "B-11")
def test_a_keyword_score_of_a_tenth_is_the_least(bench: Bench) -> None:
    (faded,) = bench.add("coppersmith", source="memory/2026-02-28.md")

    bench.now = NOW - timedelta(hours=12)
    before = bench.ask("oppersmit", mode="keyword")
    bench.now = NOW
    after = bench.ask("oppersmit", mode="keyword")

    assert 0.099 < 0.45 * 0.5 ** (65.5 / 30) < 0.1
    assert scores(before) == {faded: exactly(0.45 * 0.5 ** (65 / 30))}
    assert ids(after) == []


@pytest.mark.req("B-09", "C-26")
def test_the_day_of_the_file_and_the_lens_weigh_a_score_and_nothing_else_does(bench: Bench) -> None:
    bench.add("coppersmith", source="memory/2026-04-19.md", confidence=0.5, type="decision")
    lens = bench.keep_lens({"type:decision": 1.5})

    plain, seen = (bench.ask("oppersmit", mode="keyword", lens=each).hits[0] for each in (None, lens))

    assert factors(plain) == [exactly(0.5 ** (15.5 / 30)), 1.0]
    assert seen.score == exactly(plain.score * 1.5)


# --- how many ---------------------------------------------------------------------------------


@pytest.mark.req("B-11")
@pytest.mark.parametrize(("asked", "shown"), [(None, 10), (7, 7), (2000, 1000)])
def test_ten_are_shown_unless_told_and_a_blank_query_lists_the_newest(
    crowd: recollect.Recollection, profile: str, asked: int | None, shown: int
) -> None:
    reply = crowd.search("  ", profile=profile, limit=asked)

    assert ids(reply) == list(range(1001, 1001 - shown, -1))


def test_cosines_are_those_of_the_model(profile: str) -> None:
    shown, own = shown_and_own_cosine(profile)

    assert shown == exactly(own)
