"""The contract over any SQL database: each question is a function of the module it is about."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from recollect.errors import StoreError, StoreInterrupted
from recollect.records import Progress, Write
from recollect.stores.contract import Analyse
from recollect.stores.sql import erasing, ledger, memories, rebuild, words
from recollect.stores.sql import recalls as log
from recollect.stores.sql import vectors as rows
from recollect.stores.sql import writes as changes
from recollect.stores.sql.check import check
from recollect.stores.sql.engine import Engine, VectorScan, WordTable, is_of_newer, made_by, version_of
from recollect.stores.sql.failures import Failures

P = ParamSpec("P")
T = TypeVar("T")


def again(read: Callable[Concatenate["SqlStore", P], T]) -> Callable[Concatenate["SqlStore", P], T]:
    """Let *read*, which writes nothing, be asked anew where its server stopped answering: once, and as a whole.

    Inside a transaction that is left to whoever opened it.
    """

    @wraps(read)
    def asked(store: "SqlStore", /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return read(store, *args, **kwargs)
        except StoreInterrupted:
            if store.engine.open_transaction() != "none":
                raise
        return read(store, *args, **kwargs)

    return asked


class SqlStore:
    """Memories in a database; opening it with a newer analyser than its index was made by rebuilds the index."""

    def __init__(
        self, *, engine: Engine, words: WordTable, scan: VectorScan, analyse: Analyse, analyser: int = 0
    ) -> None:
        self.engine = engine
        self.words = words
        self.scan = scan
        self.analyse = analyse
        self.analyser = analyser
        self.is_snapshot = False
        self._renew_index()

    load = again(memories.load)
    load_with_events = again(memories.load_with_events)
    wordings = again(memories.wordings)
    history = again(memories.history)
    facts = again(memories.facts)
    known = again(memories.known)
    browse = again(memories.browse)
    conversations = again(memories.conversations)
    stats = again(memories.stats)
    erase = erasing.erase

    match_words = again(words.match_words)
    document_frequencies = again(words.document_frequencies)
    near_words = again(words.near_words)
    traits = again(memories.traits)
    outlines = again(memories.outlines)
    facets = again(words.facets)

    generations = again(rows.generations)
    pending = again(rows.pending)
    put_vectors = rows.put_vectors
    drop_vectors = rows.drop_vectors
    nearest = again(rows.nearest)
    vectors = again(rows.vectors)

    log_recall = log.log_recall
    usage = again(log.usage)
    unanswered = again(log.unanswered)
    recalls = again(log.recalls)
    prune_recalls = log.prune_recalls

    sources = again(ledger.sources)
    record_source = ledger.record_source
    source_heads = again(ledger.source_heads)
    pieces = again(ledger.pieces)
    change_source = ledger.change_source
    holders = again(ledger.holders)
    put_note = ledger.put_note
    note = again(ledger.note)
    notes = again(ledger.notes)

    ids = again(memories.ids)
    events = again(memories.events)
    projects = again(ledger.projects)

    check = check
    scrub = erasing.scrub
    traces = erasing.traces

    def _renew_index(self) -> None:
        """Rebuild the index that an older analyser made; where that cannot be done, `check` tells of it."""
        if self._is_current():
            return
        with Failures("making the word index again").kept():
            if not rebuild.mark_new(self):
                rebuild.rebuild(self, unless=self._is_current)
                self.words.settle(self.engine, whole=True)

    def _is_current(self) -> bool:
        with self.engine.session() as session:
            return made_by(session) >= self.analyser

    def apply(self, writes: Sequence[Write], *, at: datetime) -> tuple[int, ...]:
        """Do *writes*, all or none."""
        touched = changes.apply(self, writes, at=at)
        self._settle()
        return touched

    def rebuild(self, progress: Progress | None = None) -> int:
        """Make every derived index anew, unless a newer analyser made it."""
        if is_of_newer(self):
            raise StoreError("a newer recollect made the index of this store", hint="update recollect")
        count = rebuild.rebuild(self, progress)
        self.settle()
        return count

    @contextmanager
    def transaction(self, projects: Collection[str] | None = None) -> Iterator[None]:
        """Open a write transaction."""
        with self.engine.session(write=True, projects=projects):
            yield
        self._settle()

    def settle(self) -> None:
        """Prepare all that makes answers come sooner."""
        self.words.settle(self.engine, whole=True)
        self.scan.settle(self.engine, whole=True, at_rest=True)

    def _settle(self) -> None:
        if self.engine.open_transaction() == "none":
            if self.words.lacks_tokens:
                with Failures("indexing new memories").kept():
                    changes.index_missing(self)
            self.words.settle(self.engine)
            self.scan.resume(self.engine)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Open a read transaction."""
        with self.engine.session():
            yield

    def snapshot(self) -> "SqlStore":
        """Return what is here now as a store of its own, for reading."""
        store = copy(self)
        store.engine = self.engine.snapshot()
        store.is_snapshot = True
        return store

    def backup(self, path: Path, *, force: bool = False, progress: Progress | None = None) -> None:
        """Write what is here now to a file."""
        self.engine.backup(path, force=force, progress=progress)

    def restore_backup(self, path: Path, *, aside: Path | None = None, dry_run: bool = False) -> int:
        """Put a backup in the place of what is here."""
        count = self.engine.restore_backup(path, aside=aside, dry_run=dry_run)
        self._renew_index()
        return count

    @again
    def version(self) -> int:
        """Return how many writes there were that can change an answer."""
        with self.engine.session() as session:
            return version_of(session)

    def close(self) -> None:
        """Let go of everything held."""
        if not self.is_snapshot and self.engine.open_transaction() == "none":
            self.words.finish(self.engine)
            self.scan.finish(self.engine)
        self.engine.close()
