"""Memories that somebody of less trust contradicts, kept as notes: `review` asks about them however long ago it was."""

from collections.abc import Iterable
from typing import Final

from recollect.records import ALL_PROJECTS, Memory
from recollect.stores.contract import Store
from recollect.trust import is_live

CONTESTED: Final = "contested"
"""The kind of note that names the memories which contradict one, by the id of that one."""
MAX_CONTESTED: Final = 1_000
"""How many memories of a project are noted; the first ones stay, so that nobody can push them out."""
MAX_OPPOSING: Final = 20
"""How many contradictions of one memory are noted, the last ones."""


def note_contested(memory: Memory, by: Iterable[int], store: Store) -> None:
    """Note that the memories *by* contradict *memory*."""
    name = str(memory.id)
    before = store.note(CONTESTED, name, project=memory.project)
    if before is None and not _has_room(memory.project, store):
        return
    rows = [*(before or {}).get("by", ()), *by][-MAX_OPPOSING:]
    store.put_note(CONTESTED, name, {"by": rows}, project=memory.project)


def _has_room(project: str, store: Store) -> bool:
    """Return whether one more memory can be noted; those that nobody sees any more make room."""
    kept = store.notes(CONTESTED, project=project)
    if len(kept) < MAX_CONTESTED:
        return True
    seen = {row for row, memory in store.load([*map(int, kept)], scope=ALL_PROJECTS).items() if is_live(memory)}
    gone = [name for name in kept if int(name) not in seen]
    for name in gone:
        store.put_note(CONTESTED, name, None, project=project)
    return bool(gone)
