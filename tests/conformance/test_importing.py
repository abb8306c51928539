"""Importing files: again and again, changed, moved, broken, with secrets, and there and back."""

import json
import os
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from kit import NOON, STORES, archived
from recollect import Memory, Recollection
from recollect.embedders.models import Models
from recollect.profile import load_profile
from recollect.remember.formats import csv_text
from recollect.remember.import_files import ImportReport
from recollect.text.analyser import analyse

SECRET = "ghp_" + "a1B2c3D4" * 5


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text, encoding="utf-8")
    return folder


def counts(done: ImportReport) -> tuple[int, int, int, int]:
    return tuple(done.memories[name] for name in ("new", "updated", "unchanged", "removed"))  # type: ignore[return-value]


def contents(db: Recollection, query: str = "") -> set[str]:
    return {hit.memory.content for hit in db.search(query, limit=100, mode="keyword").hits}


# --- again and again ------------------------------------------------------------------------


@pytest.mark.case(92)
def test_each_format_gives_one_memory_for_each_of_its_parts(db: Recollection, tmp_path: Path) -> None:
    folder = write(
        tmp_path / "notes",
        people_csv="name,city\nIda,Oslo\nBea,Rome\nKim,Bonn\nUwe,Graz\n",
        setup_json='{"editor": {"theme": "dark"}, "shell": "fish", "hosts": ["a", "b"]}',
        three_txt="Short one.\n\nA second\non two lines.\n\nThe third.\n",
        code_md="# Build\n\n```sh\n# no heading\n\nmake\n```\n\n## Test\n\n```sh\nmake test\n```\n",
    )

    new = {name: db.import_(folder / name).memories["new"] for name in sorted(path.name for path in folder.iterdir())}

    assert new == {"people.csv": 4, "setup.json": 3, "three.txt": 3, "code.md": 2}


@pytest.mark.req("N-16")
def test_a_record_is_found_by_each_of_its_labels(db: Recollection, tmp_path: Path) -> None:
    records = (
        {"text": "Ida maintains the parser", "labels": ["Person", "Developer"]},
        {"text": "Bea", "labels": "Person"},
    )
    folder = write(tmp_path / "notes", nodes_jsonl="\n".join(map(json.dumps, records)))

    db.import_(folder)

    assert contents(db, "tag:Developer") == {"Ida maintains the parser"}
    assert contents(db, "tag:Person") == {"Ida maintains the parser", "Bea"}


@pytest.mark.case(93)
def test_a_second_import_brings_nothing_new(db: Recollection, tmp_path: Path) -> None:
    folder = write(
        tmp_path / "notes",
        a_md="# A\n\nfirst\n\n## B\n\nsecond\n",
        b_jsonl='{"id": 1, "text": "third"}\n{"text": "fourth"}\n',
        c_txt="Ann: hello\nBen: hello\nAnn: how are you?\nBen: fine\nAnn: fine\n",
    )

    first, second = db.import_(folder), db.import_(folder)
    (folder / "a.md").touch()
    for path in folder.iterdir():
        path.write_text(path.read_text() + "\n", encoding="utf-8")
    third = db.import_(folder)

    new = first.memories["new"]
    assert new == 9
    assert counts(second) == counts(third) == (0, 0, new, 0)
    assert (second.files["skipped"], third.files["imported"]) == (3, 3)
    assert db.stats().memories == new


def test_two_ways_to_one_folder_are_one(db: Recollection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "notes", a_md="first")
    monkeypatch.chdir(tmp_path)

    db.import_("notes")
    again = db.import_(tmp_path / "notes", tmp_path / "notes" / "a.md")

    assert counts(again) == (0, 0, 1, 0)


