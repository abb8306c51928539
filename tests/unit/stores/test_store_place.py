"""Where a store lies: who may read it, what if it is replaced, what can be done where nothing can be written."""

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import powerless
import pytest

import recollect
from kit import NOON, plain
from recollect import StoreError
from recollect.records import Insert, Memory
from recollect.settings import save_setting
from recollect.stores.sqlite import open_sqlite
from recollect.stores.sqlite.engine import migrations


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(autouse=True)
def _usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


# --- for the owner alone --------------------------------------------------------------------


def test_a_store_and_the_folders_made_for_it_are_for_their_owner_alone(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "deep" / "down" / "notes.db", model="none") as db:
        db.add("a secret plan")

        files = {path.name: mode(path) for path in (tmp_path / "deep" / "down").iterdir()}

    assert files == {"notes.db": 0o600, "notes.db-wal": 0o600, "notes.db-shm": 0o600}
    assert (mode(tmp_path / "deep"), mode(tmp_path / "deep" / "down")) == (0o700, 0o700)


def test_a_store_behind_a_link_is_for_its_owner_alone(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "real.db")

    recollect.open(tmp_path / "link.db", model="none").close()

    assert mode(tmp_path / "real.db") == 0o600


def test_saved_settings_are_for_their_owner_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_CONFIG", str(tmp_path / "config" / "settings.toml"))

    path = save_setting("model", "none")

    assert (mode(path), mode(path.parent)) == (0o600, 0o700)


def test_rights_that_somebody_gave_to_others_stay_and_doctor_tells_of_them(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    recollect.open(path, model="none").close()
    path.chmod(0o644)

    with recollect.open(path, model="none") as db:
        db.add("cat")
        health = db.doctor()

    assert mode(path) == 0o644
    assert health.problems == ()
    assert f"other users may have access to {path}; if they should not, run: chmod 600 {path}" in health.advice


# --- replaced or removed while open ---------------------------------------------------------


def memories(path: Path) -> list[str]:
    with recollect.open(path, model="none") as db:
        return sorted(memory.content for memory in db.list().memories)


def made(path: Path, *texts: str) -> Path:
    with recollect.open(path, model="none") as db:
        for text in texts:
            db.add(text)
    return path


def test_a_write_to_a_store_that_was_replaced_is_refused_and_the_new_one_is_untouched(tmp_path: Path) -> None:
    path, new = made(tmp_path / "a.db", "old cat"), made(tmp_path / "b.db", "new dog")
    db = recollect.open(path, model="none")
    new.replace(path)

    with pytest.raises(StoreError, match="was replaced while it was open") as caught:
        db.add("never acknowledged")
    with pytest.raises(StoreError, match="was replaced while it was open"):
        db.search("cat")
    db.close()

    assert caught.value.hint == "open the store again"
    assert memories(path) == ["new dog"]


def test_the_log_of_the_old_store_never_overwrites_the_new_one(tmp_path: Path) -> None:
    path, new = made(tmp_path / "a.db"), made(tmp_path / "b.db", "new dog")
    db = recollect.open(path, model="none")
    for number in range(20):
        db.add(f"note {number} of the old store")
    new.replace(path)

    with pytest.raises(StoreError, match="took the place of another store, whose log") as caught:
        recollect.open(path, model="none")
    with pytest.raises(StoreError, match="was replaced while it was open"):
        db.add("never acknowledged")
    db.close()
    for ending in ("-wal", "-shm"):
        path.with_name(f"a.db{ending}").unlink()

    assert "remove its -wal and -shm" in caught.value.hint
    assert memories(path) == ["new dog"]


def test_a_write_to_a_store_that_was_removed_is_never_acknowledged(tmp_path: Path) -> None:
    path = made(tmp_path / "a.db", "cat")
    db = recollect.open(path, model="none")
    path.unlink()

    with pytest.raises(StoreError, match="was removed while it was open"):
        db.add("lost")
    with pytest.raises(StoreError, match="was removed while it was open"):
        db.search("cat")

    db.close()
    assert not path.exists()


def test_a_store_replaced_in_the_middle_of_a_write_is_not_acknowledged(tmp_path: Path) -> None:
    path, new = made(tmp_path / "a.db", "cat"), made(tmp_path / "b.db", "new dog")
    store = open_sqlite(path, plain)

    def write() -> None:
        with store.transaction():
            store.apply([Insert(memory=Memory(content="lost"))], at=NOON)
            new.replace(path)

    with pytest.raises(StoreError, match="was replaced"):
        write()


# --- where nothing can be written -----------------------------------------------------------


@contextmanager
def only_read(path: Path, *, folder: bool = True, file: bool = True) -> Iterator[None]:
    """Take the right to write away from the file and its folder, as long as it takes."""
    path.chmod(0o400 if file else 0o600)
    path.parent.chmod(0o500 if folder else 0o700)
    try:
        yield
    finally:
        path.parent.chmod(0o700)
        path.chmod(0o600)


def run(*words: str, db: Path) -> tuple[int, str]:
    """Run a command without privileges; return its exit code and all that it said."""
    command = [sys.executable, powerless.__file__, "--db", str(db), "--model", "none", *words]
    surroundings = {**os.environ, "RECOLLECT_CONFIG": ""}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=surroundings)  # noqa: S603
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("locked", [{"folder", "file"}, {"folder"}, {"file"}])
def test_a_store_that_can_only_be_read_is_searched_and_nothing_is_written(tmp_path: Path, locked: set[str]) -> None:
    path = made(tmp_path / "cd" / "notes.db", "the cat sat on the mat")

    with only_read(path, folder="folder" in locked, file="file" in locked):
        before = path.read_bytes()
        searched, shown, health = (run(*words, db=path) for words in (("search", "cat"), ("list",), ("doctor",)))
        logged = run("search", "cat", "--session", "s", db=path)
        refused = run("add", "a dog", db=path)
        after = path.read_bytes()

    assert (searched[0], logged[0], shown[0], health[0]) == (0, 0, 0, 0)
    assert "the cat sat" in searched[1]
    assert refused == (
        3,
        f"error: {path} can only be read here (check the rights of the file and its folder)\n",
    )
    assert before == after
    assert [each.name for each in path.parent.iterdir()] == ["notes.db"]


