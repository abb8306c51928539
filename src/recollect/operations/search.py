"""Operations that find memories: search in its forms, why, related memories, what helps with a task."""

from collections.abc import Callable
from typing import Annotated, Any, Final, Literal

from msgspec import Struct

from recollect import recall
from recollect import search as engine
from recollect.errors import InputError
from recollect.operations.answer import Answer, paged, rendered_by
from recollect.operations.fields import (
    MODES,
    Filtered,
    MemoryId,
    OutputFormat,
    Selected,
    Session,
    Texts,
    mode_from,
    numbers,
)
from recollect.operations.request import Call, Request, about
from recollect.operations.rights import LOGGED, READS
from recollect.profile import BUILT_IN
from recollect.recollection import Recollection
from recollect.render import pages, text
from recollect.render.layout import Page, line
from recollect.replies import RANGES, WEIGHTED, Reply
from recollect.replies import Related as RelatedMemory

EVERY: Final = 1000
"""How many hits `--all` shows at most."""


SETTABLE: Final = tuple(name for name in RANGES if name != "timeout")
"""Numbers that `--set` replaces for one search, as it does the weights of the rankings."""


def _bounded(name: str, description: str) -> Any:
    minimum, maximum = RANGES[name]
    return about(description, ge=minimum, le=maximum, only="program" if name in SETTABLE else "")


class Ranked(Filtered):
    """What changes the answer to a query: `search` and `why` take the same."""

    query: Annotated[str, about("words, '\"a phrase\"', OR, AND, prefix*, type:decision, -not", place=2, words=True)]
    mode: Annotated[str, about("how to look (hybrid)", choices=tuple(MODES))] = "hybrid"
    limit: Annotated[int, about("how many hits (5 on a terminal, else what the profile says)", short="n")] | None = None
    alpha: Annotated[float, _bounded("alpha", "0 asks words alone, 1 meaning alone")] | None = None
    min_confidence: (
        Annotated[float, _bounded("min_confidence", "drop hits whose facts are less sure than this")] | None
    ) = None
    recency_weight: (
        Annotated[float, _bounded("recency_weight", "how much newer memories are preferred; 0 not at all")] | None
    ) = None
    min_similarity: (
        Annotated[float, _bounded("min_similarity", "how near in meaning a memory must be to be found by it")] | None
    ) = None
    min_score: Annotated[float, _bounded("min_score", "drop hits that score less than this")] | None = None
    rrf_k: Annotated[float, _bounded("rrf_k", "the k of reciprocal rank fusion")] | None = None
    timeout: Annotated[float, _bounded("timeout", "give up after this many seconds")] | None = None
    weight: Annotated[Texts, about("words=N, vector=N or expansion=N (may be repeated)", only="program")] = ()
    set: Annotated[
        Texts,
        about(
            f"replace a number of the profile: {', '.join(SETTABLE)}, or the weight of {', '.join(WEIGHTED)} "
            "(may be repeated)",
            only="terminal",
            metavar="KEY=NUMBER",
        ),
    ] = ()
    lens: Annotated[str, about("look through this lens")] | None = None
    intent: Annotated[str, about("what you are after; looks further, however sure the first hit seems")] | None = None
    precise: Annotated[bool, about("show only the hits that probably answer (all that match)", off="no_precise")] = (
        False
    )
    profile: (
        Annotated[str, about("how to rank, instead of as the server does", only="program", choices=BUILT_IN)] | None
    ) = None
    embedding: (
        Annotated[
            tuple[float, ...],
            about("the vector to search with, instead of the model's own of the query", only="program"),
        ]
        | None
    ) = None

    def options(self, call: Call) -> dict[str, Any]:
        """Return the keywords of `Recollection.search` that it stands for."""
        same = (*RANGES, "limit", "lens", "intent", "profile", "embedding")
        given = {name: getattr(self, name) for name in same if getattr(self, name) is not None}
        replaced = numbers(self.set, "set", form="KEY=NUMBER", example="alpha=0.3")
        for key in replaced:
            if key not in (*SETTABLE, *WEIGHTED):
                raise InputError(f"--set does not know {key!r}", hint=f"one of {', '.join((*SETTABLE, *WEIGHTED))}")
        weights = numbers(self.weight, "weight", form="RANKING=NUMBER", example="vector=0.5")
        weights |= {key: value for key, value in replaced.items() if key in WEIGHTED}
        given |= {key: value for key, value in replaced.items() if key in SETTABLE}
        if weights:
            given["weights"] = weights
        if call.cancelled is not None:
            given["cancelled"] = call.cancelled
        return {"mode": mode_from(self.mode), "where": self.where(call.now), "precise": self.precise, **given}


class Search(
    Ranked,
    rights=LOGGED,
    brief_limit=5,
    example={"query": "when do we deploy", "limit": 5, "type": ["decision"]},
):
    """A search."""

    without_model: Annotated[
        Literal["keyword", "fail"],
        about("what a search for meaning does when there is no model (keyword)", metavar="NAME"),
    ] = "keyword"
    session: Annotated[str, about("write the answer into the recall log of this session")] | None = None
    include_facts: Annotated[bool, about("include the facts of each hit (on)", off="no_facts")] = True
    facets: Annotated[bool, about("count all that match by type, tag, month, …")] = False
    explain: Annotated[bool, about("show how each score comes about")] = False
    all: Annotated[bool, about("show every hit, also those far below the first", only="terminal")] = False
    format: OutputFormat = "text"


