"""The table of operations: what every surface may count on, whichever it is."""

import ast
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import pytest
from msgspec.structs import fields

import recollect.surfaces
from kit import NOON, answered
from recollect import Filter, InputError, Recollection
from recollect.operations import OPERATIONS
from recollect.operations.answer import Answer, operation, write_file
from recollect.operations.fields import Filtered
from recollect.operations.request import Call, Request, about, parameters_of
from recollect.profile import load_profile
from recollect.recall.lens import Lens
from recollect.records import FILTER_FIELDS, FilterField
from recollect.serialize import serialize
from recollect.stores.choice import open_store
from recollect.text.analyser import analyse

KEYS = [each for each in FILTER_FIELDS if each.match != "scope"]
SURFACES = Path(recollect.surfaces.__file__).parent


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Recollection]:
    """Two memories that differ in everything a filter can ask for."""
    store = open_store(str(tmp_path / "notes.db"), analyse)
    with Recollection(store=store, profile=load_profile("default"), clock=lambda: NOON) as opened:
        opened.add("Port: 5432", type="config", tags=("net",), source="a/b.md", kind="setting", project="web")
        opened.add("The port of Rotterdam was seen by everybody", project="sea")
        yield opened


def value_of(filtered: FilterField) -> str:
    """What the first memory is called in a field of the filters."""
    return {
        "type": "config",
        "tag": "net",
        "project": "web",
        "source": "a/b.md",
        "kind": "setting",
        "fact_type": "kv",
    }[filtered.key]


# --- one table of filters -------------------------------------------------------------------


@pytest.mark.parametrize("filtered", KEYS, ids=lambda each: each.key)
def test_a_filter_of_the_table_is_an_option_of_every_verb_that_filters(db: Recollection, filtered: FilterField) -> None:
    narrowed = {filtered.key: (value_of(filtered),)}
    given = {"query": "port", "mode": "keyword", **narrowed}

    replies = [answered(OPERATIONS[verb], db, given).value for verb in ("search", "decisions")]
    listing = answered(OPERATIONS["list"], db, narrowed).value

    assert filtered.name in {each.name for each in fields(Filter)}
    assert [[hit.id for hit in reply.hits] for reply in replies] == [[1], [1]]
    assert [memory.id for memory in listing.memories] == [1]


@pytest.mark.parametrize("filtered", FILTER_FIELDS, ids=lambda each: each.key)
def test_a_filter_of_the_table_is_a_filter_and_a_boost_of_a_lens(db: Recollection, filtered: FilterField) -> None:
    option = "only_project" if filtered.match == "scope" else filtered.key
    made = {"action": "create", "name": "one", option: (value_of(filtered),)}
    boosting = {"action": "create", "name": "two", "boost": (f"{filtered.key}:{value_of(filtered)}=1.5",)}

    lens = answered(OPERATIONS["lens"], db, made).value
    answered(OPERATIONS["lens"], db, boosting)
    narrowed, boosted = (db.search("port", lens=name, mode="keyword") for name in ("one", "two"))

    assert serialize(lens) == {"name": "one", filtered.name: [value_of(filtered)], "boosts": {}}
    assert db.lenses.list()[0] == Lens(name="one", **{filtered.name: (value_of(filtered),)})
    assert [hit.id for hit in narrowed.hits] == [1]
    assert {hit.id: hit.factors.get("lens") for hit in boosted.hits} == {1: 1.5, 2: 1.0}


def test_the_filters_of_the_table_are_the_facets(db: Recollection) -> None:
    facets = db.search("port", facets=True, mode="keyword").facets

    assert set(facets) == {each.key for each in FILTER_FIELDS} | {"month"}
    assert all(facets[each.key].get(value_of(each)) == 1 for each in FILTER_FIELDS)


def test_options_and_lenses_have_every_filter_of_the_table_and_no_other() -> None:
    assert {each.name for each in parameters_of(Filtered) if each.kind == "texts"} == {each.key for each in KEYS}
    assert {each.name for each in fields(Lens)} == {
        *(each.name for each in FILTER_FIELDS),
        *("name", "since", "until", "boosts"),
    }
    assert Filtered(type=("a", "b")).filters() == {"types": ("a", "b")}


