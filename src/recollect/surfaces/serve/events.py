"""The live stream of a store: one server-sent event for each new entry of `activity`, whoever wrote it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from recollect.errors import InputError
from recollect.records import ALL_PROJECTS
from recollect.serialize import serialize
from recollect.surfaces.serve.dispatcher import Caller
from recollect.surfaces.serve.incoming import from_query, wait_for_disconnect
from recollect.surfaces.serve.responses import EVENTS, Streamed, event
from recollect.surfaces.serve.warm_store import WarmStore

POLL_SECONDS: Final = 0.5
HEARTBEAT_SECONDS: Final = 15.0
"""After how many quiet seconds a comment is sent, so that proxies keep the connection."""
MAX_STREAM_SECONDS: Final = 300.0
"""When a stream ends; the client connects again, and its token is checked again."""
MAX_ENTRIES_PER_POLL: Final = 50


async def live(warm: WarmStore, request: Request) -> Response:
    """Return the response that streams new entries from now on."""
    operation = warm.dispatcher.operation("activity")
    values = from_query(operation, request.scope["query_string"])
    if "limit" in values:
        raise InputError("a stream has no limit", hint="see: activity")
    caller: Caller = request.state.caller

    project = caller.project or values.get("project")
    store, known = (warm.db.in_project(project) if project else warm.db).store, list[Any]([None])

    def look() -> list[dict[str, Any]]:
        """Return the latest entries, or none if nothing was written or searched since the last poll."""
        now: Any = (store.version(), store.recalls(scope=ALL_PROJECTS, limit=1))
        if now == known[0]:
            return []
        known[0] = now
        answer = warm.dispatcher.answer("activity", {**values, "limit": MAX_ENTRIES_PER_POLL}, caller)
        entries: list[dict[str, Any]] = serialize(answer.value)["entries"]
        return entries

    seen = {entry["key"] for entry in await warm.in_thread(look)}
    return Streamed(_entries(warm, request, look, seen), media_type=EVENTS)


async def _entries(
    warm: WarmStore, request: Request, look: Callable[[], list[dict[str, Any]]], seen: set[str]
) -> AsyncIterator[bytes]:
    gone = asyncio.create_task(wait_for_disconnect(request.receive))
    try:
        yield b": open\n\n"
        loop = asyncio.get_running_loop()
        end, beat = loop.time() + MAX_STREAM_SECONDS, loop.time() + HEARTBEAT_SECONDS
        while loop.time() < end and not (gone.done() or warm.is_closing):
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(gone), POLL_SECONDS)
            fresh = [entry for entry in await warm.in_thread(look) if entry["key"] not in seen]
            for entry in reversed(fresh):
                seen.add(entry["key"])
                yield event("entry", entry)
            if fresh or loop.time() > beat:
                beat = loop.time() + HEARTBEAT_SECONDS
                yield b": still here\n\n"
    finally:
        gone.cancel()
