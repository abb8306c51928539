"""The tools as MCP clients see them: the official client, both eras, in memory, over HTTP and over standard input."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import ElicitResult
from served import Served, opened, process, serving, surroundings, wait_for_line

from recollect.surfaces.serve.dispatcher import OWNER, Caller, Dispatcher
from recollect.surfaces.serve.guard import Rules
from recollect.surfaces.serve.mcp_server import build_server

T = TypeVar("T")
ERAS = ["auto", "legacy"]
TOOLS = {
    *("search", "decisions", "changes", "how_it_works", "fetch", "inject", "related", "why", "timeline", "stats"),
    *("remember", "feedback", "forget"),
}


def talk(client: Client, story: Callable[[Client], Awaitable[T]]) -> T:
    """Hold one session and tell *story* in it."""

    async def session() -> T:
        async with client as opened_client:
            return await story(opened_client)

    return asyncio.run(session())


async def call(client: Client, tool: str, /, **given: Any) -> Any:
    """Return the structured half of a tool's result; the text half says the same."""
    result = await client.call_tool(tool, given)
    assert not result.is_error, result.content
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


async def refused(client: Client, tool: str, /, **given: Any) -> str:
    result = await client.call_tool(tool, given)
    assert result.is_error
    return str(result.content[0].text)


async def story(client: Client) -> dict[str, Any]:
    """Remember, find, explain, judge, forget."""
    told: dict[str, Any] = {}
    told["tools"] = {each.name for each in (await client.list_tools()).tools}
    told["kept"] = await call(client, "remember", text="The build runs on Woodpecker since June", type="decision")
    row = told["kept"]["id"]
    told["found"] = await call(client, "search", query="what does the build run on", everything=True)
    for tool in ("decisions", "changes", "how_it_works"):
        told[tool] = await call(client, tool, query="build Woodpecker", everything=True)
    told["fetched"] = await call(client, "fetch", id=row)
    told["why"] = await call(client, "why", id=row, query="build")
    told["injected"] = await call(client, "inject", task="the build runs on Woodpecker")
    told["feedback"] = await call(client, "feedback", id=row, verdict="useful")
    told["related"] = await call(client, "related", id=row)
    told["timeline"] = await call(client, "timeline", query="build")
    told["forgotten"] = await call(client, "forget", id=row)
    told["gone"] = await call(client, "search", query="Woodpecker")
    told["stats"] = await call(client, "stats")
    told["unknown"] = await refused(client, "fetch", id="4711")
    return told


def check(told: dict[str, Any]) -> None:
    assert told["tools"] == TOOLS
    assert told["kept"]["decision"] == "distinct"
    for tool in ("found", "decisions", "changes", "how_it_works"):
        assert told[tool]["results"][0]["text"] == "The build runs on Woodpecker since June"
        assert told[tool]["results"][0]["origin"] == "from an agent"
    assert told["fetched"]["metadata"]["type"] == "decision"
    assert told["why"]["found"] is True
    assert "Woodpecker" in told["injected"]["text"]
    assert told["forgotten"]["done"] is True
    assert told["gone"]["results"] == []
    assert told["gone"]["outcome"] == "none"
    assert told["stats"]["forgotten"] == 1
    assert "no memory has the id 4711" in told["unknown"]


@pytest.mark.req("E-17")
@pytest.mark.parametrize("era", ERAS)
def test_the_story_is_the_same_in_memory(era: Any) -> None:
    with opened() as db:
        told = talk(Client(build_server(Dispatcher(db), OWNER), mode=era), story)

    check(told)


@pytest.mark.req("E-17")
@pytest.mark.parametrize("era", ERAS)
def test_the_story_is_the_same_over_http(server: Served, era: Any) -> None:
    told = talk(Client(f"http://127.0.0.1:{server.port}/mcp", mode=era), story)

    check(told)


