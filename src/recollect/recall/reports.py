"""What the recall log tells: what is never used, what is told in vain, what nobody could answer."""

from collections.abc import Sequence
from dataclasses import dataclass

from recollect.records import Recall, Scope, Where
from recollect.stores.contract import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """How often a memory was shown, nearly shown, and found useful."""

    id: int
    shown: int
    missed: int
    used: int
    wrong: int


def usage(store: Store, *, scope: Scope) -> tuple[Usage, ...]:
    """Return how often each live memory was recalled, by id."""
    counts, feedback = store.recall_counts(scope=scope), store.feedback_counts(scope=scope)
    ids = sorted(store.browse(scope=scope, where=Where(include_superseded=True), limit=2**62).ids)
    return tuple(
        Usage(
            id=row,
            shown=counts.get(row, (0, 0))[0],
            missed=counts.get(row, (0, 0))[1],
            used=feedback.get(row, {}).get("used", 0) + feedback.get(row, {}).get("useful", 0),
            wrong=feedback.get(row, {}).get("wrong", 0),
        )
        for row in ids
    )


def never_recalled(store: Store, *, scope: Scope) -> tuple[int, ...]:
    """Return the memories no search has ever shown."""
    return tuple(each.id for each in usage(store, scope=scope) if each.shown == 0)


def told_in_vain(store: Store, *, scope: Scope, often: int = 3) -> tuple[Usage, ...]:
    """Return what was shown *often* and never used, most often first."""
    idle = [each for each in usage(store, scope=scope) if each.shown >= often and each.used == 0]
    return tuple(sorted(idle, key=lambda each: (-each.shown, each.id)))


def provenance(fact_id: int, store: Store, *, scope: Scope, limit: int = 100) -> Sequence[Recall]:
    """Return the answers that a fact came with, newest first."""
    return store.recalls(scope=scope, fact_id=fact_id, limit=limit)
