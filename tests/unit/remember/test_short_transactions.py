"""Other writers wait for writing alone: texts are analysed and compared before, and a long file comes in slices."""

import json
from collections.abc import Sequence
from pathlib import Path

import apsw
import pytest
from msgspec.structs import replace

from kit import NOON, counted_calls
from recollect.profile import load_profile
from recollect.records import ALL_PROJECTS, NO_FILTER, Memory, TokenizedMemory
from recollect.remember import import_files, sources
from recollect.remember.context import IngestContext
from recollect.remember.formats import batches
from recollect.remember.import_files import source_of
from recollect.remember.ingest import ingest
from recollect.stores.sql.store import SqlStore
from recollect.stores.sqlite import open_sqlite
from recollect.text.analyser import analyse

LONG = " ".join(f"word{number}" for number in range(200))
PART_MEMORIES = 25


class Watched:
    """A store in a file, and for each analysis whether it was made while other writers waited."""

    def __init__(self, folder: Path) -> None:
        self.waited: list[bool] = []
        self.store: SqlStore | None = None
        self.store = open_sqlite(folder / "notes.db", self.analyse)
        self.context = IngestContext(store=self.store, analyse=self.analyse, profile=load_profile("default"), now=NOON)

    def analyse(self, memory: Memory, wordings: Sequence[str]) -> TokenizedMemory:
        if self.store is not None:
            self.waited.append(self.is_writing())
        return analyse(memory, wordings)

    def is_writing(self) -> bool:
        assert self.store is not None
        with self.store.engine.session() as session:  # joins the transaction that is open, if one is
            return bool(session.db.txn_state() == apsw.SQLITE_TXN_WRITE)

    def import_(self, *paths: Path) -> dict[str, int]:
        return dict(import_files.import_files(paths, self.context).memories)

    def contents(self) -> list[str]:
        assert self.store is not None
        ids = sorted(self.store.browse(scope=ALL_PROJECTS, where=NO_FILTER, limit=2**62).ids)
        return [memory.content for memory in self.store.load(ids, scope=ALL_PROJECTS).values()]


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Watched:
    """Make parts so small that a few dozen records are a long file."""
    monkeypatch.setattr(batches, "MAX_BATCH_RECORDS", 10)
    monkeypatch.setattr(import_files, "SMALL_FILE_MEMORIES", 5)
    for module in (import_files, sources):
        monkeypatch.setattr(module, "PART_MEMORIES", PART_MEMORIES)
    return Watched(tmp_path)


def test_a_memory_is_analysed_before_the_transaction(watched: Watched) -> None:
    ingest([Memory(content="The port is 8080."), Memory(content=LONG)], watched.context)

    assert watched.waited == [False, False]


def test_a_file_is_analysed_before_the_transaction(watched: Watched, tmp_path: Path) -> None:
    notes = tmp_path / "notes.md"
    notes.write_text("# One\n\nThe first note.\n\n# Two\n\nThe second note.\n")

    first = watched.import_(notes)

    assert (first["new"], watched.waited) == (2, [False, False])


def test_what_a_file_held_before_is_not_analysed_again(watched: Watched, tmp_path: Path) -> None:
    notes = tmp_path / "notes.jsonl"
    notes.write_text("".join(json.dumps({"content": f"note {number}"}) + "\n" for number in range(50)))
    watched.import_(notes)
    watched.waited.clear()

    with notes.open("a") as file:
        file.write(json.dumps({"content": "one more"}) + "\n")
    second = watched.import_(notes)

    assert (second["new"], second["unchanged"], watched.waited) == (1, 50, [False])


def test_a_long_memory_is_compared_before_the_transaction(watched: Watched) -> None:
    ingest([Memory(content=LONG)], watched.context)

    with counted_calls() as calls:
        (near,) = ingest([Memory(content=f"{LONG} again")], watched.context)

    assert (near.decision, near.evidence["proposes"]) == ("distinct", 1)
    assert calls["decide"] == 1  # the second time, inside, it is known


def test_a_candidate_that_changed_meanwhile_is_compared_again(watched: Watched) -> None:
    from recollect.remember.ingest import decide_early, ingest_drafts  # noqa: PLC0415

    ingest([Memory(content=LONG)], watched.context)
    draft = watched.context.analysed(watched.context.prepare(Memory(content=f"{LONG} again")))
    decided = decide_early([draft], watched.context)
    ingest([Memory(content=f"{LONG} again and again")], watched.context)

    with counted_calls() as calls, watched.context.store.transaction():
        (result,) = ingest_drafts([draft], watched.context, decided=decided)

    assert (calls["decide"], result.decision) == (1, "distinct")


def test_a_memory_too_long_to_be_compared_is_known_by_its_digest(watched: Watched) -> None:
    huge = " ".join(f"word{number}" for number in range(12_000))

    with counted_calls() as calls:
        results = ingest([Memory(content=huge), Memory(content=f"{huge} again"), Memory(content=huge)], watched.context)

    assert [each.decision for each in results] == ["distinct", "distinct", "identical"]
    assert calls["_compare"] == 0


def test_a_long_text_is_read_once(watched: Watched) -> None:
    with counted_calls() as calls:
        watched.analyse(Memory(content=LONG * 10), ())

    assert calls["analyse_text"] == 1


# --- a long file --------------------------------------------------------------------------


def turns(path: Path, count: int) -> Path:
    """Write *count* records, each a memory of its own though many say the same."""
    lines = [{"id": f"turn-{at}", "content": f"okay {at % 7}"} for at in range(count)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_long_document_is_written_in_slices(watched: Watched, tmp_path: Path) -> None:
    count, path = 2 * PART_MEMORIES + 10, tmp_path / "notes.md"
    path.write_text("".join(f"# Part {at}\n\nokay {at}\n\n" for at in range(count)))

    with counted_calls() as calls:
        report = watched.import_(path)

    assert {name: number for name, number in report.items() if number} == {"new": count}
    assert calls["write_parts"] == 3


def test_a_long_collection_is_written_part_by_part(watched: Watched, tmp_path: Path) -> None:
    count = 2 * PART_MEMORIES + 10

    with counted_calls() as calls:
        report = watched.import_(turns(tmp_path / "talk.jsonl", count))

    assert {name: number for name, number in report.items() if number} == {"new": count}
    assert (calls["write_parts"], calls["decide_early"]) == (6, 6)
    assert not any(watched.waited)


def test_an_import_that_ended_between_two_slices_goes_on_there(watched: Watched, tmp_path: Path) -> None:
    count = PART_MEMORIES + 10
    path = tmp_path / "talk.jsonl"
    watched.import_(turns(path, PART_MEMORIES))
    store = watched.context.store
    held = store.sources(below=source_of(path), project="default")[source_of(path)]
    store.record_source(source_of(path), replace(held, fingerprint=""), project="default")

    report = watched.import_(turns(path, count))

    assert (report["new"], report["unchanged"], report["removed"]) == (10, PART_MEMORIES, 0)
    assert len(watched.contents()) == count


def test_what_is_gone_from_a_long_document_is_forgotten_in_one_transaction(watched: Watched, tmp_path: Path) -> None:
    count, path = PART_MEMORIES + 10, tmp_path / "notes.md"
    path.write_text("".join(f"# Part {at}\n\nokay {at}\n\n" for at in range(count)))
    watched.import_(path)
    path.write_text(path.read_text().split("\n\n", 2)[2])

    with counted_calls() as calls:
        report = watched.import_(path)

    assert (report["removed"], report["unchanged"], calls["write_parts"]) == (1, count - 1, 1)
