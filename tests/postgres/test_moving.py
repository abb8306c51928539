"""A store moved to another place is the same store: every row, every answer; what was stopped goes on."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from roles import connect_as
from two_projects import MARK, THEIR_ID, fill_two_projects, open_address, whole

import recollect
from kit import NOON, truth
from postgres_server import fresh_database
from recollect.errors import InputError, StoreBusy, StoreDamaged
from recollect.recollection import Recollection
from recollect.records import Merge
from recollect.stores import moving
from recollect.stores.postgres import engine_at
from recollect.stores.sql.engine import Engine
from recollect.stores.sqlite.engine import SqliteEngine

QUERIES = (
    "lighthouse",
    "the port of the lighthouse",
    "lock before the storm",
    "owner",
    f"content{MARK[:-1]}",
    "turn 2",
)
DERIVED = {"meta", "tagged", "document", "collection_stats", "minhash", "tokens", "removed", "segment"}
DERIVED |= {"vector_segment", "vector_removed"}
PLACES: dict[str, Callable[[Path], str]] = {
    "sqlite": lambda folder: str(folder / "moved.db"),
    "postgres": lambda _: fresh_database(),
}


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of two projects with something in every table."""
    folder = tmp_path_factory.mktemp("moving")
    fill_two_projects(str(folder / "notes.db"), folder)
    with open_address(str(folder / "notes.db")) as db:
        db.add("odd signs: \x00 \ud83d \U0010ffff and more", title="odd \udcff", external_id="odd\x00")
        db.store.apply([Merge(id=THEIR_ID, confidence=1.0, wording="Said otherwise")], at=NOON)
    return folder / "notes.db"


def answers(db: Recollection) -> list[Any]:
    """Return the order, the scores and the explanations of what is found, by words and by vectors."""
    found = [db.search(query, mode=mode, limit=20) for query in QUERIES for mode in ("keyword", "semantic", "hybrid")]
    return [[(hit.id, hit.score, hit.snippet) for hit in reply.hits] for reply in found]


def engine_of(address: str) -> Engine:
    return engine_at(address) if "://" in address else SqliteEngine(Path(address))


def rows_of(address: str) -> dict[str, list[Any]]:
    """Return all rows that are not derived, but for the stamps that say when a vector came."""
    engine = engine_of(address)
    with engine.session() as session:
        found = {}
        for table in moving.TABLES:
            names = ", ".join(name for name in table.names if name != "stamp" or table.name != "vector")
            found[table.name] = sorted(session.rows(f"select {names} from {table.name}"), key=repr)
    engine.close()
    return {
        name: [tuple(int(each) if each is True or each is False else each for each in row) for row in rows]
        for name, rows in found.items()
    }


def test_every_table_is_moved_or_derived(tmp_path: Path) -> None:
    engine = SqliteEngine(tmp_path / "new.db")

    with engine.session() as session:
        names = {name for (name,) in session.rows("select name from sqlite_schema where type = 'table'")}

    engine.close()
    assert {name for name in names if not name.startswith("sqlite_")} == DERIVED | {each.name for each in moving.TABLES}


@pytest.mark.req("E-01")
@pytest.mark.parametrize("way", [("postgres",), ("sqlite",), ("postgres", "sqlite"), ("postgres", "postgres")])
def test_a_moved_store_holds_every_row_and_answers_alike(notes: Path, tmp_path: Path, way: tuple[str, ...]) -> None:
    place = str(notes)

    for at, kind in enumerate(way):
        folder = tmp_path / str(at)
        folder.mkdir()
        done = recollect.move(place, new := PLACES[kind](folder))
        place = new

        assert done.rows == {name: len(rows) for name, rows in rows_of(str(notes)).items()}
        assert min(done.rows.values()) > 0
    assert rows_of(place) == rows_of(str(notes))
    with open_address(str(notes)) as old, open_address(place) as new_db:
        assert truth(new_db) == truth(old)
        assert whole(new_db) == whole(old)
        assert answers(new_db) == answers(old)
        assert new_db.doctor(deep=True).problems == ()


def test_ids_and_numbers_go_on_where_they_stood(notes: Path) -> None:
    address = fresh_database()
    recollect.move(notes, address)

    with open_address(address) as db, open_address(str(notes)) as old:
        newest = old.store.stats(scope=old.scope).newest
        row = db.add("The first word after the move", external_id="first").id
        db.search("first word", session="after")
        db.flush()

        assert row == newest + 1
        assert [each.query for each in db.log.recent(session="after")] == ["first word"]


KILLED = """
import os, signal, sys
import recollect
from recollect.stores import moving
moving.SLICE = 7
def progress(done, total, what):
    if what == sys.argv[3] and done >= total * float(sys.argv[4]):
        os.kill(os.getpid(), signal.SIGKILL)
recollect.move(sys.argv[1], sys.argv[2], progress=progress)
"""


