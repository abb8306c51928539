"""What an import says of the files: what it took them for, which it passed over and why; and the usual places."""

import json
from pathlib import Path

import pytest
from command import Run, apart, on_a_terminal

import recollect
from recollect.errors import InputError
from recollect.operations import OPERATIONS
from recollect.remember.formats import BY_NAME
from recollect.remember.places import PLACES

SESSION = "5f0d7a52-8a61-4d1c-9a39-0d7b3c1f2e10"


def write(root: Path, **files: str) -> Path:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def transcript(path: Path, *said: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        {
            "type": "user",
            "uuid": f"{path.stem}-{number}",
            "parentUuid": None,
            "sessionId": path.stem,
            "timestamp": "2026-03-01T10:00:00Z",
            "message": {"role": "user", "content": text},
        }
        for number, text in enumerate(said)
    ]
    tool = {"type": "tool_result", "tool_use_id": "t", "content": "42"}
    for number in range(2):
        lines.append({**lines[0], "uuid": f"t{number}", "message": {"role": "user", "content": [tool]}})
    lines.append({**lines[0], "uuid": "s", "isSidechain": True})
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


# --- the report -----------------------------------------------------------------------------


def test_an_import_tells_what_it_read_the_files_as_and_what_it_left_out(run: Run, tmp_path: Path) -> None:
    notes = write(tmp_path / "notes", a_dot_md="# A\n\nOne.\n", b_dot_md="# B\n\nTwo.\n", void_dot_txt="")
    transcript(notes / "s.jsonl", "Where is the key?")
    write(notes, p_dot_png="", q_dot_png="", _dot_env="TOKEN=1", x_dot_log="noise", _dot_gitignore="*.log\n")

    told = run("import", str(notes), "--verbose")

    assert told.out.splitlines()[1:] == [
        "read as: 2 markdown, 1 claude-code, 1 text",
        f"  {notes}/a.md: markdown",
        f"  {notes}/b.md: markdown",
        f"  {notes}/s.jsonl: claude-code",
        f"  {notes}/void.txt: text",
        "skipped: 2 .png (no reader), 2 hidden, 1 empty, 1 ignored",
        "left out of the files: 2 tool results, 1 turn of a subagent",
    ]
    assert told.code == 0


def test_the_same_stands_in_the_json(run: Run, tmp_path: Path) -> None:
    notes = write(tmp_path / "notes", a_dot_md="# A\n\nOne.\n", p_dot_png="")
    transcript(notes / "s.jsonl", "Where is the key?")

    value = run("import", str(notes), "--json").value

    assert value["formats"] == {"markdown": 1, "claude-code": 1}
    assert value["read"][1] == {"path": f"{notes}/s.jsonl", "format": "claude-code", "memories": 1}
    assert value["passed_over"] == {".png": 1}
    assert value["left_out"] == {"tool result": 2, "turn of a subagent": 1}


@pytest.mark.parametrize("files", [{"p_dot_png": "", "q_dot_sqlite": ""}, {}])
def test_a_folder_in_which_nothing_can_be_read_is_not_passed_over_in_silence(
    run: Run, tmp_path: Path, files: dict[str, str]
) -> None:
    folder = write(tmp_path / "pictures", **files)
    folder.mkdir(exist_ok=True)

    told = run("import", str(folder))

    assert told.code == 1
    assert told.out.startswith("nothing was read: no file here is of a format that is known")
    assert ("skipped: 1 .png (no reader), 1 .sqlite (no reader)" in told.out) == bool(files)


def test_an_archive_in_a_folder_that_no_format_knows_is_passed_over_and_one_that_is_named_is_an_error(
    run: Run, tmp_path: Path
) -> None:
    notes = write(tmp_path / "notes", a_dot_md="# A\n\nOne.\n")
    (notes / "backup.zip").write_bytes(b"PK\x05\x06" + b"\0" * 18)

    folder, named = run("import", str(notes)), run("import", str(notes / "backup.zip"))

    assert folder.code == 0
    assert "skipped: 1 .zip (no reader)" in folder.out
    assert named.code == 2
    assert "is binary, not text" in named.err


def test_what_an_agent_left_beside_a_session_is_passed_over(run: Run, tmp_path: Path) -> None:
    project = tmp_path / "projects" / "-srv-shop"
    transcript(project / f"{SESSION}.jsonl", "Where is the key?")
    transcript(project / SESSION / "subagents" / "agent-1.jsonl", "Look for keys")
    write(project / SESSION / "tool-results", out_dot_txt="a long listing")
    write(project / "own" / "subagents", how_dot_md="Notes of my own about subagents.")

    told = run("import", str(tmp_path / "projects"))

    assert "read as: 1 claude-code, 1 markdown" in told.out
    assert "skipped: 2 subagents and tool results" in told.out


# --- --as -----------------------------------------------------------------------------------


