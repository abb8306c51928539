"""Backups by name: a folder that keeps the newest, what is told of the last one, and the way back."""

from datetime import timedelta
from pathlib import Path

import pytest

import recollect
from kit import NOON
from recollect.errors import InputError
from recollect.recollection import Recollection


class Clock:
    """A clock that goes on by a second each time it is read."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> object:
        self.now += timedelta(seconds=1)
        return self.now


def opened(path: Path | str) -> Recollection:
    return recollect.open(path, model="none", clock=Clock())  # type: ignore[arg-type]


def test_a_folder_keeps_the_newest_backups_of_this_store_and_everything_else(tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    with opened(tmp_path / "notes.db") as db, opened(tmp_path / "sub" / "notes.db") as namesake:
        db.add("a cat")
        others = Path(namesake.backups.create_in(folder).path)
        first = Path(db.backups.create_in(folder).path)
        stranger = first.with_name(first.name.replace("2026", "2020"))
        stranger.write_text("not a store, though it has the name of one")
        made = [db.backups.create_in(folder, keep=2) for _ in range(3)]

    names = {each.name for each in folder.iterdir()}
    assert names == {others.name, stranger.name, *(Path(each.path).name for each in made[1:])}
    assert [each.pruned for each in made] == [(), (str(first),), (made[0].path,)]


def test_no_fewer_than_one_backup_is_kept(tmp_path: Path) -> None:
    with opened(tmp_path / "notes.db") as db, pytest.raises(InputError, match="cannot keep 0"):
        db.backups.create_in(tmp_path, keep=0)


def test_the_last_backup_is_told_by_the_store_and_by_a_check_up(tmp_path: Path) -> None:
    with opened(tmp_path / "notes.db") as db:
        never = db.backups.last()
        made = db.backups.create(tmp_path / "copy.db")

        assert never is None
        assert db.backups.last() == {"at": made.at.isoformat(), "path": str(tmp_path / "copy.db")}
        assert db.doctor().last_backup == db.backups.last()


def test_a_backup_is_put_back_and_what_was_here_is_kept_beside_the_store(tmp_path: Path) -> None:
    with opened(tmp_path / "notes.db") as db:
        db.add("a cat")
        db.backups.create(tmp_path / "copy.db")
        db.add("a fox")

        tried = db.backups.restore(tmp_path / "copy.db", dry_run=True)
        done = db.backups.restore(tmp_path / "copy.db")

        assert (tried.applied, tried.memories, tried.replaced) == (False, 1, 2)
        assert not Path(str(tried.aside)).exists()
        assert (done.applied, done.memories, done.replaced, db.stats().memories) == (True, 1, 2, 1)
        assert Path(str(done.aside)).parent == tmp_path
        assert db.backups.restore(str(done.aside)).memories == 2


def test_a_store_in_memory_is_backed_up_and_put_back_too(tmp_path: Path) -> None:
    with opened(":memory:") as db:
        db.add("a cat")
        made = db.backups.create_in(tmp_path, keep=1)
        db.add("a fox")

        done = db.backups.restore(made.path)

        assert (done.memories, done.aside, db.stats().memories) == (1, None, 1)
    with opened(made.path) as again:
        assert [memory.content for memory in again.list().memories] == ["a cat"]


def test_within_a_project_the_whole_store_is_neither_copied_nor_replaced(tmp_path: Path) -> None:
    with opened(tmp_path / "notes.db") as db:
        db.add("a cat")
        db.backups.create(tmp_path / "copy.db")
        view = db.in_project("shop")
        acts = (
            lambda: view.backups.create(tmp_path / "second.db"),
            lambda: view.backups.create_in(tmp_path / "folder"),
            lambda: view.backups.restore(tmp_path / "copy.db"),
        )

        for act in acts:
            with pytest.raises(InputError, match="every project"):
                act()

        assert not (tmp_path / "second.db").exists()
