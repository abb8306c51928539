"""Dates as people, programs and file names write them: English, Chinese, Japanese, Korean, ISO, seconds since 1970.

`parse_moment` reads an option that must be a date and `find_dates` looks for dates in a plain question, both against
a given now; `as_moment` reads what a record says, and `date_in_name` what a file is called. `find_dates` would rather
miss a date than take an ordinary word for it. Time grows with the length of the text and no faster. Seasons are those
of the northern hemisphere, three whole months each; the names of months are German, French and Spanish too.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from recollect.lazy import regex
from recollect.text.holidays import SIGNALS, holiday_named, names_pattern, nth_weekday
from recollect.text.normalise import compiled

FIRST_YEAR: Final = 1000
LAST_YEAR: Final = 2999
"""Beyond these years a span could leave the calendar when it is taken to another time zone."""

MONTHS_OF: Final[Mapping[str, int]] = {"month": 1, "quarter": 3, "year": 12}
DAYS_OF: Final[Mapping[str, int]] = {"day": 1, "week": 7}
SECONDS_OF: Final[Mapping[str, int]] = {"minute": 60, "hour": 3600}


class TimeSpan(Struct, frozen=True, kw_only=True):
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
    from calendar import monthrange  # noqa: PLC0415  (few dates are counted in months)

    return first.replace(day=min(moment.day, monthrange(first.year, first.month)[1]))


def begin(unit: str, now: datetime) -> datetime:
    """Return when the day, week, month, quarter or year that *now* lies in began."""
    if unit in MONTHS_OF:
        return midnight(now.year, (now.month - 1) // MONTHS_OF[unit] * MONTHS_OF[unit] + 1, 1, like=now)
    return step(now, "day", -now.weekday() if unit == "week" else 0)


def period(unit: str, offset: int, now: datetime) -> TimeSpan:
    """Return the unit (or the weekend) that lies *offset* units from the one *now* lies in."""
    if unit == "weekend":
        monday = step(begin("week", now), "week", offset)
        return TimeSpan(start=step(monday, "day", 5), end=step(monday, "week", 1))
    return lasting(step(begin(unit, now), unit, offset), unit)


def lasting(start: datetime, unit: str) -> TimeSpan:
    """Return the span of one *unit* from *start* on."""
    return TimeSpan(start=start, end=step(start, unit, 1))


def latest(month: int, day: int, *, until: datetime) -> datetime:
    """Return the last such day that began at or before *until*; 29 February may lie eight years back."""
    for year in range(until.year, until.year - 9, -1):
        with suppress(ValueError):
            start = midnight(year, month, day, like=until)
            if start <= until:
                return start
    raise ValueError(day)


MONTH_NAMES: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
MONTHS: Final = {name[:3].lower(): number for number, name in enumerate(MONTH_NAMES, 1)}
"""The number of each month by the first three letters of its name."""
OTHER_MONTHS: Final = {
    name: number
    for names in (
        "januar februar märz april mai juni juli august september oktober november dezember",
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    )
    for number, name in enumerate(names.split(), 1)
}
"""The number of each month by its German, French or Spanish name."""
SEASONS: Final = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""The month in which each season begins; it lasts three."""
WEEKDAY_NAMES: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
WEEKDAYS: Final = {name[:3]: day for day, name in enumerate(WEEKDAY_NAMES)}
EAST_DAYS: Final = {
    day: n for days in ("一二三四五六天", "月火水木金土日", "월화수목금토일") for n, day in enumerate(days)
}
OFFSETS: Final = {"last": -1, "previous": -1, "this": 0, "current": 0, "next": 1}
NUMBERS: Final = {
    name: number
    for names in (
        "zero one two three four five six seven eight nine ten eleven twelve",
        "零 一 二 三 四 五 六 七 八 九 十",
        "- 한 두 세 네 다섯",
        "- a 两",
        "- an 兩",
        "- - couple",
    )
    for number, name in enumerate(names.split())
}
"""Numerals and what they count; "-" is a place without a word."""

_ONES: Final = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
_TEENS: Final = ("tenth", "eleventh", "twelfth", *(f"{each}teenth" for each in ("thir", "four", "fif", "six", "seven")))
_DAYS: Final = (*_ONES, *_TEENS, "eighteenth", "nineteenth", "twentieth", *(f"twenty-{one}" for one in _ONES))
ORDINALS: Final = {name: number for number, name in enumerate((*_DAYS, "thirtieth", "thirty-first"), 1)}

UNITS: Final = {
    name: unit
    for unit, names in {
        "minute": "min mins minute minutes 分 分钟 分鐘 분",
        "hour": "h hr hrs hour hours 小时 小時 時間 시간",
        "day": "d day days 天 日 일",
        "week": "w wk wks week weeks 周 週 週間 星期 礼拜 禮拜 주 주일",
        "month": "m mo month months 月 か月 ヶ月 カ月 ヵ月 ケ月 개월 달",
        "quarter": "quarter quarters",
        "year": "y yr yrs year years 年 년",
    }.items()
    for name in names.split()
}

BEHIND_KOREAN: Final = r"(?=$|[^가-힣]|에|의|는|은|말|중|간|부터|까지)"
"""What may follow a short Korean word, so that 이번 주 is a week and 이번 주제 (this topic) is not."""
HEAD: Final = r"(?<![가-힣])"
WEEK: Final = r"(?:[周週](?![围圍边邊期])|星期|[礼禮]拜)"

