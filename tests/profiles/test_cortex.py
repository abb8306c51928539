"""Cortex (PRD-004) to the digit: each score is worked out from the formulas of the document.

RRF: (1 - alpha) / (60 + rank by words) + alpha / (60 + rank by meaning), alpha 0.5, both lists of twice the limit.
Times 1 + 0.1 / (1 + days since import), times the mean over the facts of confidence x exp(-rate x days).
"""

import sqlite3
from math import exp, nan

import pytest
from seedkit import Bench, exactly, factors, idf, ids, scores, shown_and_own_cosine

import recollect
from recollect.errors import InputError

STATED = {
    "Ann works as gardener": ("gardener", "identity", 0.7 * exp(-0.001 * 10)),
    "We decided to use sailcloth": ("sailcloth", "decision", 0.7 * exp(-0.002 * 10)),
    "Shopfront uses Stripe": ("shopfront", "relationship", 0.7 * exp(-0.003 * 10)),
    "The mainframe lives in Oslo": ("mainframe", "location", 0.7 * exp(-0.005 * 10)),
    "Bob prefers peppermint": ("peppermint", "preference", 0.7 * exp(-0.01 * 10)),
    "Harvest day: Friday": ("harvest", "kv", 0.9 * exp(-0.01 * 10)),
    "cache.timeout = 30": ("timeout", "config", 0.9 * exp(-0.01 * 10)),
    "The elevator is broken": ("elevator", "state", 0.7 * exp(-0.05 * 10)),
    "Regatta on 12 June 2026": ("regatta", "temporal", 0.5 * exp(-0.1 * 10)),
}
"""A text of each type of fact, the word that finds it, and what is left of its confidence after ten days."""


# --- both lists -------------------------------------------------------------------------------


@pytest.mark.req("C-15", "C-17", "C-20")
def test_a_hybrid_score_is_the_sum_of_both_reciprocal_ranks_times_the_recency(bench: Bench) -> None:
    (meaning,) = bench.near({"a walk along the river": 0.9}, days=30)
    (both,) = bench.near({"copper kettle": 0.8})
    (words,) = bench.add("copper copper", days=3)

    reply = bench.ask("copper")

    assert scores(reply) == {
        both: exactly((0.5 / (60 + 2) + 0.5 / (60 + 2)) * (1 + 0.1 / (1 + 0))),
        words: exactly(0.5 / (60 + 1) * (1 + 0.1 / (1 + 3))),
        meaning: exactly(0.5 / (60 + 1) * (1 + 0.1 / (1 + 30))),
    }
    assert ids(reply) == [both, words, meaning]


@pytest.mark.req("C-16")
def test_alpha_shares_the_score_between_the_lists(bench: Bench) -> None:
    (meaning,) = bench.near({"a walk along the river": 0.9}, days=30)
    (words,) = bench.add("copper kettle", days=3)

    reply = bench.ask("copper", alpha=0.25)

    assert scores(reply) == {
        words: exactly((1 - 0.25) / (60 + 1) * (1 + 0.1 / (1 + 3))),
        meaning: exactly(0.25 / (60 + 1) * (1 + 0.1 / (1 + 30))),
    }


@pytest.mark.req("C-15")
def test_each_list_brings_twice_as_many_as_are_shown(bench: Bench) -> None:
    first, second, _ = bench.near({"a walk along the river": 0.9, "amber lamp": 0.8, "copper kettle": 0.7})
    bench.add("amber amber lantern", "copper copper copper spoon", "copper copper ladle")

    second_in_both, third_in_both = bench.ask("amber", limit=1), bench.ask("copper", limit=1)

    assert ids(second_in_both) == [second]
    assert ids(third_in_both) == [first]


@pytest.mark.req("C-14")
@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
def test_a_similarity_of_three_tenths_is_the_least(bench: Bench, mode: str) -> None:
    near, _ = bench.near({"a walk along the river": 0.301, "a garden bench": 0.299})

    reply = bench.ask("copper", mode=mode)

    assert ids(reply) == [near]
    assert reply.hits[0].semantic_score == exactly(0.301)


# --- words alone ------------------------------------------------------------------------------


@pytest.mark.req("C-02", "C-07")
def test_keywords_all_have_to_match_and_score_as_fts5_ranks_them(bench: Bench) -> None:
    (both,) = bench.add("copper kettle with handle")
    bench.add("copper spoon with engraving")
    bench.fill(8, words=4)

    reply = bench.ask("copper kettle", mode="keyword")

    assert scores(reply) == {both: exactly(idf(10, 2) + idf(10, 1))}


