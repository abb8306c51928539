"""Dates as people write them, read against a given now: English, Chinese, Japanese, Korean.

`parse_moment` reads an option that must be a date; `find_dates` looks for dates in a plain question and
would rather miss one than take an ordinary word for it. What both understand stands in the tables of
`date_rules`. Time grows with the length of the text and no faster.
"""

import re
import unicodedata
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from recollect.text.date_rules import EXPLICIT, PLAIN, Rule
from recollect.text.spans import Span, begin, step

LONGEST: Final = 64
"""No option that is a date is longer than this."""

TRIGGERS: Final = frozenset[str]().union(*(rule.needs for rule in PLAIN))
WORD: Final = re.compile(r"[a-z]+")
DIGIT: Final = re.compile(r"\d")
SINCE: Final = re.compile(r"\bsince\s{1,3}(?:the\s{1,3})?$", re.IGNORECASE)
LEAD: Final = re.compile(r"^(?:(?:in|on|at|during|since|from)\s)?(?:the\s)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A date in a text: what it means, and where its words stand (text[start:end])."""

    span: Span
    start: int
    end: int


def parse_moment(text: str, *, now: datetime) -> Span | None:
    """Return the span that *text* names, in the time zone of *now* (UTC if it has none), or None.

    "N units ago", and `3d` for short, is the one unit that begins N units before today (before now
    for hours and minutes). A date without a year is the latest that has begun.
    """
    if len(text) > LONGEST:
        return None
    plain = LEAD.sub("", " ".join(unicodedata.normalize("NFKC", text).split()))
    anchor, present = _anchored(now), _present(plain)
    rules = (rule for rule in (*PLAIN, *EXPLICIT) if not rule.needs.isdisjoint(present))
    matches = ((rule, rule.pattern.fullmatch(plain)) for rule in rules)
    spans = (_read(rule, match, anchor) for rule, match in matches if match)
    return next((span for span in spans if span), None)


def find_dates(text: str, *, now: datetime) -> tuple[Found, ...]:
    """Return the dates in *text*, in order and without overlap: of two, the earlier, then the longer.

    A date that follows "since" lasts until the end of today. Nothing is raised, whatever the text.
    """
    present = _present(text)
    if TRIGGERS.isdisjoint(present):
        return ()
    anchor = _anchored(now)
    found = [
        Found(span=span, start=match.start(), end=match.end())
        for rule in PLAIN
        if not rule.needs.isdisjoint(present)
        for match in rule.pattern.finditer(text)
        if (span := _read(rule, match, anchor))
    ]
    kept: list[Found] = []
    for candidate in sorted(found, key=lambda one: (one.start, -one.end)):
        if not kept or candidate.start >= kept[-1].end:
            kept.append(candidate)
    return tuple(kept)


def _present(text: str) -> set[str]:
    """Return what rules may need: the lower-case words, "#" for a digit, each character beyond ASCII."""
    present = set(WORD.findall(text.lower()))
    if DIGIT.search(text):
        present.add("#")
    return present if text.isascii() else present.union(text)


def _read(rule: Rule, match: re.Match[str], now: datetime) -> Span | None:
    """Return what *match* means; None for a day, month or year that the calendar does not have."""
    with suppress(ValueError, OverflowError):
        span = rule.read(match, now)
        if SINCE.search(match.string[max(0, match.start() - 16) : match.start()]):
            return Span(start=span.start, end=max(span.end, step(begin("day", now), "day", 1)))
        return span
    return None


def _anchored(now: datetime) -> datetime:
    return now if now.tzinfo else now.replace(tzinfo=UTC)
