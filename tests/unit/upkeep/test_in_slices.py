"""Care of a large store holds a few hundred memories at a time, whatever the store holds."""

from collections.abc import Callable, Sized
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import Recollection
from recollect.upkeep.consolidate import BATCH

NOTES = 2 * BATCH + 100


class Counting:
    """A store that notes how many rows each of its answers held."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.largest = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name not in ("load", "facts", "vectors", "ids", "history", "browse", "wordings"):
            return found

        def counted(*args: Any, **kwargs: Any) -> Any:
            rows = found(*args, **kwargs)
            held: Sized = rows.ids if name == "browse" else rows
            self.largest = max(self.largest, len(held))
            return rows

        return counted


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("slices") / "a.db"
    db = recollect.open(path, model="hashing")
    db.add_all([recollect.Memory(content=f"Port of service{n} is {4_000 + n}. word{n} item{n}") for n in range(NOTES)])
    db.close()
    return path


ASKED: dict[str, Callable[[Recollection], object]] = {
    "consolidate": lambda db: db.consolidate(apply=False),
    "undo": lambda db: db.undo_consolidation(),
    "stale": lambda db: db.stale(),
    "reinforce": lambda db: db.reinforce(1),
    "never recalled": lambda db: db.log.never_recalled(limit=20),
}


@pytest.mark.parametrize("verb", ASKED)
def test_no_answer_of_the_store_holds_more_than_a_slice(filled: Path, verb: str) -> None:
    db = recollect.open(filled, model="hashing")
    store = Counting(db.store)
    db.store = store  # type: ignore[assignment]

    ASKED[verb](db)

    assert 0 < store.largest <= BATCH
    db.close()