@pytest.mark.req("E-17")
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("warm", [False, True], ids=["alone", "relayed"])
def test_the_story_is_the_same_over_standard_input(tmp_path: Path, era: Any, *, warm: bool) -> None:
    env = surroundings(tmp_path)
    started = StdioServerParameters(command=sys.executable, args=["-m", "recollect", "mcp"], env=env, cwd=str(tmp_path))

    with process("serve", "--no-http", env=env) if warm else process("--version", env=env) as server:
        if warm:
            wait_for_line(server, "serving")
        told = talk(Client(stdio_client(started), mode=era), story)

    check(told)


def test_a_person_is_asked_through_a_relay(tmp_path: Path) -> None:
    env = surroundings(tmp_path)
    started = StdioServerParameters(command=sys.executable, args=["-m", "recollect", "mcp"], env=env, cwd=str(tmp_path))
    questions: list[str] = []

    async def refuse(_: Any, params: Any) -> ElicitResult:
        questions.append(params.message)
        return ElicitResult(action="decline")

    async def forget(client: Client) -> int:
        kept = await call(client, "remember", text="The build runs on Woodpecker")
        await client.call_tool("forget", {"id": kept["id"]})
        return int((await call(client, "stats"))["memories"])

    with process("serve", "--no-http", env=env) as server:
        wait_for_line(server, "serving")
        left = talk(Client(stdio_client(started), mode="legacy", elicitation_callback=refuse), forget)

    assert (len(questions), left) == (1, 1)


def test_every_tool_has_a_description_all_four_hints_and_a_short_name() -> None:
    with opened() as db:
        tools = talk(Client(build_server(Dispatcher(db), OWNER)), _tools)

    for tool in tools:
        hints = tool.annotations
        assert len(tool.name) <= 30
        assert tool.description
        assert tool.output_schema
        assert None not in (
            hints.read_only_hint,
            hints.destructive_hint,
            hints.idempotent_hint,
            hints.open_world_hint,
        )
        assert hints.destructive_hint is (tool.name == "forget")


async def _tools(client: Client) -> Any:
    return (await client.list_tools()).tools


def test_an_answer_stays_within_its_budget_and_says_what_had_no_room() -> None:
    with opened() as db:
        for number in range(30):
            db.add(f"Release note {number}: " + f"the frobnicator of module {number} was changed. " * 20)

        async def ask(client: Client) -> Any:
            return await call(client, "search", query="frobnicator module", limit=30, budget=500, everything=True)

        told = talk(Client(build_server(Dispatcher(db), OWNER)), ask)

    assert 1 <= len(told["results"]) < 30
    assert len(json.dumps(told["results"])) <= 500 * 4 * 1.3
    assert told["more"] == 30 - len(told["results"])


def test_a_question_without_an_answer_says_so_in_the_structured_half() -> None:
    with opened() as db:
        db.add("We deploy on Fridays")

        async def ask(client: Client) -> Any:
            return await call(client, "search", query="xylophone zebra")

        told = talk(Client(build_server(Dispatcher(db), OWNER)), ask)

    assert (told["outcome"], told["results"]) == ("none", [])
    assert told["note"]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("said", "left"), [(True, 0), (False, 1)])
def test_a_person_is_asked_before_a_memory_is_forgotten(era: Any, left: int, *, said: bool) -> None:
    async def answer(*_: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"forget": said})

    with opened() as db:
        kept = db.add("A note of an agent", trust="agent")

        async def ask(client: Client) -> Any:
            return await call(client, "forget", id=kept.id)

        told = talk(Client(build_server(Dispatcher(db), OWNER), mode=era, elicitation_callback=answer), ask)

        assert told["done"] is said
        assert db.list().total == left


def test_an_agent_cannot_forget_what_the_owner_said() -> None:
    with opened() as db:
        kept = db.add("The owner's own words")

        async def ask(client: Client) -> str:
            return await refused(client, "forget", id=kept.id)

        told = talk(Client(build_server(Dispatcher(db), OWNER)), ask)

        assert "trusted further" in told
        assert db.list().total == 1


