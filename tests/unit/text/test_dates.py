"""Dates in options and in questions, read against a fixed now (a Wednesday at noon), in records and in file names."""

from datetime import UTC, date, datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import read_table
from recollect.text.dates import (
    DateMatch,
    TimeSpan,
    as_moment,
    file_date,
    find_dates,
    parse_moment,
)

NOW = datetime(2026, 5, 20, 12, 0, tzinfo=UTC)


def days(first: str, behind: str) -> TimeSpan:
    """Return the span from one day, or moment, to the one behind its last."""
    start, end = (datetime.fromisoformat(each).replace(tzinfo=UTC) for each in (first, behind))
    return TimeSpan(start=start, end=end)


TABLES = {
    name: {text: days(first, behind) for text, first, behind in rows}
    for name, rows in read_table(Path(__file__).with_name("dates.tsv")).items()
}
WRITTEN, RELATIVE, CLOCK = (TABLES[name] for name in ("WRITTEN", "RELATIVE", "CLOCK"))
CHINESE, JAPANESE, KOREAN = (TABLES[name] for name in ("CHINESE", "JAPANESE", "KOREAN"))
PARTS, SEASONS_AND_HOLIDAYS = TABLES["PARTS"], TABLES["SEASONS_AND_HOLIDAYS"]


@pytest.mark.parametrize(
    ("text", "span"), [pair for table in (WRITTEN, RELATIVE, CLOCK) for pair in table.items()], ids=str
)
def test_an_english_option_names_its_span(text: str, span: TimeSpan) -> None:
    assert parse_moment(text, now=NOW) == span


@pytest.mark.parametrize(
    ("text", "span"), [pair for table in (CHINESE, JAPANESE, KOREAN) for pair in table.items()], ids=str
)
def test_a_chinese_japanese_or_korean_option_names_its_span(text: str, span: TimeSpan) -> None:
    assert parse_moment(text, now=NOW) == span


@pytest.mark.parametrize(
    "text",
    ["", " ", "nonsense", "second", "a", "12", "d", "3", "monkey", "marching", "decide", "-3d", "1.0.21", "404"],
)
def test_what_is_no_date_is_none(text: str) -> None:
    assert parse_moment(text, now=NOW) is None


@pytest.mark.parametrize(
    "text",
    [
        "2026-13-01",
        "2026-02-30",
        "2026-01-02T25:00",
        "2026-01-02T10:00+99:99",
        "31 April",
        "9999 years ago",
        "三五天前",
    ],
)
def test_a_day_the_calendar_does_not_have_is_none(text: str) -> None:
    assert parse_moment(text, now=NOW) is None


def test_case_and_space_around_an_option_do_not_matter() -> None:
    assert parse_moment("  LAST   Week ", now=NOW) == RELATIVE["last week"]


def test_an_endless_option_is_none() -> None:
    assert parse_moment("2026-01-02" + " " * 100, now=NOW) is None


def test_a_month_before_the_31st_ends_with_the_shorter_month() -> None:
    span = parse_moment("1m", now=datetime(2026, 3, 31, 8, tzinfo=UTC))

    assert span == days("2026-02-28", "2026-03-31")


def test_29_february_without_a_year_is_the_last_leap_day() -> None:
    assert parse_moment("Feb 29", now=NOW) == days("2024-02-29", "2024-03-01")


def test_a_date_without_a_year_that_is_still_to_come_is_last_years() -> None:
    assert parse_moment("May 21", now=NOW) == days("2025-05-21", "2025-05-22")


def test_last_monday_said_on_a_monday_is_a_week_old() -> None:
    span = parse_moment("last monday", now=datetime(2026, 5, 18, 9, tzinfo=UTC))

    assert span == days("2026-05-11", "2026-05-12")


def test_the_week_of_a_sunday_began_on_monday() -> None:
    span = parse_moment("this week", now=datetime(2026, 5, 24, 23, 59, tzinfo=UTC))

    assert span == days("2026-05-18", "2026-05-25")


