"""Completion in a real shell: verbs, options and values from the store; never a message, never a new store."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import recollect
from recollect.operations import OPERATIONS
from recollect.stores.sqlite.names import KINDS, find_names

Press = Callable[..., list[str]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("completed")
    with recollect.open(made / "notes.db", model="none") as db:
        db.add("Owner: Mara of the billing team", type="config", tag="release,red", source="notes/a.md", project="web")
        db.add("We deploy on Fridays", type="decision", tag="ops", title="Deploys")
        db.add("A \x1b[31mred\x1b[0m text\nof two lines", type="con\x1btrol", tag="steer")
        db.forget(db.add("A forgotten thing", type="gone", tag="gone").id)
        db.lenses.create("work", type="decision")
        db.in_project("web").lenses.create("web-lens", type="note")
    program = made / "bin" / "recollect"
    program.parent.mkdir()
    call = "from recollect.surfaces.cli import main; main()"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c "{call}" "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    printed = subprocess.run([program, "completion", "bash"], capture_output=True, text=True, check=True)  # noqa: S603
    (made / "completion.bash").write_text(printed.stdout, encoding="utf-8")
    return made


@pytest.fixture
def surroundings(folder: Path) -> dict[str, str]:
    others = {name: value for name, value in os.environ.items() if not name.startswith("RECOLLECT_")}
    ours = {"RECOLLECT_DB": str(folder / "notes.db"), "RECOLLECT_CONFIG": "", "RECOLLECT_MODELS": str(folder)}
    return {**others, **ours, "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture
def press(folder: Path, surroundings: dict[str, str]) -> Press:
    """Press Tab in bash after these words, and return what it offers."""

    def pressed(*words: str, **more: str) -> list[str]:
        line = ["recollect", *words]
        script = (
            'source completion.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
            'COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; compopt() { :; }; '
            f'_recollect_completion recollect "{"${!#}"}" ""; printf "%s\\n" "${{COMPREPLY[@]}}"'
        )
        done = subprocess.run(  # noqa: S603
            ["bash", "-c", script, "bash", *line],  # noqa: S607
            cwd=folder,
            env={**surroundings, **more},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stderr == ""
        return sorted(done.stdout.split("\n")[:-1])

    return pressed


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("rei",), ["reindex"]),
        (("search", "--inc"), ["--include-facts", "--include-superseded"]),
        (("search", "--mode", "sem"), ["semantic"]),
        (("search", "--type", ""), ["config", "decision"]),
        (("search", "--type", "d"), ["decision"]),
        (("list", "--tag", "re"), ["red", "release"]),
        (("list", "--project", "web", "--tag", ""), ["red", "release"]),
        (("--project", "default", "list", "--tag", ""), ["ops", "steer"]),
        (("search", "--project", ""), ["default", "web"]),
        (("search", "--lens", ""), ["work"]),
        (("--project", "web", "search", "--lens", ""), ["web-lens"]),
        (("lens", "drop", ""), ["work"]),
        (("search", "--profile", "o"), ["oro"]),
        (("--profile", "cor"), ["cortex"]),
        (("search", "--source", "notes/"), ["notes/a.md"]),
        (("model", "install", "mini"), ["minilm"]),
        (("show", ""), ["1", "2", "3"]),
        (("--project", "web", "show", ""), ["1"]),
        (("edit", "supersede", "1", ""), ["1", "2", "3"]),
        (("search", "--since", "yes"), ["yesterday"]),
        (("search", "--lens", "nothing"), [""]),
    ],
)
def test_a_shell_offers_what_fits(press: Press, words: tuple[str, ...], offered: list[str]) -> None:
    assert press(*words) == offered


def test_ids_come_with_a_line_of_their_text_and_nothing_that_steers_a_terminal(
    folder: Path, surroundings: dict[str, str]
) -> None:
    asked = {"_RECOLLECT_COMPLETE": "zsh_complete", "COMP_WORDS": "recollect show ", "COMP_CWORD": "2"}

    done = subprocess.run(  # noqa: S603
        [folder / "bin" / "recollect"], env={**surroundings, **asked}, capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines() == [
        *("plain", "3", "A \\u001b[31mred\\u001b[0m text\\nof two lines"),
        *("plain", "2", "Deploys"),
        *("plain", "1", "Owner: Mara of the billing team"),
    ]


@pytest.mark.parametrize(
    "store", ["nowhere/notes.db", "empty.db", "words.txt", ".", "https://example.invalid", ":memory:", "damaged.db"]
)
def test_a_store_that_cannot_be_read_is_neither_made_nor_spoken_of(press: Press, folder: Path, store: str) -> None:
    (folder / "empty.db").write_bytes(b"")
    (folder / "words.txt").write_text("no store", encoding="utf-8")
    (folder / "damaged.db").write_bytes((folder / "notes.db").read_bytes()[:9000])
    before = sorted(folder.iterdir())

    assert press("search", "--type", "", RECOLLECT_DB=store) == [""]
    assert press("search", "--type", "", RECOLLECT_CONFIG=str(folder / "words.txt")) == [""]
    assert sorted(folder.iterdir()) == before


def test_a_name_is_read_beside_a_writer_and_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    with recollect.open(path, model="none") as db:
        db.add("The port is 5432", type="config")
        beside = find_names(path, "type")
    after = find_names(path, "type")

    assert beside == after == (("config", ""),)
    assert [each.name for each in tmp_path.iterdir()] == ["notes.db"]


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_of_name_is_a_question_that_the_store_understands(folder: Path, kind: str) -> None:
    assert find_names(folder / "notes.db", kind)


def test_a_search_for_names_gives_up_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "notes.db"
    with recollect.open(path, model="none") as db:
        db.add_all([recollect.Memory(content=f"note number {number}") for number in range(2_000)])
        db.add("the last of all", type="last")
    whole = find_names(path, "type")
    monkeypatch.setattr("recollect.stores.sqlite.names.SECONDS", -1.0)

    cut = find_names(path, "type")

    assert whole == (("note", ""), ("last", ""))
    assert cut == (("note", ""),)


def test_every_option_that_names_something_stored_is_completed(press: Press) -> None:
    named = {each.name for operation in OPERATIONS.values() for each in operation.parameters}

    assert {"type", "tag", "lens", "source", "kind", "fact_type", "id", "project"} <= named
    assert press("facts", "--type", "") != [""]
