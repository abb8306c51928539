"""Verbs that ask: search, the boosters that lean it towards a kind of memory, and what belongs to a memory."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from recollect.recollection import Recollection
from recollect.records import Progress
from recollect.replies import Related, Reply
from recollect.surfaces import shapes, show
from recollect.surfaces.table import FILTERS, ID, MODES, Answer, Operation, Parameter, mode_from, where_from

SHOWN: Final = 8
"""How many values of a facet are listed for people; JSON has them all."""


def here() -> str:
    """Return the folder that people look from."""
    try:
        return Path.cwd().as_posix()
    except OSError:  # it was removed under our feet
        return ""


Ask = Callable[..., Reply]


def _asked(db: Recollection, given: Mapping[str, Any], _: Progress | None, *, ask: Ask) -> Answer:
    mode = given.get("mode")
    reply = ask(
        db,
        given["query"],
        mode="hybrid" if mode is None else mode_from(mode),
        limit=given.get("limit"),
        alpha=given.get("alpha"),
        lens=given.get("lens"),
        session=given.get("session"),
        facets=bool(given.get("facets")),
        intent=given.get("intent"),
        without_model=given.get("without_model") or "keyword",
        where=where_from(db, given),
    )
    explain = bool(given.get("explain"))
    text = show.reply_text(reply, explain=explain, root=here())
    return Answer(
        value=shapes.reply_shape(reply, explain=explain),
        text="\n".join([text, *aside(reply), *(_tuned(db) if explain else [])]),
        found=bool(reply.hits),
    )


def _tuned(db: Recollection) -> list[str]:
    tuning = db.tuning()
    return [] if tuning is None else [f"ranked by {tuning.profile}, tuned {tuning.day}"]


def aside(reply: Reply) -> list[str]:
    """Return what is said after the hits: what may have been meant, and how many there are of each kind."""
    meant = [f"Did you mean: {' | '.join(reply.suggestions)}"] if reply.suggestions else []
    return [*meant, *(_facet(name, counts) for name, counts in reply.facets.items() if counts)]


def _facet(name: str, counts: Mapping[str, int]) -> str:
    first = [f"{value} {count}" for value, count in list(counts.items())[:SHOWN]]
    more = [f"… {len(counts) - SHOWN} more"] if len(counts) > SHOWN else []
    return f"by {name.replace('_', ' ')}: {', '.join([*first, *more])}"


def _related(db: Recollection, given: Mapping[str, Any], _: Progress | None) -> Answer:
    found = db.related(given["id"], limit=given.get("limit"))
    lines = [f"{show.one_line(each.memory)}\n    {', '.join(each.reasons)}" for each in found]
    return Answer(
        value={"id": given["id"], "related": [_related_shape(each) for each in found]},
        text="\n".join(lines) or "Nothing is near it.",
        found=bool(found),
    )


def _related_shape(each: Related) -> Mapping[str, Any]:
    return {
        "id": each.id,
        "score": each.score,
        "reasons": list(each.reasons),
        "memory": shapes.memory_shape(each.memory),
    }


PARAMETERS: Final = (
    Parameter(name="query", place=True, about='words, "phrases", -not, OR, AND, prefix*, type:decision'),
    Parameter(name="mode", kind="choice", choices=tuple(MODES), about="how to look (hybrid)"),
    Parameter(name="limit", kind="number", about="how many hits"),
    Parameter(name="alpha", kind="share", about="0 asks words alone, 1 meaning alone"),
    Parameter(
        name="without_model",
        kind="choice",
        choices=("keyword", "fail"),
        about="what a search for meaning does when there is no model (keyword)",
    ),
    *FILTERS,
    Parameter(name="lens", about="look through this lens"),
    Parameter(name="intent", about="what you are after; looks further, however sure the first hit seems"),
    Parameter(name="session", about="write the answer into the recall log of this session"),
    Parameter(name="facets", kind="flag", default=False, about="count all that match by type, tag, month, …"),
    Parameter(name="explain", kind="flag", default=False, about="show how each score comes about"),
)

SEARCH: Final = Operation(
    name="search",
    about="Find memories; a blank query lists the newest.",
    run=partial(_asked, ask=Recollection.search),
    parameters=PARAMETERS,
)
OPERATIONS: Final = (
    Operation(
        name="decisions",
        about="Find memories, leaning towards what was decided.",
        run=partial(_asked, ask=Recollection.decisions),
        parameters=PARAMETERS,
    ),
    Operation(
        name="changes",
        about="Find memories, leaning towards what was changed.",
        run=partial(_asked, ask=Recollection.changes),
        parameters=PARAMETERS,
    ),
    Operation(
        name="how-it-works",
        about="Find memories, leaning towards how things work.",
        run=partial(_asked, ask=Recollection.how_it_works),
        parameters=PARAMETERS,
    ),
    Operation(
        name="related",
        about="Show the memories that belong to one, and why.",
        run=_related,
        parameters=(ID, Parameter(name="limit", kind="number", about="how many (10)")),
    ),
)