def test_spans_stand_in_the_time_zone_of_now() -> None:
    tokyo = timezone(timedelta(hours=9))

    span = parse_moment("today", now=datetime(2026, 5, 20, 12, tzinfo=tokyo))

    assert span == TimeSpan(start=datetime(2026, 5, 20, tzinfo=tokyo), end=datetime(2026, 5, 21, tzinfo=tokyo))


def test_a_day_on_which_clocks_change_lasts_from_midnight_to_midnight() -> None:
    berlin = ZoneInfo("Europe/Berlin")

    span = parse_moment("2026-03-29", now=datetime(2026, 5, 20, 12, tzinfo=berlin))

    assert span is not None
    assert span.end.astimezone(UTC) - span.start.astimezone(UTC) == timedelta(hours=23)


def test_six_hours_ago_are_six_hours_when_clocks_change() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    now = datetime(2026, 3, 29, 6, tzinfo=berlin)

    span = parse_moment("6h", now=now)

    assert span is not None
    assert now.astimezone(UTC) - span.start.astimezone(UTC) == timedelta(hours=6)


def test_a_now_without_time_zone_counts_as_utc() -> None:
    assert parse_moment("today", now=NOW.replace(tzinfo=None)) == parse_moment("today", now=NOW)


IN_QUESTIONS = {
    "what did we decide last week about auth?": ("last week", RELATIVE["last week"]),
    "what happened in May 2023?": ("May 2023", WRITTEN["May 2023"]),
    "what did she say on 5 may 2023": ("5 may 2023", WRITTEN["5 May 2023"]),
    "the outage of May 5, 2023, again": ("May 5, 2023", WRITTEN["May 5, 2023"]),
    "what broke yesterday": ("yesterday", RELATIVE["yesterday"]),
    "deploys on Friday": ("Friday", RELATIVE["last friday"]),
    "what did I write 3 days ago": ("3 days ago", RELATIVE["3 days ago"]),
    "the plan for 2026-01-02.": ("2026-01-02", WRITTEN["2026-01-02"]),
    "notes in april please": ("april", RELATIVE["last April"]),
    "revenue of Q2 2024": ("Q2 2024", WRITTEN["Q2 2024"]),
    "who joined in 2026?": ("2026", WRITTEN["2026"]),
    "上周我们决定了什么": ("上周", CHINESE["上周"]),
    "我们三天前说了什么": ("三天前", CHINESE["三天前"]),
    "先週の会議で決めたこと": ("先週", JAPANESE["先週"]),
    "2023年5月のリリース": ("2023年5月", JAPANESE["2023年5月"]),
    "지난주에 무엇을 결정했나": ("지난주", KOREAN["지난주"]),
    "어제는 무엇을 했지": ("어제", KOREAN["어제"]),
}


@pytest.mark.parametrize(("question", "expected"), IN_QUESTIONS.items(), ids=str)
def test_a_date_is_found_in_a_question(question: str, expected: tuple[str, TimeSpan]) -> None:
    found = find_dates(question, now=NOW)

    assert [(question[one.start : one.end], one.span) for one in found] == [expected]


@pytest.mark.parametrize(
    "question",
    [
        "it may fail",
        "this may be wrong",
        "you may march on the second floor",
        "march on",
        "top 5 may differ",
        "may 5 users log in at once",
        "wait a second, sat in the sun",
        "error 404 on line 12",
        "the limit is 2000",
        "grew by 2000 users in 2048 bytes",
        "by 2000 percent",
        "CVE-2023-1234 and v2023-05",
        "version 1.0.21",
        "1.5 hours ago",
        "designed to last 12 hours",
        "call date.today() here",
        "standup on mondays",
        "last call for the decision",
        "Cyberpunk 2077",
        "the last week of the project",
        "the last two weeks before launch",
        "5/3/2026",
        "目前天气怎么样",
        "说明天数",
        "三天前端工作",
        "三天前期准备",
        "언어제공 방식",
        "이번 주제는 무엇",
        "오늘날의 문제",
    ],
)
def test_ordinary_words_are_no_dates(question: str) -> None:
    assert find_dates(question, now=NOW) == ()


