"""Segments beside a store: whose they are, when they come and go, and that nobody needs them."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import apsw
import powerless
import pytest

import recollect
from kit import NOON, asking, plain
from recollect.records import ALL_PROJECTS, Filter, Forget, Insert, Memory, Revise, Scope, WordHits
from recollect.stores.contract import Store
from recollect.stores.sql.index import sealing
from recollect.stores.sql.index.folder import SegmentFolder
from recollect.stores.sqlite import open_sqlite
from recollect.text.analyser import analyse

SECRETS = ("xylophonist", "quetzalcoatl")


@pytest.fixture(autouse=True)
def _seal_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"SEAL": 8, "FIRST": 16, "SLICE": 16, "CHUNK": 32}.items():
        monkeypatch.setattr(sealing, name, value)


def filled(path: Path, count: int = 40) -> Store:
    store = open_sqlite(path, plain)
    for number in range(0, count, 8):
        some = range(number, number + 8)
        store.apply([Insert(memory=Memory(content=f"cat number{each} dog{each % 3}")) for each in some], at=NOON)
    return store


def segments(path: Path) -> list[tuple[str, int]]:
    db = apsw.Connection(str(path))
    return list(db.execute("select name, documents from segment order by upto"))


def folder_of(path: Path) -> Path:
    return path.with_name(path.name + "-segments")


def asked(store: Store, word: str = "cat") -> WordHits:
    return store.match_words(asking(word, "dog1"), scope=ALL_PROJECTS, where=Filter(), limit=9)


def holds_in_a_child(work: Callable[[], bool]) -> bool:
    """Return what *work* returns in a copy of this process, so that what it gives up is not given up here."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if work() else 2
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1] == 0


def words_in(folder: Path) -> set[str]:
    held = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file()).lower()
    return {word for word in SECRETS if word.encode() in held}


def test_writing_seals_what_was_written_for_its_owner_alone(tmp_path: Path) -> None:
    store = filled(tmp_path / "notes.db")
    store.settle()

    folder = folder_of(tmp_path / "notes.db")
    modes = {oct(path.stat().st_mode & 0o777) for path in folder.rglob("*") if path.is_file()}
    folders = {oct(path.stat().st_mode & 0o777) for path in (folder, *folder.glob("*")) if path.is_dir()}

    assert sum(count for _, count in segments(tmp_path / "notes.db")) == 40
    assert (modes, folders) == ({"0o600"}, {"0o700"})
    assert store.check(deep=True) == ()


