"""A date in a plain question: memories of that time count a little more, and nobody disappears for it."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from math import nextafter
from types import MappingProxyType
from typing import Final

from recollect.profile import Profile
from recollect.profile import Weigh as Rules
from recollect.records import Fact, Memory
from recollect.search.ranking import Candidate
from recollect.text.analyser import informative_words
from recollect.text.dates import TimeSpan, find_dates

TYPES: Final[Mapping[str, float]] = MappingProxyType(
    {"bugfix": 1.3, "feature": 1.2, "discovery": 1.1, "decision": 1.1, "refactor": 1.0, "change": 0.9}
)
CONCEPTS: Final[Mapping[str, float]] = MappingProxyType({"security": 0.30, "gotcha": 0.25, "best-practice": 0.20})
HALF_LIFE_DAYS: Final = 7.0
LEAST: Final = 0.01


def importance(
    kind: str, *, age_days: float, feedback: int = 0, concepts: Sequence[str] = (), retrievals: int = 0
) -> float:
    """Return how important a memory is: a type nobody weighs counts 1, a date to come counts as today."""
    fading = math.pow(0.5, max(0.0, age_days) / HALF_LIFE_DAYS)
    learned = 0.30 * max(-1, min(1, feedback)) + 0.20 * sum(CONCEPTS.get(concept, 0.0) for concept in concepts)
    return max(LEAST, TYPES.get(kind, 1.0) * fading + learned + 0.15 * 0.1 * math.log2(retrievals + 1))


_DATED: Final = re.compile(r"(?:^|/)(\d{4})-(\d{2})-(\d{2})\.md$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is weighed: a memory, its facts, and what a lens makes of it."""

    memory: Memory
    facts: tuple[Fact, ...] = ()
    lens: float = 1.0


Weigher = Callable[[Subject, Rules, datetime], float]


def recency(subject: Subject, rules: Rules, now: datetime) -> float:
    """Cortex: a little more for what came lately, 1 + w / (1 + days since import)."""
    return 1.0 + rules.recency_weight / (1.0 + _days(subject.memory.created_at, now))


def half_life(subject: Subject, rules: Rules, now: datetime) -> float:
    """Oro: half after each half-life since it was written; pinned memories do not age."""
    if subject.memory.pinned:
        return 1.0
    return math.pow(0.5, _days(subject.memory.created_at, now) / rules.half_life_days)


def dated(subject: Subject, rules: Rules, now: datetime) -> float:
    """Boocode: a file named by its day ages from that day; any other file never does."""
    day = file_date(subject.memory.source)
    if day is None or subject.memory.pinned:
        return 1.0
    begun = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return math.exp(-math.log(2) / rules.half_life_days * _days(begun, now))


def confidence(subject: Subject, _: Rules, __: datetime) -> float:
    """Oro: as sure as the memory itself is."""
    return subject.memory.confidence


def fact_confidence(subject: Subject, _: Rules, now: datetime) -> float:
    """Cortex: the mean of what its facts are still worth; 1 when it states none."""
    return mean_confidence(subject.facts, now)


def type_weight(subject: Subject, rules: Rules, _: datetime) -> float:
    """Return what a memory of its type weighs; 1 when nobody says."""
    return rules.types.get(subject.memory.type, 1.0)


def lens(subject: Subject, _: Rules, __: datetime) -> float:
    """Return what the lens in use makes of it."""
    return subject.lens


def standing(subject: Subject, rules: Rules, now: datetime) -> float:
    """Default: sure, fresh and pinned memories count a little more, never so much that one disappears.

    Age counts from when it was written down, so a note about an old event is not old; the whole lies
    within the bounds of the profile.
    """
    sure = 1.0 + rules.confidence_sway * (subject.memory.confidence - 0.8)
    fresh = 1.0 if subject.memory.pinned else 1.0 - rules.age_sway * (1.0 - half_life(subject, rules, now))
    pinned = 1.0 + rules.pin_sway * subject.memory.pinned
    low, high = rules.bounds
    return max(low, min(high, sure * fresh * pinned))


