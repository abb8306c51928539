"""The same methods for asynchronous programs: each runs in a thread."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from itertools import islice
from typing import Any, Concatenate, Final, Generic, ParamSpec, Self, TypeVar

from recollect.recollection import Recollection
from recollect.recollection import open as open_recollection
from recollect.workspace.backups import Backups
from recollect.workspace.lenses import Lenses
from recollect.workspace.log import Log
from recollect.workspace.roots import Roots
from recollect.workspace.tokens import Tokens

P = ParamSpec("P")
T = TypeVar("T")
Inner_co = TypeVar("Inner_co", covariant=True)
BATCH: Final = 100
"""How many records of a long answer are read at a time."""


def threaded(
    method: Callable[Concatenate[Inner_co, P], T],
) -> Callable[Concatenate["Wrapped[Inner_co]", P], Awaitable[T]]:
    """Return *method* as one that is awaited and leaves the event loop free meanwhile."""

    async def call(self: "Wrapped[Inner_co]", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(method, self.inner, *args, **kwargs)

    return wraps(method)(call)


def streamed(
    method: Callable[Concatenate[Inner_co, P], Iterator[T]],
) -> Callable[Concatenate["Wrapped[Inner_co]", P], AsyncIterator[T]]:
    """Return *method* as one whose records are read by `async for`; one thread reads them all."""

    async def call(self: "Wrapped[Inner_co]", /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(max_workers=1) as thread:
            records = await loop.run_in_executor(thread, partial(method, self.inner, *args, **kwargs))
            try:
                while batch := await loop.run_in_executor(thread, _next_of, records):
                    for each in batch:
                        yield each
            finally:
                close: Callable[[], object] = getattr(records, "close", list)
                thread.submit(close)

    return wraps(method)(call)


def _next_of(records: Iterator[T]) -> list[T]:
    return list(islice(records, BATCH))


class Wrapped(Generic[Inner_co]):
    """Something whose methods are awaited."""

    def __init__(self, inner: Inner_co) -> None:
        self.inner = inner


# --- made by `make docs` from the methods of Recollection ---


class AsyncBackups(Wrapped[Backups]):
    """The methods of `Backups`."""

    create = threaded(Backups.create)
    create_in = threaded(Backups.create_in)
    last = threaded(Backups.last)
    restore = threaded(Backups.restore)


class AsyncLenses(Wrapped[Lenses]):
    """The methods of `Lenses`."""

    create = threaded(Lenses.create)
    drop = threaded(Lenses.drop)
    keep = threaded(Lenses.keep)
    list = threaded(Lenses.list)


class AsyncLog(Wrapped[Log]):
    """The methods of `Log`."""

    never_recalled = threaded(Log.never_recalled)
    never_used = threaded(Log.never_used)
    prompts = threaded(Log.prompts)
    prune = threaded(Log.prune)
    recent = threaded(Log.recent)
    unanswered = threaded(Log.unanswered)


class AsyncRoots(Wrapped[Roots]):
    """The methods of `Roots`."""

    add = threaded(Roots.add)
    import_ = threaded(Roots.import_)
    list = threaded(Roots.list)
    remove = threaded(Roots.remove)


class AsyncTokens(Wrapped[Tokens]):
    """The methods of `Tokens`."""

    create = threaded(Tokens.create)
    list = threaded(Tokens.list)
    revoke = threaded(Tokens.revoke)


class AsyncMethods(Wrapped[Recollection]):
    """The methods of `Recollection`."""

    activity = threaded(Recollection.activity)
    add = threaded(Recollection.add)
    add_all = threaded(Recollection.add_all)
    archive = streamed(Recollection.archive)
    brief = threaded(Recollection.brief)
    capture = threaded(Recollection.capture)
    changes = threaded(Recollection.changes)
    close = threaded(Recollection.close)
    conflicts = threaded(Recollection.conflicts)
    consolidate = threaded(Recollection.consolidate)
    decisions = threaded(Recollection.decisions)
    doctor = threaded(Recollection.doctor)
    edit = threaded(Recollection.edit)
    embed = threaded(Recollection.embed)
    embed_imported = threaded(Recollection.embed_imported)
    eval = threaded(Recollection.eval)
    export = streamed(Recollection.export)
    facts = threaded(Recollection.facts)
    feedback = threaded(Recollection.feedback)
    flush = threaded(Recollection.flush)
    forget = threaded(Recollection.forget)
    generations = threaded(Recollection.generations)
    how_it_works = threaded(Recollection.how_it_works)
    import_ = threaded(Recollection.import_)
    inject = threaded(Recollection.inject)
    list = threaded(Recollection.list)
    note_failures = threaded(Recollection.note_failures)
    pin = threaded(Recollection.pin)
    project_of = threaded(Recollection.project_of)
    prune_vectors = threaded(Recollection.prune_vectors)
    purge = threaded(Recollection.purge)
    reindex = threaded(Recollection.reindex)
    reinforce = threaded(Recollection.reinforce)
    related = threaded(Recollection.related)
    remind = threaded(Recollection.remind)
    restore = threaded(Recollection.restore)
    review = threaded(Recollection.review)
    search = threaded(Recollection.search)
    settle = threaded(Recollection.settle)
    show = threaded(Recollection.show)
    stale = threaded(Recollection.stale)
    stats = threaded(Recollection.stats)
    supersede = threaded(Recollection.supersede)
    tag = threaded(Recollection.tag)
    timeline = threaded(Recollection.timeline)
    tune = threaded(Recollection.tune)
    tuning = threaded(Recollection.tuning)
    undo_consolidation = threaded(Recollection.undo_consolidation)
    untune = threaded(Recollection.untune)
    why = threaded(Recollection.why)

    @property
    def backups(self) -> AsyncBackups:
        """Backups of the whole store."""
        return AsyncBackups(self.inner.backups)

    @property
    def lenses(self) -> AsyncLenses:
        """Lenses: filters and boosts kept under a name."""
        return AsyncLenses(self.inner.lenses)

    @property
    def log(self) -> AsyncLog:
        """The recall log: what was searched for, found and never used."""
        return AsyncLog(self.inner.log)

    @property
    def roots(self) -> AsyncRoots:
        """Roots: files and folders that are imported again."""
        return AsyncRoots(self.inner.roots)

    @property
    def tokens(self) -> AsyncTokens:
        """Tokens: who may use a server of this store, and for what."""
        return AsyncTokens(self.inner.tokens)


# --- end ---


class AsyncRecollection(AsyncMethods):
    """A recollection whose methods are awaited; use it in an `async with` block."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def in_project(self, name: str) -> "AsyncRecollection":
        """Return a view of the same store that writes to the project *name* and sees nothing else."""
        return AsyncRecollection(self.inner.in_project(name))


class Opening:
    """A store about to be opened: `async with` opens and closes it, `await` opens it and leaves closing to you."""

    def __init__(self, opened: Callable[[], Recollection]) -> None:
        self._opened = opened
        self._db: AsyncRecollection | None = None

    def __await__(self) -> Generator[Any, None, AsyncRecollection]:
        return self._open().__await__()

    async def __aenter__(self) -> AsyncRecollection:
        self._db = await self._open()
        return self._db

    async def __aexit__(self, *_: object) -> None:
        if self._db is not None:
            await self._db.close()

    async def _open(self) -> AsyncRecollection:
        return AsyncRecollection(await asyncio.to_thread(self._opened))


def _opening(opener: Callable[P, Recollection]) -> Callable[P, Opening]:
    """Return *opener* as one for asynchronous use."""

    @wraps(opener)
    def call(*args: P.args, **kwargs: P.kwargs) -> Opening:
        return Opening(partial(opener, *args, **kwargs))

    return call


open = _opening(open_recollection)  # noqa: A001  (aio.open is the same way in)
