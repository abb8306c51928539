"""The trust promises hold under a flood: what the owner says is shown, told and asked about, whatever others write."""

import pytest

from recollect import Memory, Recollection
from recollect.recall import ledger
from recollect.records import LEDGER

LIMIT = "The API rate limit is 100 requests per minute"
QUESTION = "What is the API rate limit"


def flood(db: Recollection, count: int) -> None:
    for number in range(count):
        db.add(f"The API rate limit is {500 + 10 * number} requests per minute", trust="agent")


# --- search and injection --------------------------------------------------------------------


@pytest.mark.parametrize(("count", "limit"), [(1, 10), (30, 1), (30, 10)])
def test_the_owners_side_of_a_conflict_is_the_first_hit_however_often_it_is_contradicted(
    db: Recollection, count: int, limit: int
) -> None:
    row = db.add(LIMIT).id
    flood(db, count)

    hits = db.search(QUESTION, limit=limit).hits

    assert hits[0].id == row
    assert hits[0].memory.trust == "owner"
    assert hits[0].conflicts or limit == 1
    assert len(hits) <= limit
    assert all(row in hit.conflicts for hit in hits[1:])
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_the_owners_side_of_a_conflict_is_injected_first(db: Recollection) -> None:
    row = db.add(LIMIT).id
    flood(db, 30)

    told = db.inject(QUESTION)

    assert told.ids[0] == row
    assert f"conflicts with #{row}" in told.text


def test_a_conflict_with_what_no_list_found_is_named_and_shown(db: Recollection) -> None:
    row = db.add("We ship the web client on Fridays").id
    other = db.add("We ship the web client on Mondays, says the bot", trust="agent").id
    hits = db.search("bot says", mode="keyword").hits

    assert db.show(other).events[0].detail.get("decision") == "conflicts"
    assert [hit.id for hit in hits] == [row, other]
    assert hits[1].conflicts == (row,)


def test_a_filter_that_excludes_the_owners_side_still_names_it(db: Recollection) -> None:
    row = db.add(LIMIT, type="decision").id
    flood(db, 3)

    hits = db.search(QUESTION, type="note").hits

    assert row not in {hit.id for hit in hits}
    assert all(hit.conflicts == (row,) for hit in hits)


def test_of_two_that_score_alike_the_owners_comes_first(db: Recollection) -> None:
    db.add("zebra crossing by the mill", trust="agent", date="2026-05-01")
    own = db.add("zebra crossing by the pond", date="2026-05-01").id

    hits = db.search("zebra crossing", mode="keyword").hits

    assert hits[0].score == hits[1].score
    assert hits[0].id == own


def test_a_statement_with_other_values_does_not_stand_before_what_the_owner_pinned(db: Recollection) -> None:
    row = db.add(LIMIT).id
    db.pin(row)
    said = "The API rate limit, changed by Bob as of January, is 5000"
    db.add(said, trust="agent")

    assert db.search(QUESTION).hits[0].id == row


# --- review ----------------------------------------------------------------------------------


def test_a_conflict_stays_the_first_question_of_a_review_however_much_is_written_later(db: Recollection) -> None:
    row = db.add(LIMIT).id
    other = db.add("The API rate limit is 700 requests per minute", trust="agent").id
    lines = [f"Ship log {number}: {number * 7} crates of sort {number * 13} left" for number in range(520)]
    db.add_all([Memory(content=line, trust="agent") for line in lines], embed=False)

    first = db.review()[0]

    assert (first.kind, first.key) == ("conflict", f"conflict:{other}:{row}")
    db.settle(first.key)
    assert first.key not in {item.key for item in db.review()}


def test_the_words_of_agents_are_the_last_questions_of_a_review(db: Recollection) -> None:
    db.add("The gate is blue", trust="agent")
    db.add(LIMIT)
    flood(db, 2)

    kinds = [item.kind for item in db.review()]

    assert kinds == sorted(kinds, key=lambda kind: kind == "trust")
    assert {"conflict", "trust"} <= set(kinds)


# --- what a session was told -----------------------------------------------------------------


def test_two_prompts_of_one_session_lose_nothing_of_its_ledger(db: Recollection) -> None:
    one, two = (db.show(db.add(text).id).memory for text in ("The gate is blue", "The mill is old"))

    ledger.note_told(db.store, "monday", [one], project="", at=db.now())
    ledger.note_told(db.store, "monday", [two], project="", at=db.now())

    assert set(ledger.told(db.store, "monday", project="")) == {str(one.id), str(two.id)}


def test_ledgers_are_bounded_and_the_oldest_goes_first(db: Recollection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "MAX_SESSIONS", 3)
    monkeypatch.setattr(ledger, "MAX_TOLD", 2)
    memories = [db.show(db.add(text).id).memory for text in ("The gate is blue", "The mill is old", "Rent is due")]

    for name in ("a", "b", "c", "d"):
        ledger.note_told(db.store, name, memories, project="", at=db.now())

    assert set(db.store.notes(LEDGER)) == {"b", "c", "d"}
    assert set(ledger.told(db.store, "d", project="")) == {str(each.id) for each in memories[1:]}


@pytest.mark.req("O-11")
def test_inject_tells_as_many_as_it_is_asked_for_and_goes_on_with_what_was_not_told(db: Recollection) -> None:
    names = [f"{letter}{letter}{letter}" for letter in "abcdefghijklmnopqrstuvwxyzäöüß"]
    lines = [f"The {name} ferry timetable was printed in {year}" for year, name in enumerate(names, start=1900)]
    db.add_all([Memory(content=line) for line in lines], embed=False)
    asked = {"precise": False, "mode": "keyword", "budget": 5000}

    once = db.inject("ferry timetable", limit=30, **asked)  # type: ignore[arg-type]
    in_turns = [db.inject("ferry timetable", limit=8, session="monday", **asked).ids for _ in range(4)]  # type: ignore[arg-type]

    assert len(once.ids) == 30
    assert [len(ids) for ids in in_turns] == [8, 8, 8, 6]
    assert len({row for ids in in_turns for row in ids}) == 30


def test_an_old_pin_is_told_to_a_new_session(db: Recollection) -> None:
    row = db.add("Ada likes short answers").id
    db.pin(row)
    db.add_all([Memory(content=f"Ship log {number}: {number * 7} crates left") for number in range(210)], embed=False)

    assert db.brief().ids == (row,)
