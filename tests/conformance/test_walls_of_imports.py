"""What importing never does: forget for an absent folder, write into another project, leave the folder by a link."""

import json
import os
from pathlib import Path

import pytest

from recollect import Recollection
from recollect.errors import InputError
from recollect.records import Memory, Source
from recollect.remember.import_files import ImportReport


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return folder


def many(folder: Path, count: int) -> Path:
    return write(folder, **{f"n{number}": f"# S\n\nsubject{number} stays\n" for number in range(count)})


def contents(db: Recollection) -> set[str]:
    return {memory.content for memory in db.list(limit=100).memories}


def told(done: ImportReport) -> tuple[int, int, int]:
    return done.memories["removed"], done.files["withheld"], done.memories["withheld"]


# --- absent folders -------------------------------------------------------------------------


def test_a_folder_that_is_away_is_refused_and_nothing_is_forgotten(db: Recollection, tmp_path: Path) -> None:
    folder = write(tmp_path / "mnt", a="first", b="second")
    db.import_(folder)
    folder.rename(tmp_path / "away")

    done, pruned = db.import_(folder), db.import_(folder, prune=True)

    assert [problem.reason for problem in done.errors] == ["not found"]
    assert (told(done), told(pruned), contents(db)) == ((0, 0, 0), (0, 0, 0), {"first", "second"})


def test_an_emptied_folder_forgets_only_when_told_to_prune(db: Recollection, tmp_path: Path) -> None:
    folder = write(tmp_path / "mnt", a="first", b="second")
    db.import_(folder)
    for path in folder.iterdir():
        path.unlink()

    done = db.import_(folder)
    before = contents(db)
    pruned = db.import_(folder, prune=True)

    assert (told(done), before) == ((0, 2, 2), {"first", "second"})
    assert (told(pruned), contents(db)) == ((2, 0, 0), set())


def test_importing_the_parent_of_a_root_that_is_away_forgets_nothing(db: Recollection, tmp_path: Path) -> None:
    parent = write(tmp_path / "all", other="third", more="fourth", last="fifth")
    folder = write(parent / "mnt", a="first", b="second")
    db.import_(folder)
    db.import_(parent)
    folder.rename(tmp_path / "away")

    done = db.import_(parent)

    assert (told(done), len(contents(db))) == ((0, 2, 2), 5)


