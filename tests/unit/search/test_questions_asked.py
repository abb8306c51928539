"""How often a search asks its store: few questions, each once, whole memories only for what is shown."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

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
        self.asked[name] += 1
        return getattr(self._store, name)

    def load(self, ids: Sequence[int], **options: Any) -> Any:
        self.asked["load"] += 1
        self.loaded.append(len(ids))
        return self._store.load(ids, **options)


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
    assert counting.asked == {**indexes, "reading": 1, "outlines": 1, "load": 1, "facts": 1, "history": 1}
    assert counting.loaded == [3]


def test_words_are_asked_again_only_for_what_the_vectors_alone_found(db: Recollection) -> None:
    db.add("Departures of ships and boats")
    counting = Counting(db.store)
    db.store = counting  # type: ignore[assignment]

    db.search("when is the harbour ferry", limit=3)

    assert counting.asked["match_words"] == 2