EAST: Final = (
    (r"大前天", "day", -3),
    (rf"(?<![目以之大])前天|一昨日|{HEAD}(?:그제(?!서야|야)|그저께)", "day", -2),
    (rf"昨[天日]|{HEAD}어제", "day", -1),
    (rf"(?<!如)今[天日]|本日|{HEAD}오늘(?!날)", "day", 0),
    (rf"(?<![说說声聲证證表文光透])明[天日]|{HEAD}내일", "day", 1),
    (rf"上上[周週]|先々週|{HEAD}지지난\s?주{BEHIND_KOREAN}", "week", -2),
    (rf"(?<!以)上[个個]?{WEEK}|先週|{HEAD}지난\s?주{BEHIND_KOREAN}", "week", -1),
    (rf"(?:(?<!日)本|[这這])[个個]?{WEEK}|今週|{HEAD}이번\s?주{BEHIND_KOREAN}", "week", 0),
    (rf"下[个個]?{WEEK}|来週|{HEAD}다음\s?주{BEHIND_KOREAN}", "week", 1),
    (rf"上[个個]月|先月|{HEAD}지난\s?달{BEHIND_KOREAN}", "month", -1),
    (rf"(?<!日)本月|[这這][个個]月|今月|{HEAD}이번\s?달{BEHIND_KOREAN}", "month", 0),
    (rf"下[个個]月|来月|{HEAD}다음\s?달{BEHIND_KOREAN}", "month", 1),
    (rf"一昨年|{HEAD}재작년", "year", -2),
    (rf"(?<![过過])去年|(?<!一)昨年|{HEAD}(?:작년|지난해)", "year", -1),
    (rf"(?<!如)今年|{HEAD}올해", "year", 0),
    (rf"(?<![说說声聲证證表文])明年|(?<![未近以])来年|{HEAD}내년", "year", 1),
)
"""A word of the East, its unit, and how many units from now it lies. The guards keep ordinary words
whole: 目前天气 (the present weather) holds no 前天, 언어제공 (offering a language) no 어제."""


Reader = Callable[[re.Match[str], datetime], TimeSpan]


class Rule(Struct, frozen=True, kw_only=True):
    """A way to write a date; a text with nothing of what it needs is not searched for it."""

    source: str
    flags: re.RegexFlag
    read: Reader
    needs: frozenset[str]

    @property
    def pattern(self) -> re.Pattern[str]:
        """Compile the pattern when it is first wanted: all of them together would slow every start."""
        return compiled(self.source, self.flags)


# --- what a match means ---------------------------------------------------------------------


def _named(_match: re.Match[str], now: datetime, *, unit: str, offset: int) -> TimeSpan:
    return period(unit, offset, now)


def _relative(match: re.Match[str], now: datetime) -> TimeSpan:
    return period(match["unit"].lower(), OFFSETS[match["which"].lower()], now)


def _calendar(match: re.Match[str], now: datetime) -> TimeSpan:
    """Read year, month (a name or a number) and day, as many of them as there are."""
    parts = {part: text for part, text in match.groupdict().items() if text}
    month = _month(parts["name"]) if "name" in parts else _count(parts.get("month", "1"))
    day = _count(parts.get("day", "1"))
    year = now.year + _shift("year", parts["this_year"]) if "this_year" in parts else parts.get("year")
    start = midnight(int(year), month, day, like=now) if year else latest(month, day, until=now)
    if "first" in parts:
        return TimeSpan(start=start.replace(day=_count(parts["first"])), end=step(start, "day", 1))
    return lasting(start, "day" if "day" in parts else "month" if parts.keys() & {"name", "month"} else "year")


def _months(match: re.Match[str], now: datetime) -> TimeSpan:
    """Read "from May to July": both months and those between them, the latest that have begun."""
    first, last = _month(match["name"]), _month(match["last"])
    start = latest(first, 1, until=now)
    return TimeSpan(start=start, end=step(start, "month", (last - first) % 12 + 1))


def _weekdays(match: re.Match[str], now: datetime) -> TimeSpan:
    """Read "from Monday to Wednesday": up to the latest such Wednesday that has begun."""
    first, last = (WEEKDAYS[match[name][:3].lower()] for name in ("weekday", "last"))
    end = step(begin("day", now), "day", 1 - (now.weekday() - last) % 7)
    return TimeSpan(start=step(end, "day", -1 - (last - first) % 7), end=end)


def _years(match: re.Match[str], now: datetime) -> TimeSpan:
    first, last = sorted(int(match[name]) for name in ("year", "last"))
    return TimeSpan(start=midnight(first, 1, 1, like=now), end=midnight(last + 1, 1, 1, like=now))


def _month(name: str) -> int:
    return OTHER_MONTHS.get(name.lower()) or MONTHS[name[:3].lower()]


def _season(match: re.Match[str], now: datetime) -> TimeSpan:
    """Read a season; a winter is of the year in which it begins."""
    month = SEASONS[match["season"].lower()]

    def of(year: int) -> TimeSpan:
        return lasting(midnight(year, month, 1, like=now), "quarter")

    return _yearly(of, match, now)


def _holiday(match: re.Match[str], now: datetime) -> TimeSpan:
    holiday = holiday_named(match["holiday"])

    def of(year: int) -> TimeSpan:
        first = holiday.first(year)
        start = midnight(first.year, first.month, first.day, like=now)
        return TimeSpan(start=start, end=step(start, "day", holiday.days))

    return _yearly(of, match, now)


def _yearly(of: Callable[[int], TimeSpan], match: re.Match[str], now: datetime) -> TimeSpan:
    """Read what comes once a year: "last" is the latest that is over, "this" the nearest, "next" one to come.

    Without any of these and without a year it is the latest that has begun.
    """
    parts = match.groupdict()
    if parts.get("year"):
        return of(int(parts["year"]))
    spans = [of(year) for year in range(now.year - 2, now.year + 3)]
    match (parts.get("which") or "").lower():
        case "this":
            return min(spans, key=lambda span: max(span.start - now, now - span.end))
        case "next":
            return next(span for span in spans if span.start > now)
        case "last" | "previous":
            return next(span for span in reversed(spans) if span.end <= now)
        case _:
            return next(span for span in reversed(spans) if span.start <= now)


