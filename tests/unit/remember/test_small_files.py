"""Small files are written together: few transactions, the same memories, and a bad file costs no other."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kit import NOON
from recollect.errors import InputError
from recollect.profile import load_profile
from recollect.records import ALL_PROJECTS, NO_FILTER
from recollect.remember import import_files as importing
from recollect.remember.context import IngestContext
from recollect.remember.import_files import ImportReport, import_files
from recollect.remember.sources import SourceFile, SourceIndex
from recollect.stores.sql.store import SqlStore
from recollect.stores.sqlite import open_sqlite
from recollect.text.analyser import analyse


class CountingStore(SqlStore):
    """A store that counts the transactions which importers open."""

    opened = 0

    @contextmanager
    def transaction(self, projects: object = None) -> Iterator[None]:  # noqa: ARG002
        self.opened += 1
        with super().transaction():
            yield


@pytest.fixture
def store(tmp_path: Path) -> CountingStore:
    made = open_sqlite(tmp_path / "notes.db", analyse)
    made.__class__ = CountingStore
    assert isinstance(made, CountingStore)
    return made


def import_(store: SqlStore, *paths: Path) -> ImportReport:
    return import_files(paths, IngestContext(store=store, analyse=analyse, profile=load_profile("default"), now=NOON))


def contents(store: SqlStore) -> list[str]:
    ids = store.browse(scope=ALL_PROJECTS, where=NO_FILTER, limit=2**62).ids
    return [memory.content for memory in store.load(sorted(ids), scope=ALL_PROJECTS).values()]


def notes(folder: Path, count: int) -> Path:
    """Write *count* files, each with words of its own."""
    folder.mkdir(exist_ok=True)
    for number in range(count):
        words = f"harbour{number} basalt{number} fern{number}"
        (folder / f"note-{number:03}.md").write_text(f"# Note {number}\n\n{words}\n")
    return folder


def test_many_small_files_take_one_transaction_and_keep_their_order(store: CountingStore, tmp_path: Path) -> None:
    folder = notes(tmp_path / "notes", 120)

    report = import_(store, folder)

    assert (report.files["imported"], report.memories["new"], store.opened) == (120, 120, 1)
    assert [text.split()[0] for text in contents(store)] == [f"harbour{number}" for number in range(120)]


def test_what_waits_is_bounded(store: CountingStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = notes(tmp_path / "notes", 50)
    monkeypatch.setattr(importing, "MAX_WAITING_MEMORIES", 20)

    report = import_(store, folder)

    assert (report.memories["new"], store.opened) == (50, 3)


def test_the_second_import_of_many_files_changes_nothing(store: CountingStore, tmp_path: Path) -> None:
    folder = notes(tmp_path / "notes", 60)
    import_(store, folder)
    (folder / "note-007.md").write_text("# Note 7\n\nanother text altogether\n")

    report = import_(store, folder)

    assert (report.files["skipped"], report.memories["updated"], report.memories["new"]) == (59, 1, 0)
    assert report.memories["unchanged"] == 59


def test_a_bad_file_among_many_costs_no_other_and_errors_keep_their_order(store: CountingStore, tmp_path: Path) -> None:
    folder = notes(tmp_path / "notes", 40)
    (folder / "note-010a.jsonl").write_bytes(b"\0\0\0 no text")
    (folder / "note-020a.jsonl").write_text(json.dumps({"content": "whole"}) + "\n{torn\n")

    report = import_(store, folder)

    assert (report.files["imported"], report.files["failed"], report.memories["new"]) == (41, 1, 41)
    assert [Path(each.path).name for each in report.errors] == ["note-010a.jsonl", "note-020a.jsonl"]


def test_a_file_that_cannot_be_written_costs_no_other(
    store: CountingStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, record = notes(tmp_path / "notes", 30), SourceIndex.record

    def refusing(self: SourceIndex, file: SourceFile, *args: object, **options: object) -> None:
        if file.name.endswith("note-013.md"):
            raise InputError("it cannot be written", hint="none")
        record(self, file, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(SourceIndex, "record", refusing)

    report = import_(store, folder)

    assert (report.files["imported"], report.files["failed"], len(contents(store))) == (29, 1, 29)
    assert [each.reason for each in report.errors] == ["it cannot be written; none"]


def test_the_same_text_in_two_files_is_one_memory_that_both_hold(store: CountingStore, tmp_path: Path) -> None:
    folder = notes(tmp_path / "notes", 30)
    (folder / "note-100.md").write_text((folder / "note-003.md").read_text())

    report = import_(store, folder)

    (row,) = (row for row, held in store.holders(range(1, 40)).items() if len(held) > 1)
    assert (report.memories["new"], report.memories["repeated"], row) == (30, 1, 4)
