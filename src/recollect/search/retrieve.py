"""Questions to the store: each list of candidates, with the scores of its own."""

from collections.abc import Sequence

from recollect.records import Keywords, Match, Scope, Where
from recollect.search.ask import InText, Tier
from recollect.search.ranking import Found, Ranking
from recollect.stores.contract import Store


def retrieve_words(
    tiers: Sequence[Tier], *, store: Store, scope: Scope, where: Where, depth: int, also: Sequence[int] = ()
) -> Ranking:
    """Return what the first tier with any match finds."""
    ranking = Ranking(name="words", found=())
    for tier in tiers:
        ranking = _ask(tier, store=store, scope=scope, where=where, depth=depth, also=also)
        if ranking.found:
            break
    return ranking


def _ask(tier: Tier, *, store: Store, scope: Scope, where: Where, depth: int, also: Sequence[int]) -> Ranking:
    match tier:
        case Keywords():
            matches = store.match_words(tier, scope=scope, where=where, limit=depth, also=also)
            return Ranking(
                name="words",
                found=tuple(_found(match) for match in matches.top),
                also={row: _found(match) for row, match in matches.also.items()},
                total=matches.total,
            )
        case InText(needles=needles):
            counts = store.match_text(needles, scope=scope, where=where, limit=depth)
            found = tuple(Found(id=row, score=count, coverage=count / len(needles)) for row, count in counts)
            return Ranking(name="words", kind="text", found=found, total=len(found))


def _found(match: Match) -> Found:
    return Found(id=match.id, score=match.score, coverage=match.coverage)
