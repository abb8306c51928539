"""The same verbs for asynchronous programs: each runs in a thread, none is written twice."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from itertools import islice
from typing import Any, Concatenate, Final, ParamSpec, Self, TypeVar

from recollect.recollection import Recollection
from recollect.recollection import open as open_recollection

P = ParamSpec("P")
T = TypeVar("T")
BATCH: Final = 100
"""How many records of a long answer are read at a time."""


def _threaded(
    method: Callable[Concatenate[Recollection, P], T],
) -> Callable[Concatenate["AsyncRecollection", P], Awaitable[T]]:
    """Return *method* as one that is awaited and leaves the event loop free meanwhile."""

    async def call(self: "AsyncRecollection", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(method, self.inner, *args, **kwargs)

    return wraps(method)(call)


def _streamed(
    method: Callable[Concatenate[Recollection, P], Iterator[T]],
) -> Callable[Concatenate["AsyncRecollection", P], AsyncIterator[T]]:
    """Return *method* as one whose records are read by `async for`; one thread reads them all."""

    async def call(self: "AsyncRecollection", /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
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


class AsyncRecollection:
    """A recollection whose verbs are awaited; use it in an `async with` block."""

    def __init__(self, inner: Recollection) -> None:
        self.inner = inner

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def in_project(self, name: str) -> "AsyncRecollection":
        """Return a view of the same store that writes to the project *name* and sees nothing else."""
        return AsyncRecollection(self.inner.in_project(name))

    activity = _threaded(Recollection.activity)
    add = _threaded(Recollection.add)
    add_all = _threaded(Recollection.add_all)
    archive = _streamed(Recollection.archive)
    backup = _threaded(Recollection.backup)
    backup_to = _threaded(Recollection.backup_to)
    brief = _threaded(Recollection.brief)
    capture = _threaded(Recollection.capture)
    changes = _threaded(Recollection.changes)
    close = _threaded(Recollection.close)
    conflicts = _threaded(Recollection.conflicts)
    consolidate = _threaded(Recollection.consolidate)
    create_lens = _threaded(Recollection.create_lens)
    create_token = _threaded(Recollection.create_token)
    decisions = _threaded(Recollection.decisions)
    doctor = _threaded(Recollection.doctor)
    drop_lens = _threaded(Recollection.drop_lens)
    drop_root = _threaded(Recollection.drop_root)
    edit = _threaded(Recollection.edit)
    embed = _threaded(Recollection.embed)
    embed_imported = _threaded(Recollection.embed_imported)
    eval = _threaded(Recollection.eval)
    export = _streamed(Recollection.export)
    facts = _threaded(Recollection.facts)
    feedback = _threaded(Recollection.feedback)
    flush = _threaded(Recollection.flush)
    forget = _threaded(Recollection.forget)
    generations = _threaded(Recollection.generations)
    how_it_works = _threaded(Recollection.how_it_works)
    import_ = _threaded(Recollection.import_)
    import_roots = _threaded(Recollection.import_roots)
    inject = _threaded(Recollection.inject)
    keep_lens = _threaded(Recollection.keep_lens)
    keep_root = _threaded(Recollection.keep_root)
    last_backup = _threaded(Recollection.last_backup)
    lenses = _threaded(Recollection.lenses)
    list = _threaded(Recollection.list)
    never_recalled = _threaded(Recollection.never_recalled)
    never_used = _threaded(Recollection.never_used)
    note_failures = _threaded(Recollection.note_failures)
    pin = _threaded(Recollection.pin)
    prune_log = _threaded(Recollection.prune_log)
    prune_vectors = _threaded(Recollection.prune_vectors)
    project_of = _threaded(Recollection.project_of)
    purge = _threaded(Recollection.purge)
    recalls = _threaded(Recollection.recalls)
    reindex = _threaded(Recollection.reindex)
    reinforce = _threaded(Recollection.reinforce)
    related = _threaded(Recollection.related)
    restore = _threaded(Recollection.restore)
    restore_backup = _threaded(Recollection.restore_backup)
    review = _threaded(Recollection.review)
    revoke_token = _threaded(Recollection.revoke_token)
    roots = _threaded(Recollection.roots)
    search = _threaded(Recollection.search)
    settle = _threaded(Recollection.settle)
    show = _threaded(Recollection.show)
    stale = _threaded(Recollection.stale)
    stats = _threaded(Recollection.stats)
    supersede = _threaded(Recollection.supersede)
    tag = _threaded(Recollection.tag)
    timeline = _threaded(Recollection.timeline)
    tokens = _threaded(Recollection.tokens)
    tune = _threaded(Recollection.tune)
    tuning = _threaded(Recollection.tuning)
    unanswered = _threaded(Recollection.unanswered)
    undo_consolidation = _threaded(Recollection.undo_consolidation)
    untune = _threaded(Recollection.untune)
    why = _threaded(Recollection.why)


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
