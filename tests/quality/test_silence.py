"""Questions without an answer are recognised, those with one are not silenced: real conversations, real model."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from kit import NOON, installed_models
from recollect.embedders.models import Models
from recollect.profile import load_profile
from recollect.recollection import Recollection
from recollect.records import Memory
from recollect.stores.choice import open_store
from recollect.text.analyser import analyse

ROOT = Path(__file__).resolve().parents[2]
Figures = Mapping[str, Mapping[str, Mapping[str, float]]]


def measured(*options: str) -> Figures:
    """What the benchmark makes of its groups on the test half."""
    script = [sys.executable, str(ROOT / "benchmarks" / "silence.py"), "--json", *options]
    places = {**os.environ, "RECOLLECT_MODELS": str(installed_models())}
    done = subprocess.run(script, capture_output=True, text=True, check=False, env=places)  # noqa: S603
    assert done.returncode == 0, done.stderr
    figures: Figures = json.loads(done.stdout)
    assert all(group["answerable"] > 50 < group["unanswerable"] for group in figures["hybrid"].values())
    return figures


@pytest.fixture(scope="module")
def found(shared_data: Path) -> Figures:
    """What comes of 150 questions, each asked of its own conversation and of another, on the test half."""
    assert (shared_data / "locomo").is_dir()
    return measured("--most", "150", "--groups", "masked,as asked,with chatter", "--modes", "keyword,hybrid")


@pytest.mark.parametrize(
    ("mode", "group", "kept", "recognised"),
    [
        ("hybrid", "masked", 0.95, 0.5),
        ("hybrid", "as asked", 0.95, 0.62),
        ("hybrid", "with chatter", 0.9, 0.25),
        ("keyword", "masked", 0.9, 0.5),
        ("keyword", "as asked", 0.9, 0.72),
    ],
)
def test_questions_with_an_answer_are_answered_and_many_without_one_are_recognised(
    found: Figures, mode: str, group: str, kept: float, recognised: float
) -> None:
    figures = found[mode][group]

    assert figures["kept"] >= kept
    assert figures["recognised"] >= recognised


def test_with_names_taken_out_most_questions_without_an_answer_could_be_recognised_at_95_percent(
    found: Figures,
) -> None:
    assert found["hybrid"]["masked"]["recognised at 95 % kept"] >= 0.55
    assert found["hybrid"]["masked"]["AUC"] >= 0.88


def test_in_small_stores_questions_about_the_same_things_are_recognised_too(shared_data: Path) -> None:
    assert (shared_data / "everyday").is_dir()

    figures = measured("--groups", "everyday", "--modes", "hybrid")["hybrid"]["everyday"]

    assert figures["AUC"] >= 0.75
    assert figures["kept"] >= 0.88
    assert figures["recognised"] >= 0.35


@pytest.fixture(scope="module")
def models() -> Models:
    """Load the model once for all tests."""
    return Models(name="minilm", folder=installed_models())


@pytest.fixture
def db(models: Models) -> Recollection:
    store = open_store(":memory:", analyse)
    made = Recollection(store=store, profile=load_profile("default"), models=models, clock=lambda: NOON)
    made.add_all([Memory(content=text) for text in NOTES])
    return made


NOTES = (
    "Marta repairs the boiler, cash only, comes on Thursdays",
    "Code 91 from the bank means that the card's issuer is not available",
    "The rent is 380 euros and due on the 7th",
    "The birthday paradox: among 23 people two probably share a birthday",
    "The security plan is reviewed every spring by the whole team",
)


def test_gibberish_finds_nothing_and_says_why(db: Recollection) -> None:
    reply = db.search("asdkjh qwelkj")

    assert (reply.outcome, reply.hits) == ("none", ())
    assert reply.reason is not None
    assert reply.reason.code == "no_match"


@pytest.mark.parametrize("question", ["phone of Marta", "what does code 51 mean", "who is Jonas"])
def test_a_detail_that_is_missing_makes_the_answer_unclear(db: Recollection, question: str) -> None:
    reply = db.search(question)

    assert reply.outcome == "weak"
    assert reply.evidence is not None
    assert reply.evidence.against


def test_a_task_that_nothing_is_known_of_is_told_nothing(db: Recollection) -> None:
    assert db.inject("Plan birthday party for Emil").text == ""


def test_a_precise_search_shows_the_one_that_answers_and_counts_the_others(db: Recollection) -> None:
    reply = db.search("how much is the rent", precise=True)

    assert [hit.id for hit in reply.hits] == [3]
    assert reply.hidden > 0
    assert db.why(1, "how much is the rent", precise=True).blocked_by == "imprecise"


def test_each_of_two_questions_keeps_its_answer(db: Recollection) -> None:
    reply = db.search("how much is the monthly rent and who repairs the boiler?", precise=True)

    assert {1, 3} <= {hit.id for hit in reply.hits}


def test_a_name_that_no_memory_holds_is_told_with_the_near_one(db: Recollection) -> None:
    reply = db.search("who repairs the bioler", precise=True)

    assert [hit.id for hit in reply.hits] == [1]
    assert reply.evidence is not None
    assert reply.evidence.against == ("no memory holds bioler; it holds boiler",)


@pytest.mark.parametrize("question", ["鍋爐由誰修理", "ボイラーは誰が修理しますか", "보일러는 누가 수리합니까"])
def test_a_model_that_does_not_know_the_script_answers_nothing(db: Recollection, question: str) -> None:
    assert db.search(question, mode="semantic").outcome != "answered"


def test_what_calls_itself_past_stands_below_the_present(db: Recollection) -> None:
    db.add("The shop API previously ran on Express, later replaced by Fastify")
    present = db.add("The shop API runs on Fastify")

    reply = db.search("which framework does the shop API run on", precise=True)

    assert reply.hits[0].id == present.id
