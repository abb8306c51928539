"""Questions about a time of talk: which sessions are meant, and whether a question asks for nothing but the time.

"In our third session", "4 sessions ago" and "sessions 1 through 3" count sessions from either end. "What did we discuss
in May" asks for a period: besides the time it holds only words that say that somebody talks, remembers or is polite.
"""

import re
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from recollect.lazy import regex
from recollect.text.tokenizer import STOPWORDS


class SessionMatch(Struct, frozen=True, kw_only=True):
    """Sessions in a text, counted from 1: from the first session on, or from the latest one back."""

    first: int
    last: int
    from_latest: bool = False
    counted: bool = True
    """Whether a number says which; "our last talk about boats" need not be the latest session."""
    start: int
    end: int


_UNITS: Final = (
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen"),
    *("fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_NUMBERS: Final = {
    **{name: number for number, name in enumerate(_UNITS, 1)},
    **{name: 10 * number for number, name in enumerate(_TENS, 2)},
    **{
        f"{ten}-{unit}": 10 * tens + units
        for tens, ten in enumerate(_TENS, 2)
        for units, unit in enumerate(_UNITS[:9], 1)
    },
    "a": 1,
    "couple": 2,
}
_IRREGULAR: Final = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}


def _ordinal(name: str) -> str:
    """Return "twenty-first" for "twenty-one"."""
    head, dash, tail = name.rpartition("-")
    regular = f"{tail[:-1]}ieth" if tail.endswith("y") else f"{tail}th"
    return f"{head}{dash}{_IRREGULAR.get(tail, regular)}"


_ORDINALS: Final = {_ordinal(name): number for name, number in _NUMBERS.items() if name not in ("a", "couple")}


def _any(names: Iterable[str]) -> str:
    return "|".join(sorted(names, key=len, reverse=True)).replace("-", "[ -]")


_NOUNS: Final = ("session", "conversation", "discussion", "chat", "talk", "dialogue", "dialog")
_NOUN: Final = f"(?:{'|'.join(_NOUNS)})"
_NTH: Final = rf"(?:\d{{1,4}}(?:st|nd|rd|th)|{_any(_ORDINALS)})"
_COUNT: Final = rf"(?:\d{{1,4}}|{_any(_NUMBERS)})"
_TO: Final = r"\s?(?:to|through|thru|until|till|and|-|\u2013)\s?(?:the\s)?"
_OWNER: Final = r"(?:(?:our|the|my|your)\s)"
_LAST: Final = r"(?:last|latest|previous|most\srecent)"
_END: Final = r"\b(?!\s(?:of|on|with)\b)"
"""The session of a course, on a subject or with somebody is another thing than one of these talks."""
_SESSION: Final = regex(
    rf"\b(?:(?P<ago>{_COUNT})\s(?:of\s)?{_NOUN}s?\sago"
    rf"|{_NOUN}s?\s(?:number\s|no\.?\s|#)?(?P<from>\d{{1,4}}){_TO}(?:{_NOUN}\s)?(?P<to>\d{{1,4}})"
    rf"|session\s(?:number\s|no\.?\s|#)?(?P<number>\d{{1,4}})"
    rf"|{_OWNER}?(?P<nth_from>{_NTH})(?:\s{_NOUN})?{_TO}(?P<nth_to>{_NTH})\s{_NOUN}s?"
    rf"|{_OWNER}?(?P<from_end>{_NTH}|next)[\s-](?:to[\s-])?last\s{_NOUN}"
    rf"|{_OWNER}?penultimate\s(?P<penultimate>{_NOUN})"
    rf"|{_OWNER}?(?:{_NOUN}|time)\sbefore\s(?:the\s)?last(?P<before_last>\s(?:one|time))?"
    rf"|{_OWNER}?first\s(?P<first_some>{_COUNT})\s{_NOUN}s"
    rf"|{_OWNER}?{_LAST}\s(?P<last_some>{_COUNT})\s{_NOUN}s"
    rf"|{_OWNER}?(?:very\s)?(?P<nth>{_NTH})\s{_NOUN}"
    rf"|{_OWNER}?(?:very\s)?(?P<latest>{_LAST})\s{_NOUN}"
    rf"|(?:the\s)?(?P<last_time>last)\stime){_END}",
    re.IGNORECASE,
)