def test_a_session_bound_to_a_project_sees_nothing_else() -> None:
    with opened() as db:
        db.in_project("blue").add("The blue key is in the drawer")

        async def ask(client: Client) -> Any:
            found = await call(client, "search", query="blue key drawer", everything=True)
            other = await refused(client, "search", query="key", project="blue")
            await call(client, "remember", text="A red note")
            return found, other

        found, other = talk(Client(build_server(Dispatcher(db), Caller(project="red"))), ask)

        assert found["results"] == []
        assert other.startswith("this token is for the project 'red'")
        assert db.in_project("red").list().total == 1


@pytest.mark.parametrize("era", ERAS)
def test_over_http_a_tool_answers_for_the_token_of_each_request(tmp_path: Path, era: Any) -> None:
    import httpx2  # noqa: PLC0415
    from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415

    with opened(tmp_path / "s.db") as db:
        db.in_project("blue").add("The blue key is in the drawer")
        secret = db.tokens.create(project="red").secret

        async def ask(client: Client) -> Any:
            return await call(client, "search", query="blue key drawer", everything=True)

        with serving(db, Rules(needs_token=True)) as served:
            address = f"http://127.0.0.1:{served.port}/mcp"
            http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {secret}"})
            told = talk(Client(streamable_http_client(address, http_client=http), mode=era), ask)

    assert told["results"] == []


def test_resources_and_prompts_are_there() -> None:
    with opened() as db:
        db.add("We deploy on Fridays", title="Deploys")

        async def ask(client: Client) -> Any:
            memory = await client.read_resource("recollect://memory/1")
            lenses = await client.read_resource("recollect://lenses")
            prompt = await client.get_prompt("recall", {"topic": "deploys"})
            return memory.contents[0].text, json.loads(lenses.contents[0].text), prompt.messages[0].content.text

        memory, lenses, prompt = talk(Client(build_server(Dispatcher(db), OWNER)), ask)

    assert memory.startswith("# Deploys\n\nWe deploy on Fridays")
    assert lenses == {"lenses": []}
    assert "deploys" in prompt


# --- standard input -------------------------------------------------------------------------


def initialize(version: str) -> dict[str, Any]:
    about = {"name": "t", "version": "1"}
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": about}
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}


@pytest.mark.parametrize("warm", [False, True], ids=["alone", "relayed"])
def test_a_session_ends_with_its_input_and_writes_nothing_but_the_protocol(tmp_path: Path, *, warm: bool) -> None:
    env = surroundings(tmp_path)
    asked = [initialize("2025-11-25"), {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}]

    with process("serve", "--no-http", env=env) if warm else process("--version", env=env) as server:
        if warm:
            wait_for_line(server, "serving")
        with process("mcp", env=env) as session:
            assert session.stdin is not None
            assert session.stdout is not None
            session.stdin.write("".join(f"{json.dumps(each)}\n" for each in asked).encode())
            session.stdin.flush()
            answers = [json.loads(session.stdout.readline()) for _ in asked]
            session.stdin.close()
            rest, code = session.stdout.read(), session.wait(300)
            session.stdin = None  # it is closed already

    assert [each["id"] for each in answers] == [1, 2]
    assert (rest, code) == (b"", 0)


def test_tools_read_and_write_the_project_of_their_folder_unless_asked_otherwise(tmp_path: Path) -> None:
    (tmp_path / "shelf" / ".git").mkdir(parents=True)
    with opened() as db:
        db.in_project("other").add("The export runs at noon")
        db.in_project("global").add("Nothing runs on Sundays")
        server = build_server(Dispatcher(db), Caller(name="agent", trust="agent", folder=str(tmp_path / "shelf")))

        async def ask(client: Client) -> Any:
            await call(client, "remember", text="The import runs at midnight")
            here = await call(client, "search", query="runs", everything=True)
            everywhere = await call(client, "search", query="runs", everything=True, scope="all")
            return here, everywhere

        here, everywhere = talk(Client(server), ask)
        kept = {each.content: each.project for each in db.list(limit=9).memories}

    assert kept["The import runs at midnight"] == "shelf"
    assert {each["text"] for each in here["results"]} == {"The import runs at midnight", "Nothing runs on Sundays"}
    assert len(everywhere["results"]) == 3
