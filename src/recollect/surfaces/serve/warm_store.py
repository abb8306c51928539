"""A store that stays open: its results kept for a moment, its frequent questions warmed, its numbers counted."""

from collections.abc import Callable, Hashable
from time import monotonic
from types import TracebackType
from typing import Self, TypeVar

import anyio.to_thread
from msgspec import Struct
from starlette.types import Receive, Scope, Send

from recollect.recollection import Recollection, version_of
from recollect.surfaces.serve.answers import Answers, Question
from recollect.surfaces.serve.cache import ResultCache
from recollect.surfaces.serve.dispatcher import Caller, Dispatcher
from recollect.surfaces.serve.metrics import Metrics
from recollect.surfaces.serve.warm import Warmer
from recollect.upkeep.tokens import verify_token

T = TypeVar("T")
THREADS = 8
"""How many operations run at the same time."""


class Kept(Struct, frozen=True, kw_only=True):
    """An answer as it is sent, with its ETag: an ASGI application that sends it."""

    body: bytes
    tag: bytes

    @property
    def status_code(self) -> int:
        """Its status."""
        return 200

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Send it."""
        length = str(len(self.body)).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", length), (b"etag", self.tag)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else self.body})


class WarmStore:
    """What every door of one server shares."""

    def __init__(self, db: Recollection, clock: Callable[[], float] = monotonic) -> None:
        self.db = db
        self.answers = Answers(clock)
        db.answers = self.answers
        self.bodies: ResultCache[tuple[Kept, Question]] = ResultCache(clock)
        """Answers as they were sent, each with its question, which is counted whenever it is sent again."""
        self.dispatcher, self.metrics = Dispatcher(db), Metrics(self.answers, self.bodies)
        self.warmer = Warmer(warm=self.answers.warm, clean=self.answers.frequencies.clean, clock=clock)
        self.is_closing = False
        """Whether streams should end, as the server does."""
        self._threads: anyio.CapacityLimiter | None = None

    @property
    def threads(self) -> anyio.CapacityLimiter:
        """How many operations may run at once; made in the event loop that asks."""
        if self._threads is None:
            self._threads = anyio.CapacityLimiter(THREADS)
        return self._threads

    def __enter__(self) -> Self:
        self.warmer.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.warmer.stop()
        self.db.close()

    def version(self, project: str | None = None) -> Hashable:
        """Return what changes whenever an answer may, for the store or for where *project* lives."""
        store = self.db.store
        spread = project is not None and store.in_project(project) is not store
        return version_of(self.db.in_project(project) if spread and project else self.db)

    async def ask(self, question: Callable[[], T]) -> T:
        """Ask the store something small: here where it is on this machine, else in a thread, as servers fail."""
        if "://" not in self.db.address:
            return question()
        return await anyio.to_thread.run_sync(question, limiter=self.threads)

    async def verify(self, token: str) -> Caller:
        """Return who holds *token*."""
        known = await self.ask(lambda: verify_token(self.db.store, token, now=self.db.now()))
        return Caller(
            name=known.name, project=known.project, read_only=known.read_only, trust=known.trust, has_token=True
        )
