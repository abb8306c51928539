"""Bad input: one clear line with a hint, the right exit code, nothing lost, never a traceback."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from command import Ran, Run, apart
from msgspec.structs import replace

from recollect.operations import OPERATIONS

NOBODY = 65534


def one_line(told: Ran, *parts: str) -> None:
    """Assert that *told* is an error of one line that says *parts*, and then what to do."""
    assert told.err.count("\n") == 1, told.err
    assert told.err.startswith("error: ")
    assert "Traceback" not in told.err
    for part in parts:
        assert part in told.err
    assert told.err.rstrip().endswith(")"), "it ends with a hint"


@contextmanager
def without_rights() -> Iterator[None]:
    """Be somebody who may not do everything; the superuser never sees a closed door."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


# --- usage ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("search",), "Missing argument 'QUERY...'"),
        (("show",), "Missing argument 'ID...'"),
        (("import",), "no roots are kept here"),
        (("show", "seven"), "'seven' is not an id"),
        (("search", "x", "--mode", "magic"), "'magic' is not one of"),
        (("search", "x", "--limit", "many"), "'many' is not a valid integer"),
        (("list", "--limit", "9" * 30), "is too large"),
        (("search", "x", "--colour", "red"), "No such option"),
        (("serach", "x"), "No such command 'serach'"),
        (("completion",), "Missing argument '{bash|zsh|fish}'. Choose from: bash, zsh, fish"),
        (("search", "x", "--since", "banana"), "since: 'banana' is not a date"),
        (("list", "--until", "32 May"), "until: '32 May' is not a date"),
        (("add", "x", "--date", "soon"), "date: 'soon' is not a date"),
        (("add", "x", "--metadata", "team"), "'team' is not KEY=VALUE"),
        (("add", "   "), "the text is blank"),
        (("add", "-"), "the text is blank"),
        (("show", "99"), "no memory has the id 99"),
        (("forget", "99"), "no memory has the id 99"),
        (("restore", "0"), "no memory has the id 0"),
        (("stats", "--profile", "magic"), "no profile is called 'magic'"),
        (("stats", "--db", "mysql://host/x"), "no store is known for mysql://host/x"),
    ],
)
def test_what_cannot_be_understood_is_exit_code_two(run: Run, words: tuple[str, ...], said: str) -> None:
    told, value = run(*words), run(*words, "--json") if words != ("completion",) else run("--json", *words)

    assert (told.code, value.code, told.out) == (2, 2, "")
    one_line(told, said)
    assert set(value.error) == {"code", "message", "hint"}
    assert said in value.error["message"]
    assert value.error["hint"]


def test_an_error_in_json_names_its_kind(run: Run) -> None:
    wrong = (("show", "9"), ("search",), ("search", "x", "--since", "banana"), ("stats", "--profile", "magic"))

    codes = [run(*words, "--json").error["code"] for words in wrong]

    assert codes == ["unknown_id", "bad_input", "bad_query", "bad_profile"]


def test_what_nobody_foresaw_is_one_line_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fall(*_: object) -> None:
        raise KeyError("two\nlines")

    fallen = replace(OPERATIONS["stats"], run=fall)
    monkeypatch.setattr("recollect.surfaces.commands._operation", lambda _: fallen)

    told, value = run("stats"), run("stats", "--json")

    assert told.code == 3
    one_line(told, "KeyError", "test_bad_input.py:")
    assert value.error["code"] == "error"


