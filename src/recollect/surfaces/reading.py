"""Verbs that read: search in its forms, why, what belongs to a memory or to a task, lists, facts, the recall log."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from recollect.errors import InputError
from recollect.recollection import Recollection
from recollect.records import Fact, Progress
from recollect.replies import Reply
from recollect.surfaces import text
from recollect.surfaces.serialise import explained, serialise
from recollect.surfaces.table import (
    FILTERS,
    ID,
    LENS,
    LIMIT,
    MODES,
    SESSION,
    Answer,
    Given,
    Operation,
    Parameter,
    listed,
    mode_from,
    numbers_from,
    where_from,
)

# --- searches -------------------------------------------------------------------------------

NUMBERS: Final = (
    Parameter(name="limit", kind="number", about="how many hits"),
    Parameter(name="alpha", kind="share", about="0 asks words alone, 1 meaning alone"),
    Parameter(name="min_confidence", kind="share", about="drop hits whose facts are less sure than this"),
    Parameter(name="recency_weight", kind="share", about="how much newer memories are preferred; 0 not at all"),
    Parameter(name="min_similarity", kind="share", about="the least cosine of a hit that meaning alone found"),
    Parameter(name="min_score", kind="share", about="drop hits that score less than this"),
    Parameter(name="rrf_k", kind="share", about="the k of reciprocal rank fusion"),
    Parameter(name="timeout", kind="share", about="give up after so many seconds"),
)
"""Numbers of a search; those that are not given are the profile's."""
ASKED: Final = (
    Parameter(name="query", place=True, about='words, "phrases", -not, OR, AND, prefix*, type:decision'),
    Parameter(name="mode", kind="choice", choices=tuple(MODES), about="how to look (hybrid)"),
    *NUMBERS,
    Parameter(name="weight", kind="texts", about="words=N, vector=N or expansion=N (may be repeated)"),
    *FILTERS,
    LENS,
    Parameter(name="intent", about="what you are after; looks further, however sure the first hit seems"),
)
"""What changes an answer: `search` and `why` take the same."""


def _asked(db: Recollection, given: Given) -> dict[str, Any]:
    """Return the options of a search that the parameters of ASKED describe."""
    names = [*(each.name for each in NUMBERS), "lens", "intent"]
    options = {name: given[name] for name in names if given.get(name) is not None}
    if given.get("weight"):
        options["weights"] = numbers_from(given, "weight", form="RANKING=NUMBER", example="vector=0.5")
    return {"mode": mode_from(given.get("mode")), "where": where_from(db, given), **options}


def _search(db: Recollection, given: Given, _: Progress | None, *, ask: Callable[..., Reply]) -> Answer:
    explain = bool(given.get("explain"))
    reply = ask(
        db,
        given["query"],
        **_asked(db, given),
        session=given.get("session"),
        facets=bool(given.get("facets")),
        include_facts=given.get("include_facts") is not False,
        without_model=given.get("without_model") or "keyword",
    )
    return Answer(
        value=explained(reply) if explain else reply,
        text=lambda: text.reply_text(reply, explain=explain, root=text.here()) + (_tuned(db) if explain else ""),
        found=bool(reply.hits),
    )


def _tuned(db: Recollection) -> str:
    tuning = db.tuning()
    return "" if tuning is None else f"\nranked by {tuning.profile}, tuned {tuning.day}"


def _why(db: Recollection, given: Given, _: Progress | None) -> Answer:
    told = db.why(given["id"], given["query"], **_asked(db, given))
    return Answer(value=told, text=lambda: text.why_text(told))


def _related(db: Recollection, given: Given, _: Progress | None) -> Answer:
    found = db.related(given["id"], limit=given.get("limit"))
    return listed(found, text.related_line, empty="Nothing is near it.", id=given["id"], related=found)