def test_hidden_and_ignored_files_are_left_alone(db: Recollection, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", a_md="first", draft_md="second", b_py="third")
    (folder / ".hidden.md").write_text("fourth")
    (folder / ".recollectignore").write_text("draft.*\n")

    db.import_(folder)

    assert contents(db) == {"first"}


# --- changes --------------------------------------------------------------------------------


def test_an_edited_section_keeps_its_memory_and_its_history(db: Recollection, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", a_md="# A\n\nWe ship on Tuesday.\n\n# B\n\nNothing else.\n")
    db.import_(folder)
    (before,) = db.search("ship").hits
    write(folder, a_md="# A\n\nWe ship on Wednesday, with care.\n\n# B\n\nNothing else.\n")

    done = db.import_(folder)

    shown = db.show(before.id)
    assert counts(done) == (0, 1, 1, 0)
    assert shown.memory.content == "We ship on Wednesday, with care."
    assert shown.memory.created_at == before.memory.created_at
    assert shown.events[-1].detail["content"] == "We ship on Tuesday."
    assert contents(db, "Tuesday") == set()


def test_what_left_a_file_is_forgotten_and_what_came_is_found(db: Recollection, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", a_txt="The first.\n\nThe second.\n\nThe third.")
    db.import_(folder)

    write(folder, a_txt="The first.\n\nThe third.\n\nThe fourth.")
    done = db.import_(folder)

    assert counts(done) == (1, 0, 2, 1)
    assert contents(db) == {"The first.", "The third.", "The fourth."}
    assert db.stats().forgotten == 1


def test_what_came_from_a_deleted_file_is_forgotten_and_can_be_restored(db: Recollection, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", a_md="first", b_md="second")
    db.import_(folder)
    (row,) = [hit.id for hit in db.search("first").hits]

    (folder / "a.md").unlink()
    done = db.import_(folder)
    again = db.import_(folder)

    assert (done.files["removed"], counts(done), counts(again)) == (1, (0, 0, 1, 1), (0, 0, 1, 0))
    assert contents(db) == {"second"}
    assert db.show(row).events[-1].detail == {"reason": "gone from its source", "source": (folder / "a.md").as_posix()}
    db.restore(row)
    assert contents(db) == {"first", "second"}


def test_what_was_added_by_hand_stays_when_a_file_that_says_it_too_is_deleted(db: Recollection, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", a_md="We ship on Tuesday")
    db.add("We ship on Tuesday")

    assert counts(db.import_(folder)) == (0, 0, 1, 0)
    (folder / "a.md").unlink()
    db.import_(folder)

    assert contents(db) == {"We ship on Tuesday"}


def test_a_memory_that_two_files_hold_lives_until_both_are_gone(db: Recollection, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", a_md="We ship on Tuesday", b_md="We ship  on Tuesday")
    db.import_(folder)
    (hit,) = db.search("ship").hits

    (folder / "a.md").unlink()
    once = db.import_(folder)
    moved = db.show(hit.id).memory
    (folder / "b.md").unlink()
    twice = db.import_(folder, prune=True)

    assert (once.memories["removed"], moved.source) == (0, (folder / "b.md").as_posix())
    assert (twice.memories["removed"], contents(db)) == (1, set())
    assert [event.verb for event in db.show(hit.id).events] == ["add", "move", "forget"]


def test_a_wording_merged_from_another_file_keeps_a_memory_alive(db: Recollection, tmp_path: Path) -> None:
    text, other = "Always run ruff before pyright for linting", "Always run ruff before pyright for linting checks"
    folder = write(tmp_path / "notes", a_md=text, b_md=other)
    done = db.import_(folder)
    (hit,) = db.search("ruff").hits
    wordings = db.show(hit.id).wordings

    (folder / "a.md").unlink()
    db.import_(folder)

    assert counts(done) == (1, 1, 0, 0)
    assert wordings == (other,)
    assert [found.id for found in db.search("checks").hits] == [hit.id]


def test_an_edit_in_one_file_does_not_change_what_another_still_says(db: Recollection, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", a_md="# S\n\nWe ship on Tuesday\n", b_md="# S\n\nWe ship on Tuesday\n")
    db.import_(folder)

    write(folder, a_md="# S\n\nCats are fine animals\n")
    db.import_(folder)

    assert contents(db) == {"We ship on Tuesday", "Cats are fine animals"}


def test_an_edit_of_what_somebody_forgot_is_a_new_memory(db: Recollection, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", a_md="# S\n\nWe ship on Tuesday\n")
    db.import_(folder)
    db.forget(1)

    unchanged = db.import_(folder)
    write(folder, a_md="# S\n\nCats are fine animals\n")
    db.import_(folder)

    assert unchanged.memories["new"] == 0
    assert contents(db) == {"Cats are fine animals"}


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
def test_a_record_with_an_id_of_its_own_is_updated_in_place(db: Recollection, tmp_path: Path, name: str) -> None:
    texts = {
        "a.jsonl": '{"id": "t-1", "text": "status is {}"}\n{"id": "t-2", "text": "status is {}"}\n',
        "a.csv": "id,text\nt-1,status is {}\nt-2,status is {}\n",
    }
    path = tmp_path / name
    path.write_text(texts[name].replace("{}", "open"))
    first = db.import_(path)
    path.write_text(texts[name].replace("{}", "open", 1).replace("{}", "closed"))

    second = db.import_(path)

    assert (counts(first), counts(second)) == ((2, 0, 0, 0), (0, 1, 1, 0))
    assert [(m.external_id, m.content) for m in db.list().memories] == [
        ("t-2", "status is closed"),
        ("t-1", "status is open"),
    ]


@pytest.mark.req("E-09")
def test_records_of_three_kinds_with_one_id_are_three_memories(db: Recollection, tmp_path: Path) -> None:
    kinds = ("observation", "session_summary", "user_prompt")
    lines = [json.dumps({"id": "1", "kind": kind, "text": f"what the {kind} says"}) for kind in kinds]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(lines))
    first = db.import_(path)
    path.write_text("\n".join(lines).replace("session_summary says", "session_summary said"))

    second = db.import_(path)

    assert (counts(first), counts(second)) == ((3, 0, 0, 0), (0, 1, 2, 0))
    assert {(memory.external_id, memory.kind, memory.content) for memory in db.list().memories} == {
        ("1", "observation", "what the observation says"),
        ("1", "session_summary", "what the session_summary said"),
        ("1", "user_prompt", "what the user_prompt says"),
    }


@pytest.mark.req("E-09")
def test_the_same_words_of_two_kinds_stay_apart_when_their_order_changes(db: Recollection, tmp_path: Path) -> None:
    one, two = (json.dumps({"kind": kind, "text": "We ship on Tuesday"}) for kind in ("observation", "user_prompt"))
    path = tmp_path / "a.jsonl"
    path.write_text(f"{one}\n{two}\n")
    first = db.import_(path)
    rows = {memory.kind: memory.id for memory in db.list().memories}
    path.write_text(f"{two}\n")

    second = db.import_(path)

    assert (counts(first), counts(second)) == ((2, 0, 0, 0), (0, 0, 1, 1))
    assert [(memory.kind, memory.id) for memory in db.list().memories] == [("user_prompt", rows["user_prompt"])]


def test_a_renamed_file_moves_its_memories(db: Recollection, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", a_md="# S\n\nWe ship on Tuesday\n")
    db.import_(folder)

    (folder / "a.md").rename(folder / "z.md")
    done = db.import_(folder)

    assert counts(done) == (0, 0, 1, 0)
    assert db.show(1).memory.source == (folder / "z.md").as_posix()
    assert contents(db) == {"We ship on Tuesday"}


# --- as the profile decides -----------------------------------------------------------------

LINT = "Run the linter before the type checker so that formatting noise never hides a real error"


@pytest.mark.req("O-08")
def test_oro_takes_in_a_file_what_it_takes_by_hand_for_a_duplicate(db: Recollection, tmp_path: Path) -> None:
    db.add_all([Memory(content=f"Filler {number} about gardens, weather and lunch") for number in range(60)])
    db.profile = load_profile("oro")
    first = db.add(LINT, confidence=0.7)
    folder = write(
        tmp_path / "notes", a_txt=f"{LINT} early.\n\nCats sleep most of the day.\n\nCats sleep all day long."
    )

    done = db.import_(folder)

    assert counts(done) == (2, 1, 0, 0)
    assert db.show(first.id).wordings == (f"{LINT} early.",)
    assert db.show(first.id).memory.confidence == 0.8
    assert db.show(first.id).events[-1].detail["bm25"] > 0.7


@pytest.mark.req("O-08")
def test_oro_compares_each_part_of_a_file_with_those_before_it(db: Recollection, tmp_path: Path) -> None:
    db.add_all([Memory(content=f"Filler {number} about gardens, weather and lunch") for number in range(200)])
    db.profile = load_profile("oro")
    lines = [json.dumps({"text": text, "source": "notes"}) for text in (LINT, f"{LINT} early")]
    path = tmp_path / "notes.jsonl"  # each names its source: the words of a long path would make it less near
    path.write_text("\n".join(lines))

    done = db.import_(path)

    assert counts(done) == (1, 1, 0, 0)


@pytest.mark.req("O-09")
@pytest.mark.parametrize(("profile", "expected"), [("oro", (1, 1, 0, 0)), ("default", (2, 0, 0, 0))])
def test_oro_compares_the_parts_of_a_file_by_vector_too(
    tmp_path: Path, profile: str, expected: tuple[int, ...]
) -> None:
    folder = write(tmp_path / "notes", a_txt="sqlite write ahead logging mode\n\nwrite ahead logging mode sqlite")
    store, models = STORES["sqlite"](tmp_path, analyse), Models(name="hashing")
    with Recollection(store=store, profile=load_profile(profile), models=models, clock=lambda: NOON) as db:
        done = db.import_(folder)

        assert counts(done) == expected


@pytest.mark.req("C-23")
def test_every_way_in_gives_facts_the_decay_rates_of_the_profile(db: Recollection, tmp_path: Path) -> None:
    weigh = replace(db.profile.weigh, decay_rates={"kv": 0.5, "state": 0.25})
    db.profile = replace(db.profile, weigh=weigh)
    shape = archived(Memory(content="Restored: yes", external_id="r"), ())
    folder = write(tmp_path / "notes", a_md="Imported: yes", b_jsonl=json.dumps(shape))

    db.add("Added: yes")
    db.capture("Note: Captured: yes")
    db.import_(folder)
    later = replace(Memory(content="Restored: again", external_id="r"), updated_at=NOON + timedelta(days=1))
    write(folder, b_jsonl=json.dumps(archived(later, ())))
    db.import_(folder)

    rates = {(fact.subject, fact.object): fact.decay_rate for fact in db.facts()}
    assert rates == dict.fromkeys(
        [("Added", "yes"), ("Captured", "yes"), ("Imported", "yes"), ("Restored", "again")], 0.5
    )


# --- trouble --------------------------------------------------------------------------------


def test_one_bad_file_never_stops_the_rest(db: Recollection, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", a_md="first", c_json='{"broken": ', z_md="last")
    (folder / "b.md").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0 binary")
    (folder / "d.md").symlink_to(folder / "nowhere.md")
    (folder / "e.jsonl").write_text('{"text": "good line"}\nnot json\n')

    done = db.import_(folder)

    assert contents(db) == {"first", "last", "good line"}
    assert {Path(problem.path).name for problem in done.errors} == {"b.md", "c.json", "d.md", "e.jsonl"}
    assert all(problem.reason and "\n" not in problem.reason for problem in done.errors)
    assert (done.files["failed"], done.files["imported"]) == (3, 3)


def test_a_fault_in_a_reader_is_that_files_problem(
    db: Recollection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fall(*_: object) -> None:
        raise RecursionError("too\ndeep")

    monkeypatch.setattr(csv_text, "csv_parts", fall)
    folder = write(tmp_path / "notes", a_csv="x\ny\n", b_md="fine")

    done = db.import_(folder)

    assert [problem.reason for problem in done.errors] == [
        "it cannot be understood: RecursionError: too deep; please report this"
    ]
    assert contents(db) == {"fine"}


def test_a_file_name_that_is_not_text_is_imported_like_any_other(db: Recollection, tmp_path: Path) -> None:
    path = os.path.join(os.fsencode(tmp_path), b"caf\xe9.md")  # noqa: PTH118
    with open(path, "w") as file:  # noqa: PTH123
        file.write("a strange name")

    first, second = db.import_(tmp_path), db.import_(tmp_path)

    assert (counts(first), counts(second)) == ((1, 0, 0, 0), (0, 0, 1, 0))
    assert contents(db) == {"a strange name"}


# --- secrets --------------------------------------------------------------------------------


FILES = {
    "a_md": f"# Notes on {SECRET}\n\nThe key is {SECRET} for now.\n",
    "b_jsonl": json.dumps(
        {"text": "a record", "token": SECRET, "login": {"password": "s3cr3t!pass"}, "tags": [SECRET]}
    ),
    "c_txt": f"Ann: hello\nBen: take {SECRET}\nAnn: thanks\nBen: bye\nAnn: bye\n",
    "d_csv": f"title,text\nkey {SECRET},row\n",
}


def test_secrets_are_reported_and_never_reach_the_store(tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", **FILES)
    store = STORES["sqlite"](tmp_path, analyse)
    with Recollection(store=store, profile=load_profile("default"), clock=lambda: NOON) as db:
        first, again = db.import_(folder), db.import_(folder)
        kept = db.add(f"by hand {SECRET}", title=SECRET, metadata={"api_key": "k9f8d7s6a5q4"})
        write(folder, a_md=f"# Notes on {SECRET}\n\nThe key is {SECRET} still, for a while.\n")
        changed = db.import_(folder)
        shown = [str(archived(*pair)) for pair in db.export()]

    raw = b"".join(path.read_bytes() for path in tmp_path.glob("notes.db*"))
    assert (first.redacted, again.redacted, kept.redacted, changed.redacted) == (7, 0, 3, 2)
    assert len(raw) > 10_000
    for secret in (SECRET, SECRET.lower(), "s3cr3t!pass", "k9f8d7s6a5q4"):
        assert secret.encode() not in raw
        assert not any(secret in text for text in shown)
    assert sum("[redacted:github]" in text for text in shown) >= 5


def test_secrets_are_kept_when_that_is_wished(db: Recollection, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", a_md=f"The key is {SECRET}")

    done = db.import_(folder, redact=False)

    assert done.redacted == 0
    assert contents(db) == {f"The key is {SECRET}"}


# --- there and back -------------------------------------------------------------------------


def test_an_archive_of_another_form_is_refused_in_one_line(db: Recollection, tmp_path: Path) -> None:
    (tmp_path / "all.jsonl").write_text('{"recollect": 1, "content": "a note"}')

    (problem,) = db.import_(tmp_path / "all.jsonl").errors

    assert "is not an archive that can be read (form 1)" in problem.reason
    assert contents(db) == set()