# --- files ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.md", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is binary, not text"),
        ("a.txt", "Füße".encode("latin-1"), "is not UTF-8 text: byte 0xFC on line 1"),
        ("a.json", b'{"a": ', "not JSON"),
        ("a.yaml", b"a: [1, 2", "YAML"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_and_the_rest_is_imported(
    run: Run, tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / name).write_bytes(content)
    (folder / "z.md").write_text("the good note")

    value = run("import", str(folder), "--json")
    told = run("import", str(folder))

    assert (told.code, value.code, value.err) == (2, 2, "")
    assert value.value["memories"]["new"] == 1
    (error,) = value.value["errors"]
    assert error["path"] == str(folder / name)
    assert said in error["reason"]
    assert told.err.count("\n") == 1
    assert told.err.startswith(f"error: {folder / name}: ")
    assert run("search", "good").code == 0


def test_a_file_of_fifty_megabytes_is_refused_by_its_size(run: Run, tmp_path: Path) -> None:
    large = tmp_path / "large.md"
    with large.open("wb") as file:
        file.truncate(50 * 1024 * 1024)

    told = run("import", str(large))

    assert told.code == 2
    assert "is too large: 50.0 MB; the limit is 10 MB; split the file" in told.err


def test_a_broken_line_of_json_loses_only_itself(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "the first"}\n{"text": broken\n{"text": "the third"}\n')

    value = run("import", str(tmp_path / "a.jsonl"), "--json")

    assert value.code == 2
    assert value.value["memories"]["new"] == 2
    assert value.value["files"] == {"scanned": 1, "imported": 1, "skipped": 0, "failed": 0}
    assert "line 2" in value.value["errors"][0]["reason"]


@pytest.mark.parametrize("path", ["none.md", "file.md/inside.md", "a\0b.md"])
def test_a_path_that_leads_nowhere_is_named(run: Run, tmp_path: Path, path: str) -> None:
    (tmp_path / "file.md").write_text("a note")

    told = run("import", str(tmp_path / path), str(tmp_path / "file.md"))

    assert told.code == 2
    assert told.err.count("\n") == 1
    assert "not found" in told.err
    assert told.out.startswith("1 file, 1 memory new (1 file failed)")


def test_a_pipe_is_not_waited_for(run: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")

    told = run("import", str(tmp_path / "pipe.md"))

    assert told.code == 2
    assert "is not a regular file" in told.err


def test_a_folder_and_a_file_without_rights_are_named_and_the_rest_is_imported(run: Run) -> None:
    run("stats")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "closed").mkdir(mode=0o000)
        (folder / "secret.md").write_text("a secret")
        (folder / "secret.md").chmod(0o000)
        (folder / "open.md").write_text("an open note")
        with without_rights():
            value = run("import", name, "--db", ":memory:", "--json")

    assert value.code == 2
    assert value.value["memories"]["new"] == 1
    reasons = {Path(error["path"]).name: error["reason"] for error in value.value["errors"]}
    assert set(reasons) == {"closed", "secret.md"}
    assert all("permission denied" in reason.lower() for reason in reasons.values())


# --- stores ---------------------------------------------------------------------------------


def test_a_store_that_is_none_is_exit_code_three_and_left_as_it_is(run: Run, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.db").write_text("this is a letter, not a database")
    wrong = {
        "folder": "is a folder, not a store",
        "text.db": "is not a recollect store",
        "text.db/notes.db": "cannot open",
    }

    for path, said in wrong.items():
        told, value = (
            run("add", "x", "--db", str(tmp_path / path)),
            run("stats", "--db", str(tmp_path / path), "--json"),
        )

        assert (told.code, value.code) == (3, 3)
        one_line(told, said)
        assert value.error["code"] in ("store", "store_damaged")
    assert (tmp_path / "text.db").read_text() == "this is a letter, not a database"


def test_a_folder_that_may_not_be_written_is_exit_code_three(run: Run) -> None:
    run("stats")
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o555)
        with without_rights():
            told = run("add", "x", "--db", f"{name}/deep/notes.db")

    assert told.code == 3
    one_line(told, "cannot open", "Permission denied")


def test_a_truncated_store_is_damaged_and_kept(run: Run, tmp_path: Path) -> None:
    run("add", "We ship on Tuesday")
    path = tmp_path / "notes.db"
    path.write_bytes(path.read_bytes()[:3000])

    told = run("search", "ship")

    assert told.code == 3
    one_line(told, "is damaged")
    assert path.stat().st_size == 3000


def test_an_export_that_cannot_be_written_is_an_error(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")

    told = run("export", str(tmp_path / "file" / "all.jsonl"))

    assert told.code == 2
    one_line(told, "cannot write")


def test_a_wrong_settings_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text('databse = "x"\n')

    told = apart("stats", folder=tmp_path, RECOLLECT_CONFIG=str(tmp_path / "settings.toml"))

    assert told.code == 2
    one_line(told, "unknown setting 'databse'")


def test_an_argument_that_is_written_as_an_option_is_told_how_to_be_given(run: Run) -> None:
    told = run("token", "create", "--name", "ida")

    assert told.code == 2
    assert "name is an argument, not an option" in told.err
    assert "recollect token" in told.err
