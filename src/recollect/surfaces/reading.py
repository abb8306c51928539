"""Verbs that read: search in its forms, why, what belongs to a memory or to a task, lists, facts, the recall log."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from recollect.errors import InputError
from recollect.recollection import Recollection
from recollect.records import Fact, Progress
from recollect.replies import RANGES, Reply
from recollect.stores.choice import shown_address
from recollect.surfaces import pages, text
from recollect.surfaces.layout import Line, Page, Piece, line
from recollect.surfaces.rights import LOGGED, OWNER_WRITES, READS
from recollect.surfaces.serialise import explained, serialise
from recollect.surfaces.table import (
    FILTERS,
    FORMAT,
    ID,
    IDS,
    LIMIT,
    MODES,
    SESSION,
    Answer,
    Given,
    Parameter,
    action_of,
    listed,
    mode_from,
    operation,
    paged,
)

LENS: Final = Parameter(name="lens", about="look through this lens")
BUDGET: Final = Parameter(name="budget", kind="number", least=1, default=500, about="how many tokens at most (500)")

# --- searches -------------------------------------------------------------------------------

NUMBERS: Final = (
    replace(LIMIT, least=None, about="how many hits (5 on a terminal, else what the profile says)"),
    *(
        Parameter(name=name, kind="share", least=RANGES[name][0], most=RANGES[name][1], about=about)
        for name, about in {
            "alpha": "0 asks words alone, 1 meaning alone",
            "min_confidence": "drop hits whose facts are less sure than this",
            "recency_weight": "how much newer memories are preferred; 0 not at all",
            "min_similarity": "how near in meaning a memory must be to be found by it",
            "min_score": "drop hits that score less than this",
            "rrf_k": "the k of reciprocal rank fusion",
            "timeout": "give up after this many seconds",
        }.items()
    ),
)
"""Numbers of a search; those that are not given are the profile's."""
ASKED: Final = (
    Parameter(
        name="query", kind="words", place=True, about="words, '\"a phrase\"', OR, AND, prefix*, type:decision, -not"
    ),
    Parameter(name="mode", kind="choice", choices=tuple(MODES), default="hybrid", about="how to look (hybrid)"),
    *NUMBERS,
    Parameter(name="weight", kind="texts", about="words=N, vector=N or expansion=N (may be repeated)"),
    *FILTERS,
    LENS,
    Parameter(name="intent", about="what you are after; looks further, however sure the first hit seems"),
    Parameter(
        name="precise", kind="flag", off="no_precise", about="show only the hits that probably answer (all that match)"
    ),
)
"""What changes an answer: `search` and `why` take the same."""
SEARCH: Final = (
    *ASKED,
    Parameter(
        name="without_model",
        kind="choice",
        choices=("keyword", "fail"),
        default="keyword",
        about="what a search for meaning does when there is no model (keyword)",
    ),
    Parameter(name="session", about="write the answer into the recall log of this session"),
    Parameter(
        name="include_facts", kind="flag", default=True, off="no_facts", about="include the facts of each hit (on)"
    ),
    Parameter(name="facets", kind="flag", about="count all that match by type, tag, month, …"),
    Parameter(name="explain", kind="flag", about="show how each score comes about"),
    Parameter(name="all", kind="flag", only="terminal", about="show every hit, also those far below the first"),
    FORMAT,
)
BRIEF: Final = 5
"""How many hits a terminal shows unless told."""
EVERY: Final = 1000
"""How many hits are all."""


