"""Read the dates that records and file names carry. All are returned in UTC."""

import math
import re
from datetime import UTC, date, datetime
from pathlib import PurePath
from typing import Final

_IN_NAME: Final = re.compile(r"(?<!\d)([0-9]{4}-[0-9]{2}-[0-9]{2})(?!\d)")
_WEEKDAY: Final = re.compile(r"\s*\([^()]{1,12}\)")
_ZONE: Final = re.compile(r"\s*(?:UTC|GMT)$", re.IGNORECASE)
_EPOCH: Final = re.compile(r"-?[0-9]{9,16}(?:\.[0-9]{1,9})?")

# Seconds since 1970 from 1973 on; larger numbers count thousandths and millionths of a second.
_EPOCH_UNITS: Final = ((1e8, 1e11, 1.0), (1e11, 1e14, 1e3), (1e14, 1e17, 1e6))


def as_moment(value: object) -> datetime | None:
    """Return the moment *value* names, an ISO date or seconds or milliseconds since 1970; None if it names none.

    A date without a time is its midnight, a time without a zone is UTC.
    """
    match value:
        case bool():
            return None
        case int() | float():
            return _from_epoch(value)
        case str():
            return _from_text(value.strip())
        case datetime():
            return _in_utc(value)
        case date():
            return datetime(value.year, value.month, value.day, tzinfo=UTC)
        case _:
            return None


def date_in_name(path: PurePath) -> datetime | None:
    """Return the date YYYY-MM-DD in the nearest part of *path* that holds one."""
    for part in reversed(path.parts):
        for match in _IN_NAME.finditer(part):
            moment = _from_text(match[1])
            if moment is not None:
                return moment
    return None


def _from_text(text: str) -> datetime | None:
    if _EPOCH.fullmatch(text):
        return _from_epoch(float(text))
    if len(text) > 60 or not text[:4].isdigit():
        return None
    iso = _ZONE.sub("+00:00", _WEEKDAY.sub("", text)).replace("/", "-")
    try:
        return _in_utc(datetime.fromisoformat(iso))
    except ValueError:
        return None


def _from_epoch(number: float) -> datetime | None:
    if not math.isfinite(number):
        return None
    for least, most, unit in _EPOCH_UNITS:
        if least <= number < most:
            return datetime.fromtimestamp(number / unit, UTC)
    return None


def _in_utc(moment: datetime) -> datetime | None:
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        return None
