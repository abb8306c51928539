"""The warm process and its thin fronts: found beside the store, the same answers, gone without a trace."""

import asyncio
import http.client
import json
import logging
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from served import process, surroundings, wait_for_line

import recollect
from recollect import __version__
from recollect.files import write_private
from recollect.surfaces.client import ServerAddress, address_file, connect, find_server, read_address, send
from recollect.surfaces.serve.guard import Guard, OwnerSocket, Rules
from recollect.surfaces.serve.local import bound_socket, published
from recollect.surfaces.serve.logs import LOG, LineFormatter
from recollect.surfaces.serve.process import on_signals
from recollect.surfaces.serving import ready_text, status


def run(*words: str, env: dict[str, str], stdin: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(  # noqa: S603
        [sys.executable, "-m", "recollect", *words],
        env=env,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_a_server_is_found_beside_its_store_by_its_owner_only_and_leaves_nothing_behind(tmp_path: Path) -> None:
    env = surroundings(tmp_path)
    db = env["RECOLLECT_DB"]

    with process("serve", "--port", "0", env=env) as started:
        wait_for_line(started, "serving")
        place = read_address(db)
        told = status(db)
        assert place is not None
        modes = [stat.S_IMODE(Path(each).stat().st_mode) for each in (address_file(db), place.socket)]
        started.send_signal(signal.SIGTERM)
        code = started.wait(300)

    assert told is not None
    assert told["pid"] == started.pid
    assert modes == [0o600, 0o600]
    assert code == 0
    assert not address_file(db).exists()
    assert not Path(place.socket).exists()


def test_a_store_is_served_once(tmp_path: Path) -> None:
    env = surroundings(tmp_path)

    with process("serve", "--no-http", env=env) as started:
        wait_for_line(started, "serving")
        second = run("serve", "--no-http", env=env)

    assert second.returncode == 2
    assert "served already" in second.stderr


def test_of_two_servers_started_at_once_one_stays_and_can_be_reached(tmp_path: Path) -> None:
    env = surroundings(tmp_path)
    db = env["RECOLLECT_DB"]

    with process("serve", "--no-http", env=env) as one, process("serve", "--no-http", env=env) as two:
        until = time.monotonic() + 300
        while not (codes := [each.poll() for each in (one, two) if each.poll() is not None]):
            assert time.monotonic() < until, "both go on"
            time.sleep(0.05)
        stays = one if two.poll() is not None else two
        told = None
        while told is None:
            assert time.monotonic() < until, "nobody answers"
            told = status(db)
        stays.send_signal(signal.SIGTERM)
        stays.wait(300)

    assert codes == [2]
    assert told["pid"] == stays.pid
    assert [each.name for each in tmp_path.iterdir() if each.suffix in (".serve", ".sock", ".lock")] == []


def test_a_server_that_was_killed_leaves_no_lock_behind(tmp_path: Path) -> None:
    env = surroundings(tmp_path)

    with process("serve", "--no-http", env=env) as killed:
        wait_for_line(killed, "serving")
        killed.kill()
        killed.wait(300)
    with process("serve", "--no-http", env=env) as started:
        line = wait_for_line(started, "serving")

    assert str(started.pid) in line


def test_a_server_removes_only_its_own_address(tmp_path: Path) -> None:
    db = str(tmp_path / "store.db")
    other = ServerAddress(pid=1, version=__version__, socket=str(tmp_path / "other.sock"))

    with bound_socket(db) as (bound, key), published(db, bound, key, http=""):
        write_private(address_file(db), other.text())

    left = read_address(db)
    assert left is not None
    assert left.text() == other.text()


def test_a_link_where_a_server_leaves_its_address_is_replaced_and_not_followed(tmp_path: Path) -> None:
    victim, link = tmp_path / "victim", tmp_path / "store.db.serve"
    victim.write_text("precious")
    link.symlink_to(victim)

    write_private(link, "pid=1\n")

    assert victim.read_text() == "precious"
    assert (link.is_symlink(), link.read_text()) == (False, "pid=1\n")
    assert link.stat().st_mode & 0o777 == 0o600


def test_a_server_ends_by_a_signal_where_its_loop_knows_none() -> None:
    class Loop(asyncio.SelectorEventLoop):
        def add_signal_handler(self, *_: object) -> None:
            raise NotImplementedError

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    async def until_told() -> bool:
        stop = asyncio.Event()
        on_signals(stop.set)
        signal.raise_signal(signal.SIGTERM)
        return await asyncio.wait_for(stop.wait(), 30)

    try:
        with asyncio.Runner(loop_factory=Loop) as runner:
            told = runner.run(until_told())
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

    assert told is True


def test_where_there_are_no_socket_files_a_request_needs_the_key() -> None:
    async def ok(_: Any, __: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def no_token(_: str) -> Any:
        raise AssertionError

    async def status_of(*headers: tuple[bytes, bytes]) -> int:
        sent: list[Any] = []

        async def keep(message: Any) -> None:
            sent.append(message)

        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        owner = OwnerSocket(key="secret", is_same=lambda _: True)
        guard = Guard(ok, rules=Rules(), verify=no_token, socket=owner)
        await guard({"type": "http", "method": "GET", "path": "/status", "headers": list(headers)}, receive, keep)
        return int(sent[0]["status"])

    async def statuses() -> list[int]:
        given: list[tuple[tuple[bytes, bytes], ...]] = [
            (),
            ((b"authorization", b"Bearer wrong"),),
            ((b"authorization", b"Bearer secret"),),
        ]
        return [await status_of(*each) for each in given]

    assert asyncio.run(statuses()) == [401, 401, 200]


def test_the_socket_knows_its_owner_by_any_host_name_and_without_a_token(tmp_path: Path) -> None:
    env = surroundings(tmp_path)
    with recollect.open(env["RECOLLECT_DB"], model="none") as db:
        db.add("We deploy on Fridays")

    with process("serve", "--port", "0", "--require-token", env=env) as started:
        wait_for_line(started, "serving")
        address = read_address(env["RECOLLECT_DB"])
        assert address is not None
        sent = send(address, "GET", "/api/v1/stats", headers={"host": "anywhere.example"})
        assert sent is not None
        with sent:
            told = json.loads(sent.receive().body())
        reached = http.client.HTTPConnection("127.0.0.1", int(address.http.rpartition(":")[2]), timeout=30)
        reached.request("GET", "/status")
        over_tcp = reached.getresponse().status
        reached.close()

    assert (sent.status, told["memories"]) == (200, 1)
    assert over_tcp == 401


def test_a_server_of_another_version_is_not_asked(tmp_path: Path) -> None:
    env = surroundings(tmp_path)

    with process("serve", "--no-http", env=env) as started:
        wait_for_line(started, "serving")
        found = [find_server(env["RECOLLECT_DB"], version=each) for each in ("0.0.1", __version__)]

    assert [each is not None for each in found] == [False, True]


def test_a_server_ends_when_nobody_asks_for_so_long(tmp_path: Path) -> None:
    env = surroundings(tmp_path)

    with process("serve", "--no-http", "--idle", "1s", env=env) as started:
        code = started.wait(300)

    assert code == 0
    assert not address_file(env["RECOLLECT_DB"]).exists()


def test_the_daemon_is_started_looked_at_and_stopped(tmp_path: Path) -> None:
    env = surroundings(tmp_path)

    before = run("daemon", "status", "--json", env=env)
    start = run("daemon", "start", "--json", "--idle", "60s", env=env)
    status = run("daemon", "status", "--json", env=env)
    again = run("daemon", "start", env=env)
    stop = run("daemon", "stop", "--json", env=env)
    after = run("daemon", "status", "--json", env=env)

    pid = json.loads(start.stdout)["pid"]
    assert (before.returncode, json.loads(before.stdout)["running"]) == (1, False)
    assert json.loads(status.stdout)["pid"] == pid
    assert again.returncode == 2
    assert json.loads(stop.stdout) == {"stopped": pid}
    assert after.returncode == 1


def test_after_a_sudden_end_commands_go_on_alone_and_no_write_is_lost(tmp_path: Path) -> None:
    env = surroundings(tmp_path)
    db = env["RECOLLECT_DB"]

    with process("serve", "--no-http", env=env) as started:
        wait_for_line(started, "serving")
        kept = [run("add", f"memory number {each}", "--json", env=env) for each in range(20)]
        started.kill()
        started.wait(300)
        hook = run("hook", env=env, stdin='{"hook_event_name": "SessionStart", "session_id": "s"}')
        again = run("daemon", "start", "--idle", "60s", env=env)
        run("daemon", "stop", env=env)

    with recollect.open(db, model="none") as opened:
        stored = {each.id for each in opened.list(limit=100).memories}
    assert {json.loads(each.stdout)["id"] for each in kept} == stored
    assert len(stored) == 20
    assert hook.returncode == 0
    assert again.returncode == 0


def test_a_hook_loads_neither_numpy_nor_the_store_nor_the_protocol(tmp_path: Path) -> None:
    env = surroundings(tmp_path)
    program = (
        "import atexit, sys; before = set(sys.modules); sys.argv = ['recollect', 'hook']; "
        "atexit.register(lambda: print(' '.join(sorted(set(sys.modules) - before)))); "
        "from recollect.surfaces.front import main; main()"
    )

    with process("serve", "--no-http", env=env) as started:
        wait_for_line(started, "serving")
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-c", program], env=env, input=b"{}", capture_output=True, timeout=300, check=False
        )

    loaded = set(done.stdout.decode().split())
    assert "recollect.surfaces.front" in loaded
    assert not loaded & {"numpy", "click", "apsw", "mcp", "msgspec", "pydantic", "starlette", "recollect.recollection"}
    assert not loaded & {"dataclasses", "enum", "json", "pathlib", "re", "socket", "subprocess", "typing"}


# --- hooks through the front ----------------------------------------------------------------


def hooked(env: dict[str, str], **event: Any) -> str:
    done = run("hook", env=env, stdin=json.dumps(event))
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("warm", [False, True])
def test_a_session_is_told_what_the_one_before_it_decided(tmp_path: Path, *, warm: bool) -> None:
    env = surroundings(tmp_path)
    project = tmp_path / "shop"
    (project / ".git").mkdir(parents=True)
    about = {"session_id": "one", "cwd": str(project), "transcript_path": ""}
    said = "Done.\n[MEMORY] type=decision: The shop sends its mail through Postmark since October"

    with process("serve", "--no-http", env=env) if warm else process("--version", env=env) as started:
        if warm:
            wait_for_line(started, "serving")
        first = hooked(env, hook_event_name="SessionStart", source="startup", **about)
        hooked(env, hook_event_name="Stop", last_assistant_message=said, **about)
        start = hooked(env, hook_event_name="SessionStart", source="startup", **{**about, "session_id": "two"})
        prompt = "how does the shop send its mail since October"
        asked = hooked(env, hook_event_name="UserPromptSubmit", prompt=prompt, **{**about, "session_id": "three"})
        again = hooked(env, hook_event_name="UserPromptSubmit", prompt=prompt, **{**about, "session_id": "three"})

    assert first == ""
    for output, event in ((start, "SessionStart"), (asked, "UserPromptSubmit")):
        told = json.loads(output)["hookSpecificOutput"]
        assert told["hookEventName"] == event
        assert "Postmark" in told["additionalContext"]
    assert again == ""
    with recollect.open(env["RECOLLECT_DB"], model="none") as db:
        kept = db.list().memories[0]
    assert (kept.project, kept.trust) == ("shop", "agent")


def test_a_place_that_somebody_else_wrote_is_not_believed(tmp_path: Path) -> None:
    db = str(tmp_path / "store.db")
    address_file(db).write_text("not json")

    assert read_address(db) is None
    assert status(db) is None


def test_a_server_that_is_gone_is_nobody(tmp_path: Path) -> None:
    gone = ServerAddress(pid=1, version=__version__, socket=str(tmp_path / "gone.sock"))

    assert connect(gone) is None


def test_a_command_of_the_server_says_nothing_but_its_answer(tmp_path: Path) -> None:
    done = run("daemon", "status", "--json", env=surroundings(tmp_path))

    assert (json.loads(done.stdout), done.stderr) == ({"running": False}, "")


# --- what a server says ---------------------------------------------------------------------


def test_a_server_logs_operation_status_time_and_token_and_never_the_words(tmp_path: Path) -> None:
    env = surroundings(tmp_path)
    with recollect.open(env["RECOLLECT_DB"], model="none") as db:
        secret = db.tokens.create(name="ida").secret

    with process("serve", "--port", "0", "--log-format", "json", env=env) as started:
        wait_for_line(started, "serving")
        assert started.stderr is not None
        port = int(started.stderr.readline().decode().strip().strip("/").rpartition(":")[2])
        for path, token in (("/api/v1/search?query=marzipan", secret), ("/healthz", ""), ("/api/v1/list", "wrong")):
            reached = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            reached.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
            reached.getresponse().read()
            reached.close()
        started.terminate()
        lines = [each for each in started.stderr.read().decode().splitlines() if "request" in each]

    told = [json.loads(each) for each in lines]
    assert [(each["operation"], each["status"], each["caller"]) for each in told] == [
        ("search", 200, "ida"),
        ("list", 401, "-"),
    ]
    assert all(each["ms"] > 0 for each in told)
    assert "marzipan" not in "".join(lines)


def test_a_failure_is_logged_as_the_name_of_its_kind_and_its_traceback_only_for_who_debugs() -> None:
    def failed() -> logging.LogRecord:
        try:
            {}["marzipan"]
        except KeyError:
            return logging.LogRecord("uvicorn.error", logging.ERROR, "x.py", 1, "it\nfailed", (), sys.exc_info())

    before = LOG.level
    try:
        LOG.setLevel(logging.INFO)
        told = LineFormatter(form="text").format(failed())
        LOG.setLevel(logging.DEBUG)
        debugged = LineFormatter(form="text").format(failed())
    finally:
        LOG.setLevel(before)

    assert told.endswith("failed kind=KeyError")
    assert len(told.splitlines()) == 1
    assert "Traceback" in debugged


def test_the_start_of_a_server_beyond_loopback_names_the_hosts_it_answers_to() -> None:
    place = ServerAddress(pid=7, version=__version__, http="http://10.0.3.7:8765")

    silent, named = ready_text(place, "s.db", ()), ready_text(place, "s.db", ("memory.example",))

    assert "only health probes are answered" in silent
    assert "--allow-host NAME" in silent
    assert "memory.example" in named


@pytest.mark.parametrize("words", [("serve", "--no-http"), ("daemon", "start")])
def test_a_store_that_was_named_and_is_not_there_is_not_served(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = run("--db", str(tmp_path / "nothere.db"), *words, env=surroundings(tmp_path))

    assert (done.returncode, "there is no store" in done.stderr) == (2, True)
    assert not (tmp_path / "nothere.db").exists()


def test_a_hook_answers_by_words_where_no_server_runs_and_starts_one_for_the_next(tmp_path: Path) -> None:
    env = surroundings(tmp_path)
    with recollect.open(env["RECOLLECT_DB"], model="none") as db:
        db.in_project(tmp_path.name).add("We deploy on Fridays, never before noon", type="preference")
    event = json.dumps({"hook_event_name": "UserPromptSubmit", "prompt": "when do we deploy?", "cwd": str(tmp_path)})

    first = run("hook", "--start-server", env=env, stdin=event)
    deadline = time.monotonic() + 60
    while status(env["RECOLLECT_DB"]) is None and time.monotonic() < deadline:
        time.sleep(0.05)
    try:
        served = run("hook", "--start-server", env=env, stdin=event)
    finally:
        stopped = run("daemon", "stop", env=env)

    assert "Fridays" in first.stdout
    assert served.stdout == first.stdout or "Fridays" in served.stdout
    assert stopped.returncode == 0
