"""What the last prompts of sessions were given, and why: for `recollect hook --last`.

One note keeps the ids of memories and the reasons; no words of a prompt or of a memory are in it.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from recollect.stores.contract import Store

HOOK_LOG: Final = "hook_log"
"""The kind and the name of the note."""
MAX_ENTRIES: Final = 100


def note(store: Store, reasons: Mapping[int, str] | str, *, session: str | None, project: str, at: datetime) -> None:
    """Note which memories a prompt of *session* was given and why, or why it was given none."""
    if session is None:
        return
    entry: dict[str, Any] = {"at": at.isoformat(timespec="seconds"), "session": session, "project": project}
    entry |= (
        {"silent": reasons} if isinstance(reasons, str) else {"given": {str(row): why for row, why in reasons.items()}}
    )
    with store.transaction({""}):
        kept = store.note(HOOK_LOG, HOOK_LOG) or {"entries": []}
        store.put_note(HOOK_LOG, HOOK_LOG, {"entries": [*kept["entries"], entry][-MAX_ENTRIES:]})


def last(store: Store, count: int) -> Sequence[Mapping[str, Any]]:
    """Return the last *count* entries, the newest last."""
    kept = store.note(HOOK_LOG, HOOK_LOG) or {"entries": []}
    return kept["entries"][-count:] if count > 0 else ()
