"""Say where two texts that look alike mean different things.

Words of one text that stand for a value (a number, a date, a version, a unit, a name, a piece of code)
or turn a sentence round (a negation, an opposite) are compared with those of the other. A doubtful
case counts as a difference: telling two memories apart costs a row, merging them costs a memory.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Final, Literal, NamedTuple, get_args

from msgspec import Struct, field

from recollect.lazy import cache_short, regex
from recollect.text.dates import MONTH, MONTHS
from recollect.text.normalise import CJK_PLAIN

Kind = Literal["number", "date", "version", "unit", "negation", "name", "code"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)


class Said(NamedTuple):
    """One word of a text in the form all its spellings share, and the kind of thing it stands for."""

    kind: Kind | Literal["word"]
    text: str


@cache_short(256)
def differences(a: str, b: str) -> tuple[Kind, ...]:
    """Return the kinds of meaning-bearing words in which *a* and *b* differ, in the order of `KINDS`."""
    left, right = _read(a), _read(b)
    told = {kind for kind in KINDS[:4] if _values(left, kind) != _values(right, kind)}
    if left.negations != right.negations or _opposed(left, right):
        told.add("negation")
    if _foreign_names(left, right) or _foreign_names(right, left):
        told.add("name")
    if _foreign_code(left, right) or _foreign_code(right, left):
        told.add("code")
    return tuple(kind for kind in KINDS if kind in told)


def said(text: str) -> tuple[Said, ...]:
    """Return *text* word by word: "three" and "3", "Mar 5" and "5 March", "10 s" and "10 seconds" come out alike."""
    return tuple(_read(text).said)


@lru_cache(maxsize=8192)
def plain(word: str) -> str:
    """Return *word* folded, without a possessive, under its full name where it has a well-known short form."""
    folded = word if word in {"US", "IT", "WHO"} else word.casefold().removesuffix("'s").removesuffix("'")
    return ALIASES.get(folded, folded)


def singular(word: str) -> str:
    """Return *word* without the s of the plural or of the third person."""
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-3] + "y" if word.endswith("ies") and len(word) > 4 else word[:-1]


def spaced(text: str) -> str:
    """Return *text* in its compatible form, with straight quotes and each run of CJK set apart."""
    return _CJK_RUN.sub(r" \g<0> ", unicodedata.normalize("NFKC", text).translate(_STRAIGHT))


def _words(text: str) -> tuple[str, ...]:
    """Return the words of a table that is easier to read without quotes."""
    return tuple(text.split())


def _table(text: str) -> dict[str, str]:
    """Return each word of the `meaning:word,word` entries of *text* with its meaning."""
    entries = (entry.split(":") for entry in text.split())
    return {word: meaning for meaning, words in entries for word in words.split(",")}


ALIASES: Final = _table("""
    postgresql:postgres,pg kubernetes:k8s javascript:js typescript:ts database:db databases:dbs directory:dir
    repository:repo repositories:repos documentation:docs configuration:config,conf application:app
    environment:env production:prod metre:meter,meters litre:liter,liters yearly:annually""")
"""Well-known short forms of one and the same word."""

_SCALES: Final = {"hundred": 100, "k": 10**3, "thousand": 10**3, "m": 10**6, "million": 10**6, "billion": 10**9}
_ONES: Final = _words("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen")
_TENS: Final = _words("zero ten twenty thirty forty fifty sixty seventy eighty ninety hundred")
_TEENS: Final = {"sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "dozen": 12, "once": 1, "twice": 2}
_COUNTS: Final = {word: n * 10 for n, word in enumerate(_TENS)} | {word: n for n, word in enumerate(_ONES)} | _TEENS
_ORDINALS: Final = _words("zeroth first second third fourth fifth sixth seventh eighth ninth tenth")

_SHORT_UNITS: Final = _table("""
    nanosecond:ns microsecond:us,µs,μs millisecond:ms,msec second:s,sec,secs minute:min,mins hour:h,hr,hrs day:d
    week:w,wk month:mo year:y,yr,yrs byte:B kilobyte:kb,KB,kB megabyte:mb,MB gigabyte:gb,GB terabyte:tb,TB kibibyte:KiB
    mebibyte:MiB gibibyte:GiB kilobit:Kb,kbit,kbps megabit:Mb,mbit,Mbps,mbps gigabit:Gb,gbit,Gbps,gbps percent:%,pct
    pixel:px point:pt em:em rem:rem metre:m kilometre:km centimetre:cm millimetre:mm mile:mi foot:ft,foot,feet
    inch:inch,inches yard:yd,yard,yards gram:g kilogram:kg pound:lb,lbs,pound,pounds ounce:oz litre:l,L millilitre:ml
    celsius:C,°C fahrenheit:F,°F watt:W kilowatt:kW watthour:Wh kilowatthour:kWh megawatt:MW volt:V hertz:Hz
    kilohertz:kHz megahertz:MHz gigahertz:GHz dollar:$,USD,usd euro:€,EUR,eur sterling:£,GBP,gbp yen:¥,JPY,jpy""")
"""Units that only stand next to a number; upper case tells some of them apart."""

_LONG_UNITS: Final = frozenset(
    _words("""nanosecond microsecond millisecond minute hour day week month quarter year hourly daily weekly monthly
    quarterly yearly byte kilobyte megabyte gigabyte terabyte megabit percent metre kilometre kilometer
    mile gram kilogram litre gallon celsius fahrenheit dollar euro cent""")
)
"""Units that are units wherever they stand."""

_CJK_UNITS: Final = _words("""毫秒 分钟 分鐘 小时 小時 時間 秒 公里 厘米 公斤 美元 欧元 个月 個月 ヶ月 か月
    分 天 周 週 月 年 日 元 円 米 초 분 시간 일 주 개월 년 원""")
NEGATORS: Final = frozenset(
    _words("""not no never none nobody nothing nowhere neither nor cannot without hardly barely scarcely rarely seldom
    unable isnt arent dont doesnt didnt wont cant couldnt shouldnt wasnt werent hasnt havent mustnt lack lacks""")
)
_CJK_NEGATION: Final = regex(r"なかっ|ません|無い|ない|なく|[不没沒無无未别勿非]|않|못|없|아니|^안$")
NEGATING: Final = _words("un in im ir il dis non non- de mis")

_OPPOSITES: Final = """
    enable:disable allow:deny,forbid,block,prohibit,disallow permit:forbid,deny before:after increase:decrease,reduce
    add:remove,drop,delete start:stop,finish begin:end open:close up:down on:off above:below over:under raise:lower
    more:less,fewer greater:smaller,less maximum:minimum max:min first:last always:never accept:reject,refuse,decline
    pass:fail succeed:fail true:false yes:no left:right top:bottom public:private sync:async synchronous:asynchronous
    internal:external include:exclude import:export upload:download read:write push:pull encrypt:decrypt encode:decode
    required:optional mandatory:optional ascending:descending inbound:outbound incoming:outgoing buy:sell win:lose
    like:dislike,hate love:hate approve:reject,deny fast:slow faster:slower quick:slow high:low higher:lower early:late
    earlier:later old:new older:newer hot:cold good:bad better:worse best:worst with:without inside:outside odd:even
    local:remote online:offline keep:drop,delete,remove upgrade:downgrade expand:shrink grow:shrink visible:hidden
    empty:full north:south east:west least:most plus:minus positive:negative safe:dangerous long:short longer:shorter
    big:small large:small larger:smaller cheap:expensive easy:hard strong:weak until:since prefer:avoid
    启用:禁用 允许:禁止 增加:减少 打开:关闭 开启:关闭 之前:之后 有効:無効 許可:禁止"""

_ORDINARY: Final = frozenset(
    _words("""a an the this that these those i we you he she it they my our your his her its their someone anyone
    everyone nobody and or but so if when while where why how what which who because since until unless before after
    during in on at by for from to with without of as not no never always often only also just please note remember
    important gotcha pattern decision decided now then there here is are was were do does did has have had can could may
    might must should will would let use run make set add remove delete keep start stop check verify ask write read open
    close build deploy test fix avoid prefer try put get fetch give take call create update install import export enable
    disable allow deny ensure store save load send log merge push pull turn move copy each every all both some any most
    many few more less last next new old big large small long short about""")
)
"""Words that begin a sentence without being anybody's name."""

