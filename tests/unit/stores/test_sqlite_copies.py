"""A backup of a SQLite file: made beside writers, whole before it has its name, put back beside readers."""

import gzip
import os
import stat
import threading
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from kit import NOON, asking, plain
from recollect.errors import InputError, StoreDamaged, StoreError
from recollect.records import ALL_PROJECTS, NO_FILTER, EmbeddedMemory, Generation, Insert, Memory, Passage
from recollect.stores.choice import is_store_file
from recollect.stores.contract import Store
from recollect.stores.sqlite import copies, open_sqlite
from recollect.stores.sqlite.engine import PAGE_BYTES as PAGE
from recollect.vectors import pack

OLDEST = Path(__file__).parents[2] / "faults" / "oldest.db.gz"


def filled(path: Path | None, count: int = 3) -> Store:
    store = open_sqlite(path, plain)
    store.apply([Insert(memory=Memory(content=f"cat {number}")) for number in range(count)], at=NOON)
    return store


def memories(store: Store) -> int:
    return store.stats(scope=ALL_PROJECTS).memories


def test_a_backup_is_one_file_that_only_its_owner_reads(tmp_path: Path) -> None:
    store, folder = filled(tmp_path / "notes.db"), tmp_path / "backups"
    folder.mkdir()

    store.backup(folder / "copy.db")

    assert [each.name for each in folder.iterdir()] == ["copy.db"]
    assert stat.S_IMODE((folder / "copy.db").stat().st_mode) == 0o600
    assert is_store_file(folder / "copy.db")
    copy = open_sqlite(folder / "copy.db", plain)
    assert (memories(copy), copy.check()) == (3, ())
    copy.close()
    store.close()


def test_writers_go_on_beside_a_backup_and_it_never_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "SLICE", 5)
    store, told, kept = filled(tmp_path / "notes.db", 200), [], []

    def write_between(done: int, total: int, _: str) -> None:
        told.append((done, total))
        writer = threading.Thread(
            target=lambda: kept.extend(store.apply([Insert(memory=Memory(content="fox"))], at=NOON))
        )
        writer.start()
        writer.join(timeout=300)

    store.backup(tmp_path / "copy.db", progress=write_between)

    copy = open_sqlite(tmp_path / "copy.db", plain)
    assert len(told) == len(kept) > 5
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    assert (memories(copy), memories(store)) == (200, 200 + len(kept))
    copy.close()
    store.close()


def test_a_damaged_store_gives_no_backup_under_a_good_name(tmp_path: Path) -> None:
    store = filled(tmp_path / "notes.db", 500)
    store.close()
    with closing(apsw.Connection(str(tmp_path / "notes.db"))) as db:
        pages = [
            page for (page,) in db.execute("select pageno from dbstat where name = 'memory' and pagetype = 'leaf'")
        ]
    with (tmp_path / "notes.db").open("r+b") as file:
        for page in pages:
            file.seek((page - 1) * PAGE)
            file.write(os.urandom(PAGE))
    damaged = open_sqlite(tmp_path / "notes.db", plain)

    with pytest.raises(StoreDamaged, match="no backup was written"):
        damaged.backup(tmp_path / "copy.db")

    assert [each.name for each in tmp_path.iterdir() if "copy" in each.name] == []
    damaged.close()


def test_the_store_itself_and_a_store_in_use_are_never_replaced(tmp_path: Path) -> None:
    store, other = filled(tmp_path / "notes.db"), filled(tmp_path / "other.db")

    for name, why in (("notes.db", "the store itself"), ("other.db", "a store in use"), (".", "a folder")):
        with pytest.raises(InputError, match=why):
            store.backup(tmp_path / name, force=True)

    assert (memories(store), memories(other)) == (3, 3)
    store.close()
    other.close()


def test_a_reader_keeps_what_it_began_to_read_while_a_backup_is_put_back(tmp_path: Path) -> None:
    store = filled(tmp_path / "notes.db")
    store.backup(tmp_path / "copy.db")
    store.apply([Insert(memory=Memory(content="fox"))], at=NOON)
    reader = open_sqlite(tmp_path / "notes.db", plain)

    with reader.engine.session():
        before = memories(reader)
        store.restore_backup(tmp_path / "copy.db")
        during = memories(reader)
    after = memories(reader)

    assert (before, during, after) == (4, 4, 3)
    assert (reader.check(), store.check()) == ((), ())
    reader.close()
    store.close()


def test_what_is_written_before_a_backup_is_put_back_is_in_the_file_aside(tmp_path: Path) -> None:
    store = filled(tmp_path / "notes.db")
    store.backup(tmp_path / "copy.db")
    writer = open_sqlite(tmp_path / "notes.db", plain)
    kept: list[int] = []
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            kept.extend(writer.apply([Insert(memory=Memory(content=f"fox {len(kept)}"))], at=NOON))

    thread = threading.Thread(target=write)
    thread.start()
    store.restore_backup(tmp_path / "copy.db", aside=tmp_path / "aside.db")
    stop.set()
    thread.join()

    aside = open_sqlite(tmp_path / "aside.db", plain)
    held = {*aside.load(kept, scope=ALL_PROJECTS), *store.load(kept, scope=ALL_PROJECTS)}
    assert held == set(kept)
    assert (aside.check(), store.check()) == ((), ())
    for each in (aside, writer, store):
        each.close()


