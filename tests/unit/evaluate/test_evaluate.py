"""Trials and comparisons from a plan: what is tried, by which clock, and what is kept from it."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recollect.embedders.hashing import HashingEmbedder
from recollect.errors import InputError
from recollect.evaluate.datasets import Dataset, Document, Query
from recollect.evaluate.evaluate import (
    DEPTH,
    UNDATED,
    Examined,
    Gear,
    KeptVectors,
    Plan,
    Way,
    answer,
    clock_of,
    evaluate,
    latency,
    machine,
    opponents,
    request_for,
    take_in,
)
from recollect.evaluate.report import report_of
from recollect.evaluate.runs import parse_json
from recollect.profile import load_profile
from recollect.records import ALL_PROJECTS, Scope
from recollect.search import SearchContext, search
from recollect.stores.ram import RamStore
from recollect.text.analyser import analyse
from recollect.vectors import Vector

MAY, JUNE = datetime(2023, 5, 8, tzinfo=UTC), datetime(2023, 6, 1, tzinfo=UTC)
TALK = Dataset(
    name="talk",
    documents=(
        Document(id="a1", text="The bike is in the shed.", group="a", session="1", turn=1, said_at=MAY),
        Document(id="a2", text="Then I will walk.", group="a", session="1", turn=2, said_at=MAY),
        Document(id="b1", text="The bike is at work.", group="b", session="1", turn=1, said_at=JUNE),
    ),
    queries=(
        Query(id="qa", text="where is the bike?", group="a", category="place"),
        Query(id="qb", text="where is the bike?", group="b", category="place"),
        Query(id="q", text="who will walk?", category="person"),
    ),
    judgements={"qa": {"a1": 1}, "qb": {"b1": 1}, "q": {"a2": 1}},
    files={"talk.json": "0" * 64},
)
DEFAULT = load_profile("default")


def plan(**changes: object) -> Plan:
    sets = (Examined(dataset=TALK, queries=TALK.queries),)
    return replace(Plan(sets=sets, profiles={"default": DEFAULT}, modes=("keyword",)), **changes)  # type: ignore[arg-type]


def test_a_question_is_asked_within_its_conversation_or_everywhere() -> None:
    (trial,) = evaluate(plan(), Gear()).trials

    ids = trial.run.ids
    assert ids["qa"][0] == "a1"
    assert set(ids["qb"]) == {"b1"}
    assert ids["q"][0] == "a2"
    assert request_for(TALK.queries[2], "keyword").scope == ALL_PROJECTS
    assert request_for(TALK.queries[0], "keyword").scope == Scope(projects=frozenset({"a"}))


def test_only_the_order_is_asked_for_and_it_is_that_of_every_search() -> None:
    store = RamStore(analyse)
    take_in(TALK, store=store, analyse=analyse, now=JUNE)
    query = TALK.queries[0]

    answers = answer([query], TALK, store=store, profile=DEFAULT, mode="keyword", now=JUNE)

    asked = replace(request_for(query, "keyword"), snippets=True, include_facts=True)
    context = SearchContext(store=store, profile=DEFAULT, now=JUNE)
    whole, bare = search(asked, context), search(request_for(query, "keyword"), context)
    assert answers["qa"].ids == tuple(hit.memory.external_id for hit in whole.hits)
    assert answers["qa"].scores == tuple(hit.score for hit in whole.hits)
    assert request_for(query, "keyword").limit == DEPTH
    assert [hit.snippet for hit in bare.hits] == [""] * len(whole.hits)
    assert "[bike]" in whole.hits[0].snippet


def test_the_clock_stands_at_the_last_thing_said_and_for_undated_sets_at_one_moment() -> None:
    undated = replace(TALK, documents=tuple(replace(each, said_at=None) for each in TALK.documents))

    assert clock_of(TALK) == JUNE
    assert clock_of(undated) == UNDATED


def test_a_question_with_a_date_is_asked_on_that_date() -> None:
    store = RamStore(analyse)
    dated = Dataset(
        name="dated",
        documents=(
            Document(id="d1", text="We met for lunch at the harbour.", said_at=MAY),
            Document(id="d2", text="We met for lunch at the harbour cafe.", said_at=JUNE),
        ),
        queries=(),
        judgements={},
    )
    take_in(dated, store=store, analyse=analyse, now=JUNE)
    asked = [
        Query(id="may", text="where did we meet for lunch yesterday?", asked_at=datetime(2023, 5, 9, 12, tzinfo=UTC)),
        Query(id="june", text="where did we meet for lunch yesterday?", asked_at=datetime(2023, 6, 2, 12, tzinfo=UTC)),
    ]

    found = answer(asked, dated, store=store, profile=DEFAULT, mode="keyword", now=UNDATED)

    assert (found["may"].ids[0], found["june"].ids[0]) == ("d1", "d2")


def test_who_is_compared_with_whom() -> None:
    run = parse_json(json.dumps({"qa": ["a1"]}), name="other")
    both = {"default": DEFAULT, "oro": load_profile("oro")}

    pairs = opponents(plan(profiles=both, modes=("keyword", "hybrid"), runs={"tool": run}))

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

    found = evaluate(plan(profiles={"default": DEFAULT, "blind": blind}), Gear())

    assert found.trials[1].measures["ndcg@10"] == 0.0
    with pytest.raises(InputError, match=r"talk, blind keyword: the baseline is 0\.0000"):
        evaluate(plan(profiles={"blind": blind, "default": DEFAULT}), Gear())


def test_by_session_a_turn_beside_the_answer_is_a_find_too() -> None:
    neighbour = parse_json(json.dumps({"qa": ["a2"], "qb": ["b1"], "q": ["b1", "a1", "a2"]}), name="other")
    sets = (Examined(dataset=TALK, queries=TALK.queries),)

    by_turn, by_session = (
        evaluate(
            plan(sets=tuple(replace(each, by_session=chosen) for each in sets), runs={"other": neighbour}), Gear()
        ).trials[1]
        for chosen in (False, True)
    )

    assert by_turn.scores["mrr@10"] == {"qa": 0.0, "qb": 1.0, "q": 1 / 3}
    assert by_session.scores["mrr@10"] == {"qa": 1.0, "qb": 1.0, "q": 1 / 2}


def test_a_report_tells_kinds_of_questions_apart() -> None:
    report = report_of(evaluate(plan(), Gear()), {})

    kinds = next(table for table in report.tables if "by the kind of question" in table.caption)
    assert kinds.columns == ("person (1)", "place (2)")
    assert kinds.rows["default keyword"]["place (2)"].value == 1.0


def test_every_question_is_known_to_the_model_before_the_first_search() -> None:
    class Counting(HashingEmbedder):
        """Notes how many questions were embedded together."""

        def embed_queries(self, texts: Sequence[str]) -> list[Vector]:
            asked.append(len(texts))
            return super().embed_queries(texts)

    asked: list[int] = []

    evaluate(plan(modes=("hybrid",)), Gear(embedder=Counting()))

    assert asked[0] == 3


def test_half_of_the_searches_are_faster_than_the_median_and_one_in_twenty_slower_than_the_95th() -> None:
    told = latency([float(number) for number in range(1, 101)])

    assert (told.median, told.p95) == (50.5, 95.0)
    assert latency([3.0]).p95 == 3.0


def test_a_way_is_called_by_its_profile_and_mode_and_another_tool_by_its_name() -> None:
    assert str(Way(profile="oro", mode="hybrid")) == "oro hybrid"
    assert str(Way(profile="tool", mode="run-file")) == "tool"


def test_the_machine_is_described() -> None:
    told = machine()

    assert set(told) == {"cpu", "cores", "memory", "system", "python", "sqlite", "recollect"}
    assert all(told.values())
    assert int(told["cores"]) >= 1


def test_vectors_are_read_back_and_made_once(tmp_path: Path) -> None:
    made: list[str] = []

    class Noting(HashingEmbedder):
        """Notes every text that it embeds."""

        def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
            made.extend(texts)
            return super().embed_passages(texts)

    first = KeptVectors(Noting(), tmp_path)
    vectors = first.embed_passages(["one", "two", "one"])
    first.close()
    again = KeptVectors(Noting(), tmp_path)

    assert again.embed_passages(["two", "one", "three"])[:2] == [vectors[1], vectors[0]]
    assert made == ["one", "two", "three"]
    again.close()


def test_a_folder_that_cannot_keep_vectors_is_refused(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("a file")

    with pytest.raises(InputError, match="cannot keep vectors in"):
        KeptVectors(HashingEmbedder(), taken)
