"""What people and programs see: help, answers as text, answers as JSON."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from snapshot import matches

from kit import NOON
from recollect import Recollection
from recollect.operations import OPERATIONS
from recollect.profile import load_profile
from recollect.recall.lens import Lens
from recollect.serialize import serialize
from recollect.stores.choice import open_store
from recollect.surfaces.cli import written
from recollect.surfaces.program import cli
from recollect.text.analyser import analyse


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Recollection]:
    """A small store whose every face is the same on every day and on every machine."""
    store = open_store(str(tmp_path / "notes.db"), analyse)
    with Recollection(store=store, profile=load_profile("default"), clock=lambda: NOON, address="notes.db") as opened:
        day = datetime(2026, 3, 2, tzinfo=UTC)
        opened.add(
            "We deploy every Tuesday with Docker.\nNobody holds the train.",
            title="Deploys",
            section="Releases > Deploys",
            type="decision",
            tags=["release", "docker"],
            source="notes/2026-03-02.md",
            line=14,
            observed_at=day,
            confidence=0.9,
        )
        opened.add("A deployment takes four minutes", source="notes/runbook.md", line=3)
        opened.add("部署需要四分钟。", type="fact", metadata={"team": "core"})
        opened.add("Deployments never happen on Friday", external_id="rule-7", project="shop")
        opened.add("The cat sleeps on the server")
        opened.add("The deploy timeout is 30 seconds")
        opened.add("The deploy timeout is now 60 seconds")
        yield opened


@pytest.fixture
def used_db(db: Recollection) -> Recollection:
    """The small store after some use: facts that contradict each other, a lens, searches in the log."""
    db.add("Port: 5432", project="shop")
    db.add("Port: 5433", project="shop", external_id="port-2")
    db.lenses.keep(Lens(name="work", projects=("shop",), types=("decision",), since="2026-01", boosts={"type:x": 2.0}))
    for query in ("port", "port", "port", "xylophone"):
        db.search(query, session="s", limit=1)
    db.flush()
    return db


def answered(db: Recollection, verb: str, **given: Any) -> tuple[str, str]:
    """Return the answer of *verb* as text and as JSON, without how long it took."""
    operation = OPERATIONS[verb]
    answer = operation.answer(db, operation.parse(given))
    value = serialize(answer.value)
    if "timings_ms" in value:
        value["timings_ms"] = {"total": 0.0}
    return answer.text(), written(json.loads(json.dumps(value), parse_float=lambda text: round(float(text), 6)))


WIDE = {"terminal_width": 10_000, "max_content_width": 10_000}


@pytest.mark.parametrize("name", [name for name, each in OPERATIONS.items() if each.verb])
def test_the_help_of_a_command_names_and_describes_every_parameter(name: str) -> None:
    whole = cli.make_context("recollect", [], resilient_parsing=True)
    command = cli.get_command(whole, OPERATIONS[name].verb)
    assert command is not None

    text = " ".join(command.make_context(name, [], parent=whole, resilient_parsing=True, **WIDE).get_help().split())

    assert OPERATIONS[name].about.split("\n\n")[0] in text
    for each in OPERATIONS[name].parameters:
        assert (each.name.upper() if each.place else f"--{each.option}") in text
        assert " ".join(each.about.split()) in text


@pytest.mark.parametrize(
    ("name", "verb", "given"),
    [
        ("search", "search", {"query": "how do we deploy?", "mode": "keyword"}),
        ("search-explain", "search", {"query": "deployment minutes", "mode": "keyword", "explain": True, "limit": 2}),
        ("search-chinese", "search", {"query": "部署", "mode": "hybrid"}),
        ("search-nothing", "search", {"query": "xylophone", "mode": "keyword"}),
        ("search-filtered-out", "search", {"query": "cat type:decision", "mode": "keyword"}),
        ("search-blank", "search", {"query": "", "limit": 3}),
        ("show", "show", {"id": 1}),
        ("show-superseded", "show", {"id": 6}),
        ("list", "list", {"limit": 4}),
        ("stats", "stats", {}),
        ("doctor", "doctor", {}),
        ("add", "add", {"text": "A new thing with ghp_" + "a1B2" * 10}),
        ("forget", "forget", {"id": 2}),
    ],
)
def test_an_answer_reads_as_it_did(db: Recollection, name: str, verb: str, given: dict[str, Any]) -> None:
    text, value = answered(db, verb, **given)

    assert matches(f"answers/{name}.txt", text)
    assert matches(f"answers/{name}.json", value)


@pytest.mark.parametrize(
    ("name", "verb", "given"),
    [
        ("restore", "restore", {"id": 2}),
        ("search-facets", "search", {"query": "deploy", "mode": "keyword", "facets": True, "limit": 1}),
        ("decisions", "decisions", {"query": "deploy", "mode": "keyword", "limit": 1}),
        ("why", "why", {"id": 2, "query": "deployment minutes", "mode": "keyword"}),
        ("why-not", "why", {"id": 5, "query": "deployment minutes", "mode": "keyword"}),
        ("related", "related", {"id": 7}),
        ("facts", "facts", {}),
        ("stale", "stale", {"below": 0.95}),
        ("conflicts", "conflicts", {}),
        ("reinforce", "reinforce", {"ids": ("3",)}),
        ("pin", "pin", {"id": 1}),
        ("pin-off", "pin", {"id": 1, "off": True}),
        ("supersede", "supersede", {"id": 2, "by": 1}),
        ("feedback", "feedback", {"id": 1, "verdict": "useful"}),
        ("inject", "inject", {"task": "Fix the deploy timeout", "session": "s"}),
        ("inject-nothing", "inject", {"task": "quantum chromodynamics"}),
        ("capture", "capture", {"text": "[MEMORY] type=gotcha tags=db: Close cursors\nok"}),
        ("timeline", "timeline", {"query": "timeout"}),
        ("lens-create", "lens", {"action": "create", "name": "old", "type": ("note",), "boost": ("tag:docker=1.5",)}),
        ("lens-list", "lens", {"action": "list"}),
        ("lens-drop", "lens", {"action": "drop", "name": "work"}),
        ("log-recent", "log", {"report": "recent"}),
        ("log-provenance", "log", {"report": "provenance", "fact": 3}),
        ("log-never-recalled", "log", {"report": "never-recalled"}),
        ("log-never-used", "log", {"report": "never-used"}),
        ("log-unanswered", "log", {"report": "unanswered"}),
        ("consolidate", "consolidate", {"dry_run": True}),
        ("consolidate-undo", "consolidate", {"undo": True}),
        ("reindex", "reindex", {}),
        ("tune-show", "tune", {"show": True}),
        ("tune", "tune", {"dry_run": True}),
    ],
)
def test_an_answer_of_a_store_in_use_reads_as_it_did(
    used_db: Recollection, name: str, verb: str, given: dict[str, Any]
) -> None:
    text, value = answered(used_db, verb, **given)

    assert matches(f"answers/{name}.txt", text)
    assert matches(f"answers/{name}.json", value)


def test_an_export_reads_as_it_did(used_db: Recollection) -> None:
    export = OPERATIONS["export"]
    answer = export.answer(used_db, export.parse({}))

    lines = [json.dumps(serialize(each), ensure_ascii=False) for each in answer.value]
    assert answer.stream
    assert matches("answers/export.jsonl", "\n".join(lines))