def _inject(db: Recollection, given: Given, _: Progress | None) -> Answer:
    told = db.inject(
        given["task"],
        description=given.get("description") or "",
        tags=tuple(given.get("tag") or ()),
        session=given.get("session"),
        style=given.get("style") or "markdown",
        budget=given.get("budget") or 500,
        limit=given.get("limit") or 5,
        lens=given.get("lens"),
        where=where_from(db, {**given, "tag": given.get("only_tag")}),
    )
    return Answer(value=told, text=lambda: told.text, found=bool(told.ids))


# --- memories and facts ---------------------------------------------------------------------


def _show(db: Recollection, given: Given, _: Progress | None) -> Answer:
    shown = db.show(given["id"])
    return Answer(value=shown, text=lambda: text.shown_text(shown, root=text.here()))


def _list(db: Recollection, given: Given, _: Progress | None) -> Answer:
    limit, offset = given.get("limit") or 0, given.get("offset") or 0
    listing = db.list(where=where_from(db, given), limit=limit if limit > 0 else 20, offset=offset)
    return Answer(value=listing, text=lambda: text.listing_text(listing), found=bool(listing.memories))


def _timeline(db: Recollection, given: Given, _: Progress | None) -> Answer:
    found = db.timeline(given.get("query") or "", limit=given.get("limit") or 50)
    return listed(found, text.timeline_line, empty="Nothing here.", memories=found)


def _facts(db: Recollection, given: Given, _: Progress | None) -> Answer:
    types = tuple(given["type"]) if given.get("type") else None
    return _told(db.facts(subject=given.get("subject"), types=types, limit=given.get("limit") or 100))


def _stale(db: Recollection, given: Given, _: Progress | None) -> Answer:
    return _told(db.stale(below=given.get("below") or 0.5, days=given.get("days") or 30))


def _told(facts: tuple[Fact, ...]) -> Answer:
    told = [{**serialise(each), "memory_id": each.memory_id, "quote": each.quote} for each in facts]
    return listed(facts, text.fact_line, empty="No facts.", facts=told)


def _conflicts(db: Recollection, _: Given, __: Progress | None) -> Answer:
    found = db.conflicts()
    return listed(found, text.conflict_line, empty="No conflicts.", conflicts=found)


# --- the recall log -------------------------------------------------------------------------


def _log(db: Recollection, given: Given, _: Progress | None) -> Answer:
    return LOGS[given["report"]](db, given)


def _recent(db: Recollection, given: Given, *, fact: int | None = None) -> Answer:
    found = db.recalls(session=given.get("session"), fact=fact, limit=given.get("limit") or 20)
    return listed(found, text.recall_line, empty="Nothing was recalled yet.", recalls=found)


def _provenance(db: Recollection, given: Given) -> Answer:
    if given.get("fact") is None:
        raise InputError("say which fact", hint="such as: recollect log provenance --fact 3")
    return _recent(db, {"limit": given.get("limit")}, fact=given["fact"])


def _never_recalled(db: Recollection, _: Given) -> Answer:
    found = db.never_recalled()
    return listed(found, text.one_line, empty="Every memory was recalled.", ids=[memory.id for memory in found])


def _never_used(db: Recollection, _: Given) -> Answer:
    found = db.never_used()
    empty = "No memory was shown three times and never used."
    return listed(found, lambda each: f"#{each.id} shown {each.shown} times, never used", empty=empty, memories=found)


def _unanswered(db: Recollection, given: Given) -> Answer:
    found = db.unanswered(limit=given.get("limit") or 20)
    queries = [{"query": query, "times": times} for query, times in found]
    empty = "Every query found something."
    return listed(queries, lambda each: f"{each['times']} times: {each['query']}", empty=empty, queries=queries)


LOGS: Final[Mapping[str, Callable[[Recollection, Given], Answer]]] = {
    "recent": _recent,
    "provenance": _provenance,
    "never-recalled": _never_recalled,
    "never-used": _never_used,
    "unanswered": _unanswered,
}

