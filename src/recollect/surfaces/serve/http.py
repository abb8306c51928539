"""The operations over HTTP: one route for each, as JSON, with problem+json for what goes wrong."""

import asyncio
import hashlib
import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Final

import anyio.to_thread
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

import recollect
from recollect.errors import InputError, RecollectError
from recollect.replies import Reply
from recollect.surfaces.serialise import serialise
from recollect.surfaces.serve.cache import ResultCache
from recollect.surfaces.serve.doors import access_of, parameters_of
from recollect.surfaces.serve.guard import LARGEST, Guard, Rules
from recollect.surfaces.serve.idempotency import Idempotency
from recollect.surfaces.serve.importing import import_lines
from recollect.surfaces.serve.mcp_server import build_server
from recollect.surfaces.serve.openapi import BASE, describe
from recollect.surfaces.serve.problems import HttpError, problem
from recollect.surfaces.serve.service import OWNER, PROJECT, Caller
from recollect.surfaces.serve.warm_store import WarmStore
from recollect.surfaces.table import Answer, Operation, Parameter

JSON: Final = "application/json"
SEARCHES: Final = frozenset({"search", "decisions", "changes", "how-it-works"})
DEADLINE: Final = 30.0
"""After how many seconds a search is given up, unless the request says otherwise."""
BODY_SECONDS: Final = 30.0
"""How long the body of a request may take to come in."""
_LOG: Final = logging.getLogger("recollect.serve")


@dataclass(slots=True, kw_only=True)
class Server:
    """A store behind HTTP: what answers, and what is kept between requests."""

    warm: WarmStore
    idempotency: Idempotency = field(default_factory=Idempotency)
    bodies: ResultCache[bytes] = field(default_factory=ResultCache)
    """Answers to searches as they were sent, by the request, the caller and the version of the store."""

    def routes(self) -> list[Route]:
        """Return every route."""
        made = [self._route(each) for each in self.warm.service.operations.values()]
        return [
            *made,
            Route(f"{BASE}/import", self._import, methods=["POST"]),
            Route(f"{BASE}/openapi.json", self._openapi),
            Route("/healthz", lambda _: JSONResponse({"status": "ok"})),
            Route("/readyz", self._ready),
            Route("/metrics", self._metrics),
        ]

    def _route(self, operation: Operation) -> Route:
        async def answer(request: Request) -> Response:
            return await self._answer(operation, request)

        methods = ["POST"] if access_of(operation) == "write" else ["GET", "POST"]
        return Route(f"{BASE}/{operation.name}", answer, methods=methods, name=operation.name)

    # --- one request ------------------------------------------------------------------------

    async def _answer(self, operation: Operation, request: Request) -> Response:
        started, outcome = perf_counter(), None
        try:
            response, outcome = await self._respond(operation, request)
        except RecollectError as error:
            response = problem(error)
        seconds = perf_counter() - started
        self.warm.metrics.count(operation.name, status=response.status_code, seconds=seconds, outcome=outcome)
        _LOG.info(
            "request operation=%s status=%d ms=%.1f caller=%s",
            operation.name,
            response.status_code,
            seconds * 1000,
            request.state.caller.name,
        )
        return response

    async def _respond(self, operation: Operation, request: Request) -> tuple[Response, str | None]:
        caller: Caller = request.state.caller
        body = b"" if request.method == "GET" else await read_body(request)
        asked = request.scope["query_string"] if request.method == "GET" else body
        key = (operation.name, request.method, asked, caller, self.warm.version())
        tag = _tag(key)
        if access_of(operation) == "read" and tag in request.headers.get("if-none-match", "").split(", "):
            return Response(status_code=304, headers={"ETag": tag}), None
        kept = self.bodies.get(key) if operation.name in SEARCHES else None
        if kept is not None:
            return Response(kept, media_type=JSON, headers={"ETag": tag}), None
        values = from_query(operation, request) if request.method == "GET" else from_json(body, request)
        repeated = request.headers.get("idempotency-key") if access_of(operation) == "write" else None
        if repeated is not None:
            return await self._once(operation, values, caller, repeated, body), None
        response, outcome = await self._do(operation, values, caller)
        if access_of(operation) == "read":
            response.headers["ETag"] = tag
        if outcome is not None and not values.get("session"):
            self.bodies.put(key, bytes(response.body))
        return response, outcome

    async def _once(
        self, operation: Operation, values: Mapping[str, Any], caller: Caller, key: str, body: bytes
    ) -> Response:
        """Do a write that may be sent again under the same key."""
        known = f"{caller.name}/{operation.name}"
        before = self.idempotency.begin(known, key, body)
        if before is not None:
            return before
        response: Response | None = None
        try:
            response, _ = await self._do(operation, values, caller)
        except RecollectError as error:
            response = problem(error)
        finally:
            self.idempotency.end(known, key, response)
        return response

    async def _do(self, operation: Operation, values: Mapping[str, Any], caller: Caller) -> tuple[Response, str | None]:
        if operation.name in SEARCHES and values.get("timeout") is None:
            values = {**values, "timeout": DEADLINE}
        answer = await self.in_thread(lambda: self.warm.service.answer(operation.name, values, caller))
        if answer.stream:
            return StreamingResponse(_lines(answer), media_type="application/x-ndjson"), None
        content = await self.in_thread(lambda: _content(answer))
        return Response(content, media_type=JSON), _outcome(answer)

    async def in_thread(self, work: Callable[[], Any]) -> Any:
        """Do *work* in a thread, so that the others are not kept waiting."""
        return await anyio.to_thread.run_sync(work, limiter=self.warm.threads)

    # --- the others -------------------------------------------------------------------------

    async def _import(self, request: Request) -> Response:
        return await import_lines(self.warm.service, request, self.in_thread)

    async def _openapi(self, _: Request) -> Response:
        return JSONResponse(describe(self.warm.service.operations.values(), version=recollect.__version__))

    async def _ready(self, _: Request) -> Response:
        try:
            await self.in_thread(self.warm.version)
        except RecollectError as error:
            return problem(error)
        return JSONResponse({"status": "ready"})

    async def _metrics(self, _: Request) -> Response:
        return Response(self.warm.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def build_app(warm: WarmStore, rules: Rules) -> Guard:
    """Return the ASGI application that offers *warm* under *rules*, MCP among it."""
    mcp = build_server(warm.service, OWNER)
    # Hosts and origins are checked by the guard in front, by the same rules for every route.
    checks = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    tools = mcp.streamable_http_app(transport_security=checks, max_request_body_size=LARGEST)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with mcp.session_manager.run():
            yield

    handlers = {404: _unknown, 405: _wrong_method, RecollectError: _failed, Exception: _broken}
    routes = [*Server(warm=warm).routes(), *tools.routes]
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)
    return Guard(app, rules=rules, verify=warm.verify)


