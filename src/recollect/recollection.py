"""Recollection: a store, a profile and a clock; the verbs, each a line or two."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack, cast

from msgspec.structs import replace

from recollect import evaluate, recall, remember, search, upkeep
from recollect.arguments import checked, findable, guarded
from recollect.embedders.models import NO_MODELS, Models
from recollect.errors import InputError, ModelError, RecollectError, StoreClosed, StoreError
from recollect.options import (
    USUAL,
    FilterOptions,
    InjectOptions,
    MemoryOptions,
    Moment,
    Names,
    SearchOptions,
    dated,
    filter_from,
    names,
    narrowed,
    request_from,
    start_of,
)
from recollect.profile import Profile, load_profile
from recollect.records import (
    ALL_PROJECTS,
    GLOBAL,
    Fact,
    FactQuery,
    Feedback,
    Forget,
    Generation,
    Memory,
    Moved,
    Position,
    Progress,
    Recall,
    Recovery,
    Scope,
    StoreStats,
    Trust,
    Verdict,
    Write,
)
from recollect.replies import Degraded, Health, Listing, Mode, Related, Reply, Request, Shown
from recollect.rerankers.contract import NO_RERANKER, Rerankers
from recollect.settings import Settings, bound, models_folder, read_settings, segments_folder
from recollect.stores.choice import move_store, open_store, recover_store, shown_address
from recollect.stores.contract import Store, unknown
from recollect.text.analyser import ANALYSER, analyse
from recollect.trust import CONFIDENCE_CAPS, level, may_change

if TYPE_CHECKING:  # a package loads what a verb needs when the verb is used
    SearchContext = search.state.SearchContext
    Why = search.why.Why

LOGGING, EMBEDDING = "writing the recall log", "making vectors in the background"
"""What the two threads of a long-lived process do, as `doctor` names it."""
Clock = Callable[[], datetime]
Answers = Callable[[Request, Profile, Callable[[Request, Profile], Reply], Callable[[], Hashable]], Reply]
"""How a request is answered: by what it is given to search with, or by a result of the same version that is kept."""


def answer_anew(
    request: Request, profile: Profile, search: Callable[[Request, Profile], Reply], _: Callable[[], Hashable]
) -> Reply:
    """Search, whatever was asked before."""
    return search(request, profile)


def version_of(db: "Recollection") -> Hashable:
    """Return what changes whenever an answer may: with a write from any process, and with the model in use."""
    return db.store.version(), db.models.state


def utc_now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


@checked
def open(  # noqa: A001  (recollect.open reads as it should)
    address: str | Path | None = None,
    *,
    profile: str | None = None,
    project: str | None = None,
    model: str | None = None,
    reranker: str | None = None,
    clock: Clock = utc_now,
    background: bool = False,
) -> "Recollection":
    """Open the store at *address* (a path or ":memory:"; the user's own store when not given).

    *model* is an installed model's name or folder, "hashing", or "none" to search by words alone;
    *reranker* the folder of a cross-encoder that reads the best hits again, or "none".
    In the *background* means that new memories get their vectors from a thread: for processes that live long.

    Example:
        >>> with recollect.open(":memory:", model="none") as notes:
        ...     notes.add("We deploy on Fridays").id
        1
    """
    place = None if address is None else str(address)
    settings = read_settings(db=place, profile=profile, project=project, model=model, reranker=reranker)
    opened = Recollection(
        store=open_store(settings.db, analyse, analyser=ANALYSER, cache=segments_folder()),
        profile=load_profile(settings.profile),
        project=settings.project or None,
        models=Models(
            name=settings.model,
            folder=models_folder(settings),
            key=settings.model_key,
            offline=settings.is_offline,
        ),
        rerankers=Rerankers(settings.reranker),
        clock=clock,
        address=settings.db,
        background=background,
        retention=recall.log.Retention(days=bound(settings, "log_days"), megabytes=bound(settings, "log_megabytes")),
    )
    if background:
        opened._resume_embedding()  # noqa: SLF001
    return opened


@contextmanager
def lend(db: "Recollection", settings: Settings) -> "Iterator[Recollection]":
    """Give *db*, which stays open, as it would be if it were opened by *settings* for one command.

    What that command leaves for later is done in the end; what goes wrong with a model goes wrong for it alone.
    """
    view = copy(db)
    view.profile, view.address, view.background = load_profile(settings.profile), settings.db, False
    view._choose(settings.project or None)  # noqa: SLF001
    view.models = db.models.lent()
    view._log = recall.log.BackgroundWriter(LOGGING, failures=db._log.failures)  # noqa: SLF001
    view._writer = recall.log.BackgroundWriter(EMBEDDING, failures=db._writer.failures)  # noqa: SLF001
    try:
        yield view
    finally:
        view._log.close()  # noqa: SLF001
        view._writer.close()  # noqa: SLF001


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


@guarded(USUAL)
class Recollection:
    """Memories you can search. Close it, or use it in a `with` block."""

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
        self._tuned = evaluate.tuning.TunedProfiles(store)
        self._choose(project)

    def __enter__(self) -> Self:
        return self

    def __repr__(self) -> str:
        project = "" if self.project is None else f", project={self.project!r}"
        return f"Recollection({shown_address(self.address)!r}{project}, profile={self.profile.name!r})"

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
            >>> [each.query for each in db.recalls(session="tuesday")]
            ['port']
        """
        self._log.flush()
        self._writer.flush()

    def in_project(self, name: str) -> "Recollection":
        """Return a view of the same store that writes to the project *name* and sees nothing else.

        Example:
            >>> web = db.in_project("web")
            >>> web.add("The web team meets on Mondays").id
            4
            >>> web.stats().memories, db.stats().memories
            (1, 4)
        """
        view = copy(self)
        view._choose(name)  # noqa: SLF001
        return view

    def project_of(self, folder: str | Path, *, claim: bool = False) -> str | None:
        """Return the project of the repository in *folder*; with *claim* no other repository gets its name.

        Example:
            >>> db.project_of("/srv/code/shop")
            'shop'
        """
        from recollect.remember.repository import project_of  # noqa: PLC0415  (only hooks ask)

        return project_of(folder, self.store, claim=claim)

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
        return ALL_PROJECTS if self.project is None else Scope(projects=frozenset({self.project}))

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
        )

    def add(
        self,
        /,
        content: str,
        *,
        vector: Sequence[float] | None = None,
        redact: bool = True,
        embed: bool = True,
        **about: Unpack[MemoryOptions],
    ) -> "remember.ingest.IngestResult":
        """Remember *content*; *about* are fields of Memory (type, tags, title, source, confidence, metadata, …).

        The name, description, path, worker_role and requirements of a memory go into its metadata and are
        searched like everything else. A *vector* of your own is stored beside those of the model in use if it is
        as wide as they are, else apart; `search(embedding=…)` finds it.

        Example:
            >>> db.add("Backups run at night", type="config", tag="ops", date="yesterday", confidence=0.9).id
            4
            >>> db.add("Backups run at night").decision
            'identical'
        """
        drafts = [remember.clean.draft(content, {"project": self.project or "default", **dated(about, now=self.now())})]
        return self.add_all(drafts, vectors=[vector], redact=redact, embed=embed)[0]

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

    def import_roots(
        self,
        *,
        trust: Trust = "owner",
        prune: bool = False,
        embed: bool = True,
        dry_run: bool = False,
        defer: bool = False,
        background: bool = False,
        progress: Progress | None = None,
    ) -> "remember.import_files.ImportReport":
        """Import every root again, each as it was imported and for its project, trusted at most as *trust* says.

        See `keep_root`.

        Example:
            >>> kept = db.keep_root("notes")
            >>> db.import_roots().memories["new"]
            1
        """
        kept = self.roots()
        if not kept:
            raise InputError("no roots are kept here", hint="name files or folders: recollect import PATH")
        total = remember.import_files.ImportReport()
        for group in remember.roots.by_options(kept):
            view = self.in_project(group[0].project) if group[0].project else self
            report = view.import_(
                *(each.path for each in group if each.path),
                **{**group[0].options, "trust": min(group[0].trust, trust, key=level)},
                prune=prune,
                embed=embed,
                dry_run=dry_run,
                defer=True,
                progress=progress,
            )
            total.add(report)
        if embed and not (defer or dry_run):
            self.embed_imported(total, background=background, progress=progress)
        return total

    def keep_root(
        self,
        path: str | Path = "",
        *,
        trust: Trust = "owner",
        redact: bool = True,
        follow_links: bool = False,
        as_: str | None = None,
        from_: str | None = None,
    ) -> "remember.roots.Root":
        """Keep a file or folder, or what the program *from_* keeps, as a root: `import_roots` imports it again.

        The options are those of `import_`, and are told to it then.

        Example:
            >>> db.keep_root("notes", trust="agent").trust
            'agent'
        """
        remember.reading.resolved([path] if path else [], as_=as_, from_=from_, dry_run=False)
        place = remember.import_files.source_of(Path(path).expanduser()) if path else ""
        if not (place or from_) or self._ingest_context(embed=False).source_name(place) != place:
            raise InputError("this path cannot be kept", hint="name a file or folder whose path holds no secret")
        root = remember.roots.Root(
            path=place,
            project=self._notes,
            trust=trust,
            redact=redact,
            follow_links=follow_links,
            as_=as_,
            from_=from_,
        )
        remember.roots.keep_root(root, self.store)
        return root

    def roots(self) -> "tuple[remember.roots.Root, ...]":
        """Return the roots of the project chosen, or of all projects.

        Example:
            >>> kept = db.keep_root("notes")
            >>> db.roots() == (kept,)
            True
        """
        names = [self.project] if self.project is not None else sorted({"", *self.store.projects()})
        return tuple(each for name in names for each in remember.roots.roots(self.store, project=name))

    def drop_root(self, path: str | Path) -> None:
        """Keep a root no longer; the memories that came from it stay.

        Example:
            >>> kept = db.keep_root("notes")
            >>> db.drop_root("notes")
            >>> db.roots()
            ()
        """
        kept = {each.name for each in self.roots()}
        place = remember.import_files.source_of(Path(path).expanduser())
        remember.roots.drop_root(str(path) if str(path) in kept else place, self.store, project=self._notes)

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

    def capture(
        self, text: str, *, trust: Trust = "agent", embed: bool = True
    ) -> "tuple[remember.ingest.IngestResult, ...]":
        """Remember what a worker's output asks to: `[MEMORY]` markers and cue sentences; never what we rendered.

        Example:
            >>> said = "[MEMORY] type=gotcha: The cache must be cleared after each deploy"
            >>> [db.show(each.id).memory.type for each in db.capture(said)]
            ['gotcha']
        """
        drafts = self._ingest_context(embed=False, trust=trust).captured(text)
        return self.add_all(drafts, embed=embed) if drafts else ()

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

    def search(self, /, query: str, **options: Unpack[SearchOptions]) -> Reply:
        """Answer *query*: the hits, best first, how far to trust them, and why there are none.

        Example:
            >>> reply = db.search("when do we deploy", type="decision", since="2026-04-01")
            >>> reply.outcome, [hit.memory.content for hit in reply.hits]
            ('answered', ['We deploy on Fridays'])
        """
        name, request = options.get("profile"), self._request(query, options)
        profile = self.profile if name is None else load_profile(name)
        reply = self.answers(request, profile, self._answer, lambda: version_of(self))
        if request.session is not None:
            log = recall.log.RecallLog(store=self.store, retention=self.retention)
            self._log.submit(log, recall.log.Shown(reply=_unquoted(reply), request=request, at=self.now()))
        return reply

    def _request(self, text: str, options: Mapping[str, Any]) -> Request:
        """Return what is asked within the scope; its session and lens are called as they are kept."""
        request = request_from(text, options, scope=self.scope, now=self._clock())
        session, lens = self._named(request.session), self._named(request.lens)
        named = (session, lens) != (request.session, request.lens)
        return replace(request, session=session, lens=lens) if named else request

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

    def decisions(self, /, query: str, **options: Unpack[SearchOptions]) -> Reply:
        """Answer *query*, leaning towards what was decided.

        Example:
            >>> [hit.id for hit in db.decisions("deploy", limit=1).hits]
            [1]
        """
        return self.search(search.intent.boost(query, "decisions"), **options)

    def changes(self, /, query: str, **options: Unpack[SearchOptions]) -> Reply:
        """Answer *query*, leaning towards what was changed.

        Example:
            >>> [hit.id for hit in db.changes("staging port", limit=1).hits]
            [2]
        """
        return self.search(search.intent.boost(query, "changes"), **options)

    def how_it_works(self, /, query: str, **options: Unpack[SearchOptions]) -> Reply:
        """Answer *query*, leaning towards how things work.

        Example:
            >>> [hit.id for hit in db.how_it_works("billing service", limit=1).hits]
            [3]
        """
        return self.search(search.intent.boost(query, "how_it_works"), **options)

    def related(self, memory_id: int, *, limit: int | None = None) -> tuple[Related, ...]:
        """Return the memories of its project that belong to one, nearest first, each with its reasons.

        Example:
            >>> db.add("We deploy from the main branch").id
            4
            >>> [each.id for each in db.related(1, limit=1)]
            [4]
        """
        one, context = self._one(memory_id), self._context(self._ranking())
        return search.related.related(one, context, scope=Scope(projects=frozenset({one.project})), limit=limit)

    def inject(
        self,
        /,
        task: str,
        *,
        description: str = "",
        tag: Names = (),
        session: str | None = None,
        style: "recall.inject.Style" = "markdown",
        limit: int = 5,
        budget: int = 500,
        **options: Unpack[InjectOptions],
    ) -> "recall.inject.Rendered":
        """Return what a task should be told: `## Relevant Memories` within a budget, or nothing at all.

        A *tag* is the task's own and is searched for; *only_tag* and the other filters say which memories may be told.
        Only what probably answers is told, unless told `precise=False`.

        Example:
            >>> db.inject("Prepare the staging server", session="monday", type="config").ids
            (2,)
            >>> db.inject("Prepare the staging server", session="monday", type="config").ids
            ()
        """
        session = self._named(session)
        asked = recall.inject.task_query(task, description=description, tags=names(tag))
        told = recall.ledger.told(self.store, session, project=self._notes)
        most = max(limit, self.profile.limit) + len(told)
        reply = self.search(asked, **_for_task(options, limit=most, session=session))
        if reply.outcome == "weak":
            title = self.search(recall.inject.task_query(task), **_for_task(options, limit=most))
            reply = recall.inject.trusted_as(title, reply)
        return recall.inject.inject(
            reply,
            store=self.store,
            now=self.now(),
            session=session,
            project=self._notes,
            style=style,
            limit=limit,
            budget=budget,
        )

    def remind(
        self, prompt: str, *, recent: Sequence[str] = (), session: str | None = None, limit: int = 3, budget: int = 500
    ) -> "recall.inject.Rendered":
        """Return what a prompt of a coding session should be told: the statements that govern it, or nothing at all.

        It reads the project of this view and what holds in all projects. *recent* are the last turns of the session.

        Example:
            >>> db.remind("ok, thanks").text
            ''
        """
        return recall.prompts.remind(
            prompt,
            store=self.store,
            scope=self._with_global,
            now=self.now(),
            embedder=self.models.current,
            search=lambda text: self.search(text, precise=True, limit=limit * 2),
            recent=recent,
            session=self._named(session),
            project=self._notes,
            limit=limit,
            budget=budget,
        )

    @property
    def _with_global(self) -> Scope:
        """The projects that a session of this view reads: its own, and what holds in all of them."""
        own = self.scope.projects
        return self.scope if own is None else Scope(projects=own | {GLOBAL})

    def brief(self, *, session: str | None = None, limit: int = 14, budget: int = 500) -> "recall.inject.Rendered":
        """Return what a new session should know before anything is asked: what is pinned, decided, preferred.

        Example:
            >>> db.brief().ids
            (1,)
        """
        return recall.brief.brief(
            self.store,
            scope=self._with_global,
            now=self.now(),
            session=self._named(session),
            project=self._notes,
            limit=limit,
            budget=budget,
        )

    def why(self, /, memory_id: int, query: str, **options: Unpack[SearchOptions]) -> "Why":
        """Explain why a memory was or was not found: its rank in each list, what blocks it, what would help.

        Example:
            >>> db.why(1, "deploy", type="config").blocked_by
            'filter'
        """
        self._one(memory_id)
        request = self._request(query, options)
        return search.why.why(memory_id, request, self._context(self._ranking(options.get("profile")), request.mode))

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

    def list(
        self,
        *,
        limit: int = 20,
        offset: int = 0,
        after: Position | None = None,
        **options: Unpack[FilterOptions],
    ) -> Listing:
        """Return memories newest first; those *after* the position of a memory, if given.

        Example:
            >>> [memory.id for memory in db.list(type=["decision", "config"]).memories]
            [2, 1]
        """
        most, passed = (max(0, min(number, 2**62)) for number in (limit, offset))
        scope, where = narrowed(self.scope, options.get("project")), filter_from(options, now=self.now())
        page = self.store.browse(scope=scope, where=where, limit=most, offset=passed, after=after)
        return Listing(memories=tuple(self.store.load(page.ids, scope=scope).values()), total=page.total)

    def forget(self, *memory_ids: int, reason: str = "", trust: Trust = "owner") -> None:
        """Hide memories from every search until they are restored: all of them or none.

        What the owner forgot, callers of less *trust* can neither restore nor add again in the same words.

        Example:
            >>> db.forget(2, reason="the server is gone")
            >>> db.search("staging", mode="keyword").hits
            ()
        """
        told = {"reason": remember.redact.redact_text(reason).text} if reason else {}
        detail = told if trust == "owner" else {**told, "trust": trust}
        with self.store.transaction():
            self._change(memory_ids, lambda memory: Forget(id=memory.id, detail=detail))
            if trust == "owner":
                remember.forgotten.note_forgotten(self._several(memory_ids), self.store)

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

    def prune_log(self, *, older_than: Moment | None = None, max_size: float | None = None) -> int:
        """Drop searches from the recall log that are too old, or too many for *max_size* megabytes.

        By the settings when neither is given.

        Example:
            >>> db.prune_log(older_than="90d")
            0
        """
        self.flush()
        if older_than is None and max_size is None:
            return self.retention.prune(self.store, scope=self.scope, now=self.now())
        before, size = start_of(older_than, "older_than", now=self.now()), upkeep.purge.in_bytes(max_size)
        return self.store.prune_recalls(scope=self.scope, before=before, max_bytes=size)

    def create_token(
        self,
        *,
        name: str | None = None,
        project: str | None = None,
        read_only: bool = False,
        trust: Trust = "agent",
        lifetime: timedelta | None = None,
    ) -> "upkeep.tokens.NewToken":
        """Make a token for a server of this store; its secret is told this once and kept as a digest.

        Example:
            >>> made = db.create_token(name="bot", read_only=True)
            >>> made.token.read_only, made.secret.startswith("rct.bot.")
            (True, True)
        """
        if self._named(name) != name:
            raise InputError("a token cannot be called by a secret", hint="its name is shown to everybody")
        return upkeep.tokens.create_token(
            self.store,
            now=self.now(),
            name=name,
            project=self._named(project) or self.project,
            read_only=read_only,
            trust=trust,
            lifetime=lifetime,
        )

    def tokens(self) -> "tuple[upkeep.tokens.Token, ...]":
        """Return the tokens for servers of this store, by name; in a project those of the project.

        Example:
            >>> made = db.create_token(name="bot")
            >>> [each.name for each in db.tokens()]
            ['bot']
        """
        held = upkeep.tokens.tokens(self.store)
        return tuple(each for each in held if self.project is None or each.project == self.project)

    def revoke_token(self, name: str) -> None:
        """Drop a token: from now on it opens nothing.

        Example:
            >>> made = db.create_token(name="bot")
            >>> db.revoke_token("bot")
            >>> db.tokens()
            ()
        """
        if name not in {each.name for each in self.tokens()}:
            raise InputError(f"no token is called {name!r}", hint="see: recollect token list")
        upkeep.tokens.revoke_token(self.store, name)

    def restore(self, *memory_ids: int, trust: Trust = "owner") -> None:
        """Bring back memories that were forgotten or superseded: all of them or none.

        A caller of less *trust* than whoever hid one of them is refused.

        Example:
            >>> db.forget(1)
            >>> db.restore(1)
            >>> [hit.id for hit in db.search("deploy").hits]
            [1]
        """
        with self.store.transaction():
            memories = self._several(memory_ids)
            if trust != "owner":
                remember.forgotten.refuse_restoring(memories, self.store, trust)
            self._change(memory_ids, remember.clean.restoring)
            remember.forgotten.drop_notes(memories, self.store)

    def pin(self, *memory_ids: int, pinned: bool = True) -> None:
        """Keep memories from ageing, or let them age again: all of them or none.

        Example:
            >>> db.pin(1)
            >>> db.show(1).memory.pinned
            True
        """
        self._change(memory_ids, lambda memory: remember.clean.pinning(memory, pinned=pinned))

    def edit(  # noqa: PLR0913  (each is a field)
        self,
        memory_id: int,
        *,
        content: str | None = None,
        title: str | None = None,
        type: str | None = None,  # noqa: A002  (the name of the field)
        tag: str | Sequence[str] | None = None,
        source: str | None = None,
        confidence: float | None = None,
        date: Moment | None = None,
        metadata: Mapping[str, object] | None = None,
        redact: bool = True,
        embed: bool = True,
    ) -> "remember.edit.EditResult":
        """Change what is given of a memory; what it said stays in its history, and it is found by its new words.

        Example:
            >>> db.edit(1, content="We deploy on Thursdays", tag="release, weekly", date="2026-05-01").changed
            ('content', 'observed_at', 'tags')
        """
        told = {
            "content": content,
            "title": title,
            "type": type,
            "source": source,
            "confidence": confidence,
            "metadata": metadata,
            "tag": tag,
            "date": date,
        }
        changes = dated({name: value for name, value in told.items() if value is not None}, now=self.now())
        with self.store.transaction():
            context = self._ingest_context(embed=False, redact=redact)
            done = remember.edit.edit(self._one(memory_id), changes, context)
        if embed and {"content", "title"} & set(done.changed):
            done = replace(done, degraded=self._embed_if_possible(None))
        return done

    def tag(
        self, *memory_ids: int, add: Sequence[str] = (), remove: Sequence[str] = ()
    ) -> "tuple[remember.edit.EditResult, ...]":
        """Give tags to memories and take others away, in all of them or in none.

        Example:
            >>> [each.changed for each in db.tag(1, 2, add=["weekly"])]
            [('tags',), ('tags',)]
        """
        context = self._ingest_context(embed=False)
        with self.store.transaction():
            found = self._several(memory_ids)
            tags = [remember.edit.tags_with(each, add=add, remove=remove) for each in found]
            return tuple(remember.edit.edit(one, {"tags": own}, context) for one, own in zip(found, tags, strict=True))

    def supersede(self, memory_id: int, by: int, *, keep_wording: bool = False, trust: Trust = "owner") -> None:
        """Replace a memory by the memory *by*, and hide it unless asked for.

        With *keep_wording* its text becomes another wording of *by*, so that its words still find that one.

        Example:
            >>> new = db.add("Releases leave on Thursdays")
            >>> db.supersede(1, new.id)
            >>> db.show(1).memory.superseded_by == new.id
            True
        """
        with self.store.transaction():
            old, new = self._one(memory_id), self._one(by)
            write = remember.clean.superseding(old, new, successors=self._successors(new))
            wordings = [remember.clean.merging(old, new)] if keep_wording else []
            detail = {} if trust == "owner" else {"trust": trust}
            self.store.apply([*wordings, replace(write, detail=detail)], at=self.now())

    def _successors(self, memory: Memory) -> dict[int, Memory]:
        """Return what took the place of *memory*, and of that one, by id."""
        found: dict[int, Memory] = {}
        while memory.superseded_by and memory.superseded_by not in found:
            loaded = self.store.load([memory.superseded_by], scope=ALL_PROJECTS)
            found |= loaded
            memory = loaded.get(memory.superseded_by, Memory(content=""))
        return found

    def feedback(
        self,
        memory_id: int,
        verdict: Verdict,
        *,
        session: str | None = None,
        query: str | None = None,
        trust: Trust = "owner",
    ) -> None:
        """Say what became of a recalled memory: used, useful or wrong; its facts fade later, or are doubted.

        The verdict of a caller who is trusted less than the writer is noted, and moves no fact.

        Example:
            >>> db.feedback(1, "useful", session="monday")
            >>> [event.verb for event in db.show(1).events]
            ['add', 'feedback']
        """
        recall.log.refuse_other_verdicts(verdict)
        memory = self._one(memory_id)
        asked, now = query and remember.redact.redact_text(query).text, self.now()
        told = Feedback(id=memory_id, verdict=verdict, session=self._named(session), query=asked)
        moved = self._facts_of(memory_id) if may_change(trust, memory) else ()
        facts = recall.log.reinforced(moved, verdict, now=now)
        self.store.apply([told, *facts], at=now)

    def facts(
        self,
        *,
        subject: str | None = None,
        type: Names | None = None,  # noqa: A002  (as the option)
        limit: int = 100,
    ) -> tuple[Fact, ...]:
        """Return what memories state, newest first.

        Example:
            >>> [(fact.subject, fact.object) for fact in db.facts(subject="Owner")]
            [('Owner', 'Mara of the billing team')]
        """
        types = None if type is None else names(type)
        return self.store.facts(FactQuery(subject=subject, types=types, limit=limit), scope=self.scope)

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

    def stale(self, *, below: float = 0.5, days: float = 30) -> tuple[Fact, ...]:
        """Return the facts that have faded or were left alone.

        Example:
            >>> [fact.subject for fact in db.stale(below=0.1, days=30)]
            []
        """
        return tuple(upkeep.facts.stale(self._all_facts(), now=self.now(), below=below, days=days))

    def conflicts(self) -> "tuple[upkeep.facts.Conflict, ...]":
        """Return the facts of one project that contradict each other, and so the memories: remembered so, or newest.

        Example:
            >>> db.conflicts()
            ()
        """
        stated = upkeep.facts.all_conflicts(self.store, scope=self.scope)
        missed = upkeep.consolidate.missed_conflicts(self._ingest_context(embed=False))
        return tuple(upkeep.facts.without_repeats([*stated, *missed]))

    def _all_facts(self) -> Iterator[Fact]:
        return upkeep.facts.facts_in_slices(self.store, scope=self.scope)

    def _facts_of(self, memory_id: int) -> tuple[Fact, ...]:
        """Return what a memory states, oldest first, superseded facts too."""
        asked = FactQuery(memory_ids=(memory_id,), include_superseded=True)
        return self.store.facts(asked, scope=self.scope)[::-1]

    def timeline(self, query: str = "", *, limit: int = 50) -> tuple[Memory, ...]:
        """Return memories oldest first, superseded ones too: those that *query* finds, or the newest of all.

        Example:
            >>> [memory.when.day for memory in db.timeline()]
            [10, 20, 30]
        """
        found = [hit.memory for hit in self.search(query, include_superseded=True, limit=limit).hits]
        return tuple(sorted(found, key=lambda memory: (memory.when, memory.id)))

    def recalls(
        self, *, session: str | None = None, fact: int | None = None, memory: int | None = None, limit: int = 20
    ) -> tuple[Recall, ...]:
        """Return what was recalled, the last first: in one session, with one fact, of one memory, or at all.

        Example:
            >>> [(each.query, each.outcome) for each in db.recalls(session="friday")]
            [('deploy', 'answered')]
        """
        self._log.flush()  # what was recalled until now belongs to it
        return self.store.recalls(
            scope=self.scope, session=self._named(session), fact_id=fact, memory_id=memory, limit=limit
        )

    def activity(self, *, session: str | None = None, limit: int = 50) -> "tuple[upkeep.activity.Entry, ...]":
        """Return what happened lately, the last first: learned, changed, recalled, or told to an agent.

        Example:
            >>> [(entry.what, entry.ids) for entry in db.activity(limit=2)]
            [('recalled', (1,)), ('learned', (3,))]
        """
        self._log.flush()  # what was recalled until now belongs to it
        most, asked = max(0, min(limit, 10_000)), self._named(session)
        return upkeep.activity.activity(self.store, scope=self.scope, project=self._notes, session=asked, limit=most)

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

    def never_recalled(self, *, limit: int | None = None) -> tuple[Memory, ...]:
        """Return the memories that no logged search has shown, the oldest first.

        Example:
            >>> [memory.id for memory in db.never_recalled()]
            [2, 3]
        """
        self._log.flush()  # what was recalled until now belongs to it
        return recall.log.never_recalled(self.store, scope=self.scope, limit=None if limit is None else max(0, limit))

    def never_used(self) -> "tuple[recall.log.MemoryUse, ...]":
        """Return the memories that were shown three times or more and never used, most often shown first.

        Example:
            >>> db.never_used()
            ()
        """
        self._log.flush()  # what was recalled until now belongs to it
        return recall.log.never_used(self.store, scope=self.scope)

    def unanswered(self, *, limit: int = 20) -> tuple[tuple[str, int], ...]:
        """Return the logged queries that found nothing, and how often each was asked.

        Example:
            >>> db.search("dentist", session="friday", mode="keyword").outcome
            'none'
            >>> db.unanswered()
            (('dentist', 1),)
        """
        self._log.flush()  # what was recalled until now belongs to it
        return self.store.unanswered(scope=self.scope, limit=limit)

    def keep_lens(self, lens: "recall.lens.Lens") -> None:
        """Keep a lens under its name, in the project chosen or in none.

        Example:
            >>> from recollect.recall.lens import Lens
            >>> db.keep_lens(Lens(name="decided", types=("decision",)))
            >>> [hit.id for hit in db.search("", lens="decided").hits]
            [1]
        """
        unquoted = remember.redact.redact_record(lens, self._digest()).record
        recall.lens.keep_lens(unquoted, self.store, project=self._notes)

    def create_lens(  # noqa: PLR0913  (each is a filter of its own)
        self,
        name: str,
        *,
        only_project: Names | None = None,
        type: Names | None = None,  # noqa: A002  (as the option)
        tag: Names | None = None,
        source: Names | None = None,
        kind: Names | None = None,
        fact_type: Names | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        boost: Mapping[str, float] = MappingProxyType({}),
    ) -> "recall.lens.Lens":
        """Keep a lens under its name: what it leaves in view, and what it ranks higher or lower.

        A date given as text, such as "last week", is read anew with each search.

        Example:
            >>> db.create_lens("ops", type="config", boost={"tag:staging": 1.5}).name
            'ops'
            >>> [hit.id for hit in db.search("", lens="ops").hits]
            [2]
        """
        chosen = {"projects": only_project, "types": type, "tags": tag, "sources": source, "kinds": kind}
        several = {key: names(value) for key, value in {**chosen, "fact_types": fact_type}.items() if value is not None}
        dates = {key: str(value) for key, value in {"since": since, "until": until}.items() if value is not None}
        made = recall.lens.Lens(name=name, boosts=boost, **several, **dates)  # type: ignore[arg-type]
        self.keep_lens(made)
        return made

    def lenses(self) -> "tuple[recall.lens.Lens, ...]":
        """Return the lenses kept in the project chosen, or in none.

        Example:
            >>> [lens.name for lens in db.lenses()]
            ['recent']
        """
        return recall.lens.lenses(self.store, project=self._notes)

    def drop_lens(self, name: str) -> None:
        """Drop a lens.

        Example:
            >>> db.drop_lens("recent")
            >>> db.lenses()
            ()
        """
        recall.lens.drop_lens(self._named(name) or name, self.store, project=self._notes)

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

    def backup(
        self, path: str | Path, *, force: bool = False, progress: Progress | None = None
    ) -> "upkeep.backup.Backup":
        """Write a checked copy of the whole store, every project, to the file *path* while others go on writing.

        Example:
            >>> db.backup("notes.bak.db").memories
            3
        """
        self._require_whole()
        place = findable(path)
        return upkeep.backup.back_up(self.store, place, now=self.now(), force=force, progress=progress)

    def backup_to(
        self, folder: str | Path, *, keep: int | None = None, progress: Progress | None = None
    ) -> "upkeep.backup.Backup":
        """Write a backup named by its time into *folder*, and *keep* only so many backups of this store there.

        Example:
            >>> db.backup_to("backups", keep=7).memories
            3
        """
        self._require_whole()
        place = findable(folder)
        return upkeep.backup.back_up_to(
            self.store, place, address=self.address, now=self.now(), keep=keep, progress=progress
        )

    def restore_backup(self, path: str | Path, *, dry_run: bool = False) -> "upkeep.backup.RestoredBackup":
        """Put the backup *path* in the place of the whole store; what is here is kept in a file beside it.

        Example:
            >>> _ = db.backup("notes.bak.db")
            >>> db.forget(1)
            >>> db.restore_backup("notes.bak.db").memories
            3
        """
        self._require_whole()
        return upkeep.backup.restore_backup(
            self.store, findable(path), address=self.address, now=self.now(), dry_run=dry_run
        )

    def _require_whole(self) -> None:
        """Finish the log; refuse to copy what lies beyond the project chosen."""
        if self.project is not None:
            hint = "open the store without a project; of one project there is an export"
            raise InputError("a backup holds every project", hint=hint)
        self.flush()

    def last_backup(self) -> Mapping[str, Any] | None:
        """Return when the store was last backed up (`at`) and where to (`path`).

        Example:
            >>> db.last_backup() is None
            True
        """
        return upkeep.backup.last_backup(self.store)

    def stats(self) -> StoreStats:
        """Count what is here.

        Example:
            >>> stats = db.stats()
            >>> stats.memories, stats.types
            (3, {'config': 1, 'decision': 1, 'note': 1})
        """
        self._log.flush()  # what was recalled until now belongs to it
        return self.store.stats(scope=self.scope)

    def doctor(self, *, deep: bool = False) -> Health:
        """Look for damage, and for vectors that nobody needs any more; *deep* compares every row and every token.

        Example:
            >>> db.doctor(deep=True).healthy
            True
        """
        problems = self.store.check(deep=deep)
        try:
            old, memories = [each.model for each in self._outdated()], self.stats().memories
        except StoreClosed:
            raise
        except StoreError as error:
            problems = problems or (f"{error}; {error.hint}",)
            return Health(problems=problems, memories=0, address=shown_address(self.address))
        advice = [f"vectors of {name} are here and not in use; drop them: recollect model prune" for name in old]
        privacy = upkeep.privacy.leaving(self.models, self.address)
        advice += [*upkeep.privacy.exposed(self.address), *filter(None, [self.models.notice])]
        advice += [*self._log.failures, *self._writer.failures]
        return Health(
            problems=problems,
            memories=memories,
            address=shown_address(self.address),
            advice=tuple(advice),
            privacy=privacy,
            last_backup=self.last_backup(),
        )

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
        with self.store.transaction():
            self.store.apply([write(memory) for memory in self._several(memory_ids)], at=self.now())


def _unquoted(reply: Reply) -> Reply:
    """Return *reply* as the log may keep it: without the secrets of its query."""
    return replace(reply, query=remember.redact.redact_text(reply.query).text)


def _for_task(options: InjectOptions, *, limit: int, session: str | None = None) -> SearchOptions:
    """Return how the memories for a task are searched: only what probably answers, unless told otherwise.

    The *limit* allows for what the session was told before, which is found again and not told again.
    """
    kept = {name: value for name, value in options.items() if name != "only_tag"}
    own = {"tag": options.get("only_tag"), "limit": limit, "session": session}
    return cast("SearchOptions", {"precise": True, **kept, **own})
