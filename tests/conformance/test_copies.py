"""The whole store at one moment: a snapshot, a backup, and a backup put back; the same in every store."""

from pathlib import Path

import pytest

from kit import NOON, asking
from recollect.errors import InputError
from recollect.records import ALL_PROJECTS, NO_FILTER, Fact, FactQuery, Forget, Insert, Memory, Piece, Recall, Source
from recollect.stores.contract import Store

STATED = Fact(subject="cat", predicate="is", object="here", type="kv", confidence=0.9, decay_rate=0.1)


def add(store: Store, *texts: str) -> None:
    store.apply([Insert(memory=Memory(content=text), facts=(STATED,)) for text in texts], at=NOON)


def found(store: Store, word: str) -> set[int]:
    return {hit.id for hit in store.match_words(asking(word), scope=ALL_PROJECTS, where=NO_FILTER, limit=9).top}


def test_a_snapshot_stays_as_it_is_while_the_store_changes(store: Store) -> None:
    add(store, "a cat")
    kept = store.snapshot()

    add(store, "another cat")
    store.apply([Forget(id=1)], at=NOON)

    assert (found(kept, "cat"), found(store, "cat")) == ({1}, {2})
    kept.close()
    assert found(store, "cat") == {2}


def test_a_backup_brings_back_what_was_there(store: Store, tmp_path: Path) -> None:
    add(store, "a cat", "a dog")
    store.put_note("ledger", "s", {"1": "x"})
    store.log_recall([Recall(query="cat", mode="m", outcome="none", at=NOON)])
    store.backup(tmp_path / "copy.db")
    add(store, "a fox")
    store.apply([Forget(id=1)], at=NOON)
    store.put_note("ledger", "s", None)

    count = store.restore_backup(tmp_path / "copy.db", aside=tmp_path / "aside.db")

    assert count == 2
    assert (found(store, "cat"), found(store, "fox")) == ({1}, set())
    assert store.notes("ledger") == {"s": {"1": "x"}}
    assert [each.query for each in store.recalls(scope=ALL_PROJECTS)] == ["cat"]
    assert store.check() == ()


def test_what_a_backup_replaces_is_kept_aside(store: Store, tmp_path: Path) -> None:
    add(store, "a cat")
    store.backup(tmp_path / "copy.db")
    add(store, "a fox")
    store.restore_backup(tmp_path / "copy.db", aside=tmp_path / "aside.db")

    count = store.restore_backup(tmp_path / "aside.db")

    assert count == 2
    assert (found(store, "cat"), found(store, "fox")) == ({1}, {2})


def test_a_restored_store_gives_no_id_twice_and_its_version_grows(store: Store, tmp_path: Path) -> None:
    add(store, "a cat")
    store.backup(tmp_path / "copy.db")
    add(store, "a fox")
    before = store.version()

    store.restore_backup(tmp_path / "copy.db")
    after = store.version()
    add(store, "a dog")

    assert after > before
    assert found(store, "dog") == {3}
    assert [fact.id for fact in store.facts(FactQuery(), scope=ALL_PROJECTS)] == [3, 1]


def test_a_dry_run_checks_the_backup_and_changes_nothing(store: Store, tmp_path: Path) -> None:
    add(store, "a cat")
    store.backup(tmp_path / "copy.db")
    add(store, "a fox")
    before = store.version()

    count = store.restore_backup(tmp_path / "copy.db", aside=tmp_path / "aside.db", dry_run=True)

    assert (count, store.version(), found(store, "fox")) == (1, before, {2})
    assert not (tmp_path / "aside.db").exists()


def test_a_name_that_is_taken_is_refused_unless_forced(store: Store, tmp_path: Path) -> None:
    add(store, "a cat")
    (tmp_path / "copy.db").write_text("something")

    with pytest.raises(InputError, match="there already"):
        store.backup(tmp_path / "copy.db")
    kept = (tmp_path / "copy.db").read_text()
    store.backup(tmp_path / "copy.db", force=True)

    assert kept == "something"
    assert store.restore_backup(tmp_path / "copy.db") == 1


def test_what_is_no_backup_is_refused_and_nothing_is_lost(store: Store, tmp_path: Path) -> None:
    add(store, "a cat")
    (tmp_path / "notes.txt").write_text("just text")

    for name in ("notes.txt", "absent.db"):
        with pytest.raises(Exception, match=name):
            store.restore_backup(tmp_path / name)

    assert found(store, "cat") == {1}


def test_progress_is_told(store: Store, tmp_path: Path) -> None:
    add(store, "a cat")
    told: list[tuple[int, int, str]] = []

    store.backup(tmp_path / "copy.db", progress=lambda *each: told.append(each))

    assert told[-1][0] == told[-1][1]


def test_every_project_is_named_that_something_belongs_to(store: Store) -> None:
    store.apply([Insert(memory=Memory(content="a cat", project="cats")), Forget(id=1)], at=NOON)
    store.put_note("lens", "work", {"types": ["note"]})
    store.put_note("lens", "work", {"types": ["note"]}, project="dogs")
    piece = Piece(digest=b"d", memory_id=1)
    store.record_source("/a.md", Source(fingerprint="f", pieces=(piece,)), project="birds")

    named = store.projects()

    assert named == ("", "birds", "cats", "dogs")
