"""Named factors that weigh a candidate: each a pure function of the memory, its facts, the profile and now."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Final

from recollect.profile import Profile
from recollect.profile import Weigh as Rules
from recollect.records import Fact, Memory
from recollect.search.ranking import Candidate
from recollect.text.stated import words_stated

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
    return 1.0 - rules.stated_sway * math.exp(-words_stated(subject.memory.content) / rules.stated_words)


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
