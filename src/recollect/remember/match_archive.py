"""Find the memories of an archive that a store holds already, and bring those to a later state or to more wordings.

Nothing is deduplicated again: the archived store did that. A memory stays as it is here, unless the archive knows of a
later change.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from recollect.records import ALL_PROJECTS, Memory, Merge, Revise, Write
from recollect.remember.context import IngestContext, revised
from recollect.stores.contract import Store
from recollect.trust import may_change


def find_existing(memories: Sequence[Memory], store: Store) -> dict[int, int]:
    """Return the id of each memory that is held already, by position: by external id, else by words and turn."""
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
    """Return whether two memories with the same words are one: a turn said twice is two, as are records with ids."""
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
    wordings: Iterable[tuple[int, Memory, Sequence[str]]], held: Mapping[int, Memory], context: IngestContext
) -> Iterator[Write]:
    """Yield what adds to each memory here the *wordings* that its archived form had."""
    given = [(row, memory, texts) for row, memory, texts in wordings if texts and may_change(memory.trust, held[row])]
    known = context.store.wordings([row for row, _, _ in given], scope=ALL_PROJECTS) if given else {}
    for row, memory, texts in given:
        confidence = max(memory.confidence, held[row].confidence)
        fresh = (text for text in dict.fromkeys(texts) if text.strip() and text not in known.get(row, ()))
        yield from (Merge(id=row, confidence=confidence, wording=text) for text in fresh)
