"""The counter of ids ends where a database's whole numbers do, and says so."""

import sqlite3
from pathlib import Path

import pytest

import recollect
from recollect.errors import StoreError


@pytest.mark.parametrize("counter", ["newest", "newest_fact"])
def test_a_store_without_ids_left_says_so_in_one_line_and_keeps_what_it_has(tmp_path: Path, counter: str) -> None:
    path = tmp_path / "store.db"
    with recollect.open(path, model="none") as db:
        db.add("The gate is blue")
    with sqlite3.connect(path) as raw:
        raw.execute("update meta set value = ? where key = ?", (2**63 - 1, counter))
    raw.close()

    with recollect.open(path, model="none") as db:
        with pytest.raises(StoreError, match="no ids left") as raised:
            db.add("Owner: Mara of the billing team")

        assert "new store" in raised.value.hint
        assert [memory.id for memory in db.list().memories] == [1]
