"""Operations on what happened: recent activity, what needs a person, the recall log."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from msgspec import Struct

from recollect import recall, upkeep
from recollect.errors import InputError
from recollect.operations.answer import Answer, listed, operation
from recollect.operations.fields import Session
from recollect.operations.request import Call, Request
from recollect.operations.rights import OWNER_WRITES, READS
from recollect.parameters import about
from recollect.records import Recall
from recollect.render import text

if TYPE_CHECKING:  # a client of the server opens no store
    from recollect.workspace import Workspace


class Activity(Request, verb="log activity", rights=READS, group="agents", example={"limit": 20}):
    """How far back to look."""

    session: Session | None = None
    limit: Annotated[int, about("how many (50)", ge=1, short="n")] = 50


MAX_ENTRIES: Final = 10_000


class Entries(Struct, frozen=True, kw_only=True):
    """What happened, the last first."""

    entries: "tuple[upkeep.activity.Entry, ...]"


@operation
def activity(db: "Workspace", request: Activity, _: Call) -> Answer[Entries]:
    """Show what happened lately: what was learned, changed, recalled, or told to an agent.

    Example:
        >>> [(entry.what, entry.ids) for entry in db.activity(limit=2)]
        [('recalled', (1,)), ('learned', (3,))]
    """
    db._log.flush()  # what was recalled until now belongs to it
    found = upkeep.activity.activity(
        db.store,
        scope=db.scope,
        project=db._notes,
        session=db._named(request.session),
        limit=min(request.limit, MAX_ENTRIES),
    )
    return listed(Entries(entries=found), found, text.entry_line, empty="Nothing happened yet.")


class Review(
    Request,
    rights=READS.but(action={"done": OWNER_WRITES, "again": OWNER_WRITES}),
    group="care",
    example={"action": "list"},
):
    """What to do with which question."""

    action: Annotated[Literal["list", "done", "again"], about("what to do (list)", place=1)] = "list"
    key: Annotated[str, about("the question, such as trust:26", place=2)] | None = None


class ReviewItems(Struct, frozen=True, kw_only=True):
    """What needs a person."""

    items: "tuple[upkeep.review.ReviewItem, ...]"


class Settled(Struct, frozen=True, kw_only=True):
    """A question of a review, and whether it is settled."""

    key: str
    settled: bool


@operation
def review(db: "Workspace", request: Review, _: Call) -> Answer[ReviewItems] | Answer[Settled]:
    """List what needs a person: contradictions, merges, agents' words, secrets, failed imports; or settle one."""
    if request.action == "list":
        found = db.review()
        return listed(
            ReviewItems(items=found), found, text.review_line, empty="Nothing needs you.", empty_is_success=True
        )
    key, again = request.key, request.action == "again"
    if not key:
        raise InputError("say which question", hint="such as: recollect review done trust:26")
    db.settle(key, again=again)
    state = "open again" if again else "settled"
    return Answer(value=Settled(key=key, settled=not again), text=lambda: f"{key} is {state}")


# --- the recall log -------------------------------------------------------------------------


class Log(Request, rights=READS.but(report={"prune": OWNER_WRITES}), group="agents", example={"report": "unanswered"}):
    """Which report of the recall log."""

    report: Annotated[
        Literal["recent", "provenance", "never-recalled", "never-used", "unanswered", "prune"],
        about(
            "recent searches, provenance of a fact, memories that are never-recalled or never-used, unanswered "
            "searches; or prune",
            place=1,
        ),
    ] = "recent"
    session: Session | None = None
    fact: Annotated[int, about("the id of a fact", is_id=True)] | None = None
    memory: Annotated[int, about("only searches that found this memory", is_id=True)] | None = None
    limit: Annotated[int, about("how many (20)", ge=1, short="n")] = 20
    older_than: Annotated[Any, about("prune: what is older than this: 90d, 2026-05-01, …", metavar="DATE")] | None = (
        None
    )
    max_size: Annotated[float, about("prune: the oldest, until the log has this many MB", ge=0)] | None = None


class Recalls(Struct, frozen=True, kw_only=True):
    """Logged searches, the last first."""

    recalls: tuple[Recall, ...]


class MemoryIdList(Struct, frozen=True, kw_only=True):
    """Ids of memories."""

    ids: tuple[int, ...]


class MemoryUses(Struct, frozen=True, kw_only=True):
    """How often memories were shown and used."""

    memories: "tuple[recall.log.MemoryUse, ...]"


class UnansweredQuery(Struct, frozen=True, kw_only=True):
    """A query that found nothing, and how often it was asked."""

    query: str
    times: int


class UnansweredQueries(Struct, frozen=True, kw_only=True):
    """Queries that found nothing."""

    queries: tuple[UnansweredQuery, ...]


class Pruned(Struct, frozen=True, kw_only=True):
    """How many searches were removed from the log."""

    pruned: int


LogReply = Recalls | MemoryIdList | MemoryUses | UnansweredQueries | Pruned


@operation
def log(db: "Workspace", request: Log, _: Call) -> Answer[LogReply]:
    """Read the log of searches that named a session, or prune it."""
    return REPORTS[request.report](db, request)


def _recent(db: "Workspace", request: Log, *, fact: int | None = None) -> Answer[Recalls]:
    found = db.log.recent(session=request.session, fact=fact, memory=request.memory, limit=request.limit)
    return listed(Recalls(recalls=found), found, text.recall_line, empty="Nothing was recalled yet.")


def _provenance(db: "Workspace", request: Log) -> Answer[Recalls]:
    if request.fact is None:
        raise InputError("say which fact", hint="such as: recollect log provenance --fact 3")
    return _recent(db, request, fact=request.fact)


def _never_recalled(db: "Workspace", request: Log) -> Answer[MemoryIdList]:
    found = db.log.never_recalled(limit=request.limit)
    ids = MemoryIdList(ids=tuple(memory.id for memory in found))
    return listed(ids, found, text.one_line, empty="Every memory was recalled.")


def _never_used(db: "Workspace", _: Log) -> Answer[MemoryUses]:
    found, empty = db.log.never_used(), "No memory was shown three times and never used."
    uses = MemoryUses(memories=found)
    return listed(uses, found, lambda each: f"#{each.id} shown {each.shown} times, never used", empty=empty)


def _unanswered(db: "Workspace", request: Log) -> Answer[UnansweredQueries]:
    found, empty = db.log.unanswered(limit=request.limit), "Every query found something."
    queries = tuple(UnansweredQuery(query=query, times=times) for query, times in found)
    return listed(
        UnansweredQueries(queries=queries),
        queries,
        lambda each: text.unanswered_line(each.query, each.times),
        empty=empty,
    )


def _prune(db: "Workspace", request: Log) -> Answer[Pruned]:
    count = db.log.prune(older_than=request.older_than, max_size=request.max_size)
    return Answer(value=Pruned(pruned=count), text=lambda: f"{count} searches pruned from the recall log")


REPORTS: Final[Mapping[str, "Callable[[Workspace, Log], Answer[Any]]"]] = {
    "recent": _recent,
    "provenance": _provenance,
    "never-recalled": _never_recalled,
    "never-used": _never_used,
    "unanswered": _unanswered,
    "prune": _prune,
}
