"""Whose decision it was that a memory is hidden, and the words of others that the owner forgot.

Words of an agent that the owner forgot stay forgotten when an agent adds them again: a note keeps their digest.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from recollect.errors import AccessError
from recollect.records import ALL_PROJECTS, Event, Memory, Trust
from recollect.stores.contract import Store
from recollect.trust import level

FORGOTTEN: Final = "forgotten"
"""The kind of note that keeps the digest of what the owner forgot of others, and the id of the memory."""
HIDING: Final = ("forget", "supersede", "consolidate")
"""The verbs of events that hide a memory."""


def note_forgotten(memories: Iterable[Memory], store: Store) -> None:
    """Note that the owner forgot *memories*, as far as somebody else wrote them."""
    for memory in memories:
        if memory.trust != "owner":
            store.put_note(FORGOTTEN, memory.digest.hex(), {"id": memory.id}, project=memory.project)


def drop_notes(memories: Iterable[Memory], store: Store) -> None:
    """Drop the notes on *memories*: they are wanted again, or erased."""
    for memory in memories:
        if memory.trust != "owner" and memory.deleted_at is not None:
            store.put_note(FORGOTTEN, memory.digest.hex(), None, project=memory.project)


def forgotten_rows(memories: Sequence[Memory], store: Store) -> dict[int, int]:
    """Return, by the place of each of *memories*, the memory in the same words that the owner forgot.

    Only the words of others stay forgotten: the owner may say again what was forgotten.
    """
    others = {place: memory for place, memory in enumerate(memories) if memory.trust != "owner"}
    kept = {project: store.notes(FORGOTTEN, project=project) for project in {each.project for each in others.values()}}
    found = {place: kept[memory.project].get(memory.digest.hex()) for place, memory in others.items()}
    return {place: int(note["id"]) for place, note in found.items() if note is not None}


def refuse_restoring(memories: Sequence[Memory], store: Store, trust: Trust) -> None:
    """Refuse to bring *memories* back for a caller who is trusted less than whoever hid one of them."""
    events = store.history([memory.id for memory in memories], scope=ALL_PROJECTS)
    successors = store.load([memory.superseded_by or 0 for memory in memories], scope=ALL_PROJECTS)
    for memory in memories:
        by = _hidden_by(events.get(memory.id, ()), successors.get(memory.superseded_by or 0))
        if level(trust) < level(by):
            raise AccessError(f"#{memory.id} was hidden by somebody who is trusted further", hint="ask the owner")


def _hidden_by(events: Sequence[Event], successor: Memory | None) -> Trust:
    """Return how far whoever hid a memory is trusted; where that was not written down, it was the owner."""
    last = next((event for event in reversed(events) if event.verb in HIDING), None)
    if last is None:
        return "untrusted"
    if last.verb == "supersede" and "by" in last.detail and successor is not None:
        return "owner" if successor.pinned else successor.trust
    told = last.detail.get("trust")
    return "agent" if told == "agent" else "untrusted" if told == "untrusted" else "owner"
