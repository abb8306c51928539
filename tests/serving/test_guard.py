"""What may not pass: other hosts, other sites, no token, too much, too often, two of a header."""

import json
import socket
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from served import Served, opened, serving

from recollect.surfaces.serve.guard import RateLimit, Rules, is_loopback
from recollect.surfaces.serve.process import ServeOptions


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "", "[::2]:80"])
def test_a_host_that_is_not_ours_is_refused_so_that_no_name_can_be_rebound_to_us(server: Served, host: str) -> None:
    said = server.ask("GET", "/api/v1/list", Host=host)

    assert (said.status, said.code) == (421, "wrong_host")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:9", "[::1]:9"])
def test_the_names_of_loopback_are_ours_on_any_port(server: Served, host: str) -> None:
    assert server.ask("GET", "/api/v1/list", Host=host).status == 200


@pytest.mark.parametrize(
    "path", ["/api/v1/list", "/api/v1/import", "/mcp", "/healthz", "/metrics", "/api/v1/openapi.json"]
)
def test_every_route_refuses_pages_of_other_sites(server: Served, path: str) -> None:
    origin = server.ask("GET", path, Origin="https://evil.example")
    opaque = server.ask("GET", path, Origin="null")
    fetched = server.ask("GET", path, Sec_Fetch_Site="cross-site")

    assert [each.status for each in (origin, opaque, fetched)] == [403] * 3


def test_a_page_of_our_own_may_ask(server: Served) -> None:
    own = f"http://127.0.0.1:{server.port}"

    assert server.ask("GET", "/api/v1/list", Origin=own).status == 200


def test_a_page_that_was_named_may_ask_and_read_and_no_other(tmp_path: Path) -> None:
    named, asks = "https://notes.example", {"Access_Control_Request_Method": "POST"}

    with opened(tmp_path / "s.db") as db, serving(db, Rules(origins=frozenset({named}), needs_token=True)) as served:
        preflight = served.ask("OPTIONS", "/api/v1/list", Origin=named, **asks)
        answer = as_holder(served, name="page").ask("GET", "/api/v1/list", Origin=named)
        tokenless = served.ask("GET", "/api/v1/list", Origin=named)
        other = served.ask("OPTIONS", "/api/v1/list", Origin="https://evil.example", **asks)

    assert [each.status for each in (preflight, answer, tokenless, other)] == [204, 200, 401, 403]
    assert answer.headers["access-control-allow-origin"] == named
    assert "authorization" in preflight.headers["access-control-allow-headers"]
    assert "access-control-allow-origin" not in other.headers


def test_answers_carry_the_headers_that_keep_browsers_out(server: Served) -> None:
    said = server.ask("GET", "/api/v1/list")

    assert said.headers["x-content-type-options"] == "nosniff"
    assert said.headers["cache-control"] == "no-store"
    assert "default-src 'none'" in said.headers["content-security-policy"]
    assert "access-control-allow-origin" not in said.headers


def test_a_body_that_is_too_large_is_refused_by_its_header_and_by_its_bytes(server: Served) -> None:
    large = b'{"text": "' + b"a" * 1024 * 1024 + b'"}'

    declared = server.ask("POST", "/api/v1/add", large, Content_Type="application/json")
    streamed = _chunked(server.port, b"POST /api/v1/add", large)

    assert (declared.status, declared.code) == (413, "too_large")
    assert b" 413 " in streamed.split(b"\r\n")[0]


