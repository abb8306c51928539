"""What the leak tests ask in one project is asked here by a role that was granted it and names no project at all."""

import shutil
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path

import pytest
from questions import methods, verbs
from roles import role_at
from told import answer, called, public
from two_projects import MARK, OURS, fill_two_projects, leaked, make_two_projects, open_address, whole

from postgres_server import fresh_database
from recollect import Recollection
from recollect.operations import OPERATIONS

Pair = tuple[Recollection, Recollection, Path]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """The store of two projects for its owner and for the role, and the folder of what is imported into it."""
    folder, backup = tmp_path_factory.mktemp("granted"), tmp_path_factory.mktemp("backup")
    make_two_projects(backup)
    address = fresh_database()
    fill_two_projects(address, folder)
    shutil.copy(backup / "notes.db", folder)
    with role_at(address, OURS) as restricted, open_address(address) as owner, open_address(restricted) as some:
        yield owner, some, folder


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_no_verb_tells_a_role_of_another_project_or_changes_it(pair: Pair, name: str) -> None:
    owner, some, folder = pair
    before = whole(owner)

    for values in verbs(folder)[name]:
        told = answer(OPERATIONS[name], some, dict(values))

        assert leaked(told, values) == set(), (values, told)

    some.flush()
    assert whole(owner) == before
    if (folder / "export.jsonl").exists():
        assert MARK not in (folder / "export.jsonl").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(public(Recollection) - {"close"}))
def test_no_method_tells_a_role_of_another_project_or_changes_it(pair: Pair, name: str) -> None:
    owner, some, folder = pair
    before = whole(owner)

    for args, more in methods(folder)[name]:
        told = called(attrgetter(name)(some), args, dict(more))

        assert leaked(told, (args, more)) == set(), (args, more, told)

    some.flush()
    assert whole(owner) == before
