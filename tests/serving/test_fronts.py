"""Thin fronts of MCP leave no orphans: they end with their input, by signals, with their parent and with the server."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from served import process, surroundings, wait_for_line

import recollect

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
WRAPPER = (
    "import subprocess, sys; front = subprocess.Popen([sys.executable, '-m', 'recollect', 'mcp']); "
    "sys.stderr.write(f'front {front.pid}\\n'); sys.stderr.flush(); front.wait()"
)
"""A program that starts a front on its own standard input, as uvx and npx do."""


@contextmanager
def perhaps_served(env: dict[str, str], *, warm: bool) -> Iterator["subprocess.Popen[bytes] | None"]:
    if not warm:
        yield None
        return
    with process("serve", "--no-http", env=env) as started:
        wait_for_line(started, "serving")
        yield started


def greeted(front: "subprocess.Popen[bytes]") -> dict[str, Any]:
    """Open a session with *front*; return its answer."""
    assert front.stdin is not None
    assert front.stdout is not None
    front.stdin.write(f"{json.dumps(HELLO)}\n".encode())
    front.stdin.flush()
    ready, _, _ = select.select([front.stdout], [], [], 60)
    assert ready, "the front says nothing"
    told: dict[str, Any] = json.loads(front.stdout.readline())
    return told


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


def wait_until_gone(pid: int) -> None:
    until = time.monotonic() + 300
    while is_running(pid):
        assert time.monotonic() < until, "the front is an orphan"
        time.sleep(0.1)


KINDS = pytest.mark.parametrize("warm", [False, True], ids=["alone", "relayed"])


@KINDS
def test_a_front_ends_with_its_input(tmp_path: Path, *, warm: bool) -> None:
    env = surroundings(tmp_path)

    with perhaps_served(env, warm=warm), process("mcp", env=env) as front:
        told = greeted(front)
        assert front.stdin is not None
        front.stdin.close()
        code = front.wait(300)
        front.stdin = None  # it is closed already

    assert told["result"]["serverInfo"]["name"] == "recollect"
    assert code == 0


@KINDS
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_front_ends_by_a_signal(tmp_path: Path, number: signal.Signals, *, warm: bool) -> None:
    env = surroundings(tmp_path)

    with perhaps_served(env, warm=warm), process("mcp", env=env) as front:
        greeted(front)
        front.send_signal(number)
        code = front.wait(300)

    assert code == 0


@KINDS
def test_a_front_ends_when_its_parent_is_killed_though_its_input_stays_open(tmp_path: Path, *, warm: bool) -> None:
    env = surroundings(tmp_path)

    with perhaps_served(env, warm=warm):
        wrapper = subprocess.Popen(  # noqa: S603
            [sys.executable, "-c", WRAPPER],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
        front = int(wait_for_line(wrapper, "front").split()[1])
        greeted(wrapper)
        running = is_running(front)
        wrapper.kill()
        wrapper.wait(300)
        wait_until_gone(front)  # while this test still holds the other end of its input

        wrapper.communicate()
    assert running


def test_a_front_ends_when_the_server_dies_under_it_and_says_nothing_but_the_protocol(tmp_path: Path) -> None:
    env = surroundings(tmp_path)

    with perhaps_served(env, warm=True) as server, process("mcp", env=env) as front:
        assert server is not None
        greeted(front)
        server.kill()
        code = front.wait(300)
        assert front.stdout is not None
        rest = front.stdout.read()

    assert code in (0, 1)
    assert rest == b""


def test_a_front_that_is_started_anew_after_that_goes_on_alone(tmp_path: Path) -> None:
    env = surroundings(tmp_path)
    with perhaps_served(env, warm=True) as server:
        assert server is not None
        server.kill()
        server.wait(300)

        with process("mcp", env=env) as front:
            told = greeted(front)

    assert told["id"] == 1


@pytest.mark.parametrize("verb", ["mcp", "hook"])
@pytest.mark.parametrize("before", [True, False], ids=["before", "behind"])
def test_options_may_stand_before_the_verb_and_behind_it(tmp_path: Path, verb: str, *, before: bool) -> None:
    env = surroundings(tmp_path)
    options = ["--db", str(tmp_path / "other.db")]
    words = [*options, verb] if before else [verb, *options]
    said = json.dumps(HELLO) if verb == "mcp" else json.dumps({"hook_event_name": "SessionStart"})

    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "recollect", *words],
        env=env,
        input=f"{said}\n".encode(),
        capture_output=True,
        timeout=300,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "other.db").exists()
    assert not (tmp_path / "store.db").exists()


# --- how the store is opened ----------------------------------------------------------------


def asked(env: dict[str, str], *words: str, lines: list[dict[str, Any]]) -> "subprocess.CompletedProcess[bytes]":
    """Run *words* with *lines* on its input."""
    return subprocess.run(  # noqa: S603
        [sys.executable, "-m", "recollect", *words],
        env=env,
        input="".join(f"{json.dumps(each)}\n" for each in lines).encode(),
        capture_output=True,
        timeout=300,
        check=False,
    )


@pytest.mark.req("E-17")
@pytest.mark.parametrize(("way", "warm"), [("option", False), ("option", True), ("variable", True)])
def test_an_agent_is_answered_by_the_profile_that_its_command_names(tmp_path: Path, way: str, *, warm: bool) -> None:
    env = surroundings(tmp_path)
    with recollect.open(env["RECOLLECT_DB"], model="none") as db:
        db.add("The copper kettle is in the kitchen")
    words = ["--profile", "engram"] if way == "option" else []
    named = {**env, "RECOLLECT_PROFILE": "engram"} if way == "variable" else env
    search = {"name": "search", "arguments": {"query": "copper kettle", "everything": True, "scope": "all"}}
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": search}

    with perhaps_served(env, warm=warm), process(*words, "mcp", env=named) as front:
        greeted(front)
        assert front.stdin is not None
        assert front.stdout is not None
        front.stdin.write(f'{{"jsonrpc": "2.0", "method": "notifications/initialized"}}\n{json.dumps(call)}\n'.encode())
        front.stdin.flush()
        found = json.loads(front.stdout.readline())

    assert found["result"]["structuredContent"]["results"][0]["score"] < 0.1  # 0.6 by the default profile


@pytest.mark.req("E-17")
@pytest.mark.parametrize(("option", "value"), [("--profile", "bogus"), ("--model", "bogus")])
def test_a_profile_or_model_that_nobody_knows_is_refused_before_the_greeting(
    tmp_path: Path, option: str, value: str
) -> None:
    done = asked(surroundings(tmp_path), option, value, "mcp", lines=[HELLO])

    assert (done.returncode, done.stdout) == (2, b"")
    assert b"bogus" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.req("E-17")
def test_a_hook_opens_the_store_as_its_command_says(tmp_path: Path) -> None:
    event = {"hook_event_name": "SessionStart", "cwd": str(tmp_path)}

    done = asked(surroundings(tmp_path), "--profile", "bogus", "hook", "--debug", lines=[event])

    assert (done.returncode, done.stdout) == (0, b"")
    assert b"bogus" in done.stderr
