"""A store that is spread over shards: each project is asked of the shard that it lives on, and of no other.

Nothing is asked of several shards. The whole answers for what belongs to no project, which the directory keeps, and
refuses every other question.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Lock, RLock
from typing import Any, Final, NoReturn, cast

from recollect.errors import InputError, RecollectError
from recollect.stores.contract import Store
from recollect.stores.postgres.address import Address, read_address
from recollect.stores.postgres.directory import Directory, Shard, require_no_secret
from recollect.stores.postgres.engine import PostgresEngine
from recollect.stores.sql import SqlStore, ledger
from recollect.stores.sql.engine import Database

WRITES: Final = frozenset(
    {
        "apply",
        "change_source",
        "log_recall",
        "put_vectors",
        "record_source",
        "restore_backup",
        "transaction",
    }
)
"""The questions that leave something behind: a project is placed by the first of them."""
_READS: Final = """
backup browse check document_frequencies drop_vectors erase events facets facts generations history holders ids known
load load_with_events match_words near_words nearest outlines pending pieces projects prune_recalls reading rebuild
recalls scrub settle snapshot source_heads sources stats traces traits unanswered usage vectors version wordings
"""
READS: Final = frozenset(_READS.split())
"""The questions that an empty store answers for a project that nobody has written to: there is nothing to change."""
KNOWN: Final = 10_000
"""How many projects a process remembers the place of."""


class ShardedStore:
    """The whole: finds the shard of a project, and opens each shard once."""

    def __init__(self, directory: Directory, *, open_shard: Callable[[Address], SqlStore], empty: Store) -> None:
        self.directory = directory
        self.engine = directory.engine
        self.empty = empty
        """What answers for a project that nobody has written to."""
        self._open_shard = open_shard
        self._lock = Lock()
        self._opening: dict[int, RLock] = {}
        self._stores: dict[int, SqlStore] = {}
        self._projects: dict[str, ProjectStore] = {}

    def __getattr__(self, question: str) -> NoReturn:
        if question.startswith("_") or not hasattr(Store, question):
            raise AttributeError(question)
        raise InputError(
            "this store is spread over shards: name a project",
            hint="--project NAME; what concerns one whole shard is asked of its own address: recollect shards",
        )

    def in_project(self, name: str | None) -> Store:
        """Return the store of a project; the whole for none."""
        if name is None:
            return cast("Store", self)
        with self._lock:
            if len(self._projects) >= KNOWN:
                self._projects.clear()
            known = self._projects.setdefault(name, ProjectStore(self, name))
        return cast("Store", known)

    def store_of(self, shard: Shard) -> SqlStore:
        """Return the store on *shard*, opened once; whoever waits for one shard waits for no other."""
        held = self._stores.get(shard.number)
        if held is not None:
            return held
        with self._lock:
            opening = self._opening.setdefault(shard.number, RLock())
        with opening:
            held = self._stores.get(shard.number)
            if held is None:
                held = self._stores[shard.number] = self._open_shard(read_address(shard.address))
            return held

    def add(self, name: str, address: str) -> tuple[Shard, tuple[str, ...]]:
        """Make the schema at *address* a shard, with the projects that it holds already; it is made if need be.

        A process that has a shard open stays with the address that it had.
        """
        require_no_secret(address)
        store = self._open_shard(read_address(address))
        try:
            projects = tuple(filter(None, store.projects()))
            number = cast("PostgresEngine", store.engine).name
            shard = self.directory.add(name, address, store=number, projects=projects)
        except BaseException:
            store.close()
            raise
        with self._lock:
            known = self._stores.setdefault(shard.number, store)
        if known is not store:
            store.close()
        return shard, projects

    def size_of(self, shard: Shard) -> int:
        """Return how many bytes a shard takes on its server."""
        return self.store_of(shard).engine.size() or 0

    # --- what belongs to no project ---------------------------------------------------------

    def note(self, kind: str, name: str, *, project: str = "") -> Mapping[str, Any] | None:
        """Return a note of no project from the directory, one of a project from its shard."""
        if project:
            return self.in_project(project).note(kind, name, project=project)
        return ledger.note(cast("Database", self), kind, name)

    def notes(self, kind: str, *, project: str = "") -> dict[str, Mapping[str, Any]]:
        """Return notes of no project from the directory, those of a project from its shard."""
        if project:
            return self.in_project(project).notes(kind, project=project)
        return ledger.notes(cast("Database", self), kind)

    def put_note(self, kind: str, name: str, value: Mapping[str, object] | None, *, project: str = "") -> bool:
        """Keep a note of no project in the directory, one of a project on its shard."""
        if project:
            return self.in_project(project).put_note(kind, name, value, project=project)
        return ledger.put_note(cast("Database", self), kind, name, value)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Open a write transaction in the directory."""
        with self.engine.session(write=True):
            yield

    def settle(self) -> None:
        """Prepare answers on every shard that this process has open; one that cannot be reached hinders no other."""
        for store in tuple(self._stores.values()):
            with suppress(RecollectError):
                store.settle()

    def close(self) -> None:
        """Let go of every shard and of the directory."""
        for store in (*self._stores.values(), self.empty):
            with suppress(RecollectError):  # what a shard that is gone left undone, another process does
                store.close()
        self.engine.close()


class ProjectStore:
    """One project of the whole: every question goes to its shard; before its first write nothing is found."""

    def __init__(self, whole: ShardedStore, project: str) -> None:
        self._whole, self._project = whole, project
        self._shard: Shard | None = None

    def __getattr__(self, question: str) -> Any:
        if question.startswith("_"):
            raise AttributeError(question)
        store = self._store(places=question in WRITES)
        if store is self._whole.empty and question not in READS:
            raise InputError(
                f"{question} cannot be done in the project {self._project}: nothing was written to it yet",
                hint="add a memory to it first",
            )
        return getattr(store, question)

    def _store(self, *, places: bool) -> Store:
        directory = self._whole.directory
        if self._shard is None:
            self._shard = directory.place(self._project) if places else directory.find(self._project)
        return self._whole.empty if self._shard is None else self._whole.store_of(self._shard)

    def in_project(self, name: str | None) -> Store:
        """Return the store of another project, or the whole."""
        return self._whole.in_project(name)

    def note(self, kind: str, name: str, *, project: str = "") -> Mapping[str, Any] | None:
        """Return a note of the project from its shard, one of no project from the directory."""
        if not project:
            return self._whole.note(kind, name)
        return self._store(places=False).note(kind, name, project=project)

    def notes(self, kind: str, *, project: str = "") -> dict[str, Mapping[str, Any]]:
        """Return notes of the project from its shard, those of no project from the directory."""
        return self._store(places=False).notes(kind, project=project) if project else self._whole.notes(kind)

    def put_note(self, kind: str, name: str, value: Mapping[str, object] | None, *, project: str = "") -> bool:
        """Keep a note of the project on its shard, one of no project in the directory."""
        if not project:
            return self._whole.put_note(kind, name, value)
        return self._store(places=True).put_note(kind, name, value, project=project)

    def close(self) -> None:
        """Let go of the whole."""
        self._whole.close()
