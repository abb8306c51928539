"""What damage to a file costs: it is told, indexes are made anew, and what can be read is saved."""

import json
import shutil
import threading
from pathlib import Path

import apsw
import pytest

import recollect
from kit import NOON
from recollect import InputError, Memory, Recollection, StoreError
from recollect.errors import RowDamaged, StoreDamaged
from recollect.stores.sql import rebuild as rebuilding
from recollect.stores.sqlite import open_sqlite
from recollect.stores.sqlite.engine import PAGE_BYTES as PAGE
from recollect.text.analyser import ANALYSER, analyse

TRUTH = ("memory", "wording", "event", "fact", "vector")


def opened(path: Path, model: str = "hashing") -> Recollection:
    return recollect.open(path, model=model, clock=lambda: NOON)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a store with something in each of its tables."""
    path = tmp_path_factory.mktemp("original") / "a.db"
    drafts = [
        Memory(
            content=f"Thing{number} is owned by the team{number % 7}.  It waits for the queue.",
            title=f"Entry {number}",
            tags=("even" if number % 2 == 0 else "odd",),
            thread="talk",
        )
        for number in range(40)
    ]
    with opened(path) as db:
        db.add_all([*drafts, Memory(content="Tom's email is tom@example.com")])
        db.forget(7)
        db.supersede(8, 9)
        db.search("which queue waits", session="one")
    return path


@pytest.fixture
def path(original: Path, tmp_path: Path) -> Path:
    """Copy that store."""
    return Path(shutil.copy(original, tmp_path / "a.db"))


def change(path: Path, sql: str) -> None:
    with apsw.Connection(str(path)) as db:
        db.execute(sql)


def overwrite(path: Path, name: str, filling: bytes = b"\xa5") -> None:
    """Overwrite the first page of a table or an index."""
    with apsw.Connection(str(path)) as db:
        db.execute("pragma wal_checkpoint(truncate)")
        number = db.execute("select rootpage from sqlite_schema where name = ?", (name,)).get
    held = bytearray(path.read_bytes())
    held[(number - 1) * PAGE : number * PAGE] = filling * PAGE
    path.write_bytes(held)


def problems(path: Path, *, deep: bool = True) -> str:
    with opened(path) as db:
        return "\n".join(db.doctor(deep=deep).problems)


def answers(db: Recollection) -> list[list[int]]:
    return [[hit.id for hit in db.search(query).hits] for query in ("queue team3", "thing17", "tag:odd entry")]


# --- what a deep look finds -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("update memory set title = 'Entrz 3' where id = 4", "memory 4"),
        ("update memory set tags = '[\"evem\"]' where id = 3", "memory 3"),
        ("update memory set metadata = '{\"a\":1}' where id = 3", "memory 3"),
        ("update memory set content = replace(content, '  ', ' ') where id = 5", "memory 5"),
        ("update memory set created_at = '2026-05-05T12:00:00.000000+00:00' where id = 6", "memory 6"),
        ("update memory set confidence = 0.81 where id = 6", "memory 6"),
        ("update memory set pinned = 1 where id = 6", "memory 6"),
        ("update memory set digest = x'00' where id = 6", "memory 6"),
        ("update memory set superseded_by = 10 where id = 9", "memory 9"),
        ("update fact set object = 'tim@example.com'", "fact 1"),
        ("update event set at = '2026-05-05T12:00:00.000000+00:00' where id = 2", "event 2"),
        ("update vector set embedding = zeroblob(length(embedding)) where id = 3", "vectors of 1 memories"),
        ("update vector set stop = 3 where id = 3", "vectors of 1 memories"),
        ("delete from tagged where memory_id = 3", "1 tags"),
        ("delete from minhash where memory_id = 3", "1 memories are not indexed"),
        ("update minhash set key = key + 1 where memory_id = 3", "1 memories are not indexed"),
        ("update document set stem_length = stem_length + 1 where id = 3", "1 memories are not indexed"),
        ("delete from tokens where id = 3", "1 memories are not indexed"),
        ("update tokens set stem = (select stem from tokens where id = 4) where id = 3", "1 memories are not indexed"),
        ("insert into tokens values (999, 1, 'thing17', 'thing17')", "1 memories are not indexed"),
        ("update fact set memory_id = 99", "1 facts of memories that are gone"),
    ],
)
def test_a_silent_change_is_found_by_a_deep_look(path: Path, sql: str, told: str) -> None:
    before = problems(path)
    change(path, sql)

    after = problems(path)

    assert before == ""
    assert told in after
    assert "run: recollect" in after


def test_a_silent_change_of_another_wording_is_found(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with opened(path, "none") as db:
        db.add("The deploy script runs every night at three in the morning on the build server.")
        db.add("The deploy script runs every night at three in the morning on the build server!")
        assert len(db.show(1).wordings) == 1
    before = problems(path)

    change(path, "update wording set content = content || ' '")

    assert (before, "wording 1" in problems(path)) == ("", True)


def test_every_write_leaves_a_store_that_a_deep_look_is_content_with(path: Path) -> None:
    with opened(path) as db:
        db.restore(7)
        db.pin(4)
        db.feedback(41, "useful")
        db.reinforce(1)
        db.consolidate(apply=True)
        db.undo_consolidation()

    assert problems(path) == ""


def test_rows_of_an_older_file_are_sealed_when_it_is_opened(path: Path) -> None:
    for table in TRUTH[:4]:
        change(path, f"update {table} set checksum = -1")
    change(path, "update meta set value = -1 where key = 'analyser'")

    opened(path).close()

    with apsw.Connection(str(path)) as db:
        assert [db.execute(f"select count(*) from {name} where checksum = -1").get for name in TRUTH[:4]] == [0] * 4
    assert problems(path) == ""


# --- errors -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    ["created_at = 'noon'", "tags = '[1'", "title = x'ff'", "context = '[]'", "content = cast(x'ff41' as text)"],
)
def test_a_damaged_row_is_an_error_of_ours_and_a_finding(path: Path, value: str) -> None:
    change(path, f"update memory set {value} where id = 12")

    with opened(path) as db, pytest.raises(RowDamaged) as caught:
        db.show(12)

    assert "doctor" in caught.value.hint
    assert "memory 12" in problems(path)


# --- making indexes anew ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "document",
        "collection_stats",
        "minhash",
        "tagged",
        "tokens",
        "tokens_by_seq",
        "removed",
        "memory_by_time",
        "memory_by_external_id",
        "vector_by_memory",
        "sqlite_autoindex_generation_1",
    ],
)
@pytest.mark.parametrize("filling", [b"\x00", b"\xa5"])
def test_reindex_makes_a_store_whole_whose_derived_pages_are_damaged(path: Path, name: str, filling: bytes) -> None:
    with opened(path) as db:
        wanted = answers(db)
    overwrite(path, name, filling)

    with opened(path) as db:
        told = db.doctor().problems
        count = db.reindex()
        found = answers(db)

    assert "reindex" in "".join(told)
    assert (count, found, problems(path)) == (40, wanted, "")


def test_an_index_that_holds_the_page_of_a_table_is_told_of_and_made_anew(path: Path) -> None:
    with apsw.Connection(str(path)) as db:
        db.execute("pragma wal_checkpoint(truncate)")
        names = dict(db.execute("select name, rootpage from sqlite_schema"))
    held = bytearray(path.read_bytes())
    here, there = ((names[name] - 1) * PAGE for name in ("vector_in_context", "recall"))
    held[here : here + PAGE] = held[there : there + PAGE]
    path.write_bytes(held)

    told = problems(path, deep=False)
    with opened(path) as db:
        db.reindex()

    assert "reindex" in told
    assert problems(path) == ""


def test_reindex_heals_what_a_deep_look_finds_in_derived_tables(path: Path) -> None:
    for sql in (
        "delete from tokens where id < 9",
        "delete from minhash",
        "delete from tagged",
        "delete from document",
    ):
        change(path, sql)

    with opened(path) as db:
        db.reindex()

    assert problems(path) == ""


def test_reindex_drops_damaged_vectors_and_they_are_made_again(path: Path) -> None:
    change(path, "update vector set embedding = zeroblob(length(embedding)) where id = 3")

    with opened(path) as db:
        db.reindex()
        (missing,) = [each.pending for each in db.generations()]
        db.embed()

    assert (missing, problems(path)) == (1, "")


def test_reindex_refuses_to_touch_a_file_whose_memories_are_damaged(path: Path) -> None:
    overwrite(path, "memory")
    held = path.read_bytes()

    with opened(path) as db, pytest.raises(StoreDamaged) as caught:
        db.reindex()

    assert "recollect recover" in caught.value.hint
    assert path.read_bytes() == held


def test_writers_beside_a_rebuild_do_not_wait_and_what_they_write_is_found(path: Path) -> None:
    with opened(path, "none") as db:
        db.add_all([Memory(content=f"filler number {number} about tea and rain") for number in range(1500)])
    written: list[int] = []
    done = threading.Event()

    def write() -> None:
        with opened(path, "none") as db:
            while not done.is_set():
                written.append(db.add(f"written meanwhile marker{len(written)}").id)
                if len(written) % 3 == 0:
                    db.forget(written[-1])
                assert db.search("queue team3").hits

    writer = threading.Thread(target=write)
    with opened(path, "none") as db:
        writer.start()
        db.reindex()
        done.set()
        writer.join()
        found = db.search("marker0").hits

    assert found[0].memory.content == "written meanwhile marker0"
    assert len(written) > 3  # a writer that waited for the rebuild would write once, after it
    assert "not indexed" not in problems(path)


def test_a_rebuild_that_was_killed_is_taken_over(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rebuilding, "LEASE_SECONDS", 0.1)
    store = open_sqlite(path, analyse, analyser=ANALYSER)
    rebuilding._begun(store, lambda: False)  # noqa: SLF001  (what a killed process leaves)
    store.close()
    with opened(path, "none") as db:
        db.add("written after the rebuild was killed")

        count = db.reindex()

    assert (count, problems(path)) == (41, "")
    with apsw.Connection(str(path)) as db:
        assert db.execute("select count(*) from sqlite_schema where name like '%beside%' or name = 'changed'").get == 0


# --- saving what can be read ------------------------------------------------------------------


def test_recover_saves_all_of_a_sound_store(path: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.db"
    with opened(path) as db:
        wanted = list(db.export()), answers(db), db.show(7), db.log.recent(), db.facts()
    held = path.read_bytes()

    done = recollect.recover(path, new)

    with opened(new) as db:
        assert (list(db.export()), answers(db), db.show(7), db.log.recent(), db.facts()) == wanted
    assert (done.is_whole, done.saved["memory"], problems(new)) == (True, 41, "")
    assert path.read_bytes() == held
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.db", "new.db"]


def test_recover_saves_the_rows_around_a_damaged_page(tmp_path: Path) -> None:
    path, new = tmp_path / "a.db", tmp_path / "new.db"
    with opened(path, "none") as db:
        db.add_all([Memory(content=f"number {number} " + f"word{number} " * 60) for number in range(200)])
    with apsw.Connection(str(path)) as db:
        db.execute("pragma wal_checkpoint(truncate)")
        pages = [
            page for (page,) in db.execute("select pageno from dbstat where name = 'memory' and pagetype = 'leaf'")
        ]
    held = bytearray(path.read_bytes())
    for page in (pages[5], pages[10]):
        held[(page - 1) * PAGE : page * PAGE] = bytes(PAGE)
    path.write_bytes(held)

    done = recollect.recover(path, new)

    with opened(new, "none") as db:
        saved = {memory.id: memory.content for memory, _ in db.export()}
    assert saved.keys() | set(done.lost) == set(range(1, 201))
    assert 2 <= len(done.lost) <= 40
    assert all(text.startswith(f"number {row - 1} ") for row, text in saved.items())
    assert (done.torn, problems(new)) == (("memory",), "")
    assert path.read_bytes() == bytes(held)


def test_recover_puts_changed_words_aside_and_keeps_those_with_changed_fields(path: Path, tmp_path: Path) -> None:
    change(path, "update memory set content = replace(content, 'Thing', 'Think') where id = 5")
    change(path, "update memory set content = content || ' ' where id = 6")
    change(path, "update memory set title = 'Entrz', tags = '[1' where id = 10")
    change(path, "update memory set checksum = checksum + 1 where id = 11")
    new = tmp_path / "new.db"

    done = recollect.recover(path, new)

    aside = [json.loads(line) for line in (tmp_path / "new.db.aside.jsonl").read_text(encoding="utf-8").splitlines()]
    with opened(new) as db:
        kept = {memory.id: memory for memory, _ in db.export()}
    assert {row["row"]["id"] for row in aside if row["table"] == "memory"} == {5, 6}
    assert (done.lost, done.changed) == ((5, 6), (10, 11))
    assert (kept[10].tags, kept[11].title) == ((), "Entry 10")
    assert problems(new) == ""


def test_recover_refuses_a_target_that_exists_and_a_source_that_is_none(path: Path, tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no store")

    for old, new, said in [
        (path, path, "exists"),
        (tmp_path / "none.db", tmp_path / "new.db", "does not exist"),
        (tmp_path / "text.db", tmp_path / "new.db", "not a recollect store"),
    ]:
        with pytest.raises((InputError, StoreError), match=said):
            recollect.recover(old, new)

    assert not (tmp_path / "new.db").exists()
