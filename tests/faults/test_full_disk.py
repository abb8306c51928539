"""A disk that is full, or a file that may not grow: an error that says so, and everything from before is there."""

import subprocess
import sys
from pathlib import Path

import apsw
import pytest

import recollect
from recollect import StoreError

LIMITED = """
import resource, signal, sys
import recollect

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (800_000, 800_000))
db = recollect.open(sys.argv[1], model="none")
kept = 0
try:
    while kept < 5000:
        db.add(f"entry {kept} " + "filler words " * 30, external_id=str(kept))
        kept += 1
except recollect.StoreError as error:
    print(kept, error.hint != "", str(error).count("\\n"))
"""


def test_a_full_disk_is_an_error_and_nothing_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "notes.db"
    with recollect.open(path, model="none") as db:
        db.add("We ship on Tuesday")
        pages = apsw.Connection(str(path)).pragma("page_count")
    monkeypatch.setattr(apsw, "connection_hooks", [lambda made: made.pragma("max_page_count", pages)])

    with recollect.open(path, model="none") as db:
        with pytest.raises(StoreError, match="full") as caught:
            db.add("more than fits " * 5000)
        during = [hit.memory.content for hit in db.search("ship").hits]
    monkeypatch.setattr(apsw, "connection_hooks", [])
    with recollect.open(path, model="none") as db:
        db.add("Room again")
        after = {memory.content for memory, _ in db.export()}

        assert db.doctor().problems == ()
    assert caught.value.hint
    assert during == ["We ship on Tuesday"]
    assert after == {"We ship on Tuesday", "Room again"}


def test_a_full_disk_stops_an_import_and_the_next_one_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, folder = tmp_path / "notes.db", tmp_path / "notes"
    folder.mkdir()
    for n in range(40):
        (folder / f"{n:02}.md").write_text(f"note number {n} " + f"word{n} other{n * n} " * 200)
    recollect.open(path, model="none").close()
    pages = apsw.Connection(str(path)).pragma("page_count")
    monkeypatch.setattr(apsw, "connection_hooks", [lambda made: made.pragma("max_page_count", pages + 20)])

    with recollect.open(path, model="none") as db, pytest.raises(StoreError, match="full"):
        db.import_(folder)
    monkeypatch.setattr(apsw, "connection_hooks", [])
    with recollect.open(path, model="none") as db:
        before = db.stats().memories
        done = db.import_(folder)

        assert (done.memories["unchanged"], done.files["skipped"] + done.files["imported"]) == (before, 40)
        assert before > 0
        assert done.memories["new"] > 0
        assert db.doctor().problems == ()


def test_a_file_that_may_not_grow_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"

    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, check=False
    )

    kept, hinted, breaks = done.stdout.split()
    assert (done.stderr, hinted, breaks) == ("", "True", "0")
    with recollect.open(path, model="none") as db:
        assert {memory.external_id for memory, _ in db.export()} == {str(n) for n in range(int(kept))}
        assert db.doctor().problems == ()
