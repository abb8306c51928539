"""One request for an operation over HTTP, from its bytes to its response."""

import asyncio
import json
from collections.abc import Callable, Mapping
from threading import Event
from time import perf_counter
from typing import Any, Final, TypeVar

import anyio.to_thread
from msgspec import Struct
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from recollect.errors import RecollectError
from recollect.replies import Reply
from recollect.surfaces.serve.dispatcher import Caller, Dispatcher
from recollect.surfaces.serve.idempotency import IdempotencyKeys
from recollect.surfaces.serve.incoming import JSON, from_json, from_query, read_body
from recollect.surfaces.serve.openapi import BASE
from recollect.surfaces.serve.outgoing import Lines, Streamed, content, with_etag
from recollect.surfaces.serve.paging import page_of
from recollect.surfaces.serve.problems import HttpError, broken, problem, wrong_method
from recollect.surfaces.serve.warm_store import WarmStore
from recollect.surfaces.table import Answer, Operation

T = TypeVar("T")
SEARCHES: Final = frozenset({"search", "decisions", "changes", "how-it-works"})
TAGGED: Final = SEARCHES | {"list", "show", "related", "timeline", "facts", "conflicts", "why"}
"""Operations whose answer is the same as long as nothing was written; the recall log counts as nothing."""
DEADLINE: Final = 30.0
"""After how many seconds a search is given up, unless the request says otherwise."""


class Asked(Struct, frozen=True, kw_only=True):
    """One request for an operation, its body read."""

    operation: Operation
    method: str
    headers: Mapping[str, str]
    caller: Caller
    query: bytes
    body: bytes
    receive: Receive

    def values(self) -> dict[str, Any]:
        """Return what it gives, by name."""
        if self.method == "POST":
            return from_json(self.body, self.headers)
        return from_query(self.operation, self.query)

    @property
    def project(self) -> str | None:
        """The project it is bound to, or names."""
        if self.caller.project is not None or b"project" not in self._given:
            return self.caller.project
        named = self.values().get("project")
        return named if isinstance(named, str) and named else None

    @property
    def is_tagged(self) -> bool:
        """Whether its answer has an ETag; one that names a session has none, as it is logged."""
        return self.operation.name in TAGGED and b"session" not in self._given

    @property
    def _given(self) -> bytes:
        return self.body if self.method == "POST" else self.query


