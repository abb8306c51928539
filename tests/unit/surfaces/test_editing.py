"""Memories changed by hand: by options, in an editor, their tags; and their source opened."""

from pathlib import Path

import pytest
from command import Run, on_a_screen

import recollect
from recollect.errors import InputError
from recollect.surfaces.editing import open_source


def events(run: Run, row: str) -> list[str]:
    return [event["verb"] for event in run("show", row, "--json").value["events"]]


# --- edit -----------------------------------------------------------------------------------


def test_an_edit_changes_what_is_given_and_keeps_what_was_said(run: Run) -> None:
    run("add", "We ship on Tuesdays", "--title", "Ships", "--metadata", "team=core", "--confidence", "0.5")

    told = run("edit", "#1", "--content", "We ship on Fridays", "--type", "decision", "--metadata", "floor=2")
    shown = run("show", "1", "--json").value

    assert told.out == "#1 changed content, type, metadata; see: recollect show 1\n"
    assert (shown["content"], shown["type"], shown["title"]) == ("We ship on Fridays", "decision", "Ships")
    assert (shown["metadata"], shown["confidence"]) == ({"team": "core", "floor": "2"}, 0.5)
    assert "edit: changed content, type, metadata, it said “We ship on Tuesdays”" in run("show", "1").out
    assert run("search", "fridays").code == 0
    assert run("search", "tuesdays").code == 1


def test_an_edit_takes_every_field_and_reads_standard_input(run: Run) -> None:
    run("add", "old words")
    options = ("--title", "T", "--tag", "a, b", "--date", "2026-03-02", "--source", "/n/a.md", "--confidence", "1")

    done = run("edit", "1", "--content", "-", *options, "--json", stdin=b"new words\n")
    shown = run("show", "1", "--json").value

    assert done.value["changed"] == ["content", "title", "source", "confidence", "observed_at", "tags"]
    assert (shown["content"], shown["title"], shown["tags"]) == ("new words", "T", ["a", "b"])
    assert (shown["source"], shown["confidence"], shown["observed_at"][:10]) == ("/n/a.md", 1.0, "2026-03-02")


def test_an_edit_that_changes_nothing_writes_nothing(run: Run) -> None:
    run("add", "We ship on Tuesdays")

    same, nothing, unknown = (
        run("edit", "1", "--content", "We ship on Tuesdays"),
        run("edit", "1"),
        run("edit", "9", "--title", "x"),
    )

    assert same.out == "#1 is the same as before\n"
    assert (nothing.code, "nothing to change" in nothing.err) == (2, True)
    assert unknown.code == 2
    assert run("edit", "1", "--content", "  ").code == 2
    assert events(run, "1") == ["add"]


def test_facts_follow_the_new_words(run: Run) -> None:
    run("add", "Port: 5432")

    run("edit", "1", "--content", "Port: 5433")

    assert [fact["object"] for fact in run("facts", "--json").value["facts"]] == ["5433"]


def test_a_secret_in_what_is_new_is_taken_out_and_what_was_kept_on_purpose_stays() -> None:
    secret, other = "ghp_" + "a1B2" * 10, "ghp_" + "z9Y8" * 10
    with recollect.open(":memory:", model="none") as db:
        db.add(f"the token is {secret}", redact=False)

        titled = db.edit(1, title=f"with {other}")

        assert (titled.changed, titled.redacted, titled.secrets[0].field) == (("title",), 1, "title")
        assert secret in db.show(1).memory.content
        assert other not in db.show(1).memory.title


def test_an_edited_memory_gets_vectors_of_its_new_words() -> None:
    with recollect.open(":memory:", model="hashing") as db:
        db.add("We ship on Tuesdays")

        db.edit(1, content="Bananas are yellow")

        assert [each.pending for each in db.generations()] == [0]
        assert db.search("banana yellow", mode="semantic").hits[0].id == 1


