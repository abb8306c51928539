"""Counts of the whole match set, by what a reader can filter by."""

from collections.abc import Mapping, Sequence

from recollect.records import Keywords
from recollect.search.ask import Tier
from recollect.search.retrieve import Desk

Facets = Mapping[str, Mapping[str, int]]


def facet(tiers: Sequence[Tier], desk: Desk) -> Facets:
    """Count every memory that the words match, not only those shown; nothing when nothing was asked for."""
    asked = next((tier for tier in tiers if isinstance(tier, Keywords)), None)
    return {} if asked is None else desk.store.facets(keywords=asked, scope=desk.scope, where=desk.where)


def facet_all(desk: Desk) -> Facets:
    """Count every memory that the filters admit."""
    return desk.store.facets(keywords=None, scope=desk.scope, where=desk.where)
