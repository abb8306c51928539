"""Recollection: a store, a profile and a clock; the verbs, each a line or two."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from recollect.embedders.choice import NO_MODELS, Models
from recollect.evaluate.tuning import TunedProfiles, Tuning, in_force, untune
from recollect.profile import Profile, load_profile
from recollect.recall.browse import in_time, listed, shown
from recollect.recall.inject import as_sure_as, query_for
from recollect.recall.lens import Lens, drop_lens, keep_lens, lenses, look_through
from recollect.recall.log import Scribe, write_down
from recollect.recall.reinforce import Verdict, by_hand, by_verdict, chosen
from recollect.records import (
    ALL_PROJECTS,
    NO_FILTER,
    Fact,
    FactQuery,
    Filter,
    Forget,
    Memory,
    Progress,
    Restore,
    Scope,
    StoreStats,
    Trust,
)
from recollect.records import Feedback as FeedbackWrite
from recollect.remember.clean import draft, pinning, superseding
from recollect.remember.embed import embed_pending
from recollect.replies import Health, Listing, Mode, Related, Reply, Request, Shown
from recollect.rerankers.choice import NO_RERANKER, Rerankers
from recollect.search import SearchContext, search
from recollect.search.intent import boost
from recollect.settings import models_folder, read_settings
from recollect.stores.choice import open_store
from recollect.stores.contract import Store, unknown
from recollect.text.analyser import ANALYSER, analyse
from recollect.upkeep.export import exported
from recollect.upkeep.facts import FADED, LEFT_ALONE_DAYS, Conflict, conflicts, stale

if TYPE_CHECKING:  # a process that only searches starts without what the other verbs need
    from recollect.evaluate.tune import Tuned
    from recollect.recall.inject import Rendered, Style
    from recollect.remember.context import IngestContext
    from recollect.remember.import_files import ImportReport
    from recollect.remember.ingest import IngestResult
    from recollect.search.why import Why
    from recollect.upkeep.consolidate import Consolidation

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


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
        models=Models(name=settings.model, folder=models_folder(settings), key=settings.model_key),
        rerankers=Rerankers(settings.reranker),
        clock=clock,
        address=settings.db,
        background=background,
    )


class Recollection:
    """Memories you can search. Close it, or use it in a `with` block."""

    def __init__(
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
    ) -> None:
        self.store, self.models, self.rerankers = store, models, rerankers
        self.profile, self.project = profile, project
        self.address, self.background = address, background
        self._clock = clock
        self._tuned = TunedProfiles(store)
        self._scribe = Scribe()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Finish the log, then let go of the models and the store."""
        self._scribe.close()
        self.models.close()
        self.rerankers.close()
        self.store.close()

    def now(self) -> datetime:
        """Return the time by this recollection's clock."""
        return self._clock()

    @property
    def scope(self) -> Scope:
        """Which projects are searched: the one chosen at opening, or all."""
        return ALL_PROJECTS if self.project is None else Scope(projects=frozenset({self.project}))

    def _ingest_context(self, *, embed: bool = True, redact: bool = True, trust: Trust = "owner") -> "IngestContext":
        from recollect.remember.context import IngestContext  # noqa: PLC0415  (a search writes nothing)

        # In the background vectors are made later, so that nobody waits for a model; oro needs them to decide.
        early = embed and (not self.background or self.profile.dedup == "bm25")
        return IngestContext(
            store=self.store,
            analyse=analyse,
            profile=self.profile,
            now=self.now(),
            project=self.project,
            trust=trust,
            redact=redact,
            embedder=self.models.current() if early else None,
            model=self.models.name,
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
    ) -> "IngestResult":
        """Remember *content*; *about* are fields of Memory (type, tags, title, source, confidence, metadata, …).

        The name, description, path, worker_role and requirements of a memory go into its metadata and are
        searched like everything else. A *vector* of your own is stored beside those of the model in use if it is
        as wide as they are, else apart; `search(embedding=…)` finds it.
        """
        drafts = [draft(content, {"project": self.project or "default", **about})]
        return self.add_all(drafts, vectors=[vector], redact=redact, embed=embed)[0]

    def add_all(
        self,
        drafts: Sequence[Memory],
        *,
        vectors: Sequence[Sequence[float] | None] = (),
        redact: bool = True,
        embed: bool = True,
    ) -> "tuple[IngestResult, ...]":
        """Remember *drafts*, all or none; they get their vectors too when there is a model and *embed* is true."""
        from recollect.remember.ingest import ingest  # noqa: PLC0415

        given = any(vector is not None for vector in vectors)
        results = ingest(drafts, self._ingest_context(embed=embed or given, redact=redact), vectors=vectors)
        if embed and any(each.written for each in results):
            self._embed_if_possible(None)
        return results

    def import_(
        self,
        *paths: str | Path,
        redact: bool = True,
        embed: bool = True,
        trust: Trust = "owner",
        progress: Progress | None = None,
    ) -> "ImportReport":
        """Import files and folders; again and again if you like, only what changed is written."""
        from recollect.remember.import_files import import_files  # noqa: PLC0415

        report = import_files(paths, self._ingest_context(embed=embed, redact=redact, trust=trust), progress)
        if embed:
            self._embed_if_possible(progress)
        return report

    def embed(self, progress: Progress | None = None) -> int:
        """Give a vector to every memory that has none of the model in use; return how many took one."""
        return embed_pending(
            store=self.store,
            embedder=self.models.required(),
            model=self.models.name,
            context_weights=self.profile.embed.context_weights,
            progress=progress,
        )

    def capture(self, text: str, *, trust: Trust = "agent", embed: bool = True) -> "tuple[IngestResult, ...]":
        """Remember what a worker's output asks to: `[MEMORY]` markers and cue sentences; never what we rendered."""
        drafts = self._ingest_context(embed=False, trust=trust).captured(text)
        return self.add_all(drafts, embed=embed) if drafts else ()

    def _embed_if_possible(self, progress: Progress | None) -> None:
        if self.background:
            self._scribe.give(lambda: self._embed_now(None))
        else:
            self._embed_now(progress)

    def _embed_now(self, progress: Progress | None) -> None:
        if self.models.current() is not None:
            self.embed(progress)

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
        request = Request(text=query, mode=mode, limit=limit, scope=self.scope, where=where, **more)
        reply = self._answer(request, self.profile if profile is None else load_profile(profile))
        if request.session is not None:
            self._scribe.give(lambda: write_down(reply, request, store=self.store, now=self.now()))
        return reply

    def _answer(self, request: Request, profile: Profile) -> Reply:
        """Answer *request* as *profile* is tuned here; again, if the answer tells that it was tuned meanwhile."""
        tuned = self._tuned.tuned(profile)
        reply = self._reply(request, tuned)
        if self._tuned.moved(reply.version) and self._tuned.tuned(profile) != tuned:
            reply = self._reply(request, self._tuned.tuned(profile))
        return reply

    def _reply(self, request: Request, profile: Profile) -> Reply:
        return search(request, self._context(profile, request.mode))

    def _context(self, profile: Profile, mode: Mode = "hybrid") -> SearchContext:
        now, bounds = self.now(), profile.weigh.lens_bounds
        return SearchContext(
            store=self.store,
            profile=profile,
            now=now,
            embedder=None if mode == "keyword" else self.models.current(),
            named=self.models.named,
            reranker=self.rerankers.current,
            look_through=lambda request: look_through(request, self.store, bounds=bounds, now=now),
        )

    def _ranking(self, name: str | None = None) -> Profile:
        """Return the profile *name*, or the one in use, as it was tuned for this store."""
        self._tuned.moved(self.store.version())
        return self._tuned.tuned(self.profile if name is None else load_profile(name))

    def decisions(self, /, query: str, **more: Any) -> Reply:
        """Answer *query*, leaning towards what was decided; *more* is what `search` takes."""
        return self.search(boost(query, "decisions"), **more)

    def changes(self, /, query: str, **more: Any) -> Reply:
        """Answer *query*, leaning towards what was changed."""
        return self.search(boost(query, "changes"), **more)

    def how_it_works(self, /, query: str, **more: Any) -> Reply:
        """Answer *query*, leaning towards how things work."""
        return self.search(boost(query, "how_it_works"), **more)

    def related(self, memory_id: int, *, limit: int | None = None) -> tuple[Related, ...]:
        """Return the memories that belong to one, nearest first, each with its reasons."""
        from recollect.search.related import related  # noqa: PLC0415

        return related(self._one(memory_id), self._context(self._ranking()), scope=self.scope, limit=limit)

    def inject(
        self,
        /,
        task: str,
        *,
        description: str = "",
        tags: Sequence[str] = (),
        session: str | None = None,
        style: "Style" = "markdown",
        most: int = 5,
        budget: int = 500,
        **more: Any,
    ) -> "Rendered":
        """Return what a task should be told: `## Relevant Memories` within a budget, or nothing at all."""
        from recollect.recall.inject import inject  # noqa: PLC0415

        asked = query_for(task, description=description, tags=tags)
        reply = self.search(asked, session=session, **more)
        if reply.outcome == "weak":
            reply = as_sure_as(self.search(query_for(task), **more), reply)
        return inject(reply, store=self.store, now=self.now(), session=session, style=style, most=most, budget=budget)

    def why(
        self, /, memory_id: int, query: str, *, mode: Mode = "hybrid", profile: str | None = None, **more: Any
    ) -> "Why":
        """Explain why a memory was or was not found: its rank in each list, what blocks it, what would help."""
        from recollect.search.why import why  # noqa: PLC0415

        self._one(memory_id)
        request = Request(text=query, mode=mode, scope=self.scope, **more)
        return why(memory_id, request, self._context(self._ranking(profile), mode))

    def show(self, memory_id: int) -> Shown:
        """Return a memory with its other wordings and its history."""
        return shown(self._one(memory_id), self.store, scope=self.scope)

    def list(self, *, where: Filter = NO_FILTER, limit: int = 20, offset: int = 0) -> Listing:
        """Return memories newest first."""
        return listed(self.store, scope=self.scope, where=where, limit=limit, offset=offset)

    def forget(self, memory_id: int, *, reason: str = "") -> None:
        """Hide a memory from every search until it is restored."""
        self._one(memory_id)
        self.store.apply([Forget(id=memory_id, detail={"reason": reason} if reason else {})], at=self.now())

    def restore(self, memory_id: int) -> None:
        """Bring a forgotten memory back."""
        self._one(memory_id)
        self.store.apply([Restore(id=memory_id)], at=self.now())

    def pin(self, memory_id: int, *, pinned: bool = True) -> None:
        """Keep a memory from ageing, or let it age again."""
        self.store.apply([pinning(self._one(memory_id), pinned=pinned)], at=self.now())

    def supersede(self, memory_id: int, by: int) -> None:
        """Say that memory *by* took the place of another, which is hidden from then on unless asked for."""
        self.store.apply([superseding(self._one(memory_id), self._one(by))], at=self.now())

    def feedback(
        self, memory_id: int, verdict: Verdict, *, session: str | None = None, query: str | None = None
    ) -> None:
        """Say what became of a recalled memory: used, useful or wrong; its facts fade later, or are doubted."""
        self._one(memory_id)
        told = FeedbackWrite(id=memory_id, verdict=verdict, session=session, query=query)
        its = FactQuery(memory_ids=(memory_id,), include_superseded=True)
        facts = tuple(reversed(self.store.facts(its, scope=self.scope)))
        self.store.apply([told, *by_verdict(facts, verdict, now=self.now())], at=self.now())

    def facts(
        self, *, subject: str | None = None, types: tuple[str, ...] | None = None, limit: int = 100
    ) -> tuple[Fact, ...]:
        """Return what memories state, newest first."""
        return self.store.facts(FactQuery(subject=subject, types=types, limit=limit), scope=self.scope)

    def reinforce(self, *fact_ids: int) -> int:
        """Vouch for facts: surer by 0.3 and fresh from today; return how many there were."""
        vouched = by_hand(chosen(fact_ids, self.facts(limit=2**31)), now=self.now())
        return len(self.store.apply(vouched, at=self.now()))

    def stale(self, *, below: float = FADED, days: float = LEFT_ALONE_DAYS) -> tuple[Fact, ...]:
        """Return the facts that have faded or were left alone."""
        return tuple(stale(self.facts(limit=2**31), now=self.now(), below=below, days=days))

    def conflicts(self) -> tuple[Conflict, ...]:
        """Return the facts that contradict each other."""
        return tuple(conflicts(self.facts(limit=2**31)))

    def timeline(self, query: str = "", *, limit: int = 50) -> tuple[Memory, ...]:
        """Return memories oldest first, superseded ones too: those that *query* finds, or the newest of all."""
        return in_time(self.search(query, where=Filter(include_superseded=True), limit=limit))

    def keep_lens(self, lens: Lens) -> None:
        """Keep a lens under its name."""
        keep_lens(lens, self.store)

    def lenses(self) -> tuple[Lens, ...]:
        """Return the lenses kept."""
        return lenses(self.store)

    def drop_lens(self, name: str) -> None:
        """Drop a lens."""
        drop_lens(name, self.store)

    def tune(
        self, judged: str | Path | None = None, *, dry_run: bool = False, progress: Progress | None = None
    ) -> "Tuned":
        """Fit the profile's few weights to the questions of a file, or to what was said of answers so far.

        Adopted is only what is surely better on questions it was not fitted to; it stays with the store.
        """
        from recollect.evaluate.tune import Here, tune_here  # noqa: PLC0415

        self._scribe.close()  # what was recalled until now belongs to the log
        here = Here(profile=self.profile, store=self.store, scope=self.scope, now=self.now(), answer=self._reply)
        return tune_here(here, judged, dry_run=dry_run, progress=progress)

    def tuning(self) -> Tuning | None:
        """Return what was tuned and is in force: which weights, since when, with which figures."""
        return in_force(self.profile, self.store)

    def untune(self) -> Tuning:
        """Go back to the weights before the last tuning; return what was undone."""
        return untune(self.profile, self.store)

    def consolidate(self, *, apply: bool = False, floor: float = 0.0, most: int = 50) -> "Consolidation":
        """Propose merges, links and what has faded below *floor*; do it when told to."""
        from recollect.upkeep.consolidate import apply_consolidation, plan_consolidation  # noqa: PLC0415

        context = self._ingest_context(embed=False)
        plan = plan_consolidation(context, floor=floor, limit=most)
        if apply:
            apply_consolidation(plan, store=self.store, now=context.now)
        return replace(plan, applied=apply)

    def undo_consolidation(self) -> tuple[int, ...]:
        """Bring back what consolidations merged away."""
        from recollect.upkeep.consolidate import undo_consolidation  # noqa: PLC0415

        return undo_consolidation(self._ingest_context(embed=False))

    def export(self) -> Iterator[tuple[Memory, tuple[str, ...]]]:
        """Yield every memory that is not forgotten, with its other wordings, oldest id first, superseded ones too."""
        return exported(self.store, scope=self.scope)

    def stats(self) -> StoreStats:
        """Count what is here."""
        return self.store.stats(scope=self.scope)

    def doctor(self) -> Health:
        """Look for damage."""
        problems = self.store.check()
        return Health(problems=problems, memories=self.stats().memories, address=self.address)

    def reindex(self, progress: Progress | None = None) -> int:
        """Make every index anew from the memories."""
        return self.store.rebuild(progress)

    def _one(self, memory_id: int) -> Memory:
        found = self.store.load([memory_id], scope=self.scope)
        if memory_id not in found:
            raise unknown(memory_id)
        return found[memory_id]
