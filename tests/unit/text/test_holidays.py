"""Holidays by table and by Easter."""

from datetime import date

import pytest

from recollect.text.holidays import easter, holiday_named, nth_weekday


@pytest.mark.parametrize(
    "day",
    [date(1818, 3, 22), date(1954, 4, 18), date(1981, 4, 19), date(2000, 4, 23), date(2024, 3, 31), date(2038, 4, 25)],
)
def test_easter_is_the_sunday_of_the_tables(day: date) -> None:
    assert easter(day.year) == day


def test_the_nth_weekday_counts_from_either_end() -> None:
    assert nth_weekday(2026, 3, 6, -1) == date(2026, 3, 29)
    assert nth_weekday(2026, 12, 0, -1) == date(2026, 12, 28)
    assert nth_weekday(2026, 11, 3, 4) == date(2026, 11, 26)


@pytest.mark.parametrize(
    ("name", "first", "days"),
    [
        ("Mother’s Day", date(2026, 5, 10), 1),  # noqa: RUF001
        ("mothers day", date(2026, 5, 10), 1),
        ("Good Friday", date(2026, 4, 3), 1),
        ("Pentecost", date(2026, 5, 24), 2),
        ("Black Friday", date(2026, 11, 27), 1),
        ("xmas", date(2026, 12, 24), 3),
    ],
)
def test_a_holiday_is_known_by_any_of_its_names(name: str, first: date, days: int) -> None:
    holiday = holiday_named(name)

    assert (holiday.first(2026), holiday.days) == (first, days)