def killed(old: str, new: str, what: str, share: float) -> None:
    """Move in a process that is killed when it has come so far."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-c", KILLED, old, new, what, str(share)]
    done = subprocess.run(words, env=env, check=False)  # noqa: S603  (our own program)
    assert done.returncode == -signal.SIGKILL


@pytest.mark.parametrize("kind", PLACES)
def test_what_was_killed_half_way_goes_on(
    notes: Path, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = PLACES[kind](tmp_path)
    for what, share in (("rows copied", 0.3), ("rows copied", 0.8), ("rows compared", 0.5)):
        killed(str(notes), new, what, share)
    copied: list[int] = []
    monkeypatch.setattr(moving, "SLICE", 7)

    done = recollect.move(notes, new, progress=lambda at, _, what: copied.append(at) if what == "rows copied" else None)

    assert copied == []
    assert done.resumed == sum(done.rows.values())
    assert rows_of(new) == rows_of(str(notes))


def test_slices_of_any_size_are_whole(notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving, "SLICE", 3)

    recollect.move(notes, tmp_path / "moved.db")

    assert rows_of(str(tmp_path / "moved.db")) == rows_of(str(notes))


def test_a_half_moved_store_is_told_of(notes: Path, tmp_path: Path) -> None:
    killed(str(notes), str(tmp_path / "moved.db"), "rows copied", 0.5)

    with open_address(str(tmp_path / "moved.db")) as db:
        assert any("not finished" in problem for problem in db.doctor().problems)


def test_a_store_that_changed_since_is_not_gone_on_with(notes: Path, tmp_path: Path) -> None:
    old, new = str(tmp_path / "notes.db"), str(tmp_path / "moved.db")
    recollect.move(notes, old)
    killed(old, new, "rows copied", 0.5)
    with open_address(old) as db:
        db.add("Something new")

    with pytest.raises(InputError, match="half of another store, or of one that changed"):
        recollect.move(old, new)


def test_a_row_that_arrived_changed_is_noticed(notes: Path, tmp_path: Path) -> None:
    new = str(tmp_path / "moved.db")
    killed(str(notes), new, "rows compared", 0.01)
    engine = SqliteEngine(Path(new))
    with engine.session(write=True) as session:
        session.rows("update note set value = '{}' where kind = 'token'")
    engine.close()

    with pytest.raises(StoreDamaged, match="a row of note arrived changed"):
        recollect.move(notes, new)


def test_only_an_empty_store_is_moved_into(notes: Path, tmp_path: Path) -> None:
    full, link = str(tmp_path / "full.db"), tmp_path / "link.db"
    with open_address(full) as db:
        db.add("Mine")
    link.symlink_to(notes)

    for old, new, told in (
        (str(notes), full, "memories of its own"),
        (str(notes), str(notes), "one store"),
        (str(notes), str(link), "one store"),
        (str(tmp_path / "none.db"), full, "there is no store"),
        (str(notes), ":memory:", "in memory"),
        ("mysql://u:secret@h/d", full, "no store is known for mysql://u@h/d"),
    ):
        with pytest.raises(InputError, match=told):
            recollect.move(old, new)


def test_a_server_without_a_store_is_no_source_and_gets_none(tmp_path: Path) -> None:
    address = fresh_database() + "&schema=other"

    for _ in range(2):
        with pytest.raises(InputError, match="there is no store at"):
            recollect.move(address, tmp_path / "new.db")


def test_what_takes_longer_than_a_question_may_is_moved_all_the_same(notes: Path, tmp_path: Path) -> None:
    address = fresh_database()
    recollect.move(notes, address)
    with connect_as(address) as db:
        db.execute(
            "create function slow() returns trigger language plpgsql as "
            "$$ begin perform pg_sleep(0.4); return null; end $$"
        )
        db.execute("create trigger slow after delete on note for each statement execute function slow()")
    with open_address(f"{address}&seconds=0.2") as moved:
        moved.backups.create(tmp_path / "copy.db")

        assert moved.backups.restore(tmp_path / "copy.db").memories == moved.stats().memories
        with pytest.raises(StoreBusy):
            moved.store.put_note("token", "x", None)


def test_what_is_written_meanwhile_stays_behind_and_is_told_of(notes: Path, tmp_path: Path) -> None:
    old, new = str(tmp_path / "notes.db"), str(tmp_path / "moved.db")
    recollect.move(notes, old)
    late: list[int] = []

    def progress(*_: object) -> None:
        if not late:
            with open_address(old) as db:
                late.append(db.add("Written while the store was moved").id)

    done = recollect.move(old, new, progress=progress)

    assert done.left_behind
    assert rows_of(new) == rows_of(str(notes))


def run(*words: str) -> "subprocess.CompletedProcess[str]":
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "recollect", *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)  # noqa: S603


def test_the_verb_tells_how_many_rows_and_no_password(notes: Path, tmp_path: Path) -> None:
    address = fresh_database().replace("user=recollect", "user=recollect&password=hush1234")

    done = run("store", "move", str(notes), address)
    again = run("store", "move", str(notes), address, "--json")
    back = run("store", "move", address, str(tmp_path / "back.db"), "--json")

    assert "every row was compared and is equal" in done.stdout
    assert json.loads(again.stderr)["error"]["message"] == "the store to move into holds memories of its own"
    assert json.loads(back.stdout)["rows"]["memory"] == len(rows_of(str(notes))["memory"])
    assert "hush1234" not in "".join(each.stdout + each.stderr for each in (done, again, back))
