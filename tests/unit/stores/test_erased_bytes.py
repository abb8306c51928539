"""After an erasure the files of a store hold no byte of what was erased."""

import json
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

import recollect
from recollect import Recollection
from recollect.files import replacing
from recollect.operations.answer import write_file
from recollect.records import ALL_PROJECTS, Recall
from recollect.stores.sqlite.recover import recover
from recollect.stores.token_text import unpacked

WORDS = ("xylophonist", "Brunhilde", "quetzalcoatl", "Marimba", "zanzibarish", "mandrake", "Oxbridge")
ERASED = "The xylophonist Brunhilde keeps the quetzalcoatl password in drawer seven"


def opened(folder: Path) -> Recollection:
    return recollect.open(folder / "notes.db", model="hashing")


def filled(folder: Path) -> tuple[Recollection, int]:
    """Return a store of a hundred memories and the one that is to be erased."""
    db = opened(folder)
    db.add_all([recollect.Memory(content=f"engine{n} drives wheel{n} through gear{n}") for n in range(100)])
    about = {"title": "Marimba secrets", "tags": ("zanzibarish",), "source": "notes/mandrake.md"}
    return db, db.add(ERASED, metadata={"school": "Oxbridge"}, **about).id


def words_in(folder: Path) -> dict[str, set[str]]:
    """Return which of WORDS each file holds, in any case."""
    files = {path.name: path.read_bytes().lower() for path in folder.iterdir() if path.is_file()}
    return {name: found for name, held in files.items() if (found := {w for w in WORDS if w.lower().encode() in held})}


def test_no_byte_is_left_of_an_erased_memory(tmp_path: Path) -> None:
    db, row = filled(tmp_path)
    db.search("where does Brunhilde keep it?", session="s")
    before = words_in(tmp_path)

    report = db.purge([row], verify=True)

    assert set(*before.values()) == set(WORDS)
    assert report.is_clean
    assert words_in(tmp_path) == {}


def test_pages_that_were_freed_long_ago_hold_nothing_either(tmp_path: Path) -> None:
    db, row = filled(tmp_path)
    long = db.add(f"{ERASED}. " + " ".join(f"filler{n}" for n in range(3_000))).id
    db.add("something else now", external_id="e", source="x")
    db.add("Brunhilde was here", external_id="f")
    db.add("nobody was here", external_id="f")
    db.forget(row)
    db.reindex()
    db.close()

    with opened(tmp_path) as again:
        again.purge([row, long])
        edited = [memory.id for memory in again.list(limit=200).memories if memory.external_id == "f"]
        again.purge(edited)
        left = words_in(tmp_path)

    assert left == {}


def test_the_word_index_is_as_if_the_memory_had_never_been(tmp_path: Path) -> None:
    db, row = filled(tmp_path)

    db.purge([row])
    db.close()

    with apsw.Connection(str(tmp_path / "notes.db")) as raw:
        texts = " ".join(text for (data,) in raw.execute("select stem from tokens") for text in unpacked(data))
        free = raw.pragma("freelist_count")
    assert not [word for word in ("xylophonist", "marimba", "oxbridge", "brunhild") if word in texts]
    assert free == 0


def test_a_project_is_gone_with_its_name(tmp_path: Path) -> None:
    db, _ = filled(tmp_path)
    ours = db.in_project("Oxbridge-kilimanjaro")
    ours.add("the fjord of Svalbard")
    ours.search("fjord", session="s")

    report = db.purge(project="Oxbridge-kilimanjaro", verify=True)

    assert report.is_clean
    held = (tmp_path / "notes.db").read_bytes()
    assert b"kilimanjaro" not in held
    assert b"Svalbard" not in held


@pytest.mark.parametrize("name", ["default", "memory", "version"])
def test_a_project_called_by_a_word_of_our_own_is_no_trace(tmp_path: Path, name: str) -> None:
    with opened(tmp_path) as db:
        db.in_project(name).add("the fjord of Svalbard")

        report = db.purge(project=name, verify=True)

    assert report.traces == ()


def test_what_another_memory_says_too_is_no_trace(tmp_path: Path) -> None:
    db, row = filled(tmp_path)
    db.add("Brunhilde plays the Marimba; ask the XYLOPHONIST", tags=("zanzibarish",))

    report = db.purge([row], verify=True)

    assert report.is_clean
    assert words_in(tmp_path)["notes.db"] == {"Brunhilde", "Marimba", "xylophonist", "zanzibarish"}


def test_a_text_that_is_left_is_found(tmp_path: Path) -> None:
    db, _ = filled(tmp_path)
    recall = Recall(query="the ocelot of Zanzibar", mode="m", outcome="none", at=db.now())
    db.store.log_recall([recall])

    report = db.purge(verify=True, trace=["ocelot of Zan", "engine7 drives"])

    assert not report.is_clean
    assert report.traces[0].endswith("holds 'ocelot of Zan'")
    assert len(report.traces) == 1


