"""What can be counted of a set of memories, and in which order the counts are shown."""

from collections import Counter
from collections.abc import Mapping

from recollect.records import FILTER_FIELDS
from recollect.stores.vocabulary import LEAST

FACETS = (*(field.key for field in FILTER_FIELDS), "month")
"""By what memories are counted; each memory counts once for each of its tags and types of fact."""


def ordered(counts: Mapping[str, int]) -> dict[str, int]:
    """Return *counts* with the most frequent first, then by name."""
    return dict(sorted(counts.items(), key=lambda each: (-each[1], each[0])))


def as_facets(counters: Mapping[str, Counter[str]]) -> dict[str, dict[str, int]]:
    """Return every facet, counted or not."""
    return {name: ordered({key: count for key, count in counters[name].items() if key is not None}) for name in FACETS}


def as_vocabulary(counts: Mapping[str, int], *, least: int, limit: int) -> dict[str, int]:
    """Return the *limit* most frequent words that stand in *least* memories or more."""
    words = {token: count for token, count in counts.items() if count >= least and len(token) >= LEAST}
    return dict(list(ordered(words).items())[:limit])
