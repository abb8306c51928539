"""What a store notes down by itself does not grow for ever."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta

import pytest
from starlette.responses import Response

import recollect
from kit import NOON
from recollect import Recollection
from recollect.evaluate.tune import Fitted
from recollect.evaluate.tuning import MAX_TUNINGS, adopt, tunings
from recollect.recall.log import FRESH
from recollect.records import ALL_PROJECTS
from recollect.remember.failed_imports import FAILED, note_failures
from recollect.surfaces.serve import idempotency
from recollect.surfaces.serve.idempotency import IdempotencyKeys
from recollect.upkeep.review import SETTLED


@pytest.fixture
def db() -> Iterator[Recollection]:
    days = iter(range(10_000))
    with recollect.open(":memory:", model="none", clock=lambda: NOON + timedelta(days=next(days))) as opened:
        yield opened


def test_only_the_last_settled_questions_are_kept(db: Recollection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.upkeep.review.MAX_SETTLED", 3)

    for row in range(10, 15):
        db.settle(f"trust:{row}")

    assert sorted(db.store.notes(SETTLED)) == ["trust:12", "trust:13", "trust:14"]


def test_a_question_that_is_settled_again_counts_once(db: Recollection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.upkeep.review.MAX_SETTLED", 2)

    for key in ("trust:1", "trust:2", "trust:1", "trust:2"):
        db.settle(key)

    assert sorted(db.store.notes(SETTLED)) == ["trust:1", "trust:2"]


def test_failed_files_of_earlier_imports_make_room(db: Recollection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.remember.failed_imports.MAX_FAILED", 3)
    note_failures(db.store, {"a": "torn", "b": "torn", "c": "torn"}, [], project="")

    note_failures(db.store, {"d": "torn", "e": "torn"}, [], project="")

    assert {"d", "e"} < set(db.store.notes(FAILED))
    assert len(db.store.notes(FAILED)) == 3


def test_searches_that_move_a_fact_leave_no_events(db: Recollection) -> None:
    db.add("Database: PostgreSQL")
    before, (stated,) = db.store.events(scope=ALL_PROJECTS, limit=99), db.facts()

    for _ in range(3):
        db.search("database", session="s")
        db.flush()

    (moved,) = db.facts()
    assert moved.last_reinforced > stated.last_reinforced + FRESH
    assert db.store.events(scope=ALL_PROJECTS, limit=99) == before


def test_a_person_who_confirms_a_fact_leaves_an_event(db: Recollection) -> None:
    db.add("Database: PostgreSQL")

    db.reinforce(1)

    assert db.store.events(scope=ALL_PROJECTS, limit=1)[0].verb == "reinforce_fact"


def test_only_the_last_tunings_are_kept(db: Recollection) -> None:
    for _ in range(MAX_TUNINGS + 3):
        fitted = Fitted(profile="default", questions=30, before=0.5, after=0.6, values={"vector": 0.5})
        adopt(db.profile, fitted, store=db.store, now=NOON, source="feedback")

    assert len(tunings("default", db.store)) == MAX_TUNINGS


def test_keys_of_requests_are_kept_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency, "MAX_KEYS", 3)
    keys = IdempotencyKeys(clock=lambda: 0.0)

    async def write() -> Response:
        return Response()

    for number in range(9):
        asyncio.run(keys.respond("caller", str(number), b"", write))

    assert len(keys) == 3
