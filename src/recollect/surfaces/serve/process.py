"""The server process: one open store, reachable by commands on this machine and, if wanted, over HTTP."""

import asyncio
import gc
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext, suppress
from time import monotonic
from typing import Any, Final

import uvicorn
from msgspec import Struct
from starlette.types import ASGIApp, Receive, Scope, Send

from recollect.errors import InputError, RecollectError, StoreError
from recollect.files import lock_file, unlock_file
from recollect.recollection import Recollection
from recollect.settings import Settings, absolute_path, is_path, read_settings
from recollect.stores.choice import shown_address
from recollect.surfaces.serve.commanding import answer_command, read_command
from recollect.surfaces.serve.guard import Rules, is_loopback
from recollect.surfaces.serve.header_timeout import HeaderTimeoutProtocol
from recollect.surfaces.serve.http import build_app
from recollect.surfaces.serve.local import CallerGone, CallersWire, Handler, LocalDoor
from recollect.surfaces.serve.mcp_lines import serve_lines
from recollect.surfaces.serve.place import Place, part, place_file, read_place
from recollect.surfaces.serve.warm_store import WarmStore
from recollect.version import __version__

SHUTDOWN_SECONDS: Final = 10
"""How long running requests may take to end when the server stops."""
MAX_COMMANDS: Final = 32
"""How many commands run at once; one may wait for what somebody types."""
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


def serve(db: Recollection, options: ServeOptions, *, ready: Callable[[Place], object] = lambda _: None) -> None:
    """Serve *db* until a signal, a command or idleness stops it; call *ready* with the address."""
    with only_server(db.address):
        asyncio.run(_Process(db, options).run(ready))


@contextmanager
def only_server(address: str) -> Iterator[None]:
    """Hold the lock of the only server of a store on this machine; InputError if another one runs."""
    path = place_file(address).with_suffix(".lock")
    lock = lock_file(path)
    if lock is None:
        place = read_place(address)
        by = f", by process {place.pid}" if place is not None else ""
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
        self._warm = WarmStore(db)
        self._stop = asyncio.Event()
        self._started = self._last = monotonic()
        self._busy = 0
        self._commands = ThreadPoolExecutor(max_workers=MAX_COMMANDS, thread_name_prefix="recollect-command")

    async def run(self, ready: Callable[[Place], object]) -> None:
        """Listen, wait until the server is stopped, and close."""
        on_signals(self._stop.set)
        handlers: Mapping[str, Handler] = {
            "ping": self._ping,
            "stop": self._end,
            "mcp": self._mcp,
            "hook": self._hook,
            "cli": self._command,
        }
        door = LocalDoor(self._db.address, handlers, version=__version__)
        with self._warm:
            async with self._http() as address:
                gc.collect()
                gc.freeze()  # all of it lives until exit, so the GC can skip it
                ready(await door.open(pid=os.getpid(), http=address))
                settling = asyncio.create_task(self._settle())
                try:
                    await self._until_stopped()
                finally:
                    settling.cancel()
                    await door.close()

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

    @asynccontextmanager
    async def _http(self) -> AsyncIterator[str]:
        """Listen for HTTP if it is wanted; yield the address."""
        if not self._options.http:
            yield ""
            return
        app = self._noticed(build_app(self._warm, self._options.rules()))
        config = http_config(app, host=self._options.host, port=self._options.port)
        server = _Server(config)
        running = asyncio.create_task(server.serve())
        while not server.started and not running.done():  # noqa: ASYNC110  (the server has no event for it)
            await asyncio.sleep(0.01)
        if running.done():
            running.result()
            raise StoreError(
                f"cannot listen on {self._options.host}:{self._options.port}", hint="choose another: --port 0"
            )
        port = server.servers[0].sockets[0].getsockname()[1]
        host = f"[{self._options.host}]" if ":" in self._options.host else self._options.host
        try:
            yield f"http://{host}:{port}"
        finally:
            self._warm.is_closing = True
            server.should_exit = True
            await running

    def _noticed(self, app: ASGIApp) -> ASGIApp:
        """Return *app* as middleware: its requests keep the server from being idle."""

        async def noticed(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            with self._use():
                await app(scope, receive, send)

        return noticed

    @contextmanager
    def _use(self) -> Iterator[None]:
        """Keep the server from being idle until the end of the block."""
        self._busy += 1
        try:
            yield
        finally:
            self._busy -= 1
            self._last = monotonic()

    # --- the local door ---------------------------------------------------------------------

    async def _ping(self, *_: Any) -> Mapping[str, Any]:
        cache = self._warm.answers
        place = read_place(self._db.address)
        return {
            "pid": os.getpid(),
            "version": __version__,
            "store": shown_address(self._db.address),
            "http": place.http if place else "",
            "seconds": round(monotonic() - self._started, 1),
            "cache": {"hits": cache.hits, "misses": cache.misses, "entries": len(cache)},
        }

    async def _end(self, *_: Any) -> Mapping[str, Any]:
        self._stop.set()
        return {"stopping": True}

    async def _mcp(self, header: Mapping[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._is_as_chosen(header):
            writer.write(part("a"))
            return
        writer.write(part("y"))
        with self._use():
            await serve_lines(self._warm.dispatcher, header, reader, writer)

    async def _hook(self, header: Mapping[str, Any], _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from recollect.surfaces.hook import answer, keep_later, read_event  # noqa: PLC0415

        if not self._is_as_chosen(header):
            writer.write(part("a"))
            return

        def work() -> str:
            project = header.get("project")
            db = self._db.in_project(project) if isinstance(project, str) and project else self._db
            hooked = answer(read_event(str(header.get("event"))), db)
            keep_later(hooked, db=self._db.address)
            return hooked.output

        with self._use():
            output = await asyncio.to_thread(work)
            writer.write(part("o", output.encode("utf-8", "backslashreplace")) + part("c", b"0"))
            await writer.drain()

    def _is_as_chosen(self, header: Mapping[str, Any]) -> bool:
        """Return whether this store was opened with the profile and the models that a client names."""
        settings, choices = self._options.settings or read_settings(), header.get("choices") or {}
        own = {name: str(getattr(settings, name)) for name in choices}
        return all(
            value == (absolute_path(own[name]) if is_path(own[name]) else own[name]) for name, value in choices.items()
        )

    async def _command(
        self, header: Mapping[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        settings = self._options.settings
        if settings is None:
            writer.write(part("a"))
            return
        command, loop = read_command(header), asyncio.get_running_loop()
        wire = CallersWire(loop, reader, writer)
        with self._use(), suppress(CallerGone):
            await loop.run_in_executor(self._commands, answer_command, command, self._db, settings, wire)


class _Server(uvicorn.Server):
    """A uvicorn server that leaves signals to the process, which has more to close."""

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        """Capture none."""
        return nullcontext()