def test_one_file_of_several_goes_without_asking(db: Recollection, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", a="first", b="second")
    db.import_(folder)
    (folder / "a.md").unlink()

    done = db.import_(folder)

    assert (told(done), contents(db)) == ((1, 0, 0), {"second"})


@pytest.mark.parametrize(("gone", "expected"), [(5, (5, 0, 0)), (6, (0, 6, 6))])
def test_more_than_half_and_more_than_five_files_go_only_when_told(
    db: Recollection, tmp_path: Path, gone: int, expected: tuple[int, int, int]
) -> None:
    folder = many(tmp_path / "notes", 9)
    db.import_(folder)
    for number in range(gone):
        (folder / f"n{number}.md").unlink()

    done = db.import_(folder)

    assert told(done) == expected


def test_a_folder_whose_files_all_got_other_names_loses_nothing(db: Recollection, tmp_path: Path) -> None:
    folder = many(tmp_path / "notes", 9)
    db.import_(folder)
    before = contents(db)
    for path in list(folder.iterdir()):
        path.rename(folder / f"renamed-{path.name}")

    done = db.import_(folder)

    assert (told(done), contents(db)) == ((0, 0, 0), before)
    assert all("renamed-" in str(memory.source) for memory in db.list(limit=100).memories)


def test_what_lay_on_another_device_is_away_and_not_gone(db: Recollection, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", a="first", b="second", c="third")
    db.import_(folder)
    name = (folder / "a.md").as_posix()
    held = db.store.sources(below=name, project="default")[name]
    db.store.record_source(name, Source(fingerprint="f", pieces=held.pieces, device=held.device + 1), project="default")
    (folder / "a.md").unlink()

    done = db.import_(folder)
    kept = contents(db)
    pruned = db.import_(folder, prune=True)

    assert held.device == folder.stat().st_dev
    assert (told(done), kept) == ((0, 1, 1), {"first", "second", "third"})
    assert (told(pruned), contents(db)) == ((1, 0, 0), {"second", "third"})


def test_a_device_that_only_got_another_number_is_no_absence(db: Recollection, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", a="first", b="second", c="third")
    db.import_(folder)
    for name, held in db.store.sources(below=folder.as_posix(), project="default").items():
        source = Source(fingerprint=held.fingerprint, pieces=held.pieces, device=held.device + 1, root=held.root)
        db.store.record_source(name, source, project="default")
    (folder / "a.md").unlink()

    done = db.import_(folder)

    assert (told(done), contents(db)) == ((1, 0, 0), {"second", "third"})


def test_what_lies_behind_a_link_that_leads_nowhere_is_away(db: Recollection, tmp_path: Path) -> None:
    disk = write(tmp_path / "disk", a="first")
    folder = write(tmp_path / "notes", b="second", c="third")
    (folder / "linked").symlink_to(disk)
    db.import_(folder, follow_links=True)
    disk.rename(tmp_path / "unplugged")

    done = db.import_(folder, follow_links=True)

    assert [Path(problem.path).name for problem in done.errors] == ["linked"]
    assert (told(done), contents(db)) == ((0, 0, 0), {"first", "second", "third"})


def test_what_returns_is_the_memory_it_was(db: Recollection, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", a="# S\n\nfirst\n", b="second")
    db.import_(folder)
    row = next(memory.id for memory in db.list().memories if memory.content == "first")
    db.feedback(row, "useful")
    folder.rename(tmp_path / "away")
    folder.mkdir()
    db.import_(folder, prune=True)
    forgotten = contents(db)
    folder.rmdir()
    (tmp_path / "away").rename(folder)

    done = db.import_(folder)

    memory = db.show(row).memory
    assert (forgotten, done.memories["revived"], done.memories["new"]) == (set(), 2, 0)
    assert (memory.content, memory.deleted_at) == ("first", None)
    assert [event.verb for event in db.show(row).events][-3:] == ["feedback", "forget", "restore"]


def test_what_is_pinned_outlives_its_file(db: Recollection, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", a="first", b="second")
    db.import_(folder)
    db.pin(next(memory.id for memory in db.list().memories if memory.content == "first"))
    (folder / "a.md").unlink()
    (folder / "b.md").unlink()

    db.import_(folder, prune=True)

    assert contents(db) == {"first"}


def test_a_paragraph_that_returns_is_the_memory_it_was_and_one_forgotten_by_hand_stays_so(
    db: Recollection, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("The first.\n\nThe second.\n\nThe third.")
    db.import_(path)
    rows = {memory.content: memory.id for memory in db.list().memories}
    path.write_text("The third.")
    db.import_(path)
    db.restore(rows["The second."])
    db.forget(rows["The second."])
    path.write_text("The first.\n\nThe second.\n\nThe third.")

    done = db.import_(path)

    assert (done.memories["revived"], done.memories["new"]) == (1, 0)
    assert {memory.content: memory.id for memory in db.list().memories} == {
        name: rows[name] for name in ("The first.", "The third.")
    }


def test_what_somebody_wrote_down_meanwhile_is_not_brought_back_beside_it(db: Recollection, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", a="We ship on Tuesday", b="second")
    db.import_(folder)
    (folder / "a.md").unlink()
    db.import_(folder)
    added = db.add("We ship on Tuesday").id
    write(folder, a="We ship on Tuesday")

    done = db.import_(folder)

    assert (done.memories["revived"], done.memories["new"]) == (0, 0)
    assert [memory.id for memory in db.list().memories if memory.content == "We ship on Tuesday"] == [added]


# --- projects -------------------------------------------------------------------------------


def test_the_same_folder_gives_each_project_memories_of_its_own(db: Recollection, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", a="# S\n\nWe ship on Tuesday\n", b="second")
    mine, yours = db.in_project("mine"), db.in_project("yours")

    first, second = mine.import_(folder), yours.import_(folder)
    write(folder, a="# S\n\nWe ship on Wednesday\n")
    yours.import_(folder)
    edited = contents(mine), contents(yours)
    (folder / "a.md").unlink()
    yours.import_(folder)

    assert (first.memories["new"], second.memories["new"]) == (2, 2)
    assert edited == ({"We ship on Tuesday", "second"}, {"We ship on Wednesday", "second"})
    assert (contents(mine), contents(yours)) == ({"We ship on Tuesday", "second"}, {"second"})


def test_an_import_for_no_project_is_one_for_the_default_and_touches_no_other(db: Recollection, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", a="first", b="second")
    mine = db.in_project("mine")
    mine.import_(folder)

    db.import_(folder)
    (folder / "a.md").unlink()
    db.import_(folder)

    assert contents(mine) == {"first", "second"}
    assert contents(db.in_project("default")) == {"second"}


def test_a_project_that_is_chosen_wins_over_what_a_record_says(db: Recollection, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": "what the record says", "project": "theirs"}), encoding="utf-8")

    db.in_project("mine").import_(path)
    before = dict(db.stats().projects)
    db.import_(path)

    assert before == {"mine": 1}
    assert db.stats().projects == {"mine": 1, "theirs": 1}


def test_importing_as_the_default_project_never_changes_what_a_record_put_elsewhere(
    db: Recollection, tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": "one thing", "project": "theirs"}), encoding="utf-8")
    db.import_(path)
    path.write_text(json.dumps({"text": "another thing"}), encoding="utf-8")

    db.in_project("default").import_(path)

    assert contents(db.in_project("theirs")) == {"one thing"}
    assert contents(db.in_project("default")) == {"another thing"}


def test_a_view_of_a_project_writes_to_no_other(db: Recollection) -> None:
    mine = db.in_project("mine")

    mine.add_all([Memory(content="named no project")])
    mine.capture("[MEMORY] project=theirs: Close cursors before the pool")

    assert set(db.stats().projects) == {"mine"}
    with pytest.raises(InputError, match="the project theirs cannot be written here"):
        mine.add("anything", project="theirs")


# --- links and odd files --------------------------------------------------------------------


def test_a_link_out_of_the_folder_is_followed_only_when_told(db: Recollection, tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", theirs="a secret of somebody")
    folder = write(tmp_path / "notes", a="first")
    (folder / "inside.md").symlink_to(folder / "a.md")
    (folder / "file.md").symlink_to(outside / "theirs.md")
    (folder / "folder").symlink_to(outside)
    (folder / "up.md").symlink_to("../outside/theirs.md")

    done = db.import_(folder)
    before = contents(db)
    followed = db.import_(folder, follow_links=True)

    assert (done.files["links"], before) == (3, {"first"})
    assert (followed.files["links"], contents(db)) == (0, {"first", "a secret of somebody"})


def test_a_root_that_is_a_link_is_entered(db: Recollection, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", a="first")
    (tmp_path / "link").symlink_to(folder)

    done = db.import_(tmp_path / "link")

    assert (done.files["links"], contents(db)) == (0, {"first"})


def test_an_ignore_file_that_never_ends_is_refused_and_not_read(db: Recollection, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", a="first")
    (folder / ".gitignore").symlink_to("/dev/zero")
    os.mkfifo(folder / ".recollectignore")
    large = write(tmp_path / "large", b="second")
    (large / ".gitignore").write_text("x\n" * 60_000)

    done = db.import_(folder, large)

    assert sorted(problem.reason.partition(",")[0] for problem in done.errors) == [
        "more than 100 KB of patterns",
        "not a regular file",
        "not a regular file",
    ]
    assert contents(db) == {"first", "second"}
