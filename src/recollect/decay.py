"""How confidence fades with time: exponentially for facts, by half-lives for memories."""

import math
from datetime import datetime

from recollect.records import Fact


def age_days(since: datetime, now: datetime) -> float:
    """Return how many days have passed since *since*; a date to come counts as today."""
    days = (now - since).total_seconds() / 86_400
    return days if days > 0 else 0.0


def half_life_decay(days: float, half_life_days: float) -> float:
    """Return what is left after *days*: a half after each half-life."""
    return math.pow(0.5, days / half_life_days)


def effective_confidence(fact: Fact, now: datetime) -> float:
    """Return what is left of a fact's confidence since it was last reinforced."""
    return fact.confidence * math.exp(-fact.decay_rate * age_days(fact.last_reinforced, now))
