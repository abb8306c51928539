"""Two statements that differ in a value: the newest first, the older one named, unless the question names a value."""

import pytest

import recollect
from recollect.text.claims import gives_other_value, moves_away, relation

CHANGED = [
    ("We run PostgreSQL 15", "We run PostgreSQL 17", "which PostgreSQL version do we run"),
    ("I prefer dark mode", "I prefer light mode", "which mode do I prefer"),
    ("My phone is a Pixel 7", "My phone is a Pixel 9", "which phone do I use"),
    ("We use pnpm, not npm", "We use npm, not pnpm", "do we use pnpm or npm"),
]


@pytest.mark.parametrize(("old", "new", "question"), CHANGED)
def test_the_newest_of_statements_that_differ_in_a_value_stands_first(old: str, new: str, question: str) -> None:
    with recollect.open(":memory:", model="none") as db:
        first = db.add(old, date="2026-01-05").id
        db.add(new, date="2026-03-05")

        hits = db.search(question).hits

        assert [hit.memory.content for hit in hits[:2]] == [new, old]
        assert hits[0].older == first


def test_who_names_the_old_value_gets_it() -> None:
    with recollect.open(":memory:", model="none") as db:
        db.add("We run PostgreSQL 15", date="2026-01-05")
        db.add("We run PostgreSQL 17", date="2026-03-05")

        hits = db.search("do we run PostgreSQL 15").hits

        assert hits[0].memory.content == "We run PostgreSQL 15"


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Ann likes green tea", "Ben likes green tea"),
        ("The staging database is on port 5433", "The production database is on port 5433"),
        ("Server B runs version 17", "Server A runs version 15"),
        ("We run PostgreSQL 17 on two servers", "We run PostgreSQL 15"),
        ("Tea", "Coffee"),
    ],
)
def test_another_subject_is_not_another_value(new: str, old: str) -> None:
    assert not gives_other_value(new, old)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I live in Berlin", "I moved to Hamburg"),
        ("We are based in Lyon.", "We have recently relocated from Lyon to Nantes."),
        ("My sister lives in Rome", "My sister moved to Turin"),
    ],
)
def test_a_move_changes_where_one_lives(old: str, new: str) -> None:
    assert moves_away(new, old)
    assert relation(new, old) == "updates"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I live in Berlin", "Ben moved to Hamburg"),
        ("I work in Berlin", "I moved to Hamburg"),
        ("I live in Berlin", "I moved to Hamburg. Berlin is still home."),
        ("I live in Berlin", "I moved the desk to the attic"),
    ],
)
def test_another_move_changes_nothing(old: str, new: str) -> None:
    assert not moves_away(new, old)
