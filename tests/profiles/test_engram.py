"""engram to the digit: each score is worked out from the formulas of the document.

RRF: weight / (60 + rank) + bonus, the first two lists weighing 2 and the others 1, the bonus 0.05 for the first rank
and 0.02 for the second and the third. BM25 x is read as x / (1 + x); from 0.85 on, 0.15 ahead, it answers alone.
"""

from typing import Any

import pytest
from seedkit import Bench, exactly, idf, ids, leaning, shown_and_own_cosine

import recollect


def squashed(bm25: float) -> float:
    """Return |x| / (1 + |x|)."""
    return bm25 / (1 + bm25)


def fused(reply: recollect.Reply) -> dict[int, float]:
    """Return what the lists gave together, before any factor."""
    return {hit.id: hit.fused_score for hit in reply.hits}


# --- both lists -------------------------------------------------------------------------------


@pytest.mark.req("E-08")
def test_words_and_vectors_weigh_two_and_the_first_three_ranks_have_a_bonus(bench: Bench) -> None:
    texts = {"rivers run": 0.9, "a bench": 0.8, "copper kettle": 0.7, "a garden": -0.9}
    first, second, third, fourth = bench.near(texts)
    (words,) = bench.add("copper copper")

    reply = bench.ask("copper")

    assert fused(reply) == {
        third: exactly(2 / (60 + 2) + 0.02 + 2 / (60 + 3) + 0.02),
        words: exactly(2 / (60 + 1) + 0.05),
        first: exactly(2 / (60 + 1) + 0.05),
        second: exactly(2 / (60 + 2) + 0.02),
        fourth: exactly(2 / (60 + 4)),
    }
    assert ids(reply) == [third, first, words, second, fourth]


def test_a_search_by_meaning_alone_drops_memories_that_point_away(bench: Bench) -> None:
    near, _ = bench.near({"rivers run": 0.9, "a garden": -0.9})

    assert ids(bench.ask("copper", mode="semantic")) == [near]


@pytest.mark.req("E-08")
def test_each_list_brings_a_hundred(bench: Bench) -> None:
    found = bench.near({f"copper number{number}": 0.5 - number / 1000 for number in range(101)})

    long, short = bench.ask("copper", limit=100), bench.ask("copper", limit=1)

    assert ids(long) == found[:100]
    assert long.hits[99].fused_score == exactly(2 / (60 + 100) + 2 / (60 + 100))
    assert (long.total, short.total) == (100, 100)


@pytest.mark.req("E-07", "E-06")
@pytest.mark.parametrize(("held", "strong"), [(25, False), (26, False), (27, True)])
def test_a_lone_word_match_of_85_hundredths_skips_the_vectors(bench: Bench, *, held: int, strong: bool) -> None:
    (meaning,) = bench.near({"rivers run": 0.9})
    (words,) = bench.add("copper kettle")
    bench.fill(held - 2, words=2)

    reply = bench.ask("copper kettle")

    assert 0.845 < squashed(2 * idf(25, 1)) < squashed(2 * idf(26, 1)) < 0.85 < squashed(2 * idf(27, 1)) < 0.8525
    if strong:
        assert fused(reply) == {words: exactly(squashed(2 * idf(27, 1)))}
    else:
        assert fused(reply) == {meaning: exactly(2 / 61 + 0.05), words: exactly(2 / 61 + 0.05)}


@pytest.mark.req("E-07")
@pytest.mark.parametrize(("held", "strong"), [(67, True), (68, False)])
def test_the_best_word_match_has_to_be_15_hundredths_ahead(bench: Bench, *, held: int, strong: bool) -> None:
    (meaning,) = bench.near({"rivers run seaward": 0.9})
    best, second = bench.add("copper kettle handle", "copper lantern cord")
    bench.fill(held - 3, words=3)

    reply = bench.ask("copper kettle handle")

    ahead = {rows: squashed(idf(rows, 2) + 2 * idf(rows, 1)) - squashed(idf(rows, 2)) for rows in (67, 68)}
    assert 0.1485 < ahead[68] < 0.15 < ahead[67] < 0.1515
    assert ids(reply) == ([best, second] if strong else [meaning, best, second])


@pytest.mark.req("E-07")
def test_who_says_what_they_are_after_gets_the_vectors_too(bench: Bench) -> None:
    (meaning,) = bench.near({"rivers run": 0.9})
    (words,) = bench.add("copper kettle")
    bench.fill(60, words=2)

    assert ids(bench.ask("copper kettle")) == [words]
    assert ids(bench.ask("copper kettle", intent="cooking")) == [meaning, words]


