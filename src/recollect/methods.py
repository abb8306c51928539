"""The methods that Python programs call, one for each operation. Made by `make docs` from their requests."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from recollect.derive import given, method_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from datetime import datetime

    from recollect.filters import Moment, Names
    from recollect.records import Context, Filter, Position, Progress, Trust
    from recollect.recall.inject import Rendered
    from recollect.records import Fact, Memory
    from recollect.remember.edit import EditResult
    from recollect.remember.ingest import IngestResult
    from recollect.replies import Health, Listing, Related, Reply
    from recollect.search.why import Why
    from recollect.upkeep.activity import Entry
    from recollect.upkeep.facts import Conflict


class Methods:
    """A method for each operation that has none of its own in `Workspace`."""

    @method_of("activity")
    def activity(self, *, session: str | None = None, limit: int = 50) -> tuple[Entry, ...]:
        """Show what happened lately: what was learned, changed, recalled, or told to an agent.

        Example:
            >>> [(entry.what, entry.ids) for entry in db.activity(limit=2)]
            [('recalled', (1,)), ('learned', (3,))]
        """
        return given(locals())

    @method_of("add")
    def add(
        self,
        content: str,
        *,
        type: str | None = None,
        title: str | None = None,
        source: str | None = None,
        confidence: float | None = None,
        external_id: str | None = None,
        trust: Literal["owner", "agent", "untrusted"] | None = None,
        name: str | None = None,
        description: str | None = None,
        path: str | None = None,
        requirements: Names | None = None,
        worker_role: str | None = None,
        tag: Names | None = None,
        date: Moment | None = None,
        metadata: Mapping[str, object] | None = None,
        redact: bool = True,
        embed: bool = True,
        vector: Sequence[float] | None = None,
        project: str | None = None,
        tags: Names | None = None,
        kind: str | None = None,
        pinned: bool | None = None,
        line: int | None = None,
        section: str | None = None,
        thread: str | None = None,
        turn: int | None = None,
        context: Context | None = None,
        created_at: datetime | None = None,
        updated_at: datetime | None = None,
        deleted_at: datetime | None = None,
        superseded_at: datetime | None = None,
        superseded_by: int | None = None,
        observed_at: Moment | None = None,
        valid_from: Moment | None = None,
        valid_until: Moment | None = None,
        progress: Progress | None = None,
    ) -> IngestResult:
        """Remember one text.

        The name, description, path, worker_role and requirements go into its metadata and are searched like everything
        else. A *vector* of your own is stored with those of the model in use if it is as wide as they are, else apart;
        `search(embedding=…)` finds it.

        Example:
            >>> db.add("Backups run at night", type="config", tag="ops", date="yesterday", confidence=0.9).id
            4
            >>> db.add("Backups run at night").decision
            'identical'
        """
        return given(locals())

    @method_of("brief")
    def brief(self, *, session: str | None = None, limit: int = 14, budget: int = 500) -> Rendered:
        """Print what a new session should know before anything is asked: what is pinned, decided, preferred.

        Example:
            >>> db.brief().ids
            (1,)
        """
        return given(locals())

    @method_of("capture")
    def capture(
        self,
        text: str,
        *,
        embed: bool = True,
        trust: Trust = "owner",
        progress: Progress | None = None,
    ) -> tuple[IngestResult, ...]:
        """Remember what an agent wants kept: its "[MEMORY] …" lines and sentences such as "Decision: …".

        Example:
            >>> said = "[MEMORY] type=gotcha: The cache must be cleared after each deploy"
            >>> [db.show(each.id).memory.type for each in db.capture(said)]
            ['gotcha']
        """
        return given(locals())

    @method_of("changes")
    def changes(
        self,
        query: str,
        *,
        limit: int | None = None,
        alpha: float | None = None,
        min_confidence: float | None = None,
        recency_weight: float | None = None,
        min_similarity: float | None = None,
        min_score: float | None = None,
        rrf_k: float | None = None,
        timeout: float | None = None,
        lens: str | None = None,
        intent: str | None = None,
        precise: bool = False,
        embedding: Sequence[float] | None = None,
        weights: Mapping[str, float] | None = None,
        snippets: bool = True,
        cancelled: Callable[[], bool] | None = None,
        mode: Literal["hybrid", "keyword", "semantic", "bm25", "rrf"] = 'hybrid',
        weight: Names | None = None,
        profile: str | None = None,
        without_model: Literal["keyword", "fail"] = 'keyword',
        session: str | None = None,
        include_facts: bool = True,
        facets: bool = False,
        explain: bool = False,
        project: Names | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        type: Names | None = None,
        source: Names | None = None,
        kind: Names | None = None,
        fact_type: Names | None = None,
        on: Moment | None = None,
        as_of: Moment | None = None,
        include_superseded: bool = False,
        where: Filter | None = None,
        tag: Names | None = None,
    ) -> Reply:
        """Find memories, leaning towards what was changed.

        Example:
            >>> [hit.id for hit in db.changes("staging port", limit=1).hits]
            [2]
        """
        return given(locals())

    @method_of("conflicts")
    def conflicts(self) -> tuple[Conflict, ...]:
        """List facts and memories that contradict each other.

        Example:
            >>> db.conflicts()
            ()
        """
        return given(locals())

    @method_of("decisions")
    def decisions(
        self,
        query: str,
        *,
        limit: int | None = None,
        alpha: float | None = None,
        min_confidence: float | None = None,
        recency_weight: float | None = None,
        min_similarity: float | None = None,
        min_score: float | None = None,
        rrf_k: float | None = None,
        timeout: float | None = None,
        lens: str | None = None,
        intent: str | None = None,
        precise: bool = False,
        embedding: Sequence[float] | None = None,
        weights: Mapping[str, float] | None = None,
        snippets: bool = True,
        cancelled: Callable[[], bool] | None = None,
        mode: Literal["hybrid", "keyword", "semantic", "bm25", "rrf"] = 'hybrid',
        weight: Names | None = None,
        profile: str | None = None,
        without_model: Literal["keyword", "fail"] = 'keyword',
        session: str | None = None,
        include_facts: bool = True,
        facets: bool = False,
        explain: bool = False,
        project: Names | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        type: Names | None = None,
        source: Names | None = None,
        kind: Names | None = None,
        fact_type: Names | None = None,
        on: Moment | None = None,
        as_of: Moment | None = None,
        include_superseded: bool = False,
        where: Filter | None = None,
        tag: Names | None = None,
    ) -> Reply:
        """Find memories, leaning towards what was decided.

        Example:
            >>> [hit.id for hit in db.decisions("deploy", limit=1).hits]
            [1]
        """
        return given(locals())

    @method_of("doctor")
    def doctor(self, *, deep: bool = False) -> Health:
        """Check the store for damage, and say what to do about it.

        Example:
            >>> db.doctor(deep=True).healthy
            True
        """
        return given(locals())

    @method_of("edit")
    def edit(
        self,
        id: int,
        *,
        content: str | None = None,
        title: str | None = None,
        type: str | None = None,
        tag: Names | None = None,
        date: Moment | None = None,
        source: str | None = None,
        confidence: float | None = None,
        metadata: Mapping[str, object] | None = None,
        redact: bool = True,
        embed: bool = True,
        trust: Trust = "owner",
    ) -> EditResult:
        """Change a memory, in your editor or by options; what it said before stays in its history.

        It is found by its new words.

        Example:
            >>> db.edit(1, content="We deploy on Thursdays", tag="release, weekly", date="2026-05-01").changed
            ('content', 'observed_at', 'tags')
        """
        return given(locals())

    @method_of("facts")
    def facts(self, *, subject: str | None = None, type: Names | None = None, limit: int = 100) -> tuple[Fact, ...]:
        """List the facts that memories state: subject, predicate, object.

        Example:
            >>> [(fact.subject, fact.object) for fact in db.facts(subject="Owner")]
            [('Owner', 'Mara of the billing team')]
        """
        return given(locals())

    @method_of("feedback")
    def feedback(
        self,
        id: int,
        verdict: Literal["used", "useful", "wrong"],
        *,
        session: str | None = None,
        query: str | None = None,
        trust: Trust = "owner",
    ) -> None:
        """Say whether a memory that was found was used, useful or wrong; `tune` learns from it.

        The verdict of a caller who is trusted less than the writer is noted, and changes no fact.

        Example:
            >>> db.feedback(1, "useful", session="monday")
            >>> [event.verb for event in db.show(1).events]
            ['add', 'feedback']
        """
        return given(locals())

    @method_of("forget")
    def forget(self, *id: int, reason: str = '', trust: Trust = "owner") -> None:
        """Hide memories from every search until they are restored.

        All of them or none. What the owner forgot, callers of less *trust* can neither restore nor add again in the same
        words.

        Example:
            >>> db.forget(2, reason="the server is gone")
            >>> db.search("staging", mode="keyword").hits
            ()
        """
        return given(locals())

    @method_of("how-it-works")
    def how_it_works(
        self,
        query: str,
        *,
        limit: int | None = None,
        alpha: float | None = None,
        min_confidence: float | None = None,
        recency_weight: float | None = None,
        min_similarity: float | None = None,
        min_score: float | None = None,
        rrf_k: float | None = None,
        timeout: float | None = None,
        lens: str | None = None,
        intent: str | None = None,
        precise: bool = False,
        embedding: Sequence[float] | None = None,
        weights: Mapping[str, float] | None = None,
        snippets: bool = True,
        cancelled: Callable[[], bool] | None = None,
        mode: Literal["hybrid", "keyword", "semantic", "bm25", "rrf"] = 'hybrid',
        weight: Names | None = None,
        profile: str | None = None,
        without_model: Literal["keyword", "fail"] = 'keyword',
        session: str | None = None,
        include_facts: bool = True,
        facets: bool = False,
        explain: bool = False,
        project: Names | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        type: Names | None = None,
        source: Names | None = None,
        kind: Names | None = None,
        fact_type: Names | None = None,
        on: Moment | None = None,
        as_of: Moment | None = None,
        include_superseded: bool = False,
        where: Filter | None = None,
        tag: Names | None = None,
    ) -> Reply:
        """Find memories, leaning towards how things work.

        Example:
            >>> [hit.id for hit in db.how_it_works("billing service", limit=1).hits]
            [3]
        """
        return given(locals())

    @method_of("inject")
    def inject(
        self,
        task: str,
        *,
        description: str = '',
        tag: Names | None = None,
        session: str | None = None,
        style: Literal["markdown", "compact", "xml"] = 'markdown',
        budget: int = 500,
        limit: int = 5,
        lens: str | None = None,
        precise: bool = True,
        mode: Literal["hybrid", "keyword", "semantic", "bm25", "rrf"] = 'hybrid',
        only_tag: Names | None = None,
        project: Names | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        type: Names | None = None,
        source: Names | None = None,
        kind: Names | None = None,
        fact_type: Names | None = None,
        on: Moment | None = None,
        as_of: Moment | None = None,
        include_superseded: bool = False,
        where: Filter | None = None,
    ) -> Rendered:
        """Print the memories that help with a task, for an agent's prompt, within a token budget.

        A *tag* belongs to the task and is searched for; *only_tag* and the other filters say which memories may be used.
        A session is not told the same memory twice.

        Example:
            >>> db.inject("Prepare the staging server", session="monday", type="config").ids
            (2,)
            >>> db.inject("Prepare the staging server", session="monday", type="config").ids
            ()
        """
        return given(locals())

    @method_of("list")
    def list(
        self,
        *,
        limit: int = 20,
        offset: int = 0,
        cursor: str | None = None,
        project: Names | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        type: Names | None = None,
        source: Names | None = None,
        kind: Names | None = None,
        fact_type: Names | None = None,
        on: Moment | None = None,
        as_of: Moment | None = None,
        include_superseded: bool = False,
        where: Filter | None = None,
        tag: Names | None = None,
    ) -> Listing:
        """List memories, newest first.

        Example:
            >>> [memory.id for memory in db.list(type=["decision", "config"]).memories]
            [2, 1]
        """
        return given(locals())

    @method_of("pin")
    def pin(self, *id: int, pinned: bool = True) -> None:
        """Keep memories from ageing.

        Example:
            >>> db.pin(1)
            >>> db.show(1).memory.pinned
            True
        """
        return given(locals())

    @method_of("related")
    def related(self, id: int, *, limit: int | None = None) -> tuple[Related, ...]:
        """Show the memories that belong to one, and why.

        Example:
            >>> db.add("We deploy from the main branch").id
            4
            >>> [each.id for each in db.related(1, limit=1)]
            [4]
        """
        return given(locals())

    @method_of("remind")
    def remind(
        self,
        prompt: str,
        *,
        recent: Names | None = None,
        session: str | None = None,
        limit: int = 3,
        budget: int = 500,
    ) -> Rendered:
        """Return the statements that govern a prompt of a coding session, or nothing at all.

        It reads the project of this view and what holds in all projects.

        Example:
            >>> db.remind("ok, thanks").text
            ''
        """
        return given(locals())

    @method_of("restore")
    def restore(self, *id: int, trust: Trust = "owner") -> None:
        """Bring back memories that were forgotten or superseded.

        All of them or none. A caller of less *trust* than whoever hid one of them is refused.

        Example:
            >>> db.forget(1)
            >>> db.restore(1)
            >>> [hit.id for hit in db.search("deploy").hits]
            [1]
        """
        return given(locals())

    @method_of("search")
    def search(
        self,
        query: str,
        *,
        limit: int | None = None,
        alpha: float | None = None,
        min_confidence: float | None = None,
        recency_weight: float | None = None,
        min_similarity: float | None = None,
        min_score: float | None = None,
        rrf_k: float | None = None,
        timeout: float | None = None,
        lens: str | None = None,
        intent: str | None = None,
        precise: bool = False,
        embedding: Sequence[float] | None = None,
        weights: Mapping[str, float] | None = None,
        snippets: bool = True,
        cancelled: Callable[[], bool] | None = None,
        mode: Literal["hybrid", "keyword", "semantic", "bm25", "rrf"] = 'hybrid',
        weight: Names | None = None,
        profile: str | None = None,
        without_model: Literal["keyword", "fail"] = 'keyword',
        session: str | None = None,
        include_facts: bool = True,
        facets: bool = False,
        explain: bool = False,
        project: Names | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        type: Names | None = None,
        source: Names | None = None,
        kind: Names | None = None,
        fact_type: Names | None = None,
        on: Moment | None = None,
        as_of: Moment | None = None,
        include_superseded: bool = False,
        where: Filter | None = None,
        tag: Names | None = None,
    ) -> Reply:
        """Find memories; a blank query lists the newest.

        The reply says how far to trust the hits, and why there are none.

        Example:
            >>> reply = db.search("when do we deploy", type="decision", since="2026-04-01")
            >>> reply.outcome, [hit.memory.content for hit in reply.hits]
            ('answered', ['We deploy on Fridays'])
        """
        return given(locals())

    @method_of("stale")
    def stale(self, *, below: float = 0.5, days: int = 30) -> tuple[Fact, ...]:
        """List facts whose confidence has faded, or that nobody confirmed for long.

        Example:
            >>> [fact.subject for fact in db.stale(below=0.1, days=30)]
            []
        """
        return given(locals())

    @method_of("supersede")
    def supersede(self, id: int, by: int, *, keep_wording: bool = False, trust: Trust = "owner") -> None:
        """Replace one memory by another, and hide it from searches.

        Example:
            >>> new = db.add("Releases leave on Thursdays")
            >>> db.supersede(1, new.id)
            >>> db.show(1).memory.superseded_by == new.id
            True
        """
        return given(locals())

    @method_of("timeline")
    def timeline(self, query: str = '', *, limit: int = 50) -> tuple[Memory, ...]:
        """Show memories oldest first, superseded ones too.

        Example:
            >>> [memory.when.day for memory in db.timeline()]
            [10, 20, 30]
        """
        return given(locals())

    @method_of("why")
    def why(
        self,
        id: int,
        query: str,
        *,
        limit: int | None = None,
        alpha: float | None = None,
        min_confidence: float | None = None,
        recency_weight: float | None = None,
        min_similarity: float | None = None,
        min_score: float | None = None,
        rrf_k: float | None = None,
        timeout: float | None = None,
        lens: str | None = None,
        intent: str | None = None,
        precise: bool = False,
        embedding: Sequence[float] | None = None,
        weights: Mapping[str, float] | None = None,
        snippets: bool = True,
        cancelled: Callable[[], bool] | None = None,
        mode: Literal["hybrid", "keyword", "semantic", "bm25", "rrf"] = 'hybrid',
        weight: Names | None = None,
        profile: str | None = None,
        project: Names | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        type: Names | None = None,
        source: Names | None = None,
        kind: Names | None = None,
        fact_type: Names | None = None,
        on: Moment | None = None,
        as_of: Moment | None = None,
        include_superseded: bool = False,
        where: Filter | None = None,
        tag: Names | None = None,
    ) -> Why:
        """Explain why a memory was or was not found by a query.

        Example:
            >>> db.why(1, "deploy", type="config").blocked_by
            'filter'
        """
        return given(locals())