def test_a_store_that_can_only_be_read_is_backed_up_without_a_note_of_it(tmp_path: Path) -> None:
    path, copy = made(tmp_path / "cd" / "notes.db", "the cat sat on the mat"), tmp_path / "copy.db"

    with only_read(path, folder=True, file=True):
        told = run("backup", str(copy), db=path)
        last = run("stats", db=path)

    assert told == (0, f"1 memories backed up to {copy}\n")
    assert "last backup: never" in last[1]


def test_an_older_store_that_can_only_be_read_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "cd" / "notes.db"
    path.parent.mkdir()
    with apsw.Connection(str(path)) as db:
        db.execute(migrations()[0])
        db.execute("pragma application_id = 0x5EC011EC; pragma user_version = 1")
    db.close()

    with only_read(path):
        code, said = run("search", "cat", db=path)

    assert (code, said.count("\n")) == (3, 1)
    assert "older recollect and cannot be brought up to date where it can only be read" in said


def test_changes_that_only_the_log_holds_are_told_of_where_they_cannot_be_read(tmp_path: Path) -> None:
    path = made(tmp_path / "cd" / "notes.db", "cat")
    with recollect.open(path, model="none") as db:
        db.add("only in the log so far")
        shutil.copytree(path.parent, tmp_path / "copy")
    copy = tmp_path / "copy" / "notes.db"
    copy.with_name("notes.db-shm").unlink()

    with only_read(copy):
        code, said = run("search", "cat", db=copy)

    assert (code, said.count("\n")) == (3, 1)
    assert "has changes in its -wal that cannot be read where nothing can be written" in said


def test_a_change_that_was_left_in_the_middle_is_told_of_where_it_cannot_be_undone(tmp_path: Path) -> None:
    path = made(tmp_path / "cd" / "notes.db", "cat")
    path.with_name("notes.db-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7")

    with only_read(path):
        code, said = run("search", "cat", db=path)

    assert (code, said.count("\n")) == (3, 1)
    assert "left in the middle of a change" in said


def test_a_store_that_others_change_is_opened_anew_where_it_can_only_be_read(tmp_path: Path) -> None:
    script = (
        "import sys, powerless; powerless.give_up_privileges()\n"
        "import recollect\n"
        "db = recollect.open(sys.argv[1], model='none')\n"
        "print(len(db.search('cat').hits), flush=True)\n"
        "sys.stdin.readline()\n"
        "try:\n    db.search('cat')\n"
        "except recollect.StoreError as error:\n    print(error)\n"
    )
    path = made(tmp_path / "cd" / "notes.db", "the cat sat")
    with only_read(path):
        reader = subprocess.Popen(  # noqa: S603
            [sys.executable, "-c", script, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert reader.stdout is not None
        first = reader.stdout.readline()
    made(path, "another cat")

    rest, _ = reader.communicate("\n")

    assert (first, rest) == ("1\n", f"{path} was replaced while it was open\n")


# --- half made ------------------------------------------------------------------------------


def test_a_file_whose_making_was_interrupted_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.write_bytes(bytes(4096))
    header = bytes.fromhex("d9d505f920a163d7") + bytes(4) + b"salt" + bytes(4) + (512).to_bytes(4, "big")
    path.with_name("notes.db-journal").write_bytes((header + (4096).to_bytes(4, "big")).ljust(512, b"\0"))

    with recollect.open(path, model="none") as db:
        db.add("cat")

    assert memories(path) == ["cat"]


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "notes.db")

    with pytest.raises(StoreError, match="is not a file"):
        recollect.open(tmp_path / "notes.db", model="none")


def test_two_stores_on_one_file_keep_each_others_locks(tmp_path: Path) -> None:
    path = made(tmp_path / "notes.db", "cat")
    one = recollect.open(path, model="none")
    one.add("dog")
    recollect.open(path, model="none").close()

    script = "import sys, recollect\nwith recollect.open(sys.argv[1], model='none') as db: db.add('cow')"
    subprocess.run([sys.executable, "-c", script, str(path)], check=True)  # noqa: S603
    there = path.with_name("notes.db-wal").exists()
    one.add("owl")
    one.close()

    assert there
    assert memories(path) == ["cat", "cow", "dog", "owl"]