class OperationDoor:
    """The operations of a store over HTTP, as an ASGI application; all else is answered by *rest*."""

    def __init__(self, warm: WarmStore, rest: ASGIApp) -> None:
        self._warm, self._rest = warm, rest
        self._keys, self._lines = IdempotencyKeys(), Lines()
        self._operations = {f"{BASE}/{name}": each for name, each in warm.dispatcher.operations.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        operation = self._operations.get(scope["path"]) if scope["type"] == "http" else None
        if operation is None:
            await self._rest(scope, receive, send)
            return
        started, outcome = perf_counter(), None
        try:
            response, outcome = await self._respond(operation, scope, receive)
        except RecollectError as error:
            response = problem(error)
        except Exception as error:  # noqa: BLE001  (a fault of ours ends one request, and tells nothing of it)
            response = broken(error)
        seconds = perf_counter() - started
        self._warm.metrics.count(operation.name, status=response.status_code, seconds=seconds, outcome=outcome)
        await response(scope, receive, send)

    async def _respond(self, operation: Operation, scope: Scope, receive: Receive) -> tuple[Response, str | None]:
        """Return the response, and the outcome of a search."""
        method = scope["method"]
        if method not in methods_of(operation):
            raise wrong_method(method, methods_of(operation))
        state = scope["state"]
        body = await read_body(receive) if method == "POST" else b""
        asked = Asked(
            operation=operation,
            method="POST" if method == "POST" else "GET",
            headers=state["headers"],
            caller=state["caller"],
            query=scope["query_string"],
            body=body,
            receive=receive,
        )
        if not asked.is_tagged:
            return await self._untagged(asked), None
        value = (await self._ask(asked, asked.values())).value
        response = await self.in_thread(lambda: with_etag(value))
        tag = response.headers["etag"]
        if tag in asked.headers.get("if-none-match", ""):
            response = Response(status_code=304, headers={"ETag": tag})
        return response, value.outcome if isinstance(value, Reply) else None

    async def _untagged(self, asked: Asked) -> Response:
        values = asked.values()
        if asked.method == "GET" and asked.operation.rights.writes(values):  # what a link or an image could set off
            raise wrong_method("GET", ("POST",))
        key = asked.headers.get("idempotency-key") if asked.operation.rights.always_writes else None
        return await (self._do(asked, values) if key is None else self._once(asked, values, key))

    async def _once(self, asked: Asked, values: Mapping[str, Any], key: str) -> Response:
        """Do a write that may be sent again with the same Idempotency-Key."""

        async def write() -> Response:
            try:
                return await self._do(asked, values)
            except RecollectError as error:
                return problem(error)

        writer = f"{asked.caller.name}/{asked.operation.name}"
        response = await self._keys.respond(writer, key, asked.body, write)
        if "idempotent-replay" in response.headers:
            await self._warm.ask(lambda: self._refuse_erased(response, asked.project))
        return response

    def _refuse_erased(self, answer: Response, project: str | None) -> None:
        """Refuse to replay an *answer* that names a memory which was erased since."""
        db = self._warm.db if project is None else self._warm.db.in_project(project)
        ids = _ids_in(json.loads(bytes(answer.body)))
        if set(ids) - db.store.load(ids, scope=db.scope).keys():
            raise HttpError("key_reused", "what this Idempotency-Key wrote was erased since", hint="use a new key")

    async def _do(self, asked: Asked, values: Mapping[str, Any]) -> Response:
        answer = await self._ask(asked, values)
        if answer.stream:
            return Streamed(self._lines.read(answer.value), media_type="application/x-ndjson")
        return Response(await self.in_thread(lambda: content(answer.value)), media_type=JSON)

    async def _ask(self, asked: Asked, values: Mapping[str, Any]) -> Answer:
        """Do what is asked in a thread; a search ends with its time, or when nobody waits for it any more."""
        name, dispatcher = asked.operation.name, self._warm.dispatcher
        if name not in SEARCHES:
            done: Answer = await self.in_thread(lambda: _answer(dispatcher, name, values, asked.caller))
            return done
        gone = Event()
        watcher = asyncio.create_task(_notice(asked.receive, gone))
        limited = {**values, "timeout": DEADLINE} if values.get("timeout") is None else values
        try:
            found: Answer = await self.in_thread(
                lambda: dispatcher.answer(name, limited, asked.caller, cancelled=gone.is_set)
            )
            return found
        finally:
            watcher.cancel()

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Do *work* in a thread, so that the others are not kept waiting."""
        return await anyio.to_thread.run_sync(work, limiter=self._warm.threads)


def _ids_in(value: Any) -> list[int]:
    """Return the ids of memories in the answer to a write: its own, or those of its results."""
    several = [value] if "id" in value else [*value.get("results", ()), *value.get("memories", ())]
    return [each["id"] for each in several if isinstance(each, Mapping) and isinstance(each.get("id"), int)]


def _answer(dispatcher: Dispatcher, name: str, values: Mapping[str, Any], caller: Caller) -> Answer:
    if name == "list":
        return page_of(dispatcher, values, caller)
    return dispatcher.answer(name, values, caller)


def methods_of(operation: Operation) -> tuple[str, ...]:
    """Return the methods for *operation*: one that writes takes no GET."""
    return ("POST",) if operation.rights.always_writes else ("GET", "HEAD", "POST")


async def _notice(receive: Receive, gone: Event) -> None:
    """Set *gone* once the client is."""
    while (await receive())["type"] != "http.disconnect":
        pass
    gone.set()
