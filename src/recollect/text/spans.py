"""Stretches of time on the calendar: days, weeks that begin on Monday, months, quarters, years.

All arithmetic is on the wall clock of the time zone it was given, except hours and minutes, which
are counted through UTC so that an hour stays an hour when clocks change.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

FIRST_YEAR: Final = 1000
LAST_YEAR: Final = 2999
"""Beyond these years a span could leave the calendar when it is taken to another time zone."""

MONTHS_OF: Final[Mapping[str, int]] = {"month": 1, "quarter": 3, "year": 12}
DAYS_OF: Final[Mapping[str, int]] = {"day": 1, "week": 7}
SECONDS_OF: Final[Mapping[str, int]] = {"minute": 60, "hour": 3600}


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of time, half open: start <= moment < end."""

    start: datetime
    end: datetime


def midnight(year: int, month: int, day: int, *, like: datetime) -> datetime:
    """Return the moment this day begins where *like* is, or raise ValueError for a day that is none."""
    if not FIRST_YEAR <= year <= LAST_YEAR:
        raise ValueError(year)
    return datetime(year, month, day, tzinfo=like.tzinfo)


def step(moment: datetime, unit: str, count: int) -> datetime:
    """Return *moment* moved by *count* units: to a midnight, or by the clock for hours and minutes.

    A day that the month does not have becomes its last: one month before 31 March is 28 February.
    """
    if unit in SECONDS_OF:
        return (moment.astimezone(UTC) + timedelta(seconds=count * SECONDS_OF[unit])).astimezone(moment.tzinfo)
    if unit in DAYS_OF:
        moved = moment.replace(tzinfo=None) + timedelta(days=count * DAYS_OF[unit])
        return midnight(moved.year, moved.month, moved.day, like=moment)
    year, month = divmod(moment.year * 12 + moment.month - 1 + count * MONTHS_OF[unit], 12)
    first = midnight(year, month + 1, 1, like=moment)
    return first.replace(day=min(moment.day, _length(first)))


def _length(first: datetime) -> int:
    """Return how many days the month has that begins with *first*."""
    return (first.replace(day=28) + timedelta(days=4)).replace(day=1).toordinal() - first.toordinal()


def begin(unit: str, now: datetime) -> datetime:
    """Return when the day, week, month, quarter or year that *now* lies in began."""
    if unit in MONTHS_OF:
        return midnight(now.year, (now.month - 1) // MONTHS_OF[unit] * MONTHS_OF[unit] + 1, 1, like=now)
    return step(now, "day", -now.weekday() if unit == "week" else 0)


def period(unit: str, offset: int, now: datetime) -> Span:
    """Return the unit (or the weekend) that lies *offset* units from the one *now* lies in."""
    if unit == "weekend":
        monday = step(begin("week", now), "week", offset)
        return Span(start=step(monday, "day", 5), end=step(monday, "week", 1))
    return lasting(step(begin(unit, now), unit, offset), unit)


def lasting(start: datetime, unit: str) -> Span:
    """Return the span of one *unit* from *start* on."""
    return Span(start=start, end=step(start, unit, 1))


def latest(month: int, day: int, *, until: datetime) -> datetime:
    """Return the last such day that began at or before *until*; 29 February may lie eight years back."""
    for year in range(until.year, until.year - 9, -1):
        with suppress(ValueError):
            start = midnight(year, month, day, like=until)
            if start <= until:
                return start
    raise ValueError(day)
