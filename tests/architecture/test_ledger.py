"""The ledger of requirements is whole, and only passing tests count."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from sourcetree import ROOT

TESTS = ROOT / "tests"
ROWS = {"C": 35, "O": 23, "B": 11, "N": 16, "E": 21}
PARTS = frozenset(range(1, 14))


def ledger() -> dict[str, dict[str, object]]:
    return tomllib.loads((TESTS / "requirements.toml").read_text(encoding="utf-8"))


def run(folder: Path, test: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run *test* in a suite of its own that has our conftest and our ledger."""
    for name in ("conftest.py", "requirements.toml"):
        shutil.copy(TESTS / name, folder / name)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = req(*ids)\n")
    (folder / "test_example.py").write_text(f"import pytest\n{test}\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, "."]
    env = os.environ if "-n" in options else {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)  # noqa: S603


def test_every_row_is_listed_with_a_title_and_a_part() -> None:
    rows = ledger()

    assert list(rows) == [f"{letter}-{n:02}" for letter, count in ROWS.items() for n in range(1, count + 1)]
    assert all(row["title"] and row["part"] in PARTS for row in rows.values())


def test_an_unknown_id_and_a_mark_without_ids_fail_the_collection_and_say_why(tmp_path: Path) -> None:
    suite = "@pytest.mark.req('C-99')\ndef test_a(): pass\n@pytest.mark.req()\ndef test_b(): pass"

    done = run(tmp_path, suite, "--requirements=out.json")

    assert done.returncode == 2
    assert "test_a: unknown requirement 'C-99'" in done.stdout
    assert "test_b: unknown requirement None" in done.stdout
    assert not (tmp_path / "out.json").exists()


@pytest.mark.full
def test_an_unknown_id_is_seen_from_parallel_workers_too(tmp_path: Path) -> None:
    done = run(tmp_path, "@pytest.mark.req('C-99')\ndef test_a(): pass", "-n", "2")

    assert done.returncode != 0
    assert "unknown requirement 'C-99'" in done.stdout


@pytest.mark.full
def test_only_tests_that_pass_to_the_end_are_written_down_even_from_parallel_workers(tmp_path: Path) -> None:
    suite = """
@pytest.fixture
def leaky():
    yield
    raise OSError

@pytest.mark.req('C-01', 'C-02')
def test_passes(): pass

@pytest.mark.req('C-02')
@pytest.mark.parametrize('n', [1, 2])
def test_fails_for_two(n): assert n == 1

@pytest.mark.req('C-03')
def test_fails_in_teardown(leaky): pass
"""

    done = run(tmp_path, suite, "-n", "2", "--requirements=out.json")
    proven = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))

    assert done.returncode == 1
    assert {name: tests for name, tests in proven.items() if tests} == {
        "C-01": ["test_example.py::test_passes"],
        "C-02": ["test_example.py::test_fails_for_two[1]", "test_example.py::test_passes"],
    }


def test_the_report_names_the_tests_of_a_proven_row_and_calls_the_rest_open(tmp_path: Path) -> None:
    (tmp_path / "out.json").write_text('{"C-01": ["tests/test_x.py::test_y"]}')
    command = [sys.executable, str(ROOT / "scripts" / "requirements.py"), str(tmp_path / "out.json")]

    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603

    lines = done.stdout.splitlines()
    assert lines[0].startswith("C-01")
    assert lines[0].endswith(": 1")
    assert lines[1].strip() == "tests/test_x.py::test_y"
    assert lines[2].startswith("C-02")
    assert lines[2].endswith(": open")
    assert lines[-1] == f"1 of {sum(ROWS.values())} requirements proven, {sum(ROWS.values()) - 1} open"