# --- the table ------------------------------------------------------------------------------

SEARCH: Final = (
    *ASKED,
    Parameter(
        name="without_model",
        kind="choice",
        choices=("keyword", "fail"),
        about="what a search for meaning does when there is no model (keyword)",
    ),
    Parameter(name="session", about="write the answer into the recall log of this session"),
    Parameter(name="include_facts", kind="flag", default=True, off="no_facts", about="tell the facts of each hit (on)"),
    Parameter(name="facets", kind="flag", about="count all that match by type, tag, month, …"),
    Parameter(name="explain", kind="flag", about="show how each score comes about"),
)


def _searching(name: str, about: str, ask: Callable[..., Reply]) -> Operation:
    return Operation(name=name, about=about, run=partial(_search, ask=ask), parameters=SEARCH)


OPERATIONS: Final = (
    _searching("search", "Find memories; a blank query lists the newest.", Recollection.search),
    _searching("decisions", "Find memories, leaning towards what was decided.", Recollection.decisions),
    _searching("changes", "Find memories, leaning towards what was changed.", Recollection.changes),
    _searching("how-it-works", "Find memories, leaning towards how things work.", Recollection.how_it_works),
    Operation(name="why", about="Explain why a memory was or was not found.", run=_why, parameters=(ID, *ASKED)),
    Operation(
        name="related",
        about="Show the memories that belong to one, and why.",
        run=_related,
        parameters=(ID, Parameter(name="limit", kind="number", about="how many (10)")),
    ),
    Operation(
        name="inject",
        about="Print what a task should be told, within a token budget.",
        run=_inject,
        parameters=(
            Parameter(name="task", place=True, about="the title of the task"),
            Parameter(name="description", about="what it is about"),
            Parameter(name="tag", kind="texts", about="a tag of the task (may be repeated)"),
            SESSION,
            Parameter(name="style", kind="choice", choices=("markdown", "compact", "xml"), about="how (markdown)"),
            Parameter(name="budget", kind="number", about="how many tokens at most (500)"),
            Parameter(name="limit", kind="number", about="how many memories at most (5)"),
            LENS,
            *(replace(each, name="only_tag") if each.name == "tag" else each for each in FILTERS),
        ),
    ),
    Operation(name="show", about="Show one memory with its history.", run=_show, parameters=(ID,)),
    Operation(
        name="list",
        about="List memories, newest first.",
        run=_list,
        parameters=(
            Parameter(name="limit", kind="number", default=20, about="how many (20)"),
            Parameter(name="offset", kind="number", default=0, about="how many to pass over"),
            *FILTERS,
        ),
    ),
    Operation(
        name="timeline",
        about="Show memories oldest first, superseded ones too.",
        run=_timeline,
        parameters=(Parameter(name="query", place=True, optional=True, about="what about"), LIMIT),
    ),
    Operation(
        name="facts",
        about="List what memories state.",
        run=_facts,
        parameters=(
            Parameter(name="subject", about="only about this subject"),
            Parameter(name="type", kind="texts", about="only of this type (may be repeated)"),
            LIMIT,
        ),
    ),
    Operation(
        name="stale",
        about="List facts that have faded or were left alone.",
        run=_stale,
        parameters=(
            Parameter(name="below", kind="share", about="confidence left (0.5)"),
            Parameter(name="days", kind="number", about="days without being confirmed (30)"),
        ),
    ),
    Operation(name="conflicts", about="List facts that contradict each other.", run=_conflicts),
    Operation(
        name="log",
        about="Read the recall log: recent answers, provenance of a fact, what is never recalled or used.",
        run=_log,
        parameters=(
            Parameter(name="report", kind="choice", choices=tuple(LOGS), place=True, about="which report"),
            SESSION,
            Parameter(name="fact", kind="number", about="the id of a fact"),
            LIMIT,
        ),
    ),
)
