"""Projects: a repository is known by its remote and its root, not by the name of its folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import recollect
from recollect import Recollection
from recollect.remember.repository import project_of


@pytest.fixture
def db() -> Iterator[Recollection]:
    with recollect.open(":memory:", model="none") as opened:
        yield opened


def repository(folder: Path, remote: str = "") -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {remote}\n' if remote else "[core]\n")
    return folder


@pytest.mark.parametrize("remotes", [("git@host:one/api.git", "git@host:two/api.git"), ("", "")])
def test_two_folders_of_one_name_are_two_projects(db: Recollection, tmp_path: Path, remotes: tuple[str, str]) -> None:
    one, two = (repository(tmp_path / name / "api", remote) for name, remote in zip("ab", remotes, strict=True))

    names = [project_of(each, db.store, claim=True) for each in (one, two)]

    assert names[0] == "api"
    assert names[1] not in {"api", None}
    assert [project_of(each, db.store) for each in (one, two)] == names


def test_a_second_clone_and_a_worktree_are_the_same_project(db: Recollection, tmp_path: Path) -> None:
    one = repository(tmp_path / "shop", "https://me@host/team/shop.git")
    clone = repository(tmp_path / "again", "git@host:team/shop")
    inside = one / ".git" / "worktrees" / "fix"
    inside.mkdir(parents=True)
    (inside / "commondir").write_text("../..\n")
    tree = tmp_path / "shop-fix"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {inside}\n")

    names = {project_of(each, db.store, claim=True) for each in (one, clone, tree, one / "src")}

    assert names == {"shop"}
