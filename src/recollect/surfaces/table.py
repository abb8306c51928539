"""What a verb is to every surface: its parameters, its answer, and the filters many of them share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from recollect.errors import QueryError
from recollect.recollection import Recollection
from recollect.records import Filter, Progress
from recollect.replies import Mode
from recollect.text.dates import parse_moment

Kind = Literal["text", "texts", "number", "share", "flag", "choice", "paths"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of an operation: an argument when it has a place, else an option."""

    name: str
    about: str
    kind: Kind = "text"
    default: Any = None
    choices: tuple[str, ...] = ()
    place: bool = False
    optional: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What an operation returns: a JSON value, the same as text, and whether anything was found or is wrong."""

    value: Any
    text: str
    found: bool = True
    healthy: bool = True
    problems: tuple[str, ...] = ()


Run = Callable[[Recollection, Mapping[str, Any], Progress | None], Answer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A verb: what it does, what it takes, how it is done."""

    name: str
    about: str
    run: Run
    parameters: tuple[Parameter, ...] = ()
    slow: bool = field(default=False)
    """Whether it reports progress."""
    store: bool = True
    """Whether it works on the user's store; else it is given an empty one in memory."""


FILTERS: Final = (
    Parameter(name="type", kind="texts", about="only memories of this type (may be repeated)"),
    Parameter(name="tag", kind="texts", about="only memories with this tag (may be repeated)"),
    Parameter(name="kind", kind="texts", about="only memories of this kind (may be repeated)"),
    Parameter(name="source", kind="texts", about="only memories from this file or folder (may be repeated)"),
    Parameter(name="since", about="only from this date on: 2026-05-01, 3d, last week, …"),
    Parameter(name="until", about="only up to this date, its last day included"),
    Parameter(name="on", about="only of this date: 2026-05-01, yesterday, last week, May 2023, …"),
    Parameter(name="fact_type", kind="texts", about="only memories stating a fact of this type (may be repeated)"),
    Parameter(name="as_of", about="what was believed on this date"),
    Parameter(name="include_superseded", kind="flag", default=False, about="show superseded memories too"),
)
MODES: Final[Mapping[str, Mode]] = {
    "hybrid": "hybrid",
    "keyword": "keyword",
    "semantic": "semantic",
    "bm25": "keyword",
    "rrf": "hybrid",
}
"""How to look, by every name it goes by."""
ID: Final = Parameter(name="id", kind="number", place=True, about="the id of a memory")


def where_from(db: Recollection, given: Mapping[str, Any]) -> Filter:
    """Return the filters that the parameters of FILTERS describe."""

    def chosen(name: str) -> tuple[str, ...] | None:
        values = given.get(name)
        return tuple(values) if values else None

    since, until, on, as_of = (moment_from(db, given, name) for name in ("since", "until", "on", "as_of"))
    starts = [span.start for span in (since, on) if span]
    ends = [span.end for span in (until, on) if span]
    return Filter(
        types=chosen("type"),
        tags=chosen("tag"),
        kinds=chosen("kind"),
        sources=chosen("source"),
        fact_types=chosen("fact_type"),
        as_of=as_of and as_of.end,
        since=max(starts, default=None),
        until=min(ends, default=None),
        include_superseded=bool(given.get("include_superseded")),
    )


def moment_from(db: Recollection, given: Mapping[str, Any], name: str) -> Any:
    """Return the span of time that the parameter *name* gives, or nothing."""
    text = given.get(name)
    if not text:
        return None
    span = parse_moment(text, now=db.now())
    if span is None:
        raise QueryError(f"{name}: {text!r} is not a date", hint="such as 2026-05-01, 3d, yesterday, last week")
    return span


def mode_from(text: str) -> Mode:
    """Return the mode that *text* names, in any case."""
    mode = MODES.get(text.lower())
    if mode is None:
        raise QueryError(f"no mode is called {text!r}", hint=f"one of {', '.join(MODES)}")
    return mode
