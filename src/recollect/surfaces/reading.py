"""Verbs that read: search in its forms, why, what belongs to a memory or to a task, lists, facts, the recall log."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from recollect.errors import InputError
from recollect.recollection import Recollection
from recollect.records import Fact, Progress
from recollect.replies import Reply
from recollect.surfaces import text
from recollect.surfaces.erasing import PRUNED_BY, prune_log
from recollect.surfaces.serialise import explained, serialise
from recollect.surfaces.table import (
    FILTERS,
    ID,
    LIMIT,
    MODES,
    SESSION,
    Answer,
    Given,
    Parameter,
    listed,
    mode_from,
    operation,
)

LENS: Final = Parameter(name="lens", about="look through this lens")

# --- searches -------------------------------------------------------------------------------

NUMBERS: Final = (
    Parameter(name="limit", kind="number", about="how many hits"),
    Parameter(name="alpha", kind="share", about="0 asks words alone, 1 meaning alone"),
    Parameter(name="min_confidence", kind="share", about="drop hits whose facts are less sure than this"),
    Parameter(name="recency_weight", kind="share", about="how much newer memories are preferred; 0 not at all"),
    Parameter(name="min_similarity", kind="share", about="how near in meaning a memory must be to be found by it"),
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
        about="what a search for meaning does when there is no model (keyword)",
    ),
    Parameter(name="session", about="write the answer into the recall log of this session"),
    Parameter(
        name="include_facts", kind="flag", default=True, off="no_facts", about="include the facts of each hit (on)"
    ),
    Parameter(name="facets", kind="flag", about="count all that match by type, tag, month, …"),
    Parameter(name="explain", kind="flag", about="show how each score comes about"),
)


@operation(*SEARCH)
def search(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Find memories; a blank query lists the newest."""
    return _search(db, given, db.search)


