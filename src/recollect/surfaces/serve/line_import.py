"""Import many memories in one request, one for each line, with a result for each as it is stored."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Any, Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from recollect.errors import InputError, RecollectError
from recollect.serialize import error_value, serialize
from recollect.surfaces.serve.dispatcher import Caller, Dispatcher
from recollect.surfaces.serve.incoming import media_type
from recollect.surfaces.serve.problems import HttpError
from recollect.surfaces.serve.responses import EVENTS, Streamed, content, event
from recollect.surfaces.serve.warm_store import WarmStore

LINES: Final = ("application/x-ndjson", "application/jsonl", "application/x-jsonlines")
LINES_PER_BATCH: Final = 50
PART_TIMEOUT_SECONDS: Final = 60.0
"""How long to wait for the next part of a body; the lines before it are stored."""
MAX_LINE_BYTES: Final = 1024 * 1024


async def import_lines(warm: WarmStore, request: Request) -> Response:
    """Return a response that streams the result of each line of *request*, as lines or as events."""
    if media_type(request.headers) not in LINES:
        raise HttpError("not_json", "the body must be JSON Lines", hint=f"Content-Type: {LINES[0]}")
    results = _results(warm, request)
    if EVENTS in request.headers.get("accept", ""):
        return Streamed(_as_events(results), media_type=EVENTS)
    return Streamed((content(each) + b"\n" async for each in results), media_type=LINES[0])


async def _results(warm: WarmStore, request: Request) -> AsyncIterator[dict[str, Any]]:
    caller: Caller = request.state.caller
    number = 0
    try:
        async for lines in _batches(request):
            for each in await warm.in_thread(partial(_add, warm.dispatcher, lines, number, caller)):
                yield each
            number += len(lines)
    except HttpError as error:  # the status is sent already
        yield {"line": number + 1, **error_value(error)}


async def _batches(request: Request) -> AsyncIterator[list[bytes]]:
    """Yield the lines of a body in batches as they arrive."""
    rest = b""
    async for part in _in_time(request.stream()):
        *lines, rest = (rest + part).split(b"\n")
        for start in range(0, len(lines), LINES_PER_BATCH):
            yield lines[start : start + LINES_PER_BATCH]
        if len(rest) > MAX_LINE_BYTES:
            break  # a line without an end is the last that is read
    if rest:
        yield [rest]


async def _in_time(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield *parts* until they end or the client disconnects; HttpError if the next one takes too long."""
    try:
        while True:
            async with asyncio.timeout(PART_TIMEOUT_SECONDS):
                part = await anext(parts)
            yield part
    except (StopAsyncIteration, ClientDisconnect):
        return
    except TimeoutError as error:
        hint = "the lines before this one are stored; send the rest again"
        raise HttpError("slow", "the body stopped before its end", hint=hint) from error


def _add(dispatcher: Dispatcher, lines: Sequence[bytes], first: int, caller: Caller) -> list[dict[str, Any]]:
    """Add one memory for each of *lines*; one that fails does not stop the others."""
    results = []
    for number, line in enumerate(lines, start=first + 1):
        if not line.strip():
            continue
        try:
            added = dispatcher.answer("add", _values(line), caller)
            results.append({"line": number, **serialize(added.value)})
        except RecollectError as error:
            results.append({"line": number, **error_value(error)})
    return results


def _values(line: bytes) -> dict[str, Any]:
    if len(line) > MAX_LINE_BYTES:
        raise InputError("the line is too long", hint=f"at most {MAX_LINE_BYTES // 1024} KB")
    example = 'such as {"text": "We ship on Fridays"}'
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError("the line is not JSON", hint=example) from error
    if not isinstance(values, dict):
        raise InputError("the line is not an object", hint=example)
    return values


async def _as_events(results: AsyncIterator[dict[str, Any]]) -> AsyncIterator[bytes]:
    counted = {"added": 0, "failed": 0}
    async for each in results:
        counted["failed" if "error" in each else "added"] += 1
        yield event("result", each)
    yield event("done", counted)