# --- answers --------------------------------------------------------------------------------


class Shout(Request):
    word: Annotated[str, about("what to shout", place=1)]


@operation
def shout_it(_: Recollection, request: Shout, call: Call) -> Answer:
    """Shout."""
    return Answer(value=request.word, text=lambda: (call.cancelled and call.cancelled()) or request.word.upper())


def test_text_is_made_only_when_somebody_asks_for_it(db: Recollection) -> None:
    made: list[str] = []

    answer = answered(shout_it, db, {"word": "ship"}, Call(now=NOON, cancelled=lambda: bool(made.append("text"))))

    assert (shout_it.name, shout_it.about) == ("shout-it", "Shout.")
    assert [(each.name, each.about, each.place) for each in shout_it.parameters] == [("word", "what to shout", True)]
    assert (serialize(answer.value), made) == ("ship", [])
    assert (answer.text(), made) == ("SHIP", ["text"])


def test_the_project_comes_with_the_request(db: Recollection) -> None:
    everywhere = answered(OPERATIONS["search"], db, {"query": "port"}).value
    here = answered(OPERATIONS["search"], db, {"query": "port", "project": "sea"}).value
    added = answered(OPERATIONS["add"], db, {"text": "a new pier", "project": "sea"}).value

    assert {hit.memory.project for hit in everywhere.hits} == {"web", "sea"}
    assert [hit.memory.project for hit in here.hits] == ["sea"]
    assert db.show(added.id).memory.project == "sea"
    with pytest.raises(InputError, match="no memory has the id 1"):
        answered(OPERATIONS["forget"], db, {"id": 1, "project": "sea"})


def test_every_operation_answers_with_what_json_can_say(db: Recollection) -> None:
    plain = [
        name for name, each in OPERATIONS.items() if not any(p.place for p in each.parameters) and not each.traits.slow
    ]

    values = {name: serialize(answered(OPERATIONS[name], db, {}).value) for name in plain}

    assert {"stats", "doctor", "list", "facts", "stale", "conflicts", "consolidate"} <= set(values)
    assert all(isinstance(value, dict) for value in values.values())


def test_surfaces_ask_the_facade_and_never_the_store() -> None:
    reached = [
        f"{path.name}:{node.lineno}"
        for path in sorted(SURFACES.glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "store" and ast.unparse(node.value) == "db"
    ]

    assert reached == []


# --- files ----------------------------------------------------------------------------------


def test_a_file_is_written_whole_or_stays_as_it_was(tmp_path: Path) -> None:
    def failing() -> Iterator[str]:
        yield "new\n"
        raise InputError("the disk is gone")

    path = tmp_path / "all.jsonl"
    write_file(path, ["old\n"])

    with pytest.raises(InputError, match="the disk is gone"):
        write_file(path, failing())

    assert path.read_text() == "old\n"
    assert list(tmp_path.iterdir()) == [path]
    write_file(path, ["a\n", "b\n"])
    assert path.read_text() == "a\nb\n"


def test_a_file_is_private_from_its_first_byte_and_a_link_to_it_stays_a_link(tmp_path: Path) -> None:
    link, target = tmp_path / "link.jsonl", tmp_path / "kept" / "all.jsonl"
    target.parent.mkdir()
    link.symlink_to(target)
    modes = []

    def watched() -> Iterator[str]:
        modes.extend(each.stat().st_mode & 0o777 for each in target.parent.iterdir())
        yield "a\n"

    write_file(link, watched())

    assert (link.is_symlink(), target.read_text()) == (True, "a\n")
    assert (modes, target.stat().st_mode & 0o777) == ([0o600], 0o600)


def test_two_that_write_the_same_file_do_not_mix_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"

    def slow() -> Iterator[str]:
        yield "first\n"
        write_file(path, ["second\n"])
        yield "first\n"

    write_file(path, slow())

    assert path.read_text() == "first\nfirst\n"
    assert list(tmp_path.iterdir()) == [path]


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    path, read = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: read.append(path.read_text()))
    reader.start()

    write_file(path, ["a\n", "b\n"])
    reader.join(300)

    assert (read, path.is_fifo()) == (["a\nb\n"], True)
