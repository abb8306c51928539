"""Recollection: a store, a profile and a clock; the verbs, each a line or two."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from recollect.embedders.contract import Embedder
from recollect.errors import InputError, ModelError, UnknownMemory
from recollect.profile import Profile, load_profile
from recollect.records import ANYTHING, EVERYTHING, Event, Forget, Memory, Restore, Scope, Tally, Trust, Where
from recollect.remember.bring import Brought, Door, Progress, bring
from recollect.remember.embed import embed_pending
from recollect.remember.keep import Kept, keep
from recollect.replies import Mode, Reply, Request
from recollect.search import search
from recollect.search.why import Why, why
from recollect.settings import IN_MEMORY, models_folder, read_settings
from recollect.stores.contract import Store
from recollect.text.analyse import analyse

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Memories, newest first, and how many there are in all."""

    memories: tuple[Memory, ...]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One memory with all that is known of it."""

    memory: Memory
    wordings: tuple[str, ...]
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What a check-up found: nothing wrong, or lines that say what and what to do."""

    problems: tuple[str, ...]
    memories: int
    address: str


def open(  # noqa: A001  (recollect.open reads as it should)
    address: str | Path | None = None,
    *,
    profile: str | None = None,
    project: str | None = None,
    model: str | None = None,
    clock: Clock = utc_now,
) -> "Recollection":
    """Open the store at *address* (a path or ":memory:"; the user's own store when not given).

    *model* is an installed model's name or folder, "hashing", or "none" to search by words alone.
    """
    chosen = None if address is None else str(address)
    settings = read_settings(db=chosen, profile=profile, project=project, model=model)
    return Recollection(
        store=open_store(settings.db),
        profile=load_profile(settings.profile),
        project=settings.project or None,
        models=Models(name=settings.model, folder=models_folder(settings)),
        clock=clock,
        address=settings.db,
    )


def open_store(address: str) -> Store:
    """Return the store that *address* names."""
    if address == IN_MEMORY:
        from recollect.stores.ram import RamStore  # noqa: PLC0415  (only the chosen store is loaded)

        return RamStore(analyse)
    if "://" in address:
        raise InputError(f"no store is known for {address}", hint="name a file, or :memory:")
    from recollect.stores.sqlite import SqliteStore  # noqa: PLC0415

    return SqliteStore(Path(address).expanduser(), analyse)


class Models:
    """The embedding models of a recollection, loaded when first needed and never before."""

    def __init__(self, *, name: str = "none", folder: Path | None = None) -> None:
        self.name = name
        self._folder = folder or Path()
        self._loaded: dict[str, Embedder | None] = {}

    def current(self) -> Embedder | None:
        """Return the model in use, or nothing when there is none."""
        return self.named(self.name)

    def named(self, name: str) -> Embedder | None:
        """Return the model *name*, or nothing when it cannot be had here."""
        if name == "none":
            return None
        if name not in self._loaded:
            try:
                self._loaded[name] = self._load(name)
            except ModelError:
                self._loaded[name] = None
        return self._loaded[name]

    def required(self) -> Embedder:
        """Return the model in use; say what is missing when it cannot be had."""
        if self.name == "none":
            raise ModelError("no embedding model is chosen", hint="open the store with --model minilm")
        loaded = self.current()
        return self._load(self.name) if loaded is None else loaded

    def _load(self, name: str) -> Embedder:
        from recollect.embedders.cached import CachedEmbedder  # noqa: PLC0415  (a search by words needs none of it)
        from recollect.embedders.models import load  # noqa: PLC0415

        return CachedEmbedder(load(name, self._folder))

    def close(self) -> None:
        """Let go of every model."""
        for embedder in self._loaded.values():
            if embedder is not None:
                embedder.close()
        self._loaded = {}


NO_MODELS = Models()


