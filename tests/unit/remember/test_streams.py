"""A collection of any size goes in part by part; what is gone is known at the end, and memory stays bounded."""

import gc
import json
import os
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some
from msgspec.structs import replace

import recollect
from kit import NOON, read_csv
from recollect.errors import FileError
from recollect.recollection import Recollection
from recollect.records import ALL_PROJECTS, NO_FILTER, Memory
from recollect.remember import file_state, import_files, sources
from recollect.remember.context import IngestContext
from recollect.remember.find_files import MAX_DOCUMENT_BYTES, lines_of
from recollect.remember.formats import batches, chat, json_stream, json_text, plain, read_file, read_parts
from recollect.remember.formats.chat import Threads, with_context
from recollect.remember.import_files import ImportReport
from recollect.remember.marks import Marks

PART, SLICE = 10, 25


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make parts so small that a few lines are a large collection."""
    monkeypatch.setattr(batches, "MAX_BATCH_RECORDS", PART)
    for module in (import_files, sources):
        monkeypatch.setattr(module, "PART_MEMORIES", SLICE)


@pytest.fixture
def db() -> Iterator[Recollection]:
    with in_memory() as made:
        yield made


def in_memory(clock: Callable[[], datetime] = lambda: NOON) -> Recollection:
    return recollect.open(":memory:", model="none", clock=clock)


def write(path: Path, records: Sequence[object]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")
    return path


def notes(*numbers: int) -> list[dict[str, str]]:
    return [{"content": f"note number {number} speaks of thing {number * 7}"} for number in numbers]


def contents(db: Recollection) -> set[str]:
    ids = db.store.browse(scope=ALL_PROJECTS, where=NO_FILTER, limit=2**62).ids
    return {memory.content for memory in db.store.load(ids, scope=ALL_PROJECTS).values()}


def counts(report: ImportReport) -> dict[str, int]:
    return {name: number for name, number in report.memories.items() if number}


# --- a source in parts ----------------------------------------------------------------------


def test_a_large_collection_goes_in_and_is_unchanged_the_second_time(db: Recollection, tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", notes(*range(100)))

    first, again = db.import_(path), db.import_(path)

    assert (counts(first), counts(again)) == ({"new": 100}, {"unchanged": 100})
    assert again.files["skipped"] == 1


def test_a_collection_that_grew_brings_only_what_is_new(db: Recollection, tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", notes(*range(100)))
    db.import_(path)

    report = db.import_(write(path, notes(*range(103))))

    assert counts(report) == {"new": 3, "unchanged": 100}


def test_what_is_gone_from_a_large_collection_is_forgotten_and_comes_back(db: Recollection, tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", notes(*range(100)))
    db.import_(path)
    ids = set(db.store.ids(scope=ALL_PROJECTS, limit=1000))

    less = db.import_(write(path, notes(*range(0, 100, 2))))
    more = db.import_(write(path, notes(*range(100))))

    assert (counts(less), counts(more)) == ({"unchanged": 50, "removed": 50}, {"unchanged": 50, "revived": 50})
    assert set(db.store.ids(scope=ALL_PROJECTS, limit=1000)) == ids
    assert len(contents(db)) == 100


def test_a_text_that_stands_twice_stays_until_both_are_gone(db: Recollection, tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [*notes(*range(60)), *notes(5)])
    db.import_(path)

    once = db.import_(write(path, notes(*range(60))))
    never = db.import_(write(path, notes(*(each for each in range(60) if each != 5))))

    assert (once.memories["removed"], never.memories["removed"]) == (0, 1)


def test_a_record_with_an_id_is_revised_in_a_large_collection(db: Recollection, tmp_path: Path) -> None:
    records = [{"id": f"r{at}", **each} for at, each in enumerate(notes(*range(80)))]
    path = write(tmp_path / "a.jsonl", records)
    db.import_(path)
    before = set(db.store.ids(scope=ALL_PROJECTS, limit=1000))
    records[40] = {"id": "r40", "content": "the fortieth says something else now"}

    report = db.import_(write(path, records))

    assert counts(report) == {"updated": 1, "unchanged": 79}
    assert set(db.store.ids(scope=ALL_PROJECTS, limit=1000)) == before
    assert "the fortieth says something else now" in contents(db)


def test_what_another_file_holds_too_lives_on(db: Recollection, tmp_path: Path) -> None:
    path, other = write(tmp_path / "a.jsonl", notes(*range(60))), write(tmp_path / "b.jsonl", notes(3))
    db.import_(path)
    db.import_(other)

    report = db.import_(write(path, notes(*range(10, 60))))

    assert (report.memories["removed"], "note number 3 speaks of thing 21" in contents(db)) == (9, True)


def test_an_import_that_was_interrupted_goes_on(
    db: Recollection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.jsonl", notes(*range(100)))
    real, calls = sources.write_parts, list[int]()

    def write_parts(
        parts: Sequence[sources.SourcePart], context: IngestContext, *, in_bulk: bool = False
    ) -> list[sources.SourceDiff]:
        calls.append(len(parts))
        if len(calls) == 5:
            raise KeyboardInterrupt
        return real(parts, context, in_bulk=in_bulk)

    monkeypatch.setattr(import_files, "write_parts", write_parts)
    with pytest.raises(KeyboardInterrupt):
        db.import_(path)
    kept = len(contents(db))
    monkeypatch.setattr(import_files, "write_parts", real)

    report = db.import_(path)

    assert kept == 4 * PART
    assert counts(report) == {"new": 100 - kept, "unchanged": kept}


def test_a_large_file_that_vanished_is_forgotten_in_pages(db: Recollection, tmp_path: Path) -> None:
    path, other = write(tmp_path / "a.jsonl", notes(*range(100))), write(tmp_path / "b.jsonl", notes(200))
    db.import_(tmp_path)
    path.unlink()

    report = db.import_(tmp_path)

    assert (report.memories["removed"], len(contents(db)), other.exists()) == (100, 1, True)


def test_many_problems_are_counted(db: Recollection, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("no json\n" * 300 + json.dumps({"content": "fine"}) + "\n")

    report = db.import_(path)

    assert len(report.errors) == import_files.MAX_PROBLEMS_PER_FILE + 1
    assert report.errors[-1].reason == "200 more like these"
    assert contents(db) == {"fine"}


@pytest.mark.full
def test_no_more_than_one_part_is_held(db: Recollection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, alive = write(tmp_path / "a.jsonl", notes(*range(400))), list[int]()
    real = sources.write_parts

    def write_parts(
        parts: Sequence[sources.SourcePart], context: IngestContext, *, in_bulk: bool = False
    ) -> list[sources.SourceDiff]:
        done = real(parts, context, in_bulk=in_bulk)
        alive.append(sum(isinstance(each, Memory) for each in gc.get_objects()))
        return done

    monkeypatch.setattr(import_files, "write_parts", write_parts)
    db.import_(path)

    assert len(alive) == 400 // PART
    assert max(alive[10:]) <= min(alive[10:]) + 3 * SLICE


# --- what tells that a file is the same -----------------------------------------------------


def test_a_file_that_the_file_system_calls_unchanged_is_not_read(tmp_path: Path) -> None:
    path, late = write(tmp_path / "a.jsonl", notes(1, 2)), datetime.now(UTC) + timedelta(hours=1)
    with in_memory(clock=lambda: late) as db:
        db.import_(path)
        (held,) = db.store.source_heads(below="/", project="default").values()
        text, status = path.read_bytes(), path.stat()

        same = db.import_(path)
        path.write_bytes(text.replace(b"note number 1", b"note number 9"))
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        changed = db.import_(path)

    assert held.stamp
    assert (counts(same), changed.memories["new"]) == ({"unchanged": 2}, 1)


def test_a_file_that_changed_a_moment_ago_is_read_again(tmp_path: Path) -> None:
    path, soon = write(tmp_path / "a.jsonl", notes(1)), datetime.now(UTC)

    assert file_state.stamp_of(path, soon) == ""
    assert file_state.stamp_of(path, soon + timedelta(minutes=1)) != ""
    assert file_state.stamp_of(tmp_path / "nowhere", soon) == ""


# --- the date of a file ---------------------------------------------------------------------


def test_the_date_of_the_file_is_that_of_what_has_no_other(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [*notes(1), {"content": "dated itself", "date": "2021-03-04"}])
    os.utime(path, (1_600_000_000, 1_600_000_000))
    with in_memory(clock=lambda: datetime.now(UTC)) as db:
        db.import_(path)

        undated, dated = (db.show(row).memory for row in (1, 2))
        found = db.search("13 September 2020").hits

    assert (undated.observed_at, undated.metadata) == (
        datetime.fromtimestamp(1_600_000_000, UTC),
        {"observed_from": "mtime"},
    )
    assert undated.stated_at is None
    assert (dated.observed_at, dated.metadata) == (datetime(2021, 3, 4, tzinfo=UTC), {})
    assert [hit.memory.id for hit in found if hit.memory.id == 1] == []


def test_touching_a_file_changes_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", notes(1, 2))
    with in_memory(clock=lambda: datetime.now(UTC)) as db:
        db.import_(path)
        before = db.show(1).memory
        os.utime(path, (1_600_000_000, 1_600_000_000))

        report = db.import_(path)

        assert (counts(report), db.show(1).memory) == ({"unchanged": 2}, before)


@pytest.mark.parametrize("seconds", [0, 315_532_800, 4_000_000_000])
def test_a_date_that_cannot_be_true_is_none(tmp_path: Path, seconds: int) -> None:
    path = write(tmp_path / "a.jsonl", notes(1))
    os.utime(path, (seconds, seconds))

    assert file_state.modified_at(path, NOON) is None


# --- reading in parts -----------------------------------------------------------------------


def turn(number: int, thread: str) -> Memory:
    return Memory(content=f"{thread} says {number}", thread=thread, turn=number)


@given(
    order=some.lists(some.sampled_from("abc"), max_size=40),
    cuts=some.lists(some.integers(min_value=0, max_value=40), max_size=6),
)
def test_turns_have_the_same_neighbours_however_they_are_cut(order: list[str], cuts: list[int]) -> None:
    turns = [turn(order[: at + 1].count(each), each) for at, each in enumerate(order)]
    threads, ready = Threads(), list[Memory]()

    for start, stop in zip([0, *sorted(cuts)], [*sorted(cuts), len(turns)], strict=True):
        ready += threads.add(turns[start:stop])
    ready += threads.end()

    assert sorted(ready, key=repr) == sorted(with_context(turns), key=repr)


def test_threads_that_are_too_many_are_let_go_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat, "MAX_OPEN_THREADS", 3)
    threads = Threads()

    ready = threads.add([turn(1, f"t{number}") for number in range(10)])

    assert (len(ready), len(threads.end())) == (7, 3)


def test_a_transcript_in_lines_has_its_neighbours_across_parts(tmp_path: Path) -> None:
    said = [{"role": "user" if at % 2 else "assistant", "content": f"word {at}"} for at in range(35)]
    path = write(tmp_path / "talk.jsonl", said)

    parts = list(read_parts(path))
    memories = sorted((memory for part in parts for memory in part.memories), key=lambda each: each.turn or 0)

    assert len(parts) == 4
    assert [memory.turn for memory in memories] == list(range(1, 36))
    assert all(a.context.after == b.content and b.context.before == a.content for a, b in pairwise(memories))


def test_a_line_that_is_too_long_is_a_problem_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.jsonl", [{"content": "short"}, {"content": "x" * 500}, {"content": "also short"}])
    monkeypatch.setattr(json_text, "lines_of", lambda path: lines_of(path, longest=100))

    parsed = read_file(path)

    assert [memory.content for memory in parsed.memories] == ["short", "also short"]
    assert parsed.problems == (f"line 2: more than {MAX_DOCUMENT_BYTES // 2**20} MB",)


def test_a_long_list_is_read_in_parts_as_it_is_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = [*notes(*range(40)), {"content": 'a "quote" and [a] {brace}, 日本\n'}, 12345, "text"]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(values, indent=1), encoding="utf-8")
    whole = read_file(path)
    monkeypatch.setattr(json_text, "MAX_DOCUMENT_BYTES", 200)
    monkeypatch.setattr(json_stream, "BLOCK_CHARS", 64)

    parts = list(read_parts(path))

    assert len(parts) > 3
    assert [memory for part in parts for memory in part.memories] == list(whole.memories)


@pytest.mark.parametrize("text", ["[1, 2", "[1 2]", "[1,]", "[1] x", '[{"a": }]', '["' + "x" * 900 + '"]'])
def test_a_long_list_that_is_no_json_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text.ljust(400), encoding="utf-8")
    monkeypatch.setattr(json_text, "MAX_DOCUMENT_BYTES", 200)
    monkeypatch.setattr(json_stream, "BLOCK_CHARS", 64)

    with pytest.raises(FileError, match="is not JSON"):
        list(read_parts(path))


def test_a_large_object_is_a_document_and_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({f"k{at}": "x" * 1000 for at in range(11_000)}))

    with pytest.raises(FileError, match="too large"):
        read_file(path)


def test_a_large_table_is_read_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("\nname,note\n" + "".join(f'n{at},"said\n{at}"\n' for at in range(35)))

    parts = list(read_parts(path))

    memories = [memory for part in parts for memory in part.memories]
    assert (len(parts), len(memories), memories[1].line) == (4, 35, 5)
    assert tuple(memories) == read_csv(path.read_text(), _origin(memories[0])).memories


def _origin(memory: Memory) -> json_text.Origin:
    return json_text.Origin(source=memory.source or "")


def test_a_long_text_is_cut_the_same_way_when_it_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain, "WINDOW_CHARS", 9_000)
    text = "\n\n".join(f"Paragraph {at}. " + f"word{at} " * (at % 400) for at in range(120))
    path = tmp_path / "a.log"
    path.write_text(text)
    before = [memory.content for memory in read_file(path).memories]

    path.write_text(text + "\n\nOne more.\n")
    parts = list(read_parts(path))

    after = [memory.content for part in parts for memory in part.memories]
    assert len(parts) > 5
    assert after[:-1] == before
    assert after[-1] == "One more."
    whole = plain.read_plain(text, json_text.Origin(source=""))
    assert [memory.content for memory in whole.memories] == before


def test_lines_of_a_long_text_are_those_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    path.write_text("\n\n".join(f"Paragraph {at} " + "words " * 60 for at in range(60)))
    whole = [memory.line for memory in read_file(path).memories]
    monkeypatch.setattr(plain, "WINDOW_CHARS", 3_000)

    cut = [memory.line for memory in read_file(path).memories]

    assert cut == whole


def test_a_long_written_conversation_is_one_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "talk.txt"
    path.write_text("".join(f"{'Anna' if at % 2 else 'Ben'}: I say {at}\nand go on\n" for at in range(200)))
    whole = read_file(path).memories
    monkeypatch.setattr(plain, "WINDOW_CHARS", 500)

    parts = list(read_parts(path))

    memories = sorted((memory for part in parts for memory in part.memories), key=lambda each: each.turn or 0)
    assert len(parts) > 5
    assert tuple(memories) == whole


def test_a_large_file_that_is_no_text_is_refused_before_any_of_it_is_used(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"content": "fine"}\n' * 100_000 + b'{"content": "caf\xe9"}\n')

    with pytest.raises(FileError, match="not UTF-8 text: byte 0xE9 on line 100001"):
        next(read_parts(path))


def test_lines_end_as_they_do_in_a_document(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\rthree\0\n\nfive")

    assert list(lines_of(path)) == [(1, "one"), (2, "two"), (3, "three\ufffd"), (4, ""), (5, "five")]


# --- marks ----------------------------------------------------------------------------------


@given(numbers=some.lists(some.integers(min_value=0, max_value=5000)))
def test_marks_are_a_set_of_numbers(numbers: list[int]) -> None:
    marks = Marks(numbers)

    assert len(marks) == len(set(numbers))
    assert {number for number in range(5001) if number in marks} == set(numbers)
    assert 10_000 not in marks


def test_a_thread_that_returns_after_many_others_counts_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from recollect.remember.formats import entries  # noqa: PLC0415

    monkeypatch.setattr(entries, "MAX_OPEN_THREADS", 5)
    said = [{"role": "user", "content": f"word {at}", "session": f"s{at % 12}"} for at in range(36)]
    path = write(tmp_path / "talk.jsonl", said)

    memories = [replace(memory) for part in read_parts(path) for memory in part.memories]

    for number in range(12):
        own = [each for each in memories if (each.thread or "").endswith(f"#s{number}")]
        own.sort(key=lambda each: each.line or 0)
        assert [each.turn for each in own] == sorted({each.turn or 0 for each in own})
