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


def threaded(
    method: Callable[Concatenate[Recollection, P], T],
) -> Callable[Concatenate["AsyncRecollection", P], Awaitable[T]]:
    """Return *method* as one that is awaited and leaves the event loop free meanwhile."""

    async def call(self: "AsyncRecollection", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(method, self.inner, *args, **kwargs)

    return wraps(method)(call)


def streamed(
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

    # --- made by `make docs` from the methods of Recollection ---
    activity = threaded(Recollection.activity)
    add = threaded(Recollection.add)
    add_all = threaded(Recollection.add_all)
    archive = streamed(Recollection.archive)
    backup = threaded(Recollection.backup)
    backup_to = threaded(Recollection.backup_to)
    brief = threaded(Recollection.brief)
    capture = threaded(Recollection.capture)
    changes = threaded(Recollection.changes)
    close = threaded(Recollection.close)
    conflicts = threaded(Recollection.conflicts)
    consolidate = threaded(Recollection.consolidate)
    create_lens = threaded(Recollection.create_lens)
    create_token = threaded(Recollection.create_token)
    decisions = threaded(Recollection.decisions)
    doctor = threaded(Recollection.doctor)
    drop_lens = threaded(Recollection.drop_lens)
    drop_root = threaded(Recollection.drop_root)
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
    import_roots = threaded(Recollection.import_roots)
    inject = threaded(Recollection.inject)
    keep_lens = threaded(Recollection.keep_lens)
    keep_root = threaded(Recollection.keep_root)
    last_backup = threaded(Recollection.last_backup)
    lenses = threaded(Recollection.lenses)
    list = threaded(Recollection.list)
    never_recalled = threaded(Recollection.never_recalled)
    never_used = threaded(Recollection.never_used)
    note_failures = threaded(Recollection.note_failures)
    pin = threaded(Recollection.pin)
    project_of = threaded(Recollection.project_of)
    prune_log = threaded(Recollection.prune_log)
    prune_vectors = threaded(Recollection.prune_vectors)
    purge = threaded(Recollection.purge)
    recalls = threaded(Recollection.recalls)
    reindex = threaded(Recollection.reindex)
    reinforce = threaded(Recollection.reinforce)
    related = threaded(Recollection.related)
    restore = threaded(Recollection.restore)
    restore_backup = threaded(Recollection.restore_backup)
    review = threaded(Recollection.review)
    revoke_token = threaded(Recollection.revoke_token)
    roots = threaded(Recollection.roots)
    search = threaded(Recollection.search)
    settle = threaded(Recollection.settle)
    show = threaded(Recollection.show)
    stale = threaded(Recollection.stale)
    stats = threaded(Recollection.stats)
    supersede = threaded(Recollection.supersede)
    tag = threaded(Recollection.tag)
    timeline = threaded(Recollection.timeline)
    tokens = threaded(Recollection.tokens)
    tune = threaded(Recollection.tune)
    tuning = threaded(Recollection.tuning)
    unanswered = threaded(Recollection.unanswered)
    undo_consolidation = threaded(Recollection.undo_consolidation)
    untune = threaded(Recollection.untune)
    why = threaded(Recollection.why)
    # --- end ---


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