def test_dates_are_found_in_order_and_without_overlap() -> None:
    question = "May 5, 2023 and last week, or 去年5月?"

    found = find_dates(question, now=NOW)

    assert [question[one.start : one.end] for one in found] == ["May 5, 2023", "last week", "去年5月"]


def test_dates_that_touch_are_both_found() -> None:
    found = find_dates("昨天今天", now=NOW)

    assert [one.span for one in found] == [CHINESE["昨天"], CHINESE["今天"]]


@pytest.mark.parametrize("question", ["what changed since last week", "what changed since the last week"])
def test_a_date_after_since_lasts_until_the_end_of_today(question: str) -> None:
    found = find_dates(question, now=NOW)

    assert [one.span for one in found] == [days("2026-05-11", "2026-05-21")]


FRAGMENTS = st.sampled_from(
    [
        *WRITTEN,
        *RELATIVE,
        *CHINESE,
        *JAPANESE,
        *KOREAN,
        *CLOCK,
        "since",
        "in",
        "0",
        "99",
        "9999",
        "十",
        "\u017f",
        "\u212a",
        " ",
    ]
)
TEXTS = st.one_of(st.text(), st.lists(FRAGMENTS).map(" ".join), st.lists(FRAGMENTS).map("".join))
MOMENTS = st.datetimes(timezones=st.just(UTC))


@given(text=TEXTS, now=MOMENTS)
def test_no_text_and_no_now_raises_and_every_span_has_a_length(text: str, now: datetime) -> None:
    found = find_dates(text, now=now)
    moment = parse_moment(text, now=now)

    assert all(one.span.start < one.span.end for one in found)
    assert all(0 <= one.start < one.end <= len(text) for one in found)
    assert moment is None or moment.start < moment.end


@given(day=st.dates(min_value=date(1000, 1, 1), max_value=date(2999, 12, 30)), now=MOMENTS)
def test_an_iso_day_covers_exactly_that_day(day: date, now: datetime) -> None:
    span = parse_moment(day.isoformat(), now=now)

    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    assert span == TimeSpan(start=start, end=start + timedelta(days=1))


@given(now=st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)), back=st.integers(0, 999))  # noqa: DTZ001
def test_days_ago_move_with_now(now: datetime, back: int) -> None:
    span = parse_moment(f"{back}d", now=now)

    assert span is not None
    assert span.start <= now - timedelta(days=back) < span.end


@given(text=TEXTS, now=MOMENTS)
def test_found_dates_stand_in_order(text: str, now: datetime) -> None:
    found: tuple[DateMatch, ...] = find_dates(text, now=now)

    assert all(left.end <= right.start for left, right in pairwise(found))


@pytest.mark.parametrize("unit", ["1", "may ", "2026-", "last ", "三", "12月", "a couple of ", " ", "지난"])
def test_no_repetition_makes_the_search_explode(unit: str) -> None:
    assert isinstance(find_dates(unit * 20_000, now=NOW), tuple)


