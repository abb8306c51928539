"""How often a search asks its store: few questions, each once, whole memories only for what is shown."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import apsw
import pytest

import recollect
from recollect.recollection import Recollection
from recollect.records import Memory


class Counting:
    """A store that counts what it is asked, and notes how many memories are loaded whole."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.asked: Counter[str] = Counter()
        self.loaded: list[int] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        question = getattr(self._store, name)

        def ask(*given: Any, **options: Any) -> Any:
            self.asked[name] += 1
            return question(*given, **options)

        return ask

    def load_with_events(self, ids: Sequence[int], **options: Any) -> Any:
        self.asked["load_with_events"] += 1
        self.loaded.append(len(ids))
        return self._store.load_with_events(ids, **options)


@pytest.fixture
def db() -> Recollection:
    db = recollect.open(":memory:", model="hashing")
    db.add_all(
        [Memory(content=f"The {name} harbour ferry leaves at {number}") for number, name in enumerate("abcdefgh")]
    )
    return db


@pytest.mark.parametrize(
    ("mode", "indexes"),
    [
        ("keyword", {"match_words": 1}),
        ("semantic", {"nearest": 1, "document_frequencies": 1}),
        ("hybrid", {"match_words": 1, "nearest": 1, "vectors": 1}),
    ],
)
def test_a_search_asks_each_question_once_and_loads_only_what_is_shown(
    db: Recollection, mode: Any, indexes: dict[str, int]
) -> None:
    counting = Counting(db.store)
    db.store = counting  # type: ignore[assignment]

    reply = db.search("when is the harbour ferry", mode=mode, limit=3)

    assert len(reply.hits) == 3
    loading = {"traits": 1, "outlines": 1, "load_with_events": 1, "facts": 1}
    assert counting.asked == {**indexes, "reading": 1, **loading}
    assert counting.loaded == [3]


def test_words_are_asked_again_only_for_what_the_vectors_alone_found(db: Recollection) -> None:
    db.add("Departures of ships and boats")
    counting = Counting(db.store)
    db.store = counting  # type: ignore[assignment]

    db.search("when is the harbour ferry", limit=3)

    assert counting.asked["match_words"] == 2


STATEMENTS = 5
"""The state of the store, the vectors that smooth, what is ranked, what is shown, and the facts in that."""


@pytest.mark.parametrize("query", ["when is the harbour ferry", "harbour ferry database"])
def test_a_hybrid_search_takes_five_statements_and_none_twice(tmp_path: Path, query: str) -> None:
    told: list[str] = []
    with recollect.open(tmp_path / "notes.db", model="hashing") as db:
        db.add_all([Memory(content=f"The database of ferry {number} is Postgres") for number in range(9)])
        db.add_all([Memory(content=f"The harbour ferry {name} leaves at {at}") for at, name in enumerate("abcdefgh")])
        assert db.search("harbour", limit=3).hits  # what a process reads once is read
        with db.store.engine.session() as session:  # type: ignore[attr-defined]
            session.db.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: told.append(event["sql"]))

        told.clear()
        reply = db.search(query, limit=12)

        assert any(hit.facts for hit in reply.hits)
        asked = [sql for sql in told if sql not in {"begin", "rollback"}]
        assert (len(told) - len(asked), len(set(asked))) == (2, len(asked))
        assert len(asked) <= STATEMENTS


def test_a_search_loads_what_its_hits_contradict_at_one_go_however_many_there_are(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "store.db", model="none") as db:
        days = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
        for day in days:
            db.add(f"The {day.lower()} gazette prints at 7 in hall {len(day)}")
        for day in days:
            db.add(f"The {day.lower()} gazette prints at 9 in hall {len(day)}, says the bot", trust="agent")
        counting = Counting(db.store)
        db.store = counting  # type: ignore[assignment]

        hits = db.search("bot says gazette", mode="keyword", limit=6).hits

    assert sum(bool(hit.conflicts) for hit in hits) >= 3
    assert counting.asked["load"] == 1
