"""Nobody is waited for without end: not for a head, not for a body, not by a search that nobody waits for."""

import asyncio
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from served import JSON, Served, opened, serving

from recollect.errors import SearchCancelled, SearchTimeout
from recollect.replies import Reply, Request
from recollect.surfaces.serve import guard, header_timeout, line_import, operation_routes, uploads
from recollect.surfaces.serve.guard import Rules
from recollect.surfaces.serve.header_timeout import HeaderTimeoutProtocol, find_surplus
from recollect.surfaces.serve.incoming import read_body
from recollect.surfaces.serve.operation_routes import SEARCH_TIMEOUT_SECONDS
from recollect.surfaces.serve.problems import HttpError
from recollect.surfaces.serve.responses import Lines
from recollect.surfaces.serve.uploads import MAX_UPLOADS_PER_CALLER, Uploads


def head(operation: str, *, length: int) -> bytes:
    """Return the head of a POST request."""
    told = f"POST /api/v1/{operation} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{told}Content-Length: {length}\r\n\r\n".encode()


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow:", b"GET"])
def test_a_head_that_does_not_end_is_not_waited_for(
    server: Served, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(HeaderTimeoutProtocol, "header_seconds", 0.3)

    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as raw:
        raw.sendall(sent)
        said = raw.recv(1000)

    assert said == b""


def test_a_second_head_that_does_not_end_is_not_waited_for_either(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as raw:
        raw.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        first = raw.recv(10_000)
        monkeypatch.setattr(HeaderTimeoutProtocol, "header_seconds", 0.3)
        raw.sendall(b"GET /healthz HTTP/1.1\r\nHost")
        rest = b"".join(iter(lambda: raw.recv(1000), b""))

    assert first.startswith(b"HTTP/1.1 200")
    assert b"HTTP/1.1" not in rest


def test_a_request_that_takes_longer_than_its_head_may_is_answered(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[HeaderTimeoutProtocol] = []

    handle = HeaderTimeoutProtocol.handle_events

    def noted(connection: HeaderTimeoutProtocol) -> None:
        handle(connection)
        made.append(connection)

    monkeypatch.setattr(HeaderTimeoutProtocol, "handle_events", noted)
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as raw:
        raw.sendall(head("stats", length=2))
        wait_until(lambda: bool(made))
        made[0].loop.call_soon_threadsafe(made[0].close_if_idle)  # as when the time of the head is over
        raw.sendall(b"{}")
        said = raw.recv(10_000)

    assert said.startswith(b"HTTP/1.1 200")


def test_a_body_that_does_not_end_is_a_408(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operation_routes, "read_body", lambda receive, **most: read_body(receive, 0.3, **most))

    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as raw:
        raw.sendall(head("add", length=50) + b'{"text"')
        said = raw.recv(10_000)
        while b"}}" not in said:
            said += raw.recv(10_000)

    assert said.startswith(b"HTTP/1.1 408")
    assert b'"code": "slow"' in said


def test_a_body_that_ends_early_is_no_body() -> None:
    async def gone() -> dict[str, object]:
        return {"type": "http.disconnect"}

    with pytest.raises(HttpError, match="ended early"):
        asyncio.run(read_body(gone))


def test_a_search_ends_when_nobody_waits_for_it_any_more(server: Served) -> None:
    asked, told = threading.Event(), threading.Event()

    def slow(request: Request, *_: object) -> Reply:
        asked.set()
        until = time.monotonic() + 300
        while time.monotonic() < until:
            if request.cancelled and request.cancelled():
                told.set()
                break
            time.sleep(0.01)
        raise SearchCancelled("given up")

    server.db.answers = slow
    raw = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    raw.sendall(b"GET /api/v1/search?query=slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
    asked.wait(300)
    raw.close()

    assert told.wait(300)


@pytest.mark.req("C-34")
def test_the_time_that_a_request_allows_is_the_search_s(server: Served) -> None:
    allowed: list[object] = []

    def noted(request: Request, *_: object) -> Reply:
        allowed.append(request.timeout)
        raise SearchTimeout("given up")

    server.db.answers = noted
    said = server.post("search", query="a", timeout=2.5)
    server.post("search", query="a")

    assert said.status == 504
    assert allowed == [2.5, SEARCH_TIMEOUT_SECONDS]


def test_more_requests_at_once_than_allowed_are_told_to_wait(tmp_path: Path) -> None:
    with opened(tmp_path / "s.db") as db, serving(db, Rules(at_once=1)) as served:
        slow = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
        slow.putrequest("POST", "/api/v1/add")
        slow.putheader("Content-Type", JSON["Content-Type"])
        slow.putheader("Content-Length", "20")
        slow.endheaders(b'{"text"')
        said = next(reply for reply in iter(lambda: served.post("stats"), None) if reply.status != 200)
        health = served.ask("GET", "/healthz")
        slow.send(b': "late one"}')
        late = slow.getresponse()

    assert (said.status, said.code, said.headers["retry-after"]) == (503, "busy", "1")
    assert (health.status, late.status) == (200, 200)


def test_an_export_that_nobody_reads_to_its_end_ends_too() -> None:
    ended = threading.Event()

    def records() -> object:
        try:
            for number in range(10**9):
                yield {"record": number}
        finally:
            ended.set()

    async def read_some() -> bytes:
        lines = Lines().read(records())  # type: ignore[arg-type]
        first = await anext(lines)
        await lines.aclose()  # type: ignore[attr-defined]
        return first

    first = asyncio.run(read_some())

    assert json.loads(first.splitlines()[0]) == {"record": 0}
    assert ended.wait(300)


@pytest.mark.parametrize(
    "path", ["log?report=prune", "lens?action=create&name=mine", "add?text=a", "review?action=done&key=trust:1"]
)
def test_what_writes_is_no_get(server: Served, path: str) -> None:
    said = server.ask("GET", f"/api/v1/{path}")

    assert (said.status, said.headers["allow"]) == (405, "POST")
    assert server.db.lenses.list() == ()


# --- uploads --------------------------------------------------------------------------------


def upload_head(path: str, *, token: str = "", length: int = 1000, media: str = "application/octet-stream") -> bytes:
    """Return the head of a request with a body that does not come."""
    bearer = f"Authorization: Bearer {token}\r\n" if token else ""
    told = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media}\r\n{bearer}"
    return f"{told}Content-Length: {length}\r\n\r\n".encode()


def response_to(port: int, sent: bytes) -> bytes:
    """Return what the server says to *sent*, up to the end of its problem."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as raw:
        raw.sendall(sent)
        said = raw.recv(10_000)
        while said and b"}}" not in said:
            said += raw.recv(10_000)
        return said


def test_a_file_that_does_not_come_is_a_408(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "UPLOAD_TIMEOUT_SECONDS", 0.2)

    said = response_to(server.port, upload_head("/api/v1/import?name=a.txt") + b"some of it")

    assert said.startswith(b"HTTP/1.1 408")


def test_a_message_of_mcp_that_does_not_come_is_a_408(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "read_body", lambda receive: read_body(receive, 0.2))

    said = response_to(server.port, upload_head("/mcp", media="application/json") + b'{"jsonrpc"')

    assert said.startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize("media", ["application/octet-stream", "application/x-ndjson"])
def test_who_may_only_read_is_refused_before_the_body_comes(server: Served, media: str) -> None:
    reader = server.db.tokens.create(name="reader", read_only=True).secret

    said = response_to(server.port, upload_head("/api/v1/import?name=a.txt", token=reader, media=media))

    assert said.startswith(b"HTTP/1.1 403")


def test_who_goes_away_during_an_upload_leaves_no_traceback(
    server: Served, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    for path, media in (("/api/v1/import?name=a.txt", "application/octet-stream"), ("/mcp", "application/json")):
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as raw:
            raw.sendall(upload_head(path, media=media) + b"{")

    wait_until(lambda: server.ask("GET", "/metrics").body.count(b"recollect_requests_in_flight 1.0") == 1)

    assert [each for each in caplog.records if each.exc_info] == []
    assert "Traceback" not in capfd.readouterr().err


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 300
    while not holds():
        assert time.monotonic() < until, "it never came"
        time.sleep(0.02)


def test_one_caller_cannot_take_the_place_of_all_others(tmp_path: Path) -> None:
    with opened(tmp_path / "s.db") as db, serving(db, Rules(at_once=8)) as served:
        bot = db.tokens.create(name="bot").secret
        silent = [socket.create_connection(("127.0.0.1", served.port), timeout=60) for _ in range(2)]
        for each in silent:
            each.sendall(upload_head("/api/v1/add", token=bot, media="application/json"))
        in_flight = b"recollect_requests_in_flight 3.0"  # with the one that asks
        wait_until(lambda: in_flight in served.ask("GET", "/metrics").body)
        refused = served.ask("GET", "/api/v1/stats", Authorization=f"Bearer {bot}")
        owner = served.ask("GET", "/api/v1/stats")
        for each in silent:
            each.close()

    assert (refused.status, refused.code) == (503, "busy")
    assert owner.status == 200


def test_few_files_are_received_at_once() -> None:
    uploads = Uploads()

    with ExitStack() as held:
        for _ in range(MAX_UPLOADS_PER_CALLER):
            held.enter_context(uploads.one("bot"))
        with pytest.raises(HttpError, match="too many files"), uploads.one("bot"):
            pass
        with uploads.one("owner"):
            pass

    with uploads.one("bot"):
        pass


def test_lines_that_stop_before_their_end_are_stored_and_the_stop_is_an_error(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_import, "PART_TIMEOUT_SECONDS", 0.3)
    lines = b'{"text": "The first line"}\n{"text": "The sec'

    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as raw:
        raw.sendall(upload_head("/api/v1/import", media="application/x-ndjson") + lines)
        said = b""
        while b'"slow"' not in said and (part := raw.recv(10_000)):
            said += part

    assert b'"line": 2, "error": {"code": "slow"' in said
    assert server.db.search("first line").hits


# --- idle connections -----------------------------------------------------------------------


def test_idle_connections_of_one_address_push_out_only_each_other(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(header_timeout, "MAX_IDLE_PER_ADDRESS", 3)
    idle = [socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in range(4)]

    first = idle[0].recv(1)  # ends when the server closes it
    answered = server.ask("GET", "/api/v1/stats")
    for each in idle:
        each.close()

    assert first == b""
    assert answered.status == 200


def test_of_too_many_idle_connections_the_oldest_of_the_busiest_address_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Idle(HeaderTimeoutProtocol):
        def __init__(self, address: str, since: float) -> None:
            self.client, self.idle_since = (address, 1), since

    idle = [Idle("b", 1), Idle("a", 3), Idle("a", 2), Idle("c", 4)]

    enough = find_surplus(idle)
    monkeypatch.setattr(header_timeout, "MAX_IDLE_CONNECTIONS", 3)
    closed = find_surplus(idle)

    assert enough is None
    assert closed is idle[2]
