"""What only meaning finds, with the real model."""

import pytest

import recollect
from kit import NOON, installed_models
from recollect.embedders.models import Models
from recollect.profile import load_profile
from recollect.recollection import Recollection
from recollect.replies import Mode
from recollect.stores.choice import open_store
from recollect.text.analyser import analyse

NOISE = (
    "The cafeteria serves soup on Mondays and Thursdays",
    "Invoices are paid within thirty days of receipt",
    "The logo uses a darker blue since the rebranding",
    "Visitors sign in at the front desk and wear a badge",
    "The plants on the third floor are watered by the facilities team",
    "Team photos hang next to the kitchen",
)


@pytest.fixture(scope="module")
def models() -> Models:
    """Load the model once for all tests."""
    return Models(name="minilm", folder=installed_models())


@pytest.fixture
def db(models: Models) -> Recollection:
    made = Recollection(
        store=open_store(":memory:", analyse), profile=load_profile("default"), models=models, clock=lambda: NOON
    )
    made.add_all([recollect.Memory(content=text) for text in NOISE])
    return made


@pytest.mark.case(111)
@pytest.mark.req("C-12", "C-13")
@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Use two-space indentation", "what spacing convention"),
        ("SQLite lock contention", "database timeout"),
        ("Deployment process: software is released to production from the main branch", "how we ship code"),
    ],
)
def test_a_memory_is_found_by_a_question_that_shares_no_word_with_it(db: Recollection, text: str, query: str) -> None:
    added = db.add(text)

    best = db.search(query).hits[0]

    assert best.id == added.id
    assert best.semantic_score is not None


def test_a_long_memory_is_found_by_its_best_passage_which_is_the_snippets_source(db: Recollection) -> None:
    filler = "The minutes of the meeting list who attended and what was ordered for lunch. " * 40
    backups = "Backups of the customer database are encrypted with a rotating key. " * 40
    added = db.add(f"{filler}\n\n{backups}\n\n{filler}")

    best = db.search("how do we protect saved copies of client records", mode="semantic").hits[0]

    assert best.id == added.id
    assert "encrypted" in best.snippet


NOTE = (
    "Society meeting in the hall. Parking: visitors only with a slip from the gate. "
    "The lift gets a new rope in May and stands still for two days. "
    "Water comes from six to eight in the morning until the tank is mended. "
    "The watchman's pay goes up by five hundred. "
    "Mrs Joshi keeps the keys of the roof and wants them back the same evening. "
    "The children may play cricket behind block C, never against the wall of the pump house. "
    "The lawyer sees us on the ninth about the deposit of the contractor who left the stairs unfinished."
)


def test_a_note_of_many_things_is_found_by_one_of_them_and_shows_it(db: Recollection) -> None:
    added = db.add(NOTE)

    best = db.search("who will speak to our attorney").hits[0]

    assert best.id == added.id
    assert best.snippet.startswith("…The lawyer sees us on the ninth")


def test_the_snippet_stands_where_the_words_are_when_words_found_it(db: Recollection) -> None:
    db.add(NOTE)

    best = db.search("lawyer deposit contractor").hits[0]

    assert "[lawyer] sees us on the ninth about the [deposit] of the [contractor]" in best.snippet


@pytest.mark.parametrize("mode", ["hybrid", "semantic"])
def test_a_given_vector_finds_its_memory_next_to_words_that_nobody_knows(db: Recollection, mode: Mode) -> None:
    row = db.add("a memory with a vector of its own", vector=[1.0] + [0.0] * 7).id

    reply = db.search("zzz", embedding=[1.0] + [0.0] * 7, mode=mode)

    assert [hit.id for hit in reply.hits] == [row]


def test_a_word_that_the_model_knows_is_not_corrected(db: Recollection) -> None:
    db.add("The present for Ida is wrapped, and another present is from France")

    reply = db.search("who is the president of France")

    assert [each for each in reply.suggestions if "present" in each.split()] == []
