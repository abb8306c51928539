"""A repository that holds modules with our names, or with names of the standard library, runs nothing of them."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from served import surroundings

import recollect
from recollect import __version__
from recollect.files import python_command
from recollect.surfaces.children import start_child
from recollect.surfaces.client import read_address
from recollect.surfaces.install.commands import program
from recollect.surfaces.serving import stop

SAFELY = [sys.executable, "-P", "-m", "recollect"]
"""How the test itself starts the program, as the installed script does: without the current folder in its path."""


@pytest.fixture
def planted(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a repository with modules in it that leave a mark beside it when they are run."""
    folder = tmp_path / "cloned"
    ours = getattr(request, "param", "recollect.py")
    for name in (ours, "json.py", "sitecustomize.py"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write({name!r})\n")
    if "/" in ours:
        (folder / "recollect" / "__init__.py").touch()
    (folder / ".git").mkdir()
    return folder


def run(*words: str, folder: Path, env: dict[str, str], stdin: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(  # noqa: S603
        [*SAFELY, *words], cwd=folder, env=env, input=stdin, capture_output=True, text=True, timeout=300, check=False
    )


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 300
    while not holds():
        assert time.monotonic() < until, "it never came"
        time.sleep(0.05)


def careless(folder: Path) -> dict[str, str]:
    """Return an environment whose import path names the current folder, as a careless shell profile does."""
    env = surroundings(folder)
    return {**env, "PYTHONPATH": f"{env.get('PYTHONPATH', '')}{os.pathsep}"}


def test_the_end_of_a_turn_keeps_the_transcript_and_runs_nothing_of_the_folder(planted: Path, tmp_path: Path) -> None:
    env = surroundings(tmp_path)
    said = {"type": "user", "message": {"role": "user", "content": "We ship on Tuesdays"}, "uuid": "u1"}
    transcript = planted / "session.jsonl"
    transcript.write_text(json.dumps({**said, "sessionId": "s1", "timestamp": "2026-05-04T10:00:00Z"}) + "\n")
    event = {"hook_event_name": "Stop", "cwd": str(planted), "session_id": "s1", "transcript_path": "session.jsonl"}

    done = run("hook", "--debug", folder=planted, env=env, stdin=json.dumps(event))

    with recollect.open(env["RECOLLECT_DB"], model="none") as db:
        wait_until(lambda: db.stats().memories > 0)
        kept = db.list().memories[0]
    assert (done.returncode, done.stderr) == (0, "")
    assert (kept.project, "Tuesdays" in kept.content) == ("cloned", True)
    assert not (tmp_path / "ran").exists()


def test_a_server_that_a_command_starts_runs_nothing_of_the_folder(planted: Path, tmp_path: Path) -> None:
    env = {**surroundings(tmp_path), "RECOLLECT_DAEMON": "auto", "RECOLLECT_DB": "../store.db"}
    db = str(tmp_path / "store.db")
    run("add", "We ship on Tuesdays", folder=planted, env={**env, "RECOLLECT_DAEMON": "off"})

    run("search", "ship", folder=planted, env=env)

    wait_until(lambda: read_address(db) is not None)
    stop(db)
    assert not (tmp_path / "ran").exists()


def test_the_daemon_runs_nothing_of_the_folder_it_is_started_in(planted: Path, tmp_path: Path) -> None:
    env = surroundings(tmp_path)
    run("add", "We ship on Tuesdays", folder=planted, env=env)

    started = run("daemon", "start", folder=planted, env=env)
    stopped = run("daemon", "stop", folder=planted, env=env)

    assert (started.returncode, stopped.returncode) == (0, 0)
    assert not (tmp_path / "ran").exists()


EITHER = pytest.mark.parametrize("planted", ["recollect.py", "recollect/__main__.py"], indirect=True)


@EITHER
def test_what_clients_are_told_to_run_runs_nothing_of_the_folder(planted: Path, tmp_path: Path) -> None:
    commands = [program(), tuple(python_command("recollect"))]

    said = [
        subprocess.run(  # noqa: S603
            [*command, "--version"], cwd=planted, env=surroundings(tmp_path), capture_output=True, check=True
        ).stdout
        for command in commands
    ]

    assert all(__version__.encode() in each for each in said)
    assert not (tmp_path / "ran").exists()


@EITHER
def test_a_child_imports_nothing_of_the_folder_even_if_the_import_path_names_it(
    planted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in careless(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(planted)

    started = start_child("recollect", "store", "init", db="../store.db")

    assert started.wait(300) == 0
    assert (tmp_path / "store.db").exists()
    assert not (tmp_path / "ran").exists()
