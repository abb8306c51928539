"""Operations that find memories: search in its forms, why, related memories, what helps with a task."""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

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
from recollect.operations.request import Call, with_options
from recollect.operations.request import Request as OperationRequest
from recollect.operations.rights import LOGGED, READS
from recollect.parameters import about
from recollect.profile import BUILT_IN
from recollect.records import Scope
from recollect.render import pages, text
from recollect.render.layout import Page, line
from recollect.replies import WEIGHTED, Reply, Request, ranges
from recollect.replies import Related as RelatedMemory

if TYPE_CHECKING:  # a client of the server opens no store
    from recollect.workspace import Workspace

EVERY: Final = 1000
"""How many hits `--all` shows at most."""


SETTABLE: Final = tuple(name for name in ranges() if name != "timeout")
"""Numbers that `--set` replaces for one search, as it does the weights of the rankings."""
ASKED: Final = frozenset(Request.__struct_fields__) - {"text", "mode", "scope", "where", "cancelled"}
"""Fields of the engine's request that have the same name and meaning here."""

if TYPE_CHECKING:
    RequestOptions = Filtered
else:
    RequestOptions = with_options(Filtered, Request)


class Ranked(RequestOptions):
    """What changes the answer to a query: `search` and `why` take the same.

    Most options are fields of `replies.Request`, which describes them.
    """

    query: Annotated[
        str,
        about(
            'what to find, in plain words; "a phrase", OR, prefix*, type:decision and -not work too',
            place=2,
            words=True,
        ),
    ]
    mode: Annotated[str, about("how to look (hybrid)", choices=tuple(MODES))] = "hybrid"
    weight: Annotated[Texts, about("words=N, vector=N or expansion=N", only="program")] = ()
    set: Annotated[
        Texts,
        about(
            f"replace a number of the profile: {', '.join(SETTABLE)}, or the weight of {', '.join(WEIGHTED)}",
            only="terminal",
            metavar="KEY=NUMBER",
        ),
    ] = ()
    profile: (
        Annotated[str, about("how to rank, instead of as the server does", only="program", choices=BUILT_IN)] | None
    ) = None

    def asked(self, db: "Workspace", call: Call, **changes: Any) -> Request:
        """Return the request to the engine; *changes* replace some of its fields."""
        given = {name: getattr(self, name) for name in self.__struct_fields__ if name in ASKED}
        return db._named_request(
            Request(
                **{
                    "text": self.query,
                    "mode": mode_from(self.mode),
                    "scope": db.scope,
                    "where": self.filter_for(call.now),
                    **given,
                    **self._numbers(),
                    "cancelled": getattr(self, "cancelled") or call.cancelled,  # noqa: B009  (declared by Request)
                    **changes,
                }
            )
        )

    def _numbers(self) -> dict[str, Any]:
        """Return what `set` and `weight` replace."""
        replaced = numbers(self.set, "set", form="KEY=NUMBER", example="alpha=0.3")
        for key in replaced:
            if key not in (*SETTABLE, *WEIGHTED):
                raise InputError(f"--set does not know {key!r}", hint=f"one of {', '.join((*SETTABLE, *WEIGHTED))}")
        weights = numbers(self.weight, "weight", form="RANKING=NUMBER", example="vector=0.5")
        weights |= {key: value for key, value in replaced.items() if key in WEIGHTED}
        given: dict[str, Any] = {key: value for key, value in replaced.items() if key in SETTABLE}
        return {**given, "weights": weights} if weights else given


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
    leaning: (
        Annotated[Literal["decisions", "changes", "how-it-works"], about("prefer this kind of memory", only="terminal")]
        | None
    ) = None
    format: OutputFormat = "text"


class LeaningSearch(
    Search,
    verb="-",
    rights=LOGGED,
    brief_limit=5,
    example={"query": "when do we deploy", "limit": 5, "type": ["decision"]},
):
    """A search that prefers one kind of memory; on the command line an option of `search`."""


def _reply_answer(reply: Reply, request: Search, call: Call) -> Answer[Reply]:
    def page() -> Page:
        found = pages.reply_page(reply, explain=request.explain, root=text.here(), brief=call.brief, store=call.store)
        return (*found, line(f"ranked by {reply.tuned}")) if request.explain and reply.tuned else found

    return paged(reply, page, rows=reply.hits, found=bool(reply.hits))