def _month_of(match: re.Match[str], now: datetime) -> TimeSpan:
    """Read "this May" (of this year) and "last May" (the latest that is over)."""
    month = MONTHS[match["name"][:3].lower()]
    if match["which"].lower() == "this":
        return lasting(midnight(now.year, month, 1, like=now), "month")
    return lasting(latest(month, 1, until=step(begin("month", now), "month", -1)), "month")


def _quarter(match: re.Match[str], now: datetime) -> TimeSpan:
    month, year = int(match["quarter"]) * 3 - 2, match.groupdict().get("year")
    return lasting(midnight(int(year), month, 1, like=now) if year else latest(month, 1, until=now), "quarter")


def _time(match: re.Match[str], now: datetime) -> TimeSpan:
    """Read a date with a time; the span lasts as long as the smallest part that was written."""
    moment = datetime.fromisoformat(match[0].upper())
    start = moment.astimezone(now.tzinfo) if moment.tzinfo else moment.replace(tzinfo=now.tzinfo)
    unit = "microseconds" if match["fraction"] else "seconds" if match["second"] else "minutes"
    return TimeSpan(start=start, end=start + timedelta(**{unit: 1}))


def _ago(match: re.Match[str], now: datetime) -> TimeSpan:
    """Read "N units ago": the one unit that begins there."""
    unit = UNITS[match["unit"].lower()]
    origin = now if unit in SECONDS_OF else begin("day", now)
    count = _count(match["count"])
    return TimeSpan(start=step(origin, unit, -count), end=step(origin, unit, 1 - count))


def _window(match: re.Match[str], now: datetime) -> TimeSpan:
    """Read "the last N units": from there until the end of today."""
    unit = UNITS[match["unit"].lower()]
    origin = now if unit in SECONDS_OF else begin("day", now)
    return TimeSpan(start=step(origin, unit, -_count(match["count"] or "1")), end=step(begin("day", now), "day", 1))


def _weekday(match: re.Match[str], now: datetime) -> TimeSpan:
    """Read "last Monday" (before today), "next" (after it), "this" (of this week), or the latest up to today."""
    ahead = WEEKDAYS[match["weekday"][:3].lower()] - now.weekday()
    days = {"last": ahead % 7 - 7, "previous": ahead % 7 - 7, "next": (ahead - 1) % 7 + 1, "this": ahead}
    return period("day", days.get((match.groupdict().get("which") or "").lower(), -(-ahead % 7)), now)


def _this(match: re.Match[str], now: datetime) -> TimeSpan:
    return period(match["unit"].lower(), 0, now)


def _week_and_day(match: re.Match[str], now: datetime) -> TimeSpan:
    """Read a week with one of its days, as in 上周五."""
    monday = step(begin("week", now), "week", _shift("week", match["week"]))
    return period("day", EAST_DAYS[match["weekday"]], monday)


def _now(_match: re.Match[str], now: datetime) -> TimeSpan:
    return lasting(now, "minute")


def _shift(unit: str, text: str) -> int:
    """Return how many units from now the East Asian word *text* lies, as -1 for 去年."""
    return next(offset for words, of, offset in EAST if of == unit and re.fullmatch(words, text))


def _count(text: str) -> int:
    """Return the number that digits, English, Korean or Chinese numerals (up to 99) name, or an ordinal's."""
    if text.isdecimal():
        return int(text)
    if text.lower() in NUMBERS:
        return NUMBERS[text.lower()]
    if (ordinal := text.lower().replace(" ", "-")) in ORDINALS:
        return ORDINALS[ordinal]
    tens, ten, ones = text.partition("十")
    if not ten or len(tens) > 1 or len(ones) > 1:
        raise ValueError(text)
    return NUMBERS.get(tens, 1) * 10 + NUMBERS.get(ones, 0)


# --- pieces of patterns ---------------------------------------------------------------------

OPEN, CLOSE = r"(?<![\w./-])", r"(?![\w/-]|[.:]\d)"
THING = r"\s?%|\spercent\b|\s(?!(?:was|is|has|does|as|this|us|vs)\b)[a-z]{1,14}s\b"
"""A counted thing: in "by 2000 users" and "may 5 times" the number is no date."""
FREE = r"(?!\s(?:of|before|after)\b)"
"""In "the last week of August" the week is counted from another date than now."""

