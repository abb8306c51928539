"""The server process: one open store, reachable by commands on this machine and, if wanted, over HTTP."""

import asyncio
import gc
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext, suppress
from time import monotonic
from typing import Any, Final

import uvicorn
from msgspec import Struct
from starlette.types import ASGIApp, Receive, Scope, Send

from recollect.errors import InputError, RecollectError, StoreError
from recollect.files import lock_file, unlock_file
from recollect.recollection import Recollection
from recollect.settings import Settings, read_settings, server_settings
from recollect.stores.choice import shown_address
from recollect.surfaces.client import ServerAddress, address_file, read_address
from recollect.surfaces.serve.guard import Guard, OwnerSocket, Rules, is_loopback
from recollect.surfaces.serve.header_timeout import HeaderTimeoutProtocol
from recollect.surfaces.serve.http import build_app, build_routes
from recollect.surfaces.serve.local import LocalRoutes, bound_socket, published
from recollect.surfaces.serve.warm_store import WarmStore
from recollect.version import __version__

SHUTDOWN_SECONDS: Final = 10
"""How long running requests may take to end when the server stops."""
SETTLE_SECONDS: Final = 30
"""The pause between two rounds that prepare the index for what was written since."""
KEEP_ALIVE_SECONDS: Final = 30
MAX_CONNECTIONS: Final = 1024


class ServeOptions(Struct, frozen=True, kw_only=True):
    """How to serve: where HTTP listens, which requests are allowed, and when to stop."""

    host: str = "127.0.0.1"
    port: int = 8765
    """0 takes a free port."""
    http: bool = True
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    require_token: bool = False
    rate: float | None = None
    idle: float | None = None
    """After how many seconds without a request the server stops."""
    settings: Settings | None = None
    """The settings of the store; commands with other settings open the store themselves."""

    def rules(self) -> Rules:
        """Return the rules of the guard: beyond loopback every request needs a token."""
        own = {self.host, f"[{self.host}]"} if self.host not in ("0.0.0.0", "::", "") else set()  # noqa: S104
        local = is_loopback(self.host)
        known = Rules().hosts if local else frozenset()
        return Rules(
            hosts=known | own | {each.lower() for each in self.hosts},
            origins=frozenset(self.origins),
            needs_token=self.require_token or not local,
            per_second=self.rate if self.rate is not None else None if local else 100.0,
        )


def serve(
    db: Recollection, options: ServeOptions, *, ready: Callable[[ServerAddress], object] = lambda _: None
) -> None:
    """Serve *db* until a signal, a command or idleness stops it; call *ready* with the address."""
    with only_server(db.address):
        asyncio.run(_Process(db, options).run(ready))


@contextmanager
def only_server(address: str) -> Iterator[None]:
    """Hold the lock of the only server of a store on this machine; InputError if another one runs."""
    path = address_file(address).with_suffix(".lock")
    lock = lock_file(path)
    if lock is None:
        known = read_address(address)
        by = f", by process {known.pid}" if known is not None else ""
        raise InputError(f"this store is served already{by}", hint="see: recollect daemon status")
    try:
        yield
    finally:
        unlock_file(path, lock)


