"""Many memories in one request: one for each line, each with a result of its own, told while it goes on."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from recollect.errors import InputError, RecollectError
from recollect.surfaces.serialise import error_value, serialise
from recollect.surfaces.serve.dispatcher import Caller, Dispatcher
from recollect.surfaces.serve.outgoing import Streamed
from recollect.surfaces.serve.problems import HttpError

LINES: Final = ("application/x-ndjson", "application/jsonl", "application/x-jsonlines")
EVENTS: Final = "text/event-stream"
BATCH: Final = 50
"""How many lines are written between two looks at what came in."""
PART_SECONDS: Final = 60.0
"""How long to wait for more of a body; the lines that came until then are stored."""
LONGEST: Final = 1024 * 1024
"""How many bytes a line may have."""

InThread = Callable[[Callable[[], Any]], Awaitable[Any]]


async def import_lines(dispatcher: Dispatcher, request: Request, in_thread: InThread) -> Response:
    """Return the response that tells, line by line, what became of each line of *request*."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media not in LINES:
        raise HttpError("not_json", "the body must be JSON Lines", hint=f"Content-Type: {LINES[0]}")
    events = EVENTS in request.headers.get("accept", "")
    told = _results(dispatcher, request, in_thread)
    written = _as_events(told) if events else _as_lines(told)
    return Streamed(written, media_type=EVENTS if events else LINES[0])


async def _results(dispatcher: Dispatcher, request: Request, in_thread: InThread) -> AsyncIterator[dict[str, Any]]:
    caller: Caller = request.state.caller
    number = 0
    try:
        async for lines in _batches(request):
            for each in await in_thread(partial(_add, dispatcher, lines, number, caller)):
                yield each
            number += len(lines)
    except HttpError as error:  # the status is long sent
        yield {"line": number + 1, **error_value(error)}


async def _batches(request: Request) -> AsyncIterator[list[bytes]]:
    """Yield the lines of a body as they come in, some at a time; HttpError where the next part takes too long."""
    rest = b""
    async for part in _in_time(request.stream()):
        *lines, rest = (rest + part).split(b"\n")
        for start in range(0, len(lines), BATCH):
            yield lines[start : start + BATCH]
        if len(rest) > LONGEST:
            yield [rest]
            return  # a line without an end is the last that is read
    if rest:
        yield [rest]


async def _in_time(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield *parts* until they end or their sender is gone; HttpError where the next one takes too long."""
    try:
        while True:
            async with asyncio.timeout(PART_SECONDS):
                part = await anext(parts)
            yield part
    except (StopAsyncIteration, ClientDisconnect):
        return
    except TimeoutError as error:
        hint = "the lines before this one are stored; send the rest again"
        raise HttpError("slow", "the body stopped before its end", hint=hint) from error


def _add(dispatcher: Dispatcher, lines: Sequence[bytes], first: int, caller: Caller) -> list[dict[str, Any]]:
    """Add one memory for each of *lines*; one that cannot be added stops no other."""
    results = []
    for number, line in enumerate(lines, start=first + 1):
        if not line.strip():
            continue
        try:
            added = dispatcher.answer("add", _values(line), caller)
            results.append({"line": number, **serialise(added.value)})
        except RecollectError as error:
            results.append({"line": number, **error_value(error)})
    return results


def _values(line: bytes) -> dict[str, Any]:
    if len(line) > LONGEST:
        raise InputError("the line is too long", hint=f"at most {LONGEST // 1024} KB")
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError("the line is not JSON", hint='such as {"text": "We ship on Fridays"}') from error
    if not isinstance(values, dict):
        raise InputError("the line is no object", hint='such as {"text": "We ship on Fridays"}')
    return values


async def _as_lines(results: AsyncIterator[dict[str, Any]]) -> AsyncIterator[bytes]:
    async for each in results:
        yield f"{json.dumps(each, ensure_ascii=False)}\n".encode("utf-8", "backslashreplace")


async def _as_events(results: AsyncIterator[dict[str, Any]]) -> AsyncIterator[bytes]:
    counted = {"added": 0, "failed": 0}
    async for each in results:
        counted["failed" if "error" in each else "added"] += 1
        yield _event("result", each)
    yield _event("done", counted)


def _event(name: str, value: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(value, ensure_ascii=False)}\n\n".encode("utf-8", "backslashreplace")