def test_the_words_are_edited_in_the_users_editor(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "notes.db", model="none") as db:
        db.add("We ship on Tuesdays")
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/Tuesdays/Fridays/ "$1"\n')
    editor.chmod(0o755)

    screen = on_a_screen("edit", "1", folder=tmp_path, EDITOR=str(editor))
    same = on_a_screen("edit", "1", folder=tmp_path, EDITOR="true")

    assert (screen.code, screen.lines) == (0, ["#1 changed content; see: recollect show 1"])
    assert (same.code, same.lines) == (2, ["error: nothing was saved in the editor (the memory is as it was)"])
    with recollect.open(tmp_path / "notes.db", model="none") as db:
        assert db.show(1).memory.content == "We ship on Fridays"


# --- tag ------------------------------------------------------------------------------------


def test_tags_are_given_and_taken_away(run: Run) -> None:
    run("add", "one", "--tag", "old,kept")
    run("add", "two", "--tag", "old")

    told = run("tag", "1", "#2", "--add", "new, newer", "--remove", "old")
    again = run("tag", "1", "--add", "new", "--json").value

    assert told.out == "#1 has the tags kept, new, newer\n#2 has the tags new, newer\n"
    assert again == {"id": 1, "changed": [], "tags": ["kept", "new", "newer"], "redacted": 0}
    assert run("list", "--tag", "newer", "--format", "ids").out == "2\n1\n"
    assert events(run, "1") == ["add", "tag"]


def test_tags_change_in_all_memories_or_in_none(run: Run) -> None:
    run("add", "one", "--tag", "old")
    run("add", "two")

    missing, unknown, nothing = (
        run("tag", "1", "2", "--remove", "old"),
        run("tag", "1", "9", "--add", "x"),
        run("tag", "1"),
    )

    assert [each.code for each in (missing, unknown, nothing)] == [2, 2, 2]
    assert "#2 has no tag 'old' (it has none)" in missing.err
    assert run("show", "1", "--json").value["tags"] == ["old"]


# --- open -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("editor", "told"), [("vim", "+3 {path}"), ("code", "--goto {path}:3"), ("subl", "{path}:3"), ("other", "{path}")]
)
def test_a_source_is_opened_at_its_line_as_the_editor_wants_it(tmp_path: Path, editor: str, told: str) -> None:
    program, path = tmp_path / editor, tmp_path / "a.md"
    program.write_text(f'#!/bin/sh\necho "opened $@" > {tmp_path}/opened\n')
    program.chmod(0o755)
    path.write_text("# A\n\nThe ship leaves.\n")
    with recollect.open(tmp_path / "notes.db", model="none") as db:
        db.import_(path)

    screen = on_a_screen("show", "open", "1", folder=tmp_path, EDITOR=str(program))

    assert (screen.code, screen.lines) == (0, [])
    assert (tmp_path / "opened").read_text() == f"opened {told.format(path=path)}\n"


def test_in_a_pipe_or_without_an_editor_it_is_only_said_where_the_source_is(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("# A\n\nThe ship leaves.\n")
    run("import", str(path))
    run("add", "no source")
    run("add", "a page", "--source", "https://example.org/a b")

    piped, screen = run("show", "open", "1"), on_a_screen("show", "open", "1", folder=tmp_path, EDITOR="", VISUAL="")

    assert piped.out == f"{path}:3\n"
    assert "".join(screen.lines) == f"{path}:3"
    assert run("show", "open", "2").err.startswith("error: #2 comes from no file (")
    assert run("show", "open", "3", "--json").value["address"] == "https://example.org/a%20b"


def test_no_stored_name_becomes_an_option_of_an_editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", "no-such-editor")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-c!x").write_text("x")

    assert open_source("-c!x", 1) is False
    assert open_source(str(tmp_path / "absent"), 1) is False
    with pytest.raises(InputError, match="cannot run no-such-editor"):
        open_source(str(tmp_path / "-c!x"), 1)


@pytest.mark.parametrize("editor", ["", "  "])
def test_without_an_editor_nothing_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, editor: str) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", editor)
    (tmp_path / "a.md").write_text("x")

    assert open_source(str(tmp_path / "a.md"), 1) is False
    monkeypatch.setenv("EDITOR", "vim 'x")
    with pytest.raises(InputError, match="cannot read EDITOR"):
        open_source(str(tmp_path / "a.md"), 1)
