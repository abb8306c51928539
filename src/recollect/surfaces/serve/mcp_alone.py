"""The rest of an MCP session that began with a quick handshake: the store is opened, the tools answer."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping
from typing import cast

import anyio
from mcp.server.stdio import stdio_server

from recollect.recollection import open as open_recollection
from recollect.surfaces.serve.dispatcher import Dispatcher
from recollect.surfaces.serve.mcp_lines import agent_server


def run(
    db: str, *, project: str | None, choices: Mapping[str, str], first: str, rest: bytes, greeted: bool, wire: int
) -> None:
    """Hold the session whose *first* line was read and, where it was the handshake, *greeted* already.

    *choices* name the profile and the models that the store is opened by.
    """
    with open_recollection(db, background=True, **choices) as opened:  # type: ignore[arg-type]
        stdin = cast("anyio.AsyncFile[str]", _Input(first, rest))
        stdout = cast("anyio.AsyncFile[str]", _Output(wire, skipped=_id(first) if greeted else None))

        async def session() -> None:
            server = agent_server(Dispatcher(opened), project=project)
            async with stdio_server(stdin, stdout) as (incoming, outgoing):
                running = server._lowlevel_server  # noqa: SLF001  (the SDK has no public way to other streams)
                await running.run(incoming, outgoing, running.create_initialization_options())

        asyncio.run(session())


def _id(line: str) -> object:
    return json.loads(line).get("id")


class _Input:
    """The lines of standard input, those first that were read already."""

    def __init__(self, first: str, rest: bytes) -> None:
        self._first, self._rest = first, rest

    async def __aiter__(self) -> AsyncIterator[str]:
        yield self._first
        held = self._rest
        while True:
            *lines, held = held.split(b"\n")
            for line in lines:
                yield line.decode("utf-8", "replace")
            part = await anyio.to_thread.run_sync(os.read, 0, 65536, abandon_on_cancel=True)
            if not part:
                break
            held += part


class _Output:
    """What takes text for the wire, but for the one answer that was given already."""

    def __init__(self, wire: int, *, skipped: object) -> None:
        self._wire, self._skipped = wire, skipped

    async def write(self, text: str) -> None:
        """Write *text*, unless it is the answer to the handshake."""
        if self._skipped is not None and json.loads(text).get("id") == self._skipped:
            self._skipped = None
            return
        view = memoryview(text.encode())
        while view:
            view = view[await anyio.to_thread.run_sync(os.write, self._wire, view) :]

    async def flush(self) -> None:
        """Do nothing: every write is on its way."""
