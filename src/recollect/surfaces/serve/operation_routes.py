"""The HTTP routes of the operations: from a request to an operation, and from its answer to a response."""

import asyncio
import json
from collections.abc import Mapping
from functools import partial
from time import perf_counter
from typing import Any, Final
from urllib.parse import quote

from msgspec import msgpack
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from recollect.errors import RecollectError
from recollect.operations.answer import Answer, Operation
from recollect.replies import Reply
from recollect.surfaces.client import MSGPACK, NOTICE_HEADER
from recollect.surfaces.serve.dispatcher import Caller
from recollect.surfaces.serve.idempotency import IdempotencyKeys
from recollect.surfaces.serve.incoming import (
    JSON,
    MAX_BODY_BYTES,
    from_json,
    from_query,
    read_body,
    wait_for_disconnect,
)
from recollect.surfaces.serve.openapi import BASE
from recollect.surfaces.serve.problems import HttpError, broken, problem, wrong_method
from recollect.surfaces.serve.responses import Lines, Streamed, content, with_etag
from recollect.surfaces.serve.warm_store import WarmStore

MAX_LOCAL_BODY_BYTES: Final = 64 * 1024 * 1024
"""How long a request of a command may be; a longer one opens the store itself."""
SEARCH_TIMEOUT_SECONDS: Final = 30.0
"""When a search is given up, unless the request says otherwise."""


class OperationRoutes:
    """The operations of a store over HTTP."""

    def __init__(self, warm: WarmStore) -> None:
        self._warm, self._keys, self._lines = warm, IdempotencyKeys(), Lines()

    def routes(self) -> list[Route]:
        """Return one route for each operation."""
        operations = self._warm.dispatcher.operations.values()
        return [
            Route(f"{BASE}/{each.name}", partial(self._counted, each), methods=methods_of(each)) for each in operations
        ]

    async def _counted(self, operation: Operation, request: Request) -> Response:
        """Respond to *request*, and count it."""
        started, outcome = perf_counter(), None
        try:
            response, outcome = await self._respond(operation, request)
        except RecollectError as error:
            response = problem(error)
        except Exception as error:  # noqa: BLE001  (a bug of ours fails one request, and shows no details)
            response = broken(error)
        seconds = perf_counter() - started
        self._warm.metrics.count(operation.name, status=response.status_code, seconds=seconds, outcome=outcome)
        return response

    async def _respond(self, operation: Operation, request: Request) -> tuple[Response, str | None]:
        """Return the response, and the outcome of a search."""
        is_local = request.state.caller.is_local
        max_bytes = MAX_LOCAL_BODY_BYTES if is_local else MAX_BODY_BYTES
        body = await read_body(request.receive, max_bytes=max_bytes) if request.method == "POST" else b""
        if request.method == "POST":
            values = from_json(body, request.headers)
        else:
            values = from_query(operation, request.scope["query_string"])
        if is_local and request.headers.get("accept") == MSGPACK:
            return self._packed(await self._ask(operation, values, request)), None
        if not operation.rights.writes(values):
            return await self._read(operation, values, request)
        if request.method != "POST":  # a link or an image could cause it
            raise wrong_method("GET", ("POST",))
        key = request.headers.get("idempotency-key")
        if key is None or not operation.rights.always_writes:
            return await self._do(operation, values, request), None
        return await self._do_once(operation, values, request, key=key, body=body), None

    def _packed(self, answer: Answer[Any]) -> Response:
        """Return the reply with all members of its type."""
        headers = {NOTICE_HEADER: quote(answer.notice)} if answer.notice else {}
        return Response(msgpack.encode(answer.value, enc_hook=dict), media_type=MSGPACK, headers=headers)

    async def _read(
        self, operation: Operation, values: Mapping[str, Any], request: Request
    ) -> tuple[Response, str | None]:
        """Return a stream, or a reply with an ETag."""
        answer = await self._ask(operation, values, request)
        value = answer.value
        if answer.stream:
            return Streamed(self._lines.read(value), media_type="application/x-ndjson"), None
        response = await self._warm.in_thread(lambda: with_etag(value))
        tag = response.headers["etag"]
        if tag in request.headers.get("if-none-match", ""):
            response = Response(status_code=304, headers={"ETag": tag})
        return response, value.outcome if isinstance(value, Reply) else None

    async def _do_once(
        self, operation: Operation, values: Mapping[str, Any], request: Request, *, key: str, body: bytes
    ) -> Response:
        """Do a write that may be sent again with the same Idempotency-Key."""

        async def write() -> Response:
            try:
                return await self._do(operation, values, request)
            except RecollectError as error:
                return problem(error)

        caller: Caller = request.state.caller
        response = await self._keys.respond(f"{caller.name}/{operation.name}", key, body, write)
        if "idempotent-replay" in response.headers:
            project = caller.project or values.get("project")
            await self._warm.ask(lambda: self._refuse_erased(response, project))
        return response

    def _refuse_erased(self, answer: Response, project: str | None) -> None:
        """Refuse to replay an *answer* that names a memory which was erased since."""
        db = self._warm.db.in_project(project) if project else self._warm.db
        ids = _ids_in(json.loads(bytes(answer.body)))
        if set(ids) - db.store.load(ids, scope=db.scope).keys():
            raise HttpError("key_reused", "what this Idempotency-Key wrote was erased since", hint="use a new key")

    async def _do(self, operation: Operation, values: Mapping[str, Any], request: Request) -> Response:
        answer = await self._ask(operation, values, request)
        return Response(await self._warm.in_thread(lambda: content(answer.value)), media_type=JSON)

    async def _ask(self, operation: Operation, values: Mapping[str, Any], request: Request) -> Answer[Any]:
        """Run *operation* in a thread; one with a timeout stops then, or when the client disconnects."""
        name, dispatcher, caller = operation.name, self._warm.dispatcher, request.state.caller
        if "timeout" not in operation.request.__struct_fields__ or caller.is_local:
            return await self._warm.in_thread(lambda: dispatcher.answer(name, values, caller))
        gone = asyncio.create_task(wait_for_disconnect(request.receive))
        limited = {**values, "timeout": SEARCH_TIMEOUT_SECONDS} if values.get("timeout") is None else values
        try:
            return await self._warm.in_thread(lambda: dispatcher.answer(name, limited, caller, cancelled=gone.done))
        finally:
            gone.cancel()


def _ids_in(value: Any) -> list[int]:
    """Return the ids of memories in the answer to a write: its own, or those of its results."""
    several = [value] if "id" in value else [*value.get("results", ()), *value.get("memories", ())]
    return [each["id"] for each in several if isinstance(each, Mapping) and isinstance(each.get("id"), int)]


def methods_of(operation: Operation) -> tuple[str, ...]:
    """Return the HTTP methods of *operation*: one that always writes has no GET."""
    return ("POST",) if operation.rights.always_writes else ("GET", "HEAD", "POST")
