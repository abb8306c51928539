"""Every public method has an example in its docstring, and every example does what it says."""

import doctest
import inspect
from collections.abc import Iterator
from contextlib import chdir
from importlib import import_module
from pathlib import Path

import pytest

import recollect
from kit import NOON
from recollect import Recollection
from recollect.workspace import NAMESPACES

METHODS = {
    name: method for name, method in inspect.getmembers(Recollection, inspect.isfunction) if not name.startswith("_")
}
METHODS |= {
    f"{space}.{name}": method
    for space in NAMESPACES
    for name, method in inspect.getmembers(
        getattr(import_module(f"recollect.workspace.{space}"), space.title()), inspect.isfunction
    )
    if not name.startswith("_")
}
FUNCTIONS = {"open": recollect.open, "recover": recollect.recover}


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Recollection]:
    """Give the store that the examples speak of."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "birds" / "qrels").mkdir(parents=True)
    (tmp_path / "birds" / "corpus.jsonl").write_text('{"_id": "d1", "text": "Ducks swim."}\n', encoding="utf-8")
    (tmp_path / "birds" / "queries.jsonl").write_text('{"_id": "q1", "text": "who swims?"}\n', encoding="utf-8")
    judged = "query-id\tcorpus-id\tscore\nq1\td1\t1\n"
    (tmp_path / "birds" / "qrels" / "test.tsv").write_text(judged, encoding="utf-8")
    (tmp_path / "notes" / "garden.md").write_text("# Garden\n\nThe roses are cut in March.\n", encoding="utf-8")
    with chdir(tmp_path), recollect.open("notes.db", model="hashing", clock=lambda: NOON) as opened:
        opened.add("We deploy on Fridays", type="decision", tag="release", date="2026-04-10")
        opened.add("The staging server listens on port 5432", type="config", tag="staging", date="2026-04-20")
        opened.add("Owner: Mara of the billing team", date="2026-04-30")
        opened.lenses.create("recent", since="last month")
        opened.search("deploy", session="friday", mode="keyword")
        opened.flush()
        yield opened


def complaints(name: str, doc: str, db: Recollection) -> str:
    """Run the examples in *doc* and return what is not as it says."""
    told: list[str] = []
    parsed = doctest.DocTestParser().get_doctest(doc, {"db": db, "recollect": recollect}, name, None, 0)
    assert parsed.examples, f"{name} has no example"
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(parsed, out=told.append, clear_globs=False)
    return "".join(told)


@pytest.mark.parametrize("name", [*METHODS, *FUNCTIONS])
def test_the_example_of_a_method_does_what_it_says(name: str, db: Recollection) -> None:
    doc = inspect.getdoc(METHODS.get(name) or FUNCTIONS[name]) or ""

    assert complaints(name, doc, db) == ""


@pytest.mark.parametrize("name", METHODS)
def test_docstrings_have_one_form(name: str) -> None:
    first, *rest = (inspect.getdoc(METHODS[name]) or "").splitlines()

    assert first.endswith((".", ":"))
    assert rest.count("Example:") == 1
    assert not [line for line in rest[rest.index("Example:") + 1 :] if line and not line.startswith("    ")]


def test_an_example_that_does_not_hold_is_seen(db: Recollection) -> None:
    assert "Expected:" in complaints("wrong", ">>> 1 + 1\n3\n", db)