MONTH: Final = (
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
"""The months as people write them, long and short; ignoring case is left to who uses it."""
FULL, NAME = rf"(?P<name>{'|'.join(MONTH_NAMES)})\b", rf"(?P<name>{MONTH})\b\.?"
OTHER = rf"(?P<name>{'|'.join(sorted(OTHER_MONTHS, key=len, reverse=True))})(?!\w)"
NOUN = rf"(?!(?-i:may|march)\b(?!\W*$|\s?[,.;:?!)]|,?\s(?:of\s)?(?:19|20)\d\d)){FULL}"
"""A month where "may" and "march" could be verbs: in small letters they end the sentence or have a year."""
YEAR, MODERN = r"(?P<year>[12]\d{3})", r"(?P<year>(?:19|20)\d\d|2100)"
OTHER_YEAR = rf"(?:\s(?:del?\s)?{MODERN}\b)?"
DAY, NTH = r"(?P<day>\d{1,2})", r"(?:st|nd|rd|th)"
RANGE = r"(?:(?P<first>\d{1,2})\.?\s?[-–]\s?)?"  # noqa: RUF001
ORDINAL = rf"(?P<day>{'|'.join(sorted(ORDINALS, key=len, reverse=True)).replace('-', '[ -]')})"
SEASON = r"(?P<season>spring|summer|autumn|winter)\b"
ALONE = (
    r"(?=\W*$|\s?[,.;:?!)]|\s(?:i|we|you|he|she|it|they|the|an?|my|our|and|or|but|when|because|is|are|was|were|did|do"
    r"|does|of|so)\b)"
)
"""What follows a season where it is one: in "in spring boot" and "in summer time" it is not."""
THROUGH = r"\s?(?:to|through|thru|until|till|and|-|\u2013)\s?"
"""What stands between the two ends of a span."""
SECOND = r"(?P<second>:\d\d(?P<fraction>[.,]\d{1,9})?)?"
COUNT = r"(?P<count>\d{1,4}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|couple)"
UNIT = r"(?P<unit>mins?|minutes?|hrs?|hours?|days?|wks?|weeks?|months?|quarters?|yrs?|years?)"
WEEKDAY = rf"(?P<weekday>{'|'.join(WEEKDAY_NAMES)})\b"
SHORT_WEEKDAY = r"(?P<weekday>(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?)"

EAST_COUNT = r"(?P<count>\d{1,4}|[一二三四五六七八九十两兩]{1,3}|[한두세네]|다섯)\s?[个個箇]?"
EAST_UNIT = (
    r"(?P<unit>分[钟鐘]|分|분|小[时時]|時間|시간|[天日일]|週間|星期|[礼禮]拜|[周週]|주일|주|[かヶカヵケ]月|개월|달"
    r"|(?<=[个個箇])月|[年년])"
)
EAST_AGO = r"\s?(?:(?:之前|以前|前)(?![端台面期言提途者])|전(?=$|[^가-힣]|에|의|부터|까지|쯤))"
EAST_MONTH = r"(?P<month>\d{1,2}|[一二三四五六七八九十]{1,2})\s?[月월]"
EAST_DAY = r"\s?(?P<day>\d{1,2}|[一二三四五六七八九十]{1,3})\s?[日号號일]"

NAMES = " ".join((*MONTHS, "sept", *MONTH_NAMES)).lower()
OTHER_NAMES = " ".join(OTHER_MONTHS) + " ä é û"
DAYNAMES = " ".join(WEEKDAY_NAMES)


def _after(*words: str) -> str:
    """Return a pattern for the place right behind one of *words*; the word stays outside the match."""
    return r"(?<=[\s-])(?:" + "|".join(rf"(?<=\b{word}[\s-])" for word in words) + ")"  # most places have no space


GERMAN_PARTS = ("anfang", "mitte", "ende")
BOUNDS = ("since", "until", "before", "after")
OF_THE = tuple(f"{part} of the" for part in ("beginning", "start", "middle", "end"))
NEW_YEAR = rf"(?:(?!new\syear\b(?!['’]))|^|{_after('at', 'by', 'on', 'the', 'last', 'this', 'next', *BOUNDS)})"  # noqa: RUF001
"""The new year of another calendar ("the Chinese new year") is none of ours."""


def _west(source: str, read: Reader, needs: str = "#") -> Rule:
    return Rule(source=source, flags=re.IGNORECASE | re.ASCII, read=read, needs=frozenset(needs.split()))


def _east(source: str, read: Reader) -> Rule:
    signs = frozenset(sign for sign in source if not sign.isascii())
    return Rule(source=source, flags=re.NOFLAG, read=read, needs=signs)


def _any(unit: str) -> str:
    return "|".join(words for words, of, _ in EAST if of == unit)


# --- the tables -----------------------------------------------------------------------------

PLAIN: Final = (
    _west(rf"{OPEN}{YEAR}-\d\d-\d\d[t ]\d\d:\d\d{SECOND}(?:z|[+-]\d\d:?\d\d)?{CLOSE}", _time, "####"),
    _west(rf"{OPEN}{YEAR}(?P<dash>[-/])(?P<month>\d{{1,2}})(?P=dash){DAY}{CLOSE}", _calendar, "####"),
    _west(rf"{OPEN}{YEAR}[-/](?P<month>0[1-9]|1[0-2]){CLOSE}", _calendar, "####"),
    _west(rf"\b{NAME}\s{{1,2}}{DAY}{NTH}?(?:(?:,\s?|\s){MODERN}\b|(?!\w|[.:]\d|{THING}))", _calendar, NAMES),
    _west(
        rf"{OPEN}{RANGE}{DAY}(?:\.\s?|{NTH}?\sof\s|{NTH}\s|\s(?!(?-i:may|march?)\b(?!,?\s(?:19|20)\d\d))){NAME}(?:,?\s{MODERN}\b|(?!\w))",
        _calendar,
        NAMES,
    ),
    _west(rf"\b{NAME},?\s(?:of\s)?{MODERN}\b(?!{THING})", _calendar, NAMES),
    _west(rf"\b(?:the\s)?{ORDINAL}\sof\s{NAME}(?:,?\s{MODERN}\b|(?!\w))", _calendar, NAMES),
    _west(
        rf"\b(?!(?-i:may|march)\b){NAME}\s(?:the\s)?{ORDINAL}\b(?!\s(?:week|weekend|half|quarter)\b)(?:,?\s{MODERN}\b)?",
        _calendar,
        NAMES,
    ),
    _west(rf"\b(?!(?-i:may|march)\b){NAME}\sthe\s{DAY}{NTH}\b(?:,?\s{MODERN}\b)?", _calendar, NAMES),
    _west(rf"{_after('from', 'between')}{FULL}{THROUGH}(?P<last>{'|'.join(MONTH_NAMES)})\b", _months, NAMES),
    _west(rf"{_after('from', 'between')}{WEEKDAY}{THROUGH}(?P<last>{'|'.join(WEEKDAY_NAMES)})\b", _weekdays, DAYNAMES),
    _west(rf"{_after('from', 'between')}{MODERN}{THROUGH}(?P<last>(?:19|20)\d\d)\b(?!{THING})", _years),
    _west(rf"{OPEN}{RANGE}{DAY}(?:\.|er)?\s?(?:de\s)?{OTHER}{OTHER_YEAR}", _calendar, OTHER_NAMES),
    _west(
        rf"{_after('im', 'en', 'seit', 'desde', 'depuis', *GERMAN_PARTS)}{OTHER}{OTHER_YEAR}", _calendar, OTHER_NAMES
    ),
    _west(rf"{_after('in', 'since', 'during', 'until', 'of', 'mid')}{FULL}", _calendar, NAMES),
    _west(rf"{_after('early', 'late', 'before', 'after')}{NOUN}", _calendar, NAMES),
    _west(rf"\b(?P<which>last|this(?!\smay\b))\s{FULL}", _month_of, NAMES),
    _west(
        rf"(?<=[\s-])(?=[12]){_after('in', 'during', 'by', 'of', 'mid', 'early', 'late', *BOUNDS)}"
        rf"{MODERN}(?![\w%]|[-/.:,]\d|{THING})",
        _calendar,
        "####",
    ),
    _west(rf"\bq(?P<quarter>[1-4])[\s/-]?(?:of\s)?{MODERN}\b", _quarter, "q"),
    _west(rf"{OPEN}{MODERN}[\s/-]?q(?P<quarter>[1-4])\b", _quarter, "q"),
    _west(rf"(?<![\w.-])(?:a\s)?{COUNT}(?:\sof)?\s{{1,2}}{UNIT}\sago\b", _ago, "ago"),
    _west(r"(?<![\w.-])(?P<count>\d{1,4})(?P<unit>mo|[hdwy])\sago\b", _ago, "ago"),
    _west(
        rf"\b(?:(?<!to\s)(?:last|past|previous)\s{COUNT}\s|past\s|this\s(?:past|last|previous)\s){UNIT}\b{FREE}",
        _window,
        "last past previous",
    ),
    _west(
        rf"\b(?P<which>last|previous|this|current|next)\s(?P<unit>weekend|week|month|quarter|year)\b{FREE}",
        _relative,
        "weekend week month quarter year",
    ),
    _west(rf"\b(?P<which>last|previous|this|next)\s{WEEKDAY}(?!\s(?:of|in)\b)", _weekday, DAYNAMES),
    _west(rf"{_after('on', 'since')}{WEEKDAY}", _weekday, DAYNAMES),
    _west(
        rf"\b(?P<which>last|previous|this|next)\s(?P<season>{'|'.join(SEASONS)})\b(?!\stime)",
        _season,
        " ".join(SEASONS),
    ),
    _west(rf"\b(?P<season>{'|'.join(SEASONS)})(?:\sof)?\s{MODERN}\b(?!{THING})", _season, " ".join(SEASONS)),
    _west(
        rf"{_after('in', 'over', 'during', 'of', 'mid', 'early', 'late', 'the', *BOUNDS)}"
        rf"{SEASON}{ALONE}",
        _season,
        " ".join(SEASONS),
    ),
    _west(
        rf"(?<!\w)(?:(?P<which>last|previous|this|next)\s)?{NEW_YEAR}(?P<holiday>{names_pattern()})(?!\w)"
        rf"(?:,?\s(?:of\s)?{MODERN}\b)?",
        _holiday,
        SIGNALS,
    ),
    _west(rf"{_after(*OF_THE)}(?P<unit>week|month|quarter|year)\b", _this, "week month quarter year"),
    _west(r"\b(?:the\s)?day\sbefore\syesterday\b", partial(_named, unit="day", offset=-2), "yesterday"),
    _west(r"(?<![\w.])(?:yesterday|last\snight)(?![\w(])", partial(_named, unit="day", offset=-1), "yesterday night"),
    _west(
        r"(?<![\w.])(?:today|tonight|this\s(?:morning|afternoon|evening))(?![\w(])",
        partial(_named, unit="day", offset=0),
        "today tonight morning afternoon evening",
    ),
    _west(r"(?<![\w.])tomorrow(?![\w(])", partial(_named, unit="day", offset=1), "tomorrow"),
    *(_east(words, partial(_named, unit=unit, offset=offset)) for words, unit, offset in EAST),
    _east(rf"(?P<this_year>{_any('year')})\s?の?{EAST_MONTH}(?:{EAST_DAY})?", _calendar),
    _east(rf"(?<!\d){YEAR}\s?[年년](?:\s?{EAST_MONTH}(?:{EAST_DAY})?|(?![間间간]))", _calendar),
    _east(rf"(?<![\d.]){EAST_MONTH}{EAST_DAY}", _calendar),
    _east(r"(?<![\d.])(?P<month>\d{1,2})[月월](?![\d間间])", _calendar),
    _east(rf"(?<![\d.第]){EAST_COUNT}{EAST_UNIT}{EAST_AGO}", _ago),
    _east(rf"(?:最近|过去|過去|近|ここ|최근|지난)\s?{EAST_COUNT}{EAST_UNIT}[間间간]?", _window),
)

EXPLICIT: Final = (
    _west(rf"{YEAR}(?P<month>\d\d)(?P<day>\d\d)", _calendar),
    _west(YEAR, _calendar),
    _west(NAME, _calendar, NAMES),
    _west(rf"{DAY}{NTH}?\s{NAME}", _calendar, NAMES),
    _west(r"q(?P<quarter>[1-4])", _quarter, "q"),
    _west(rf"{COUNT}\s?{UNIT}(?:\sago)?", _ago, " ".join(UNITS)),
    _west(r"(?P<count>\d{1,4})\s?(?P<unit>mo|[hdwmy])(?:\sago)?", _ago),
    _west(
        rf"(?:(?P<which>last|previous|this|next)\s)?{SHORT_WEEKDAY}",
        _weekday,
        f"{DAYNAMES} mon tue tues wed thu thur thurs fri sat sun",
    ),
    _west(r"now", _now, "now"),
    _east(
        rf"(?P<week>{_any('week')})\s?の?(?P<weekday>[一二三四五六天月火水木金土日월화수목금토일])(?:曜日?|요일)?",
        _week_and_day,
    ),
    _east(EAST_MONTH, _calendar),
    _east(r"上月", partial(_named, unit="month", offset=-1)),
    _east(r"前年", partial(_named, unit="year", offset=-2)),
)


LONGEST: Final = 64
"""No option that is a date is longer than this."""

TRIGGERS: Final = frozenset[str]().union(*(rule.needs for rule in (*PLAIN, *EXPLICIT)))
LETTERS_OR_DIGITS: Final = regex(r"[A-Za-z]+|[0-9]+")
BEFORE_NEEDED, AFTER_NEEDED = 64, 160
"""How many characters around a needed word are searched: more than a match and what is looked at around it."""
YEAR_DIGITS: Final = 4
YEAR_BEHIND: Final = regex(r",?\s(?:of\s)?(?P<which>last|this|next)\syear\b", re.IGNORECASE)
LEAD: Final = regex(r"^(?:(?:in|on|at|during|since|from)\s)?(?:the\s)?", re.IGNORECASE)


class DateMatch(Struct, frozen=True, kw_only=True):
    """A date in a text: what it means, and where its words stand (text[start:end])."""

    span: TimeSpan
    start: int
    end: int
    repeats: bool = False
    """Whether it names no year, so that the same day of the next year may be meant."""
    idle_end: int = 0
    """Up to where its words are counted from another time (text[start:idle_end]), so that no memory of it holds them:
    "last week", "mid", "two weeks before"; not the name of a month or of a holiday."""
    threads: frozenset[tuple[str, str]] = frozenset()
    """The conversations that it counts, as project and thread, where it does not name a time but sessions."""


def parse_moment(text: str, *, now: datetime) -> TimeSpan | None:
    """Return the span that *text* names, in the time zone of *now* (UTC if it has none), or None.

    "N units ago", and `3d` for short, is the one unit that begins N units before today (before now
    for hours and minutes). A date without a year is the latest that has begun.
    """
    if len(text) > LONGEST:
        return None
    plain = LEAD.sub("", " ".join(unicodedata.normalize("NFKC", text).split()))
    anchor, present = _anchored(now), _places(plain)
    rules = (rule for rule in (*PLAIN, *EXPLICIT) if not rule.needs.isdisjoint(present))
    matches = ((rule, rule.pattern.fullmatch(plain)) for rule in rules)
    spans = (_read(rule, match, anchor) for rule, match in matches if match)
    whole = (found.span for found in find_dates(plain, now=anchor) if (found.start, found.end) == (0, len(plain)))
    return next((span for span in (*spans, *whole) if span), None)


def find_dates(text: str, *, now: datetime) -> tuple[DateMatch, ...]:
    """Return the dates in *text*, in order and without overlap: of two, the earlier, then the longer.

    What stands before a date belongs to it: "mid", "the last week of", "two weeks before". A date that follows "since"
    lasts until the end of today. Nothing is raised, whatever the text.
    """
    places = _places(text)
    if not places:
        return ()
    anchor = _anchored(now)
    found = [
        date
        for rule in PLAIN
        if not rule.needs.isdisjoint(places)
        for match in _matches(rule, text, places)
        if (date := _dated(rule, match, anchor))
    ]
    kept: list[DateMatch] = []
    for candidate in sorted(found, key=lambda one: (one.start, -one.end)):
        if not kept or candidate.start >= kept[-1].end:
            kept.append(candidate)
    led = (_led(each, text, anchor) for each in _through(kept, text))
    return tuple(_through(led, text))


_BETWEEN: Final = regex(THROUGH, re.IGNORECASE)
_TO_DAY: Final = regex(rf"{THROUGH}(?:the\s)?{DAY}{NTH}\b(?!\sof\b)", re.IGNORECASE)


def _through(dates: Iterable[DateMatch], text: str) -> list[DateMatch]:
    """Return *dates* with the two ends of a span as one: "from A to B", "A through B", "between A and B"."""
    kept: list[DateMatch] = []
    for found in dates:
        joint = _BETWEEN.fullmatch(text, kept[-1].end, found.start) if kept else None
        if joint is None or ("and" in joint[0].lower() and not _follows_between(text, kept[-1].start)):
            kept.append(_to_day(found, text))
            continue
        first = kept.pop()
        end = found.span.end if found.span.end > first.span.start else step(found.span.end, "year", 1)
        span = TimeSpan(start=first.span.start, end=end)
        kept.append(replace(first, span=span, end=found.end, repeats=first.repeats and found.repeats))
    return kept


def _to_day(found: DateMatch, text: str) -> DateMatch:
    """Return *found*, a day, with the day of its month up to which it goes: "May 8th to 12th"."""
    match = _TO_DAY.match(text, found.end)
    if match is None or found.span.end - found.span.start != timedelta(days=1):
        return found
    if "and" in match[0].lower() and not _follows_between(text, found.start):
        return found
    with suppress(ValueError):
        last = step(found.span.start.replace(day=int(match["day"])), "day", 1)
        if last > found.span.end:
            return replace(found, span=TimeSpan(start=found.span.start, end=last), end=match.end())
    return found


def _follows_between(text: str, start: int) -> bool:
    return text[:start].lower().rstrip().removesuffix(" the").endswith("between")


def _dated(rule: Rule, match: re.Match[str], now: datetime) -> DateMatch | None:
    """Return the date that *match* names, with the year that may follow it ("in March last year")."""
    parts = match.groupdict()
    repeats = rule.read in (_calendar, _season, _holiday) and not any(map(parts.get, ("year", "this_year", "which")))
    behind = YEAR_BEHIND.match(match.string, match.end()) if repeats else None
    if behind is not None:
        now = midnight(now.year + OFFSETS[behind["which"].lower()], 12, 31, like=now)
    span = _read(rule, match, now)
    if span is None:
        return None
    if rule.read is _ago and UNITS[parts["unit"].lower()] == "month":
        span = period("month", 0, span.start)  # people mean the calendar month
    end = behind.end() if behind else match.end()
    relative = rule.read in (_relative, _ago, _window) or (rule.read in (_season, _weekday) and parts.get("which"))
    return DateMatch(
        span=span,
        start=match.start(),
        end=end,
        repeats=repeats and behind is None,
        idle_end=end if relative and match[0].isascii() else match.start(),
    )


def _places(text: str) -> dict[str, list[int]]:
    """Return where *text* has what rules may need: words, "#" for digits, "####" for four; no places beyond ASCII."""
    places: dict[str, list[int]] = {}
    for match in LETTERS_OR_DIGITS.finditer(text):
        word, at = match[0].lower(), match.start()
        if word in TRIGGERS:
            places.setdefault(word, []).append(at)
        elif word.isdigit():
            places.setdefault("#", []).append(at)
            if len(word) >= YEAR_DIGITS:
                places.setdefault("####", []).append(at)
    return places if text.isascii() else places | {sign: [] for sign in TRIGGERS.intersection(text)}


def _matches(rule: Rule, text: str, places: Mapping[str, Sequence[int]]) -> Iterator[re.Match[str]]:
    """Yield the matches of *rule*, each of which holds something that it needs: only the text around it is searched."""
    needed = [places[word] for word in rule.needs.intersection(places)]
    if not all(needed):
        yield from rule.pattern.finditer(text)
        return
    start = stop = -1
    for at in sorted(place for each in needed for place in each):
        if at - BEFORE_NEEDED > stop:
            yield from rule.pattern.finditer(text, max(0, start), stop) if stop > 0 else ()
            start = at - BEFORE_NEEDED
        stop = at + AFTER_NEEDED
    yield from rule.pattern.finditer(text, max(0, start), stop)


def _read(rule: Rule, match: re.Match[str], now: datetime) -> TimeSpan | None:
    """Return what *match* means; None for a day, month or year that the calendar does not have."""
    with suppress(ValueError, OverflowError):
        return rule.read(match, now)
    return None


def _anchored(now: datetime) -> datetime:
    return now if now.tzinfo else now.replace(tzinfo=UTC)


# --- what stands before a date --------------------------------------------------------------

_THE = r"(?:the\s)?"
_SIDE = r"(?P<side>before|after|following|prior\sto)\s"
_PART_NAMES = "early|beginning|start|anfang|mid|middle|mitte|late|end|ende|first\\shalf|second\\shalf"
_SLOTS = r"day|night|evening|morning|week|weekend|month|quarter|year"
_PARTS: Final = {
    **dict.fromkeys(("early", "beginning", "start", "anfang"), (0, 1 / 3)),
    **dict.fromkeys(("mid", "middle", "mitte"), (1 / 3, 2 / 3)),
    **dict.fromkeys(("late", "end", "ende"), (2 / 3, 1)),
    "first half": (0, 1 / 2),
    "second half": (1 / 2, 1),
}
"""From what to what share of a span each part of it goes."""
_PLACES: Final = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4}
_SOME: Final = {"day": ("week", 1), "night": ("week", 1), "week": ("week", 4), "month": ("month", 3)}
"""What several days, weeks or months before or after a date are at most."""

