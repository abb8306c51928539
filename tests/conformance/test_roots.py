"""Roots are kept with the store and imported again; vectors are made of what was imported, and of nothing else."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kit import NOON, STORES
from recollect import Memory, Recollection
from recollect.embedders.hashing import HashingEmbedder
from recollect.embedders.models import Models
from recollect.errors import InputError
from recollect.profile import load_profile
from recollect.records import ALL_PROJECTS
from recollect.text.analyser import analyse

TOKEN = "ghp_" + "a1B2c3D4" * 5


class Counting(Models):
    """A model of hashed words that counts what it embeds, and may be interrupted."""

    def __init__(self) -> None:
        super().__init__(name="hashing")
        self.texts: list[str] = []
        self.patience = 10**9

    def named(self, name: str) -> Any:
        assert name == self.name
        inner, told = HashingEmbedder(), self

        class Embedder(HashingEmbedder):
            def embed_passages(self, texts: Sequence[str]) -> Any:
                if len(told.texts) >= told.patience:
                    raise KeyboardInterrupt
                told.texts += texts
                return inner.embed_passages(texts)

        return Embedder()


@pytest.fixture(params=sorted(STORES))
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    store = STORES[request.param](tmp_path, analyse)
    with Recollection(store=store, profile=load_profile("default"), models=Counting(), clock=lambda: NOON) as opened:
        yield opened


def test_a_text_of_two_notes_has_the_title_and_the_line_of_the_one_that_is_left(
    db: Recollection, tmp_path: Path
) -> None:
    for name, text in {
        "a": "# Alpha\n\nIda keeps the gate code.\n",
        "b": "# Beta\n\n\nIda keeps the gate code.\n",
    }.items():
        (tmp_path / f"{name}.md").write_text(text, encoding="utf-8")
    (tmp_path / "other.md").write_text("# Other\n\nThe bin is emptied on Mondays.\n", encoding="utf-8")
    places = []
    db.import_(tmp_path)
    for change in (lambda: None, (tmp_path / "a.md").unlink, lambda: (tmp_path / "b.md").rename(tmp_path / "c.md")):
        change()
        db.import_(tmp_path)
        (memory,) = (each for each in db.list().memories if "gate" in each.content)
        places.append((memory.title, Path(memory.source or "").name, memory.line, memory.section))

    assert places == [("Alpha", "a.md", 3, "Alpha"), ("Beta", "b.md", 4, "Beta"), ("Beta", "c.md", 4, "Beta")]


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return folder


def embedded(db: Recollection) -> list[str]:
    assert isinstance(db.models, Counting)
    return db.models.texts


# --- roots ----------------------------------------------------------------------------------


def test_a_root_is_imported_again_as_it_was_imported(db: Recollection, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", a="The port is 8080.")
    kept = db.roots.add(folder, trust="agent")
    first = db.roots.import_()
    write(folder, b="The host is db1.")

    second = db.roots.import_()

    assert db.roots.list() == (kept,)
    assert (first.memories["new"], second.memories["new"], second.files["skipped"]) == (1, 1, 1)
    assert {db.show(row).memory.trust for row in (1, 2)} == {"agent"}


def test_a_root_is_read_again_as_the_format_it_was_read_as(db: Recollection, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", a="# Not a heading\n\nThe port is 8080.")
    kept = db.roots.add(folder / "a.md", as_="text")

    db.roots.import_()

    assert db.roots.list() == (kept,)
    assert {db.show(row).memory.content for row in (1, 2)} == {"# Not a heading", "The port is 8080."}


def test_what_a_program_keeps_is_a_root_by_its_name(
    db: Recollection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = write(tmp_path / "claude", CLAUDE="Use tabs.")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(place))

    kept = db.roots.add(from_="claude-code")
    report = db.roots.import_()
    db.roots.remove("claude-code")

    assert (kept.name, kept.path, report.memories["new"], db.roots.list()) == ("claude-code", "", 1, ())


def test_roots_belong_to_a_project(db: Recollection, tmp_path: Path) -> None:
    ours, theirs = write(tmp_path / "ours", a="Ours."), write(tmp_path / "theirs", a="Theirs.")
    db.in_project("ours").roots.add(ours)
    db.in_project("theirs").roots.add(theirs)

    report = db.roots.import_()

    assert [each.path for each in db.in_project("ours").roots.list()] == [ours.as_posix()]
    assert [each.project for each in db.roots.list()] == ["ours", "theirs"]
    assert report.memories["new"] == 2
    assert {db.show(row).memory.project for row in (1, 2)} == {"ours", "theirs"}


def test_a_path_within_a_root_is_no_root_of_its_own(db: Recollection, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", a="A.")
    db.roots.add(folder)

    db.roots.add(folder / "a.md")
    db.roots.add(folder / "a.md", trust="untrusted")

    assert [(each.path, each.trust) for each in db.roots.list()] == [
        (folder.as_posix(), "owner"),
        (f"{folder.as_posix()}/a.md", "untrusted"),
    ]


def test_a_root_that_is_dropped_leaves_its_memories(db: Recollection, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", a="The port is 8080.")
    db.roots.add(folder)
    db.roots.import_()

    db.roots.remove(folder)

    assert (db.roots.list(), db.show(1).memory.content) == ((), "The port is 8080.")
    with pytest.raises(InputError, match="is no root"):
        db.roots.remove(folder)
    with pytest.raises(InputError, match="no roots are kept here"):
        db.roots.import_()


def test_a_root_that_is_away_is_told_and_nothing_is_forgotten(db: Recollection, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", a="The port is 8080.")
    db.roots.add(folder)
    db.roots.import_()
    folder.rename(tmp_path / "elsewhere")

    report = db.roots.import_()

    assert (report.files["failed"], report.memories["removed"], db.show(1).memory.deleted_at) == (1, 0, None)


def test_a_path_that_holds_a_secret_is_not_kept(db: Recollection, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="this path cannot be kept"):
        db.roots.add(tmp_path / TOKEN)


# --- vectors after the words ----------------------------------------------------------------


def test_an_import_embeds_its_own_files_and_no_backlog(db: Recollection, tmp_path: Path) -> None:
    db.add_all([Memory(content=f"waiting {number}") for number in range(5)], embed=False)
    folder = write(tmp_path / "notes", a="The port is 8080.")

    report = db.import_(folder)

    assert embedded(db) == ["The port is 8080."]
    assert (report.embedded, report.waiting) == (1, 5)


def test_an_import_that_refuses_its_file_embeds_nothing(db: Recollection, tmp_path: Path) -> None:
    db.add_all([Memory(content=f"waiting {number}") for number in range(5)], embed=False)

    report = db.import_(tmp_path / "nowhere.md")

    assert (report.files["failed"], embedded(db), report.waiting) == (1, [], 5)


def test_everything_is_found_by_word_before_a_vector_is_made(db: Recollection, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", a="The port is 8080.", b="The host is db1.")

    report = db.import_(folder, defer=True)
    found = [hit.memory.content for hit in db.search("port", mode="keyword").hits]
    before = list(embedded(db))
    made = db.embed_imported(report)

    assert (found, before, made, report.waiting) == (["The port is 8080."], [], 2, 0)


def test_an_interrupted_embedding_goes_on_with_the_next_import(db: Recollection, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", **{f"n{at}": f"Note {at} speaks of thing {at * 7}." for at in range(200)})
    assert isinstance(db.models, Counting)
    db.models.patience = 100
    report = db.import_(folder, defer=True)
    with pytest.raises(KeyboardInterrupt):
        db.embed_imported(report)
    kept, waiting = report.embedded, report.waiting
    db.models.patience = 10**9

    again = db.import_(folder)

    assert (kept, waiting) == (128, 72)
    assert (again.memories["unchanged"], again.embedded, again.waiting) == (200, 72, 0)


def test_an_added_memory_waits_for_no_backlog(db: Recollection) -> None:
    db.add_all([Memory(content=f"waiting {number}") for number in range(5)], embed=False)

    db.add("The port is 8080.")

    assert embedded(db) == ["The port is 8080."]
    assert [each.pending for each in db.store.generations(scope=ALL_PROJECTS)] == [5]


def test_vectors_may_be_made_in_the_background(db: Recollection, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", a="The port is 8080.")

    db.import_(folder, background=True)
    db.flush()

    assert embedded(db) == ["The port is 8080."]
