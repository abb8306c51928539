"""The ledger of a session: which memories it was told, in which words, so that none is told twice.

One note for each session, keyed by the ids of memories; it is read and written by itself, and in one transaction.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from recollect.records import LAST_INJECTED, LEDGER, Memory
from recollect.stores.contract import Store

MAX_TOLD: Final = 1_000
"""How many memories a ledger keeps; the first ones may be told again."""
MAX_SESSIONS: Final = 500
"""How many ledgers a project keeps; a new session takes the place of the one that was told nothing for longest."""


def told(store: Store, session: str | None, *, project: str) -> Mapping[str, object]:
    """Return the digest of what *session* was told, by the id of each memory."""
    kept = None if session is None else store.note(LEDGER, session, project=project)
    return {} if kept is None else {row: words for row, words in kept.items() if row != LAST_INJECTED}


def note_told(store: Store, session: str, memories: Iterable[Memory], *, project: str, at: datetime) -> None:
    """Note that *session* was told *memories*; what somebody else noted meanwhile stays."""
    new = {str(each.id): each.meaning.hex() for each in memories}
    with store.transaction({project}):
        before = store.note(LEDGER, session, project=project)
        if before is None:
            _make_room(store, project=project)
        kept = {row: words for row, words in (before or {}).items() if row not in new and row != LAST_INJECTED}
        words = dict([*kept.items(), *new.items()][-MAX_TOLD:])
        store.put_note(LEDGER, session, {**words, LAST_INJECTED: at.isoformat()}, project=project)


def _make_room(store: Store, *, project: str) -> None:
    """Drop the oldest ledgers, so that one more is not too many."""
    kept = store.notes(LEDGER, project=project)
    oldest = sorted(kept, key=lambda name: (str(kept[name].get(LAST_INJECTED, "")), name))
    for name in oldest[: max(0, len(kept) + 1 - MAX_SESSIONS)]:
        store.put_note(LEDGER, name, None, project=project)
