"""The README is true: its commands exist and its program runs."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

import recollect
from recollect.surfaces.cli import main
from recollect.surfaces.program import cli

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def test_every_command_it_shows_exists() -> None:
    shown = set(re.findall(r"^recollect ([a-z]+)", "".join(blocks("sh")), re.MULTILINE))

    assert {"import", "add", "search", "export"} <= shown
    assert shown <= {name.split()[0] for name in cli.list_commands(click.Context(cli))}


def test_every_option_it_names_exists() -> None:
    context = cli.make_context("recollect", [], resilient_parsing=True)
    commands = [cli.get_command(context, name) for name in cli.list_commands(context)]
    parameters = [each for command in (cli, *commands) if command for each in command.params]
    options = {word for each in parameters for word in (*each.opts, *each.secondary_opts)}

    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", README))

    assert named - options <= {"--help"}


def test_its_program_runs(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("The ship leaves on Tuesday")
    (program,) = blocks("python")

    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={
            "HOME": str(tmp_path),
            "PATH": "",
            "RECOLLECT_CONFIG": "",
            "RECOLLECT_MODEL": "none",
            "PYTHONPATH": str(Path(recollect.__file__).parents[1]),
        },
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stderr == ""
    assert "We [ship] on Tuesdays" in done.stdout
    assert "The [ship] leaves on Tuesday" in done.stdout


ELSEWHERE = ("model install", "serve", "daemon", "eval", "init", "move", "--project web add", "edit", "purge")
"""What needs a network, a server, a judged set or another database, and what asks a person on a terminal."""


def commands(page: str) -> list[list[str]]:
    """Return the commands of recollect in the shell blocks of *page* that can run here, as they are written."""
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("recollect ")]
    return [shlex.split(line, comments=True)[1:] for line in lines if not line[10:].startswith(ELSEWHERE)]


def ran(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = 0
    try:
        main(words)
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 1
    return code, capsys.readouterr().err


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home with notes, a session of an agent, and a store of thirty memories that the examples speak of."""
    note, session = tmp_path / "notes" / "ship.md", tmp_path / ".claude" / "projects" / "p" / "s.jsonl"
    said = {"type": "user", "sessionId": "s", "uuid": "u", "message": {"role": "user", "content": "We ship weekly"}}
    for path, text in ((note, "The ship leaves on Tuesday"), (session, json.dumps(said))):
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name in ("APPDATA", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "RECOLLECT_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    values = {"HOME": str(tmp_path), "RECOLLECT_DB": str(tmp_path / "notes.db"), "RECOLLECT_MODEL": "hashing"}
    for name, value in {**values, "RECOLLECT_DAEMON": "off", "RECOLLECT_CONFIG": "", "EDITOR": "true"}.items():
        monkeypatch.setenv(name, value)
    with recollect.open(tmp_path / "notes.db", model="none") as db:
        drafts = [
            recollect.Memory(content=f"Ship {at} sails", external_id=str(at), tags=("draft",), source=str(note))
            for at in range(30)
        ]
        db.add_all(drafts)
    return tmp_path


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("page", ["README.md", "docs/agents.md", "docs/terminal.md"])
def test_the_commands_of_its_shell_blocks_run_as_they_are_written(
    page: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {" ".join(words): ran(words, capsys) for words in commands(page)}

    assert found
    assert {words: told for words, told in found.items() if told[0] not in (0, 1)} == {}
