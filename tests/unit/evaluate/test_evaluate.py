"""Runs and comparisons from a plan: what is run, how it is scored, and who is compared with whom."""

import json
import re
from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from talk import TALK

from recollect.embedders.hashing import HashingEmbedder
from recollect.errors import InputError
from recollect.evaluate.corpus import EvalResources
from recollect.evaluate.datasets import EvalQuery
from recollect.evaluate.evaluate import EvalSet, Plan, evaluate, latency, system_pairs
from recollect.evaluate.report import as_text, as_value, report_of
from recollect.evaluate.runs import parse_json
from recollect.profile import load_profile
from recollect.vectors import Vector

DEFAULT = load_profile("default")


def plan(**changes: object) -> Plan:
    sets = (EvalSet(dataset=TALK, queries=TALK.queries),)
    return replace(Plan(sets=sets, profiles={"default": DEFAULT}, modes=("keyword",)), **changes)  # type: ignore[arg-type]


def test_a_question_is_answered_from_its_conversation_or_from_all() -> None:
    (run,) = evaluate(plan(), EvalResources()).runs

    ids = run.rankings.ids
    assert ids["qa"][0] == "a1"
    assert set(ids["qb"]) == {"b1"}
    assert ids["q"][0] == "a2"


def test_who_is_compared_with_whom() -> None:
    tool = parse_json(json.dumps({"qa": ["a1"]}), name="other")
    both = {"default": DEFAULT, "oro": load_profile("oro")}

    pairs = system_pairs(plan(profiles=both, modes=("keyword", "hybrid"), run_files={"tool": tool}))

    assert [f"{new} against {old}" for old, new in pairs] == [
        "oro keyword against default keyword",
        "oro hybrid against default hybrid",
        "default hybrid against default keyword",
        "oro hybrid against oro keyword",
        "default keyword against tool",
        "default hybrid against tool",
    ]


def test_another_profile_may_find_nothing_but_not_the_first() -> None:
    blind = replace(DEFAULT, floor=replace(DEFAULT.floor, keyword=1e9))

    found = evaluate(plan(profiles={"default": DEFAULT, "blind": blind}), EvalResources())

    assert found.runs[1].measures["ndcg@10"] == 0.0
    with pytest.raises(InputError, match=r"talk, blind keyword: the baseline is 0\.0000"):
        evaluate(plan(profiles={"blind": blind, "default": DEFAULT}), EvalResources())


def test_by_session_a_turn_beside_the_answer_is_a_find_too() -> None:
    neighbour = parse_json(json.dumps({"qa": ["a2"], "qb": ["b1"], "q": ["b1", "a1", "a2"]}), name="other")
    by_turn = EvalSet(dataset=TALK, queries=TALK.queries)

    turns, sessions = (
        evaluate(plan(sets=(each,), run_files={"other": neighbour}), EvalResources()).runs[1]
        for each in (by_turn, replace(by_turn, by_session=True))
    )

    assert turns.scores["mrr@10"] == {"qa": 0.0, "qb": 1.0, "q": 1 / 3}
    assert sessions.scores["mrr@10"] == {"qa": 1.0, "qb": 1.0, "q": 1 / 2}


def test_a_report_tells_categories_apart() -> None:
    report = report_of(evaluate(plan(), EvalResources()), {})

    tables = [table for table in report.tables if "by the kind of question" in table.caption]
    assert [table.caption.split(":")[0].split(",")[0] for table in tables] == ["nDCG@10", "R@1"]
    for table in tables:
        assert table.columns == ("person (1)", "place (2)")
        assert table.rows["default keyword"]["place (2)"].value == 1.0


def test_every_category_is_told_however_many_there_are() -> None:
    queries = tuple(
        EvalQuery(id=f"q{number}", text="where is the bike?", group="a", category=f"category {number:02}")
        for number in range(40)
    )
    many = replace(TALK, queries=queries, judgements={query.id: {"a1": 1} for query in queries})

    found = evaluate(plan(sets=(EvalSet(dataset=many, queries=queries),)), EvalResources())

    value = as_value(found, split="all", facts={})
    table = next(table for table in report_of(found, {}).tables if "by the kind of question" in table.caption)
    text = as_text(found, {"split": "all", "scored by": "document", "model": "none"})
    told = {"queries": 1, "ndcg@10": 1.0, "hit@1": 1.0}
    assert value["categories"] == {f"category {number:02}": told for number in range(40)}
    assert len(table.columns) == 40
    assert len(re.findall(r"\n  category \d\d \(1\) +1\.000 / 1\.000(?=\n|$)", text)) == 40


def test_the_main_measure_of_a_report_has_its_interval_and_the_mean_of_several_sets() -> None:
    both = (EvalSet(dataset=TALK, queries=TALK.queries), EvalSet(dataset=replace(TALK, name="b"), queries=TALK.queries))

    tables = report_of(evaluate(plan(sets=both), EvalResources()), {}).tables

    row = tables[0].rows["default keyword"]
    assert list(row) == ["talk", "b", "mean of the sets"]
    assert row["talk"].interval is not None
    assert row["talk"].interval.low <= row["talk"].value <= row["talk"].interval.high
    assert row["mean of the sets"].value == (row["talk"].value + row["b"].value) / 2


def test_every_question_is_known_to_the_model_before_the_first_search() -> None:
    class Counting(HashingEmbedder):
        """Notes how many questions were embedded together."""

        def embed_queries(self, texts: Sequence[str]) -> list[Vector]:
            asked.append(len(texts))
            return super().embed_queries(texts)

    asked: list[int] = []

    evaluate(plan(modes=("hybrid",)), EvalResources(embedder=Counting()))

    assert asked[0] == 3


def test_half_of_the_searches_are_faster_than_the_median_and_one_in_twenty_slower_than_the_95th() -> None:
    told = latency([float(number) for number in range(1, 101)])

    assert (told.median, told.p95) == (50.5, 95.0)
    assert latency([3.0]).p95 == 3.0