def test_an_open_store_forgets_its_vectors_of_before_when_a_backup_is_put_back(tmp_path: Path) -> None:
    store, generation = filled(tmp_path / "notes.db"), Generation(fingerprint="f", dimensions=2, model="m")

    def embed(x: float, y: float) -> None:
        held = store.load([1], scope=ALL_PROJECTS)[1]
        passage = Passage(start=0, stop=5, vector=pack([x, y]))
        store.put_vectors(generation, [EmbeddedMemory(memory_id=1, meaning=held.meaning, passages=(passage,))])

    def score() -> float:
        found = store.nearest("f", pack([1.0, 0.0]), scope=ALL_PROJECTS, where=NO_FILTER, limit=1)
        return found.top[0].score

    embed(1.0, 0.0)
    store.backup(tmp_path / "copy.db")
    embed(0.0, 1.0)
    before = score()

    store.restore_backup(tmp_path / "copy.db")

    assert (before, score()) == (0.0, 1.0)
    store.close()


def test_a_backup_of_an_older_format_is_put_back_and_stays_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "old.db").write_bytes(gzip.decompress(OLDEST.read_bytes()))
    bytes_before = (tmp_path / "old.db").read_bytes()
    store = filled(tmp_path / "notes.db")

    count = store.restore_backup(tmp_path / "old.db")

    assert count == memories(store) > 0
    assert store.check() == ()
    assert (tmp_path / "old.db").read_bytes() == bytes_before
    assert not [each for each in tmp_path.iterdir() if each.name.startswith((".restoring", "old.db-"))]
    store.close()


def test_a_damaged_backup_is_refused_and_the_store_stays(tmp_path: Path) -> None:
    store = filled(tmp_path / "notes.db", 500)
    store.backup(tmp_path / "copy.db")
    with (tmp_path / "copy.db").open("r+b") as file:
        file.seek(30 * PAGE)
        file.write(bytes(8 * PAGE))

    with pytest.raises(StoreDamaged, match=r"copy\.db"):
        store.restore_backup(tmp_path / "copy.db", aside=tmp_path / "aside.db")

    assert memories(store) == 500
    assert not (tmp_path / "aside.db").exists()
    store.close()


def test_another_program_s_database_is_no_backup(tmp_path: Path) -> None:
    other = apsw.Connection(str(tmp_path / "other.db"))
    other.execute("create table t (x)")
    other.close()
    store = filled(tmp_path / "notes.db")

    with pytest.raises(StoreDamaged, match="another program"):
        store.restore_backup(tmp_path / "other.db")

    assert memories(store) == 3
    store.close()


def test_a_damaged_store_is_replaced_and_kept_aside_as_it_is(tmp_path: Path) -> None:
    store = filled(tmp_path / "notes.db", 500)
    store.backup(tmp_path / "copy.db")
    store.close()
    with (tmp_path / "notes.db").open("r+b") as file:
        file.seek(30 * PAGE)
        file.write(os.urandom(8 * PAGE))
    damaged = open_sqlite(tmp_path / "notes.db", plain)

    damaged.restore_backup(tmp_path / "copy.db", aside=tmp_path / "aside.db")

    assert (memories(damaged), damaged.check()) == (500, ())
    assert {hit.id for hit in damaged.match_words(asking("cat"), scope=ALL_PROJECTS, where=NO_FILTER, limit=1).top}
    assert (tmp_path / "aside.db").is_file()
    damaged.close()


def number(path: Path) -> int:
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    found: int = db.execute("select value from meta where key = 'store'").get
    db.close()
    return found


def test_a_store_keeps_its_number_and_opens_beside_its_log_after_a_backup_came_back(tmp_path: Path) -> None:
    store, other = filled(tmp_path / "notes.db"), filled(tmp_path / "other.db", 5)
    other.backup(tmp_path / "copy.db")
    before = number(tmp_path / "notes.db")

    store.restore_backup(tmp_path / "copy.db", aside=tmp_path / "aside.db")

    second = open_sqlite(tmp_path / "notes.db", plain)
    assert (tmp_path / "notes.db-wal").stat().st_size > 0
    assert (memories(second), number(tmp_path / "notes.db")) == (5, before)
    numbers = {number(tmp_path / name) for name in ("notes.db", "other.db", "copy.db", "aside.db")}
    assert len(numbers) == 4, "a copy is a store of its own"
    for each in (second, store, other):
        each.close()


def test_an_empty_file_and_a_text_are_no_backups_and_the_store_itself_is_none(tmp_path: Path) -> None:
    store = filled(tmp_path / "notes.db")
    (tmp_path / "empty.db").touch()
    (tmp_path / "text.db").write_text("no database " * 1000)

    for name, why in (("empty.db", "is no backup"), ("text.db", "is no backup"), ("notes.db", "the store itself")):
        with pytest.raises(InputError, match=why):
            store.restore_backup(tmp_path / name)

    assert memories(store) == 3
    store.close()


def test_a_closed_store_is_neither_copied_nor_replaced(tmp_path: Path) -> None:
    store = filled(tmp_path / "notes.db")
    store.backup(tmp_path / "copy.db")
    store.close()

    for act in (lambda: store.backup(tmp_path / "second.db"), lambda: store.restore_backup(tmp_path / "copy.db")):
        with pytest.raises(StoreError, match="closed"):
            act()

    assert not (tmp_path / "second.db").exists()
