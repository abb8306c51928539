"""An MCP session over lines of JSON: standard input and output, or a socket of the local door."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from secrets import token_hex
from typing import Any, cast

import anyio
from mcp.server import MCPServer
from mcp.server.stdio import stdio_server

from recollect.surfaces.serve.dispatcher import Caller, Dispatcher
from recollect.surfaces.serve.mcp_server import build_server


async def serve_lines(
    dispatcher: Dispatcher, header: Mapping[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Hold one MCP session over a connection, until its other end closes."""
    server = agent_server(dispatcher, project=header.get("project"))
    stdin, stdout = cast("anyio.AsyncFile[str]", _Lines(reader)), cast("anyio.AsyncFile[str]", _Writer(writer))
    async with stdio_server(stdin, stdout) as (incoming, outgoing):
        running = server._lowlevel_server  # noqa: SLF001  (the SDK has no public way to other streams)
        await running.run(incoming, outgoing, running.create_initialization_options())


def agent_server(dispatcher: Dispatcher, *, project: str | None) -> MCPServer:
    """Return the MCP server for one session of an agent, bound to *project* where one is named."""
    caller = Caller(name="agent", project=project, trust="agent")
    return build_server(dispatcher, caller, session=f"mcp-{token_hex(4)}")


class _Lines:
    """The lines of a connection, as text."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    async def __aiter__(self) -> AsyncIterator[str]:
        while line := await self._reader.readline():
            yield line.decode("utf-8", "replace")


class _Writer:
    """What takes text for a connection."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def write(self, text: str) -> None:
        """Send *text*."""
        self._writer.write(text.encode())

    async def flush(self) -> None:
        """Wait until it is on its way."""
        await self._writer.drain()