Leader = Callable[[re.Match[str], TimeSpan, datetime], TimeSpan]


def _part(match: re.Match[str], span: TimeSpan, _now: datetime) -> TimeSpan:
    """Read "mid May", "the end of 2025"; a third, in whole days."""
    days = (span.end - span.start).days
    first, last = (round(days * share) for share in _PARTS[" ".join(match["part"].lower().split())])
    return TimeSpan(start=step(span.start, "day", first), end=step(span.start, "day", max(first + 1, last)))


def _nth_of(match: re.Match[str], span: TimeSpan, _now: datetime) -> TimeSpan:
    """Read "the second week of May", counted from its first day, "the last Sunday in March"."""
    nth, what, start = _PLACES.get(match["nth"].lower(), -1), match["what"].lower(), span.start
    if what in ("week", "days"):
        begun = step(start, "week", nth - 1) if nth > 0 else step(span.end, "week", -1)
        return lasting(begun, "week")
    day = WEEKDAY_NAMES.index("saturday" if what == "weekend" else what)
    first = nth_weekday(start.year, start.month, day, nth)
    begun = midnight(first.year, first.month, first.day, like=start)
    return TimeSpan(start=begun, end=step(begun, "day", 2 if what == "weekend" else 1))


def _counted(match: re.Match[str], span: TimeSpan, _now: datetime) -> TimeSpan:
    """Read "two weeks before X": the one unit that begins there, as in "two weeks ago"."""
    unit, count = UNITS[match["unit"].lower()], _count(match["count"])
    if match["side"].lower() in ("before", "prior to"):
        return lasting(step(span.start, unit, -count), unit)
    return lasting(step(step(span.end, "day", -1), unit, count), unit)


