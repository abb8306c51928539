"""A token of one project learns nothing of another, on any route and by any tool; nor does it change anything there."""

import asyncio
import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError
from mcp.client import Client
from questions import verbs
from served import Served, serving
from two_projects import MARK, OURS, THEIR_ID, THEIRS, leaked, make_two_projects, open_two_projects, whole

from recollect.operations import OPERATIONS
from recollect.surfaces.serve.dispatcher import Caller
from recollect.surfaces.serve.guard import Rules
from recollect.surfaces.serve.mcp_server import build_server

OFFERED = sorted(name for name, each in OPERATIONS.items() if each.rights.is_offered)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("walls")
    make_two_projects(made)
    return made


@pytest.fixture
def walled(folder: Path, tmp_path: Path) -> Iterator[Served]:
    """A server that wants tokens, of a store of two projects, and a token that may do all in one of them."""
    shutil.copy(folder / "notes.db", tmp_path)
    with open_two_projects(tmp_path / "notes.db") as db, serving(db, Rules(needs_token=True)) as served:
        token = db.tokens.create(name="ours", project=OURS, trust="owner").secret
        yield Served(port=served.port, db=db, warm=served.warm, token=token)


def taken(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of *values* a server takes."""
    known = {each.name for each in OPERATIONS[name].served_parameters}
    return {key: value for key, value in values.items() if key in known}


@pytest.mark.parametrize("name", OFFERED)
def test_no_route_tells_of_another_project_or_changes_it(walled: Served, folder: Path, name: str) -> None:
    before = whole(walled.db)

    for values in verbs(folder)[name]:
        asked = taken(name, values)
        said = [walled.post(name, **asked), walled.post(name, **{**asked, "project": OURS})]

        assert [leaked(each.body.decode(), values) for each in said] == [set(), set()], (asked, said)

    assert whole(walled.db) == before


@pytest.mark.parametrize("name", OFFERED)
def test_every_route_refuses_a_project_that_the_token_is_not_for(walled: Served, folder: Path, name: str) -> None:
    (values, *_) = verbs(folder)[name]

    said = walled.post(name, **{**taken(name, values), "project": THEIRS})

    assert (said.status, said.code) == (403, "forbidden")


def test_lines_of_an_import_are_walled_too(walled: Served) -> None:
    before = whole(walled.db)
    lines = [
        {"text": "x", "project": THEIRS},
        {"text": "The lighthouse port is 5432 and its keeper"},
        {"text": "Owner: z"},
    ]

    said = walled.ask("POST", "/api/v1/import", "\n".join(map(json.dumps, lines)), Content_Type="application/x-ndjson")

    results = [json.loads(line) for line in said.body.splitlines()]
    assert results[0]["error"]["code"] == "forbidden"
    assert leaked(said.body.decode(), lines) == set()
    assert whole(walled.db) == before


@pytest.mark.parametrize("path", ["/metrics", "/api/v1/openapi.json", "/docs"])
def test_no_other_route_tells_what_is_stored_or_was_asked(walled: Served, path: str) -> None:
    walled.post("search", query="the lighthouse port")

    said = walled.ask("GET", path)

    assert MARK not in said.body.decode()
    assert "lighthouse" not in said.body.decode()


# --- the same questions by MCP --------------------------------------------------------------

TOOLS: Mapping[str, str] = {
    "fetch": "show",
    "how_it_works": "how-it-works",
    "remember": "add",
    **{name: name for name in ("search", "decisions", "changes", "related", "why", "inject", "timeline", "stats")},
    **{name: name for name in ("feedback", "forget")},
}
"""The operation whose questions a tool is asked."""


def test_no_tool_tells_of_another_project_or_changes_it(walled: Served, folder: Path) -> None:
    before = whole(walled.db)
    server = build_server(walled.warm.dispatcher, Caller(name="ours", project=OURS, trust="owner"))

    told = asyncio.run(asked_of_all(Client(server), folder))

    assert {name for name, _, _ in told} >= set(TOOLS)
    assert [(name, asked, text) for name, asked, text in told if leaked(text, (name, asked))] == []
    assert len([text for _, _, text in told if "is_error=False" in text]) > 50
    assert whole(walled.db) == before


async def asked_of_all(client: Client, folder: Path) -> list[tuple[str, Mapping[str, Any], str]]:
    """Return what each tool and each resource tells, by its name and what it was asked."""
    told: list[tuple[str, Mapping[str, Any], str]] = []
    async with client as session:
        for tool in (await session.list_tools()).tools:
            known = tool.input_schema["properties"]
            for values in verbs(folder)[TOOLS[tool.name]]:
                asked = {key: _one(key, value) for key, value in values.items() if key in known}
                several = [asked, {**asked, "project": THEIRS}] if "project" in known else [asked]
                told += [(tool.name, each, repr(await session.call_tool(tool.name, each))) for each in several]
        for address in (f"recollect://memory/{THEIR_ID}", f"recollect://lens/lens{MARK}"):
            try:
                told.append((address, {}, repr(await session.read_resource(address))))
            except MCPError as error:
                told.append((address, {}, repr(error)))
    return told


def _one(key: str, value: Any) -> Any:
    """Return the first of several ids: a tool takes one."""
    return value[-1] if key == "id" and isinstance(value, list) else value
