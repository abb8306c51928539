"""Write many small files in one transaction: a durable one for each would take longer than all else of their import."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from msgspec import Struct

from recollect.errors import InputError, StoreError
from recollect.records import Piece
from recollect.remember.context import Draft, IngestContext
from recollect.remember.ingest import MAX_DRAFTS_BY_VECTOR, Decided, decide_early, ingest_drafts
from recollect.remember.sync_file import FileReport
from recollect.remember.sync_source import (
    SourceDiff,
    SourceFile,
    SourceIndex,
    piece_key,
    pieces_of,
    ready_drafts,
    source_diff,
    sync_source,
)

MAX_MEMORIES: Final = 500
"""How many memories are written together; other writers wait no longer than that takes."""
MAX_LENGTH: Final = 1_000_000
"""How many characters they may have."""
SMALL: Final = 100
"""A file of more memories is written by itself."""


class WaitingFile(Struct, frozen=True, kw_only=True):
    """A file that was read, cleaned and analysed, and is not written yet."""

    path: Path
    format: str
    file: SourceFile
    told: FileReport
    drafts: Sequence[Draft]
    """What it holds, as it was read: what was taken out of it is told of the same places."""
    ready: Sequence[Draft]


class GatheredFiles:
    """The small files of an import that wait for a transaction; one that ends before reads them again next time."""

    def __init__(self, context: IngestContext, index: SourceIndex) -> None:
        self._context, self._index = context, index
        self._waiting: list[WaitingFile] = []
        self._memories = self._length = 0

    def add(self, path: Path, form: str, file: SourceFile, drafts: Sequence[Draft], told: FileReport) -> None:
        """Let a file wait, analysed by now: no other writer waits for that."""
        before = pieces_of(file.name, self._context, self._index)
        ready = ready_drafts(drafts, [piece_key(each.memory) for each in drafts], before, self._context)
        self._waiting.append(WaitingFile(path=path, format=form, file=file, told=told, drafts=drafts, ready=ready))
        self._memories += len(drafts)
        self._length += sum(len(each.memory.content) for each in drafts)

    @property
    def is_full(self) -> bool:
        """Whether they should wait no longer."""
        many = max(self._memories, len(self._waiting)) >= MAX_MEMORIES
        return many or self._length >= MAX_LENGTH

    def write(self) -> Iterator[tuple[WaitingFile, SourceDiff | InputError]]:
        """Write what waits, in its order, and yield what became of each; one that cannot be written costs no other."""
        waiting, self._waiting = self._waiting, []
        self._memories = self._length = 0
        if not waiting:
            return
        fresh = [draft for each in waiting for draft in each.ready if draft.tokens is not None]
        decided, in_bulk = decide_early(fresh, self._context), len(fresh) > MAX_DRAFTS_BY_VECTOR
        try:
            with self._context.store.transaction():
                diffs = self._together(waiting, decided) if in_bulk else [self._sync(each, decided) for each in waiting]
        except (InputError, StoreError):  # what still can be written is: a full disk takes some of them
            yield from ((each, self._alone(each, decided, in_bulk=in_bulk)) for each in waiting)
        except BaseException:
            self._waiting = waiting
            raise
        else:
            yield from zip(waiting, diffs, strict=True)

    def _together(self, waiting: Sequence[WaitingFile], decided: Decided) -> list[SourceDiff]:
        """Write many files; those that are new one after the other are decided on as one batch."""
        diffs: list[SourceDiff] = []
        for new, run in groupby(waiting, key=self._is_new):
            files = list(run)
            if new and len({each.file.name for each in files}) == len(files):
                diffs += self._add(files, decided)
            else:
                diffs += [self._sync(each, decided, in_bulk=True) for each in files]
        return diffs

    def _is_new(self, each: WaitingFile) -> bool:
        return not self._context.store.pieces(each.file.name, project=self._index.project, limit=1)

    def _add(self, files: Sequence[WaitingFile], decided: Decided) -> list[SourceDiff]:
        """Write files of which nothing was imported before."""
        drafts = [draft for each in files for draft in each.ready]
        results = iter(ingest_drafts(drafts, self._context, decided=decided, in_bulk=True))
        diffs = []
        for each in files:
            ids = [(draft.memory, next(results)) for draft in each.ready]
            pieces = [Piece(digest=piece_key(memory), memory_id=got.id, section=memory.section) for memory, got in ids]
            self._index.record(each.file, pieces)
            diffs.append(source_diff(dict(enumerate(got for _, got in ids)), total=len(ids)))
        return diffs

    def _alone(self, each: WaitingFile, decided: Decided, *, in_bulk: bool) -> SourceDiff | InputError:
        """Write one file in a transaction of its own."""
        try:
            with self._context.store.transaction():
                return self._sync(each, decided, in_bulk=in_bulk)
        except InputError as error:
            return error

    def _sync(self, each: WaitingFile, decided: Decided, *, in_bulk: bool = False) -> SourceDiff:
        return sync_source(each.file, each.ready, self._context, self._index, decided=decided, in_bulk=in_bulk)
