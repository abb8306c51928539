"""A store that a server keeps open, with its answer cache, its metrics and its operations."""

from collections.abc import Callable
from threading import Event, Thread
from types import TracebackType
from typing import Self, TypeVar

import anyio.to_thread

from recollect.recollection import Recollection
from recollect.surfaces.serve.answer_cache import AnswerCache
from recollect.surfaces.serve.dispatcher import Caller, Dispatcher
from recollect.surfaces.serve.metrics import Metrics
from recollect.upkeep.tokens import verify_token

T = TypeVar("T")
MAX_OPERATION_THREADS = 8


class WarmStore:
    """What HTTP, MCP and the commands of one server share. As a context manager it keeps frequent queries warm."""

    def __init__(self, db: Recollection) -> None:
        self.db = db
        self.answers = db.answers = AnswerCache()
        self.dispatcher, self.metrics = Dispatcher(db), Metrics(self.answers)
        self.is_closing = False
        """Whether streams should end because the server stops."""
        self._closed = Event()
        self._warmer = Thread(
            target=self.answers.keep_warm, args=(self._closed.wait,), name="recollect-warmer", daemon=True
        )
        self._threads: anyio.CapacityLimiter | None = None

    def __enter__(self) -> Self:
        self._warmer.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._closed.set()
        self._warmer.join(timeout=5)
        self.db.close()

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Run *work* in a thread, at most eight at a time, so that the event loop stays free."""
        if self._threads is None:  # it belongs to the event loop that asks first
            self._threads = anyio.CapacityLimiter(MAX_OPERATION_THREADS)
        return await anyio.to_thread.run_sync(work, limiter=self._threads)

    async def ask(self, question: Callable[[], T]) -> T:
        """Run a short query: in the event loop if the store is a local file, else in a thread."""
        return question() if "://" not in self.db.address else await self.in_thread(question)

    async def verify(self, token: str) -> Caller:
        """Return the caller that *token* belongs to."""
        known = await self.ask(lambda: verify_token(self.db.store, token, now=self.db.now()))
        return Caller(
            name=known.name, project=known.project, read_only=known.read_only, trust=known.trust, has_token=True
        )
