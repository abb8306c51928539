"""A value of another type in a damaged row is an error of ours or no tokens, never a TypeError."""

from pathlib import Path

import apsw
import pytest

import recollect
from kit import plain
from recollect.errors import StoreDamaged
from recollect.stores.sql.engine import bump
from recollect.stores.sqlite import open_sqlite
from recollect.stores.token_text import tokens_of


def test_a_counter_that_is_gone_is_damage(tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "notes.db", plain)

    with pytest.raises(StoreDamaged, match="no_such_counter"), store.engine.session(write=True) as session:
        bump(session, "no_such_counter")

    store.close()


def test_tokens_that_are_a_number_are_none() -> None:
    assert tokens_of(5) == {}  # type: ignore[arg-type]


def test_doctor_reports_tokens_that_are_a_number(tmp_path: Path) -> None:
    place = tmp_path / "notes.db"
    with recollect.open(place, model="none") as db:
        db.add("We deploy on Fridays")
    with apsw.Connection(str(place)) as raw:
        raw.execute("update tokens set stem = 5, exact = 6")

    with recollect.open(place, model="none") as db:
        problems = db.doctor(deep=True).problems

    assert problems != ()