_STRAIGHT: Final = str.maketrans("\u2019\u2018\u201c\u201d\u2212`", "''\"\"- ")
_CJK_RUN: Final = regex(f"[{CJK_PLAIN}]+")
_CJK_NUMERALS: Final = "〇零一二三四五六七八九十百千万萬億亿两"
_CODE_SPAN: Final = regex(r"`([^`\n]+)`")
_MADE_UP: Final = regex(r"\d|_|[a-z][A-Z]|[^\W\d_]{2}[./][^\W\d_]")
_SENTENCE_END: Final = regex(r"[.!?:;\n•]")
_MONTH: Final = rf"(?:(?i:{MONTH.replace('may|', '')})|May|MAY)"  # "may" is a verb
_WEEKDAY: Final = r"(?:(?i:(?:mon|tues|wednes|thurs|fri|satur|sun)days?)|Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun)"
_TOKEN: Final = regex(
    rf"""
    (?P<code>https?://\S+ | [\w.+-]{{1,64}}@[\w.-]+\w | [<>!=]=|=>|->|&&|\|\||[<>] | (?<![\w-])--?[A-Za-z][\w-]*)
  | (?P<date>\b\d{{4}}-\d\d(?:-\d\d)?(?![\w-])
      | \b\d{{1,4}}/\d{{1,2}}/\d{{1,4}}\b | \b\d{{1,2}}\.\d{{1,2}}\.\d{{4}}\b
      | \b\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}\b\.?(?:,?\s+\d{{4}}\b)?
      | \b{_MONTH}\b\.?\s+(?:\d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\s+\d{{4}}\b)?|\d{{4}}\b)
      | \b(?i:today|yesterday|tomorrow|tonight|noon|midnight)\b
      | \b(?i:last|next|this|previous)\s+(?i:week|weekend|month|quarter|year|night|morning|evening|sprint|{_WEEKDAY})\b
      | \b{_WEEKDAY}\b | \bQ[1-4]\b | \b(?:19|20)\d\d(?![\w,.:%/-]{{0,3}}\d) | \b(?=[A-Z]){_MONTH}\b)
  | (?P<time>\b\d{{1,2}}:\d\d(?::\d\d)?(?:\s?[AaPp]\.?[Mm]\b)? | \b\d{{1,2}}\s?[AaPp]\.?[Mm]\b)
  | (?P<version>\b[vV]\d+(?:\.\w+)*(?:-\w+)* | \b\d+(?:\.\d+){{2,}}(?:[-+.]?\w+)* | \b\d+(?:\.\d+)*\.x\b
      | \b(?i:version|release|ver\.)\s+\d+(?:[.-]\w+)*\b | \b[A-Za-z]+[:/=]=?v?\d+(?:\.\d+)*\b)
  | (?P<number>(?:(?<![\w.])-)?\d+(?:,\d{{3}})*(?:\.\d+)?)
  | (?P<sign>[$€£¥%] | °[CF]\b)
  | (?P<cjk>[{CJK_PLAIN}]+)
  | (?P<word>[^\W\d{CJK_PLAIN}](?:[^\W{CJK_PLAIN}]|[-'./](?=[^\W{CJK_PLAIN}]))*)
    """,
    re.VERBOSE,
)


