"""Recollection: a store, a profile and a clock; the verbs, each a line or two."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from recollect import evaluate, recall, remember, search, upkeep
from recollect.arguments import checked, guarded
from recollect.embedders.models import NO_MODELS, Models
from recollect.errors import InputError, ModelError, RecollectError, StoreClosed, StoreError
from recollect.profile import Profile, load_profile
from recollect.records import (
    ALL_PROJECTS,
    NO_FILTER,
    Fact,
    FactQuery,
    Feedback,
    Filter,
    Forget,
    Generation,
    Memory,
    Progress,
    Recall,
    Recovery,
    Scope,
    StoreStats,
    Trust,
)
from recollect.replies import OPTIONS, Degraded, Health, Listing, Mode, Related, Reply, Request, Shown
from recollect.rerankers.contract import NO_RERANKER, Rerankers
from recollect.settings import bound, models_folder, read_settings
from recollect.stores.choice import open_store, recover_store
from recollect.stores.contract import Store, unknown
from recollect.text.analyser import ANALYSER, analyse
from recollect.trust import CONFIDENCE_CAPS

if TYPE_CHECKING:  # a package loads what a verb needs when the verb is used
    SearchContext = search.SearchContext
    Why = search.why.Why

Clock = Callable[[], datetime]
Answers = Callable[[Request, Profile, Callable[[Request, Profile], Reply]], Reply]
"""How a request is answered: by what it is given to search with, or by a result that is kept."""


def answer_anew(request: Request, profile: Profile, search: Callable[[Request, Profile], Reply]) -> Reply:
    """Search, whatever was asked before."""
    return search(request, profile)


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
    """
    place = None if address is None else str(address)
    settings = read_settings(db=place, profile=profile, project=project, model=model, reranker=reranker)
    return Recollection(
        store=open_store(settings.db, analyse, analyser=ANALYSER),
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


def recover(old: str | Path, new: str | Path) -> Recovery:
    """Save what can be read of the damaged store *old* into a new store *new*; *old* stays as it is."""
    return recover_store(str(old), str(new), analyse, analyser=ANALYSER)


@guarded(more=OPTIONS)
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
        self._writer = recall.log.BackgroundWriter()
        self._tuned = evaluate.tuning.TunedProfiles(store)
        self.project = self._named(project)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Finish the log, then let go of the models and the store; searches that still run are waited for, not long."""
        self._writer.close()
        self.models.close()
        self.rerankers.close()
        self.store.close()

    def flush(self) -> None:
        """Wait until what runs in the background is done: the recall log, the vectors."""
        self._writer.flush()

    def in_project(self, name: str) -> "Recollection":
        """Return a view of the same store that writes to the project *name* and sees nothing else."""
        view = copy(self)
        view.project = self._named(name)
        return view

    def now(self) -> datetime:
        """Return the time by this recollection's clock."""
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
        **about: Any,
    ) -> "remember.ingest.IngestResult":
        """Remember *content*; *about* are fields of Memory (type, tags, title, source, confidence, metadata, …).

        The name, description, path, worker_role and requirements of a memory go into its metadata and are
        searched like everything else. A *vector* of your own is stored beside those of the model in use if it is
        as wide as they are, else apart; `search(embedding=…)` finds it.
        """
        drafts = [remember.clean.draft(content, {"project": self.project or "default", **about})]
        return self.add_all(drafts, vectors=[vector], redact=redact, embed=embed)[0]

    def add_all(
        self,
        drafts: Sequence[Memory],
        *,
        vectors: Sequence[Sequence[float] | None] = (),
        redact: bool = True,
        embed: bool = True,
    ) -> "tuple[remember.ingest.IngestResult, ...]":
        """Remember *drafts*, all or none; they get their vectors too when there is a model and *embed* is true."""
        given = any(vector is not None for vector in vectors)
        self._fetch_model(None, wanted=embed)
        context = self._ingest_context(embed=embed, given=given, redact=redact)
        results = remember.ingest.ingest([context.own(draft) for draft in drafts], context, vectors=vectors)
        if embed and any(each.written for each in results):
            degraded = self._embed_if_possible(None)
            results = tuple(replace(each, degraded=degraded) for each in results)
        return results

    def import_(
        self,
        *paths: str | Path,
        redact: bool = True,
        embed: bool = True,
        trust: Trust = "owner",
        prune: bool = False,
        follow_links: bool = False,
        progress: Progress | None = None,
    ) -> "remember.import_files.ImportReport":
        """Import files and folders; again and again if you like, only what changed is written.

        Files that are gone take their memories with them; all or most of those below a root only if told to *prune*.
        Links that lead out of a folder are passed over unless told to *follow_links*.
        """
        self._fetch_model(progress, wanted=embed)
        context = self._ingest_context(embed=embed, redact=redact, trust=trust)
        report = remember.import_files.import_files(paths, context, progress, prune=prune, follow_links=follow_links)
        if embed:
            report.degraded = self._embed_if_possible(progress)
        return report

    def embed(self, progress: Progress | None = None) -> int:
        """Give a vector to every memory that has none of the model in use; return how many took one."""
        self.models.ready(now=self.now(), progress=progress)
        return remember.embed.embed_pending(
            store=self.store,
            embedder=self.models.required(),
            model=self._named(self.models.name) or "",
            context_weights=self.profile.embed.context_weights,
            progress=progress,
        )

    def capture(
        self, text: str, *, trust: Trust = "agent", embed: bool = True
    ) -> "tuple[remember.ingest.IngestResult, ...]":
        """Remember what a worker's output asks to: `[MEMORY]` markers and cue sentences; never what we rendered."""
        drafts = self._ingest_context(embed=False, trust=trust).captured(text)
        return self.add_all(drafts, embed=embed) if drafts else ()

    def _fetch_model(self, progress: Progress | None, *, wanted: bool) -> None:
        """Install the model in use if it is *wanted* and missing; in the background nobody waits for that."""
        if wanted and not self.background:
            self.models.ready(now=self.now(), progress=progress)

    def _embed_if_possible(self, progress: Progress | None) -> Degraded | None:
        """Give what is stored by now its vectors; what prevents that is told and not raised."""
        if self.background:
            self._writer.submit(lambda: self._embed_now(None))
            return None
        return self._embed_now(progress)

    def _embed_now(self, progress: Progress | None) -> Degraded | None:
        self.models.failure = None
        try:
            if self.models.ready(now=self.now(), progress=progress) is None:
                return None if self.models.name == "none" else "no_model"
            self.embed(progress)
        except RecollectError as error:
            self.models.failure = error
            return "model_failed" if isinstance(error, ModelError) else "vectors_pending"
        return None

    def search(
        self,
        /,
        query: str,
        *,
        mode: Mode = "hybrid",
        limit: int | None = None,
        profile: str | None = None,
        where: Filter = NO_FILTER,
        **more: Any,
    ) -> Reply:
        """Answer *query*: the hits, best first, how far to trust them, and why there are none.

        *more* are fields of Request: alpha, weights, min_score, session, lens, include_facts, facets, timeout, ….
        """
        request = self._request(text=query, mode=mode, limit=limit, where=where, **more)
        reply = self.answers(request, self.profile if profile is None else load_profile(profile), self._answer)
        if request.session is not None:
            asked, kept, told = self.now(), self.retention, _unquoted(reply)
            self._writer.submit(
                lambda: recall.log.log_reply(told, request, store=self.store, now=asked, retention=kept)
            )
        return reply

    def _request(self, **asked: Any) -> Request:
        """Return what is *asked* within the scope; its session and lens are called as they are kept."""
        request = Request(scope=self.scope, **asked)
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
        return search.search(request, self._context(profile, request.mode))

    def _context(self, profile: Profile, mode: Mode = "hybrid") -> "SearchContext":
        now, bounds = self.now(), profile.weigh.lens_bounds
        return search.SearchContext(
            store=self.store,
            profile=profile,
            now=now,
            embedder=None if mode == "keyword" else self.models.current(),
            named=self.models.named,
            reranker=self.rerankers.current,
            look_through=lambda request: recall.lens.look_through(
                request, self.store, bounds=bounds, now=now, project=self._notes
            ),
        )

    def _ranking(self, name: str | None = None) -> Profile:
        """Return the profile *name*, or the one in use, as it was tuned for this store."""
        self._tuned.moved(self.store.version(), project=self._notes)
        return self._tuned.tuned(self.profile if name is None else load_profile(name), project=self._notes)

    def decisions(self, /, query: str, **more: Any) -> Reply:
        """Answer *query*, leaning towards what was decided; *more* is what `search` takes."""
        return self.search(search.intent.boost(query, "decisions"), **more)

    def changes(self, /, query: str, **more: Any) -> Reply:
        """Answer *query*, leaning towards what was changed."""
        return self.search(search.intent.boost(query, "changes"), **more)

    def how_it_works(self, /, query: str, **more: Any) -> Reply:
        """Answer *query*, leaning towards how things work."""
        return self.search(search.intent.boost(query, "how_it_works"), **more)

    def related(self, memory_id: int, *, limit: int | None = None) -> tuple[Related, ...]:
        """Return the memories of its project that belong to one, nearest first, each with its reasons."""
        one, context = self._one(memory_id), self._context(self._ranking())
        return search.related.related(one, context, scope=Scope(projects=frozenset({one.project})), limit=limit)

    def inject(
        self,
        /,
        task: str,
        *,
        description: str = "",
        tags: Sequence[str] = (),
        session: str | None = None,
        style: "recall.inject.Style" = "markdown",
        limit: int = 5,
        budget: int = 500,
        where: Filter = NO_FILTER,
        **more: Any,
    ) -> "recall.inject.Rendered":
        """Return what a task should be told: `## Relevant Memories` within a budget, or nothing at all.

        The *tags* are the task's own and are searched for; *where* says which memories may be told. Only what probably
        answers is told, unless *more* says `precise=False`.
        """
        session = self._named(session)
        more = {"precise": True, **more}
        asked = recall.inject.task_query(task, description=description, tags=tags)
        reply = self.search(asked, session=session, where=where, **more)
        if reply.outcome == "weak":
            title = self.search(recall.inject.task_query(task), where=where, **more)
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

    def brief(self, *, session: str | None = None, limit: int = 8, budget: int = 500) -> "recall.inject.Rendered":
        """Return what a new session should know before anything is asked: what is pinned, decided, preferred."""
        return recall.brief.brief(
            self.store,
            scope=self.scope,
            now=self.now(),
            session=self._named(session),
            project=self._notes,
            limit=limit,
            budget=budget,
        )

    def why(
        self, /, memory_id: int, query: str, *, mode: Mode = "hybrid", profile: str | None = None, **more: Any
    ) -> "Why":
        """Explain why a memory was or was not found: its rank in each list, what blocks it, what would help."""
        self._one(memory_id)
        request = self._request(text=query, mode=mode, **more)
        return search.why.why(memory_id, request, self._context(self._ranking(profile), mode))

    def show(self, memory_id: int) -> Shown:
        """Return a memory with its other wordings and its history."""
        memory, rows, scope = self._one(memory_id), [memory_id], self.scope
        return Shown(
            memory=memory,
            wordings=self.store.wordings(rows, scope=scope).get(memory_id, ()),
            events=self.store.history(rows, scope=scope).get(memory_id, ()),
            facts=self._facts_of(memory_id),
        )

    def list(self, *, where: Filter = NO_FILTER, limit: int = 20, offset: int = 0) -> Listing:
        """Return memories newest first."""
        most, passed = (max(0, min(number, 2**62)) for number in (limit, offset))
        page = self.store.browse(scope=self.scope, where=where, limit=most, offset=passed)
        return Listing(memories=tuple(self.store.load(page.ids, scope=self.scope).values()), total=page.total)

    def forget(self, memory_id: int, *, reason: str = "") -> None:
        """Hide a memory from every search until it is restored."""
        self._one(memory_id)
        detail = {"reason": remember.redact.redact_text(reason).text} if reason else {}
        self.store.apply([Forget(id=memory_id, detail=detail)], at=self.now())

    def purge(
        self,
        ids: int | Sequence[int] | None = None,
        *,
        source: str | None = None,
        project: str | None = None,
        older_than: datetime | str | None = None,
        dry_run: bool = False,
        verify: bool = False,
        traces: Sequence[str] = (),
    ) -> "upkeep.purge.PurgeReport":
        """Erase memories for good, forgotten ones too, and overwrite every byte of them in the files of the store.

        What is given must all fit: *ids* (an empty list is none), a *source* (a file or folder), a *project*, a date
        that they are *older_than*. To *verify* searches the raw bytes of the files for what was erased, and for the
        texts in *traces*.
        """
        self.flush()  # what was recalled until now belongs to the log
        selected = upkeep.purge.selection(
            scope=self.scope, ids=ids, source=source, project=project, older_than=older_than, now=self.now()
        )
        return upkeep.purge.purge(selected, self.store, dry_run=dry_run, verify=verify, traces=traces)

    def prune_log(self, *, older_than: datetime | str | None = None, megabytes: float | None = None) -> int:
        """Drop searches from the recall log that are too old or too much; by the settings when neither is given."""
        self.flush()
        if older_than is None and megabytes is None:
            return self.retention.prune(self.store, scope=self.scope, now=self.now())
        before, size = upkeep.purge.moment(older_than, now=self.now()), upkeep.purge.in_bytes(megabytes)
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
        """Make a token for a server of this store; its secret is told this once and kept as a digest."""
        return upkeep.tokens.create_token(
            self.store,
            now=self.now(),
            name=name,
            project=project or self.project,
            read_only=read_only,
            trust=trust,
            lifetime=lifetime,
        )

    def tokens(self) -> "tuple[upkeep.tokens.Token, ...]":
        """Return the tokens for servers of this store, by name; in a project those of the project."""
        held = upkeep.tokens.tokens(self.store)
        return tuple(each for each in held if self.project is None or each.project == self.project)

    def revoke_token(self, name: str) -> None:
        """Drop a token: from now on it opens nothing."""
        if name not in {each.name for each in self.tokens()}:
            raise InputError(f"no token is called {name!r}", hint="see: recollect token list")
        upkeep.tokens.revoke_token(self.store, name)

    def restore(self, memory_id: int) -> None:
        """Bring back a memory that was forgotten, or one that another took the place of."""
        self.store.apply([remember.clean.restoring(self._one(memory_id))], at=self.now())

    def pin(self, memory_id: int, *, pinned: bool = True) -> None:
        """Keep a memory from ageing, or let it age again."""
        self.store.apply([remember.clean.pinning(self._one(memory_id), pinned=pinned)], at=self.now())

    def supersede(self, memory_id: int, by: int) -> None:
        """Say that memory *by* took the place of another, which is hidden from then on unless asked for."""
        with self.store.transaction():
            old, new = self._one(memory_id), self._one(by)
            write = remember.clean.superseding(old, new, successors=self._successors(new))
            self.store.apply([write], at=self.now())

    def _successors(self, memory: Memory) -> dict[int, Memory]:
        """Return what took the place of *memory*, and of that one, by id."""
        found: dict[int, Memory] = {}
        while memory.superseded_by and memory.superseded_by not in found:
            loaded = self.store.load([memory.superseded_by], scope=ALL_PROJECTS)
            found |= loaded
            memory = loaded.get(memory.superseded_by, Memory(content=""))
        return found

    def feedback(
        self, memory_id: int, verdict: "recall.log.Verdict", *, session: str | None = None, query: str | None = None
    ) -> None:
        """Say what became of a recalled memory: used, useful or wrong; its facts fade later, or are doubted."""
        recall.log.refuse_other_verdicts(verdict)
        self._one(memory_id)
        asked, now = query and remember.redact.redact_text(query).text, self.now()
        told = Feedback(id=memory_id, verdict=verdict, session=self._named(session), query=asked)
        facts = recall.log.reinforced(self._facts_of(memory_id), verdict, now=now)
        self.store.apply([told, *facts], at=now)

    def facts(
        self, *, subject: str | None = None, types: tuple[str, ...] | None = None, limit: int = 100
    ) -> tuple[Fact, ...]:
        """Return what memories state, newest first."""
        return self.store.facts(FactQuery(subject=subject, types=types, limit=limit), scope=self.scope)

    def reinforce(self, *fact_ids: int) -> int:
        """Vouch for facts: surer by 0.3, as far as their writer is trusted, and fresh from today; return how many."""
        facts, now = recall.log.chosen(fact_ids, self._all_facts()), self.now()
        held = self.store.load(sorted({fact.memory_id for fact in facts}), scope=self.scope)
        caps = {row: CONFIDENCE_CAPS[memory.trust] for row, memory in held.items()}
        return len(self.store.apply(recall.log.reinforced(facts, "reinforce", now=now, caps=caps), at=now))

    def stale(self, *, below: float = 0.5, days: float = 30) -> tuple[Fact, ...]:
        """Return the facts that have faded or were left alone."""
        return tuple(upkeep.facts.stale(self._all_facts(), now=self.now(), below=below, days=days))

    def conflicts(self) -> "tuple[upkeep.facts.Conflict, ...]":
        """Return the facts of one project that contradict each other, and so the memories: remembered so, or newest."""
        stated = upkeep.facts.all_conflicts(self.store, scope=self.scope)
        missed = upkeep.consolidate.missed_conflicts(self._ingest_context(embed=False))
        return tuple(upkeep.facts.without_repeats([*stated, *missed]))

    def _all_facts(self) -> tuple[Fact, ...]:
        return self.store.facts(FactQuery(), scope=self.scope)

    def _facts_of(self, memory_id: int) -> tuple[Fact, ...]:
        """Return what a memory states, oldest first, superseded facts too."""
        asked = FactQuery(memory_ids=(memory_id,), include_superseded=True)
        return self.store.facts(asked, scope=self.scope)[::-1]

    def timeline(self, query: str = "", *, limit: int = 50) -> tuple[Memory, ...]:
        """Return memories oldest first, superseded ones too: those that *query* finds, or the newest of all."""
        found = [hit.memory for hit in self.search(query, where=Filter(include_superseded=True), limit=limit).hits]
        return tuple(sorted(found, key=lambda memory: (memory.when, memory.id)))

    def recalls(self, *, session: str | None = None, fact: int | None = None, limit: int = 20) -> tuple[Recall, ...]:
        """Return what was recalled, the last first: in one session, or with one fact, or at all."""
        return self.store.recalls(scope=self.scope, session=self._named(session), fact_id=fact, limit=limit)

    def never_recalled(self) -> tuple[Memory, ...]:
        """Return the memories that no logged search has shown."""
        return recall.log.never_recalled(self.store, scope=self.scope)

    def never_used(self) -> "tuple[recall.log.MemoryUse, ...]":
        """Return the memories that were shown three times or more and never used, most often shown first."""
        return recall.log.never_used(self.store, scope=self.scope)

    def unanswered(self, *, limit: int = 20) -> tuple[tuple[str, int], ...]:
        """Return the logged queries that found nothing, and how often each was asked."""
        return self.store.unanswered(scope=self.scope, limit=limit)

    def keep_lens(self, lens: "recall.lens.Lens") -> None:
        """Keep a lens under its name, in the project chosen or in none."""
        unquoted = remember.redact.redact_record(lens, self._digest()).record
        recall.lens.keep_lens(unquoted, self.store, project=self._notes)

    def lenses(self) -> "tuple[recall.lens.Lens, ...]":
        """Return the lenses kept in the project chosen, or in none."""
        return recall.lens.lenses(self.store, project=self._notes)

    def drop_lens(self, name: str) -> None:
        """Drop a lens."""
        recall.lens.drop_lens(self._named(name) or name, self.store, project=self._notes)

    def tune(
        self, judged: str | Path | None = None, *, dry_run: bool = False, progress: Progress | None = None
    ) -> "evaluate.tune.Tuned":
        """Fit the profile's few weights to the questions of a file, or to what was said of answers so far.

        Adopted is only what is surely better on questions it was not fitted to; it stays with the store.
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
        """Return what was tuned and is in force: which weights, since when, with which figures."""
        return evaluate.tuning.in_force(self.profile, self.store, project=self._notes)

    def untune(self) -> "evaluate.tuning.Tuning":
        """Go back to the weights before the last tuning; return what was undone."""
        return evaluate.tuning.untune(self.profile, self.store, project=self._notes)

    def consolidate(
        self, *, apply: bool = False, floor: float = 0.0, limit: int = 50
    ) -> "upkeep.consolidate.Consolidation":
        """Propose merges, links and what has faded below *floor*; do it when told to."""
        context = self._ingest_context(embed=False)
        plan = upkeep.consolidate.plan_consolidation(context, floor=floor, limit=limit)
        if apply:
            return upkeep.consolidate.apply_consolidation(plan, store=self.store, now=context.now)
        return plan.proposed

    def undo_consolidation(self) -> tuple[int, ...]:
        """Bring back what consolidations merged away."""
        return upkeep.consolidate.undo_consolidation(self._ingest_context(embed=False))

    def export(self) -> Iterator[tuple[Memory, tuple[str, ...]]]:
        """Yield every memory that is not forgotten, with its other wordings, oldest id first, superseded ones too."""
        return upkeep.export.exported(self.store, scope=self.scope)

    def archive(
        self, *, everything: bool = False, vectors: bool = False, progress: Progress | None = None
    ) -> Iterator[dict[str, Any]]:
        """Yield what `export` writes, a record a line: memories with all that belongs to them, and their sources.

        *everything* adds forgotten memories, the recall log, lenses, tunings and the ledgers of sessions; *vectors*
        those that models made, beside those that callers brought. `import_` reads it back without loss.
        """
        self.flush()
        return upkeep.export.archive(
            self.store, scope=self.scope, everything=everything, vectors=vectors, progress=progress
        )

    def backup(
        self, path: str | Path, *, force: bool = False, progress: Progress | None = None
    ) -> "upkeep.backup.Backup":
        """Write a checked copy of the whole store, every project, to the file *path* while others go on writing."""
        self._require_whole()
        place = upkeep.backup.named(path)
        return upkeep.backup.back_up(self.store, place, now=self.now(), force=force, progress=progress)

    def backup_to(
        self, folder: str | Path, *, keep: int | None = None, progress: Progress | None = None
    ) -> "upkeep.backup.Backup":
        """Write a backup named by its time into *folder*, and *keep* only so many backups of this store there."""
        self._require_whole()
        place = upkeep.backup.named(folder)
        return upkeep.backup.back_up_to(
            self.store, place, address=self.address, now=self.now(), keep=keep, progress=progress
        )

    def restore_backup(self, path: str | Path, *, dry_run: bool = False) -> "upkeep.backup.RestoredBackup":
        """Put the backup *path* in the place of the whole store; what is here is kept in a file beside it."""
        self._require_whole()
        return upkeep.backup.restore_backup(
            self.store, upkeep.backup.named(path), address=self.address, now=self.now(), dry_run=dry_run
        )

    def _require_whole(self) -> None:
        """Finish the log; refuse to copy what lies beyond the project chosen."""
        if self.project is not None:
            hint = "open the store without a project; of one project there is an export"
            raise InputError("a backup holds every project", hint=hint)
        self.flush()

    def last_backup(self) -> Mapping[str, Any] | None:
        """Return when the store was last backed up (`at`) and where to (`path`)."""
        return upkeep.backup.last_backup(self.store)

    def stats(self) -> StoreStats:
        """Count what is here."""
        return self.store.stats(scope=self.scope)

    def doctor(self, *, deep: bool = False) -> Health:
        """Look for damage, and for vectors that nobody needs any more; *deep* compares every row and every token."""
        problems = self.store.check(deep=deep)
        try:
            old, memories = [each.model for each in self._outdated()], self.stats().memories
        except StoreClosed:
            raise
        except StoreError as error:
            problems = problems or (f"{error}; {error.hint}",)
            return Health(problems=problems, memories=0, address=self.address)
        advice = [f"vectors of {name} are here and not in use; drop them: recollect model prune" for name in old]
        privacy = upkeep.privacy.leaving(self.models)
        advice += [*upkeep.privacy.exposed(self.address), *filter(None, [self.models.notice])]
        return Health(
            problems=problems,
            memories=memories,
            address=self.address,
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
        """Return the generations of vectors, newest first: one for each model that made some."""
        return self.store.generations(scope=self.scope)

    def prune_vectors(self, *, dry_run: bool = False) -> tuple[Generation, ...]:
        """Drop the vectors of other models than the one in use; return their generations."""
        return remember.embed.prune(store=self.store, embedder=self.models.required(), dry_run=dry_run)

    def reindex(self, progress: Progress | None = None) -> int:
        """Make every index anew from the memories."""
        return self.store.rebuild(progress)

    def _one(self, memory_id: int) -> Memory:
        found = self.store.load([memory_id], scope=self.scope)
        if memory_id not in found:
            raise unknown(memory_id)
        return found[memory_id]


def _unquoted(reply: Reply) -> Reply:
    """Return *reply* as the log may keep it: without the secrets of its query."""
    return replace(reply, query=remember.redact.redact_text(reply.query).text)