# --- records and file names -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("2024-05-06", datetime(2024, 5, 6, tzinfo=UTC)),
        ("2024-05-06T07:08:09", datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)),
        ("2024-05-06T07:08:09.5Z", datetime(2024, 5, 6, 7, 8, 9, 500_000, tzinfo=UTC)),
        ("2024-05-06 07:08+02:00", datetime(2024, 5, 6, 5, 8, tzinfo=UTC)),
        ("2024/05/06 (Mon) 07:08", datetime(2024, 5, 6, 7, 8, tzinfo=UTC)),
        ("2024-05-06 07:08:09 UTC", datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)),
        (1_700_000_000, datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
        (1_700_000_000_000, datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
        (1_700_000_000.5, datetime(2023, 11, 14, 22, 13, 20, 500_000, tzinfo=UTC)),
        ("1700000000", datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
        (date(2024, 5, 6), datetime(2024, 5, 6, tzinfo=UTC)),
        (datetime(2024, 5, 6, 2, tzinfo=timezone(timedelta(hours=2))), datetime(2024, 5, 6, tzinfo=UTC)),
        ("1:56 pm on 8 May, 2023", datetime(2023, 5, 8, 13, 56, tzinfo=UTC)),
        ("12:00 am on 31 December, 2022", datetime(2022, 12, 31, tzinfo=UTC)),
        ("12:05 am on May 8, 2023", datetime(2023, 5, 8, 0, 5, tzinfo=UTC)),
        ("8 May, 2023", datetime(2023, 5, 8, tzinfo=UTC)),
        ("2023-5-8", datetime(2023, 5, 8, tzinfo=UTC)),
        ("2023年5月8日", datetime(2023, 5, 8, tzinfo=UTC)),
        ("25:00 on 8 May, 2023", None),
        ("13:99 pm on 8 May, 2023", None),
        ("", None),
        ("May 2023", None),
        ("8 May", None),
        ("yesterday", None),
        ("2000 days ago", None),
        (10**400, None),
        ("0001-01-01T00:00:00+12:00", None),
        ("10:30", None),
        ("2024", None),
        ("2024-13-45", None),
        ("٢٠٢٤-05-06", None),
        (2024, None),
        (float("inf"), None),
        (True, None),
        (None, None),
        ([], None),
    ],
)
def test_the_moment_of_a_record_is_read_from_every_usual_form(value: object, moment: datetime | None) -> None:
    found = as_moment(value)

    assert found == moment


@given(st.text() | st.lists(FRAGMENTS).map(" ".join) | st.floats() | st.integers())
def test_no_value_of_a_record_raises_and_every_moment_is_in_utc(value: object) -> None:
    moment = as_moment(value)

    assert moment is None or moment.tzinfo is UTC


@pytest.mark.parametrize(
    ("source", "day"),
    [
        ("memory/2026-02-10.md", date(2026, 2, 10)),
        ("2026-02-10.md", date(2026, 2, 10)),
        ("2026-02-30.md", None),
        ("notes 2026-02-10.md", None),
        ("2026-02-10.txt", None),
        ("2026-02-10/a.md", None),
        (None, None),
    ],
)
def test_a_daily_note_is_dated_by_its_name_alone(source: str | None, day: date | None) -> None:
    assert file_date(source) == day


# --- parts of time, seasons and holidays in a question ----------------------------------------


@pytest.mark.parametrize(("text", "span"), [*PARTS.items(), *SEASONS_AND_HOLIDAYS.items()])
def test_parts_of_months_seasons_and_holidays_are_found_in_a_question(text: str, span: TimeSpan) -> None:
    found = find_dates(f"what happened in {text}?", now=NOW)

    assert [each.span for each in found] == [span]


@pytest.mark.parametrize(
    "text",
    [
        "early may be too late",
        "before may be fine",
        "in spring boot config",
        "the switch to summer time",
        "the Chinese new year dinner",
        "one fall from the ladder",
        "I may march",
        "the second half of the game",
        "the middle of the road",
    ],
)
def test_words_that_are_no_part_of_time_are_no_dates(text: str) -> None:
    assert find_dates(text, now=NOW) == ()


@pytest.mark.parametrize(("text", "idle"), [("drill last week", "last week"), ("mid April", "mid "), ("at Easter", "")])
def test_words_counted_from_another_time_are_told_from_names(text: str, idle: str) -> None:
    (found,) = find_dates(text, now=NOW)

    assert text[found.start : found.idle_end] == idle


def test_before_and_until_have_no_beginning() -> None:
    (before,), (until,) = find_dates("before April", now=NOW), find_dates("until April", now=NOW)

    assert before.span.end == days("2026-04-01", "2026-05-01").start
    assert until.span.end == days("2026-04-01", "2026-05-01").end
    assert before.span.start == until.span.start < days("1900-01-01", "1900-01-02").start


def test_the_night_of_a_day_and_the_night_to_it_are_two() -> None:
    (of,), (to,) = find_dates("night of 26 April", now=NOW), find_dates("night to 26 April", now=NOW)

    assert of.span == days("2026-04-26", "2026-04-28")
    assert to.span == days("2026-04-25", "2026-04-27")
