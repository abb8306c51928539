"""Imports are cheap: the doors open without the model, the arithmetic or the web, and a command loads what it uses."""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import pytest
from sourcetree import modules

import recollect

HEAVY = ("mcp", "numpy", "onnx", "onnxruntime", "starlette", "tokenizers", "uvicorn")
IDLE = (
    "recollect.evaluate.evaluate",
    "recollect.evaluate.tune",
    "recollect.recall.inject",
    "recollect.remember.context",
    "recollect.remember.ingest",
    "recollect.search.related",
    "recollect.search.why",
    "recollect.surfaces.demo",
    "recollect.upkeep.consolidate",
)
"""What other verbs need: a command is a process of its own and pays for all that it loads."""
SEARCH = """
import recollect.operations
recollect.open(":memory:", model="none").search("anything")
"""
SMALL = """
import recollect
db = recollect.open(":memory:", model="none")
for n in range(100):
    db.add(f"The lighthouse number {n} stands by the sea and its keeper counts the ships")
assert db.search("lighthous keeper number 7").hits
"""
DOORS = ("recollect", "recollect.surfaces.cli")
SLOW = (
    *(
        "argparse",
        "asyncio",
        "calendar",
        "concurrent.futures",
        "csv",
        "ctypes",
        "dataclasses",
        "difflib",
    ),
    *("email", "hashlib", "http", "importlib.metadata", "logging", "multiprocessing"),
    *(
        "pickle",
        "platformdirs",
        "random",
        "secrets",
        "shutil",
        "socket",
        "sqlite3",
        "ssl",
        "statistics",
    ),
    *("subprocess", "tempfile", "unittest", "zipfile"),
)
"""Modules of the standard library and of others that take long to load and that a search by words does not need."""
OTHER_VERBS = (
    "recollect.embedders.install",
    *("recollect.evaluate.evaluate", "recollect.remember.import_files", "recollect.upkeep.purge"),
)
TELLING = """
import atexit, sys
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
from recollect.surfaces.front import main
main()
"""
COUNTING = """
import atexit, os, sys
atexit.register(lambda: print("numpy" in sys.modules, len(os.listdir("/proc/self/task")), file=sys.stderr))
from recollect.surfaces.front import main
main()
"""
EVERYDAY = (
    ("search", "--mode", "keyword", "deploy"),
    ("search", "--mode", "keyword", "deploy", "--limit", "3", "--json"),
    ("list",),
    ("show", "1"),
)


def loaded(statement: str, names: Iterable[str]) -> list[str]:
    """Return which of *names* a fresh interpreter has loaded after *statement*."""
    script = f"import sys\n{statement}\nprint(*sorted(set(sys.modules) & set(sys.argv[1:])))"
    done = subprocess.run([sys.executable, "-c", script, *names], capture_output=True, text=True, check=True)  # noqa: S603
    return done.stdout.split()


@pytest.mark.parametrize("door", [door for door in DOORS if find_spec(door)])
def test_a_door_opens_without_anything_heavy(door: str) -> None:
    assert loaded(f"import {door}", HEAVY) == []


def test_a_search_loads_nothing_that_only_other_verbs_need() -> None:
    assert [name for name in IDLE if find_spec(name) is None] == []
    assert loaded(SEARCH, IDLE) == []


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store of two memories."""
    path = tmp_path_factory.mktemp("small") / "notes.db"
    with recollect.open(path, model="none") as notes:
        notes.add("We deploy on Fridays")
        notes.add("The database is PostgreSQL 16")
    return path


@pytest.mark.parametrize("words", EVERYDAY, ids=" ".join)
def test_an_everyday_command_loads_nothing_slow(store: Path, words: tuple[str, ...]) -> None:
    variables = {**os.environ, "RECOLLECT_DAEMON": "off", "RECOLLECT_MODEL": "none"}
    command = [sys.executable, "-c", TELLING, "--db", str(store), *words]

    done = subprocess.run(command, capture_output=True, text=True, check=True, env=variables)  # noqa: S603

    assert "deploy" in done.stdout
    assert set(done.stderr.split()) & {*SLOW, *HEAVY, *IDLE, *OTHER_VERBS} == set()


@pytest.mark.parametrize("verb", ["add", "import"])
def test_a_command_that_writes_loads_nothing_that_searches_or_tidies_up(tmp_path: Path, verb: str) -> None:
    (tmp_path / "note.md").write_text("We deploy on Fridays", encoding="utf-8")
    variables = {**os.environ, "RECOLLECT_DAEMON": "off", "RECOLLECT_MODEL": "none"}
    command = [sys.executable, "-c", TELLING, "--db", str(tmp_path / "notes.db"), verb, str(tmp_path / "note.md")]

    done = subprocess.run(command, capture_output=True, text=True, check=True, env=variables)  # noqa: S603

    needless = ("recollect.search.", "recollect.upkeep.")
    loaded_names = set(done.stderr.split()) - {"recollect.search.limits"}
    assert [name for name in loaded_names if name.startswith(needless)] == []


def test_a_search_of_a_large_store_starts_no_threads_for_its_arithmetic(tmp_path: Path) -> None:
    lines = (json.dumps({"content": f"Note {at} says that room {at} is painted"}) for at in range(2_100))
    (tmp_path / "notes.jsonl").write_text("\n".join(lines), encoding="utf-8")
    place = str(tmp_path / "notes.db")
    with recollect.open(place, model="none") as notes:
        notes.import_(tmp_path / "notes.jsonl")
    variables = {name: value for name, value in os.environ.items() if not name.endswith("NUM_THREADS")}
    variables |= {"RECOLLECT_DAEMON": "off", "RECOLLECT_MODEL": "none"}
    command = [sys.executable, "-c", COUNTING, "--db", place, "search", "room", "1999"]

    done = subprocess.run(command, capture_output=True, text=True, check=True, env=variables)  # noqa: S603

    assert done.stderr.split() == ["True", "1"]


def test_values_are_structs_and_not_dataclasses_which_take_half_a_millisecond_each() -> None:
    found = {
        module.path
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ImportFrom) and node.module == "dataclasses"
    }

    assert found == set()


def test_a_small_store_is_written_and_searched_by_words_without_arithmetic() -> None:
    assert loaded(SMALL, HEAVY) == []


def test_a_loaded_module_is_seen() -> None:
    assert loaded("import colorsys", ["colorsys", "turtle"]) == ["colorsys"]