def _reply_answer(reply: Reply, request: Search, call: Call) -> Answer[Reply]:
    def page() -> Page:
        found = pages.reply_page(reply, explain=request.explain, root=text.here(), brief=call.brief, store=call.store)
        return (*found, line(f"ranked by {reply.tuned}")) if request.explain and reply.tuned else found

    return paged(reply, page, rows=reply.hits, found=bool(reply.hits))


@rendered_by(_reply_answer)
def search(db: Recollection, request: Search, call: Call) -> Reply:
    """Find memories; a blank query lists the newest."""
    return _search(db, request, call, db.search)


@rendered_by(_reply_answer)
def decisions(db: Recollection, request: Search, call: Call) -> Reply:
    """Find memories, leaning towards what was decided."""
    return _search(db, request, call, db.decisions)


@rendered_by(_reply_answer)
def changes(db: Recollection, request: Search, call: Call) -> Reply:
    """Find memories, leaning towards what was changed."""
    return _search(db, request, call, db.changes)


@rendered_by(_reply_answer)
def how_it_works(db: Recollection, request: Search, call: Call) -> Reply:
    """Find memories, leaning towards how things work."""
    return _search(db, request, call, db.how_it_works)


def _search(db: Recollection, request: Search, call: Call, ask: Callable[..., Reply]) -> Reply:
    most = EVERY if request.limit is None and request.all else request.limit
    reply = ask(
        request.query,
        **{**request.options(call), "limit": most},
        session=request.session,
        facets=request.facets,
        include_facts=request.include_facts,
        without_model=request.without_model,
    )
    if not request.explain:
        return reply
    tuned = db.tuning()
    return reply.explained(tuned="" if tuned is None else f"{tuned.profile}, tuned {tuned.day}")


class Why(Ranked, rights=READS, example={"id": 1, "query": "when do we deploy"}):
    """Which memory, and the query that did or did not find it."""

    id: MemoryId


@rendered_by(lambda found, _, __: Answer(value=found, text=lambda: text.why_text(found)))
def why(db: Recollection, request: Why, call: Call) -> "engine.why.Why":
    """Explain why a memory was or was not found by a query."""
    return db.why(request.id, request.query, **request.options(call))


class Related(Request, rights=READS, example={"id": 1, "limit": 5}):
    """Which memory to start from."""

    id: MemoryId
    limit: Annotated[int, about("how many (10)", short="n")] | None = None
    format: OutputFormat = "text"


class RelatedMemories(Struct, frozen=True, kw_only=True):
    """The memories that belong to one, nearest first."""

    id: int
    related: tuple[RelatedMemory, ...]


def _related_answer(reply: RelatedMemories, _: Related, __: Call) -> Answer[RelatedMemories]:
    rows = [each.memory for each in reply.related]
    return paged(reply, lambda: pages.related_page(reply.related), rows=rows, found=bool(rows))


@rendered_by(_related_answer)
def related(db: Recollection, request: Related, _: Call) -> RelatedMemories:
    """Show the memories that belong to one, and why."""
    return RelatedMemories(id=request.id, related=db.related(request.id, limit=request.limit))


# --- for agents -----------------------------------------------------------------------------


class Inject(Selected, rights=LOGGED, group="agents", example={"task": "Prepare the release", "budget": 300}):
    """A task, and how much it may be told."""

    task: Annotated[str, about("the title of the task", place=1, words=True)]
    description: Annotated[str, about("what it is about")] = ""
    tag: Annotated[Texts, about("a tag of the task (may be repeated)")] = ()
    session: Session | None = None
    style: Annotated[Literal["markdown", "compact", "xml"], about("how (markdown)")] = "markdown"
    budget: Annotated[int, about("how many tokens at most (500)", ge=1)] = 500
    limit: Annotated[int, about("how many memories at most (5)", ge=1, short="n")] = 5
    lens: Annotated[str, about("look through this lens")] | None = None
    precise: Annotated[bool, about("tell only what probably answers (on)", off="no_precise")] = True
    only_tag: Annotated[Texts, about("only memories with this tag (may be repeated)", metavar="NAME")] = ()


def _rendered_answer(found: "recall.inject.Rendered", _: Request, __: Call) -> "Answer[recall.inject.Rendered]":
    return Answer(value=found, text=lambda: found.text)  # an empty text is an answer, and not an error to a hook


@rendered_by(_rendered_answer)
def inject(db: Recollection, request: Inject, call: Call) -> "recall.inject.Rendered":
    """Print the memories that help with a task, for an agent's prompt, within a token budget."""
    return db.inject(
        request.task,
        description=request.description,
        tag=request.tag,
        session=request.session,
        style=request.style,
        budget=request.budget,
        limit=request.limit,
        lens=request.lens,
        precise=request.precise,
        where=request.where(call.now, tags=request.only_tag),
    )


class Brief(Request, rights=LOGGED, group="agents", example={"limit": 5}):
    """How much a new session may be told."""

    session: Session | None = None
    limit: Annotated[int, about("how many memories at most (8)", ge=1, short="n")] = 8
    budget: Annotated[int, about("how many tokens at most (500)", ge=1)] = 500


@rendered_by(_rendered_answer)
def brief(db: Recollection, request: Brief, _: Call) -> "recall.inject.Rendered":
    """Print what a new session should know before anything is asked: what is pinned, decided, preferred."""
    return db.brief(session=request.session, limit=request.limit, budget=request.budget)