# --- reading a text -------------------------------------------------------------------------


class _Reading(Struct, kw_only=True):
    """What carries meaning in one text; filled from left to right."""

    said: list[Said] = field(default_factory=list)
    negations: int = 0
    names: dict[str, bool] = field(default_factory=dict)  # folded -> only ever the first word of a sentence
    code: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)  # folded, as they stand
    common: set[str] = field(default_factory=set)  # singular, of those that stand in lower case
    roots: set[str] = field(default_factory=set)

    def say(self, kind: Kind | Literal["word"], text: str) -> None:
        self.said.append(Said(kind, text))


class _At(NamedTuple):
    """What stands right before a token."""

    word: str = ""
    named: bool = False
    digits: str | None = None
    gap: int = 0
    opens: bool = True


_Next = tuple[bool, str | None]
"""What a token leaves for the one behind it: whether it was a name, and its digits as a number."""
_PLAIN: Final[_Next] = (False, None)


@cache_short(1024)
def _read(text: str) -> _Reading:
    """Read *text* once, from left to right."""
    reading, end, at = _Reading(), 0, _At()
    line = spaced(text)
    for span in _CODE_SPAN.finditer(text):
        reading.code.update(re.findall(r"\w+", span.group(1)))
    for token in _TOKEN.finditer(line):
        opens = end == 0 or bool(_SENTENCE_END.search(line, end, token.start()))
        at = at._replace(gap=token.start() - end, opens=opens)
        named, digits = _READERS[str(token.lastgroup)](reading, token.group(), at) or _PLAIN
        at, end = _At(word=plain(token.group()), named=named, digits=digits), token.end()
    return reading


