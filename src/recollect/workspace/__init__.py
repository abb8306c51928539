"""Workspace: a store, a profile, models and a clock; what operations work with."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeVar

from msgspec.structs import replace

from recollect import evaluate, recall, remember, search, upkeep
from recollect.arguments import checked, guarded
from recollect.embedders.contract import OwnModel
from recollect.embedders.models import NO_MODELS, Models
from recollect.errors import ModelError, RecollectError
from recollect.filters import (
    Moment,
    Names,
    names,
)
from recollect.profile import Profile, load_profile
from recollect.records import (
    ALL_PROJECTS,
    GLOBAL,
    Fact,
    FactQuery,
    Generation,
    Memory,
    Moved,
    Progress,
    Recovery,
    Scope,
    StoreStats,
    Trust,
    Write,
)
from recollect.replies import Degraded, Mode, Reply, Request, Shown
from recollect.rerankers.contract import NO_RERANKER, Rerankers
from recollect.settings import bound, models_folder, read_settings, segments_folder
from recollect.stores.choice import move_store, open_store, recover_store, shown_address
from recollect.stores.contract import Store, unknown
from recollect.text.analyser import ANALYSER, analyse
from recollect.trust import CONFIDENCE_CAPS

if TYPE_CHECKING:  # a package loads what a verb needs when the verb is used
    from recollect.workspace.backups import Backups
    from recollect.workspace.lenses import Lenses
    from recollect.workspace.log import Log
    from recollect.workspace.roots import Roots
    from recollect.workspace.tokens import Tokens

    SearchContext = search.state.SearchContext
    Why = search.why.Why

LOGGING, EMBEDDING = "writing the recall log", "making vectors in the background"
"""What the two threads of a long-lived process do, as `doctor` names it."""
Clock = Callable[[], datetime]
W = TypeVar("W", bound="Workspace")
NAMESPACES: Final = ("backups", "lenses", "log", "roots", "tokens")
"""Properties that group the methods on one noun."""
Answers = Callable[[Request, Profile, Callable[[Request, Profile], Reply], Callable[[], Hashable]], Reply]
"""How a request is answered: by what it is given to search with, or by a result of the same version that is kept."""


def answer_anew(
    request: Request, profile: Profile, search: Callable[[Request, Profile], Reply], _: Callable[[], Hashable]
) -> Reply:
    """Search, whatever was asked before."""
    return search(request, profile)


def version_of(db: "Workspace") -> Hashable:
    """Return what changes whenever an answer may: with a write from any process, and with the model in use."""
    return db.store.version(), db.models.state


def utc_now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


def open_as(
    kind: type[W],
    address: str | Path | None = None,
    *,
    profile: str | None = None,
    project: str | None = None,
    model: str | OwnModel | None = None,
    reranker: str | None = None,
    clock: Clock = utc_now,
    background: bool = False,
) -> W:
    """Open the store at *address* as a *kind* of workspace."""
    place = None if address is None else str(address)
    named, own = (model, None) if model is None or isinstance(model, str) else (None, model)
    settings = read_settings(db=place, profile=profile, project=project, model=named, reranker=reranker)
    opened = kind(
        store=open_store(settings.db, analyse, analyser=ANALYSER, cache=segments_folder()),
        profile=load_profile(settings.profile),
        project=settings.project or None,
        models=Models(
            name=settings.model,
            folder=models_folder(settings),
            key=settings.model_key,
            offline=settings.is_offline,
            own=own,
        ),
        rerankers=Rerankers(settings.reranker),
        clock=clock,
        address=settings.db,
        background=background,
        retention=recall.log.Retention(days=bound(settings, "log_days"), megabytes=bound(settings, "log_megabytes")),
    )
    if background:
        opened._resume_embedding()
    return opened


@contextmanager
def in_foreground(db: W) -> Iterator[W]:
    """Give *db*, which stays open, as one command has it: it waits for vectors and for the recall log.

    What goes wrong with a model goes wrong for it alone.
    """
    view = copy(db)
    view.background, view.models = False, db.models.lent()
    view._log = recall.log.BackgroundWriter(LOGGING, failures=db._log.failures)
    try:
        yield view
    finally:
        view._log.close()


@checked
def recover(old: str | Path, new: str | Path) -> Recovery:
    """Save what can be read of the damaged store *old* into a new store *new*; *old* stays as it is.

    Example:
        >>> recollect.recover("notes.db", "saved.db").is_whole
        True
    """
    return recover_store(str(old), str(new), analyse, analyser=ANALYSER)


@checked
def move(old: str | Path, new: str | Path, *, progress: Progress | None = None) -> Moved:
    """Copy the store *old* into an empty one at *new*, and compare every row; *old* stays as it is.

    Both are files or addresses of PostgreSQL (`postgresql://…`). What was stopped half way goes on when it is called
    again.

    Example:
        >>> recollect.move("notes.db", "moved.db").rows["memory"]
        3
    """
    return move_store(str(old), str(new), analyse, analyser=ANALYSER, progress=progress)


@guarded
class Workspace:
    """An open store. `Recollection` adds a method for each operation."""

    def __init__(  # noqa: PLR0913  (each is a part of its own)
        self,
        *,
        store: Store,
        profile: Profile,
        project: str | None = None,
        models: Models = NO_MODELS,
        rerankers: Rerankers = NO_RERANKER,
        clock: Clock = utc_now,
        address: str = "",
        background: bool = False,
        retention: "recall.log.Retention | None" = None,
        answers: Answers = answer_anew,
    ) -> None:
        self.store, self.models, self.rerankers = store, models, rerankers
        self.profile = profile
        self.address, self.background = address, background
        self.retention = retention or recall.log.Retention()
        self._clock, self.answers = clock, answers
        self._log, self._writer = recall.log.BackgroundWriter(LOGGING), recall.log.BackgroundWriter(EMBEDDING)
        self._only: tuple[str, ...] | None = None
        self._tuned = evaluate.tuning.TunedProfiles(store)
        self._choose(project)

    def __enter__(self) -> Self:
        return self

    def __repr__(self) -> str:
        project = "" if self.project is None else f", project={self.project!r}"
        return f"{type(self).__name__}({shown_address(self.address)!r}{project}, profile={self.profile.name!r})"

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Finish the recall log and the vectors within some seconds each, then let go of the models and the store.

        Vectors that are not made by then are made after the next `open(…, background=True)`, or by `embed`. Searches
        that still run are waited for, not long.

        Example:
            >>> db.close()
        """
        self._log.close()
        self._writer.close()
        self.models.close()
        self.rerankers.close()
        self.store.close()

    def flush(self) -> None:
        """Wait until what runs in the background is done: the recall log, the vectors.

        Example:
            >>> db.search("port", session="tuesday").outcome
            'answered'
            >>> db.flush()
            >>> [each.query for each in db.log.recent(session="tuesday")]
            ['port']
        """
        self._log.flush()
        self._writer.flush()

    def in_project(self, name: str) -> Self:
        """Return a view of the same store that writes to the project *name* and sees nothing else.

        Example:
            >>> web = db.in_project("web")
            >>> web.add("The web team meets on Mondays").id
            4
            >>> web.stats().memories, db.stats().memories
            (1, 4)
        """
        view = copy(self)
        view._choose(name)
        return view

    def project_of(self, folder: str | Path, *, claim: bool = False) -> str | None:
        """Return the project of the repository in *folder*; with *claim* no other repository gets its name.

        Example:
            >>> db.project_of("code/shop")
            'shop'
        """
        from recollect.remember.repository import project_of  # noqa: PLC0415  (only hooks ask)

        return self.project or project_of(folder, self.store, claim=claim)

    def _choose(self, project: str | None) -> None:
        """Write to *project* and see nothing else; None sees all."""
        self.project = self._named(project)

    def now(self) -> datetime:
        """Return the time by this recollection's clock.

        Example:
            >>> db.now().isoformat()
            '2026-05-04T12:00:00+00:00'
        """
        return self._clock()

    @property
    def scope(self) -> Scope:
        """Which projects are searched: the one chosen at opening, or all."""
        own = ALL_PROJECTS if self.project is None else Scope(projects=frozenset({self.project}))
        return own.narrowed(self._only)

    @property
    def _with_global(self) -> Scope:
        """The projects that a session of this view reads: its own, and what holds in all of them."""
        own = self.scope.projects
        return self.scope if own is None else Scope(projects=own | {GLOBAL})

    @property
    def lenses(self) -> "Lenses":
        """Lenses: filters and boosts kept under a name."""
        from recollect.workspace.lenses import Lenses  # noqa: PLC0415  (few need it)

        return Lenses(self)

    @property
    def log(self) -> "Log":
        """The recall log: what was searched for, found and never used."""
        from recollect.workspace.log import Log  # noqa: PLC0415  (few need it)

        return Log(self)

    @property
    def backups(self) -> "Backups":
        """Backups of the whole store."""
        from recollect.workspace.backups import Backups  # noqa: PLC0415  (few need it)

        return Backups(self)

    @property
    def tokens(self) -> "Tokens":
        """Tokens: who may use a server of this store, and for what."""
        from recollect.workspace.tokens import Tokens  # noqa: PLC0415  (few need it)

        return Tokens(self)

    @property
    def roots(self) -> "Roots":
        """Roots: files and folders that are imported again."""
        from recollect.workspace.roots import Roots  # noqa: PLC0415  (few need it)

        return Roots(self)

    @property
    def _notes(self) -> str:
        """The project whose lenses, tunings and sessions are seen; blank where none is chosen: those of no project."""
        return self.project or ""

    def _named(self, name: str | None) -> str | None:
        """Return a name by which things are kept and found again, without the secrets in it."""
        if name is None or name.replace("-", "").isalpha():  # no secret is letters alone
            return name
        return remember.redact.redact_name(name, self._digest()).text

    def _digest(self) -> "remember.redact.Digest":
        return remember.redact.digests_of(self.store)

    def _ingest_context(
        self, *, embed: bool = True, given: bool = False, redact: bool = True, trust: Trust = "owner"
    ) -> "remember.context.IngestContext":
        # In the background vectors are made later, so that nobody waits for a model; oro needs them to decide, and
        # a vector that is given needs to know whether it fits.
        early = given or (embed and (not self.background or self.profile.dedup == "bm25"))
        return remember.context.IngestContext(
            store=self.store,
            analyse=analyse,
            profile=self.profile,
            now=self.now(),
            project=self.project,
            trust=trust,
            redact=redact,
            embedder=self.models.current() if early else None,
            model=self._named(self.models.name) or "",
            scales=self.models.scale,
        )

    def add_all(
        self,
        drafts: Sequence[Memory],
        *,
        vectors: Sequence[Sequence[float] | None] = (),
        redact: bool = True,
        embed: bool = True,
    ) -> "tuple[remember.ingest.IngestResult, ...]":
        """Remember *drafts*, all or none; they get their vectors too when there is a model and *embed* is true.

        Example:
            >>> from recollect import Memory
            >>> drafts = [Memory(content="Rent is due on the first"), Memory(content="Milk is out")]
            >>> [each.id for each in db.add_all(drafts)]
            [4, 5]
        """
        given = any(vector is not None for vector in vectors)
        self._fetch_model(None, wanted=embed)
        context = self._ingest_context(embed=embed, given=given, redact=redact)
        results = remember.ingest.ingest([context.own(draft) for draft in drafts], context, vectors=vectors)
        if embed and any(each.written for each in results):
            own = {each.id for each in results}  # what waits of an import is not a matter of this moment
            degraded = self._embed_if_possible(None, wanted=own.intersection)
            results = tuple(replace(each, degraded=degraded) for each in results)
        return results

    def import_(  # noqa: PLR0913 - each is an option of its own
        self,
        *paths: str | Path,
        redact: bool = True,
        embed: bool = True,
        trust: Trust = "owner",
        prune: bool = False,
        follow_links: bool = False,
        as_: str | None = None,
        from_: str | None = None,
        dry_run: bool = False,
        defer: bool = False,
        background: bool = False,
        progress: Progress | None = None,
    ) -> "remember.import_files.ImportReport":
        """Import files and folders; again and again if you like, only what changed is written.

        Files that are gone take their memories with them; all or most of those below a root only if told to *prune*.
        Links that lead out of a folder are passed over unless told to *follow_links*. Files are read as what they look
        like, or as the format called *as_*; `from_="claude-code"` finds what a program keeps in its usual place. A
        *dry_run* tells what would be read, and changes nothing. Everything can be found by its words first; then the
        memories of these files get their vectors: here, in the *background* (`flush` waits), or, where that is
        *deferred*, by `embed_imported`.

        Example:
            >>> report = db.import_("notes")
            >>> report.files["imported"], report.memories["new"]
            (1, 1)
        """
        paths, reading = remember.reading.resolved(paths, as_=as_, from_=from_, dry_run=dry_run)
        embedding = embed and not dry_run
        if self.profile.dedup == "bm25":  # which compares by meaning what it imports
            self._fetch_model(progress, wanted=embedding)
        context = self._ingest_context(embed=embedding, redact=redact, trust=trust)
        report = remember.import_files.import_files(
            paths, context, progress, prune=prune, follow_links=follow_links, reading=reading
        )
        if embedding and not defer:
            self.embed_imported(report, background=background, progress=progress)
        return report

    def embed_imported(
        self,
        report: "remember.import_files.ImportReport",
        *,
        background: bool = False,
        progress: Progress | None = None,
    ) -> int:
        """Give vectors to the memories of an import that have none, and of no others; return how many took one.

        *report* tells in the end how many still wait. What was made by then is kept when this is interrupted.

        Example:
            >>> report = db.import_("notes", defer=True)
            >>> db.embed_imported(report)
            1
        """
        wanted = None if report.restored else remember.embed.held_by(report.sources, self.store)
        before = self._waiting()
        try:
            if report.restored or report.sources:
                report.degraded = self._embed_if_possible(progress, wanted=wanted, background=background)
        finally:
            report.waiting = self._waiting()
            report.embedded = max(0, before - report.waiting)
        return report.embedded

    def _waiting(self) -> int:
        """Return how many memories have no vectors of the model in use; 0 where none is in use."""
        embedder = None if self.models.name == "none" else self.models.current()
        return 0 if embedder is None else remember.embed.waiting(self.store, embedder.fingerprint, scope=self.scope)

    def embed(self, progress: Progress | None = None) -> int:
        """Give a vector to every memory that has none of the model in use; return how many took one.

        Example:
            >>> db.add("The archive is on tape", embed=False).id
            4
            >>> db.embed()
            1
        """
        return self._embed(progress)

    def _resume_embedding(self) -> None:
        """In the background, make the vectors that an earlier process left to be made by the model in use."""
        self._writer.submit(lambda _: self._embed_what_waits(), None)

    def _embed_what_waits(self) -> None:
        known = self.store.generations(scope=self.scope)
        if any(each.pending for each in known if not each.is_external) and self.models.current() is not None:
            self._embed_now(None)

    def _embed(self, progress: Progress | None, wanted: "remember.embed.Wanted | None" = None) -> int:
        self.models.ready(now=self.now(), progress=progress)
        return remember.embed.embed_pending(
            store=self.store,
            embedder=self.models.required(),
            model=self._named(self.models.name) or "",
            context_weights=self.profile.embed.context_weights,
            wanted=wanted,
            progress=progress,
            stopped=lambda: self._writer.is_over,
        )

    def _fetch_model(self, progress: Progress | None, *, wanted: bool) -> None:
        """Install the model in use if it is *wanted* and missing; in the background nobody waits for that."""
        if wanted and not self.background:
            self.models.ready(now=self.now(), progress=progress)

    def _embed_if_possible(
        self, progress: Progress | None, *, wanted: "remember.embed.Wanted | None" = None, background: bool = False
    ) -> Degraded | None:
        """Give what is stored by now its vectors; what prevents that is told and not raised."""
        if background or self.background:
            self._writer.submit(lambda _: self._embed_now(None, wanted), None)
            return None
        return self._embed_now(progress, wanted)

    def _embed_now(self, progress: Progress | None, wanted: "remember.embed.Wanted | None" = None) -> Degraded | None:
        self.models.failure = None
        try:
            if self.models.ready(now=self.now(), progress=progress) is None:
                return None if self.models.name == "none" else "no_model"
            self._embed(progress, wanted)
        except RecollectError as error:
            self.models.failure = error
            return "model_failed" if isinstance(error, ModelError) else "vectors_pending"
        return None

    def _ask(self, request: Request, profile_name: str | None = None) -> Reply:
        """Answer *request* as the profile in use or the one named says; log it if it names a session."""
        profile = self.profile if profile_name is None else load_profile(profile_name)
        reply = self.answers(request, profile, self._answer, lambda: version_of(self))
        if request.session is not None:
            log = recall.log.RecallLog(store=self.store, retention=self.retention)
            self._log.submit(log, recall.log.Shown(reply=_unquoted(reply), request=request, at=self.now()))
        return reply

    def _named_request(self, request: Request) -> Request:
        """Return *request* with its session and lens called as they are kept."""
        session, lens = self._named(request.session), self._named(request.lens)
        named = (session, lens) != (request.session, request.lens)
        return replace(request, session=session, lens=lens) if named else request

    def _narrowed(self, projects: Names) -> Self:
        """Return a view that sees no other projects than *projects*."""
        view = copy(self)
        view._only = names(projects)
        return view

    def _answer(self, request: Request, profile: Profile) -> Reply:
        """Answer *request* as *profile* is tuned here; again, if the answer tells that it was tuned meanwhile."""
        tuned = self._tuned.tuned(profile, project=self._notes)
        reply = self._reply(request, tuned)
        if self._tuned.moved(reply.version, project=self._notes):
            anew = self._tuned.tuned(profile, project=self._notes)
            return reply if anew == tuned else self._reply(request, anew)
        return reply

    def _reply(self, request: Request, profile: Profile) -> Reply:
        return search.answer.search(request, self._context(profile, request.mode))

    def _context(self, profile: Profile, mode: Mode = "hybrid") -> "SearchContext":
        now = self._clock()
        return search.state.SearchContext(
            store=self.store,
            profile=profile,
            now=now,
            embedder=None if mode == "keyword" else self.models.current(),
            named=self.models.named,
            begin=self.models.begin,
            reranker=self.rerankers.current,
            look_through=lambda request: recall.lens.look_through(request, self.store, now=now, project=self._notes),
        )

    def _ranking(self, name: str | None = None) -> Profile:
        """Return the profile *name*, or the one in use, as it was tuned for this store."""
        self._tuned.moved(self.store.version(), project=self._notes)
        return self._tuned.tuned(self.profile if name is None else load_profile(name), project=self._notes)

    def show(self, memory_id: int) -> Shown:
        """Return a memory with its other wordings and its history.

        Example:
            >>> shown = db.show(1)
            >>> shown.memory.tags, [event.verb for event in shown.events]
            (('release',), ['add'])
        """
        memory, rows, scope = self._one(memory_id), [memory_id], self.scope
        return Shown(
            memory=memory,
            wordings=self.store.wordings(rows, scope=scope).get(memory_id, ()),
            events=self.store.history(rows, scope=scope).get(memory_id, ()),
            facts=self._facts_of(memory_id),
            passages=self._passages_of(memory_id),
        )

    def _passages_of(self, memory_id: int) -> tuple[tuple[int, int], ...]:
        """Return where the passages of a memory stand, if it has several."""
        made = next((each for each in self.generations() if not each.is_external), None)
        held = {} if made is None else self.store.vectors(made.fingerprint, [memory_id], scope=self.scope)
        found = held.get(memory_id, ())
        return tuple((each.start, each.stop) for each in found) if len(found) > 1 else ()

    def purge(
        self,
        ids: int | Sequence[int] | None = None,
        *,
        source: str | None = None,
        project: str | None = None,
        older_than: Moment | None = None,
        dry_run: bool = False,
        verify: bool = False,
        trace: Names = (),
    ) -> "upkeep.purge.PurgeReport":
        """Erase memories for good, forgotten ones too, and overwrite every byte of them in the files of the store.

        What is given must all fit: *ids* (an empty list is none), a *source* (a file or folder), a *project*, a date
        that they are *older_than*. To *verify* searches the raw bytes of the files for what was erased, and for the
        texts in *trace*.

        Example:
            >>> db.purge(3, dry_run=True).ids
            (3,)
            >>> db.purge(older_than="2026-04-20", verify=True).traces
            ()
        """
        self.flush()  # what was recalled until now belongs to the log
        selected = upkeep.purge.selection(
            scope=self.scope, ids=ids, source=source, project=project, older_than=older_than, now=self.now()
        )
        return upkeep.purge.purge(selected, self.store, dry_run=dry_run, verify=verify, traces=names(trace))

    def tag(
        self, *memory_ids: int, add: Sequence[str] = (), remove: Sequence[str] = ()
    ) -> "tuple[remember.edit.EditResult, ...]":
        """Give tags to memories and take others away, in all of them or in none.

        Example:
            >>> [each.changed for each in db.tag(1, 2, add=["weekly"])]
            [('tags',), ('tags',)]
        """
        context = self._ingest_context(embed=False)
        with self.store.transaction(self._projects(memory_ids)):
            found = self._several(memory_ids)
            tags = [remember.edit.tags_with(each, add=add, remove=remove) for each in found]
            return tuple(remember.edit.edit(one, {"tags": own}, context) for one, own in zip(found, tags, strict=True))

    def _successors(self, memory: Memory) -> dict[int, Memory]:
        """Return what took the place of *memory*, and of that one, by id."""
        found: dict[int, Memory] = {}
        while memory.superseded_by and memory.superseded_by not in found:
            loaded = self.store.load([memory.superseded_by], scope=ALL_PROJECTS)
            found |= loaded
            memory = loaded.get(memory.superseded_by, Memory(content=""))
        return found

    def reinforce(self, *fact_ids: int) -> int:
        """Vouch for facts: surer by 0.3, as far as their writer is trusted, and fresh from today; return how many.

        Example:
            >>> (fact,) = db.facts(subject="Owner")
            >>> db.reinforce(fact.id)
            1
        """
        facts, now = recall.log.chosen(fact_ids, self._all_facts()), self.now()
        held = self.store.load(sorted({fact.memory_id for fact in facts}), scope=self.scope)
        caps = {row: CONFIDENCE_CAPS[memory.trust] for row, memory in held.items()}
        return len(self.store.apply(recall.log.reinforced(facts, "reinforce", now=now, caps=caps), at=now))

    def _all_facts(self) -> Iterator[Fact]:
        return upkeep.facts.facts_in_slices(self.store, scope=self.scope)

    def _facts_of(self, memory_id: int) -> tuple[Fact, ...]:
        """Return what a memory states, oldest first, superseded facts too."""
        asked = FactQuery(memory_ids=(memory_id,), include_superseded=True)
        return self.store.facts(asked, scope=self.scope)[::-1]

    def review(self) -> "tuple[upkeep.review.ReviewItem, ...]":
        """Return what needs a person and is not settled: contradictions, merges, updates, agents' words, secrets.

        Example:
            >>> db.add("The gate is blue", trust="agent").id
            4
            >>> [(item.key, item.about) for item in db.review()]
            [('trust:4', 'Written by an agent.')]
        """
        context = self._ingest_context(embed=False)
        return upkeep.review.review(
            self.store,
            scope=self.scope,
            project=self._notes,
            conflicts=upkeep.consolidate.missed_conflicts(context, newest=upkeep.review.NEWEST),
            merges=upkeep.consolidate.newest_merges(context, newest=upkeep.review.NEWEST),
        )

    def note_failures(self, report: "remember.import_files.ImportReport") -> None:
        """Keep which files of an import could not be read, for `review`; those that could be are not asked about.

        Example:
            >>> db.note_failures(db.import_("notes"))
            >>> db.review()
            ()
        """
        failures = {self._named(each.path) or "": self._named(each.reason) or "" for each in report.errors}
        read = {name for _, name in report.sources}
        remember.failed_imports.note_failures(self.store, failures, read, project=self._notes)

    def settle(self, key: str, *, again: bool = False) -> None:
        """Keep the question *key* of `review` from being asked any more, or let it be asked *again*.

        Example:
            >>> db.add("The gate is blue", trust="agent").id
            4
            >>> db.settle("trust:4")
            >>> db.review()
            ()
        """
        named = self._named(key) or ""
        upkeep.review.settle(self.store, named, project=self._notes, at=self.now(), again=again)

    def eval(
        self,
        *datasets: str | Path,
        profile: Names = (),
        mode: Mode | Sequence[Mode] = "hybrid",
        split: "evaluate.datasets.Split" = "all",
        by: Literal["document", "session"] = "document",
        queries: int | None = None,
        run_file: Mapping[str, str | Path] = MappingProxyType({}),
        vectors: str | Path | None = None,
        progress: Progress | None = None,
    ) -> "evaluate.evaluate.Evaluation":
        """Measure how well judged questions are answered; the store itself is neither read nor changed.

        Several of *profile* and *mode* are compared with the first; *run_file* has rankings of other tools by name.
        *vectors* is the folder that keeps vectors for the next time, the user's cache folder when not given.

        Example:
            >>> run = db.eval("birds", mode="keyword", by="document").runs[0]
            >>> run.measures["ndcg@10"]
            1.0
        """
        modes: tuple[Mode, ...] = (mode,) if isinstance(mode, str) else tuple(mode)
        profiles = evaluate.plan.load_profiles(names(profile), self.profile)
        plan = evaluate.plan.make_plan(
            datasets,
            profiles=profiles,
            modes=modes,
            split=split,
            by_session=by == "session",
            queries=queries,
            run_file=run_file,
        )
        with evaluate.plan.kept_vectors(self.models, plan.modes, vectors) as embedder:
            resources = evaluate.corpus.EvalResources(
                embedder=embedder, model=self.models.name, reranker=self.rerankers.current, progress=progress
            )
            return evaluate.evaluate.evaluate(plan, resources)

    def tune(
        self, judged: str | Path | None = None, *, dry_run: bool = False, progress: Progress | None = None
    ) -> "evaluate.tune.Tuned":
        """Fit the profile's few weights to the questions of a file, or to what was said of answers so far.

        Adopted is only what is surely better on questions it was not fitted to; it stays with the store.

        Example:
            >>> from pathlib import Path
            >>> _ = Path("judged.jsonl").write_text('{"query": "when do we deploy", "relevant": [1]}')
            >>> db.tune("judged.jsonl", dry_run=True).adopted
            False
        """
        self.flush()  # what was recalled until now belongs to the log
        target = evaluate.tune.TuningTarget(
            profile=self.profile,
            store=self.store,
            scope=self.scope,
            now=self.now(),
            search=self._reply,
            project=self._notes,
        )
        return evaluate.tune.tune(target, judged, dry_run=dry_run, progress=progress)

    def tuning(self) -> "evaluate.tuning.Tuning | None":
        """Return what was tuned and is in force: which weights, since when, with which figures.

        Example:
            >>> db.tuning() is None
            True
        """
        return evaluate.tuning.in_force(self.profile, self.store, project=self._notes)

    def untune(self) -> "evaluate.tuning.Tuning":
        """Go back to the weights before the last tuning; return what was undone.

        Example:
            >>> db.untune()
            Traceback (most recent call last):
            recollect.errors.InputError: the profile default is not tuned here
        """
        return evaluate.tuning.untune(self.profile, self.store, project=self._notes)

    def consolidate(
        self, *, apply: bool = False, floor: float = 0.0, limit: int = 50
    ) -> "upkeep.consolidate.Consolidation":
        """Propose merges, links and what has faded below *floor*; do it when told to.

        Example:
            >>> db.consolidate().merges
            ()
            >>> db.consolidate(apply=True).applied
            True
        """
        context = self._ingest_context(embed=False)
        plan = upkeep.consolidate.plan_consolidation(context, floor=floor, limit=limit)
        if apply:
            return upkeep.consolidate.apply_consolidation(plan, store=self.store, now=context.now)
        return plan.proposed

    def undo_consolidation(self, *, dry_run: bool = False) -> tuple[int, ...]:
        """Bring back what consolidations merged away; a *dry_run* only tells what that is.

        Example:
            >>> db.undo_consolidation()
            ()
        """
        return upkeep.consolidate.undo_consolidation(self._ingest_context(embed=False), dry_run=dry_run)

    def export(self) -> Iterator[tuple[Memory, tuple[str, ...]]]:
        """Yield every memory that is not forgotten, with its other wordings, oldest id first, superseded ones too.

        Example:
            >>> [memory.id for memory, wordings in db.export()]
            [1, 2, 3]
        """
        return upkeep.export.exported(self.store, scope=self.scope)

    def archive(
        self, *, everything: bool = False, vectors: bool = False, progress: Progress | None = None
    ) -> Iterator[dict[str, Any]]:
        """Yield what `export` writes, a record a line: memories with all that belongs to them, and their sources.

        *everything* adds forgotten memories, the recall log, lenses, tunings and the ledgers of sessions; *vectors*
        those that models made, beside those that callers brought. `import_` reads it back without loss.

        Example:
            >>> [record["record"] for record in db.archive()]
            ['header', 'memory', 'memory', 'memory', 'end']
        """
        self.flush()
        return upkeep.export.archive(
            self.store, scope=self.scope, everything=everything, vectors=vectors, progress=progress
        )

    def stats(self) -> StoreStats:
        """Count what is here.

        Example:
            >>> stats = db.stats()
            >>> stats.memories, stats.types
            (3, {'config': 1, 'decision': 1, 'note': 1})
        """
        self._log.flush()  # what was recalled until now belongs to it
        return self.store.stats(scope=self.scope)

    def _outdated(self) -> tuple[Generation, ...]:
        """Return the generations of other models, if the one in use has vectors of its own for everything."""
        several = len(self.store.generations(scope=ALL_PROJECTS)) > 1
        embedder = self.models.current() if several else None
        return () if embedder is None else remember.embed.outdated_generations(self.store, embedder)

    def generations(self) -> tuple[Generation, ...]:
        """Return the generations of vectors, newest first: one for each model that made some.

        Example:
            >>> [(each.model, each.memories) for each in db.generations()]
            [('hashing', 3)]
        """
        return self.store.generations(scope=self.scope)

    def prune_vectors(self, *, dry_run: bool = False) -> tuple[Generation, ...]:
        """Drop the vectors of other models than the one in use; return their generations.

        Example:
            >>> db.prune_vectors(dry_run=True)
            ()
        """
        return remember.embed.prune(store=self.store, embedder=self.models.required(), dry_run=dry_run)

    def reindex(self, progress: Progress | None = None) -> int:
        """Make every index anew from the memories.

        Example:
            >>> db.reindex()
            3
        """
        return self.store.rebuild(progress)

    def _one(self, memory_id: int) -> Memory:
        return self._several([memory_id])[0]

    def _several(self, memory_ids: Sequence[int]) -> tuple[Memory, ...]:
        """Return the memories with these ids, each once; an unknown id is an error."""
        found = self.store.load(tuple(dict.fromkeys(memory_ids)), scope=self.scope)
        for row in memory_ids:
            if row not in found:
                raise unknown(row)
        return tuple(found[row] for row in dict.fromkeys(memory_ids))

    def _change(self, memory_ids: Sequence[int], write: Callable[[Memory], Write]) -> None:
        """Apply one write to each memory in one transaction: all of them or none."""
        with self.store.transaction(self._projects(memory_ids)):
            self.store.apply([write(memory) for memory in self._several(memory_ids)], at=self.now())

    def _projects(self, memory_ids: Sequence[int]) -> set[str]:
        """Return the projects of memories."""
        return {memory.project for memory in self._several(memory_ids)}


def _unquoted(reply: Reply) -> Reply:
    """Return *reply* as the log may keep it: without the secrets of its query."""
    return replace(reply, query=remember.redact.redact_text(reply.query).text)