class Recollection:
    """Memories you can search. Close it, or use it in a `with` block."""

    def __init__(
        self,
        *,
        store: Store,
        profile: Profile,
        project: str | None = None,
        models: Models = NO_MODELS,
        clock: Clock = utc_now,
        address: str = "",
    ) -> None:
        self.store = store
        self.profile = profile
        self.project = project
        self.models = models
        self.address = address
        self._clock = clock

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the store and the models."""
        self.models.close()
        self.store.close()

    def now(self) -> datetime:
        """Return the time by this recollection's clock."""
        return self._clock()

    @property
    def scope(self) -> Scope:
        """Which projects are searched: the one chosen at opening, or all."""
        return EVERYTHING if self.project is None else Scope(projects=frozenset({self.project}))

    def add(self, /, content: str, *, redact: bool = True, embed: bool = True, **about: Any) -> Kept:
        """Remember *content*; *about* are fields of Memory (type, tags, title, source, confidence, metadata, …).

        The name, description, path, worker_role and requirements of a memory go into its metadata and are
        searched like everything else.
        """
        drafts = [draft(content, {"project": self.project or "default", **about})]
        return self.add_all(drafts, redact=redact, embed=embed)[0]

    def add_all(self, drafts: Sequence[Memory], *, redact: bool = True, embed: bool = True) -> tuple[Kept, ...]:
        """Remember *drafts*, all or none; they get their vectors too when there is a model and *embed* is true."""
        kept = keep(drafts, store=self.store, analyse=analyse, now=self.now(), redacting=redact)
        if embed and any(each.written for each in kept):
            self._embed_if_possible(None)
        return kept

    def import_(
        self,
        *paths: str | Path,
        redact: bool = True,
        embed: bool = True,
        trust: Trust = "owner",
        progress: Progress | None = None,
    ) -> Brought:
        """Import files and folders; again and again if you like, only what changed is written."""
        door = Door(
            store=self.store, analyse=analyse, now=self.now(), project=self.project, trust=trust, redacting=redact
        )
        brought = bring([Path(path).expanduser() for path in paths], door, progress=progress)
        if embed:
            self._embed_if_possible(progress)
        return brought

    def embed(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Give a vector to every memory that has none of the model in use; return how many took one."""
        return embed_pending(
            store=self.store, embedder=self.models.required(), model=self.models.name, progress=progress
        )

    def _embed_if_possible(self, progress: Progress | None) -> None:
        if self.models.current() is not None:
            self.embed(None if progress is None else lambda done, total: progress(done, total, "vectors"))

    def search(
        self,
        /,
        query: str,
        *,
        mode: Mode = "hybrid",
        limit: int | None = None,
        profile: str | None = None,
        where: Where = ANYTHING,
        **more: Any,
    ) -> Reply:
        """Answer *query*: the hits, best first, how far to trust them, and why there are none.

        *more* are fields of Request: alpha, session, include_facts, without_model.
        """
        request = Request(text=query, mode=mode, limit=limit, scope=self.scope, where=where, **more)
        chosen = self.profile if profile is None else load_profile(profile)
        embedder = None if mode == "keyword" else self.models.current()
        return search(
            request,
            store=self.store,
            profile=chosen,
            now=self.now(),
            embedder=embedder,
            former=lambda: self._former(embedder),
        )

    def why(
        self, /, memory_id: int, query: str, *, mode: Mode = "hybrid", profile: str | None = None, **more: Any
    ) -> Why:
        """Explain why a memory was or was not found: its rank in each list, what blocks it, what would help."""
        self._one(memory_id)
        request = Request(text=query, mode=mode, scope=self.scope, **more)
        chosen = self.profile if profile is None else load_profile(profile)
        embedder = None if mode == "keyword" else self.models.current()
        return why(memory_id, request, store=self.store, profile=chosen, now=self.now(), embedder=embedder)

    def _former(self, current: Embedder | None) -> Embedder | None:
        """Return the newest other model that made vectors here and can still be loaded."""
        generations = self.store.generations(scope=self.scope)
        others = (each for each in generations if current is not None and each.fingerprint != current.fingerprint)
        return next((found for each in others if (found := self.models.named(each.model)) is not None), None)

    def show(self, memory_id: int) -> Shown:
        """Return a memory with its other wordings and its history."""
        memory = self._one(memory_id)
        wordings = self.store.wordings([memory_id], scope=self.scope)
        events = self.store.history([memory_id], scope=self.scope)
        return Shown(memory=memory, wordings=wordings.get(memory_id, ()), events=events.get(memory_id, ()))

    def list(self, *, where: Where = ANYTHING, limit: int = 20, offset: int = 0) -> Listing:
        """Return memories newest first."""
        page = self.store.browse(scope=self.scope, where=where, limit=max(0, limit), offset=max(0, offset))
        return Listing(memories=tuple(self.store.load(page.ids, scope=self.scope).values()), total=page.total)

    def forget(self, memory_id: int, *, reason: str = "") -> None:
        """Hide a memory from every search until it is restored."""
        self._one(memory_id)
        self.store.apply([Forget(id=memory_id, detail={"reason": reason} if reason else {})], at=self.now())

    def restore(self, memory_id: int) -> None:
        """Bring a forgotten memory back."""
        self._one(memory_id)
        self.store.apply([Restore(id=memory_id)], at=self.now())

    def export(self) -> Iterator[tuple[Memory, tuple[str, ...]]]:
        """Yield every memory with its other wordings, oldest id first, superseded ones too."""
        everything = Where(include_superseded=True)
        ids = self.store.browse(scope=self.scope, where=everything, limit=2**62).ids
        for batch in _batches(sorted(ids), 500):
            memories = self.store.load(batch, scope=self.scope)
            wordings = self.store.wordings(batch, scope=self.scope)
            yield from ((memory, wordings.get(row, ())) for row, memory in memories.items())

    def stats(self) -> Tally:
        """Count what is here."""
        return self.store.tally(scope=self.scope)

    def doctor(self) -> Health:
        """Look for damage."""
        problems = self.store.check()
        return Health(problems=problems, memories=self.stats().memories, address=self.address)

    def reindex(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Make every index anew from the memories."""
        return self.store.rebuild(progress)

    def _one(self, memory_id: int) -> Memory:
        found = self.store.load([memory_id], scope=self.scope)
        if memory_id not in found:
            raise UnknownMemory(f"no memory has the id {memory_id}", hint="see: recollect list")
        return found[memory_id]


EXTRAS: Mapping[str, str] = {
    "name": "name",
    "description": "description",
    "path": "path",
    "worker_role": "workerRole",
    "requirements": "requirements",
}


def draft(content: str, about: Mapping[str, Any]) -> Memory:
    """Return the unstored memory that *content* and the fields *about* describe."""
    extra = {EXTRAS[key]: value for key, value in about.items() if key in EXTRAS and value}
    fields = {key: value for key, value in about.items() if key not in EXTRAS}
    if "tags" in fields:
        fields["tags"] = tuple(fields["tags"])
    try:
        memory = Memory(content=content, **fields)
    except TypeError as error:
        raise InputError(f"a memory has no such field: {error}", hint="see the fields of recollect.Memory") from error
    return replace(memory, metadata={**memory.metadata, **extra}) if extra else memory


def _batches(ids: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    return (ids[at : at + size] for at in range(0, len(ids), size))
