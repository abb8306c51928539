"""Responses: an answer as JSON, or a stream of lines or events."""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Generator, Iterable
from contextlib import suppress
from itertools import islice
from typing import Any, Final

import anyio
import anyio.from_thread
import anyio.to_thread
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from recollect.replies import Reply
from recollect.serialize import serialize

EVENTS: Final = "text/event-stream"
RECORDS_PER_PART: Final = 50
SEND_TIMEOUT_SECONDS: Final = 60.0
"""How long a client may take to read one part of a stream."""
MAX_EXPORTS: Final = 4
"""How many exports run at the same time."""


def content(value: Any) -> bytes:
    """Return *value* as JSON."""
    return json.dumps(serialize(value), ensure_ascii=False).encode("utf-8", "backslashreplace")


def event(name: str, value: Any) -> bytes:
    """Return a server-sent event with *value* as JSON."""
    return b"event: " + name.encode() + b"\ndata: " + content(value) + b"\n\n"


def with_etag(value: Any) -> Response:
    """Return the response for *value* with an ETag of its content, which leaves out what changes with every moment.

    Of a reply these are its timings, and the scores, which fade with the age of a memory.
    """
    body = content(value)
    steady = content(_steady(value)) if isinstance(value, Reply) else body
    tag = f'W/"{hashlib.blake2b(steady, digest_size=12).hexdigest()}"'
    return Response(body, media_type="application/json", headers={"ETag": tag})


def _steady(reply: Reply) -> tuple[Any, ...]:
    hits = [(hit.id, hit.memory.updated_at, hit.snippet, hit.conflicts) for hit in reply.hits]
    said = (reply.query, reply.outcome, reply.reason, reply.degraded, reply.hidden, reply.facets, reply.suggestions)
    return (*said, hits)


class Streamed(Response):
    """A streaming response that closes the connection of a client which does not read in time.

    Starlette's own one would also read the request, which an import still needs while it responds.
    """

    def __init__(self, parts: AsyncIterator[bytes], *, media_type: str) -> None:
        super().__init__(media_type=media_type)
        del self.headers["content-length"]
        self._parts = parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Send each part as it comes."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async for part in self._parts:
            async with asyncio.timeout(SEND_TIMEOUT_SECONDS):
                await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class Lines:
    """Streams of many records, each read from the store in a thread of its own, no faster than the client reads."""

    def __init__(self) -> None:
        self._limiter: anyio.CapacityLimiter | None = None

    async def read(self, records: Iterable[Any]) -> AsyncIterator[bytes]:
        """Yield *records* as JSON Lines, 50 at a time."""
        self._limiter = self._limiter or anyio.CapacityLimiter(MAX_EXPORTS)
        put, take = anyio.create_memory_object_stream[bytes](1)

        def work() -> None:
            rest = iter(records)
            try:
                while some := list(islice(rest, RECORDS_PER_PART)):
                    anyio.from_thread.run(put.send, b"".join(content(each) + b"\n" for each in some))
            finally:  # releases what it holds of the store in the thread that took it
                if isinstance(rest, Generator):
                    rest.close()

        async def reading() -> None:
            with put, suppress(anyio.BrokenResourceError):  # the client is gone
                await anyio.to_thread.run_sync(work, limiter=self._limiter)

        task = asyncio.create_task(reading())
        try:
            async for part in take:
                yield part
        finally:  # the thread ends when it sends its next part
            take.close()
            await asyncio.wait([task])
        task.result()
