"""What every request passes: the right host and origin, a token where one is needed, not too many, not too large."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from ipaddress import ip_address
from threading import Lock
from time import monotonic, perf_counter
from typing import Any, Final

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from msgspec import Struct, field
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.errors import AccessError, RecollectError
from recollect.surfaces.serve.dispatcher import OWNER, Caller
from recollect.surfaces.serve.incoming import read_body
from recollect.surfaces.serve.logs import log_request
from recollect.surfaces.serve.page import PAGES
from recollect.surfaces.serve.problems import HttpError, broken, problem
from recollect.surfaces.terminal import visible_line

PROBES: Final = frozenset({"/healthz", "/readyz"})
"""What anybody may ask under any name: a probe sends the address of a container as its host."""
OPEN: Final = PROBES | frozenset(PAGES)
"""What anybody may ask."""
METRICS: Final = "/metrics"
"""For a scraper with a token under any name; without tokens only under ours, so that no page can rebind one."""
MCP: Final = "/mcp"
"""Its library reads bodies without a deadline, so they are read before it is asked."""
MAX_HEADER_BYTES: Final = 64 * 1024
MAX_HEADERS: Final = 200
FAILURES_PER_SECOND: Final = 5.0
"""How many wrong tokens a second an address may send, with a burst of four seconds."""
CLIENT_GONE: Final = 499
"""The status in the log of a request whose client did not wait for one."""
SHARE: Final = 4
"""A caller with a token has at most one part in so many of all requests that may be under way."""
LARGEST: Final = 1024 * 1024
"""How many bytes the body of a request may have; what is streamed has no end."""
STREAMED: Final = frozenset({"/api/v1/import"})
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
    """How a server is guarded: the names it answers to, which other pages may ask, whether tokens are needed."""

    hosts: frozenset[str] = frozenset({"localhost", "127.0.0.1", "[::1]"})
    origins: frozenset[str] = frozenset()
    needs_token: bool = False
    per_second: float | None = None
    """How many requests a second a caller may make; None for no limit."""
    at_once: int = 512
    """How many requests may be under way at the same time."""


def is_loopback(host: str) -> bool:
    """Tell whether *host* can be reached from this machine alone."""
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
    """So many requests a second for each caller, with room for a burst of four seconds."""

    per_second: float
    clock: Callable[[], float] = monotonic
    _buckets: dict[str, _Bucket] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def admits(self, who: str, *, cost: float = 1.0) -> bool:
        """Tell whether *who* may ask once more now, and take the *cost* of it."""
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


class Guard:
    """An ASGI application in front of another: what may not pass is answered here."""

    def __init__(self, app: ASGIApp, *, rules: Rules, verify: Callable[[str], Awaitable[Caller]]) -> None:
        self._app, self._rules, self._verify = app, rules, verify
        self._under_way: Counter[str] = Counter()
        self._limit = None if rules.per_second is None else RateLimit(per_second=rules.per_second)
        self._failures = RateLimit(per_second=FAILURES_PER_SECOND)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or let pass with the caller in the scope."""
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
            await self._pass_on(scope, receive, sent, caller, headers)
        except ClientDisconnect:
            pass  # nobody is left to be answered
        except Exception as error:  # noqa: BLE001  (a fault of ours ends one request, and shows nothing of it)
            if not sent.begun:
                await (problem(error) if isinstance(error, RecollectError) else broken(error))(scope, receive, sent)
        finally:
            log_request(scope["path"], status=sent.status, seconds=perf_counter() - started, caller=caller.name)

    async def _pass_on(
        self, scope: Scope, receive: Receive, send: Send, caller: Caller, headers: Mapping[str, str]
    ) -> None:
        state = scope.setdefault("state", {})
        state["caller"], state["headers"] = caller, headers
        bounded = receive if scope["path"] in STREAMED else _bounded(receive)
        self._under_way[caller.name] += 1
        try:
            if scope["path"] == MCP:
                bounded = _again(await read_body(bounded), bounded)
                scope["user"] = _session_owner(caller)
            await self._app(scope, bounded, send)
        finally:
            self._under_way[caller.name] -= 1
            self._under_way += Counter()  # forgets who has nothing under way

    @property
    def under_way(self) -> int:
        """How many requests are being answered."""
        return self._under_way.total()

    async def _admit(self, scope: Scope, headers: Mapping[str, str]) -> Caller:
        path = scope["path"]
        self._check_host(path, headers)
        self._check_origin(headers)
        length = headers.get("content-length", "0")
        if path not in STREAMED and length.isdigit() and int(length) > LARGEST:
            raise too_large()
        if path in OPEN:
            return OWNER
        if self.under_way >= self._rules.at_once:
            raise _busy()
        caller = await self._caller(headers, address=(scope.get("client") or ("",))[0])
        if caller != OWNER and self._under_way[caller.name] >= max(1, self._rules.at_once // SHARE):
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
        """Refuse what a page of another site sends, whatever the browser lets through."""
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
    return HttpError("busy", "too many requests are under way", hint="wait a moment")


def _too_many(message: str) -> HttpError:
    return HttpError("too_many", message, hint="wait a moment")


def _session_owner(caller: Caller) -> AuthenticatedUser | None:
    """Return *caller* as the MCP library knows the owner of a session, so that no other token can use or end it."""
    if caller == OWNER:
        return None
    return AuthenticatedUser(AccessToken(token="", client_id=caller.name, scopes=[]))


def _foreign() -> HttpError:
    return HttpError("forbidden", "pages of other sites may not ask here", hint="see: recollect serve --allow-origin")


def too_large() -> HttpError:
    """Return the error for a body that is too large."""
    return HttpError(
        "too_large", "the body is too large", hint=f"at most {LARGEST // 1024} KB; larger: POST /api/v1/import"
    )


def _headers(scope: Scope) -> dict[str, str]:
    """Return the headers by name; one that may come once and comes twice is no header to rely on."""
    found: dict[str, str] = {}
    if len(scope["headers"]) > MAX_HEADERS or sum(len(raw) + len(value) for raw, value in scope["headers"]) > (
        MAX_HEADER_BYTES
    ):
        bounds = f"at most {MAX_HEADERS}, and {MAX_HEADER_BYTES // 1024} KB"
        raise HttpError("headers", "the headers are too large", hint=bounds, close=True)
    for raw, value in scope["headers"]:
        name = raw.decode("latin-1").lower()
        if name in found and name in ("host", "authorization", "content-length", "origin", "content-type"):
            raise HttpError("bad_input", f"the header {name} comes twice", hint="send it once")
        found[name] = value.decode("latin-1")
    if "content-length" in found and "transfer-encoding" in found:  # where the body ends is then anybody's guess
        told = "content-length and transfer-encoding contradict each other"
        raise HttpError("bad_input", told, hint="send one", close=True)
    return found


def _host(header: str) -> str:
    """Return the name in a Host header, without its port."""
    name, colon, port = header.rpartition(":")
    return (name if colon and port.isdigit() else header).lower()


def _shared_with(origin: str) -> tuple[tuple[bytes, bytes], ...]:
    """Return the headers that let a page of *origin* read the answer."""
    return (
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-allow-methods", b"GET, POST"),
        (b"access-control-allow-headers", b"authorization, content-type, if-none-match, idempotency-key"),
        (b"access-control-expose-headers", b"etag, idempotent-replay, retry-after"),
        (b"vary", b"origin"),
    )


class _Sent:
    """Sends a response with the headers that each one has, and knows whether it has begun."""

    def __init__(self, send: Send) -> None:
        self._send, self.begun = send, False
        self.status = CLIENT_GONE
        self.more: tuple[tuple[bytes, bytes], ...] = ()

    async def __call__(self, message: Message) -> None:
        """Send one message of it."""
        if message["type"] == "http.response.start":
            self.begun, self.status = True, message["status"]
            message["headers"] = [*message.get("headers", ()), *HEADERS, *self.more]
        await self._send(message)


def _again(body: bytes, receive: Receive) -> Receive:
    """Return *receive* with the whole *body* before what else comes."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Message:
        return waiting.pop() if waiting else await receive()

    return received


def _bounded(receive: Receive) -> Receive:
    """Return *receive* so that no more than the largest body comes in, whatever its header says."""
    size = 0

    async def counted() -> Message:
        nonlocal size
        message: dict[str, Any] = dict(await receive())
        size += len(message.get("body", b""))
        if size > LARGEST:
            raise too_large()
        return message

    return counted
