"""Questions about a time of talk: all memories of the time in order, or a boost for those of a counted session."""

from datetime import timedelta
from pathlib import Path

import pytest

import recollect
from kit import NOON
from recollect import Recollection

DAY = timedelta(days=1)
TALKS = {
    "a": (30, ["Ada: The boat leaks.", "Ben: Ada, use tar.", "Ada: Thanks!"]),
    "b": (20, ["Ada: My aunt paints ships.", "Ben: How lovely."]),
    "c": (2, ["Ada: The boat is sold.", "Ben: What a pity."]),
}


@pytest.fixture
def db(tmp_path: Path) -> Recollection:
    store = recollect.open(tmp_path / "talks.db", clock=lambda: NOON)
    for name, (ago, turns) in TALKS.items():
        for number, text in enumerate(turns, start=1):
            store.add(text, thread=name, turn=number, observed_at=NOON - ago * DAY + timedelta(seconds=number))
    return store


def contents(db: Recollection, question: str) -> list[str]:
    return [hit.memory.content for hit in db.search(question, mode="keyword").hits]


@pytest.mark.parametrize(
    ("question", "sessions"),
    [
        ("What did we discuss in our first session?", "a"),
        ("What did we talk about 2 sessions ago?", "b"),
        ("Summarize our last conversation.", "c"),
        ("Tell me what we talked about over sessions 1 through 2.", "ab"),
        ("What did we chat about 20 days ago?", "b"),
        ("What did we chat about 19 days ago?", "b"),
        ("What did we discuss in the last three days?", "c"),
    ],
)
def test_a_question_for_a_time_lists_its_memories_in_order(db: Recollection, question: str, sessions: str) -> None:
    assert contents(db, question) == [text for name in sessions for text in TALKS[name][1]]


def test_a_listing_is_an_answer_and_counts_what_it_leaves_out(db: Recollection) -> None:
    reply = db.search("What did we discuss in our first session?", limit=2)

    assert (reply.outcome, len(reply.hits), reply.total) == ("answered", 2, 3)


def test_a_period_without_memories_is_searched_as_usual(db: Recollection) -> None:
    assert contents(db, "What did we discuss in our ninth session?") == []


def test_a_thing_in_a_counted_session_comes_before_the_same_thing_in_another(db: Recollection) -> None:
    assert contents(db, "What about the boat in our 1st session?")[0] == "Ada: The boat leaks."
    assert contents(db, "What about the boat 1 session ago?")[0] == "Ada: The boat is sold."