@operation(*SEARCH, rights=LOGGED)
def search(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Find memories; a blank query lists the newest."""
    return _search(db, given, db.search)


@operation(*SEARCH, rights=LOGGED)
def decisions(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Find memories, leaning towards what was decided."""
    return _search(db, given, db.decisions)


@operation(*SEARCH, rights=LOGGED)
def changes(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Find memories, leaning towards what was changed."""
    return _search(db, given, db.changes)


@operation(*SEARCH, rights=LOGGED)
def how_it_works(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Find memories, leaning towards how things work."""
    return _search(db, given, db.how_it_works)


def _search(db: Recollection, given: Given, ask: Callable[..., Reply]) -> Answer:
    explain, brief = bool(given.get("explain")), bool(given.get("brief"))
    most = given["limit"]
    if most is None:
        most = BRIEF if brief else EVERY if given["all"] else None
    reply = ask(
        given["query"],
        **{**_asked(given), "limit": most},
        session=given.get("session"),
        facets=bool(given.get("facets")),
        include_facts=given.get("include_facts") is not False,
        without_model=given["without_model"],
    )

    def page() -> Page:
        tuned = db.tuning() if explain else None
        found = pages.reply_page(reply, explain=explain, root=text.here(), brief=brief, store=shown_address(db.address))
        return found if tuned is None else (*found, line(f"ranked by {tuned.profile}, tuned {tuned.day}"))

    return paged(explained(reply) if explain else reply, page, rows=reply.hits, found=bool(reply.hits))


def _asked(given: Given) -> dict[str, Any]:
    """Return the options of a search that the parameters of ASKED describe."""
    options = given.chosen([*(each.name for each in NUMBERS), "lens", "intent", "cancelled", "profile", "embedding"])
    if given["weight"]:
        options["weights"] = given.numbers("weight", form="RANKING=NUMBER", example="vector=0.5")
    shown = {"precise": bool(given.get("precise"))}
    return {"mode": mode_from(given["mode"]), "where": given.where(), **shown, **options}


@operation(ID, *ASKED, rights=READS)
def why(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Explain why a memory was or was not found by a query."""
    told = db.why(given.ids[0], given["query"], **_asked(given))
    return Answer(value=told, text=lambda: text.why_text(told))


@operation(ID, replace(LIMIT, least=None, about="how many (10)"), FORMAT, rights=READS)
def related(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Show the memories that belong to one, and why."""
    (row,) = given.ids
    found = db.related(row, limit=given.get("limit"))
    rows = [each.memory for each in found]
    return paged({"id": row, "related": found}, lambda: pages.related_page(found), rows=rows, found=bool(found))


@operation(
    Parameter(name="task", kind="words", place=True, about="the title of the task"),
    Parameter(name="description", default="", about="what it is about"),
    Parameter(name="tag", kind="texts", about="a tag of the task (may be repeated)"),
    SESSION,
    Parameter(
        name="style", kind="choice", choices=("markdown", "compact", "xml"), default="markdown", about="how (markdown)"
    ),
    BUDGET,
    replace(LIMIT, default=5, about="how many memories at most (5)"),
    LENS,
    Parameter(
        name="precise", kind="flag", default=True, off="no_precise", about="tell only what probably answers (on)"
    ),
    *(replace(each, name="only_tag") if each.name == "tag" else each for each in FILTERS),
    rights=LOGGED,
    group="agents",
)
def inject(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Print the memories that help with a task, for an agent's prompt, within a token budget."""
    told = db.inject(
        given["task"],
        description=given["description"],
        tag=tuple(given["tag"]),
        session=given.get("session"),
        style=given["style"],
        budget=given["budget"],
        limit=given["limit"],
        lens=given.get("lens"),
        precise=given.get("precise") is not False,
        where=given.where(tag="only_tag"),
    )
    return Answer(value=told, text=lambda: told.text)  # to tell nothing is an answer, and no error to a hook


@operation(
    SESSION,
    replace(LIMIT, default=8, about="how many memories at most (8)"),
    BUDGET,
    rights=LOGGED,
    group="agents",
)
def brief(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Print what a new session should know before anything is asked: what is pinned, decided, preferred."""
    told = db.brief(session=given.get("session"), limit=given["limit"], budget=given["budget"])
    return Answer(value=told, text=lambda: told.text)


# --- memories and facts ---------------------------------------------------------------------


@operation(IDS, FORMAT, rights=READS)
def show(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Show memories with all that is known of them, and their history."""
    found = [db.show(row) for row in given.ids]
    value = found[0] if len(found) == 1 else {"results": found}

    def page() -> Page:
        shown = [pages.shown_page(each, root=text.here()) for each in found]
        return shown[0] + tuple(each for one in shown[1:] for each in (Line(), *one))

    return paged(value, page, rows=[each.memory for each in found])


@operation(ID)
def open_(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Open the file that a memory comes from, at its line, in your editor; in a pipe only say where it is."""
    (row,) = given.ids
    memory = db.show(row).memory
    if not pages.address(memory):
        raise InputError(f"#{row} comes from no file", hint=f"see what is known of it: recollect show {row}")
    value = {"id": row, "source": memory.source, "line": memory.line, "address": pages.address(memory)}
    return paged(value, lambda: (line(Piece(text.place_of(memory), link=pages.address(memory))),))


@operation(
    replace(LIMIT, default=20, about="how many (20)"),
    Parameter(name="offset", kind="number", default=0, least=0, about="how many to pass over"),
    *FILTERS,
    FORMAT,
    rights=READS,
)
def list_(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """List memories, newest first."""
    offset = given["offset"]
    listing = db.list(where=given.where(), limit=given["limit"], offset=offset, after=given.get("after"))
    return paged(
        listing,
        lambda: pages.listing_page(listing, offset=offset),
        rows=listing.memories,
        found=bool(listing.memories),
    )


@operation(
    Parameter(name="query", kind="words", place=True, optional=True, default="", about="what about (everything)"),
    replace(LIMIT, default=50, about="how many (50)"),
    FORMAT,
    rights=READS,
)
def timeline(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Show memories oldest first, superseded ones too."""
    found = db.timeline(given["query"], limit=given["limit"])
    return paged({"memories": found}, lambda: pages.timeline_page(found), rows=found, found=bool(found))


@operation(
    Parameter(name="subject", about="only about this subject"),
    Parameter(name="type", kind="texts", about="only of this type (may be repeated)"),
    replace(LIMIT, default=100, about="how many (100)"),
    rights=READS,
    group="agents",
)
def facts(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """List the facts that memories state: subject, predicate, object."""
    types = tuple(given["type"]) or None
    return _stated(db.facts(subject=given.get("subject"), type=types, limit=given["limit"]))


@operation(
    Parameter(
        name="below", kind="share", least=0, most=1, default=0.5, about="those with less confidence than this (0.5)"
    ),
    Parameter(name="days", kind="number", least=0, default=30, about="those not confirmed for this many days (30)"),
    rights=READS,
    group="agents",
)
def stale(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """List facts whose confidence has faded, or that nobody confirmed for long."""
    return _stated(db.stale(below=given["below"], days=given["days"]))


def _stated(found: tuple[Fact, ...]) -> Answer:
    values = [{**serialise(each), "memory_id": each.memory_id, "quote": each.quote} for each in found]
    return listed(found, text.fact_line, empty="No facts.", facts=values)


@operation(rights=READS, group="agents")
def conflicts(db: Recollection, _: Given, __: Progress | None) -> Answer:
    """List facts and memories that contradict each other."""
    found = db.conflicts()
    return listed(found, text.conflict_line, empty="No conflicts.", conflicts=found)


# --- what happened, and what needs a person -------------------------------------------------


@operation(SESSION, replace(LIMIT, default=50, about="how many (50)"), rights=READS, group="agents")
def activity(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Show what happened lately: what was learned, changed, recalled, or told to an agent."""
    found = db.activity(session=given.get("session"), limit=given["limit"])
    return listed(found, text.entry_line, empty="Nothing happened yet.", entries=found)


def _questions(db: Recollection, _: Given) -> Answer:
    found = db.review()
    return listed(found, text.review_line, empty="Nothing needs you.", items=found)


def _settled(db: Recollection, given: Given) -> Answer:
    key, again = given.get("key"), given["action"] == "again"
    if not key:
        raise InputError("say which question", hint="such as: recollect review done trust:26")
    db.settle(key, again=again)
    return Answer(
        value={"key": key, "settled": not again}, text=lambda: f"{key} is {'open again' if again else 'settled'}"
    )


REVIEW: Final[Mapping[str, Callable[[Recollection, Given], Answer]]] = {
    "list": _questions,
    "done": _settled,
    "again": _settled,
}


@operation(
    action_of(REVIEW),
    Parameter(name="key", place=True, optional=True, about="the question, such as trust:26"),
    rights=READS.but(action={"done": OWNER_WRITES, "again": OWNER_WRITES}),
    group="care",
)
def review(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """List what needs a person: contradictions, merges, agents' words, secrets, failed imports; or settle one."""
    return REVIEW[given["action"]](db, given)


# --- the recall log -------------------------------------------------------------------------


def _recent(db: Recollection, given: Given, *, fact: int | None = None) -> Answer:
    found = db.recalls(session=given.get("session"), fact=fact, memory=given.get("memory"), limit=given["limit"])
    return listed(found, text.recall_line, empty="Nothing was recalled yet.", recalls=found)


def _provenance(db: Recollection, given: Given) -> Answer:
    if given.get("fact") is None:
        raise InputError("say which fact", hint="such as: recollect log provenance --fact 3")
    return _recent(db, given, fact=given["fact"])


def _never_recalled(db: Recollection, given: Given) -> Answer:
    found = db.never_recalled(limit=given["limit"])
    return listed(found, text.one_line, empty="Every memory was recalled.", ids=[memory.id for memory in found])


def _never_used(db: Recollection, _: Given) -> Answer:
    found, empty = db.never_used(), "No memory was shown three times and never used."
    return listed(found, lambda each: f"#{each.id} shown {each.shown} times, never used", empty=empty, memories=found)


def _unanswered(db: Recollection, given: Given) -> Answer:
    found, empty = db.unanswered(limit=given["limit"]), "Every query found something."
    queries = [{"query": query, "times": times} for query, times in found]
    return listed(queries, text.unanswered_line, empty=empty, queries=queries)


def _prune(db: Recollection, given: Given) -> Answer:
    count = db.prune_log(older_than=given.get("older_than"), max_size=given.get("max_size"))
    return Answer(value={"pruned": count}, text=lambda: f"{count} searches pruned from the recall log")


LOGS: Final[Mapping[str, Callable[[Recollection, Given], Answer]]] = {
    "recent": _recent,
    "provenance": _provenance,
    "never-recalled": _never_recalled,
    "never-used": _never_used,
    "unanswered": _unanswered,
    "prune": _prune,
}


@operation(
    Parameter(
        name="report",
        kind="choice",
        choices=tuple(LOGS),
        place=True,
        optional=True,
        default="recent",
        about="recent searches, provenance of a fact, memories that are never-recalled or never-used, unanswered "
        "searches; or prune",
    ),
    SESSION,
    Parameter(name="fact", kind="id", about="the id of a fact"),
    Parameter(name="memory", kind="id", about="only searches that found this memory"),
    replace(LIMIT, default=20, about="how many (20)"),
    Parameter(name="older_than", about="prune: what is older than this: 90d, 2026-05-01, …"),
    Parameter(name="max_size", kind="share", least=0, about="prune: the oldest, until the log has this many MB"),
    rights=READS.but(report={"prune": OWNER_WRITES}),
    group="agents",
)
def log(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Read the log of searches that named a session, or prune it."""
    return LOGS[given["report"]](db, given)