async def _unknown(_: Request, __: Exception) -> Response:
    return problem(HttpError("unknown_operation", "there is nothing here", hint=f"see: {BASE}/openapi.json"))


async def _wrong_method(request: Request, __: Exception) -> Response:
    return problem(HttpError("method", f"{request.method} is not for this", hint=f"see: {BASE}/openapi.json"))


async def _failed(_: Request, error: Exception) -> Response:
    return problem(error if isinstance(error, RecollectError) else HttpError("internal", "failed", status=500))


async def _broken(_: Request, error: Exception) -> Response:
    _LOG.error("failure kind=%s", type(error).__name__)
    told = HttpError(
        "internal", "something unforeseen happened", hint="nothing stored is lost; please report it", status=500
    )
    return problem(told)


# --- what comes in and goes out -------------------------------------------------------------


async def read_body(request: Request) -> bytes:
    """Return the body of *request*, if it comes in time."""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await request.body()
    except TimeoutError as error:
        raise HttpError("slow", "the body took too long", hint=f"send it within {BODY_SECONDS:g} seconds") from error
    except ClientDisconnect as error:
        raise HttpError("bad_input", "the body ended early", hint="send all of it") from error


def from_json(body: bytes, request: Request) -> dict[str, Any]:
    """Return the values in a JSON body."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != JSON:
        raise HttpError("not_json", f"the body must be JSON, not {media or 'untyped'}", hint=f"Content-Type: {JSON}")
    try:
        values = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InputError("the body is not JSON", hint="send one object") from error
    if not isinstance(values, dict):
        raise InputError("the body is no object", hint='such as {"query": "how do we ship"}')
    return values


def from_query(operation: Operation, request: Request) -> dict[str, Any]:
    """Return the values in a query string, as the parameters of *operation* are read."""
    kinds = {each.name: each for each in (*parameters_of(operation), PROJECT)}
    values: dict[str, Any] = {}
    for name in request.query_params:
        several = request.query_params.getlist(name)
        parameter = kinds.get(name)
        if parameter is not None and parameter.kind in ("texts", "paths", "ids"):
            values[name] = several
        elif len(several) > 1:
            raise InputError(f"{name} is given {len(several)} times", hint="give it once")
        else:
            values[name] = several[0] if parameter is None else _read(parameter, several[0])
    return values


def _read(parameter: Parameter, text: str) -> Any:
    flags = {"true": True, "1": True, "yes": True, "": True, "false": False, "0": False, "no": False}
    try:
        match parameter.kind:
            case "number":
                return int(text)
            case "share":
                return float(text)
            case "flag":
                return flags[text.lower()]
    except (ValueError, KeyError) as error:
        raise InputError(f"{parameter.name} cannot be {text[:60]!r}", hint=parameter.about) from error
    return text


def _content(answer: Answer) -> bytes:
    return json.dumps(serialise(answer.value), ensure_ascii=False).encode("utf-8", "backslashreplace")


async def _lines(answer: Answer) -> AsyncIterator[bytes]:
    for each in answer.value:
        yield f"{json.dumps(serialise(each), ensure_ascii=False)}\n".encode("utf-8", "backslashreplace")


def _outcome(answer: Answer) -> str | None:
    """Return the outcome of a search that ran as asked; None for anything else."""
    reply = answer.value
    return reply.outcome if isinstance(reply, Reply) and reply.degraded is None else None


def _tag(key: tuple[Any, ...]) -> str:
    """Return the ETag of an answer: it changes with the question, the caller and the version of the store."""
    return f'W/"{hashlib.blake2b(repr(key).encode(), digest_size=12).hexdigest()}"'