# --- words alone ------------------------------------------------------------------------------


@pytest.mark.req("E-06")
def test_bm25_is_folded_below_one_and_content_title_tags_and_section_are_searched_as_one_text(bench: Bench) -> None:
    bench.add("copper kettle handle")
    bench.add("amber lantern", title="copper")
    bench.add("silver spoon", tags=("copper",))
    bench.add("walnut table", section="copper")
    bench.add("linen cloth", metadata={"path": "copper"})
    bench.add("woollen sock", metadata={"description": "copper"})
    bench.fill(14, words=3)

    reply = bench.ask("copper", mode="keyword")

    assert fused(reply) == {row: exactly(squashed(idf(20, 4))) for row in range(1, 5)}


@pytest.mark.req("E-12")
def test_any_significant_word_finds_and_a_small_one_does_not(bench: Bench) -> None:
    (copper,) = bench.add("copper kettle")
    (amber,) = bench.add("amber lantern")
    bench.add("under the bridge")

    assert ids(bench.ask("the copper amber", mode="keyword")) == [copper, amber]


@pytest.mark.req("C-26")
def test_the_lens_weighs_a_score(bench: Bench) -> None:
    bench.add("copper kettle", type="decision")
    lens = bench.keep_lens({"type:decision": 1.5})

    plain, seen = (bench.ask("copper", lens=each).hits[0] for each in (None, lens))

    assert seen.score == exactly(plain.score * 1.5)


# --- other ways to ask ------------------------------------------------------------------------


@pytest.mark.req("E-12", "E-13")
def test_a_question_is_asked_in_four_more_ways_one_of_them_by_words_near_in_meaning(bench: Bench) -> None:
    bench.vectors["voyage"], bench.vectors["journey"] = leaning(1.0, 1), leaning(0.9, 1)
    asked, how, design, near = bench.add("a voyage", "it works", "a design", "one journey")

    reply = bench.ask("what is voyage?")

    assert sorted(ids(reply)) == [asked, how, design, near]


@pytest.mark.req("E-12")
def test_no_query_is_asked_in_more_than_four_other_ways(bench: Bench) -> None:
    bench.vectors["voyage"], bench.vectors["journey"] = leaning(1.0, 1), leaning(0.9, 1)
    bench.add("why a voyage journey fails: debug, fix, solution")

    (hit,) = bench.ask("why does the voyage fail?").hits

    assert 1 <= len({share.ranking for share in hit.shares} - {"words", "vector"}) <= 4


@pytest.mark.req("E-13")
def test_a_word_of_the_store_is_near_from_a_cosine_of_a_half_on(bench: Bench) -> None:
    bench.vectors["voyage"] = leaning(1.0, 1)
    bench.vectors["journey"], bench.vectors["outing"] = leaning(0.501, 1), leaning(0.499, 2)
    asked, near, _ = bench.add("a voyage", "one journey", "no outing")

    assert ids(bench.ask("voyage")) == [asked, near]


@pytest.mark.req("E-13")
def test_without_a_model_no_word_is_near(bench: Bench) -> None:
    bench.open("none")
    asked, _ = bench.add("a voyage", "one journey")

    assert ids(bench.ask("voyage")) == [asked]


# --- how many ---------------------------------------------------------------------------------


@pytest.mark.req("E-10", "E-15")
@pytest.mark.parametrize(("asked", "shown"), [(None, 20), (0, 20), (-5, 20), (1, 1), (50, 50), (200, 100)])
def test_twenty_are_shown_for_none_and_a_hundred_at_most_and_a_blank_query_lists_the_newest(
    crowd: recollect.Recollection, profile: str, asked: int | None, shown: int
) -> None:
    reply = crowd.search("  ", profile=profile, limit=asked)

    assert ids(reply) == list(range(1001, 1001 - shown, -1))


# --- many lists, error queries, importance ----------------------------------------------------


@pytest.mark.req("E-08")
def test_the_first_two_lists_weigh_two_and_the_others_one_whatever_they_are(bench: Bench) -> None:
    bench.open("none")
    (found,) = bench.add("a voyage")

    reply = bench.ask("what is voyage?")

    words_and_first_way, two_more_ways = 2 * (2 / (60 + 1) + 0.05), 2 * (1 / (60 + 1) + 0.05)
    assert fused(reply) == {found: exactly(words_and_first_way + two_more_ways)}