def test_a_format_that_is_named_overrides_what_a_file_looks_like(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "table.txt"
    path.write_text("name,city\nIda,Oslo\n", encoding="utf-8")
    run("import", str(path))

    told = run("import", str(path), "--as", "csv")

    assert "read as: 1 csv" in told.out
    assert "name: Ida\ncity: Oslo" in run("show", "2").out


def test_what_is_not_looked_at_for_the_sake_of_a_format_is_not_gone(run: Run, tmp_path: Path) -> None:
    notes = write(tmp_path / "notes", a_dot_md="# A\n\nOne.\n", b_dot_csv="text\nTwo\n")
    run("import", str(notes))

    told = run("import", str(notes), "--as", "csv", "--prune", "--json")

    assert told.value["memories"]["removed"] == 0
    assert told.value["passed_over"] == {".md": 1}


@pytest.mark.parametrize(("option", "table"), [("--as", BY_NAME), ("--from", PLACES)])
def test_a_name_that_is_none_is_answered_with_those_that_are(run: Run, option: str, table: dict[str, object]) -> None:
    words = ("import", option, "nonsense", *(["x.md"] if option == "--as" else []))

    told = run(*words)

    assert told.code == 2
    assert told.err.count("\n") == 1
    assert all(name in told.err for name in table)


def test_the_choices_of_an_option_are_those_of_the_table() -> None:
    choices = {each.name: tuple(each.choices) for each in OPERATIONS["import"].parameters}

    assert choices["as_"] == tuple(BY_NAME)
    assert choices["from_"] == tuple(PLACES)


# --- --from ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "variable", "inside"),
    [("claude-code", "CLAUDE_CONFIG_DIR", "projects/-srv"), ("claude-code", "HOME", ".claude/projects/-srv")],
)
def test_the_usual_place_is_found(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, variable: str, inside: str
) -> None:
    transcript(tmp_path / inside / f"{SESSION}.jsonl", "Where is the key?")
    write(tmp_path / inside, **{"sessions-index_dot_json": "{}", "memory__MEMORY_dot_md": "The key is in the safe."})
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.setenv(variable, str(tmp_path))

    told = run("import", "--from", name)

    assert told.code == 0
    assert told.out.startswith("found: 2 files, 1 KB in ")
    assert "read as: 1 agent-memory, 1 claude-code" in told.out
    assert "skipped: 1 .json (no reader)" in told.out


def test_a_session_that_the_program_deletes_is_not_forgotten(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    for number in range(3):
        transcript(tmp_path / "projects" / "-srv" / f"s{number}.jsonl", f"Question {number}")
    run("import", "--from", "claude-code")
    (tmp_path / "projects" / "-srv" / "s0.jsonl").unlink()

    told = run("import", "--from", "claude-code", "--json")

    assert told.value["memories"]["removed"] == 0
    assert told.value["files"]["skipped"] == 2


def test_an_export_is_found_among_other_downloads(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    message = {"uuid": "m", "sender": "human", "text": "When do I move?", "created_at": "2026-02-01T12:00:00Z"}
    export = [{"uuid": "c", "name": "Moving", "created_at": "2026-02-01T12:00:00Z", "chat_messages": [message]}]
    write(tmp_path / "Downloads", a_dot_zip="no archive", data__conversations_dot_json=json.dumps(export))

    told, other = run("import", "--from", "claude-ai"), run("import", "--from", "chatgpt")

    assert "read as: 1 claude-ai" in told.out
    assert other.code == 2
    assert other.err.startswith(f"error: nothing of chatgpt found in {tmp_path}/Downloads (ask for it in ChatGPT")


@pytest.mark.parametrize("name", PLACES)
def test_a_place_that_is_not_there_is_one_line_with_a_hint(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for place in PLACES.values():
        monkeypatch.delenv(place.variable or "NONE", raising=False)

    told = run("import", "--from", name)

    assert told.code == 2
    assert told.err.startswith(f"error: nothing of {name} found in {tmp_path}")
    assert told.err.count("\n") == 1
    assert "(" in told.err


def test_paths_and_a_place_do_not_go_together(tmp_path: Path) -> None:
    with recollect.open(":memory:", model="none") as db, pytest.raises(InputError) as caught:
        db.import_(tmp_path, from_="codex")

    assert caught.value.hint


def test_a_rehearsal_tells_what_would_be_read_and_writes_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    transcript(tmp_path / "projects" / "-srv" / f"{SESSION}.jsonl", "Where is the key?")

    told, value = (run("import", "--from", "claude-code", "--dry-run", *more) for more in ((), ("--json",)))

    assert told.out.splitlines() == [
        f"found: 1 file, 1 KB in {tmp_path}/projects",
        "read as: 1 claude-code",
    ]
    assert value.value["files"] == {"scanned": 1, "known": 0, "failed": 0}
    assert value.value["found"]["places"] == [f"{tmp_path}/projects"]
    assert run("stats", "--json").value["memories"] == 0


def test_a_first_import_of_many_files_is_asked_about_on_a_terminal_and_only_there(tmp_path: Path) -> None:
    for number in range(21):
        transcript(tmp_path / "claude" / "projects" / "-srv" / f"s{number}.jsonl", f"Question {number}")
    words = ("import", "--from", "claude-code")
    place = {"CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}

    no, drawn = on_a_terminal(*words, folder=tmp_path, typed="n\n", **place)
    before = apart("stats", "--json", folder=tmp_path).value["memories"]
    yes, _ = on_a_terminal(*words, folder=tmp_path, typed="y\n", **place)
    again, quiet = on_a_terminal(*words, folder=tmp_path, typed="", **place)
    piped = apart(*words, folder=tmp_path, **place)

    assert "found: 21 files, 16 KB in" in drawn
    assert "Import them?" in drawn
    assert (no, before, yes) == (130, 0, 0)
    assert "Import them?" not in quiet
    assert (again, piped.code) == (0, 0)
    assert piped.err == ""