def test_while_a_lot_is_written_more_is_sealed_at_a_time_and_the_rest_in_the_end(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"

    store = filled(path, 200)
    during = segments(path)
    store.close()

    assert len(during) < 10
    assert sum(count for _, count in segments(path)) > 200 - 8
    assert asked(open_sqlite(path, plain)).total == 200


def test_a_small_store_has_none(tmp_path: Path) -> None:
    filled(tmp_path / "notes.db", 8).rebuild()

    assert not folder_of(tmp_path / "notes.db").exists()


def test_a_sound_segment_of_words_in_several_fields_is_found_sound(tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "notes.db", analyse)
    for number in range(40):
        words = " ".join(["cat"] * (number % 4) + ["dog"] * (number % 3))
        memory = Memory(content=f"{words} note", title="cat " * (number % 3), source=f"dog/cat{number % 5}.md")
        store.apply([Insert(memory=memory)], at=NOON)
    store.settle()

    assert segments(tmp_path / "notes.db")
    assert store.check(deep=True) == ()


def test_an_erasure_leaves_no_word_in_any_segment(tmp_path: Path) -> None:
    store = filled(tmp_path / "notes.db")
    (row,) = store.apply([Insert(memory=Memory(content="the xylophonist of quetzalcoatl"))], at=NOON)
    store.apply([Insert(memory=Memory(content=f"more{number}")) for number in range(16)], at=NOON)
    store.settle()
    store.apply([Revise(memory=Memory(id=row, content="nobody"))], at=NOON)
    before = words_in(folder_of(tmp_path / "notes.db"))

    store.erase(ids=[row], scope=ALL_PROJECTS)
    traces = [name for name, _ in store.traces([b"xylophonist"]).found]
    told = store.scrub()

    assert before == set(SECRETS)
    assert "arrays" in traces
    assert (told, words_in(tmp_path)) == ((), set())
    assert store.traces([b"xylophonist"]).found == ()
    assert sum(count for _, count in segments(tmp_path / "notes.db")) >= 50
    assert store.check(deep=True) == ()


def test_an_erasure_leaves_no_name_in_any_segment(tmp_path: Path) -> None:
    names = {"project": "kilimanjaro", "source": "mandrake.md", "thread": "svalbard", "type": "oxbridge"}
    store = filled(tmp_path / "notes.db")
    named = Memory(content="cat", project="kilimanjaro", source="mandrake.md", thread="svalbard", type="oxbridge")
    store.apply([Insert(memory=named), *(Insert(memory=Memory(content=f"more{at}")) for at in range(9))], at=NOON)
    store.settle()
    folder = folder_of(tmp_path / "notes.db")
    before = b"".join(path.read_bytes() for path in folder.rglob("arrays"))

    store.erase(scope=Scope(projects=frozenset({"kilimanjaro"})))
    store.scrub()

    after = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert [name for name in names.values() if name.encode() not in before] == []
    assert [name for name in names.values() if name.encode() in after] == []


def test_what_a_killed_process_left_is_erased_too(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    store = filled(path)
    store.apply([Insert(memory=Memory(content="the xylophonist of quetzalcoatl"))], at=NOON)
    left = folder_of(path) / ("0" * 32 + ".part")
    left.mkdir()
    (left / "arrays").write_text("xylophonist")

    store.erase(ids=[41], scope=ALL_PROJECTS)
    store.scrub()

    assert words_in(tmp_path) == set()


def test_an_erasure_tells_of_another_process_that_makes_segments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealing, "LOCK_TIMEOUT_SECONDS", 0.1)
    store = filled(tmp_path / "notes.db")

    with SegmentFolder(folder_of(tmp_path / "notes.db")).locked() as ours:
        told = store.scrub()

    assert ours
    assert "another process" in told[0]


def test_while_one_process_makes_segments_another_makes_none_and_finds_all(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    store = filled(path, 16)

    with SegmentFolder(folder_of(path)).locked():
        store.apply([Insert(memory=Memory(content=f"cat more{number}")) for number in range(20)], at=NOON)

    assert sum(count for _, count in segments(path)) == 16
    assert asked(store).total == 36


def test_missing_and_damaged_segments_are_told_of_and_made_again_by_a_write(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    wanted = asked(filled(path))
    for each in folder_of(path).glob("*/arrays"):
        each.write_bytes(b"\xff" * each.stat().st_size)
    store = open_sqlite(path, plain)

    found, told = asked(store), store.check()
    store.apply([Insert(memory=Memory(content="one more"))], at=NOON)
    for _ in range(4):
        asked(store)
        store.apply([Forget(id=41)], at=NOON)

    assert found == wanted
    assert "segments of the word index cannot be used" in told[0]
    assert store.check() == ()


def test_a_large_segment_that_a_disk_changed_is_found_in_the_background_and_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "notes.db"
    store = filled(path)
    wanted = asked(store)
    store.settle()
    store.close()
    monkeypatch.setattr("recollect.stores.sql.index.parts.VERIFIED", 0)
    (arrays,) = folder_of(path).glob(f"{segments(path)[0][0]}/arrays")
    arrays.write_bytes(bytes(255 - byte for byte in arrays.read_bytes()))
    store = open_sqlite(path, plain)

    store.settle()
    store.settle()

    assert asked(store) == wanted
    assert store.check(deep=True) == ()


def test_when_a_store_is_closed_no_segment_is_left_that_another_replaced(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    store = filled(path, 400)
    during = len(SegmentFolder(folder_of(path)).names())
    store.close()
    filled(path, 24).close()
    after, named = SegmentFolder(folder_of(path)).names(), segments(path)
    merging = open_sqlite(path, plain)
    merging.settle()
    merging.close()

    assert during > len(named) > len(segments(path)) == 1
    assert after == {name for name, _ in named}
    assert SegmentFolder(folder_of(path)).names() == {name for name, _ in segments(path)}


def test_folders_that_nobody_names_any_more_go_when_they_are_old(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    filled(path).close()
    young, old = (folder_of(path) / (name * 32) for name in "01")
    for each in (young, old):
        each.mkdir()
    os.utime(old, (0, 0))

    open_sqlite(path, plain).apply([Insert(memory=Memory(content="cat"))], at=NOON)

    assert (young.exists(), old.exists()) == (True, False)


def test_a_folder_of_somebody_elses_is_not_followed(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    wanted = asked(filled(path))
    elsewhere = tmp_path / "elsewhere"
    shutil.move(folder_of(path), elsewhere)
    folder_of(path).symlink_to(elsewhere, target_is_directory=True)
    before = sorted(elsewhere.rglob("*"))
    store = open_sqlite(path, plain)

    found = asked(store)
    store.apply([Insert(memory=Memory(content=f"cow{number}")) for number in range(40)], at=NOON)
    store.close()

    assert found == wanted
    assert sorted(elsewhere.rglob("*")) == before


def test_a_store_that_can_only_be_read_uses_segments_and_makes_none(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    store = filled(path)
    wanted = asked(store)
    store.close()
    before = sorted(path.parent.rglob("*"))
    path.chmod(0o400)

    def read() -> bool:
        powerless.give_up_privileges()
        reading = open_sqlite(path, plain)
        found = asked(reading)
        reading.settle()
        reading.close()
        return found == wanted and not os.access(path, os.W_OK)

    assert holds_in_a_child(read)
    assert sorted(path.parent.rglob("*")) == before


def test_copies_know_no_segments_and_give_the_same_answers(tmp_path: Path) -> None:
    path, copy = tmp_path / "notes.db", tmp_path / "copy.db"
    store = filled(path)
    wanted = asked(store)

    store.backup(copy)
    listed = segments(copy)
    found = asked(open_sqlite(copy, plain))
    store.apply([Forget(id=1), Insert(memory=Memory(content="cat new"))], at=NOON)
    store.restore_backup(copy)

    assert listed == []
    assert (found.top, asked(store).top) == (wanted.top, wanted.top)
    assert store.check(deep=True) == ()


def test_a_snapshot_answers_as_before_whatever_becomes_of_the_segments(tmp_path: Path) -> None:
    store = filled(tmp_path / "notes.db")
    wanted = asked(store)
    snapshot = store.snapshot()

    store.apply([Forget(id=row) for row in range(1, 20)], at=NOON)
    store.scrub()
    store.settle()

    assert asked(snapshot) == wanted
    assert asked(store).total == 21
    snapshot.close()


def test_a_recovered_store_has_its_segments_beside_it(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "old.db", model="none") as db:
        db.add_all([recollect.Memory(content=f"engine{n} drives wheel{n}") for n in range(40)])

    recollect.recover(tmp_path / "old.db", tmp_path / "new.db")

    with recollect.open(tmp_path / "new.db", model="none") as db:
        assert db.search("engine7").hits[0].memory.content.startswith("engine7")
        assert db.doctor(deep=True).problems == ()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "new.db",
        "new.db-segments",
        "old.db",
        "old.db-segments",
    ]


def test_a_folder_that_takes_nothing_leaves_every_write_and_answer_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    folder_of(path).mkdir(mode=0o500)

    def write() -> bool:
        powerless.give_up_privileges()
        store = filled(path)
        return asked(store).total == 40 and store.check(deep=True) == ()

    assert holds_in_a_child(write)
    assert segments(path) == []
    assert list(folder_of(path).iterdir()) == []


def test_readers_in_many_threads_see_whole_states_while_others_write_and_seal(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    store = filled(path)
    wrong: list[object] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            with store.reading():
                found = asked(store)
                if found.total != store.stats(scope=ALL_PROJECTS).memories:
                    wrong.append(found)

    readers = [threading.Thread(target=read) for _ in range(4)]
    for each in readers:
        each.start()
    other = open_sqlite(path, plain)
    for number in range(40):
        other.apply([Insert(memory=Memory(content=f"cat {number}")), Forget(id=number + 1)], at=NOON)
    done.set()
    for each in readers:
        each.join()

    assert wrong == []


def test_a_forked_copy_answers_and_writes(tmp_path: Path) -> None:
    store = filled(tmp_path / "notes.db")
    wanted = asked(store)

    def write() -> bool:
        same = asked(store) == wanted
        store.apply([Insert(memory=Memory(content="cat of the child"))], at=NOON)
        return same and asked(store).total == wanted.total + 1

    assert holds_in_a_child(write)
    assert asked(store).total == wanted.total + 1


WRITER = """
import sys
from pathlib import Path
from kit import NOON, plain
from recollect.records import Insert, Memory
from recollect.stores.sql.index import sealing
from recollect.stores.sqlite import open_sqlite
sealing.SEAL, sealing.FIRST, sealing.SLICE = 8, 16, 16
store = open_sqlite(Path(sys.argv[1]), plain)
for number in range(100_000):
    store.apply([Insert(memory=Memory(content=f"cat number{number} {at}")) for at in range(4)], at=NOON)
    print(number, flush=True)
"""


def test_a_killed_writer_leaves_a_store_that_answers_for_all_that_was_written(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    for more in (7, 23, 40):
        with subprocess.Popen(  # noqa: S603
            [sys.executable, "-c", WRITER, str(path)],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        ) as writer:
            assert writer.stdout is not None
            for _ in range(more):
                writer.stdout.readline()
            writer.send_signal(signal.SIGKILL)

    store = open_sqlite(path, plain)

    assert asked(store).total == store.stats(scope=ALL_PROJECTS).memories >= 4 * 70
    assert store.check(deep=True) == ()
