"""Imports are cheap: the doors open without the model, the arithmetic or the web."""

import subprocess
import sys
from collections.abc import Iterable
from importlib.util import find_spec

import pytest

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
import recollect.surfaces.operations
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


def test_a_small_store_is_written_and_searched_by_words_without_arithmetic() -> None:
    assert loaded(SMALL, HEAVY) == []


def test_a_loaded_module_is_seen() -> None:
    assert loaded("import colorsys", ["colorsys", "turtle"]) == ["colorsys"]
