"""The words dates are made of, in four languages, as tables."""

from datetime import timedelta
from typing import Final

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTHS: Final = {name: number for number, name in enumerate(_MONTHS, 1)}
WEEKDAYS: Final = {name: day for day, name in enumerate(("mon", "tue", "wed", "thu", "fri", "sat", "sun"))}
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
PRECISION: Final = {
    "minute": timedelta(minutes=1),
    "second": timedelta(seconds=1),
    "fraction": timedelta(microseconds=1),
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
