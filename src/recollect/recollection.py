"""Recollection: a store, a profile and a clock; the verbs, each a line or two."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from recollect.embedders.choice import NO_MODELS, Models
from recollect.embedders.contract import Embedder
from recollect.errors import InputError, UnknownMemory
from recollect.profile import Profile, load_profile
from recollect.recall.firewall import strip_rendered
from recollect.recall.inject import inject
from recollect.recall.lens import Lens, drop_lens, keep_lens, lenses, look_through
from recollect.recall.log import Scribe, write_down
from recollect.recall.reinforce import Verdict, by_doubt, by_hand, by_use, chosen
from recollect.recall.render import Rendered, Style
from recollect.recall.task import query_for
from recollect.recall.timeline import in_time
from recollect.records import ANYTHING, EVERYTHING, Fact, Forget, Memory, Restore, Revise, Scope, Tally, Trust, Where
from recollect.records import Feedback as FeedbackWrite
from recollect.remember.bring import Brought, Door, Progress, bring
from recollect.remember.capture import capture
from recollect.remember.dedup import judge
from recollect.remember.draft import draft
from recollect.remember.embed import embed_pending
from recollect.remember.facts import DECAY, extract
from recollect.remember.keep import Judging, Kept, keep
from recollect.remember.oro import oros_judge
from recollect.remember.signal import low_signal
from recollect.replies import Health, Listing, Mode, Related, Reply, Request, Shown
from recollect.search import search
from recollect.search.boost import boost
from recollect.search.related import related
from recollect.search.why import Why, why
from recollect.settings import models_folder, read_settings
from recollect.stores.choice import open_store
from recollect.stores.contract import Store
from recollect.text.analyse import analyse
from recollect.upkeep.consolidate import Consolidation, consolidate, draw_up, undo
from recollect.upkeep.export import exported
from recollect.upkeep.facts import FADED, LEFT_ALONE_DAYS, Conflict, conflicts, stale

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
    clock: Clock = utc_now,
    background: bool = False,
) -> "Recollection":
    """Open the store at *address* (a path or ":memory:"; the user's own store when not given).

    *model* is an installed model's name or folder, "hashing", or "none" to search by words alone.
    In the *background* means that new memories get their vectors from a thread: for processes that live long.
    """
    place = None if address is None else str(address)
    settings = read_settings(db=place, profile=profile, project=project, model=model)
    return Recollection(
        store=open_store(settings.db, analyse),
        profile=load_profile(settings.profile),
        project=settings.project or None,
        models=Models(name=settings.model, folder=models_folder(settings), key=settings.model_key),
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
        clock: Clock = utc_now,
        address: str = "",
        background: bool = False,
    ) -> None:
        self.store, self.models = store, models
        self.profile, self.project = profile, project
        self.address, self.background = address, background
        self._clock = clock
        self._scribe = Scribe()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Finish the log, then let go of the models and the store."""
        self._scribe.close()
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
        kept = keep(
            drafts,
            store=self.store,
            analyse=analyse,
            now=self.now(),
            redacting=redact,
            states=self._states,
            judging=judge if self.profile.dedup == "words" else self._oros_judge(),
        )
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
            store=self.store,
            analyse=analyse,
            now=self.now(),
            project=self.project,
            trust=trust,
            redacting=redact,
            states=self._states,
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

    def _oros_judge(self) -> Judging:
        return oros_judge(self.store, profile=self.profile, embedder=self.models.current())

    def _states(self, memory: Memory) -> tuple[Fact, ...]:
        return extract(memory, self.profile.weigh.decay or DECAY)

    def capture(self, text: str, *, trust: Trust = "agent", embed: bool = True) -> tuple[Kept, ...]:
        """Remember what a worker's output asks to: `[MEMORY]` markers and cue sentences; never what we told it."""
        found = [each for each in capture(strip_rendered(text).text) if not low_signal(each.content)]
        drafts = [replace(each, trust=trust, project=self.project or "default") for each in found]
        return self.add_all(drafts, embed=embed) if drafts else ()

    def _embed_if_possible(self, progress: Progress | None) -> None:
        if self.background:
            self._scribe.give(lambda: self._embed_now(None))
        else:
            self._embed_now(progress)

    def _embed_now(self, progress: Progress | None) -> None:
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

        *more* are fields of Request: alpha, session, lens, include_facts, facets, intent, without_model.
        """
        request = Request(text=query, mode=mode, limit=limit, scope=self.scope, where=where, **more)
        chosen = self.profile if profile is None else load_profile(profile)
        embedder = None if mode == "keyword" else self.models.current()
        seen, boosting = look_through(request, self.store, bounds=chosen.weigh.lens_bounds, now=self.now())
        reply = search(
            seen,
            store=self.store,
            profile=chosen,
            now=self.now(),
            embedder=embedder,
            former=lambda: self._former(embedder),
            lens=boosting,
        )
        if request.session is not None:
            self._scribe.give(lambda: write_down(reply, request, store=self.store, now=self.now()))
        return reply

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
        one, model = self._one(memory_id), self.models.current()
        return related(one, store=self.store, scope=self.scope, profile=self.profile, embedder=model, limit=limit)

    def inject(
        self,
        /,
        task: str,
        *,
        description: str = "",
        tags: Sequence[str] = (),
        session: str | None = None,
        style: Style = "markdown",
        most: int = 5,
        budget: int = 500,
        **more: Any,
    ) -> Rendered:
        """Return what a task should be told: `## Relevant Memories` within a budget, or nothing at all."""
        asked = query_for(task, description=description, tags=tags)
        reply = self.search(asked, session=session, **more)
        if reply.outcome == "weak" and self.search(query_for(task), **more).outcome == "answered":
            reply = replace(reply, outcome="answered")  # a description must not silence its title
        return inject(reply, store=self.store, now=self.now(), session=session, style=style, most=most, budget=budget)

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
        return Shown(
            memory=memory,
            wordings=wordings.get(memory_id, ()),
            events=events.get(memory_id, ()),
            facts=self.store.facts([memory_id], scope=self.scope).get(memory_id, ()),
        )

    def list(self, *, where: Where = ANYTHING, limit: int = 20, offset: int = 0) -> Listing:
        """Return memories newest first."""
        most, passed = (max(0, min(number, 2**62)) for number in (limit, offset))
        page = self.store.browse(scope=self.scope, where=where, limit=most, offset=passed)
        return Listing(memories=tuple(self.store.load(page.ids, scope=self.scope).values()), total=page.total)

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
        memory, verb = replace(self._one(memory_id), pinned=pinned), "pin" if pinned else "unpin"
        self.store.apply([Revise(memory=memory, verb=verb)], at=self.now())

    def supersede(self, memory_id: int, by: int) -> None:
        """Say that memory *by* took the place of another, which is hidden from then on unless asked for."""
        if memory_id == by:
            raise InputError("a memory cannot supersede itself", hint="name two different ids")
        old, new = self._one(memory_id), self._one(by)
        self.store.apply([Revise(memory=replace(old, superseded_by=new.id), verb="supersede")], at=self.now())

    def feedback(
        self, memory_id: int, verdict: Verdict, *, session: str | None = None, query: str | None = None
    ) -> None:
        """Say what became of a recalled memory: used, useful or wrong; its facts fade later, or are doubted."""
        self._one(memory_id)
        now, facts = self.now(), self.store.facts([memory_id], scope=self.scope).get(memory_id, ())
        moved = by_doubt(facts) if verdict == "wrong" else by_use(facts, verdict, now=now)
        told = FeedbackWrite(id=memory_id, verdict=verdict, session=session, query=query)
        self.store.apply([told, *moved], at=now)

    def facts(
        self, *, subject: str | None = None, types: tuple[str, ...] | None = None, limit: int = 100
    ) -> tuple[Fact, ...]:
        """Return what memories state, newest first."""
        return self.store.find_facts(scope=self.scope, subject=subject, types=types, limit=limit)

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
        return in_time(self.search(query, where=Where(include_superseded=True), limit=limit))

    def keep_lens(self, lens: Lens) -> None:
        """Keep a lens under its name."""
        keep_lens(lens, self.store)

    def lenses(self) -> tuple[Lens, ...]:
        """Return the lenses kept."""
        return lenses(self.store)

    def drop_lens(self, name: str) -> None:
        """Drop a lens."""
        drop_lens(name, self.store)

    def consolidate(self, *, apply: bool = False, floor: float = 0.0, most: int = 50) -> Consolidation:
        """Propose merges of memories that say the same, and what has faded below *floor*; do it when told to."""
        rules, now = self.profile.weigh, self.now()
        plan = draw_up(self.store, analyse=analyse, scope=self.scope, rules=rules, now=now, floor=floor, most=most)
        if apply:
            consolidate(plan, store=self.store, now=now)
        return replace(plan, applied=apply)

    def undo_consolidation(self) -> tuple[int, ...]:
        """Bring back what consolidations merged away."""
        return undo(self.store, scope=self.scope, now=self.now())

    def export(self) -> Iterator[tuple[Memory, tuple[str, ...]]]:
        """Yield every memory that is not forgotten, with its other wordings, oldest id first, superseded ones too."""
        return exported(self.store, scope=self.scope)

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