def stated(subject: Subject, rules: Rules, _: datetime) -> float:
    """Default: a turn of a conversation that states little counts less; what is no turn is as it is."""
    if subject.memory.thread is None:
        return 1.0
    return 1.0 - rules.stated_sway * math.exp(-informative_words(subject.memory.content) / rules.stated_words)


WEIGHERS: Final[Mapping[str, Weigher]] = {
    "recency": recency,
    "half_life": half_life,
    "dated": dated,
    "confidence": confidence,
    "fact_confidence": fact_confidence,
    "type_weight": type_weight,
    "lens": lens,
    "standing": standing,
    "stated": stated,
}


def weigh(
    candidates: Sequence[Candidate], subjects: Mapping[int, Subject], *, profile: Profile, now: datetime
) -> tuple[Candidate, ...]:
    """Return *candidates* with their factors, best first, ties by id."""
    weighers = {name: WEIGHERS[name] for name in profile.weigh.factors}
    weighed = (
        replace(each, factors={name: of(subjects[each.id], profile.weigh, now) for name, of in weighers.items()})
        for each in candidates
    )
    return tuple(sorted(weighed, key=lambda each: (-each.score, each.id)))


def mean_confidence(facts: Sequence[Fact], now: datetime) -> float:
    """Return what a memory's facts are worth on average today; 1 when there are none."""
    return math.fsum(effective(fact, now) for fact in facts) / len(facts) if facts else 1.0


def effective(fact: Fact, now: datetime) -> float:
    """Return what is left of a fact's confidence since it was last reinforced."""
    return fact.confidence * math.exp(-fact.decay_rate * _days(fact.last_reinforced, now))


def file_date(source: str | None) -> date | None:
    """Return the day a file is named by, such as memory/2026-02-10.md."""
    found = _DATED.search(source or "")
    if found is None:
        return None
    try:
        return date(*(int(part) for part in found.groups()))
    except ValueError:
        return None


def _days(since: datetime, now: datetime) -> float:
    return max(0.0, (now - since).total_seconds() / 86_400)


TOP: Final = 10
"""The best hit without the date stays among so many."""


def spans_in(text: str, *, now: datetime) -> tuple[TimeSpan, ...]:
    """Return the stretches of time that *text* names."""
    return tuple(found.span for found in find_dates(text, now=now))


def lean(
    candidates: Sequence[Candidate], memories: Mapping[int, Memory], spans: Sequence[TimeSpan], *, sway: float
) -> tuple[Candidate, ...]:
    """Return *candidates* (best first) with the factor `date` on those of the time, best first, ties by id.

    The factor is 1 + *sway*, or as much less as keeps the one that was best among the first ten.
    """
    dated = {each.id for each in candidates if _within(memories[each.id].when, spans)} if spans and sway > 0 else set()
    if not dated:
        return tuple(candidates)
    factor = min(1.0 + sway, _bound(candidates, dated))
    leaning = (_times(each, factor) if each.id in dated else each for each in candidates)
    return tuple(sorted(leaning, key=lambda each: (-each.score, each.id)))


def _within(moment: datetime, spans: Sequence[TimeSpan]) -> bool:
    return any(span.start <= moment < span.end for span in spans)


def _times(candidate: Candidate, factor: float) -> Candidate:
    return replace(candidate, factors={**candidate.factors, "date": factor})


def _bound(candidates: Sequence[Candidate], dated: set[int]) -> float:
    """Return the largest factor with which fewer than ten overtake the best; no bound where it gains as well."""
    best = candidates[0]
    if best.id in dated:
        return float("inf")
    needed = sorted(best.score / each.score for each in candidates if each.id in dated and each.score > 0)
    return max(1.0, nextafter(needed[TOP - 1], 0.0)) if len(needed) >= TOP else float("inf")