def _read_code(reading: _Reading, text: str, _: _At) -> None:
    reading.code.add(code := text.rstrip(".,;:!?)'\""))
    reading.say("code", code)


def _read_date(reading: _Reading, text: str, _: _At) -> None:
    reading.say("date", _day(text.casefold()))


def _read_time(reading: _Reading, text: str, _: _At) -> None:
    hours, *rest = re.findall(r"\d+", text)
    half = text.casefold().replace(".", "")[-2:]
    hour = int(hours) % 12 + 12 * (half == "pm") if half in {"am", "pm"} else int(hours)
    reading.say("date", ":".join((f"{hour:02}", *(rest or ["00"]))))


def _read_version(reading: _Reading, text: str, _: _At) -> None:
    folded = text.casefold()
    reading.say("version", re.sub(r"^(?:version|release|ver\.)\s+|^v(?=\d)", "", folded))
    reading.words.update(re.findall(r"[^\W\d_]{2,}", folded))


def _read_number(reading: _Reading, text: str, at: _At) -> _Next:
    digits = text.replace(",", "")
    version = at.named and "." in digits
    reading.words.add(digits)
    reading.say("version" if version else "number", digits)
    return False, None if version else digits


def _read_sign(reading: _Reading, text: str, _: _At) -> None:
    reading.say("unit", _SHORT_UNITS[text])


def _read_cjk(reading: _Reading, run: str, at: _At) -> None:
    unit = next((unit for unit in _CJK_UNITS if run.startswith(unit)), "") if at.digits else ""
    if unit:
        reading.say("unit", unit)
    for character in run[len(unit) :]:
        reading.say("number" if character in _CJK_NUMERALS else "word", character)
    reading.negations += len(_CJK_NEGATION.findall(run))
    reading.roots.update(word for pair in OPPOSITES for word in pair if word in run)
    reading.words.add(run)


def _read_word(reading: _Reading, text: str, at: _At) -> _Next:
    written, folded = text.removesuffix("'s"), plain(text)
    parts = folded.split("-")
    reading.words.update((folded, *(plain(part) for part in re.split(r"[-./]", written))))
    last = at.digits if at.gap <= 1 else None
    if last and (taken := _behind_number(reading, written, last, glued=at.gap == 0)):
        return taken
    if folded in _COUNTS and not (folded == "one" and at.word == "no"):
        return False, _count(reading, str(_COUNTS[folded]), last)
    if len(parts) > 1 and all(part in _COUNTS for part in parts):
        reading.say("number", str(sum(_COUNTS[part] for part in parts)))
    elif folded == "seconds" or (folded == "second" and at.word in {"per", "a", "each", "every", "half"}):
        reading.say("unit", "second")
    elif folded in _ORDINALS:
        reading.say("number", f"#{_ORDINALS.index(folded)}")
    elif singular(folded) in _LONG_UNITS:
        reading.say("unit", singular(folded))
    else:
        return _weigh(reading, written, folded, opens=at.opens), None
    return _PLAIN


def _behind_number(reading: _Reading, written: str, last: str, *, glued: bool) -> _Next | None:
    """Take *written*, which stands behind the number *last*, for its scale, its unit or its ordinal ending."""
    if written.casefold() in _SCALES and written != "m" and len(last) < 16:
        reading.said.pop()
        from decimal import Decimal  # noqa: PLC0415  (few numbers have a scale)

        scaled = f"{Decimal(last) * _SCALES[written.casefold()]:f}".removesuffix(".0")
        return False, _count(reading, scaled, None)
    if written in _SHORT_UNITS or written == "second":
        reading.say("unit", _SHORT_UNITS.get(written, written))
        return _PLAIN
    if glued and written in {"st", "nd", "rd", "th"}:
        reading.said[-1] = Said("number", f"#{last}")
        return _PLAIN
    return None


def _count(reading: _Reading, digits: str, last: str | None) -> str:
    """Take note of a number, as one with *last* where they are said together ("twenty five"); return its digits."""
    if last and re.fullmatch("[2-9]0", last) and re.fullmatch("[1-9]", digits):
        reading.said.pop()
        digits = last[0] + digits
    reading.say("number", digits)
    return digits