@operation(*SEARCH)
def decisions(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Find memories, leaning towards what was decided."""
    return _search(db, given, db.decisions)


@operation(*SEARCH)
def changes(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Find memories, leaning towards what was changed."""
    return _search(db, given, db.changes)


@operation(*SEARCH)
def how_it_works(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Find memories, leaning towards how things work."""
    return _search(db, given, db.how_it_works)


def _search(db: Recollection, given: Given, ask: Callable[..., Reply]) -> Answer:
    explain = bool(given.get("explain"))
    reply = ask(
        given["query"],
        **_asked(given),
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


def _asked(given: Given) -> dict[str, Any]:
    """Return the options of a search that the parameters of ASKED describe."""
    options = given.chosen([*(each.name for each in NUMBERS), "lens", "intent"])
    if given.get("weight"):
        options["weights"] = given.numbers("weight", form="RANKING=NUMBER", example="vector=0.5")
    shown = {"precise": bool(given.get("precise"))}
    return {"mode": mode_from(given.get("mode")), "where": given.where(), **shown, **options}


def _tuned(db: Recollection) -> str:
    tuning = db.tuning()
    return "" if tuning is None else f"\nranked by {tuning.profile}, tuned {tuning.day}"


@operation(ID, *ASKED)
def why(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Explain why a memory was or was not found."""
    told = db.why(given["id"], given["query"], **_asked(given))
    return Answer(value=told, text=lambda: text.why_text(told))


@operation(ID, Parameter(name="limit", kind="number", about="how many (10)"))
def related(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Show the memories that belong to one, and why."""
    found = db.related(given["id"], limit=given.get("limit"))
    return listed(found, text.related_line, empty="Nothing is near it.", id=given["id"], related=found)


@operation(
    Parameter(name="task", place=True, about="the title of the task"),
    Parameter(name="description", about="what it is about"),
    Parameter(name="tag", kind="texts", about="a tag of the task (may be repeated)"),
    SESSION,
    Parameter(name="style", kind="choice", choices=("markdown", "compact", "xml"), about="how (markdown)"),
    Parameter(name="budget", kind="number", about="how many tokens at most (500)"),
    Parameter(name="limit", kind="number", about="how many memories at most (5)"),
    LENS,
    Parameter(
        name="precise", kind="flag", default=True, off="no_precise", about="tell only what probably answers (on)"
    ),
    *(replace(each, name="only_tag") if each.name == "tag" else each for each in FILTERS),
)
def inject(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Print what a task should be told, within a token budget."""
    told = db.inject(
        given["task"],
        description=given.get("description") or "",
        tags=tuple(given.get("tag") or ()),
        session=given.get("session"),
        style=given.get("style") or "markdown",
        budget=given.get("budget") or 500,
        limit=given.get("limit") or 5,
        lens=given.get("lens"),
        precise=given.get("precise") is not False,
        where=given.where(tag="only_tag"),
    )
    return Answer(value=told, text=lambda: told.text)  # to tell nothing is an answer, and no error to a hook


@operation(
    SESSION,
    Parameter(name="limit", kind="number", about="how many memories at most (8)"),
    Parameter(name="budget", kind="number", about="how many tokens at most (500)"),
)
def brief(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Print what a new session should know before anything is asked: what is pinned, decided, preferred."""
    told = db.brief(session=given.get("session"), limit=given.get("limit") or 8, budget=given.get("budget") or 500)
    return Answer(value=told, text=lambda: told.text)


# --- memories and facts ---------------------------------------------------------------------


@operation(ID)
def show(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Show one memory with its history."""
    shown = db.show(given["id"])
    return Answer(value=shown, text=lambda: text.shown_text(shown, root=text.here()))


@operation(
    Parameter(name="limit", kind="number", default=20, about="how many (20)"),
    Parameter(name="offset", kind="number", default=0, about="how many to pass over"),
    *FILTERS,
)
def list_(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """List memories, newest first."""
    limit, offset = given.get("limit") or 0, given.get("offset") or 0
    listing = db.list(where=given.where(), limit=limit if limit > 0 else 20, offset=offset)
    return Answer(value=listing, text=lambda: text.listing_text(listing), found=bool(listing.memories))


@operation(Parameter(name="query", place=True, optional=True, about="what about"), LIMIT)
def timeline(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Show memories oldest first, superseded ones too."""
    found = db.timeline(given.get("query") or "", limit=given.get("limit") or 50)
    return listed(found, text.timeline_line, empty="Nothing here.", memories=found)


@operation(
    Parameter(name="subject", about="only about this subject"),
    Parameter(name="type", kind="texts", about="only of this type (may be repeated)"),
    LIMIT,
)
def facts(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """List what memories state."""
    types = tuple(given["type"]) if given.get("type") else None
    return _stated(db.facts(subject=given.get("subject"), types=types, limit=given.get("limit") or 100))


@operation(
    Parameter(name="below", kind="share", about="confidence left (0.5)"),
    Parameter(name="days", kind="number", about="days without being confirmed (30)"),
)
def stale(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """List facts that have faded or were left alone."""
    return _stated(db.stale(below=given.get("below") or 0.5, days=given.get("days") or 30))


def _stated(found: tuple[Fact, ...]) -> Answer:
    values = [{**serialise(each), "memory_id": each.memory_id, "quote": each.quote} for each in found]
    return listed(found, text.fact_line, empty="No facts.", facts=values)


@operation()
def conflicts(db: Recollection, _: Given, __: Progress | None) -> Answer:
    """List facts and memories that contradict each other."""
    found = db.conflicts()
    return listed(found, text.conflict_line, empty="No conflicts.", conflicts=found)


# --- the recall log -------------------------------------------------------------------------


def _recent(db: Recollection, given: Given, *, fact: int | None = None) -> Answer:
    found = db.recalls(session=given.get("session"), fact=fact, limit=given.get("limit") or 20)
    return listed(found, text.recall_line, empty="Nothing was recalled yet.", recalls=found)


def _provenance(db: Recollection, given: Given) -> Answer:
    if given.get("fact") is None:
        raise InputError("say which fact", hint="such as: recollect log provenance --fact 3")
    return _recent(db, given, fact=given["fact"])


def _never_recalled(db: Recollection, _: Given) -> Answer:
    found = db.never_recalled()
    return listed(found, text.one_line, empty="Every memory was recalled.", ids=[memory.id for memory in found])


def _never_used(db: Recollection, _: Given) -> Answer:
    found, empty = db.never_used(), "No memory was shown three times and never used."
    return listed(found, lambda each: f"#{each.id} shown {each.shown} times, never used", empty=empty, memories=found)


def _unanswered(db: Recollection, given: Given) -> Answer:
    found, empty = db.unanswered(limit=given.get("limit") or 20), "Every query found something."
    queries = [{"query": query, "times": times} for query, times in found]
    return listed(queries, text.unanswered_line, empty=empty, queries=queries)


LOGS: Final[Mapping[str, Callable[[Recollection, Given], Answer]]] = {
    "recent": _recent,
    "provenance": _provenance,
    "never-recalled": _never_recalled,
    "never-used": _never_used,
    "unanswered": _unanswered,
    "prune": prune_log,
}


@operation(
    Parameter(name="report", kind="choice", choices=tuple(LOGS), place=True, about="which report, or prune"),
    SESSION,
    Parameter(name="fact", kind="number", about="the id of a fact"),
    LIMIT,
    *PRUNED_BY,
)
def log(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Read the recall log: recent answers, provenance of a fact, what is never recalled or used; or prune it."""
    return LOGS[given["report"]](db, given)
