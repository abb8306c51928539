"""What goes out: an answer as JSON, or line by line while it is read from the store."""

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
from recollect.surfaces.serialise import serialise

AT_ONCE: Final = 50
"""How many lines are read before the next part is sent."""
READING_SECONDS: Final = 60.0
"""How long a client may take to read one part."""
_EXPORTS: Final = 4
"""How many answers are streamed at the same time."""


def content(value: Any) -> bytes:
    """Return *value* as JSON."""
    return json.dumps(serialise(value), ensure_ascii=False).encode("utf-8", "backslashreplace")


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
    """A response that is written as its parts come; who does not read them in time is left."""

    def __init__(self, parts: AsyncIterator[bytes], *, media_type: str) -> None:
        super().__init__(media_type=media_type)
        del self.headers["content-length"]
        self._parts = parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Send each part as it comes."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async for part in self._parts:
            async with asyncio.timeout(READING_SECONDS):
                await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class Lines:
    """Answers of many records: read in a thread of their own, no faster than their reader takes them."""

    def __init__(self) -> None:
        self._limiter: anyio.CapacityLimiter | None = None

    async def read(self, records: Iterable[Any]) -> AsyncIterator[bytes]:
        """Yield *records* as JSON Lines, some at a time."""
        self._limiter = self._limiter or anyio.CapacityLimiter(_EXPORTS)
        put, take = anyio.create_memory_object_stream[bytes](1)

        def work() -> None:
            rest = iter(records)
            try:
                while some := list(islice(rest, AT_ONCE)):
                    anyio.from_thread.run(put.send, b"".join(content(each) + b"\n" for each in some))
            finally:  # what it holds of the store is let go here, in the thread that took it
                if isinstance(rest, Generator):
                    rest.close()

        async def reading() -> None:
            with put, suppress(anyio.BrokenResourceError):  # the reader is gone
                await anyio.to_thread.run_sync(work, limiter=self._limiter)

        task = asyncio.create_task(reading())
        try:
            async for part in take:
                yield part
        finally:  # the thread ends with its next part, as nobody takes it
            take.close()
            await asyncio.wait([task])
        task.result()
