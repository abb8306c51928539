"""What a new session should know before anything is asked: what is pinned, then the newest of what is worth knowing."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from recollect.recall.inject import Rendered, count_tokens_mixed, render
from recollect.records import LEDGER, NO_FILTER, Filter, Memory, Scope
from recollect.stores.contract import Store

TYPES: Final = ("preference", "decision", "gotcha", "identity", "rule")
"""The types that are worth knowing whatever the task is."""
NEWEST: Final = 200
"""Among how many of the newest memories those that are pinned are looked for."""


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
        words = {str(each.id): each.meaning.hex() for each in chosen if each.id in rendered.ids}
        told = store.notes(LEDGER, project=project).get(session, {})
        store.put_note(LEDGER, session, {**told, **words}, project=project)
    return rendered


def _chosen(store: Store, scope: Scope) -> Sequence[Memory]:
    """Return what is pinned and what is of a telling type, newest first each; turns of conversations are neither."""
    newest = store.browse(scope=scope, where=NO_FILTER, limit=NEWEST, offset=0)
    typed = store.browse(scope=scope, where=Filter(types=TYPES), limit=NEWEST // 4, offset=0)
    pinned = [each for each in store.load(newest.ids, scope=scope).values() if each.pinned]
    known = {each.id for each in pinned}
    telling = [each for each in store.load(typed.ids, scope=scope).values() if each.id not in known]
    return [*pinned, *(each for each in telling if each.thread is None)]
