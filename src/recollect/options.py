"""The keywords of the verbs, typed once and named as the options of the command line."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, Literal, TypedDict

from msgspec import NODEFAULT
from msgspec.structs import fields, replace

from recollect.errors import QueryError
from recollect.records import FILTER_FIELDS, NO_FILTER, Context, Filter, Scope, Trust
from recollect.replies import Mode, Request
from recollect.text.dates import TimeSpan, midnight, parse_moment

Moment = datetime | date | str
"""A moment, a day, or what the command line understands: "2026-05-01", "3d", "yesterday", "last week"."""
Names = str | Sequence[str]
"""One name or several; of several, any one will do."""


class SharedFilters(TypedDict, total=False):
    """Which memories are wanted, by everything but their tags."""

    where: Filter
    type: Names | None
    source: Names | None
    kind: Names | None
    fact_type: Names | None
    project: Names | None
    since: Moment | None
    until: Moment | None
    on: Moment | None
    as_of: Moment | None
    include_superseded: bool


class FilterOptions(SharedFilters, total=False):
    """Which memories are wanted. A keyword given beside *where* takes the place of that field in it."""

    tag: Names | None


class RankOptions(TypedDict, total=False):
    """How a question is asked and ranked; a number that is not given is the profile's."""

    mode: Mode
    alpha: float | None
    embedding: Sequence[float] | None
    min_confidence: float | None
    recency_weight: float | None
    min_similarity: float | None
    rrf_k: float | None
    weights: Mapping[str, float] | None
    min_score: float | None
    include_facts: bool
    snippets: bool
    lens: str | None
    without_model: Literal["keyword", "fail"]
    facets: bool
    precise: bool
    intent: str | None
    timeout: float | None
    cancelled: Callable[[], bool] | None
    profile: str | None


class SearchOptions(FilterOptions, RankOptions, total=False):
    """What `search` and its forms take."""

    limit: int | None
    session: str | None


class InjectOptions(SharedFilters, RankOptions, total=False):
    """What `inject` takes beside the task: a search's options; the tags that memories must have are *only_tag*."""

    only_tag: Names | None


class MemoryOptions(TypedDict, total=False):
    """What may be said of a memory when it is added.

    *tag* and *tags*, *date* and *observed_at* are the same; name, description, path, worker_role and requirements go
    into the metadata.
    """

    type: str
    title: str
    tag: Names
    tags: Names
    source: str | None
    confidence: float
    external_id: str | None
    trust: Trust
    date: Moment | None
    metadata: Mapping[str, object]
    name: str
    description: str
    path: str
    worker_role: str
    requirements: str | Sequence[str]
    project: str
    kind: str
    pinned: bool
    line: int | None
    section: str | None
    thread: str | None
    turn: int | None
    context: Context
    observed_at: Moment | None
    valid_from: Moment | None
    valid_until: Moment | None
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None
    superseded_by: int | None
    superseded_at: datetime | None


_USUAL: Final = {each.name: each.default for each in fields(Request) if each.default is not NODEFAULT}
USUAL: Final[Mapping[str, Any]] = {**_USUAL, "where": NO_FILTER, "include_superseded": False}
"""What an option is when it is not given, where that is not None."""
_ASKED: Final = frozenset(Request.__struct_fields__) - {"text", "scope", "where"}


def request_from(text: str, options: Mapping[str, Any], *, scope: Scope, now: datetime) -> Request:
    """Return the request that *text* and the *options* of a search make within *scope*."""
    asked = {name: value for name, value in options.items() if name in _ASKED and value is not None}
    return Request(
        text=text, scope=narrowed(scope, options.get("project")), where=filter_from(options, now=now), **asked
    )


def narrowed(scope: Scope, projects: Names | None) -> Scope:
    """Return *scope* with no other projects than *projects*, if any are named."""
    return scope.narrowed(None if projects is None else names(projects))


def filter_from(options: Mapping[str, Any], *, now: datetime) -> Filter:
    """Return the filter that *options* describe: that of *where*, with what else is given in its place."""
    given = {each.name: options.get(each.key) for each in FILTER_FIELDS if each.match != "scope"}
    changed: dict[str, Any] = {name: names(value) for name, value in given.items() if value is not None}
    since, until, as_of = (span_of(options.get(name), name, now=now) for name in ("since", "until", "as_of"))
    on = span_of(options.get("on"), "on", now=now, whole_day=True)
    if since or on:
        changed["since"] = max(span.start for span in (since, on) if span)
    if until or on:
        changed["until"] = min(span.end for span in (until, on) if span)
    if as_of:  # the last moment of a day is its own, the next midnight is not
        changed["as_of"] = max(as_of.start, as_of.end - timedelta(microseconds=1))
    if options.get("include_superseded"):
        changed["include_superseded"] = True
    where: Filter = options.get("where") or NO_FILTER
    return replace(where, **changed) if changed else where


def names(value: Names) -> tuple[str, ...]:
    """Return one name or several as several."""
    return (value,) if isinstance(value, str) else tuple(value)


def span_of(value: Moment | None, name: str, *, now: datetime, whole_day: bool = False) -> TimeSpan | None:
    """Return the stretch of time that *value* names; a datetime is a moment, or its *whole_day*."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        span = parse_moment(value, now=now)
    elif isinstance(value, datetime) and not whole_day:
        span = TimeSpan(start=value, end=value)
    else:
        span = _day(value, now)
    if span is None:
        hint = "such as 2026-05-01, 3d, yesterday, last week"
        raise QueryError(f"{name}: {_told(value)} is not a date", hint=hint)
    return span


def start_of(value: Moment | None, name: str, *, now: datetime) -> datetime | None:
    """Return when the stretch of time that *value* names begins; only None names none."""
    if value is None:
        return None
    span = span_of(value or " ", name, now=now)
    return None if span is None else span.start


def _told(value: Moment) -> str:
    return repr(value) if isinstance(value, str) else str(value)


def _day(day: date, now: datetime) -> TimeSpan | None:
    """Return that *day* where *now* is, or nothing for one at the end of time."""
    like = day if isinstance(day, datetime) and day.tzinfo else now if now.tzinfo else now.replace(tzinfo=UTC)
    try:
        start = midnight(day.year, day.month, day.day, like=like)
        return TimeSpan(start=start, end=start + timedelta(days=1))
    except (ValueError, OverflowError):
        return None


def dated(options: Mapping[str, Any], *, now: datetime) -> dict[str, Any]:
    """Return what is said of a new memory by the names of its fields: its dates read, its tags together."""
    about = {name: value for name, value in options.items() if name not in ("tag", "date")}
    if options.get("date") is not None:
        about.setdefault("observed_at", options["date"])
    for name in ("observed_at", "valid_from", "valid_until"):
        if about.get(name) is not None and not isinstance(about[name], datetime):
            span = span_of(about[name], name, now=now)
            about[name] = span and (span.end if name == "valid_until" else span.start)
    told = [*names(options.get("tag", ())), *names(options.get("tags", ()))]
    if told:
        about["tags"] = split_tags(told)
    return about


def split_tags(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the tags in *texts*, each of which is one tag or several with commas."""
    return tuple(tag.strip() for text in texts for tag in text.split(",") if tag.strip())