@rendered_by(_reply_answer)
def search(db: "Workspace", request: Search, call: Call) -> Reply:
    """Find memories; a blank query lists the newest.

    The reply says how far to trust the hits, and why there are none.

    Example:
        >>> reply = db.search("when do we deploy", type="decision", since="2026-04-01")
        >>> reply.outcome, [hit.memory.content for hit in reply.hits]
        ('answered', ['We deploy on Fridays'])
    """
    leaning: Any = request.leaning and request.leaning.replace("-", "_")
    return _search(db, request, call, engine.intent.boost(request.query, leaning) if leaning else request.query)


@rendered_by(_reply_answer)
def decisions(db: "Workspace", request: LeaningSearch, call: Call) -> Reply:
    """Find memories, leaning towards what was decided.

    Example:
        >>> [hit.id for hit in db.decisions("deploy", limit=1).hits]
        [1]
    """
    return _search(db, request, call, engine.intent.boost(request.query, "decisions"))


@rendered_by(_reply_answer)
def changes(db: "Workspace", request: LeaningSearch, call: Call) -> Reply:
    """Find memories, leaning towards what was changed.

    Example:
        >>> [hit.id for hit in db.changes("staging port", limit=1).hits]
        [2]
    """
    return _search(db, request, call, engine.intent.boost(request.query, "changes"))


@rendered_by(_reply_answer)
def how_it_works(db: "Workspace", request: LeaningSearch, call: Call) -> Reply:
    """Find memories, leaning towards how things work.

    Example:
        >>> [hit.id for hit in db.how_it_works("billing service", limit=1).hits]
        [3]
    """
    return _search(db, request, call, engine.intent.boost(request.query, "how_it_works"))


def _search(db: "Workspace", request: Search, call: Call, query: str) -> Reply:
    limit: int | None = getattr(request, "limit")  # noqa: B009  (declared by the engine's request)
    most = EVERY if limit is None and request.all else limit
    reply = db._ask(request.asked(db, call, text=query, limit=most), request.profile)
    if not request.explain:
        return reply
    tuned = db.tuning()
    return reply.explained(tuned="" if tuned is None else f"{tuned.profile}, tuned {tuned.day}")


class Why(Ranked, rights=READS, example={"id": 1, "query": "when do we deploy"}):
    """Which memory, and the query that did or did not find it."""

    id: MemoryId


@rendered_by(lambda found, _, __: Answer(value=found, text=lambda: text.why_text(found)))
def why(db: "Workspace", request: Why, call: Call) -> "engine.why.Why":
    """Explain why a memory was or was not found by a query.

    Example:
        >>> db.why(1, "deploy", type="config").blocked_by
        'filter'
    """
    db._one(request.id)
    asked = request.asked(db, call)
    return engine.why.why(request.id, asked, db._context(db._ranking(request.profile), asked.mode))


class Related(OperationRequest, verb="show related", rights=READS, example={"id": 1, "limit": 5}):
    """Which memory to start from."""

    id: MemoryId
    limit: Annotated[int, about("how many (10)", short="n")] | None = None
    format: OutputFormat = "text"


class RelatedMemories(Struct, frozen=True, kw_only=True):
    """The memories that belong to one, nearest first."""

    method_returns: ClassVar[str] = "related"

    id: int
    related: tuple[RelatedMemory, ...]


def _related_answer(reply: RelatedMemories, _: Related, __: Call) -> Answer[RelatedMemories]:
    rows = [each.memory for each in reply.related]
    return paged(reply, lambda: pages.related_page(reply.related), rows=rows, found=bool(rows))


@rendered_by(_related_answer)
def related(db: "Workspace", request: Related, _: Call) -> RelatedMemories:
    """Show the memories that belong to one, and why.

    Example:
        >>> db.add("We deploy from the main branch").id
        4
        >>> [each.id for each in db.related(1, limit=1)]
        [4]
    """
    one, context = db._one(request.id), db._context(db._ranking())
    scope = Scope(projects=frozenset({one.project}))
    return RelatedMemories(id=one.id, related=engine.related.related(one, context, scope=scope, limit=request.limit))


# --- for agents -----------------------------------------------------------------------------


