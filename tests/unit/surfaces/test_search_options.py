"""What one search may set for itself, as a user types it and as a program says it."""

from typing import Any

import pytest
from command import Ran, Run

from recollect import Reply
from recollect import open as open_recollection


@pytest.fixture
def told(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A store with vectors of a small model: one memory states a fact, one does not."""
    monkeypatch.setenv("RECOLLECT_MODEL", "hashing")
    run("add", "Database: PostgreSQL")
    run("add", "The database sleeps at night and nobody wakes it")
    for number in range(4):
        run("add", f"Lunch number {number} was soup")
    return run


def hits(ran: Ran) -> dict[int, dict[str, Any]]:
    """The hits by id, as JSON tells them."""
    return {hit["id"]: hit for hit in ran.value["hits"]}


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["min_confidence=0.95"], {"min_confidence": 0.95}),
        (["recency_weight=0.5"], {"recency_weight": 0.5}),
        (["rrf_k=0", "vector=3", "words=0"], {"rrf_k": 0.0, "weights": {"vector": 3.0, "words": 0.0}}),
        (["min_score=9"], {"min_score": 9.0}),
        (["min_similarity=1"], {"min_similarity": 1.0}),
    ],
    ids=" ".join,
)
@pytest.mark.req("C-22", "C-33", "N-05")
def test_what_is_set_for_a_search_is_what_python_asks(told: Run, words: list[str], options: dict[str, Any]) -> None:
    said = told("search", "database", "--profile", "nornicdb", *(f"--set={word}" for word in words), "--json")

    with open_recollection(profile="nornicdb") as db:
        asked, usual = db.search("database", **options), db.search("database")
    assert {row: hit["score"] for row, hit in hits(said).items()} == pytest.approx(scores(asked), abs=1e-6)
    assert scores(asked) != pytest.approx(scores(usual), abs=1e-6)


def scores(reply: Reply) -> dict[int, float]:
    return {hit.id: hit.score for hit in reply.hits}


@pytest.mark.req("C-34")
def test_a_search_that_takes_too_long_is_given_up(told: Run) -> None:
    late, early = told("search", "database", "--timeout", "0", "--json"), told("search", "database", "--timeout", "60")

    assert (late.code, late.error["code"], early.code) == (3, "timeout", 0)
    assert late.error["hint"]


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--set", "alpha=2", "alpha cannot be 2.0"),
        ("--set", "alpha=nan", "alpha cannot be nan"),
        ("--set", "min_confidence=1.5", "min_confidence cannot be 1.5"),
        ("--set", "rrf_k=-1", "rrf_k cannot be -1.0"),
        ("--timeout", "-1", "timeout cannot be -1.0"),
        ("--set", "vector=-2", "the ranking 'vector' cannot weigh -2.0"),
        ("--set", "colour=2", "--set does not know 'colour'"),
        ("--set", "vector", "--set 'vector' is not KEY=NUMBER"),
    ],
)
def test_a_number_without_a_meaning_is_refused_by_search_and_why(told: Run, option: str, value: str, said: str) -> None:
    for words in (("search", "database"), ("why", "1", "database")):
        ran = told(*words, option, value, "--json")

        assert ran.code == 2
        assert said in ran.error["message"]
        assert ran.error["hint"]


def test_why_asks_as_search_does(told: Run) -> None:
    options = ("--set", "min_confidence=0.95", "--mode", "keyword")

    told("lens", "create", "meals", "--boost", "type:note=1.5", "--source", "nowhere")
    kept, gone, lens = (
        told("why", "2", "database", *options, "--json"),
        told("why", "1", "database", *options),
        told("why", "1", "database", "--lens", "meals", "--json"),
    )

    assert kept.value["found"] is True
    assert gone.out.startswith("#1 is not in the answer: the confidence of its facts has faded too far\n")
    assert (lens.value["found"], lens.value["blocked_by"]) == (False, "lens")
