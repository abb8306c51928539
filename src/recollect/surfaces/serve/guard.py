"""What every request passes: the right host and origin, a token where one is needed, not too many, not too large."""

from collections.abc import Awaitable, Callable, Mapping
from ipaddress import ip_address
from threading import Lock
from time import monotonic
from typing import Any, Final

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.errors import RecollectError
from recollect.surfaces.serve.dispatcher import OWNER, Caller
from recollect.surfaces.serve.page import PAGES
from recollect.surfaces.serve.problems import HttpError, problem
from recollect.values import dataclass, field

OPEN: Final = frozenset({"/healthz", "/readyz", *PAGES})
"""What anybody may ask."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
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


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float


@dataclass(slots=True, kw_only=True)
class RateLimit:
    """So many requests a second for each caller, with room for a burst of four seconds."""

    per_second: float
    clock: Callable[[], float] = monotonic
    _buckets: dict[str, _Bucket] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def admits(self, who: str) -> bool:
        """Tell whether *who* may ask once more now."""
        now, most = self.clock(), max(1.0, 4 * self.per_second)
        with self._lock:
            if len(self._buckets) > 10_000:
                self._buckets.clear()
            bucket = self._buckets.setdefault(who, _Bucket(most, now))
            bucket.left = min(most, bucket.left + (now - bucket.at) * self.per_second)
            bucket.at = now
            if bucket.left < 1:
                return False
            bucket.left -= 1
            return True


class Guard:
    """An ASGI application in front of another: what may not pass is answered here."""

    def __init__(self, app: ASGIApp, *, rules: Rules, verify: Callable[[str], Awaitable[Caller]]) -> None:
        self._app, self._rules, self._verify = app, rules, verify
        self._under_way = 0
        self._limit = None if rules.per_second is None else RateLimit(per_second=rules.per_second)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or let pass with the caller in the scope."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headed = _with_headers(send, ())
        try:
            headers = _headers(scope)
            if (origin := headers.get("origin")) in self._rules.origins:
                headed = _with_headers(send, _shared_with(origin))
                if scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
                    self._check_host(headers)
                    await Response(status_code=204)(scope, receive, headed)
                    return
            caller = await self._admit(scope["path"], headers)
        except RecollectError as error:
            await problem(error)(scope, receive, headed)
            return
        state = scope.setdefault("state", {})
        state["caller"], state["headers"] = caller, headers
        bounded = receive if scope["path"] in STREAMED else _bounded(receive)
        self._under_way += 1
        try:
            await self._app(scope, bounded, headed)
        finally:
            self._under_way -= 1

    @property
    def under_way(self) -> int:
        """How many requests are being answered."""
        return self._under_way

    async def _admit(self, path: str, headers: Mapping[str, str]) -> Caller:
        self._check_host(headers)
        self._check_origin(headers)
        length = headers.get("content-length", "0")
        if path not in STREAMED and length.isdigit() and int(length) > LARGEST:
            raise too_large()
        if path in OPEN:
            return OWNER
        if self._under_way >= self._rules.at_once:
            raise HttpError("busy", "too many requests are under way", hint="wait a moment")
        caller = await self._caller(headers)
        if self._limit is not None and not self._limit.admits(caller.name):
            raise HttpError("too_many", "too many requests", hint="wait a moment")
        return caller

    def _check_host(self, headers: Mapping[str, str]) -> None:
        if _host(headers.get("host", "")) not in self._rules.hosts:
            raise HttpError("wrong_host", "this server is not called so", hint="see: recollect serve --allow-host")

    def _check_origin(self, headers: Mapping[str, str]) -> None:
        """Refuse what a page of another site sends, whatever the browser lets through."""
        origin = headers.get("origin")
        if origin is not None and origin not in self._rules.origins:
            scheme, _, host = origin.partition("://")
            if scheme not in ("http", "https") or host != headers.get("host"):
                raise _foreign()
        if origin is None and headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            raise _foreign()

    async def _caller(self, headers: Mapping[str, str]) -> Caller:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme:
            if scheme.lower() != "bearer":
                raise HttpError("unauthorized", "only bearer tokens are known", hint="Authorization: Bearer TOKEN")
            return await self._verify(token.strip())
        if self._rules.needs_token:
            raise HttpError("unauthorized", "a token is needed here", hint="make one: recollect token create")
        return OWNER


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
    for raw, value in scope["headers"]:
        name = raw.decode("latin-1").lower()
        if name in found and name in ("host", "authorization", "content-length", "origin", "content-type"):
            raise HttpError("bad_input", f"the header {name} comes twice", hint="send it once")
        found[name] = value.decode("latin-1")
    if "content-length" in found and "transfer-encoding" in found:
        raise HttpError("bad_input", "content-length and transfer-encoding contradict each other", hint="send one")
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


def _with_headers(send: Send, more: tuple[tuple[bytes, bytes], ...]) -> Send:
    async def headed(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *HEADERS, *more]
        await send(message)

    return headed


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
