"""Of statements about one thing the newest stands first, unless the question asks for the past."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from kit import NOON
from recollect import Memory, Recollection
from recollect.embedders.models import Models
from recollect.profile import load_profile
from recollect.stores.choice import open_store
from recollect.text.analyser import analyse
from recollect.text.changes import announces_change, asks_before, may_ask_past

OLD = "Nightly database dumps are kept for fourteen days in the bucket"
NEW = "Nightly database dumps in the bucket are now kept longer, thirty-five days"
OTHER = "The office plants want water on Fridays"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Recollection]:
    store = open_store(str(tmp_path / "notes.db"), analyse)
    models = Models(name="hashing", folder=tmp_path)
    with Recollection(store=store, profile=load_profile("default"), models=models, clock=lambda: NOON) as found:
        yield found


def add(db: Recollection, text: str, *, days: int, **about: str) -> int:
    """Remember *text* as observed so many *days* ago, with nothing superseded by intake."""
    (result,) = db.add_all([Memory(content=text, observed_at=NOON - timedelta(days=days), **about)])  # type: ignore[arg-type]
    if result.decision == "updates" and result.of is not None:
        db.restore(result.of)
    return result.id


def order(db: Recollection, query: str) -> list[str]:
    return [hit.memory.content for hit in db.search(query).hits]


def test_the_newer_one_stands_first_and_both_are_there(db: Recollection) -> None:
    add(db, OLD, days=200)
    add(db, NEW, days=20)
    add(db, OTHER, days=10)

    assert order(db, "for how many days are nightly database dumps kept")[:2] == [NEW, OLD]


def test_who_asks_for_the_past_gets_the_older_one_first(db: Recollection) -> None:
    add(db, OLD, days=200)
    add(db, NEW, days=20)

    assert order(db, "how long were nightly database dumps kept before")[0] == OLD


def test_who_asks_for_the_past_reaches_what_was_superseded(db: Recollection) -> None:
    first, second = add(db, OLD, days=200), add(db, NEW, days=20)
    db.supersede(first, second)

    assert order(db, "how long were nightly database dumps kept before")[0] == OLD
    assert order(db, "how long are nightly database dumps kept") == [NEW]


def test_what_follows_names_the_older_one(db: Recollection) -> None:
    first, second = add(db, OLD, days=200), add(db, NEW, days=20)

    hits = db.search("for how many days are nightly database dumps kept").hits

    assert {hit.id: hit.older for hit in hits} == {second: first, first: None}


def test_a_newer_one_that_announces_nothing_stays_where_it_is(db: Recollection) -> None:
    plain = "Nightly database dumps go to the bucket by a job"
    add(db, OLD, days=200)
    add(db, plain, days=20)

    assert order(db, "for how many days are nightly database dumps kept")[0] == OLD


def test_turns_of_a_conversation_are_left_alone(db: Recollection) -> None:
    add(db, OLD, days=200, thread="ops")
    add(db, NEW, days=20, thread="ops")

    best = db.search("for how many days are nightly database dumps kept").hits

    assert not any(share.ranking == "change" for hit in best for share in hit.shares)


@pytest.mark.parametrize(
    "text",
    [
        "We moved to Hamburg",
        "The rate is no longer 5 %",
        "Miete ab Oktober 715 statt 680",
        "La fiesta ya no es en casa",
    ],
)
def test_a_change_is_announced(text: str) -> None:
    assert announces_change(text)


@pytest.mark.parametrize("text", ["The rate is 5 %", "Knowledge is kept in notes", "Die Miete beträgt 680 Euro"])
def test_a_plain_statement_announces_none(text: str) -> None:
    assert not announces_change(text)


def test_questions_for_the_past_are_told_from_those_for_now() -> None:
    assert asks_before("what was the former rate")
    assert may_ask_past("what did a label cost in summer")
    assert not asks_before("what did a label cost in summer")
    assert not may_ask_past("what does a label cost")
