"""What a new session should know before anything is asked: what is pinned, then the newest of what is worth knowing."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from recollect.recall.inject import Rendered, count_tokens_mixed, render
from recollect.recall.ledger import note_told
from recollect.records import Filter, Memory, Scope
from recollect.stores.contract import Store

TYPES: Final = ("preference", "decision", "gotcha", "identity", "rule")
"""The types that are worth knowing whatever the task is."""
MAX_CHOSEN: Final = 50
"""How many memories that are pinned, and how many of these types, are looked at."""


def brief(
    store: Store,
    *,
    scope: Scope,
    now: datetime,
    session: str | None = None,
    project: str = "",
    limit: int = 8,
    budget: int = 500,
) -> Rendered:
    """Return the block for a new session, and note in its ledger what was told, so that it is not told again."""
    chosen = _chosen(store, scope)
    rendered = render(chosen, now=now, counter=count_tokens_mixed, limit=limit, budget=budget)
    if session is not None and rendered.ids:
        told = [each for each in chosen if each.id in rendered.ids]
        note_told(store, session, told, project=project, at=now)
    return rendered


def _chosen(store: Store, scope: Scope) -> Sequence[Memory]:
    """Return what is pinned and what is of a telling type, newest first each; turns of conversations are neither."""
    pinned = store.browse(scope=scope, where=Filter(pinned=True), limit=MAX_CHOSEN).ids
    typed = store.browse(scope=scope, where=Filter(types=TYPES), limit=MAX_CHOSEN).ids
    memories = store.load(list(dict.fromkeys((*pinned, *typed))), scope=scope).values()
    return [each for each in memories if each.pinned or each.thread is None]
