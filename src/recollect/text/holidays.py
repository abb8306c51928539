"""Days with a name: on a fixed day, on the nth weekday of a month, or by Easter as the western churches count it.

Thanksgiving, Mother's Day, Father's Day, Memorial Day and Labor Day are those of the United States.
"""

from collections.abc import Callable
from datetime import date, timedelta
from functools import cache
from typing import Final, NamedTuple

from recollect.lazy import regex

ONE_DAY: Final = timedelta(days=1)
SUNDAY: Final = 6


class Holiday(NamedTuple):
    """When a holiday begins in a year, and how many days it lasts."""

    first: Callable[[int], date]
    days: int = 1


def easter(year: int) -> date:
    """Return Easter Sunday: the Sunday after the first full moon of spring, both by the Gregorian tables."""
    century, golden = year // 100, year % 19
    moon = (century - century // 4 - (8 * century + 13) // 25 + 19 * golden + 15) % 30
    moon -= moon // 28 * (1 - 29 // (moon + 1) * ((21 - golden) // 11))
    weekday = (year + year // 4 + moon + 2 - century + century // 4) % 7
    return date(year, 3, 28) + (moon - weekday) * ONE_DAY


def nth_weekday(year: int, month: int, weekday: int, nth: int) -> date:
    """Return the *nth* such *weekday* (0 is Monday) of a month; -1 is its last."""
    if nth < 0:
        last = date(year + month // 12, month % 12 + 1, 1) - ONE_DAY
        return last - (last.weekday() - weekday) % 7 * ONE_DAY
    first = date(year, month, 1)
    return first + ((weekday - first.weekday()) % 7 + 7 * (nth - 1)) * ONE_DAY


def _on(month: int, day: int, days: int = 1) -> Holiday:
    return Holiday(lambda year: date(year, month, day), days)


def _by_easter(shift: int, days: int = 1) -> Holiday:
    return Holiday(lambda year: easter(year) + shift * ONE_DAY, days)


def _nth(month: int, weekday: int, nth: int, later: int = 0) -> Holiday:
    return Holiday(lambda year: nth_weekday(year, month, weekday, nth) + later * ONE_DAY)


_NAMED: Final = (
    ("new year's day,new year day,new year,neujahr,año nuevo", _on(1, 1)),
    ("valentine's day,valentines", _on(2, 14)),
    ("st patrick's day,saint patrick's day", _on(3, 17)),
    ("april fools' day,april fool's day,april fools", _on(4, 1)),
    ("juneteenth", _on(6, 19)),
    ("bastille day", _on(7, 14)),
    ("halloween", _on(10, 31)),
    ("all saints' day,all saints", _on(11, 1)),
    ("all souls' day", _on(11, 2)),
    ("bonfire night,guy fawkes night", _on(11, 5)),
    ("christmas eve,xmas eve,heiligabend,nochebuena", _on(12, 24)),
    ("christmas day", _on(12, 25)),
    ("boxing day", _on(12, 26)),
    ("christmas,xmas,christmastime,weihnachten,navidad,noël", _on(12, 24, 3)),
    ("new year's eve,new year eve,silvester,nochevieja", _on(12, 31)),
    ("new year's,new years", _on(12, 31, 2)),
    ("mardi gras,shrove tuesday,pancake day", _by_easter(-47)),
    ("ash wednesday", _by_easter(-46)),
    ("palm sunday", _by_easter(-7)),
    ("holy week,semana santa", _by_easter(-7, 8)),
    ("maundy thursday", _by_easter(-3)),
    ("good friday,karfreitag", _by_easter(-2)),
    ("easter,ostern,pâques", _by_easter(-2, 4)),
    ("easter sunday", _by_easter(0)),
    ("easter monday,ostermontag", _by_easter(1)),
    ("ascension day", _by_easter(39)),
    ("pentecost,whitsun,whit sunday,pfingsten", _by_easter(49, 2)),
    ("whit monday,pfingstmontag", _by_easter(50)),
    ("mother's day", _nth(5, SUNDAY, 2)),
    ("memorial day", _nth(5, 0, -1)),
    ("father's day", _nth(6, SUNDAY, 3)),
    ("labor day", _nth(9, 0, 1)),
    ("thanksgiving day,thanksgiving", _nth(11, 3, 4)),
    ("black friday", _nth(11, 3, 4, 1)),
    ("cyber monday", _nth(11, 3, 4, 4)),
)
_SIGNS: Final = regex(r"[^\w]+")


def _key(name: str) -> str:
    return _SIGNS.sub(" ", name.lower().replace("'", "").replace("’", ""))  # noqa: RUF001


HOLIDAYS: Final = {_key(name): holiday for names, holiday in _NAMED for name in names.split(",")}


def holiday_named(name: str) -> Holiday:
    """Return the holiday that *name* is one of the names of."""
    return HOLIDAYS[_key(name)]


@cache
def names_pattern() -> str:
    """Return a pattern for the names, the longest first, with or without their apostrophes."""
    names = sorted({name for names, _ in _NAMED for name in names.split(",")}, key=len, reverse=True)
    return "|".join(name.replace("'", "['’]?").replace(" ", r"[\s-]") for name in names)  # noqa: RUF001


def _signal(name: str) -> set[str]:
    """Return what a text with this name holds: its signs beyond ASCII, or its first word, with apostrophe or not."""
    if not name.isascii():
        return {sign for sign in name if not sign.isascii()}
    return {name.partition(" ")[0].partition("'")[0], name.partition(" ")[0].replace("'", "")}


SIGNALS: Final = " ".join(
    sorted(set[str]().union(*(_signal(name) for names, _ in _NAMED for name in names.split(","))))
)
"""A text with none of these names no holiday."""
