"""The HTTP application: a route for each operation, and those for import, events, descriptions, health and MCP."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from recollect.errors import RecollectError
from recollect.operations.rights import ADDS, Rights
from recollect.surfaces.serve.dispatcher import OWNER, Caller
from recollect.surfaces.serve.events import live
from recollect.surfaces.serve.guard import Guard, Rules
from recollect.surfaces.serve.incoming import MAX_BODY_BYTES, media_type
from recollect.surfaces.serve.line_import import import_lines
from recollect.surfaces.serve.mcp_server import build_server
from recollect.surfaces.serve.openapi import BASE, describe
from recollect.surfaces.serve.operation_routes import OperationRoutes
from recollect.surfaces.serve.page import files
from recollect.surfaces.serve.problems import HttpError, broken, problem, wrong_method
from recollect.surfaces.serve.uploads import FILE, Uploads, import_upload, received
from recollect.surfaces.serve.warm_store import WarmStore
from recollect.version import __version__

METRICS: Final = Rights(trust="untrusted", touches="nothing", spans_projects=True)
"""Metrics count the requests of all projects."""


class OtherRoutes:
    """The routes that are not operations: imports, events, descriptions, the page, and health."""

    def __init__(self, warm: WarmStore) -> None:
        self.warm, self.uploads = warm, Uploads()

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route(f"{BASE}/import", self._import, methods=["POST"]),
            Route(f"{BASE}/events", self._events),
            Route(f"{BASE}/openapi.json", self._openapi),
            *(Route(path, answer) for path, answer in files().items()),
            Route("/healthz", _healthy),
            Route("/readyz", self._ready),
            Route("/metrics", self._metrics),
        ]

    async def _events(self, request: Request) -> Response:
        return await live(self.warm, request)

    async def _import(self, request: Request) -> Response:
        caller: Caller = request.state.caller
        dispatcher = self.warm.dispatcher
        dispatcher.permit("import", ADDS, {}, caller)  # before the body is read
        if media_type(request.headers) != FILE:
            return await import_lines(self.warm, request)
        with self.uploads.one(caller.name):
            name, project, body = await received(request)
            return JSONResponse(
                await self.warm.in_thread(lambda: import_upload(dispatcher, caller, name, project, body))
            )

    async def _openapi(self, _: Request) -> Response:
        return JSONResponse(describe(self.warm.dispatcher.operations.values(), version=__version__))

    async def _ready(self, _: Request) -> Response:
        try:
            await self.warm.in_thread(self.warm.db.store.version)
        except RecollectError as error:
            return problem(error)
        return JSONResponse({"status": "ready"})

    async def _metrics(self, request: Request) -> Response:
        self.warm.dispatcher.permit("metrics", METRICS, {}, request.state.caller)
        return Response(self.warm.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def build_app(warm: WarmStore, rules: Rules) -> Guard:
    """Return the ASGI application that serves *warm* over TCP under *rules*, MCP included."""
    guard = Guard(build_routes(warm), rules=rules, verify=warm.verify)
    warm.metrics.running.set_function(lambda: guard.running)
    return guard


def build_routes(warm: WarmStore, more: Sequence[Route] = ()) -> Starlette:
    """Return the application behind a guard: the operations, MCP, the other routes, and *more*."""
    mcp = build_server(warm.dispatcher, OWNER)
    # The guard checks hosts and origins, by the same rules for every route.
    checks = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    tools = mcp.streamable_http_app(transport_security=checks, max_request_body_size=MAX_BODY_BYTES)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with mcp.session_manager.run():
            yield

    handlers: Mapping[Any, Callable[[Request, Exception], Awaitable[Response]]] = {
        404: _not_found,
        405: _wrong_method,
        RecollectError: _failed,
        Exception: _failed,
    }
    routes = [*tools.routes, *OperationRoutes(warm).routes(), *OtherRoutes(warm).routes(), *more]
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)


async def _healthy(_: Request) -> Response:
    return JSONResponse({"status": "ok"})


async def _not_found(_: Request, __: Exception) -> Response:
    return problem(HttpError("unknown_operation", "there is nothing here", hint=f"see: {BASE}/openapi.json"))


async def _wrong_method(request: Request, error: Exception) -> Response:
    allowed = (getattr(error, "headers", None) or {}).get("Allow", "")
    return problem(wrong_method(request.method, tuple(sorted(allowed.split(", ")))))


async def _failed(_: Request, error: Exception) -> Response:
    return problem(error) if isinstance(error, RecollectError) else broken(error)