@pytest.mark.req("E-08")
def test_with_words_and_vectors_first_every_other_way_to_ask_weighs_one(bench: Bench) -> None:
    (found,) = bench.near({"a voyage": 0.9})

    reply = bench.ask("what is voyage?")

    words_and_vectors, three_ways = 2 * (2 / (60 + 1) + 0.05), 3 * (1 / (60 + 1) + 0.05)
    assert fused(reply) == {found: exactly(words_and_vectors + three_ways)}


@pytest.mark.req("E-12")
def test_an_error_is_asked_for_with_debug_and_with_fix(bench: Bench) -> None:
    bench.open("none")
    asked, debug, fix, _ = bench.add("login crash", "debug session", "fix applied", "a voyage")

    assert sorted(ids(bench.ask("login crash"))) == [asked, debug, fix]


@pytest.mark.req("E-20")
def test_where_all_else_is_equal_the_more_important_type_scores_higher(bench: Bench) -> None:
    types = {"bugfix": "copper", "feature": "amber", "discovery": "silver", "refactor": "walnut", "change": "linen"}
    for kind, word in types.items():
        bench.add(f"{word} kettle", type=kind)

    found = [bench.ask(word).hits[0] for word in types.values()]

    assert [hit.fused_score for hit in found] == [exactly(2 / (60 + 1) + 0.05)] * 5
    assert [hit.score for hit in found] == sorted({hit.score for hit in found}, reverse=True)


@pytest.mark.req("E-20")
def test_importance_fades_by_the_week(bench: Bench) -> None:
    (old,) = bench.add("copper kettle", type="bugfix", days=28)
    (new,) = bench.add("copper lantern", type="change")

    assert ids(bench.ask("copper")) == [new, old]


@pytest.mark.case(34, 35)
@pytest.mark.req("E-20")
@pytest.mark.parametrize(
    ("kind", "days", "expected"),
    [
        ("bugfix", 0, 1.3),
        ("feature", 0, 1.2),
        ("discovery", 0, 1.1),
        ("decision", 0, 1.1),
        ("change", 0, 0.9),
        ("unheard of", 0, 1.0),
        ("discovery", 7, 0.55),
        ("feature", 14, 0.30),
        ("change", 7, 0.45),
        ("change", 14, 0.225),
        ("bugfix", -3, 1.3),
        ("note", 28, 0.0625),
        ("note", 700, 0.01),
    ],
)
def test_importance_is_what_the_type_weighs_halved_each_week_and_never_less_than_a_hundredth(
    bench: Bench, kind: str, days: float, expected: float
) -> None:
    bench.add("copper kettle", type=kind, days=days)

    (hit,) = bench.ask("copper").hits

    assert hit.factors["importance"] == exactly(expected)
    assert hit.score == exactly(hit.fused_score * expected)


@pytest.mark.case(34)
@pytest.mark.req("E-20", "N-16")
@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        (("security",), 1.3 + 0.2 * 0.30),
        (("gotcha",), 1.3 + 0.2 * 0.25),
        (("best-practice",), 1.3 + 0.2 * 0.20),
        (("security", "gotcha", "anything"), 1.41),
    ],
)
def test_tags_that_are_concepts_make_a_memory_more_important(
    bench: Bench, tags: tuple[str, ...], expected: float
) -> None:
    bench.add("copper kettle", type="bugfix", tags=tags)

    (hit,) = bench.ask("copper").hits

    assert hit.factors["importance"] == exactly(expected)


@pytest.mark.case(34)
@pytest.mark.req("E-20")
@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (("useful",), 0.9 + 0.3),
        (("wrong",), 0.9 - 0.3),
        (("wrong", "used", "useful"), 0.9 + 0.3),
        (("used", "wrong"), 0.9),
    ],
)
def test_feedback_makes_a_memory_more_or_less_important_whatever_its_number(
    bench: Bench, verdicts: tuple[Any, ...], expected: float
) -> None:
    (row,) = bench.add("copper kettle", type="change")
    for verdict in verdicts:
        bench.db.feedback(row, verdict)

    (hit,) = bench.ask("copper").hits

    assert hit.factors["importance"] == exactly(expected)


@pytest.mark.case(34)
@pytest.mark.req("E-20")
def test_what_was_retrieved_often_is_more_important(bench: Bench) -> None:
    bench.add("copper kettle", type="discovery")
    for _ in range(7):
        bench.ask("copper", session="monday")
    bench.close()

    (hit,) = bench.ask("copper").hits

    assert hit.factors["importance"] == exactly(1.1 + 0.15 * 0.1 * 3)


def test_cosines_are_those_of_the_model(profile: str) -> None:
    shown, own = shown_and_own_cosine(profile)

    assert shown == exactly(own)