@pytest.mark.req("C-07")
def test_a_word_said_twice_or_in_a_longer_text_scores_as_fts5_ranks_it(bench: Bench) -> None:
    short, long = bench.add("copper copper", "copper kettle lantern spoon table chair")
    bench.fill(6, words=4)

    reply = bench.ask("copper", mode="keyword")

    assert scores(reply) == {
        short: exactly(idf(8, 2) * 2 * (1.2 + 1) / (2 + 1.2 * (1 - 0.75 + 0.75 * 2 / 4))),
        long: exactly(idf(8, 2) * 1 * (1.2 + 1) / (1 + 1.2 * (1 - 0.75 + 0.75 * 6 / 4))),
    }


@pytest.mark.req("C-03", "C-04")
def test_a_word_beside_an_operator_finds_its_other_forms(bench: Bench) -> None:
    deployed, shipped = bench.add("we deployed it", "the parcel was shipped")

    assert sorted(ids(bench.ask("deployment OR shipping", mode="keyword"))) == [deployed, shipped]
    assert ids(bench.ask("deployment NOT shipping", mode="keyword")) == [deployed]


@pytest.mark.req("C-02")
def test_small_words_have_to_match_too(bench: Bench) -> None:
    bench.add("copper kettle")
    (with_it,) = bench.add("under the copper roof")

    assert ids(bench.ask("the copper", mode="keyword")) == [with_it]


@pytest.mark.req("C-01")
def test_only_the_content_is_searched(bench: Bench) -> None:
    bench.add("a kettle", title="copper", tags=("copper",), source="copper.md", section="copper")

    assert ids(bench.ask("copper", mode="keyword")) == []


@pytest.mark.req("C-11")
def test_a_blank_query_finds_nothing(bench: Bench) -> None:
    bench.add("copper kettle")

    reply = bench.ask("  ")

    assert (ids(reply), reply.reason and reply.reason.code) == ([], "blank_query")


@pytest.mark.req("C-09")
@pytest.mark.parametrize(("asked", "shown"), [(None, 20), (7, 7), (2000, 1000)])
def test_twenty_are_shown_unless_told_and_a_thousand_at_most(
    crowd: recollect.Recollection, profile: str, asked: int | None, shown: int
) -> None:
    reply = crowd.search("entry", mode="keyword", profile=profile, limit=asked, snippets=False)

    assert len(reply.hits) == shown


# --- facts ------------------------------------------------------------------------------------


@pytest.mark.req("C-21", "C-23")
def test_each_type_of_fact_fades_at_its_own_rate(bench: Bench) -> None:
    bench.add(*STATED, days=10)

    found = {text: bench.ask(word).hits[0] for text, (word, _, _) in STATED.items()}

    assert {text: [fact.type for fact in hit.facts] for text, hit in found.items()} == {
        text: [kind] for text, (_, kind, _) in STATED.items()
    }
    assert {text: hit.effective_confidence for text, hit in found.items()} == {
        text: exactly(left) for text, (_, _, left) in STATED.items()
    }
    assert {text: hit.score for text, hit in found.items()} == {
        text: exactly(0.5 / (60 + 1) * (1 + 0.1 / (1 + 10)) * left) for text, (_, _, left) in STATED.items()
    }


@pytest.mark.req("C-21")
def test_several_facts_count_as_their_mean_and_none_as_one(bench: Bench) -> None:
    stating, silent = bench.add("Harvest day: Friday\nThe elevator is broken", "a harvest song", days=10)

    reply = bench.ask("harvest")

    mean = (0.9 * exp(-0.01 * 10) + 0.7 * exp(-0.05 * 10)) / 2
    assert {hit.id: hit.effective_confidence for hit in reply.hits} == {stating: exactly(mean), silent: 1.0}
    assert scores(reply)[stating] == exactly(0.5 / (60 + 2) * (1 + 0.1 / (1 + 10)) * mean)
    assert scores(reply)[silent] == exactly(0.5 / (60 + 1) * (1 + 0.1 / (1 + 10)))


@pytest.mark.req("C-21")
def test_a_fact_fades_from_when_it_was_last_reinforced(bench: Bench) -> None:
    bench.add("The elevator is broken", days=20)
    bench.now = bench.now.replace(day=1)
    bench.db.reinforce(bench.db.facts()[0].id)
    bench.now = bench.now.replace(day=4)

    (hit,) = bench.ask("elevator").hits

    assert hit.effective_confidence == exactly((0.7 + 0.3) * exp(-0.05 * 3))


