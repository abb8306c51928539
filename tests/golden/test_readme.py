"""The README is true: its commands exist and its program runs."""

import re
import subprocess
import sys
from pathlib import Path

import click

import recollect
from recollect.surfaces.program import cli

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def test_every_command_it_shows_exists() -> None:
    shown = set(re.findall(r"^recollect ([a-z]+)", "".join(blocks("sh")), re.MULTILINE))

    assert {"import", "add", "search", "export"} <= shown
    assert shown <= set(cli.list_commands(click.Context(cli)))


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
