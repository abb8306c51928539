"""A date in a plain question: memories of that time count a little more, and nobody disappears for it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from math import nextafter
from typing import Final

from recollect.records import Memory
from recollect.search.ranking import Candidate
from recollect.text.dates import find_dates
from recollect.text.spans import Span

TOP: Final = 10
"""The best hit without the date stays among so many."""


def spans_in(text: str, *, now: datetime) -> tuple[Span, ...]:
    """Return the stretches of time that *text* names."""
    return tuple(found.span for found in find_dates(text, now=now))


def lean(
    candidates: Sequence[Candidate], memories: Mapping[int, Memory], spans: Sequence[Span], *, sway: float
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


def _within(moment: datetime, spans: Sequence[Span]) -> bool:
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
