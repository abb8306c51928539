"""The Python face: a method for every verb, a keyword for every option, dates as people write them."""

import inspect
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

import recollect
from kit import NOON
from recollect import Filter, Recollection
from recollect.operations import OPERATIONS
from recollect.operations.answer import Operation


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Recollection]:
    with recollect.open(tmp_path / "notes.db", model="none", clock=lambda: NOON) as opened:
        opened.add("The port of the lighthouse is 5432", type="config", tag="net,sea", date="2026-05-01", source="a.md")
        opened.add("We decided to paint the lighthouse", type="decision", date=date(2026, 5, 3))
        opened.add("The lighthouse has a new keeper", date=datetime(2026, 5, 4, 9, tzinfo=UTC), project="sea")
        yield opened


def test_every_operation_without_actions_is_a_method() -> None:
    missing = [each.name for each in OPERATIONS.values() if each.has_method and not _method_of(each)]

    assert missing == []


def _method_of(operation: Operation) -> Any:
    return getattr(Recollection, operation.method, None) or getattr(Recollection, f"{operation.method}_", None)


@pytest.mark.parametrize("name", ["search", "why", "list", "inject", "add", "forget", "feedback"])
def test_a_derived_method_takes_the_options_of_its_operation(name: str) -> None:
    taken = set(inspect.signature(getattr(Recollection, name)).parameters)
    told = {each.hints.inverse or each.name for each in OPERATIONS[name].served_parameters}

    assert told - {"project"} <= taken


def test_no_public_method_takes_keywords_that_it_does_not_name() -> None:
    public = [each for name, each in inspect.getmembers(Recollection, inspect.isfunction) if not name.startswith("_")]

    open_ended = [
        each.__name__
        for each in [*public, recollect.move, recollect.open, recollect.recover, recollect.aio.open]
        for parameter in inspect.signature(each).parameters.values()
        if parameter.kind == parameter.VAR_KEYWORD
        or (parameter.annotation in (Any, parameter.empty) and parameter.name != "self")
    ]

    assert open_ended == []


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"type": "config"}, {1}),
        ({"type": ["config", "decision"]}, {1, 2}),
        ({"tag": "sea"}, {1}),
        ({"source": "a.md"}, {1}),
        ({"project": "sea"}, {3}),
        ({"project": ["sea", "default"]}, {1, 2, 3}),
        ({"since": "2026-05-03"}, {2, 3}),
        ({"since": date(2026, 5, 3)}, {2, 3}),
        ({"since": datetime(2026, 5, 3, 1, tzinfo=UTC)}, {3}),
        ({"until": "2026-05-03"}, {1, 2}),
        ({"until": date(2026, 5, 1)}, {1}),
        ({"until": datetime(2026, 5, 3, tzinfo=UTC)}, {1}),
        ({"on": "yesterday"}, {2}),
        ({"on": date(2026, 5, 1)}, {1}),
        ({"on": datetime(2026, 5, 4, 23, tzinfo=UTC)}, {3}),
        ({"since": "2026-05-01", "on": "today"}, {3}),
        ({"as_of": "2026-05-02"}, {1}),
        ({"where": Filter(types=("decision",))}, {2}),
        ({"where": Filter(types=("decision",)), "since": "2026-05-04"}, set()),
        ({"where": Filter(types=("decision",)), "type": "config"}, {1}),
        ({"since": None, "type": None, "project": None}, {1, 2, 3}),
        ({"type": []}, set()),
    ],
)
def test_filters_are_plain_keywords(db: Recollection, options: Any, found: set[int]) -> None:
    searched = {hit.id for hit in db.search("lighthouse", **options).hits}
    listed = {memory.id for memory in db.list(**options).memories}
    injected = set(db.inject("lighthouse", precise=False, **_for_inject(options)).ids)

    assert searched == listed == found
    assert injected <= found


def _for_inject(options: Mapping[str, Any]) -> dict[str, Any]:
    return {"only_tag" if name == "tag" else name: value for name, value in options.items()}


def test_a_project_narrows_what_is_in_view_and_never_widens_it(db: Recollection) -> None:
    sea = db.in_project("sea")

    assert [memory.id for memory in sea.list(project="sea").memories] == [3]
    assert sea.list(project="default").memories == ()
    assert sea.search("lighthouse", project="default").hits == ()


def test_a_memory_is_dated_and_tagged_in_every_way(db: Recollection) -> None:
    days = ["2026-05-01", date(2026, 5, 1), datetime(2026, 5, 1, tzinfo=UTC), "3d"]
    rows = [db.add(f"boat number {number}", date=day).id for number, day in enumerate(days)]
    tagged = db.add("a tagged boat", tag=["a, b", "c"], tags="d", valid_until="2026-06-01")

    first, tags = datetime(2026, 5, 1, tzinfo=UTC), db.show(tagged.id).memory

    assert [db.show(row).memory.observed_at for row in rows] == [first, first, first, first]
    assert tags.tags == ("a", "b", "c", "d")
    assert tags.valid_until == datetime(2026, 6, 2, tzinfo=UTC)


def test_a_lens_is_made_of_the_filters_of_a_search(db: Recollection) -> None:
    made = db.lenses.create("work", type="decision", since=date(2026, 5, 2), boost={"tag:sea": 2.0})

    assert db.lenses.list() == (made,)
    assert [hit.id for hit in db.search("lighthouse", lens="work").hits] == [2]


@pytest.mark.full
def test_a_type_checker_knows_every_keyword(tmp_path: Path) -> None:
    folder, source = Path(__file__).parent.parent / "typed", Path(recollect.__file__).parent.parent
    wrong = (folder / "wrong.py").read_text(encoding="utf-8").splitlines()
    bad = {number for number, line in enumerate(wrong, 1) if line.startswith("    ")}

    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "mypy", f"--cache-dir={tmp_path}", "--no-error-summary", "face.py", "wrong.py"],
        cwd=folder,
        env={"MYPYPATH": str(source)},
        capture_output=True,
        text=True,
        check=False,
    )

    told = [line.split(":")[:2] for line in done.stdout.splitlines() if ": error:" in line]
    assert {(path, int(line)) for path, line in told} == {("wrong.py", number) for number in bad}, done.stdout


def test_an_open_store_is_shown_with_its_address_and_project_and_without_a_password(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "notes.db", model="none") as db:
        whole, part = repr(db), repr(db.in_project("web"))
        db.address = "postgresql://ida:secret@localhost/notes"
        told = repr(db)

    assert whole == f"Recollection({str(tmp_path / 'notes.db')!r}, profile='default')"
    assert part == f"Recollection({str(tmp_path / 'notes.db')!r}, project='web', profile='default')"
    assert "secret" not in told
