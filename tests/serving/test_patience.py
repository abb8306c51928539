"""Nobody is waited for without end: not for a head, not for a body, not by a search that nobody waits for."""

import asyncio
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from served import JSON, Served, opened, serving

from recollect.errors import SearchCancelled, SearchTimeout
from recollect.profile import Profile
from recollect.replies import Reply, Request
from recollect.surfaces.serve import answering
from recollect.surfaces.serve.answering import DEADLINE
from recollect.surfaces.serve.answers import Search
from recollect.surfaces.serve.guard import Rules
from recollect.surfaces.serve.incoming import read_body
from recollect.surfaces.serve.outgoing import Lines
from recollect.surfaces.serve.patience import PatientProtocol
from recollect.surfaces.serve.problems import HttpError


def head(operation: str, *, length: int) -> bytes:
    """Return the head of a POST request."""
    told = f"POST /api/v1/{operation} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{told}Content-Length: {length}\r\n\r\n".encode()


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow:", b"GET"])
def test_a_head_that_does_not_end_is_not_waited_for(
    server: Served, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(PatientProtocol, "head_seconds", 0.3)

    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as raw:
        raw.sendall(sent)
        said = raw.recv(1000)

    assert said == b""


def test_a_second_head_that_does_not_end_is_not_waited_for_either(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PatientProtocol, "head_seconds", 0.5)

    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as raw:
        raw.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        first = raw.recv(10_000)
        raw.sendall(b"GET /healthz HTTP/1.1\r\nHost")
        rest = b"".join(iter(lambda: raw.recv(1000), b""))

    assert first.startswith(b"HTTP/1.1 200")
    assert b"HTTP/1.1" not in rest


def test_a_request_that_takes_longer_than_its_head_may_is_answered(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PatientProtocol, "head_seconds", 0.2)

    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as raw:
        raw.sendall(head("stats", length=2))
        time.sleep(0.6)
        raw.sendall(b"{}")
        said = raw.recv(10_000)

    assert said.startswith(b"HTTP/1.1 200")


def test_a_body_that_does_not_end_is_a_408(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "read_body", lambda receive: read_body(receive, 0.3))

    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as raw:
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

    def slow(request: Request, _: Profile, __: Search, ___: Callable[[], int]) -> Reply:
        asked.set()
        until = time.monotonic() + 20
        while request.cancelled and not request.cancelled() and time.monotonic() < until:
            time.sleep(0.01)
        told.set()
        raise SearchCancelled("given up")

    server.db.answers = slow
    raw = socket.create_connection(("127.0.0.1", server.port), timeout=20)
    raw.sendall(b"GET /api/v1/search?query=slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
    asked.wait(20)
    begun = time.monotonic()
    raw.close()
    told.wait(20)

    assert time.monotonic() - begun < 10


@pytest.mark.req("C-34")
def test_the_time_that_a_request_allows_is_the_search_s(server: Served) -> None:
    allowed: list[object] = []

    def noted(request: Request, _: Profile, __: Search, ___: Callable[[], int]) -> Reply:
        allowed.append(request.timeout)
        raise SearchTimeout("given up")

    server.db.answers = noted
    said = server.post("search", query="a", timeout=2.5)
    server.post("search", query="a")

    assert said.status == 504
    assert allowed == [2.5, DEADLINE]


def test_more_requests_at_once_than_allowed_are_told_to_wait(tmp_path: Path) -> None:
    with opened(tmp_path / "s.db") as db, serving(db, Rules(at_once=1)) as served:
        slow = http.client.HTTPConnection("127.0.0.1", served.port, timeout=20)
        slow.putrequest("POST", "/api/v1/add")
        slow.putheader("Content-Type", JSON["Content-Type"])
        slow.putheader("Content-Length", "20")
        slow.endheaders(b'{"text"')
        time.sleep(0.3)
        said, health = served.post("stats"), served.ask("GET", "/healthz")
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
    assert ended.wait(10)


def test_what_writes_is_no_get(server: Served) -> None:
    pruned = server.ask("GET", "/api/v1/log?report=prune")
    made = server.ask("GET", "/api/v1/lens?action=create&name=mine")
    added = server.ask("GET", "/api/v1/add?text=a")

    assert [(each.status, each.headers["allow"]) for each in (pruned, made, added)] == [(405, "POST")] * 3
    assert server.db.lenses() == ()
