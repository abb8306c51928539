"""The local door: programs of the same user on the same machine, through a socket file that only they may open.

A connection begins with one line of JSON that says what it wants: one answer, or an MCP session that lasts.
"""

import asyncio
import json
import os
import secrets
import socket
import sys
import tempfile
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any, Final, TypeVar

from recollect.files import write_private
from recollect.surfaces.serve.place import LONGEST_SOCKET, Place, part, place_file, read_place

HEADER_SECONDS: Final = 5.0
LARGEST: Final = 32 * 1024 * 1024
"""How many bytes the first line of a connection may have."""

T = TypeVar("T")
Handler = Callable[[Mapping[str, Any], asyncio.StreamReader, asyncio.StreamWriter], Awaitable[Mapping[str, Any] | None]]
"""Answers a connection: returns what to send, or has sent all itself."""


class LocalDoor:
    """A server on a socket file, or on a port of loopback where there are none."""

    def __init__(self, db: str, handlers: Mapping[str, Handler], *, version: str) -> None:
        self._db, self._handlers, self._version = db, handlers, version
        self._token = secrets.token_urlsafe(24)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._socket = ""

    async def open(self, *, pid: int, http: str = "") -> Place:
        """Begin to listen, and say where."""
        port = 0
        place_file(self._db).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if hasattr(socket, "AF_UNIX") and sys.platform != "win32":
            bound = _bind(_socket_path(place_file(self._db)))
            self._socket = bound.getsockname()
            self._server = await asyncio.start_unix_server(self._accept, sock=bound, limit=LARGEST)
        else:
            self._server = await asyncio.start_server(self._accept, host="127.0.0.1", port=0, limit=LARGEST)
            port = self._server.sockets[0].getsockname()[1]
        place = Place(pid=pid, version=self._version, socket=self._socket, port=port, token=self._token, http=http)
        write_private(place_file(self._db), place.written())
        return place

    async def close(self) -> None:
        """Listen no more; what runs is waited for, not long."""
        if self._server is not None:
            self._server.close()
        self._remove()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=5)
        for task in self._tasks:
            task.cancel()

    def _remove(self) -> None:
        """Remove the files that lead here; another server's stay."""
        known = read_place(self._db)
        if known is not None and known.token == self._token:
            place_file(self._db).unlink(missing_ok=True)
            if self._socket:
                Path(self._socket).unlink(missing_ok=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            header = json.loads(await asyncio.wait_for(reader.readline(), HEADER_SECONDS))
            if not isinstance(header, dict) or not secrets.compare_digest(str(header.get("token", "")), self._token):
                return
            handler = self._handlers.get(str(header.get("door")))
            if handler is not None:
                told = await handler(header, reader, writer)
                if told is not None:
                    writer.write(json.dumps(told, ensure_ascii=False).encode("utf-8", "backslashreplace"))
                    await writer.drain()
        except (OSError, ValueError, KeyError, TypeError, TimeoutError, asyncio.IncompleteReadError):
            pass  # whoever asked is gone, or is none of ours
        finally:
            writer.close()


class CallerGone(BaseException):
    """Tell a command that nobody waits for its answer any more; not an error, so that nobody complains of it."""


class CallersWire:
    """The way from the thread of a command back to whoever asked, over the connection of an event loop."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._loop, self._reader, self._writer = loop, reader, writer

    def send(self, parts: bytes) -> None:
        """Send parts of the answer and wait until they are gone."""
        self._done(self._sent(parts))

    def read(self) -> bytes:
        """Return all of the caller's standard input."""
        self.send(part("i"))
        return self._done(self._received())

    def _done(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result()
        except (OSError, CancelledError, asyncio.IncompleteReadError) as error:
            raise CallerGone from error

    async def _sent(self, content: bytes) -> None:
        self._writer.write(content)
        await self._writer.drain()

    async def _received(self) -> bytes:
        return await self._reader.readexactly(int.from_bytes(await self._reader.readexactly(8), "big"))


def _socket_path(beside: Path) -> Path:
    """Return the path of the socket: beside the store, or in a folder of its own where that would be too long."""
    path = beside.with_suffix(".sock")
    return path if len(str(path)) <= LONGEST_SOCKET else Path(tempfile.mkdtemp(prefix="recollect-")) / "serve.sock"


def _bind(path: Path) -> socket.socket:
    """Return a socket at *path* that only its owner may open, from the first moment on."""
    path.unlink(missing_ok=True)
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        bound.bind(str(path))
    finally:
        os.umask(before)
    return bound
