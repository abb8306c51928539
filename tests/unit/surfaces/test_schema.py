"""What is published of the answers is what every verb answers: no member more, none less."""

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from command import Run
from jsonschema import Draft202012Validator
from questions import Values, verbs
from test_eval_verb import birds
from two_projects import make_two_projects, open_two_projects

from kit import answered
from recollect import RecollectError, Recollection
from recollect.operations import OPERATIONS
from recollect.serialize import error_value, serialize
from recollect.surfaces.schema import answers_schema

STRICT = answers_schema(strict=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("answers")
    make_two_projects(made)
    (made / "judged.tsv").write_text("lighthouse\t1\t1\n", encoding="utf-8")
    return made


@pytest.fixture
def db(folder: Path, tmp_path: Path) -> Iterator[Recollection]:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    with chdir(tmp_path), open_two_projects(tmp_path / "notes.db") as opened:
        yield opened


def faults(name: str, value: Any) -> list[str]:
    """Return what of *value* is not as the schema of *name* has it."""
    checker = Draft202012Validator({**STRICT, "$ref": f"#/$defs/{name}"}, format_checker=None)
    found = checker.iter_errors(json.loads(json.dumps(value)))
    return [f"{'/'.join(map(str, each.path))}: {each.message}"[:400] for each in found]


def answers(verb: str, db: Recollection, values: Values) -> list[tuple[str, Any]]:
    """Return what *verb* answers in JSON, each with the name of its schema."""
    try:
        answer = answered(OPERATIONS[verb], db, values)
        return [(verb, serialize(each)) for each in (answer.value if answer.stream else [answer.value])]
    except RecollectError as error:
        return [("error", error_value(error))]


def more(verb: str, db: Recollection, folder: Path) -> Sequence[Values]:
    """Return what a verb is asked beside what it is asked elsewhere, so that each answers at least once."""
    if verb == "restore-backup":
        db.backups.create(folder / "copy.db")
    ours = [memory.id for memory in db.list(project="ours").memories]
    asked: dict[str, Sequence[Values]] = {
        "eval": ({"datasets": [str(birds(folder / "birds"))], "mode": ["keyword"]},),
        "open": (
            {
                "id": next(
                    memory.id for memory in db.list(limit=100).memories if Path(memory.source or "").is_absolute()
                )
            },
        ),
        "import": ({"paths": [str(folder / "notes"), str(folder / "nowhere")]},),
        "purge": ({"ids": ["2"], "dry_run": True},),
        "reinforce": ({"ids": [str(fact.id) for fact in db.facts()[:2]]},),
        "restore-backup": ({"path": str(folder / "copy.db"), "dry_run": True},),
        "supersede": ({"id": ours[0], "by": ours[1]},),
    }
    return asked.get(verb, ())


@pytest.mark.parametrize("verb", sorted(OPERATIONS))
def test_what_a_verb_answers_is_what_is_published(verb: str, db: Recollection, tmp_path: Path) -> None:
    asked = (*verbs(tmp_path)[verb], *more(verb, db, tmp_path))

    told = [each for values in asked for each in answers(verb, db, values)]

    assert [(name, value, faults(name, value)) for name, value in told if faults(name, value)] == []
    assert verb in dict(told)


def test_a_member_too_many_or_too_few_is_seen(db: Recollection) -> None:
    shown = serialize(db.show(1))

    assert faults("show", shown) == []
    assert faults("show", {**shown, "colour": "red"})
    assert faults("show", {key: value for key, value in shown.items() if key != "content"})


def test_the_command_line_prints_what_is_published(run: Run) -> None:
    run("add", "The port is 5432")
    found, failed = run("search", "port", "--explain", "--json"), run("show", "7", "--json")

    assert faults("search", found.value) == []
    assert faults("error", json.loads(failed.err)) == []


def test_what_is_published_has_room_for_more() -> None:
    assert '"additionalProperties": false' not in json.dumps(answers_schema())
    Draft202012Validator.check_schema(answers_schema())
