"""Imports go downward: the contract in pyproject.toml holds, and would notice if it did not."""

import subprocess
import sys
from pathlib import Path

import pytest
from sourcetree import ROOT

LOWEST = {"records": "", "errors": "", "stores": "", "embedders": "", "text": "", "surfaces": ""}


def lint(source: Path) -> subprocess.CompletedProcess[str]:
    """Check the package below *source* by the contract of this project."""
    script = "import sys; from importlinter.cli import lint_imports_command; lint_imports_command()"
    options = ["--no-cache", "--config", str(ROOT / "pyproject.toml")]
    return subprocess.run(  # noqa: S603
        [sys.executable, "-c", script, *options],
        cwd=source,
        env={"PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def package(folder: Path, **rooms: str) -> Path:
    """Write a made-up package with these rooms and what each of them imports."""
    (folder / "recollect").mkdir()
    (folder / "recollect" / "__init__.py").touch()
    for name, text in (LOWEST | rooms).items():
        (folder / "recollect" / f"{name}.py").write_text(text)
    return folder


def test_imports_go_downward() -> None:
    done = lint(ROOT / "src")

    assert done.returncode == 0, done.stdout + done.stderr


def test_a_downward_import_is_kept(tmp_path: Path) -> None:
    good = package(
        tmp_path,
        search="import recollect.text\nimport recollect.stores",
        evaluate="import recollect.search\nimport recollect.remember",
        remember="import recollect.stores",
    )

    done = lint(good)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("room", "imported"),
    [
        ("text", "search"),
        ("search", "surfaces"),
        ("stores", "text"),
        ("errors", "records"),
        ("search", "remember"),
        ("remember", "recall"),
        ("recall", "search"),
    ],
)
def test_an_upward_or_sideways_import_is_seen(tmp_path: Path, room: str, imported: str) -> None:
    bad = package(tmp_path, **({"search": "", "remember": "", "recall": ""} | {room: f"import recollect.{imported}"}))

    done = lint(bad)

    assert (done.returncode, "BROKEN" in done.stdout) == (1, True), done.stdout + done.stderr


def test_a_room_that_has_no_layer_is_seen(tmp_path: Path) -> None:
    bad = package(tmp_path, attic="")

    done = lint(bad)

    assert "attic" in done.stdout
    assert done.returncode == 1
