"""What the last prompts of sessions were given, and why: for `recollect hook --last`.

One note keeps the ids of memories and the reasons; no words of a prompt or of a memory are in it.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from recollect.records import Memory, Scope
from recollect.stores.contract import Store

HOOK_LOG: Final = "hook_log"
"""The kind and the name of the note."""
MAX_ENTRIES: Final = 100


class Prompt(Struct, frozen=True, kw_only=True):
    """A prompt of a session: the memories it was given, each with the reason, or why it was given none."""

    at: str
    project: str
    session: str
    silent: str = ""
    given: tuple[tuple[int, str, Memory | None], ...] = ()
    """The id of each memory, why it was given, and the memory itself unless it was erased."""


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


def last(store: Store, count: int, *, scope: Scope) -> tuple[Prompt, ...]:
    """Return the last *count* prompts of the projects in *scope*, the newest last."""
    kept = (store.note(HOOK_LOG, HOOK_LOG) or {"entries": []})["entries"]
    seen = [each for each in kept if scope.projects is None or each["project"] in scope.projects]
    entries = seen[-count:] if count > 0 else []
    held = store.load(sorted({int(row) for each in entries for row in each.get("given", {})}), scope=scope)
    return tuple(
        Prompt(
            at=each["at"],
            project=each["project"],
            session=each["session"],
            silent=each.get("silent", ""),
            given=tuple((int(row), why, held.get(int(row))) for row, why in each.get("given", {}).items()),
        )
        for each in entries
    )