def _slot(match: re.Match[str], span: TimeSpan, _now: datetime) -> TimeSpan:
    """Read "the day before X", "the days after X"."""
    unit = match["slot"].lower()
    unit = unit if unit in UNITS else "week" if unit == "weekend" else "day"
    unit, count = _SOME.get(unit, (unit, 1)) if match["some"] else (unit, 1)
    if match["side"].lower() in ("before", "prior to"):
        return TimeSpan(start=step(span.start, unit, -count), end=span.start)
    return TimeSpan(start=span.end, end=step(span.end, unit, count))


def _night(match: re.Match[str], span: TimeSpan, _now: datetime) -> TimeSpan:
    """Read "the night of the 26th" (and what is left of it on the 27th) and "the night to the 26th"."""
    if match["side"].lower() == "to":
        return TimeSpan(start=step(span.start, "day", -1), end=span.end)
    return TimeSpan(start=span.start, end=step(span.end, "day", 1))


def _bounded(match: re.Match[str], span: TimeSpan, now: datetime) -> TimeSpan:
    """Read "before", "until", "after" and "since"; what has no end lasts until the end of today."""
    side, today = match["side"].lower(), step(begin("day", now), "day", 1)
    if side in ("before", "until"):
        first = midnight(FIRST_YEAR, 1, 1, like=now)
        return TimeSpan(start=first, end=span.start if side == "before" else span.end)
    start = span.start if side in ("since", "seit", "desde", "depuis") else span.end
    return TimeSpan(start=start, end=max(span.end, today))


