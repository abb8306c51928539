"""Whatever is asked in one project, nothing of another is told: not in a value, a text, JSON or an error."""

import shutil
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path

import pytest
from questions import MODEL_ACTIONS_ELSEWHERE, methods, verbs
from told import called, public
from two_projects import MARK, OURS, leaked, make_two_projects, open_two_projects, whole
from walls import require_silent_method, require_silent_verb

from recollect import Recollection
from recollect.aio import AsyncRecollection
from recollect.operations import OPERATIONS


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("leaks")
    make_two_projects(made)
    return made


@pytest.fixture
def db(folder: Path, tmp_path: Path) -> Iterator[Recollection]:
    shutil.copy(folder / "notes.db", tmp_path)
    opened = open_two_projects(tmp_path / "notes.db")
    yield opened
    opened.close()


def test_every_verb_is_asked_and_every_choice_of_it(tmp_path: Path) -> None:
    asked = {name: list(values) for name, values in verbs(tmp_path).items()}

    assert set(asked) == set(OPERATIONS), (
        "say in tests/leaks/questions.py how the new verb is asked about another project"
    )
    for name, operation in OPERATIONS.items():
        for parameter in (each for each in operation.parameters if each.kind == "choice" and each.place):
            tried = {str(values.get(parameter.name)) for values in asked[name]}
            assert set(parameter.choices) - tried - (MODEL_ACTIONS_ELSEWHERE if name == "model" else set()) == set()


def test_every_method_is_called(tmp_path: Path) -> None:
    asked = set(methods(tmp_path))

    assert asked == public(Recollection), "say in tests/leaks/questions.py how the new method is called"
    assert public(AsyncRecollection) <= asked


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_no_verb_tells_of_another_project_or_changes_it(db: Recollection, folder: Path, name: str) -> None:
    require_silent_verb(db, folder, name)


@pytest.mark.parametrize("name", sorted(public(Recollection) - {"close"}))
def test_no_method_tells_of_another_project_or_changes_it(db: Recollection, folder: Path, name: str) -> None:
    require_silent_method(db, folder, name)


@pytest.mark.parametrize("name", sorted(public(AsyncRecollection) - {"close"}))
def test_no_awaited_method_tells_of_another_project(db: Recollection, folder: Path, name: str) -> None:
    ours = AsyncRecollection(db).in_project(OURS)

    for args, more in methods(folder)[name]:
        told = called(attrgetter(name)(ours), args, dict(more))

        assert leaked(told, (args, more)) == set(), (args, more, told)


def test_the_other_project_does_tell_what_it_holds(db: Recollection) -> None:
    told = repr(whole(db)).lower()

    fields = ["content", "title", "type", "tag", "source", "external", "key", "value", "wording", "subject", "fact"]
    others = ["old", "gone", "reason", "lens", "query", "session", "unheard", "judged", "file", "talk"]
    assert [name for name in (*fields, *others) if f"{name}{MARK}" not in told] == []
