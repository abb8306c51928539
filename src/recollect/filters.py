"""Filters, dates and names as callers write them: one name or several, a date as text or as a value."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from recollect.errors import QueryError
from recollect.records import FILTER_FIELDS, NO_FILTER, Filter

if TYPE_CHECKING:
    from recollect.text.dates import TimeSpan

Moment = datetime | date | str
"""A moment, a day, or what the command line understands: "2026-05-01", "3d", "yesterday", "last week"."""
Names = str | Sequence[str]
"""One name or several; of several, any one will do."""


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


def span_of(value: Moment | None, name: str, *, now: datetime, whole_day: bool = False) -> "TimeSpan | None":
    """Return the stretch of time that *value* names; a datetime is a moment, or its *whole_day*."""
    if value is None or value == "":
        return None
    from recollect.text.dates import TimeSpan, parse_moment  # noqa: PLC0415  (most requests name no date)

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


def _day(day: date, now: datetime) -> "TimeSpan | None":
    """Return that *day* where *now* is, or nothing for one at the end of time."""
    from recollect.text.dates import TimeSpan, midnight  # noqa: PLC0415  (most requests name no date)

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
            span = span_of(about[name], "date" if about[name] is options.get("date") else name, now=now)
            about[name] = span and (span.end if name == "valid_until" else span.start)
    told = [*names(options.get("tag", ())), *names(options.get("tags", ()))]
    if told:
        about["tags"] = split_tags(told)
    return about


def split_tags(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the tags in *texts*, each of which is one tag or several with commas."""
    return tuple(tag.strip() for text in texts for tag in text.split(",") if tag.strip())