def on_signals(stop: Callable[[], object]) -> None:
    """Call *stop* in the running event loop on SIGINT and SIGTERM."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, stop)
        except NotImplementedError:  # event loops on Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop))


def http_config(app: ASGIApp, *, host: str, port: int) -> uvicorn.Config:
    """Return the settings of uvicorn, with timeouts and limits."""
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        access_log=False,
        log_config=None,
        server_header=False,
        lifespan="on",
        http=HeaderTimeoutProtocol,
        ws="none",
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        h11_max_incomplete_event_size=64 * 1024,
    )


class _Process:
    """The server of one store."""

    def __init__(self, db: Recollection, options: ServeOptions) -> None:
        self._db, self._options = db, options
        self._settings = server_settings(options.settings or read_settings())
        self._warm = WarmStore(db)
        self._stop = asyncio.Event()
        self._started = self._last = monotonic()
        self._busy = 0
        self._http = ""

    async def run(self, ready: Callable[[ServerAddress], object]) -> None:
        """Listen, wait until the server is stopped, and close."""
        on_signals(self._stop.set)
        address = self._db.address
        with self._warm, bound_socket(address) as (bound, key):
            async with self._listening(self._socket_app(key), bound), self._tcp() as self._http:
                gc.collect()
                gc.freeze()  # all of it lives until exit, so the GC can skip it
                with published(address, bound, key, http=self._http) as found:
                    ready(found)
                    settling = asyncio.create_task(self._settle())
                    try:
                        await self._until_stopped()
                    finally:
                        settling.cancel()
                        self._stop.set()
                        self._warm.is_closing = True

    async def _settle(self) -> None:
        """Flush and merge the index now and then. Optional: results never depend on it."""
        while True:
            with suppress(RecollectError):
                await asyncio.to_thread(self._db.store.settle)
            await asyncio.sleep(SETTLE_SECONDS)

    async def _until_stopped(self) -> None:
        idle = self._options.idle
        while not self._stop.is_set():
            left = None if idle is None else idle - (monotonic() - self._last)
            if left is not None and left <= 0 and not self._busy:
                return
            try:
                await asyncio.wait_for(self._stop.wait(), None if left is None else max(0.05, left))
            except TimeoutError:
                continue

    def _socket_app(self, key: str) -> ASGIApp:
        routes = LocalRoutes(self._warm, stop=self._stop, status=self._status).routes()
        owner = OwnerSocket(key=key, is_same=self._is_same)
        return Guard(build_routes(self._warm, routes), rules=Rules(), verify=self._warm.verify, socket=owner)

    def _is_same(self, settings: Mapping[str, str]) -> bool:
        """Return whether the store was opened with the *settings* that a client names."""
        return all(self._settings.get(name) == value for name, value in settings.items())

    @asynccontextmanager
    async def _tcp(self) -> AsyncIterator[str]:
        """Listen on TCP if it is wanted; yield the address."""
        if not self._options.http:
            yield ""
            return
        async with self._listening(build_app(self._warm, self._options.rules())) as server:
            port = server.servers[0].sockets[0].getsockname()[1]
            host = f"[{self._options.host}]" if ":" in self._options.host else self._options.host
            yield f"http://{host}:{port}"

    @asynccontextmanager
    async def _listening(self, app: ASGIApp, bound: socket.socket | None = None) -> AsyncIterator[uvicorn.Server]:
        """Serve *app* on the socket *bound*, else on the host and port of the options, until the end of the block."""
        port = self._options.port if bound is None else 1  # a socket that is bound has its own
        server = _Server(http_config(self._noticed(app), host=self._options.host, port=port))
        running = asyncio.create_task(server.serve(sockets=None if bound is None else [bound]))
        while not server.started and not running.done():  # noqa: ASYNC110  (the server has no event for it)
            await asyncio.sleep(0.01)
        if running.done():
            running.result()
            raise StoreError(
                f"cannot listen on {self._options.host}:{self._options.port}", hint="choose another: --port 0"
            )
        try:
            yield server
        finally:
            server.should_exit = True
            await running

    def _noticed(self, app: ASGIApp) -> ASGIApp:
        """Return *app* as middleware: its requests keep the server from being idle."""

        async def noticed(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            self._busy += 1
            try:
                await app(scope, receive, send)
            finally:
                self._busy -= 1
                self._last = monotonic()

        return noticed

    def _status(self) -> Mapping[str, Any]:
        cache = self._warm.answers
        return {
            "pid": os.getpid(),
            "version": __version__,
            "store": shown_address(self._db.address),
            "http": self._http,
            "seconds": round(monotonic() - self._started, 1),
            "cache": {"hits": cache.hits, "misses": cache.misses, "entries": len(cache)},
        }


class _Server(uvicorn.Server):
    """A uvicorn server that leaves signals to the process, which has more to close."""

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        """Capture none."""
        return nullcontext()
