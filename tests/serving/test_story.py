"""One story told through Python, the command line, HTTP and MCP: the same answers, the same errors, on every door.

Two projects live in one store, and in one server process; the project comes with each request.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest
from mcp.client import Client
from served import Served, opened, serving, surroundings

from recollect import RecollectError, Recollection
from recollect.operations import OPERATIONS
from recollect.serialize import error_value, serialize
from recollect.surfaces.serve.mcp_replies import ERROR

PLACED = {name: [each.name for each in op.parameters if each.place] for name, op in OPERATIONS.items()}
OFF = {each.name: each.hints.off for op in OPERATIONS.values() for each in op.parameters if each.hints.off}


class Refused(Exception):
    """An error as a door tells it: its code and its message."""

    @property
    def told(self) -> tuple[str, str]:
        return self.args[0]["code"], self.args[0]["message"]


class Door(Protocol):
    """A way to ask: an operation by its name and its values, answered as JSON."""

    def ask(self, operation: str, /, **values: Any) -> Any: ...


# --- the doors ------------------------------------------------------------------------------


class Python:
    """The methods of Recollection."""

    def __init__(self, db: Recollection) -> None:
        self._db = db

    def ask(self, operation: str, /, **values: Any) -> Any:
        project = values.pop("project", None)
        db = self._db.in_project(project) if project else self._db
        try:
            return serialize(self._answer(db, operation, values))
        except RecollectError as error:
            raise Refused(error_value(error)["error"]) from error

    def _answer(self, db: Recollection, operation: str, values: dict[str, Any]) -> Any:
        row, of = values.pop("id", 0), values
        special: Mapping[str, Callable[[], Any]] = {
            "add": lambda: db.add(of.pop("text"), **of),
            "why": lambda: db.why(row, of["query"]),
            "inject": lambda: db.inject(of.pop("task"), **of),
            "feedback": lambda: db.feedback(row, **of),
            "forget": lambda: db.forget(row),
            "restore": lambda: db.restore(row),
            "show": lambda: db.show(row),
            "timeline": lambda: {"memories": db.timeline(of["query"])},
            "lens": lambda: db.lenses.create(of["name"], type=of["type"]),
            "log": lambda: {"recalls": db.log.recent(session=of["session"])},
        }
        return special[operation]() if operation in special else getattr(db, operation)(**of)


class Terminal:
    """The program, a process for each command."""

    def __init__(self, env: dict[str, str]) -> None:
        self._env = env

    def ask(self, operation: str, /, **values: Any) -> Any:
        verb = OPERATIONS[operation].verb.split() or ["search", "--leaning", operation]
        words = [*verb, *(str(values.pop(name)) for name in PLACED[operation] if name in values)]
        for name, value in values.items():
            option = f"--{(OFF[name] if value is False else name).replace('_', '-')}"
            several = value if isinstance(value, list) else [value]
            words += [option] if isinstance(value, bool) else [each for one in several for each in (option, str(one))]
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "recollect", *words, "--json"],
            env=self._env,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        told = json.loads(done.stdout or done.stderr)
        if "error" in told:
            raise Refused(told["error"])
        return told


class Http:
    """The routes of the server."""

    def __init__(self, served: Served) -> None:
        self._served = served

    def ask(self, operation: str, /, **values: Any) -> Any:
        told = self._served.post(operation, **values).value
        if "error" in told:
            raise Refused(told["error"])
        return told


class Mcp:
    """The tools of the same server; what no tool does, its owner does."""

    TOOLS: Mapping[str, str] = {"add": "remember", "show": "fetch"}
    OWNERS = frozenset({"restore", "lens", "log", "brief"})

    def __init__(self, served: Served) -> None:
        self._served, self._owner = served, Http(served)

    def ask(self, operation: str, /, **values: Any) -> Any:
        if operation in self.OWNERS or "lens" in values or "session" in values:
            return self._owner.ask(operation, **values)
        values.pop("trust", None)  # an agent is trusted as one
        if values.pop("precise", None) is False:
            values["everything"] = True
        return asyncio.run(self._call(self.TOOLS.get(operation, operation), values))

    async def _call(self, tool: str, values: dict[str, Any]) -> Any:
        async with Client(f"http://127.0.0.1:{self._served.port}/mcp") as client:
            result = await client.call_tool(tool, values)
        if result.is_error:
            raise Refused((result.meta or {})[ERROR])
        return result.structured_content


@contextmanager
def through(door: str, folder: Path) -> Iterator[Door]:
    """Open a store and a *door* to it."""
    env = surroundings(folder)
    if door == "terminal":
        yield Terminal(env)
        return
    with opened(env["RECOLLECT_DB"]) as db:
        if door == "python":
            yield Python(db)
            return
        with serving(db) as served:
            yield Http(served) if door == "http" else Mcp(served)


# --- the story ------------------------------------------------------------------------------


def row(told: Any) -> int:
    return int(told["id"])


def found(told: Any) -> Any:
    """Return the outcome of a search, and the ids and texts it found."""
    hits = told["results"] if "results" in told else told["hits"]
    several = [each.get("memory", each) for each in hits]
    return told["outcome"], [(row(each), each.get("text", each.get("content"))) for each in several]


def refusal(door: Door, operation: str, /, **values: Any) -> tuple[str, str]:
    with pytest.raises(Refused) as raised:
        door.ask(operation, **values)
    return raised.value.told


def counted(told: Any) -> Any:
    return told["memories"], told["forgotten"], told["projects"]


def story(door: Door) -> dict[str, Any]:
    """Tell all that happens, as far as it must be the same on every door."""
    red: dict[str, Any] = {"project": "red"}
    told: dict[str, Any] = {}
    note = door.ask("add", text="The red build runs on Woodpecker since June", type="decision", trust="agent", **red)
    same = door.ask("add", text="The red build runs on Woodpecker since June", type="decision", trust="agent", **red)
    blue = door.ask("add", text="The blue build runs on Jenkins", type="gotcha", trust="agent", project="blue")
    told["added"] = [(row(each), each["decision"]) for each in (note, same, blue)]
    told["found"] = found(door.ask("search", query="what does the build run on", precise=False, **red))
    told["elsewhere"] = found(door.ask("search", query="build runs on", precise=False, project="blue"))
    told["nothing"] = found(door.ask("search", query="xylophone zebra", **red))
    told["decisions"] = found(door.ask("decisions", query="build Woodpecker", precise=False, **red))
    why = door.ask("why", id=1, query="build", **({} if isinstance(door, Mcp) else red))
    told["why"] = why["found"], row(why)
    injected = door.ask("inject", task="the red build runs on Woodpecker", **red)
    told["injected"] = injected["text"], [int(each) for each in injected["ids"]]
    told["brief"] = door.ask("brief", **red)["text"]
    door.ask("feedback", id=1, verdict="useful")
    door.ask("forget", id=1)
    told["gone"] = found(door.ask("search", query="Woodpecker", precise=False, **red))
    told["counted"] = counted(door.ask("stats"))
    door.ask("restore", id=1)
    told["back"] = found(door.ask("search", query="Woodpecker", precise=False, **red))
    door.ask("lens", action="create", name="choices", type=["decision"])
    told["lens"] = found(door.ask("search", query="build runs", precise=False, lens="choices"))
    line = door.ask("timeline", query="build")
    told["timeline"] = [row(each) for each in line.get("results", line.get("memories", []))]
    door.ask("search", query="who builds", precise=False, session="s-1")
    told["log"] = logged(door, "s-1")
    told["errors"] = errors(door)
    return told


def logged(door: Door, session: str) -> list[tuple[str, str]]:
    """Return the searches that were logged for *session*; the log is written in the background."""
    until = time.monotonic() + 300
    while True:
        recalls = door.ask("log", report="recent", session=session)["recalls"]
        if recalls or time.monotonic() > until:
            return [(each["query"], each["session"]) for each in recalls]
        time.sleep(0.1)


def errors(door: Door) -> list[tuple[str, str]]:
    """Return the code and the message of each thing that goes wrong."""
    return [
        refusal(door, "show", id=4711),
        refusal(door, "forget", id=4711),
        refusal(door, "feedback", id=4711, verdict="useful"),
        refusal(door, "why", id=4711, query="build"),
        refusal(door, "add", text=" "),
        refusal(door, "search", query="build", since="the day of the frog"),
    ]


@pytest.mark.req("E-17")
def test_the_story_is_the_same_on_every_door(tmp_path: Path) -> None:
    told = {}
    for name in ("python", "terminal", "http", "mcp"):
        (tmp_path / name).mkdir()
        with through(name, tmp_path / name) as door:
            told[name] = story(door)

    first = told["python"]
    assert first["added"] == [(1, "distinct"), (1, "identical"), (2, "distinct")]
    assert first["found"][1] == [(1, "The red build runs on Woodpecker since June")]
    assert first["elsewhere"][1] == [(2, "The blue build runs on Jenkins")]
    assert first["nothing"] == ("none", [])
    assert "Woodpecker" in first["injected"][0]
    assert first["gone"] == ("none", [])
    assert first["back"] == first["lens"]
    for name, other in told.items():
        for step, answer in first.items():
            assert (name, step, other[step]) == (name, step, answer)


# --- many at once ---------------------------------------------------------------------------

NOTES = [{"text": f"Note {number} about the kiln of project {name}"} for number in range(3) for name in ("red", "blue")]


def test_many_memories_come_in_by_python_by_the_command_and_by_http_alike(tmp_path: Path) -> None:
    lines = "".join(f"{json.dumps({'content': each['text']})}\n" for each in NOTES)
    path = tmp_path / "notes.jsonl"
    path.write_text(lines)
    env = surroundings(tmp_path)

    with opened(tmp_path / "python.db") as db:
        db.in_project("red").import_(str(path))
        by_python = listed(db)
    Terminal(env).ask("import", paths=str(path), project="red")
    with opened(env["RECOLLECT_DB"]) as db:
        by_command = listed(db)
    with opened(tmp_path / "http.db") as db, serving(db) as served:
        body = "".join(f"{json.dumps({**each, 'project': 'red'})}\n" for each in NOTES)
        served.ask("POST", "/api/v1/import", body, Content_Type="application/x-ndjson")
        by_http = listed(db)

    assert by_python == by_command == by_http
    assert [content for content, _ in by_python] == sorted(each["text"] for each in NOTES)


def listed(db: Recollection) -> list[tuple[str, str | None]]:
    return sorted((each.content, each.project) for each in db.list(limit=100).memories)
