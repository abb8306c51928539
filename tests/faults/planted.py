"""A folder with planted modules: every process that recollect starts there imports and runs nothing of it."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from row import Progress, Row, silent

import recollect
from recollect.files import python_command
from recollect.surfaces.install.commands import program

PLANTS: Mapping[str, tuple[str, ...]] = {
    "a module": ("recollect.py",),
    "a package": ("recollect/__init__.py", "recollect/__main__.py"),
    "names of the standard library": ("json.py", "signal.py", "subprocess.py", "sitecustomize.py", "usercustomize.py"),
}
DEADLINE_SECONDS = 300.0
Way = Callable[[Path, Path, dict[str, str]], None]


def row(progress: Progress = silent) -> Row:
    """Use every way in which recollect starts a process, in a folder with each kind of plant."""
    failures, done = [], 0
    for plant, names in PLANTS.items():
        for way, act in WAYS.items():
            with tempfile.TemporaryDirectory() as scratch:
                folder, mark = Path(scratch, "cloned"), Path(scratch, "ran")
                _plant(folder, mark, names)
                act(folder, Path(scratch), _environment(Path(scratch)))
                if mark.exists():
                    failures.append(f"{plant}, {way}: {mark.read_text(encoding='utf-8')} was run")
            done += 1
            progress(done, len(PLANTS) * len(WAYS))
    return Row(
        title="Planted modules",
        done=f"{done} times recollect was used in a folder that holds {', '.join(PLANTS)}: {', '.join(WAYS)}",
        lost=f"{len(failures)} planted files were run",
        unproven="programs of clients, and shells that put the current folder on PATH",
        failures=tuple(failures),
    )


def _plant(folder: Path, mark: Path, names: tuple[str, ...]) -> None:
    (folder / ".git").mkdir(parents=True)
    for name in names:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"open({str(mark)!r}, 'a').write({name!r})\n", encoding="utf-8")


def _environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RECOLLECT_")}
    ours = {"RECOLLECT_DB": str(home / "store.db"), "RECOLLECT_MODEL": "none", "RECOLLECT_OFFLINE": "1"}
    return {**kept, **ours, "HOME": str(home), "RECOLLECT_CONFIG": str(home / "settings.toml")}


def _run(folder: Path, env: dict[str, str], *words: str, stdin: str = "") -> None:
    command = [sys.executable, "-P", "-m", "recollect", *words]
    subprocess.run(command, cwd=folder, env=env, input=stdin, text=True, capture_output=True, check=False)  # noqa: S603


def _wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + DEADLINE_SECONDS
    while not holds() and time.monotonic() < until:
        time.sleep(0.05)


def _hook(folder: Path, _home: Path, env: dict[str, str]) -> None:
    said = {
        "type": "user",
        "message": {"role": "user", "content": "We ship on Tuesdays"},
        "uuid": "u",
        "sessionId": "s",
    }
    (folder / "session.jsonl").write_text(json.dumps(said) + "\n", encoding="utf-8")
    event = {"hook_event_name": "Stop", "cwd": str(folder), "session_id": "s", "transcript_path": "session.jsonl"}
    _run(folder, env, "hook", stdin=json.dumps(event))
    _wait_until(lambda: Path(env["RECOLLECT_DB"]).exists() and _memories(env["RECOLLECT_DB"]) > 0)


def _memories(db: str) -> int:
    with recollect.open(db, model="none") as opened:
        return opened.stats().memories


def _daemon(folder: Path, _home: Path, env: dict[str, str]) -> None:
    _run(folder, env, "store", "init")
    _run(folder, env, "daemon", "start")
    _run(folder, env, "daemon", "stop")


def _auto(folder: Path, _home: Path, env: dict[str, str]) -> None:
    _run(folder, env, "store", "init")
    _run(folder, {**env, "RECOLLECT_DAEMON": "auto"}, "stats")
    _wait_until(lambda: Path(f"{env['RECOLLECT_DB']}.serve").exists())
    _run(folder, env, "daemon", "stop")


def _configured(folder: Path, _home: Path, env: dict[str, str]) -> None:
    for command in (program(), python_command("recollect")):
        subprocess.run([*command, "--version"], cwd=folder, env=env, capture_output=True, check=True)  # noqa: S603


def _document(folder: Path, _home: Path, env: dict[str, str]) -> None:
    (folder / "page.html").write_text("<h1>Printing</h1><p>The printer takes A3 paper.", encoding="utf-8")
    _run(folder, env, "import", "page.html")


WAYS: Mapping[str, Way] = {
    "the Stop hook": _hook,
    "`daemon start`": _daemon,
    "`RECOLLECT_DAEMON=auto`": _auto,
    "the command that `install` writes": _configured,
    "a document read in a child": _document,
}
