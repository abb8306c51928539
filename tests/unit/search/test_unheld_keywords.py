"""Short lists of keywords with a word that no memory contains are not answered."""

from pathlib import Path

import pytest

import recollect
from kit import NOON
from recollect import Recollection


@pytest.fixture
def db(tmp_path: Path) -> Recollection:
    store = recollect.open(tmp_path / "notes.db", clock=lambda: NOON)
    for text in (
        "The household budget for May is 900 euros",
        "Rent is due on the first of each month",
        "Planning of the summer holiday starts in March",
        "The boiler warranty ends in 2031",
        "Our dentist moved to Harbour Street",
    ):
        store.add(text)
    return store


@pytest.mark.parametrize(
    ("query", "outcome"),
    [
        ("household budget", "answered"),
        ("zebra budget", "weak"),
        ("unicorn budget planning", "weak"),
        ("boiler warranty details", "answered"),
        ("houshold budget", "answered"),
        ("budget", "answered"),
    ],
)
def test_a_keyword_that_no_memory_contains_counts_against_an_answer(db: Recollection, query: str, outcome: str) -> None:
    assert db.search(query, mode="keyword").outcome == outcome


def test_the_evidence_names_the_missing_keyword(db: Recollection) -> None:
    evidence = db.search("zebra budget", mode="keyword").evidence

    assert evidence is not None
    assert evidence.absent == ("zebra",)
