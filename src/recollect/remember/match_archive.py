"""Which memories of an archive a store holds already, and what brings those to a later state or to more wordings.

Nothing is deduplicated again: that was done where the archive comes from. What the store already holds stays as it
is, unless the archive knows of a later change.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from recollect.records import ALL_PROJECTS, Memory, Merge, Revise, Write
from recollect.remember.context import Draft, IngestContext, revised
from recollect.remember.formats import Exported
from recollect.stores.contract import Store
from recollect.trust import may_change

Restored = tuple[Draft, Exported]
"""An exported memory, ready to be stored, and what the export says beside it."""


def find_existing(memories: Sequence[Memory], store: Store) -> dict[int, int]:
    """Return by place the memory that holds it already: by its external id, else by its words and its turn."""
    found: dict[int, int] = {}
    for project in sorted({memory.project for memory in memories}):
        mine = {place: memory for place, memory in enumerate(memories) if memory.project == project}
        known = store.known(
            project,
            digests=[(memory.kind, memory.digest) for memory in mine.values() if memory.external_id is None],
            external_ids=[(each.kind, each.external_id) for each in mine.values() if each.external_id is not None],
        )
        held = store.load(sorted(known.by_digest.values()), scope=ALL_PROJECTS) if known.by_digest else {}
        for place, memory in mine.items():
            row = known.by_digest.get((memory.kind, memory.digest))
            named = known.by_external_id.get((memory.kind, memory.external_id or ""))
            if named is not None:
                found[place] = named
            elif row is not None and memory.deleted_at is None and _same_turn(memory, held[row]):
                found[place] = row
    return found


def _same_turn(memory: Memory, held: Memory) -> bool:
    """Return whether two memories of the same words are one: a turn said twice is two, a record with an id its own."""
    return held.external_id == memory.external_id and (memory.thread, memory.turn) == (held.thread, held.turn)


def later_changes(
    memories: Mapping[int, Memory], held: Mapping[int, Memory], context: IngestContext
) -> dict[int, Write]:
    """Return the changes that bring records with external ids to a later state than the store knows, by id."""
    changes: dict[int, Write] = {}
    for row, memory in memories.items():
        old = held[row]
        later = memory.external_id is not None and memory.updated_at > old.updated_at
        if later and may_change(memory.trust, old):
            new = replace(revised(old, memory), pinned=old.pinned or memory.pinned)
            changes |= {} if new == old else {row: Revise(memory=new, facts=context.facts(new))}
    return changes


def variants(
    exported: Sequence[Restored], ids: Sequence[int], held: Mapping[int, Memory], context: IngestContext
) -> Iterator[Write]:
    """Yield what gives each memory the variants it had, as clean and without secrets as every text."""
    with_variants = {
        row: each
        for row, each in zip(ids, exported, strict=True)
        if each[1].wordings and (row not in held or may_change(each[0].memory.trust, held[row]))
    }
    known = context.store.wordings(list(with_variants), scope=ALL_PROJECTS) if with_variants else {}
    for row, (draft, about) in with_variants.items():
        old = held.get(row, draft.memory)
        confidence = max(draft.memory.confidence, old.confidence)
        texts = [context.prepare(Memory(content=text)).memory.content for text in about.wordings if text.strip()]
        fresh = (text for text in dict.fromkeys(texts) if text not in known.get(row, ()))
        yield from (Merge(id=row, confidence=confidence, wording=text) for text in fresh)