def test_compressed_tokens_that_are_left_are_found(tmp_path: Path) -> None:
    db, row = filled(tmp_path)
    with apsw.Connection(str(tmp_path / "notes.db")) as other:
        other.execute("create table left_over as select stem from tokens where id = ?", (row,))
    other.close()

    report = db.purge([row], verify=True)

    assert report.traces == ("notes.db holds bytes of a vector or of compressed words",)


def test_compressed_tokens_of_another_memory_with_the_same_words_are_no_trace(tmp_path: Path) -> None:
    with opened(tmp_path) as db:
        first, second = (db.in_project(name).add("the fjord of Svalbard").id for name in ("one", "two"))

        report = db.purge([first], verify=True)

        assert first != second
        assert report.traces == ()


def test_an_erasure_that_was_interrupted_is_finished_by_verifying(tmp_path: Path) -> None:
    db, row = filled(tmp_path)
    db.store.erase(ids=[row], scope=ALL_PROJECTS)
    db.close()
    left = words_in(tmp_path)

    with opened(tmp_path) as again:
        report = again.purge(verify=True, trace=["quetzalcoatl"])

        assert report.is_clean
        assert left != {}
        assert words_in(tmp_path) == {}


def test_a_reader_of_what_was_before_is_told_of_and_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.stores.sqlite.engine.SCRUB_PATIENCE", 50)
    db, row = filled(tmp_path)
    reader = apsw.Connection(str(tmp_path / "notes.db"))
    reader.execute("begin; select count(*) from memory").fetchall()

    blocked = db.purge([row], verify=True)
    reader.close()
    after = db.purge(verify=True)

    assert "recollect purge --verify" in blocked.unfinished[0]
    assert blocked.traces
    assert after.is_clean
    assert words_in(tmp_path) == {}


def test_copies_beside_the_store_are_named_and_left_alone(tmp_path: Path) -> None:
    db, row = filled(tmp_path)
    db.flush()
    shutil.copy(tmp_path / "notes.db", tmp_path / "notes.db.backup")

    report = db.purge([row], verify=True)

    assert report.beside == ("notes.db.backup",)
    assert (tmp_path / "notes.db.backup").exists()


def test_copies_of_any_name_are_named(tmp_path: Path) -> None:
    db, row = filled(tmp_path)
    db.backups.create(tmp_path / "elsewhere.db")
    write_file(tmp_path / "all.jsonl", (json.dumps(each) + "\n" for each in db.archive()))
    recollect.move(tmp_path / "notes.db", tmp_path / "moved.sqlite")
    recollect.recover(tmp_path / "notes.db", tmp_path / "saved.db")
    (tmp_path / "stranger.txt").write_text("nothing of ours")

    report = db.purge([row], verify=True)

    assert set(report.beside) >= {"elsewhere.db", "all.jsonl", "moved.sqlite", "saved.db"}
    assert "stranger.txt" not in report.beside


def test_parts_that_killed_processes_left_are_removed_and_those_in_use_are_not(tmp_path: Path) -> None:
    db, row = filled(tmp_path)
    db.backups.create(tmp_path / "old.db")
    (tmp_path / "old.db").rename(tmp_path / ".old.db.1a2b3c4d.part")
    (tmp_path / ".old.jsonl.1a2b3c4d.part").write_text('{"recollect": 2, "record": "header"}\n')
    (tmp_path / ".theirs.part").write_text("a download of another program")

    with replacing(tmp_path / "all.jsonl") as file:
        file.write('{"recollect": 2, "record": "header"}\n')
        file.flush()
        report = db.purge([row], verify=True)

    hidden = {each.name for each in tmp_path.glob(".*.part")}
    assert hidden == {".theirs.part"}
    assert [name for name in report.beside if name.startswith(".all.jsonl")]
    assert (tmp_path / "all.jsonl").exists()


@pytest.mark.parametrize("mask", [0o022, 0])
def test_every_copy_is_for_its_owner_alone_whatever_the_mask(tmp_path: Path, mask: int) -> None:
    db, _ = filled(tmp_path)
    before = os.umask(mask)
    seen: dict[str, int] = {}

    def look(*_: object) -> None:
        seen.update({each.name: stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir() if each.is_file()})

    def watched() -> Iterator[str]:
        for each in db.archive():
            look()
            yield json.dumps(each) + "\n"

    try:
        db.backups.create(tmp_path / "backup.db", progress=look)
        write_file(tmp_path / "all.jsonl", watched())
        recollect.move(tmp_path / "notes.db", tmp_path / "moved.db", progress=look)
        recover(tmp_path / "notes.db", tmp_path / "saved.db", look)
    finally:
        os.umask(before)
    look()

    assert {name: oct(mode) for name, mode in seen.items() if mode & 0o077} == {}
    assert len([name for name in seen if name.endswith(".part")]) == 3


def test_a_store_in_memory_is_erased_from_like_any_other() -> None:
    with recollect.open(":memory:", model="none") as db:
        row = db.add(ERASED).id

        report = db.purge([row], verify=True)

        assert (report.ids, report.files, report.is_clean) == ((row,), (), True)