def _around(_match: re.Match[str], span: TimeSpan, _now: datetime) -> TimeSpan:
    """Read "around X": a quarter of it more on both sides, at least two days."""
    days = max(2, (span.end - span.start).days // 4)
    return TimeSpan(start=step(span.start, "day", -days), end=step(span.end, "day", days))


_NTH = rf"\b(?P<nth>{'|'.join(_PLACES)}|last|final)\s(?P<what>week|days|weekend|{'|'.join(WEEKDAY_NAMES)})"

LEADERS: Final[tuple[tuple[str, Leader], ...]] = (
    (rf"\b(?P<part>{_PART_NAMES})(?:\s|-)(?:(?:of|in)\s)?{_THE}$", _part),
    (rf"{_NTH}\s(?:of|in)\s{_THE}$", _nth_of),
    (rf"(?<![\w.-])(?:a\s)?{COUNT}(?:\sof)?\s{UNIT}\s{_SIDE}{_THE}$", _counted),
    (rf"\b(?P<slot>{_SLOTS})(?P<some>s)?\s{_SIDE}{_THE}$", _slot),
    (rf"(?<=\bnight\s)(?P<side>of|to)\s{_THE}$", _night),
    (rf"\b(?:around|circa)\s{_THE}$", _around),
    (rf"\b(?P<side>since|until|before|after|seit|desde|depuis)\s{_THE}$", _bounded),
)
"""What may stand before a date, and what both mean; the first that does counts, and then what stands before that."""
_REACH: Final = 40
"""How far before a date it is looked for."""
_MOST_LEADERS: Final = 3


def _led(found: DateMatch, text: str, now: datetime) -> DateMatch:
    """Return *found* with what stands before it in *text*."""
    for _ in range(_MOST_LEADERS):
        before = text[max(0, found.start - _REACH) : found.start]
        matches = ((lead, compiled(source, re.IGNORECASE | re.ASCII).search(before)) for source, lead in LEADERS)
        lead, match = next(((lead, match) for lead, match in matches if match), (None, None))
        if lead is None or match is None:
            break
        try:
            span = lead(match, found.span, now)
        except (ValueError, OverflowError):
            break
        found = replace(found, span=span, start=found.start - len(before) + match.start())
        if lead is _bounded:
            break
    return found


# --- what records say and files are called --------------------------------------------------

_ISO_DAY: Final = r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
_IN_NAME: Final = regex(r"(?<!\d)([0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{4}_[0-9]{2}_[0-9]{2})(?!\d)")
_DAILY: Final = regex(rf"(?:^|/){_ISO_DAY}\.md$")
_BRACKETED: Final = regex(r"\s*\([^()]{1,12}\)")
_GMT: Final = regex(r"\s*(?:UTC|GMT)$", re.IGNORECASE)
_CLOCK: Final = regex(r"(\d{1,2}):(\d\d)(?:\s?([ap])m)?\son\s", re.IGNORECASE)
_NUMBER: Final = regex(r"-?[0-9]{9,16}(?:\.[0-9]{1,9})?")
_1970: Final = datetime(1970, 1, 1, tzinfo=UTC)

# Seconds since 1970 from 1973 on; larger numbers count thousandths and millionths of a second.
_EPOCH_UNITS: Final = ((1e8, 1e11, 1.0), (1e11, 1e14, 1e3), (1e14, 1e17, 1e6))


def as_moment(value: object) -> datetime | None:
    """Return the moment *value* names, in UTC where it says no other zone; None if it names none.

    It may be an ISO date ("2023/05/20 (Sat) 02:21" too), a day in words with its year, after a time or not ("1:56 pm
    on 8 May, 2023"), or seconds or milliseconds since 1970. A date without a time is its midnight.
    """
    match value:
        case bool():
            return None
        case int() | float():
            return _from_epoch(value)
        case str():
            text = value.strip()
            return _from_epoch(float(text)) if _NUMBER.fullmatch(text) else _from_iso(text) or _from_words(text)
        case datetime():
            return _in_utc(value)
        case date():
            return datetime(value.year, value.month, value.day, tzinfo=UTC)
        case _:
            return None


def date_in_name(name: str) -> datetime | None:
    """Return the first date YYYY-MM-DD or YYYY_MM_DD in the *name* of a file."""
    return next(filter(None, (as_moment(day.replace("_", "-")) for day in _IN_NAME.findall(name))), None)


def file_date(source: str | None) -> date | None:
    """Return the day a daily note is named by, such as memory/2026-02-10.md."""
    named = _DAILY.search(source or "")
    moment = as_moment(named[1]) if named else None
    return moment.date() if moment else None


def _from_iso(text: str) -> datetime | None:
    if len(text) > LONGEST or not text[:4].isdigit():
        return None
    iso = _GMT.sub("+00:00", _BRACKETED.sub("", text)).replace("/", "-")
    with suppress(ValueError):
        return _in_utc(datetime.fromisoformat(iso))
    return None


def _from_words(text: str) -> datetime | None:
    """Read a day that says its year, whatever today is."""
    clock = _CLOCK.match(text)
    day = text[clock.end() :] if clock else text
    span = parse_moment(day, now=_1970)
    if span is None or span.end - span.start != timedelta(days=1) or str(span.start.year) not in day:
        return None
    with suppress(ValueError):
        return span.start.replace(hour=_hour(clock), minute=int(clock[2])) if clock else span.start
    return None


def _hour(clock: re.Match[str]) -> int:
    return int(clock[1]) % 12 + 12 * (clock[3] in "pP") if clock[3] else int(clock[1])


def _from_epoch(number: float) -> datetime | None:
    units = (unit for least, most, unit in _EPOCH_UNITS if least <= number < most)
    return next((datetime.fromtimestamp(number / unit, UTC) for unit in units), None)


def _in_utc(moment: datetime) -> datetime | None:
    with suppress(OverflowError):
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return None
