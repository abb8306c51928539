"""Reclaiming: what recollect itself exported comes back as it was, with its dates, wordings, successors and silence.

Nothing is judged anew: these memories were judged where they come from. What the store already holds stays as it is,
unless the export knows of a later change.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from recollect.records import ALL_PROJECTS, Forget, Insert, Memory, Merge, Revise, Write
from recollect.remember.facts import extract
from recollect.remember.formats import Exported
from recollect.remember.ingest import Kept
from recollect.stores.contract import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Returning:
    """An exported memory, ready to be kept, and what the export says beside it."""

    memory: Memory
    exported: Exported


def reclaim(returning: Sequence[Returning], *, store: Store, now: datetime) -> tuple[Kept, ...]:
    """Put *returning* back, all or none, and return what became of each, in order."""
    with store.transaction():
        known = _known(returning, store)
        new = [place for place in range(len(returning)) if place not in known]
        inserts = [
            Insert(
                memory=returning[place].memory,
                facts=extract(returning[place].memory),
                detail={"decision": "reclaimed"},
            )
            for place in new
        ]
        fresh = dict(zip(new, store.apply(inserts, at=now), strict=True))
        ids = [fresh[place] if place in fresh else known[place] for place in range(len(returning))]
        changes = _changes({row: returning[place].memory for place, row in known.items()}, store)
        later = [*changes.values(), *_wordings(returning, ids, store), *_successions(returning, ids, fresh)]
        if later:
            store.apply(later, at=now)
        for place, row in fresh.items():
            deleted = returning[place].memory.deleted_at
            if deleted is not None:
                store.apply([Forget(id=row, detail={"reason": "was forgotten when exported"})], at=deleted)
    return tuple(
        Kept(id=row, decision="distinct")
        if place in fresh
        else Kept(id=row, decision="identical", of=row, written=row in changes)
        for place, row in enumerate(ids)
    )


def _known(returning: Sequence[Returning], store: Store) -> dict[int, int]:
    """Return by place the memory that already holds it: by its external id, else by its words and its turn."""
    found: dict[int, int] = {}
    for project in sorted({each.memory.project for each in returning}):
        mine = {place: each.memory for place, each in enumerate(returning) if each.memory.project == project}
        known = store.known(
            project,
            digests=[(memory.kind, memory.digest) for memory in mine.values() if memory.external_id is None],
            external_ids=[
                (memory.kind, memory.external_id) for memory in mine.values() if memory.external_id is not None
            ],
        )
        held = store.load(sorted(known.by_digest.values()), scope=ALL_PROJECTS)
        for place, memory in mine.items():
            row = known.by_digest.get((memory.kind, memory.digest))
            named = known.by_external_id.get((memory.kind, memory.external_id or ""))
            if named is not None:
                found[place] = named
            elif row is not None and memory.deleted_at is None and _same_place(memory, held[row]):
                found[place] = row
    return found


def _same_place(memory: Memory, held: Memory) -> bool:
    """Return whether two memories of the same words are one: a turn said twice is two, a record with an id its own."""
    return held.external_id == memory.external_id and (memory.thread, memory.turn) == (held.thread, held.turn)


def _changes(known: Mapping[int, Memory], store: Store) -> dict[int, Write]:
    """Return the changes that bring records with external ids to a later state than the store knows, by id."""
    changes: dict[int, Write] = {}
    for row, held in store.load(sorted(known), scope=ALL_PROJECTS).items():
        memory = known[row]
        if memory.external_id is not None and memory.updated_at > held.updated_at:
            lasting = ("id", "created_at", "updated_at", "deleted_at", "superseded_by", "superseded_at")
            new = replace(memory, **{name: getattr(held, name) for name in lasting})
            changes |= {} if new == held else {row: Revise(memory=new)}
    return changes


def _wordings(returning: Sequence[Returning], ids: Sequence[int], store: Store) -> list[Write]:
    """Return what gives each memory the other wordings it had."""
    told = {ids[place]: each for place, each in enumerate(returning) if each.exported.wordings}
    known, held = store.wordings(list(told), scope=ALL_PROJECTS), store.load(list(told), scope=ALL_PROJECTS)
    return [
        Merge(id=row, confidence=max(each.memory.confidence, held[row].confidence), wording=text)
        for row, each in told.items()
        for text in dict.fromkeys(each.exported.wordings)
        if text.strip() and text not in known.get(row, ())
    ]


def _successions(returning: Sequence[Returning], ids: Sequence[int], fresh: Mapping[int, int]) -> list[Write]:
    """Return what points each superseded memory to its successor, by the id that one has here."""
    here = {each.exported.id: row for each, row in zip(returning, ids, strict=True) if each.exported.id is not None}
    writes: list[Write] = []
    for place, row in fresh.items():
        by = here.get(returning[place].exported.superseded_by or 0)
        if by is not None and by != row:
            memory = replace(returning[place].memory, id=row, superseded_by=by)
            writes.append(Revise(memory=memory, verb="supersede", detail={"by": by}))
    return writes
