"""How many hits come back: one rule on the command line, in Python, over HTTP and over MCP."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from mcp.client import Client
from served import serving, surroundings

import recollect
from recollect import Memory
from recollect.errors import QueryError
from recollect.surfaces import cli
from recollect.surfaces.serve.dispatcher import OWNER, Dispatcher
from recollect.surfaces.serve.mcp_server import build_server

Count = Callable[[int | None, str], int | str]
"""Searches with a limit under a profile; returns how many hits came back, or the message of the refusal."""
MEMORIES = 130


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    with recollect.open(path, model="none") as db:
        db.add_all([Memory(content=f"cat {n}", external_id=str(n)) for n in range(MEMORIES)])
    return path


@pytest.fixture(params=["command", "python", "http", "mcp"])
def count(
    request: pytest.FixtureRequest, store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Count:
    monkeypatch.setenv("RECOLLECT_CONFIG", surroundings(store.parent)["RECOLLECT_CONFIG"])

    def command(limit: int | None, profile: str) -> int | str:
        words = ["--db", str(store), "--model", "none", "--profile", profile, "search", "cat", "--format", "ids"]
        with suppress(SystemExit):
            cli.main([*words, *([] if limit is None else [f"--limit={limit}"])])
        said = capsys.readouterr()
        return said.err.strip() or len(said.out.split())

    def python(limit: int | None, profile: str) -> int | str:
        with recollect.open(store, model="none", profile=profile) as db:
            try:
                return len(db.search("cat", limit=limit).hits)
            except QueryError as error:
                return f"{error} ({error.hint})"

    def http(limit: int | None, profile: str) -> int | str:
        with recollect.open(store, model="none") as db, serving(db) as served:
            said = served.post("search", query="cat", limit=limit, profile=profile).value
        return f"{said['error']['message']} ({said['error']['hint']})" if "error" in said else len(said["hits"])

    def mcp(limit: int | None, profile: str) -> int | str:
        async def ask() -> int | str:
            async with Client(build_server(Dispatcher(db), OWNER)) as client:
                given = {"query": "cat", "everything": True, "budget": 20_000, "limit": limit}
                said = await client.call_tool("search", given)
            return str(said.content[0].text) if said.is_error else len(said.structured_content["results"])

        with recollect.open(store, model="none", profile=profile) as db:
            return asyncio.run(ask())

    return {"command": command, "python": python, "http": http, "mcp": mcp}[request.param]


@pytest.mark.req("E-10")
def test_engram_clamps_the_limit_alike_on_every_surface(count: Count) -> None:
    shown = {limit: count(limit, "engram") for limit in (None, 0, -5, 1, 50, 500)}

    assert shown == {None: 20, 0: 20, -5: 20, 1: 1, 50: 50, 500: 100}


@pytest.mark.req("E-10")
@pytest.mark.parametrize("limit", [0, -1])
def test_other_profiles_refuse_a_limit_below_one_alike_on_every_surface(count: Count, limit: int) -> None:
    told = str(count(limit, "default"))

    assert f"limit cannot be {limit}" in told
    assert "give a whole number of at least 1" in told
    assert len(told.splitlines()) <= 2


@pytest.mark.req("E-17")
def test_ten_results_come_back_over_mcp_unless_told(count: Count, request: pytest.FixtureRequest) -> None:
    usual = 10 if request.node.callspec.params["count"] == "mcp" else 20

    assert count(None, "default") == usual
    assert count(30, "default") == 30
