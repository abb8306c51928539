"""The socket of a server, and the routes that only its clients have: hooks, MCP relays, status and stop."""

import asyncio
import os
import secrets
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from recollect.files import write_private
from recollect.surfaces.client import ServerAddress, address_file, read_address
from recollect.surfaces.hook import answer, keep_later, read_event
from recollect.surfaces.serve.incoming import read_body, wait_for_disconnect
from recollect.surfaces.serve.responses import Streamed
from recollect.surfaces.serve.warm_store import WarmStore
from recollect.version import __version__

MAX_SOCKET_PATH: Final = 100
"""How many characters the path of a socket may have, somewhat less than systems allow."""
MAX_EVENT_BYTES: Final = 16 * 1024 * 1024


class LocalRoutes:
    """The routes of the socket; *stop* is set when the server stops, *status* tells about it."""

    def __init__(self, warm: WarmStore, *, stop: asyncio.Event, status: Callable[[], Mapping[str, Any]]) -> None:
        self._warm, self._stop, self._status = warm, stop, status

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/status", self._report),
            Route("/stop", self._end, methods=["POST"]),
            Route("/hook", self._hook, methods=["POST"]),
            Route("/attached", self._attached),
        ]

    async def _report(self, _: Request) -> Response:
        return JSONResponse(dict(self._status()))

    async def _end(self, _: Request) -> Response:
        self._stop.set()
        return JSONResponse({"stopping": True})

    async def _hook(self, request: Request) -> Response:
        event = (await read_body(request.receive, max_bytes=MAX_EVENT_BYTES)).decode("utf-8", "replace")
        caller, db = request.state.caller, self._warm.db

        def work() -> str:
            hooked = answer(
                read_event(event), db.in_project(caller.project) if caller.project else db, reads_all=caller.reads_all
            )
            keep_later(hooked, db=db.address)
            return hooked.output

        output = await self._warm.in_thread(work)
        return Response(output.encode("utf-8", "backslashreplace"), media_type="application/json")

    async def _attached(self, request: Request) -> Response:
        """Respond at once, and end the response with the server: a relay ends then, and keeps the server until then."""

        async def parts() -> AsyncIterator[bytes]:
            yield b"attached\n"
            ends = [asyncio.create_task(self._stop.wait()), asyncio.create_task(wait_for_disconnect(request.receive))]
            try:
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for each in ends:
                    each.cancel()

        return Streamed(parts(), media_type="text/plain")


# --- the socket -----------------------------------------------------------------------------


@contextmanager
def bound_socket(db: str) -> Iterator[tuple[socket.socket, str]]:
    """Give the socket of the server of *db*, and the key that clients need where socket files are not known."""
    folder = address_file(db)
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if sys.platform == "win32" or not hasattr(socket, "AF_UNIX"):
        with socket.create_server(("127.0.0.1", 0)) as bound:
            yield bound, secrets.token_urlsafe(24)
        return
    path = _socket_path(folder)
    path.unlink(missing_ok=True)
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)  # only its owner may open it, from the first moment on
    try:
        bound.bind(str(path))
    finally:
        os.umask(before)
    try:
        yield bound, ""
    finally:
        bound.close()
        path.unlink(missing_ok=True)


@contextmanager
def published(db: str, bound: socket.socket, key: str, *, http: str) -> Iterator[ServerAddress]:
    """Write the address of the server of *db* next to the store; in the end remove it, if it is still ours."""
    name: Any = bound.getsockname()
    at: dict[str, Any] = {"port": name[1]} if key else {"socket": name}
    address = ServerAddress(pid=os.getpid(), version=__version__, key=key, http=http, **at)
    write_private(address_file(db), address.text())
    try:
        yield address
    finally:
        known = read_address(db)
        if known is not None and known.text() == address.text():
            address_file(db).unlink(missing_ok=True)


def _socket_path(beside: Path) -> Path:
    """Return the path of the socket: next to the store, or in a folder of its own if that would be too long."""
    path = beside.with_suffix(".sock")
    return path if len(str(path)) <= MAX_SOCKET_PATH else Path(tempfile.mkdtemp(prefix="recollect-")) / "serve.sock"