@pytest.mark.req("C-22")
def test_a_confidence_of_a_tenth_is_the_least(bench: Bench) -> None:
    (kept,) = bench.add("Regatta on 12 June 2026", days=16)
    bench.add("Regatta on 13 July 2026", days=16.15)

    reply = bench.ask("regatta")

    assert 0.099 < 0.5 * exp(-0.1 * 16.15) < 0.1 < 0.5 * exp(-0.1 * 16) < 0.101
    assert ids(reply) == [kept]


@pytest.mark.req("C-20", "C-26")
def test_recency_facts_and_lens_weigh_a_hybrid_score_and_nothing_else_does(bench: Bench) -> None:
    bench.add("copper kettle", days=4, confidence=0.5, type="decision")
    lens = bench.keep_lens({"type:decision": 1.5})

    (plain,), (seen,) = bench.ask("copper").hits, bench.ask("copper", lens=lens).hits

    assert factors(plain) == [1.0, 1.0, exactly(1 + 0.1 / (1 + 4))]
    assert seen.score == exactly(0.5 / (60 + 1) * (1 + 0.1 / (1 + 4)) * 1.5)


# --- the recall log ---------------------------------------------------------------------------


@pytest.mark.req("C-24", "C-25")
def test_a_search_does_not_wait_for_its_recall_log(bench: Bench) -> None:
    bench.add("The elevator is broken", days=10)
    before = bench.db.facts()[0].last_reinforced
    writer = sqlite3.connect(bench.path, isolation_level=None)
    writer.execute("begin immediate")

    reply = bench.ask("elevator", session="monday")
    unwritten = bench.db.facts()[0].last_reinforced
    writer.execute("rollback")
    writer.close()
    bench.close()

    assert len(reply.hits) == 1
    assert unwritten == before
    assert bench.db.facts()[0].last_reinforced > before


# --- alpha and confidence in every mode -------------------------------------------------------


@pytest.mark.req("C-16")
@pytest.mark.parametrize(("alpha", "mode"), [(0.0, "keyword"), (1.0, "semantic")])
def test_alpha_at_either_end_is_the_mode_of_that_list(bench: Bench, alpha: float, mode: str) -> None:
    bench.near({"copper copper kettle": 0.9}, days=300)
    bench.near({"copper lamp": 0.89})
    bench.near({"The copper elevator is broken": 0.88}, days=10)

    ended, alone = bench.ask("copper", alpha=alpha), bench.ask("copper", mode=mode)

    assert len(ended.hits) == 3
    assert [(hit.id, factors(hit)) for hit in ended.hits] == [(hit.id, factors(hit)) for hit in alone.hits]


@pytest.mark.req("C-16")
@pytest.mark.parametrize("alpha", [-0.1, 1.1, 2.0, nan])
def test_an_alpha_outside_zero_to_one_is_refused(bench: Bench, alpha: float) -> None:
    bench.near({"copper kettle": 0.9})

    with pytest.raises(InputError, match="alpha"):
        bench.ask("copper", alpha=alpha)


@pytest.mark.req("C-22")
@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
def test_the_least_confidence_holds_in_every_mode(bench: Bench, mode: str) -> None:
    (kept,) = bench.near({"Regatta on 12 June 2026": 0.9}, days=16)
    bench.near({"Regatta on 13 July 2026": 0.8}, days=16.15)

    assert ids(bench.ask("regatta", mode=mode)) == [kept]


@pytest.mark.req("C-22")
def test_a_superseded_fact_does_not_pull_the_mean_down(bench: Bench) -> None:
    (first,) = bench.add("Harvest day: Friday evening", days=10)
    (second,) = bench.add("Harvest day: Friday-evening\nThe elevator is broken", days=10)
    bench.db.consolidate(apply=True)

    reply = bench.ask("harvest")

    assert [fact.state for fact in bench.db.facts()].count("superseded") == 1
    assert {hit.id: hit.effective_confidence for hit in reply.hits} == {
        first: exactly(0.9 * exp(-0.01 * 10)),
        second: exactly(0.7 * exp(-0.05 * 10)),
    }


def test_cosines_are_those_of_the_model(profile: str) -> None:
    shown, own = shown_and_own_cosine(profile)

    assert shown == exactly(own)
