"""Checks of every request before it is routed: host, origin, token, rate, number of requests, and size."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from hmac import compare_digest
from ipaddress import ip_address
from threading import Lock
from time import monotonic, perf_counter
from typing import Final
from urllib.parse import parse_qsl, unquote

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from msgspec import Struct, field
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.errors import AccessError, RecollectError
from recollect.render.terminal import visible_line
from recollect.surfaces.client import FOLDER_HEADER, PROJECT_HEADER, READS_HEADER, SESSION_HEADER, SETTINGS_HEADER
from recollect.surfaces.serve.dispatcher import OWNER, Caller
from recollect.surfaces.serve.incoming import MAX_BODY_BYTES, read_body, too_large
from recollect.surfaces.serve.logs import log_request
from recollect.surfaces.serve.page import PAGES
from recollect.surfaces.serve.problems import HttpError, broken, problem

PROBES: Final = frozenset({"/healthz", "/readyz"})
"""For anybody and any Host header: a probe sends the address of a container."""
OPEN: Final = PROBES | frozenset(PAGES)
"""Paths that need no token."""
METRICS: Final = "/metrics"
"""With tokens any Host header will do; without tokens it must be ours, so that no page can use DNS rebinding."""
MCP: Final = "/mcp"
"""The MCP library reads bodies without a timeout, so the guard reads them first."""
MAX_HEADER_BYTES: Final = 64 * 1024
MAX_HEADERS: Final = 200
FAILURES_PER_SECOND: Final = 5.0
"""Wrong tokens from one address, with a burst of four seconds."""
CLIENT_GONE: Final = 499
"""The logged status of a request whose client disconnected before the response."""
CLOSE: Final = {"Connection": "close"}
CALLER_SHARE: Final = 4
"""A caller with a token may have a quarter of all running requests."""
STREAMED: Final = frozenset({"/api/v1/import"})
"""Paths whose bodies may be of any size; they have limits of their own."""
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", POLICY.encode()),
)


class Rules(Struct, frozen=True, kw_only=True):
    """What the guard allows: Host names, origins of other pages, callers without a token, and how many requests."""

    hosts: frozenset[str] = frozenset({"localhost", "127.0.0.1", "[::1]"})
    origins: frozenset[str] = frozenset()
    needs_token: bool = False
    per_second: float | None = None
    """Requests a second for each caller; None for no limit."""
    at_once: int = 512
    """How many requests may run at the same time."""


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach *host*."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class _Bucket(Struct):
    left: float
    at: float


class RateLimit(Struct, kw_only=True):
    """A token bucket for each caller: *per_second* requests, with a burst of four seconds."""

    per_second: float
    clock: Callable[[], float] = monotonic
    _buckets: dict[str, _Bucket] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def admits(self, who: str, *, cost: float = 1.0) -> bool:
        """Return whether *who* may send one more request now, and take its *cost* from the bucket."""
        now, most = self.clock(), max(1.0, 4 * self.per_second)
        with self._lock:
            if len(self._buckets) > 10_000:
                self._buckets.clear()
            bucket = self._buckets.setdefault(who, _Bucket(most, now))
            bucket.left = min(most, bucket.left + (now - bucket.at) * self.per_second)
            bucket.at = now
            if bucket.left < 1:
                return False
            bucket.left -= cost
            return True


class OwnerSocket(Struct, frozen=True, kw_only=True):
    """The check of the socket, which only the owner of the store can open: every caller is the owner."""

    key: str
    """What a client must know where there are no socket files; blank elsewhere."""
    is_same: Callable[[Mapping[str, str]], bool]
    """Whether the server opened the store with these settings; a client with others must open it itself."""

    def caller(self, headers: Mapping[str, str]) -> Caller:
        """Return the caller of a request."""
        if self.key and not compare_digest(headers.get("authorization", "").encode(), f"Bearer {self.key}".encode()):
            raise HttpError("unauthorized", "wrong key", hint="read it from the file next to the store")
        if not self.is_same(dict(parse_qsl(headers.get(SETTINGS_HEADER, ""), keep_blank_values=True))):
            raise HttpError("other_settings", "the server opened this store with other settings", status=421)
        project = unquote(headers.get(PROJECT_HEADER, "")) or None
        folder = unquote(headers.get(FOLDER_HEADER, ""))
        return Caller(
            project=project,
            folder=folder,
            reads_all=READS_HEADER in headers,
            is_local=True,
            mcp_session=headers.get(SESSION_HEADER),
        )


class Guard:
    """ASGI middleware that rejects requests by its rules, and puts the caller into the scope of the others."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        rules: Rules,
        verify: Callable[[str], Awaitable[Caller]],
        socket: OwnerSocket | None = None,
    ) -> None:
        self._app, self._rules, self._verify, self._socket = app, rules, verify, socket
        self._running: Counter[str] = Counter()
        self._limit = None if rules.per_second is None else RateLimit(per_second=rules.per_second)
        self._failures = RateLimit(per_second=FAILURES_PER_SECOND)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reject the request, or pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sent, started = _Sent(send), perf_counter()
        caller = Caller(name="-")
        try:
            headers = _headers(scope)
            if (origin := headers.get("origin")) in self._rules.origins:
                sent.more = _shared_with(origin)
                if scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
                    self._check_host(scope["path"], headers)
                    await Response(status_code=204)(scope, receive, sent)
                    return
            caller = await self._admit(scope, headers)
            await self._pass_on(scope, receive, sent, caller)
        except ClientDisconnect:
            pass
        except Exception as error:  # noqa: BLE001  (a bug of ours fails one request, and shows no details)
            if not sent.begun:
                await (problem(error) if isinstance(error, RecollectError) else broken(error))(scope, receive, sent)
        finally:
            log_request(scope["path"], status=sent.status, seconds=perf_counter() - started, caller=caller.name)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send, caller: Caller) -> None:
        scope.setdefault("state", {})["caller"] = caller
        self._running[caller.name] += 1
        try:
            if scope["path"] == MCP:
                receive = _again(await read_body(receive), receive)
                scope["user"] = _session_owner(caller)
            await self._app(scope, receive, send)
        finally:
            self._running[caller.name] -= 1
            self._running += Counter()  # drops callers without running requests

    @property
    def running(self) -> int:
        """How many requests are running."""
        return self._running.total()

    async def _admit(self, scope: Scope, headers: Mapping[str, str]) -> Caller:
        if self._socket is not None:
            return self._socket.caller(headers)
        path = scope["path"]
        self._check_host(path, headers)
        self._check_origin(headers)
        length = headers.get("content-length", "0")
        if path not in STREAMED and length.isdigit() and int(length) > MAX_BODY_BYTES:
            raise too_large()
        if path in OPEN:
            return OWNER
        if self.running >= self._rules.at_once:
            raise _busy()
        caller = await self._caller(headers, address=(scope.get("client") or ("",))[0])
        if caller != OWNER and self._running[caller.name] >= max(1, self._rules.at_once // CALLER_SHARE):
            raise _busy()
        if self._limit is not None and not self._limit.admits(caller.name):
            raise _too_many("too many requests")
        return caller

    def _check_host(self, path: str, headers: Mapping[str, str]) -> None:
        if path in PROBES or (path == METRICS and self._rules.needs_token):
            return
        name = _host(headers.get("host", ""))
        if name not in self._rules.hosts:
            shown = visible_line(name[:100])
            raise HttpError("wrong_host", f'unknown host "{shown}"', hint=f"start with: --allow-host {shown}")

    def _check_origin(self, headers: Mapping[str, str]) -> None:
        """Reject requests from pages of other sites, whatever the browser lets through."""
        origin = headers.get("origin")
        if origin is not None and origin not in self._rules.origins:
            scheme, _, host = origin.partition("://")
            if scheme not in ("http", "https") or host != headers.get("host"):
                raise _foreign()
        if origin is None and headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            raise _foreign()

    async def _caller(self, headers: Mapping[str, str], *, address: str) -> Caller:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme:
            if scheme.lower() != "bearer":
                raise HttpError("unauthorized", "only bearer tokens are known", hint="Authorization: Bearer TOKEN")
            if not self._failures.admits(address, cost=0):
                raise _too_many("too many wrong tokens")
            try:
                return await self._verify(token.strip())
            except AccessError:
                self._failures.admits(address)
                raise
        if self._rules.needs_token:
            raise HttpError("unauthorized", "a token is needed here", hint="make one: recollect token create")
        return OWNER


def _busy() -> HttpError:
    return HttpError("busy", "too many requests are running", hint="wait a moment")


def _too_many(message: str) -> HttpError:
    return HttpError("too_many", message, hint="wait a moment")


def _session_owner(caller: Caller) -> AuthenticatedUser | None:
    """Return *caller* as the owner of its MCP sessions, so that no other token can use or end them."""
    if caller == OWNER:
        return None
    return AuthenticatedUser(AccessToken(token="", client_id=caller.name, scopes=[]))


def _foreign() -> HttpError:
    return HttpError(
        "forbidden", "requests from other sites are not allowed", hint="see: recollect serve --allow-origin"
    )


def _headers(scope: Scope) -> dict[str, str]:
    """Return the headers by name; HttpError if they are too large, come twice or contradict each other."""
    found: dict[str, str] = {}
    if len(scope["headers"]) > MAX_HEADERS or sum(len(raw) + len(value) for raw, value in scope["headers"]) > (
        MAX_HEADER_BYTES
    ):
        bounds = f"at most {MAX_HEADERS}, and {MAX_HEADER_BYTES // 1024} KB"
        raise HttpError("headers", "the headers are too large", hint=bounds, headers=CLOSE)
    for raw, value in scope["headers"]:
        name = raw.decode("latin-1").lower()
        if name in found and name in ("host", "authorization", "content-length", "origin", "content-type"):
            raise HttpError("bad_input", f"the header {name} comes twice", hint="send it once")
        found[name] = value.decode("latin-1")
    if "content-length" in found and "transfer-encoding" in found:  # request smuggling
        message = "content-length and transfer-encoding contradict each other"
        raise HttpError("bad_input", message, hint="send one", headers=CLOSE)
    return found


def _host(header: str) -> str:
    """Return the name in a Host header, without its port."""
    name, colon, port = header.rpartition(":")
    return (name if colon and port.isdigit() else header).lower()


def _shared_with(origin: str) -> tuple[tuple[bytes, bytes], ...]:
    """Return the CORS headers that let a page of *origin* read the response."""
    return (
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-allow-methods", b"GET, POST"),
        (b"access-control-allow-headers", b"authorization, content-type, if-none-match, idempotency-key"),
        (b"access-control-expose-headers", b"etag, idempotent-replay, retry-after"),
        (b"vary", b"origin"),
    )


class _Sent:
    """Sends a response with our security headers, and remembers its status and whether it has begun."""

    def __init__(self, send: Send) -> None:
        self._send, self.begun = send, False
        self.status = CLIENT_GONE
        self.more: tuple[tuple[bytes, bytes], ...] = ()

    async def __call__(self, message: Message) -> None:
        """Send one message."""
        if message["type"] == "http.response.start":
            self.begun, self.status = True, message["status"]
            message["headers"] = [*message.get("headers", ()), *HEADERS, *self.more]
        await self._send(message)


def _again(body: bytes, receive: Receive) -> Receive:
    """Return *receive* preceded by a message with the whole *body*."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Message:
        return waiting.pop() if waiting else await receive()

    return received
