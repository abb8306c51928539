"""What happened lately: what was learned and changed, what was searched for, and what agents were told of it."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from hashlib import blake2b
from typing import ClassVar, Final, Literal

from msgspec import Struct

from recollect.records import LEDGER, Event, Memory, Recall, Scope
from recollect.stores.contract import Store

What = Literal["learned", "changed", "recalled", "injected"]
LEARNING: Final = frozenset({"add", "merge", "revive"})
"""The verbs of events by which something new came in."""
LONGEST: Final = 160
"""How many characters of a memory are told."""


class Entry(Struct, frozen=True, kw_only=True):
    """One thing that happened."""

    json_members: ClassVar[str] = "key at what verb text ids by project?"

    key: str
    """What it is known by."""
    at: datetime
    what: What
    verb: str
    """The change, or the outcome of the search."""
    text: str
    """The beginning of the memory, or what was asked."""
    ids: tuple[int, ...] = ()
    """The memory that changed, or those that were shown."""
    by: str = ""
    """The session that asked, or whose word the memory is."""
    project: str | None = None


def activity(
    store: Store, *, scope: Scope, project: str = "", session: str | None = None, limit: int = 50
) -> tuple[Entry, ...]:
    """Return the last entries of *scope*, the last first; with a *session* only what that one asked."""
    found = [*_recalled(store, scope=scope, project=project, session=session, limit=limit)]
    if session is None:
        found += _changed(store, scope=scope, limit=limit)
    return tuple(sorted(found, key=lambda entry: (entry.at, entry.key), reverse=True)[:limit])


def _changed(store: Store, *, scope: Scope, limit: int) -> Iterable[Entry]:
    events = store.events(scope=scope, limit=limit)
    memories = store.load(list(dict.fromkeys(event.memory_id for event in events)), scope=scope)
    for event in events:
        if (memory := memories.get(event.memory_id)) is not None:
            yield _change(event, memory)


def _change(event: Event, memory: Memory) -> Entry:
    return Entry(
        key=_key(event.at, event.verb, event.memory_id),
        at=event.at,
        what="learned" if event.verb in LEARNING else "changed",
        verb=event.verb,
        text=beginning(memory),
        ids=(memory.id,),
        by=memory.trust,
        project=memory.project,
    )


def _recalled(store: Store, *, scope: Scope, project: str, session: str | None, limit: int) -> Iterable[Entry]:
    recalls = store.recalls(scope=scope, session=session, limit=limit)
    sessions = {recall.session for recall in recalls if recall.session}
    told = {name: store.note(LEDGER, name, project=project) or {} for name in sessions}
    for recall in recalls:
        yield _recall(recall, told.get(recall.session or "", {}))


def _recall(recall: Recall, told: Mapping[str, object]) -> Entry:
    shown = tuple(hit.memory_id for hit in recall.hits if hit.shown)
    injected = any(str(row) in told for row in shown)
    return Entry(
        key=_key(recall.at, recall.query, recall.session),
        at=recall.at,
        what="injected" if injected else "recalled",
        verb=recall.outcome,
        text=recall.query,
        ids=shown,
        by=recall.session or "",
        project=next(iter(recall.scope.projects or ()), None),
    )


def _key(*parts: object) -> str:
    return blake2b("\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def beginning(memory: Memory) -> str:
    """Return the first words of *memory*."""
    words = " ".join((memory.title or memory.content).split())
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1]}…"
