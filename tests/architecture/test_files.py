"""Every file of the repository works on any machine: no one's folders, no registry, nothing huge."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pathspec
import pytest
from sourcetree import ROOT

SIZE_WALL = 300_000
# Each pattern is written so that it does not match itself.
STRANGERS = {
    "someone's folder": rb"(?<![\w.~$}/-])/(?:home|root|work|Users)/\w|[A-Z]:\\Users\\",
    "a registry": rb"--(?:extra-)?index-url|--find[-]links|pypi[.]org|pythonhosted[.]org",
    "a conflict": rb"(?m)^(?:<{7}|>{7}) ",
}


def listed_by_git() -> list[str]:
    """Return every file git tracks or would track."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603
    return done.stdout.split("\0")


def walked() -> Iterator[str]:
    """Yield every file of the tree that is not ignored, for a copy that came without git."""
    rules = [*(ROOT / ".gitignore").read_text(encoding="utf-8").splitlines(), ".git/"]
    yield from pathspec.PathSpec.from_lines("gitignore", rules).match_tree_files(ROOT, negate=True)


def files() -> list[Path]:
    names = listed_by_git() if shutil.which("git") and (ROOT / ".git").exists() else walked()
    return sorted(path for path in {ROOT / name for name in names} if path.is_file())


def strangers(content: bytes) -> list[str]:
    """Return what a file holds that belongs to one machine only."""
    found = [(what, re.search(pattern, content)) for what, pattern in STRANGERS.items()]
    return [f"{what}: {match.group().decode()}" for what, match in found if match]


def too_big(content: bytes) -> bool:
    return len(content) > SIZE_WALL


def test_the_repository_has_files() -> None:
    names = {path.relative_to(ROOT).as_posix() for path in files()}

    assert {"LICENSE", "Makefile", "pyproject.toml", "src/recollect/__init__.py"} <= names


def test_a_walk_finds_what_is_not_ignored() -> None:
    names = set(walked())

    assert "Makefile" in names
    assert not [name for name in names if name.startswith((".venv/", ".git/"))]


def test_no_file_names_a_folder_or_a_registry_of_one_machine() -> None:
    found = {path.relative_to(ROOT).as_posix(): strangers(path.read_bytes()) for path in files()}

    assert {name: what for name, what in found.items() if what} == {}


def test_no_file_is_huge() -> None:
    found = [path.relative_to(ROOT).as_posix() for path in files() if too_big(path.read_bytes())]

    assert found == []


@pytest.mark.parametrize(
    "content",
    [
        "see {slash}home/ann/notes",
        "'{slash}work/main'",
        "cd {slash}root/x",
        "{dashes}index-url x",
        "{dashes}extra-index-url=x",
        "{dashes}find-links x",
    ],
)
def test_what_belongs_to_one_machine_is_seen(content: str) -> None:
    written = content.format(slash="/", dashes="--").encode()

    assert len(strangers(written)) == 1


@pytest.mark.parametrize("content", ["src/work/x", "~/work/x", "https://example.org/home/x", "--no-emit-index-url"])
def test_relative_paths_and_addresses_are_no_fault(content: str) -> None:
    assert strangers(content.encode()) == []


def test_the_size_wall_stands_at_three_hundred_kilobytes() -> None:
    assert not too_big(b"x" * SIZE_WALL)
    assert too_big(b"x" * (SIZE_WALL + 1))
