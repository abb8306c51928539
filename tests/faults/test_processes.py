"""Several processes and sudden ends: nothing acknowledged is lost, nothing is locked, the file stays whole."""

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

import recollect
from recollect import Memory

WORKER = Path(__file__).parent / "worker.py"
SECONDS = 20
PROCESSES = 8


def start(*words: str) -> "subprocess.Popen[str]":
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("RECOLLECT_")}
    return subprocess.Popen(  # noqa: S603
        [sys.executable, str(WORKER), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**surroundings, "RECOLLECT_CONFIG": "", "RECOLLECT_OFFLINE": "1"},
    )


def added(lines: Iterable[str]) -> dict[int, str]:
    """Return the memories that *lines* acknowledge, by id; a line without its end was never finished."""
    whole = (line.rstrip("\n").split(" ", 2) for line in lines if line.startswith("add ") and line.endswith("\n"))
    return {int(row): text for _, row, text in whole}


def held(path: Path) -> dict[int, Memory]:
    with recollect.open(path, model="none") as db:
        return {memory.id: memory for memory, _ in db.export()}


def problems(path: Path) -> tuple[str, ...]:
    with recollect.open(path, model="none") as db:
        return db.doctor().problems


@pytest.mark.full
def test_eight_processes_share_one_file(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    processes = [start("write_and_read", str(path), f"w{n}x", str(SECONDS)) for n in range(PROCESSES)]

    finished = [process.communicate(timeout=SECONDS * 6) for process in processes]

    assert [said for _, said in finished] == [""] * PROCESSES
    assert [process.returncode for process in processes] == [0] * PROCESSES
    told = [added(out.splitlines(keepends=True)) for out, _ in finished]
    assert all(told), "every one of them wrote"
    acknowledged = {row: text for each in told for row, text in each.items()}
    assert len(acknowledged) == sum(map(len, told)), "no id was given twice"
    memories = held(path)
    assert {row: memories[row].content for row in acknowledged} == acknowledged
    assert problems(path) == ()


def test_a_writer_may_be_killed_at_any_moment(tmp_path: Path) -> None:
    path, folder = tmp_path / "notes.db", tmp_path / "notes"
    folder.mkdir()
    for n in range(60):
        sections = "".join(f"# Part {k}\n\nnote {n} says that part {k} is number {n * 7 + k}\n\n" for k in range(4))
        (folder / f"{n:02}.md").write_text(sections)
    chance = random.Random(4)
    acknowledged: dict[int, str] = {}

    for _ in range(5):
        process = start("add_and_import", str(path), str(folder))
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(chance.randint(3, 12))]
        time.sleep(chance.random() * 0.4)
        process.kill()
        rest, said = process.communicate()
        acknowledged |= added([*lines, *rest.splitlines(keepends=True)])

        assert said == ""
        memories = held(path)
        assert {row: memories[row].content for row in acknowledged} == acknowledged
        assert problems(path) == ()

    with recollect.open(path, model="none") as db:
        db.import_(folder)
        again = db.import_(folder)
        notes = [memory for memory, _ in db.export() if memory.source]
    assert (again.memories["new"], again.memories["unchanged"]) == (0, 240)
    assert len({memory.content for memory in notes}) == len(notes) == 240
