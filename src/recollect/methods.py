"""The methods that Python programs call, one for each operation. Made by `make docs` from their requests."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from recollect.derive import given, method_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from recollect.options import Moment, Names
    from recollect.records import Filter, Position, Progress, Trust
    from recollect.recall.inject import Rendered
    from recollect.records import Memory
    from recollect.replies import Listing, Related, Reply
    from recollect.search.why import Why


class Methods:
    """A method for each operation that has none of its own in `Workspace`."""

    @method_of("brief")
    def brief(self, *, session: str | None = None, limit: int = 8, budget: int = 500) -> Rendered:
        """Print what a new session should know before anything is asked: what is pinned, decided, preferred.

        Example:
            >>> db.brief().ids
            (1,)
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
        after: Position | None = None,
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