def find_sessions(text: str) -> tuple[SessionMatch, ...]:
    """Return the sessions that *text* counts from the first or from the latest, in order."""
    folded = text.casefold()
    if not any(noun in folded for noun in (*_NOUNS, "time")):  # compiling the expression takes longer than a search
        return ()
    found = (_session(match) for match in _SESSION.finditer(text))
    return tuple(each for each in found if 0 < each.first <= each.last)


def _session(match: re.Match[str]) -> SessionMatch:
    parts = {name: text for name, text in match.groupdict().items() if text}
    first, last, from_latest, counted = 2, 2, True, True
    match parts:
        case {"ago": count}:
            first = last = _number(count)
        case {"from": start, "to": stop} | {"nth_from": start, "nth_to": stop}:
            first, last, from_latest = _number(start), _number(stop), False
        case {"number": count} | {"nth": count}:
            first = last = _number(count)
            from_latest = False
        case {"from_end": count} if count.lower() != "next":
            first = last = _number(count)
        case {"first_some": count}:
            first, last, from_latest = 1, _number(count), False
        case {"last_some": count}:
            first, last = 1, _number(count)
        case {"latest": _} | {"last_time": _}:
            first, last, counted = 1, 1, False
    return SessionMatch(
        first=first, last=last, from_latest=from_latest, counted=counted, start=match.start(), end=match.end()
    )


def _number(text: str) -> int:
    """Return what digits, a numeral or an ordinal count."""
    plain = text.lower().replace(" ", "-")
    digits = re.match(r"\d+", plain)
    return int(digits[0]) if digits else _NUMBERS.get(plain) or _ORDINALS[plain]


# --- what only says that somebody talks ------------------------------------------------------

_TALK_WORDS: Final = """
    able across ago along anything back best better bit brief briefly bring brought calendar called came chat chats
    chatted chatting come content contents conversation conversations cover covered day days describe described
    detail detailed details dialogue dialogues discuss discussed discussing discussion discussions earlier enjoy
    enjoyed event events everything exact exactly far forget forgot fun gave get give glad go going good got great
    happen happened happening hear heard hello help hey hi interesting keep kind kinds know last later let like list
    listed log long look lot lots love main me mean memories memory mention mentioned message messages month months
    morning new news nice notes nothing oh ok okay overview pass past period please point points previous previously
    quick quickly quite raise raised recall recalled recap recent recently record recorded remember remembered
    remind reminder review s said saw say saying says see session sessions several share shared show something sorry
    sort sorts speak speaking spoke spoken still subject subjects sum summarise summarised summarize summarized
    summary sure talk talked talking talks tell telling thank thanks thing things think thought thoughts time times
    today together told topic topics try trying turn turns usual want wanted week weeks well went wonder wondering
    wow write written wrote yeah year years yes
"""
_TALK: Final = frozenset(_TALK_WORDS.split())
"""Words that say that somebody talks, remembers or is polite, and no thing."""
_WORD: Final = regex(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_SPEAKER: Final = regex(r"(?:^|(?<=[.!?\u2026]\s)|(?<=\n))(?P<name>[A-Z][\w'-]{0,30}(?:\s[A-Z][\w'-]{0,30})?):\s")
_CLITIC: Final = regex(r"['\u2019](?:s|d|m|ll|re|ve)$")


def asks_only_when(text: str, spans: Iterable[tuple[int, int]]) -> bool:
    """Return whether *text* asks about nothing besides the times that stand at *spans* of it.

    A text that is itself a dialogue ("Ann: We talked last May. Ben: Yes.") may name its speakers.
    """
    names = {word.lower() for match in _SPEAKER.finditer(text) for word in _WORD.findall(match["name"])}
    rest, at = [], 0
    for start, end in sorted(spans):
        rest.append(text[at:start])
        at = max(at, end)
    rest.append(text[at:])
    words = [word.lower() for word in _WORD.findall(" ".join(rest))]
    return bool(words) and all(_is_talk(word) or word in names for word in words)


def _is_talk(word: str) -> bool:
    plain = word.replace("\u2019", "'")
    return plain in _TALK or plain in STOPWORDS or _CLITIC.sub("", plain) in (_TALK | STOPWORDS)
