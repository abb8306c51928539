"""What one search may set for itself, as a user types it and as a program says it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import Ran, Run

from recollect import Recollection
from recollect import open as open_recollection
from recollect.errors import SearchStopped


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


def factors(ran: Ran, row: int) -> dict[str, float]:
    return hits(ran)[row]["explain"]["factors"]


def shares(ran: Ran, row: int) -> dict[str, float]:
    return {share["ranking"]: share["points"] for share in hits(ran)[row]["explain"]["shares"]}


@pytest.mark.req("C-22", "C-33")
def test_a_search_sets_its_least_confidence_in_every_mode(told: Run) -> None:
    for mode in ("keyword", "semantic", "hybrid"):
        everything = hits(told("search", "database", "--mode", mode, "--json"))
        sure = hits(told("search", "database", "--mode", mode, "--set", "min_confidence=0.95", "--json"))

        assert everything.keys() - sure.keys() == {1}, mode
        assert everything[1]["effective_confidence"] < 0.95


@pytest.mark.req("C-33")
def test_a_search_sets_how_much_newer_memories_are_preferred(told: Run) -> None:
    usual = factors(told("search", "database", "--explain", "--json"), 1)
    leaning = factors(told("search", "database", "--set", "recency_weight=0.5", "--explain", "--json"), 1)

    assert usual.get("recency", 1.0) == 1.0
    assert leaning["recency"] == pytest.approx(1.5, abs=0.01)


@pytest.mark.req("N-05")
def test_a_search_sets_its_fusion_and_its_floors(told: Run) -> None:
    ask = ("search", "database", "--profile", "nornicdb", "--json", "--explain")
    usual, flat = told(*ask), told(*ask, "--set", "rrf_k=0")
    heavy = told(*ask, "--set", "vector=3", "--set", "words=0")
    strict = told(*ask, "--set", "min_score=9")
    near = told(
        "search", "database", "--mode", "semantic", "--profile", "nornicdb", "--set", "min_similarity=1", "--json"
    )

    best = next(iter(hits(usual)))
    assert shares(flat, best)["words"] == pytest.approx(61 * shares(usual, best)["words"])
    assert shares(heavy, best)["vector"] == pytest.approx(3 / (60 + hits(heavy)[best]["vector_rank"]))
    assert shares(heavy, best).get("words", 0.0) == 0.0
    assert (strict.code, strict.value["reason"]["code"]) == (1, "below_threshold")
    assert (near.code, near.value["hits"]) == (1, [])


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


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Recollection]:
    with open_recollection(tmp_path / "notes.db", model="none") as opened:
        opened.add("Database: PostgreSQL")
        yield opened


@pytest.mark.req("C-31", "C-34")
def test_a_program_may_leave_facts_out_and_stop_a_search(db: Recollection) -> None:
    without = db.search("database", include_facts=False).hits[0]
    stated = db.search("database").hits[0]

    assert (len(without.facts), len(stated.facts)) == (0, 1)
    assert without.effective_confidence == pytest.approx(stated.effective_confidence, abs=1e-6) == pytest.approx(0.9)
    with pytest.raises(SearchStopped):
        db.search("database", cancelled=lambda: True)
    with pytest.raises(SearchStopped):
        db.search("database", timeout=0.0)