class Inject(Selected, rights=LOGGED, group="agents", example={"task": "Prepare the release", "budget": 300}):
    """A task, and how much it may be told."""

    task: Annotated[str, about("the title of the task", place=1, words=True)]
    description: Annotated[str, about("what it is about")] = ""
    tag: Annotated[Texts, about("a tag of the task")] = ()
    session: Session | None = None
    style: Annotated[Literal["markdown", "compact", "xml"], about("how (markdown)")] = "markdown"
    budget: Annotated[int, about("how many tokens at most (500)", ge=1)] = 500
    limit: Annotated[int, about("how many memories at most (5)", ge=1, short="n")] = 5
    lens: Annotated[str, about("look through this lens")] | None = None
    precise: Annotated[bool, about("tell only what probably answers (on)", off="no_precise")] = True
    mode: Annotated[str, about("how to look (hybrid)", choices=tuple(MODES))] = "hybrid"
    only_tag: Annotated[Texts, about("only memories with this tag", metavar="NAME")] = ()


def _rendered_answer(
    found: "recall.inject.Rendered", _: OperationRequest, __: Call
) -> "Answer[recall.inject.Rendered]":
    return Answer(value=found, text=lambda: found.text)  # an empty text is an answer, and not an error to a hook


@rendered_by(_rendered_answer)
def inject(db: "Workspace", request: Inject, call: Call) -> "recall.inject.Rendered":
    """Print the memories that help with a task, for an agent's prompt, within a token budget.

    A *tag* belongs to the task and is searched for; *only_tag* and the other filters say which memories may be used.
    A session is not told the same memory twice.

    Example:
        >>> db.inject("Prepare the staging server", session="monday", type="config").ids
        (2,)
        >>> db.inject("Prepare the staging server", session="monday", type="config").ids
        ()
    """
    session = db._named(request.session)
    told = recall.ledger.told(db.store, session, project=db._notes)
    query = recall.inject.task_query(request.task, description=request.description, tags=request.tag)
    asked = db._named_request(
        Request(
            text=query,
            mode=mode_from(request.mode),
            scope=db.scope,
            where=request.filter_for(call.now, tag=request.only_tag or None),
            limit=max(request.limit, db.profile.limit) + len(told),  # it may know some of them already
            session=session,
            lens=request.lens,
            precise=request.precise,
        )
    )
    reply = db._ask(asked)
    if reply.outcome == "weak":
        title = db._ask(replace(asked, text=recall.inject.task_query(request.task), session=None))
        reply = recall.inject.trusted_as(title, reply)
    return recall.inject.inject(
        reply,
        store=db.store,
        now=call.now,
        session=session,
        project=db._notes,
        style=request.style,
        limit=request.limit,
        budget=request.budget,
    )


class Brief(OperationRequest, rights=LOGGED, group="agents", example={"limit": 5}):
    """How much a new session may be told."""

    session: Session | None = None
    limit: Annotated[int, about("how many memories at most (14)", ge=1, short="n")] = 14
    budget: Annotated[int, about("how many tokens at most (500)", ge=1)] = 500


@rendered_by(_rendered_answer)
def brief(db: "Workspace", request: Brief, _: Call) -> "recall.inject.Rendered":
    """Print what a new session should know before anything is asked: what is pinned, decided, preferred.

    Example:
        >>> db.brief().ids
        (1,)
    """
    return recall.brief.brief(
        db.store,
        scope=db._with_global,
        now=db.now(),
        session=db._named(request.session),
        project=db._notes,
        limit=request.limit,
        budget=request.budget,
    )


class Remind(
    OperationRequest, verb="-", rights=LOGGED, group="agents", example={"prompt": "Prepare the staging server"}
):
    """A prompt of a coding session."""

    prompt: Annotated[str, about("what the person typed", place=1)]
    recent: Annotated[Texts, about("a turn of the session just before", metavar="TEXT")] = ()
    session: Session | None = None
    limit: Annotated[int, about("how many memories at most (3)", ge=1, short="n")] = 3
    budget: Annotated[int, about("how many tokens at most (500)", ge=1)] = 500


@rendered_by(_rendered_answer)
def remind(db: "Workspace", request: Remind, call: Call) -> "recall.inject.Rendered":
    """Return the statements that govern a prompt of a coding session, or nothing at all.

    It reads the project of this view and what holds in all projects.

    Example:
        >>> db.remind("ok, thanks").text
        ''
    """
    return recall.prompts.remind(
        request.prompt,
        store=db.store,
        scope=db._with_global,
        now=call.now,
        embedder=db.models.current,
        search=lambda text: db._ask(
            db._named_request(Request(text=text, scope=db.scope, precise=True, limit=request.limit * 2))
        ),
        recent=request.recent,
        session=db._named(request.session),
        project=db._notes,
        limit=request.limit,
        budget=request.budget,
    )