def _weigh(reading: _Reading, written: str, folded: str, *, opens: bool) -> bool:
    """Sort an ordinary word into negation, code, name or plain; return whether it is a name."""
    reading.negations += folded in NEGATORS or folded.endswith("n't")
    reading.roots.add(root(folded))
    made_up = bool(_MADE_UP.search(written))
    code = made_up and not (written[0].isupper() and written.isalpha())
    lower = not written[0].isupper() or folded.partition("'")[0] == "i"
    name = not code and not lower and not (opens and (folded in _ORDINARY or folded.endswith("n't")))
    reading.say("code" if code else "name" if name else "word", folded)
    if made_up:
        reading.code.add(written)
    elif lower:
        reading.common.add(singular(folded))
    if name:
        reading.names[folded] = reading.names.get(folded, True) and opens and not made_up and not written.isupper()
    return name


def _day(folded: str) -> str:
    """Return a date with a month in words as digits, a weekday as three letters, anything else as it stands."""
    month = next((number for name, number in MONTHS.items() if re.search(rf"\b{name}", folded)), None)
    numbers = re.findall(r"\d+", folded)
    if month is None or "/" in folded:
        return folded[:3] if re.match(r"(?:mon|tue|wed|thu|fri|sat|sun)\w*$", folded) else " ".join(folded.split())
    year = next((n for n in numbers if len(n) == 4), "-")
    day = next((f"-{int(n):02}" for n in numbers if len(n) < 3), "")
    return f"{year}-{month:02}{day}"


@lru_cache(maxsize=8192)
def root(word: str) -> str:
    """Return the part of *word* that its forms share; only good for comparing."""
    stem = _without_ending(word).removesuffix("e")
    if stem[-2:-1] == stem[-1:] and _is_word(stem[-1:]):
        stem = stem[:-1]
    return stem[:-1] + "i" if stem.endswith("y") else stem


def _without_ending(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 2 and _is_word(stem[-3:]) and not (ending == "s" and stem.endswith("s")):
            return stem
    return word


def _is_word(text: str) -> bool:
    """Return whether *text* is letters, digits and underscores."""
    return text.replace("_", "a").isalnum()


_READERS: Final[Mapping[str, Callable[[_Reading, str, _At], _Next | None]]] = {
    "code": _read_code,
    "date": _read_date,
    "time": _read_time,
    "version": _read_version,
    "number": _read_number,
    "sign": _read_sign,
    "cjk": _read_cjk,
    "word": _read_word,
}


OPPOSITES: Final = tuple(
    (root(one), root(other))
    for one, others in (entry.split(":") for entry in _OPPOSITES.split())
    for other in others.split(",")
)
"""The roots of words that say the opposite of each other."""


def paired(pairs: Iterable[tuple[str, str]]) -> Mapping[str, frozenset[str]]:
    """Return each word of *pairs* with all that it is paired with, and itself."""
    found: dict[str, set[str]] = {}
    for pair in pairs:
        for word in pair:
            found.setdefault(word, set()).update(pair)
    return {word: frozenset(others) for word, others in found.items()}


_OPPOSED: Final = paired(OPPOSITES)


def _values(reading: _Reading, kind: Kind) -> list[str]:
    """Return the values of one kind in their order: 4 of 6 is not 6 of 4."""
    return [word.text for word in reading.said if word.kind == kind]


def _opposed(left: _Reading, right: _Reading) -> bool:
    """Return whether a word of one text stands against a word of the other."""
    mine, others = left.roots - right.roots, right.roots - left.roots
    return (
        any(not _OPPOSED[word].isdisjoint(others) for word in mine if word in _OPPOSED)
        or _negates(mine, others)
        or _negates(others, mine)
    )


def _negates(words: AbstractSet[str], others: AbstractSet[str]) -> bool:
    """Return whether one of *words* is one of *others* behind a prefix that turns it round."""
    return any(
        word.startswith(prefix) and word[len(prefix) :] in others
        for word in words
        if word.startswith(NEGATING)
        for prefix in NEGATING
    )


def _foreign_names(mine: _Reading, other: _Reading) -> set[str]:
    """Return the names of *mine* that *other* does not hold; an opening word may be there as a common one."""
    return {
        name
        for name, opens in mine.names.items()
        if name not in other.words and not (opens and singular(name) in other.common)
    }


def _foreign_code(mine: _Reading, other: _Reading) -> set[str]:
    """Return the code of *mine* that *other* does not hold, be it as code in the same case or as plain words."""
    cases = {word.casefold() for word in other.code}
    return {word for word in mine.code - other.code if word.casefold() in cases or plain(word) not in other.words}