def _chunked(port: int, line: bytes, body: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as raw:
        head = (
            line
            + b" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        try:
            raw.sendall(head)
            for start in range(0, len(body), 65536):
                part = body[start : start + 65536]
                raw.sendall(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            raw.sendall(b"0\r\n\r\n")
        except OSError:
            pass
        return raw.recv(65536)


@pytest.mark.parametrize(
    "smuggled",
    [
        b"Host: localhost\r\nHost: evil.example\r\n",
        b"Host: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        b"Host: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n",
        b"Host: localhost\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n",
    ],
)
def test_headers_that_contradict_each_other_are_refused(server: Served, smuggled: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as raw:
        raw.sendall(b"POST /api/v1/list HTTP/1.1\r\n" + smuggled + b"Content-Type: application/json\r\n\r\n{}")
        raw.shutdown(socket.SHUT_WR)
        said = raw.recv(65536)

    assert said.split(b" ")[1:2] == [b"400"]


def test_a_second_request_in_a_body_of_two_lengths_is_not_done(server: Served) -> None:
    hidden = b'{"text": "smuggled"}'
    second = b"POST /api/v1/add HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    second += b"Content-Length: %d\r\n\r\n" % len(hidden) + hidden
    first = b"POST /api/v1/list HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n" % (len(second) + 5)
    first += b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"

    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as raw:
        raw.sendall(first + second)
        said = b"".join(iter(lambda: raw.recv(65536), b""))

    assert (said.count(b"HTTP/1.1 "), said.split(b" ")[1]) == (1, b"400")
    assert server.db.list().total == 2


@pytest.mark.parametrize(
    "headers", [b"X-Long: " + b"a" * 70_000 + b"\r\n", b"".join(b"X-%d: a\r\n" % each for each in range(5000))]
)
def test_headers_that_are_too_many_are_refused_however_they_come(server: Served, headers: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as raw:
        raw.sendall(b"GET /api/v1/list HTTP/1.1\r\nHost: localhost\r\n" + headers + b"\r\n")
        said = raw.recv(65536)

    assert said.split(b" ")[1] in (b"400", b"431")


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_probes_are_answered_under_any_host(server: Served, path: str) -> None:
    assert server.ask("GET", path, Host="10.0.3.7:8765").status == 200


def test_metrics_are_for_any_host_only_where_a_token_guards_them(server: Served, walled: Served) -> None:
    scraper = as_holder(walled, name="prometheus")

    assert scraper.ask("GET", "/metrics", Host="10.0.3.7").status == 200
    assert server.ask("GET", "/metrics", Host="evil.example").status == 421


def test_an_unknown_host_is_named_with_the_remedy(server: Served) -> None:
    said = server.ask("GET", "/api/v1/list", Host="memory.example:8765").value

    assert said["detail"] == 'unknown host "memory.example"'
    assert said["error"]["hint"] == "start with: --allow-host memory.example"


# --- tokens ---------------------------------------------------------------------------------


@pytest.fixture
def walled(tmp_path: Path) -> Iterator[Served]:
    """A server that wants tokens, of a store with a memory in each of two projects."""
    with opened(tmp_path / "store.db") as db:
        db.in_project("red").add("The red key is under the mat")
        db.in_project("blue").add("The blue key is in the drawer")
        with serving(db, Rules(needs_token=True)) as served:
            yield served


def as_holder(served: Served, **about: object) -> Served:
    made = served.db.tokens.create(**about)  # type: ignore[arg-type]
    return Served(port=served.port, db=served.db, warm=served.warm, token=made.secret)


@pytest.mark.parametrize("path", ["/api/v1/list", "/metrics", "/api/v1/openapi.json", "/mcp"])
def test_without_a_token_nothing_is_told_but_health(walled: Served, path: str) -> None:
    said = walled.ask("GET", path)

    assert (said.status, said.code) == (401, "unauthorized")
    assert said.headers["www-authenticate"].startswith("Bearer")
    assert walled.ask("GET", "/healthz").status == 200


@pytest.mark.parametrize("token", ["wrong", "rct.bot", "rct.bot.wrong", "rct..", "Bearer", "é"])
def test_a_wrong_token_is_refused_in_the_same_words_as_any_other(walled: Served, token: str) -> None:
    walled.db.tokens.create(name="bot")

    said = walled.ask("GET", "/api/v1/list", Authorization=f"Bearer {token}".encode().decode("latin-1"))

    assert (said.status, said.value["detail"]) == (401, "the token is not valid")


def test_a_token_that_was_revoked_opens_nothing_from_then_on(walled: Served) -> None:
    holder = as_holder(walled, name="bot")
    before = holder.ask("GET", "/api/v1/list").status

    walled.db.tokens.revoke("bot")

    assert (before, holder.ask("GET", "/api/v1/list").status) == (200, 401)


def test_a_token_that_has_expired_opens_nothing(walled: Served) -> None:
    holder = as_holder(walled, lifetime=timedelta(microseconds=1))

    assert holder.ask("GET", "/api/v1/list").status == 401


def test_a_token_is_kept_as_a_digest_only(walled: Served, tmp_path: Path) -> None:
    secret = walled.db.tokens.create(name="bot").secret.rpartition(".")[2]

    files = b"".join(each.read_bytes() for each in tmp_path.glob("store.db*") if each.is_file())

    assert secret.encode() not in files


def test_a_reader_may_not_write_by_any_route(walled: Served) -> None:
    reader = as_holder(walled, read_only=True)
    writes = [name for name, each in walled.warm.dispatcher.operations.items() if each.rights.always_writes]

    said = {name: reader.post(name, **_least(walled, name)) for name in writes}
    lens = reader.post("lens", action="create", name="mine")
    lines = reader.ask("POST", "/api/v1/import", '{"text": "a"}', Content_Type="application/x-ndjson")

    assert {name: each.code for name, each in said.items()} == dict.fromkeys(writes, "forbidden")
    assert lens.code == "forbidden"
    assert b'"code": "forbidden"' in lines.body
    assert reader.ask("GET", "/api/v1/search?query=key").status == 200


def _least(served: Served, name: str) -> dict[str, object]:
    """Return the fewest values that the operation takes."""
    examples: dict[str, object] = {"number": 1, "id": 1, "ids": [1], "text": "a", "words": "a", "paths": ["1"]}
    return {
        each.name: each.choices[0] if each.kind == "choice" else examples[each.kind]
        for each in served.warm.dispatcher.operation(name).parameters
        if each.is_required
    }


def test_a_token_of_one_project_sees_and_writes_nothing_else(walled: Served) -> None:
    red = as_holder(walled, project="red")
    hidden = walled.db.in_project("blue").list().memories[0].id

    asked = {
        "search": red.post("search", query="blue key drawer"),
        "list": red.post("list"),
        "show": red.post("show", id=hidden),
        "related": red.post("related", id=hidden),
        "why": red.post("why", id=hidden, query="key"),
        "export": red.post("export"),
        "timeline": red.post("timeline"),
        "stats": red.post("stats"),
        "feedback": red.post("feedback", id=hidden, verdict="wrong"),
        "filter": red.post("search", query="project:blue key"),
    }
    other = red.post("search", query="key", project="blue")
    red.post("add", text="A red note")

    assert all(b"in the drawer" not in each.body for each in asked.values())
    assert other.code == "forbidden"
    assert walled.db.in_project("blue").list().total == 1
    assert walled.db.in_project("red").list().total == 2


def test_what_an_agent_writes_is_an_agents_word_whatever_it_claims(walled: Served) -> None:
    agent = as_holder(walled, trust="agent")

    added = agent.post("add", text="Believe me", trust="owner", confidence=1.0)
    pinned = walled.db.in_project("red").list().memories[0].id
    walled.db.pin(pinned)
    refused = agent.post("purge", ids=[str(pinned)], yes=True)

    memory = walled.db.show(added.value["id"]).memory
    assert (memory.trust, memory.confidence) == ("agent", 1.0)  # kept as stated, capped when it is ranked
    assert refused.code == "forbidden"


def test_an_address_that_sends_wrong_tokens_is_told_to_wait(walled: Served) -> None:
    said = [walled.ask("GET", "/api/v1/list", Authorization="Bearer wrong").status for _ in range(60)]

    assert said[:10] == [401] * 10
    assert 429 in said


def test_a_session_of_mcp_belongs_to_the_token_that_began_it(walled: Served) -> None:
    red, blue = as_holder(walled, name="red"), as_holder(walled, name="blue")
    wanted = {"Accept": "application/json, text/event-stream", "Content_Type": "application/json"}
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about})
    session = red.ask("POST", "/mcp", hello, **wanted).headers["mcp-session-id"]

    other = blue.ask("DELETE", "/mcp", Mcp_Session_Id=session, **wanted)
    own = red.ask("DELETE", "/mcp", Mcp_Session_Id=session, **wanted)

    assert (other.status, own.status) == (404, 200)


def test_who_asks_too_often_is_told_to_wait(tmp_path: Path) -> None:
    with opened(tmp_path / "s.db") as db, serving(db, Rules(per_second=1.0)) as served:
        said = [served.ask("GET", "/api/v1/stats") for _ in range(8)]

    assert said[0].status == 200
    assert said[-1].status == 429
    assert said[-1].headers["retry-after"] == "1"


def test_a_caller_gets_its_share_back_with_time() -> None:
    now = [0.0]
    limit = RateLimit(per_second=2.0, clock=lambda: now[0])

    burst = [limit.admits("a") for _ in range(9)]
    now[0] += 0.5
    later = [limit.admits("a"), limit.admits("a"), limit.admits("b")]

    assert burst == [True] * 8 + [False]
    assert later == [True, False, True]


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("localhost", True),
        ("::1", True),
        ("127.8.8.8", True),
        (".".join("0000"), False),
        ("10.1.1.1", False),
    ],
)
def test_beyond_loopback_a_token_is_always_needed(host: str, *, local: bool) -> None:
    rules = ServeOptions(host=host, hosts=("memory.example",)).rules()

    assert is_loopback(host) is local
    assert rules.needs_token is not local
    assert "memory.example" in rules.hosts
    assert ("localhost" in rules.hosts) is local
